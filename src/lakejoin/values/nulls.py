"""Null words: which texts mean a missing value, decided by their column if ambiguous."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lakejoin.values.text_arrays import read_only, text_buffers

if TYPE_CHECKING:
    import pyarrow as pa

    Array = np.ndarray[Any, Any]

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
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakejoin.kernels.canonical_texts import NULL, NULL_LETTERS, NULL_SIGNS
    from lakejoin.kernels.canonical_numbers import EMPTY

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
    import pyarrow.compute as pc

    return int(pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0)
