"""What does token number 4711 look like? Text of real-looking cells from integers, by array code.

A token is an integer; its text is a pure function of the token and of its `TextKind`, one to one
within a kind, and the kinds cannot be mistaken for each other. So two cells are equal exactly when
their tokens are, whichever table they stand in.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

WIDTH = 24
"""The longest text is shorter than this, so that a separator always fits behind it."""


class TextKind(IntEnum):
    """The looks of a value, with an example and its usual length."""

    WORDS = 0  # "karemi noda school", "Tobasu Lire": 11 to 18
    CODE = 1  # "K7F-93QX": 8
    NAMED_ID = 2  # "mk-48213": 5 to 12
    INTEGER = 3  # "648213377": 9
    STAMP = 4  # "2011-03-21 14:05:33": 19
    DAY = 5  # "1987-03-21": 10
    NULL = 6  # "": 0


_SYLLABLES = np.frombuffer(
    b"".join(bytes([consonant, vowel]) for consonant in b"bdfgklmnprstvz" for vowel in b"aeiou"),
    dtype=np.uint8,
).reshape(70, 2)
_SUFFIXES = ["", "", " st", " road", " school", " ltd", "", " park"]
_ALPHABET = np.frombuffer(b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789", dtype=np.uint8)
_WORDS = 70**5
_CODES = 32**7
_SECONDS = 600_000_000
_SCRAMBLE = 618_033_989  # coprime to 2, 3, 5 and 7: multiplying by it permutes each range


def spell(kind: npt.NDArray[np.uint8], token: Int64, flavour: Int64) -> tuple[Bytes, Int64]:
    """The texts of `token` as rows of a byte matrix `WIDTH` wide, and the length of each.

    `flavour` varies the look between domains (a suffix, a prefix) without changing equality.

    >>> matrix, length = spell(np.array([2], np.uint8), np.array([48213]), np.array([7]))
    >>> matrix[0, : length[0]].tobytes()
    b'hh-48213'
    """
    matrix = np.zeros((len(token), WIDTH), dtype=np.uint8)
    length = np.zeros(len(token), dtype=np.int64)
    for which, write in _WRITERS.items():
        rows = np.flatnonzero(kind == which)
        if len(rows):
            block, block_length = write(token[rows], flavour[rows])
            matrix[rows, : block.shape[1]] = block
            length[rows] = block_length
    return matrix, length


def _words(token: Int64, flavour: Int64) -> tuple[Bytes, Int64]:
    suffixes = np.zeros((len(_SUFFIXES), 7), dtype=np.uint8)
    for row, suffix in enumerate(_SUFFIXES):
        suffixes[row, : len(suffix)] = np.frombuffer(suffix.encode(), dtype=np.uint8)
    out = np.empty((len(token), 18), dtype=np.uint8)
    rest = (token * _SCRAMBLE) % _WORDS
    for place in (0, 2, 4, 7, 9):
        rest, digit = np.divmod(rest, 70)
        out[:, place : place + 2] = _SYLLABLES[digit]
    out[:, 6] = ord(" ")
    capital = (token & 1).astype(np.uint8) * np.uint8(32)
    out[:, 0] -= capital
    out[:, 7] -= capital
    which = flavour % len(_SUFFIXES)
    out[:, 11:] = suffixes[which]
    return out, 11 + np.array([len(s) for s in _SUFFIXES], dtype=np.int64)[which]


def _code(token: Int64, _flavour: Int64) -> tuple[Bytes, Int64]:
    out = np.empty((len(token), 8), dtype=np.uint8)
    rest = (token * _SCRAMBLE) % _CODES
    for place in (0, 1, 2, 4, 5, 6, 7):
        out[:, place] = _ALPHABET[rest & 31]
        rest >>= 5
    out[:, 3] = ord("-")
    return out, np.full(len(token), 8, dtype=np.int64)


def _named_id(token: Int64, flavour: Int64) -> tuple[Bytes, Int64]:
    digits = np.ones(len(token), dtype=np.int64)
    for power in range(1, 10):
        digits += token >= 10**power
    out = np.empty((len(token), 13), dtype=np.uint8)
    out[:, 0] = 97 + flavour % 25
    out[:, 1] = 97 + (flavour // 25 + flavour) % 25
    out[:, 2] = ord("-")
    # Left-aligned: the number is shifted to ten digits, and only its own are kept.
    rest = token * 10 ** (10 - digits)
    for place in range(12, 2, -1):
        rest, digit = np.divmod(rest, 10)
        out[:, place] = 48 + digit
    return out, 3 + digits


def _integer(token: Int64, _flavour: Int64) -> tuple[Bytes, Int64]:
    out = np.empty((len(token), 9), dtype=np.uint8)
    rest = 100_000_000 + (token * _SCRAMBLE) % 899_999_999
    for place in range(8, -1, -1):
        rest, digit = np.divmod(rest, 10)
        out[:, place] = 48 + digit
    return out, np.full(len(token), 9, dtype=np.int64)


def _stamp(token: Int64, _flavour: Int64) -> tuple[Bytes, Int64]:
    seconds = (token * _SCRAMBLE) % _SECONDS
    out = _iso(np.datetime64("2000-01-01", "s") + seconds, 19)
    out[:, 10] = ord(" ")
    return out, np.full(len(token), 19, dtype=np.int64)


def _day(token: Int64, _flavour: Int64) -> tuple[Bytes, Int64]:
    out = _iso(np.datetime64("1950-01-01", "D") + token, 10)
    return out, np.full(len(token), 10, dtype=np.int64)


def _iso(moment: npt.NDArray[np.datetime64], width: int) -> Bytes:
    distinct, place = np.unique(moment, return_inverse=True)
    text = np.datetime_as_string(distinct).astype(f"S{width}")
    matrix: Bytes = text.view(np.uint8).reshape(len(text), width)[place]
    return matrix


_WRITERS = {
    TextKind.WORDS: _words,
    TextKind.CODE: _code,
    TextKind.NAMED_ID: _named_id,
    TextKind.INTEGER: _integer,
    TextKind.STAMP: _stamp,
    TextKind.DAY: _day,
}
