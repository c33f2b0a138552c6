"""Tables of Unicode: which code points make words, and which letter is meant by an accented one."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

from lakejoin.encoders.protocol import Array

_KINDS = 0x20000
_LETTERS = 0x2000
# Letters with a stroke, which Unicode does not take apart.
_STRUCK = {"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i"}


@cache
def kinds() -> Array:
    """Per code point: does it make words, is it blank, or is it neither?

    Letters, digits, marks and signs that are pictures (emoji) make words; punctuation and
    mathematical signs do not.

    >>> table = kinds()
    >>> [int(table[ord(c)]) for c in "aß9東😀+ "]
    [1, 1, 1, 1, 1, 0, 2]
    """
    from lakejoin.kernels.words.split import BLANK, GAP, LETTER

    table = np.full(_KINDS, GAP, np.uint8)
    for point in range(_KINDS):
        shown = chr(point)
        if shown.isspace():
            table[point] = BLANK
        elif shown.isalnum() or unicodedata.category(shown) in ("Mn", "Mc", "Me", "So"):
            table[point] = LETTER
    return table


@cache
def plain_letters() -> Array:
    """Per code point: the letter without its accent.

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
    """Per code point: its capital, where that is one code point."""
    shown = (chr(point).upper() for point in range(_LETTERS))
    points = [ord(upper) if len(upper) == 1 else point for point, upper in enumerate(shown)]
    return np.array(points, dtype=np.uint32)
