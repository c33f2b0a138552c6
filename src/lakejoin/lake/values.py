"""The canonical value: the one place that says when two cells hold the same value.

docs/values.md states the rules with a table of examples. They apply to the distinct texts of a
column at once, since a column decides what one cell cannot: whether `NA` is Namibia or a null,
and whether 05/04/2020 is in April or in May.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.lake.nulls import NullWords, decide_nulls, null_table
from lakejoin.lake.texts import sealed, text_array, text_buffers
from lakejoin.model import ColumnType, ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    Array = np.ndarray[Any, Any]

# The date formats by the number that the kernel gives; `kernels/dates.py` has the same order.
FORMATS = (
    "", "y/m/d", "y-m-d", "y.m.d", "d/m/y", "d-m-y", "d.m.y", "m/d/y", "m-d-y", "m.d.y",
    "d month y", "month d y",
)  # fmt: skip
OPEN_FORMAT = "d/m/y or m/d/y"

# A column is of a type where at least this share of its non-null rows is.
TYPE_SHARE = 0.95
# Whole numbers are identifiers, not integers, where this share of them starts with zeros.
CODE_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Canonical:
    """The canonical values of a column's distinct texts, and what the column was taken for.

    `text` is null where `null` is true; `changed` marks the others that differ from the original.
    """

    text: pa.LargeStringArray
    null: Array
    changed: Array
    type: ColumnType
    date_format: str = ""


def canonical(value: str, rules: ValueRules | None = None) -> str | None:
    """The canonical form of one value (a column of its own), or None for a null.

    >>> canonical("  Zürich\\u00a0 HB "), canonical("7.0"), canonical("31/01/2020 8:15 PM")
    ('zürich hb', '7', '2020-01-31 20:15:00')
    >>> canonical("n/a") is None
    True
    """
    import pyarrow as pa

    found = canonicalise(
        pa.array([value], pa.large_string()), np.ones(1, np.int64), rules or ValueRules()
    )
    text: str | None = found.text[0].as_py()
    return text


def canonicalise(distinct: pa.LargeStringArray, counts: Array, rules: ValueRules) -> Canonical:
    """The canonical values of the distinct texts of a whole column.

    `counts[i]` is how many rows hold `distinct[i]`; only the type depends on it.

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
    found = _type(folded.kinds, rows)
    return Canonical(text, null, changed, found, _date_format(found, folded.kinds, rows))


@dataclass(frozen=True, slots=True)
class Folded:
    """Texts folded and rewritten, before nulls are decided.

    `kinds` are those of `kernels/numbers.py`, `marks` those of `kernels/fold.py`.
    """

    text: pa.LargeStringArray
    kinds: Array
    marks: Array
    changed: Array


def fold_column(distinct: pa.LargeStringArray, rules: ValueRules) -> Folded:
    """Folds the distinct texts of a column, with dates in the order that the column shows."""
    from lakejoin.kernels.dates import UNDECIDED
    from lakejoin.kernels.fold import CHANGED, SLOW

    words = null_table(_canonical_words(rules.extra_nulls))
    order = np.full(3, UNDECIDED, np.int8)
    evidence = np.zeros((3, 3), np.int64)
    text, kinds, marks = _run(distinct, True, words, order, evidence)
    if evidence.any():
        order = _decide(evidence)
        text, kinds, marks = _run(distinct, True, words, order, evidence)
    changed = (marks & CHANGED) != 0
    slow = (marks & SLOW) != 0
    if slow.any():
        text, marks[slow], changed[slow] = _normalise(distinct, text, slow, words)
    return Folded(text, kinds, marks, changed)


def _run(
    texts: pa.LargeStringArray, check: bool, words: NullWords, order: Array, evidence: Array
) -> tuple[pa.LargeStringArray, Array, Array]:
    from lakejoin.kernels.fold import fold_texts
    from lakejoin.lake.unicode import fold_tables, no_tables

    offsets, data, _, _ = text_buffers(texts)
    used = data[offsets[0] : offsets[-1]]
    tables = fold_tables() if (used >= 128).any() else no_tables()
    n = len(texts)
    out_offsets = np.zeros(n + 1, np.int64)
    out = np.empty(len(used) + len(used) // 8 + 1024, np.uint8)
    kinds = np.zeros(n, np.uint8)
    marks = np.zeros(n, np.uint8)
    done = 0
    while True:
        done = fold_texts(
            offsets, data, done,
            tables.replacement, tables.care, tables.piece_offsets, tables.pieces,
            check, *words, sealed(order), evidence, out_offsets, out, kinds, marks,
        )  # fmt: skip
        if done == n:
            return text_array(out_offsets, out[: out_offsets[-1]]), kinds, marks
        longest = int(offsets[done + 1] - offsets[done])
        larger = np.empty(len(out) * 3 // 2 + 3 * longest + 1024, np.uint8)
        larger[: out_offsets[done]] = out[: out_offsets[done]]
        out = larger


def _decide(evidence: Array) -> Array:
    """The order of day and month for each separator: what the column proves, else to be left.

    Only dots have a convention of their own (the day first), which holds until disproved.
    """
    from lakejoin.kernels.dates import DAY_FIRST, LEAVE, MONTH_FIRST

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
    """Folds the few texts that need normalising into their places; their marks and changes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = pa.array(slow)
    original = distinct.filter(mask)
    apart = pc.utf8_normalize(original, "NFD")
    folded, _, _ = _run(apart, False, words, *_no_orders())
    composed = pc.utf8_normalize(folded, "NFC")
    _, _, marks = _run(composed, False, words, *_no_orders())
    changed = pc.not_equal(composed, original).to_numpy(zero_copy_only=False)
    return pc.replace_with_mask(text, mask, composed), marks, changed


def _no_orders() -> tuple[Array, Array]:
    return np.zeros(3, np.int8), np.zeros((3, 3), np.int64)


@lru_cache(maxsize=8)
def _canonical_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Null words of the user's, each in its canonical form."""
    import pyarrow as pa

    if not words:
        return ()
    folded = fold_column(pa.array(words, pa.large_string()), ValueRules()).text
    return tuple(word for word in folded.to_pylist() if word)


def _is_in(texts: pa.LargeStringArray, words: tuple[str, ...]) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not words:
        return np.zeros(len(texts), np.bool_)
    found = pc.is_in(texts, value_set=pa.array(words, pa.large_string()))
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def _type(kinds: Array, rows: Array) -> ColumnType:
    """The column's type, from how many rows hold a value of each kind."""
    from lakejoin.kernels.numbers import BOOLEAN, CODE, DATE, DECIMAL, INTEGER

    share = np.bincount(kinds & 7, weights=rows, minlength=8)
    total = share.sum()
    if total == 0:
        return ColumnType.EMPTY
    whole, codes, decimal = share[INTEGER], share[CODE], share[DECIMAL]
    if codes > CODE_SHARE * (whole + codes):
        text = total - decimal - share[DATE] - share[BOOLEAN]
        return ColumnType.TEXT if text >= total / 2 else ColumnType.MIXED
    need = TYPE_SHARE * total
    if share[BOOLEAN] >= need:
        return ColumnType.BOOLEAN
    if share[DATE] >= need:
        return ColumnType.DATE
    if whole + decimal >= need:
        return ColumnType.DECIMAL if decimal else ColumnType.INTEGER
    text = total - whole - decimal - share[DATE] - share[BOOLEAN]
    return ColumnType.TEXT if text >= total / 2 else ColumnType.MIXED


def _date_format(found: ColumnType, kinds: Array, rows: Array) -> str:
    """The format of most rows of a column of dates; both orders where the column leaves it open."""
    from lakejoin.kernels.dates import FORMAT_SHIFT
    from lakejoin.kernels.numbers import DATE, OPEN_DATE

    if found is ColumnType.DATE:
        dates = (kinds & 7) == DATE
        return FORMATS[int(np.bincount(kinds[dates] >> FORMAT_SHIFT, rows[dates]).argmax())]
    undecided = rows[kinds == OPEN_DATE].sum()
    return OPEN_FORMAT if undecided and undecided >= TYPE_SHARE * rows.sum() else ""
