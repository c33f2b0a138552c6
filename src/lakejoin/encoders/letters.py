"""Unicode tables: which code points form words, letters without accents, capitals."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

from lakejoin.encoders.protocol import Array

_KINDS = 0x20000
_LETTERS = 0x2000
# Letters with a stroke, which Unicode does not decompose.
_STRUCK = {"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i"}


@cache
def letter_kinds() -> Array:
    """For each code point: part of a word, blank, or neither.

    Letters, digits, marks and pictures (emoji) form words; punctuation and mathematical signs do
    not.

    >>> table = letter_kinds()
    >>> [int(table[ord(c)]) for c in "aß9東😀+ "]
    [1, 1, 1, 1, 1, 0, 2]
    """
    from lakejoin.kernels.split import BLANK, GAP, LETTER

    table = np.full(_KINDS, GAP, np.uint8)
    for point in range(_KINDS):
        char = chr(point)
        if char.isspace():
            table[point] = BLANK
        elif char.isalnum() or unicodedata.category(char) in ("Mn", "Mc", "Me", "So"):
            table[point] = LETTER
    return table


@cache
def plain_letters() -> Array:
    """For each code point: the letter without its accent.

    >>> "".join(chr(plain_letters()[ord(c)]) for c in "são łódź")
    'sao lodz'
    """
    table = np.arange(_LETTERS, dtype=np.uint32)
    for point in range(0x80, _LETTERS):
        first, *rest = list(unicodedata.normalize("NFKD", chr(point)))
        if rest and all(unicodedata.combining(mark) for mark in rest):
            table[point] = ord(first)
    for struck, letter in _STRUCK.items():
        table[ord(struck)] = ord(letter)
    return table


@cache
def capitals() -> Array:
    """For each code point: its capital, if that is one code point."""
    uppers = (chr(point).upper() for point in range(_LETTERS))
    points = [ord(upper) if len(upper) == 1 else point for point, upper in enumerate(uppers)]
    return np.array(points, dtype=np.uint32)
