"""Null words: which texts stand for a missing value, decided by the column where it is open."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.lake.texts import text_buffers

if TYPE_CHECKING:
    import pyarrow as pa

    Array = np.ndarray[Any, Any]

# Nulls whatever the column.
SURE_NULLS = (
    "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "-nan", "(null)", "<null>", "[null]", "(none)",
    "(blank)", "\\n", "#value!", "#ref!", "#div/0!", "#name?", "#null!", "#num!", "not available",
)  # fmt: skip
# Nulls, except in a column of letter codes no longer than they are, written in the same case.
LETTER_NULLS = ("na", "nan", "nil", "none", "null")
# Nulls, except in a column of signs or of single characters.
SIGN_NULLS = ("-", "--", "---", ".", "..", "...", "?", "??", "???")

# A column is of codes where this share of its other distinct values is, and at least so many are.
CODE_SHARE = 0.9
FEWEST_CODES = 3
FEWEST_CHARACTERS = 10
_LONGEST_SIGNS = 8


@lru_cache(maxsize=8)
def null_starts(extra: tuple[str, ...] = ()) -> Array:
    """For each byte, the length of the longest null word that starts with it (0 for none)."""
    starts = np.zeros(256, np.int64)
    for word in (*SURE_NULLS, *LETTER_NULLS, *SIGN_NULLS, *extra):
        encoded = word.encode()
        starts[encoded[0]] = max(starts[encoded[0]], len(encoded))
    return starts


def null_words(
    original: pa.LargeStringArray,
    folded: pa.LargeStringArray,
    nullish: Array,
    empty: Array,
    extra: tuple[str, ...],
) -> Array:
    """Which of a column's distinct texts are nulls.

    `nullish` marks the texts that may be null words by first byte and length, `empty` the blank
    ones; `extra` are further null words in their canonical form.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    null = empty.copy()
    places = np.flatnonzero(nullish)
    if not len(places):
        return null
    words = folded.take(pa.array(places))
    sure = _among(words, (*SURE_NULLS, *extra))
    null[places[sure]] = True
    letters = _among(words, LETTER_NULLS) & ~sure
    signs = _among(words, SIGN_NULLS) & ~sure
    open_places = places[letters | signs]
    if not len(open_places):
        return null
    other = ~null
    other[open_places] = False
    others = original.filter(pa.array(other))
    open_words = pc.utf8_trim_whitespace(original.take(pa.array(open_places))).to_pylist()
    for place, word in zip(open_places.tolist(), open_words, strict=True):
        null[place] = not (_is_code(word, others) if word.isalpha() else _is_sign(others))
    return null


def _is_code(word: str, others: pa.LargeStringArray) -> bool:
    """Whether a letter word is a code in a column of such codes, as NA among US and DE."""
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
    """Whether a column is of signs (+ and -, Morse code) or of many single characters."""
    return _most(others, "^[[:punct:]]+$", _LONGEST_SIGNS, 1) or _most(
        others, "^(?s:.)$", 4, FEWEST_CHARACTERS
    )


def _most(others: pa.LargeStringArray, pattern: str, longest: int, fewest: int) -> bool:
    """Whether nearly all of the texts match; their lengths in bytes, being cheap, come first."""
    need = max(fewest, CODE_SHARE * len(others))
    lengths = np.diff(text_buffers(others).offsets)
    return int((lengths <= longest).sum()) >= need and _matching(others, pattern) >= need


def _matching(texts: pa.LargeStringArray, pattern: str) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0)


def _among(words: pa.LargeStringArray, known: tuple[str, ...]) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.is_in(words, value_set=pa.array(known, pa.large_string()))
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)
