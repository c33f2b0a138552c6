"""Canonical values: when two cells have the same value.

docs/values.md states the rules with examples. They apply to all distinct texts of a column
together, since a column decides what one cell cannot: whether `NA` is Namibia or a null, and
whether 05/04/2020 is in April or in May.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.model import ColumnType, ValueRules
from lakejoin.values.text_arrays import read_only, text_array, text_buffers

if TYPE_CHECKING:
    from lakejoin.model import Array


# The date formats by their code in the kernel; `kernels/canonical_dates.py` has the same order.
DATE_FORMATS = (
    "", "y/m/d", "y-m-d", "y.m.d", "d/m/y", "d-m-y", "d.m.y", "m/d/y", "m-d-y", "m.d.y",
    "d month y", "month d y",
)  # fmt: skip
AMBIGUOUS_DATE_FORMAT = "d/m/y or m/d/y"

# A column has a type if at least this share of its non-null rows has it.
TYPE_SHARE = 0.95
# Whole numbers are codes, not integers, if more than this share of them starts with zeros.
CODE_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class CanonicalColumn:
    """The canonical values of a column's distinct texts, and the type of the column.

    `text` is null where `null` is true; `changed` marks other texts that differ from the original.
    """

    text: pa.LargeStringArray
    null: Array
    changed: Array
    type: ColumnType
    date_format: str = ""


def canonical(value: str, rules: ValueRules | None = None) -> str | None:
    """The canonical form of a single value (a column of one), or None for a null.

    >>> canonical("  Zürich\\u00a0 HB "), canonical("7.0"), canonical("31/01/2020 8:15 PM")
    ('zürich hb', '7', '2020-01-31 20:15:00')
    >>> canonical("n/a") is None
    True
    """
    column = canonicalise(
        pa.array([value], pa.large_string()), np.ones(1, np.int64), rules or ValueRules()
    )
    text: str | None = column.text[0].as_py()
    return text


def canonicalise(
    distinct: pa.LargeStringArray, counts: Array, rules: ValueRules
) -> CanonicalColumn:
    """Canonicalise the distinct texts of a column.

    `counts[i]` is the number of rows with `distinct[i]`; only the type depends on it.

    >>> import pyarrow as pa
    >>> found = canonicalise(pa.array(["7", "007", " 7.0", ""], pa.large_string()),
    ...                      np.array([1, 1, 1, 1]), ValueRules())
    >>> found.text.to_pylist(), found.type.value
    (['7', '007', '7', None], 'text')
    """
    folded = fold_column(distinct, rules)
    if not rules.fold:
        lengths = np.diff(text_buffers(distinct).offsets)
        null = (lengths == 0) | _is_in(distinct, rules.extra_nulls)
        text, changed = distinct, np.zeros(len(distinct), np.bool_)
    else:
        null = decide_nulls(distinct, folded.kinds, folded.marks)
        text, changed = folded.text, folded.changed & ~null
    if null.any():
        buffers = text_buffers(text)
        text = text_array(buffers.offsets, buffers.data, ~null)
    rows = np.where(null, 0, counts)
    column_type = _column_type(folded.kinds, rows)
    date_format = _date_format(column_type, folded.kinds, rows)
    return CanonicalColumn(text, null, changed, column_type, date_format)


@dataclass(frozen=True, slots=True)
class FoldedColumn:
    """Texts folded and rewritten, before nulls are decided.

    `kinds` are those of `kernels/canonical_numbers.py`, `marks` those of
    `kernels/canonical_texts.py`.
    """

    text: pa.LargeStringArray
    kinds: Array
    marks: Array
    changed: Array


def fold_column(distinct: pa.LargeStringArray, rules: ValueRules) -> FoldedColumn:
    """Fold the distinct texts of a column, with days and months in the order the column shows."""
    from lakejoin.kernels.canonical_dates import UNDECIDED
    from lakejoin.kernels.canonical_texts import CHANGED, SLOW

    words = null_table(_canonical_words(rules.extra_nulls))
    order = np.full(3, UNDECIDED, np.int8)
    evidence = np.zeros((3, 3), np.int64)
    text, kinds, marks = _run(distinct, True, words, order, evidence)
    if evidence.any():
        order = _date_orders(evidence)
        text, kinds, marks = _run(distinct, True, words, order, evidence)
    changed = (marks & CHANGED) != 0
    slow = (marks & SLOW) != 0
    if slow.any():
        text, marks[slow], changed[slow] = _normalise(distinct, text, slow, words)
    return FoldedColumn(text, kinds, marks, changed)


def _run(
    texts: pa.LargeStringArray, check: bool, words: NullWords, order: Array, evidence: Array
) -> tuple[pa.LargeStringArray, Array, Array]:
    from lakejoin.kernels.canonical_texts import fold_texts
    from lakejoin.values.fold_tables import empty_tables, fold_tables

    offsets, data, _, _ = text_buffers(texts)
    used = data[offsets[0] : offsets[-1]]
    tables = fold_tables() if (used >= 128).any() else empty_tables()
    n = len(texts)
    out_offsets = np.zeros(n + 1, np.int64)
    out = np.empty(len(used) + len(used) // 8 + 1024, np.uint8)
    kinds = np.zeros(n, np.uint8)
    marks = np.zeros(n, np.uint8)
    done = 0
    while True:
        done = fold_texts(
            offsets, data, done,
            tables.replacement, tables.care, tables.text_offsets, tables.texts,
            check, *words, read_only(order), evidence, out_offsets, out, kinds, marks,
        )  # fmt: skip
        if done == n:
            return text_array(out_offsets, out[: out_offsets[-1]]), kinds, marks
        longest = int(offsets[done + 1] - offsets[done])
        larger = np.empty(len(out) * 3 // 2 + 3 * longest + 1024, np.uint8)
        larger[: out_offsets[done]] = out[: out_offsets[done]]
        out = larger


def _date_orders(evidence: Array) -> Array:
    """The order of day and month for each separator, if the column proves one.

    Only dots have a convention (day first), which holds unless disproved.
    """
    from lakejoin.kernels.canonical_dates import DAY_FIRST, LEAVE, MONTH_FIRST

    order = np.full(3, LEAVE, np.int8)
    for separator, (day_first, month_first, either) in enumerate(evidence.tolist()):
        if month_first and not day_first:
            order[separator] = MONTH_FIRST
        elif not month_first and (day_first or (either and separator == 2)):
            order[separator] = DAY_FIRST
    return order


def _normalise(
    distinct: pa.LargeStringArray, text: pa.LargeStringArray, slow: Array, words: NullWords
) -> tuple[pa.LargeStringArray, Array, Array]:
    """Fold the few texts that need normalising; returns all texts, and their marks and changes."""
    mask = pa.array(slow)
    original = distinct.filter(mask)
    decomposed = pc.utf8_normalize(original, "NFD")
    folded, _, _ = _run(decomposed, False, words, *_no_orders())
    composed = pc.utf8_normalize(folded, "NFC")
    _, _, marks = _run(composed, False, words, *_no_orders())
    changed = pc.not_equal(composed, original).to_numpy(zero_copy_only=False)
    return pc.replace_with_mask(text, mask, composed), marks, changed


def _no_orders() -> tuple[Array, Array]:
    return np.zeros(3, np.int8), np.zeros((3, 3), np.int64)


@lru_cache(maxsize=8)
def _canonical_words(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words:
        return ()
    folded = fold_column(pa.array(words, pa.large_string()), ValueRules()).text
    return tuple(word for word in folded.to_pylist() if word)


def _is_in(texts: pa.LargeStringArray, words: tuple[str, ...]) -> Array:
    if not words:
        return np.zeros(len(texts), np.bool_)
    mask = pc.is_in(texts, value_set=pa.array(words, pa.large_string()))
    return np.asarray(mask.to_numpy(zero_copy_only=False), np.bool_)


def _column_type(kinds: Array, rows: Array) -> ColumnType:
    from lakejoin.kernels.canonical_numbers import BOOLEAN, CODE, DATE, DECIMAL, INTEGER

    counts = np.bincount(kinds & 7, weights=rows, minlength=8)
    total = counts.sum()
    if total == 0:
        return ColumnType.EMPTY
    whole, codes, decimal = counts[INTEGER], counts[CODE], counts[DECIMAL]
    if codes > CODE_SHARE * (whole + codes):
        text = total - decimal - counts[DATE] - counts[BOOLEAN]
        return ColumnType.TEXT if text >= total / 2 else ColumnType.MIXED
    need = TYPE_SHARE * total
    if counts[BOOLEAN] >= need:
        return ColumnType.BOOLEAN
    if counts[DATE] >= need:
        return ColumnType.DATE
    if whole + decimal >= need:
        return ColumnType.DECIMAL if decimal else ColumnType.INTEGER
    text = total - whole - decimal - counts[DATE] - counts[BOOLEAN]
    return ColumnType.TEXT if text >= total / 2 else ColumnType.MIXED


def _date_format(column_type: ColumnType, kinds: Array, rows: Array) -> str:
    """The format of most rows of a date column; both orders if the column does not show which."""
    from lakejoin.kernels.canonical_dates import FORMAT_SHIFT
    from lakejoin.kernels.canonical_numbers import DATE, OPEN_DATE

    if column_type is ColumnType.DATE:
        dates = (kinds & 7) == DATE
        return DATE_FORMATS[int(np.bincount(kinds[dates] >> FORMAT_SHIFT, rows[dates]).argmax())]
    undecided = rows[kinds == OPEN_DATE].sum()
    return AMBIGUOUS_DATE_FORMAT if undecided and undecided >= TYPE_SHARE * rows.sum() else ""


# Nulls in every column.
SURE_NULLS = (
    "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "-nan", "(null)", "<null>", "[null]", "(none)",
    "(blank)", "\\n", "#value!", "#ref!", "#div/0!", "#name?", "#null!", "#num!", "not available",
)  # fmt: skip
# Nulls, except in a column of letter codes of at most their length, in the same case.
LETTER_NULLS = ("na", "nan", "nil", "none", "null")
# A first name and a surname in a column of names; programs do not write nulls capitalised.
NULL_NAMES = ("Nan", "Null")
# Nulls, except in a column of signs or of single characters.
SIGN_NULLS = ("-", "--", "---", ".", "..", "...", "?", "??", "???")

# A column contains codes if this share of its other distinct values are, and at least that many.
SHARE_OF_CODES = 0.9
FEWEST_CODES = 2
FEWEST_CHARACTERS = 10
FEWEST_NAMES = 10
_LONGEST_SIGNS = 8
_LONGEST_NAME = 255


class NullWords(NamedTuple):
    """The null words as the kernel reads them: sorted, with the first word of each first byte.

    Word w is `data[offsets[w]:offsets[w + 1]]`; a text equal to it gets the mark `marks[w]`.
    """

    firsts: Array
    offsets: Array
    data: Array
    marks: Array


@lru_cache(maxsize=8)
def null_table(extra: tuple[str, ...] = ()) -> NullWords:
    """The table of null words; `extra` are the user's, in canonical form."""
    from lakejoin.kernels.canonical_texts import NULL, NULL_LETTERS, NULL_SIGNS

    marks = dict.fromkeys(LETTER_NULLS, NULL_LETTERS) | dict.fromkeys(SIGN_NULLS, NULL_SIGNS)
    marks |= dict.fromkeys((*SURE_NULLS, *extra), NULL)
    words = sorted((word.encode(), mark) for word, mark in marks.items())
    starts = np.array([word[0] for word, _ in words], np.int64)
    return NullWords(
        read_only(np.searchsorted(starts, np.arange(257))),
        read_only(np.cumsum([0, *(len(word) for word, _ in words)], dtype=np.int64)),
        read_only(np.frombuffer(b"".join(word for word, _ in words), np.uint8)),
        read_only(np.array([mark for _, mark in words], np.uint8)),
    )


def decide_nulls(original: pa.LargeStringArray, kinds: Array, marks: Array) -> Array:
    """Decide which of a column's distinct texts are nulls, from the kernel's kinds and marks."""
    from lakejoin.kernels.canonical_numbers import EMPTY
    from lakejoin.kernels.canonical_texts import NULL, NULL_LETTERS, NULL_SIGNS

    null: Array = (kinds == EMPTY) | ((marks & NULL) != 0)
    unsure = np.flatnonzero(marks & (NULL_LETTERS | NULL_SIGNS))
    if not len(unsure):
        return null
    other = ~null
    other[unsure] = False
    others = original.filter(pa.array(other))
    words = pc.utf8_trim_whitespace(original.take(pa.array(unsure))).to_pylist()
    for index, word in zip(unsure.tolist(), words, strict=True):
        letters = marks[index] & NULL_LETTERS
        null[index] = not (_is_code(word, others) if letters else _is_sign(others))
    return null


def _is_code(word: str, others: pa.LargeStringArray) -> bool:
    """Whether a letter word is a code among codes (NA beside US, DE) or a name among names."""
    if word in NULL_NAMES and _most(others, "^\\p{Lu}[\\p{L}'’-]*$", _LONGEST_NAME, FEWEST_NAMES):
        return True
    n = len(word)
    if word.isupper():
        short, full = f"^[A-Z]{{1,{n}}}$", f"^[A-Z]{{{n}}}$"
    elif word.islower():
        short, full = f"^[a-z]{{1,{n}}}$", f"^[a-z]{{{n}}}$"
    elif word.istitle():
        short, full = f"^[A-Z][a-z]{{0,{n - 1}}}$", f"^[A-Z][a-z]{{{n - 1}}}$"
    else:
        return False
    return _most(others, short, n, 1) and _matching(others, full) >= FEWEST_CODES


def _is_sign(others: pa.LargeStringArray) -> bool:
    """Whether a column contains signs (+ and -, Morse code) or many single characters."""
    return _most(others, "^[[:punct:]]+$", _LONGEST_SIGNS, 1) or _most(
        others, "^(?s:.)$", 4, FEWEST_CHARACTERS
    )


def _most(others: pa.LargeStringArray, pattern: str, longest: int, fewest: int) -> bool:
    """Whether nearly all texts match; their lengths are checked first, being cheap."""
    need = max(fewest, SHARE_OF_CODES * len(others))
    lengths = np.diff(text_buffers(others).offsets)
    return int((lengths <= longest).sum()) >= need and _matching(others, pattern) >= need


def _matching(texts: pa.LargeStringArray, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0)
