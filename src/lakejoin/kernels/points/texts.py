"""What a text says in numbers: one number, degrees, a place or a vector.

One pass over the distinct values of a segment tells the kind of each; what a *column* is follows
from the kinds of its values (`store/coordinates.py`), since a column decides what one text cannot:
whether `11,575` has decimals or thousands, and which of two numbers is the latitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.points.parts import (
    COMMA,
    DOT,
    EAST,
    NO_LETTER,
    NORTH,
    SOUTH,
    WEST,
    ZERO,
    blanks,
    degrees,
    digit,
    number,
    sign,
)

Array = np.ndarray[Any, Any]

# The kind of a text. A rough number is not surely the nearest float; commas stand before decimals,
# and three decimals after a comma may be thousands; groups are thousands for sure. Degrees have a
# sign or a letter; the two numbers of a pair are in the order written, a place is told which is
# which; a vector is a list in brackets.
(
    NOTHING, NUMBER, ROUGH, COMMAS, THREE, GROUPS, DEGREES, LATITUDE, LONGITUDE, PAIR, PLACE,
    VECTOR,
) = range(12)  # fmt: skip
KINDS = 12

_OPEN, _CLOSE = 40, 41
_SLASH, _SEMICOLON, _BAR = 47, 59, 124
_LATITUDE, _LONGITUDE = 1, 2
# `{"type": "point", "coordinates": [` and `point(`: what is looked for, in small letters.
_POINT = np.frombuffer(b"point", dtype=np.uint8)
_COORDINATES = np.frombuffer(b'"coordinates"', dtype=np.uint8)


@njit
def _one(data: Array, begin: int, stop: int) -> tuple[int, float]:
    """(kind, value) of a text that is one number or an angle; NOTHING if it is neither."""
    p, way = sign(data, begin, stop)
    if p < stop and (digit(data[p]) or data[p] == DOT):
        q, value, _, exact = number(data, p, stop, DOT)
        if q == stop:
            code = data[p] == ZERO and p + 1 < stop and digit(data[p + 1])
            return (NOTHING if code else NUMBER if exact else ROUGH), way * value
        if q < stop and data[q] == COMMA:
            return _with_commas(data, p, stop, way)
    q, value, side, marked, exact = degrees(data, begin, stop, DOT)
    if q != stop:
        q, value, side, marked, exact = degrees(data, begin, stop, COMMA)
    if q == stop and marked:
        if side in (NORTH, SOUTH):
            return LATITUDE, value
        if side in (EAST, WEST):
            return LONGITUDE, value
        return DEGREES, value
    return NOTHING, 0.0


@njit
def _with_commas(data: Array, p: int, stop: int, way: float) -> tuple[int, float]:
    """(kind, value) of digits with commas between: decimals, or thousands; else an angle."""
    q, value, decimals, _ = number(data, p, stop, COMMA)
    if q == stop and decimals > 0:
        whole = q - p - 1 - decimals
        zero = data[p] == ZERO
        if zero and whole > 1:
            return NOTHING, 0.0
        return (THREE if decimals == 3 and whole <= 3 and not zero else COMMAS), way * value
    total = 0.0
    q = p
    group = 0
    while q < stop and digit(data[q]):
        total = total * 10.0 + (data[q] - ZERO)
        group += 1
        q += 1
        if q < stop and data[q] == COMMA:
            if (group != 3 and total >= 1000.0) or group > 3 or group == 0:
                return NOTHING, 0.0
            group = 0
            q += 1
    if group == 3 and q == stop:
        return GROUPS, way * total
    if group == 3 and data[q] == DOT:
        r, fraction, _, _ = number(data, q, stop, DOT)
        if r == stop:
            return GROUPS, way * (total + fraction)
    r, value, side, marked, _ = degrees(data, p, stop, COMMA)
    if r == stop and marked:
        return (
            LATITUDE if side in (NORTH, SOUTH) else LONGITUDE if side != NO_LETTER else DEGREES
        ), way * value
    return NOTHING, 0.0


@njit
def _axis(letter: int) -> int:
    return _LATITUDE if letter in (NORTH, SOUTH) else _LONGITUDE if letter != NO_LETTER else 0


@njit
def _two(data: Array, p: int, stop: int, point: int) -> tuple[int, float, float]:
    """(kind, first, second) of two angles with a comma, semicolon, slash, bar or blank between."""
    q, first, one, _, _ = degrees(data, p, stop, point)
    if q < 0:
        return NOTHING, 0.0, 0.0
    r = blanks(data, q, stop)
    apart = r > q
    if r < stop and (
        (data[r] == COMMA and point != COMMA) or data[r] in (_SEMICOLON, _SLASH, _BAR)
    ):
        r = blanks(data, r + 1, stop)
        apart = True
    if not apart and one == NO_LETTER:
        return NOTHING, 0.0, 0.0
    q, second, other, _, _ = degrees(data, r, stop, point)
    if q < 0 or blanks(data, q, stop) != stop:
        return NOTHING, 0.0, 0.0
    if one == NO_LETTER and other == NO_LETTER:
        return PAIR, first, second
    if _axis(one) == _LATITUDE and _axis(other) == _LONGITUDE:
        return PLACE, first, second
    if _axis(one) == _LONGITUDE and _axis(other) == _LATITUDE:
        return PLACE, second, first
    return NOTHING, 0.0, 0.0


@njit
def _find(data: Array, p: int, stop: int, wanted: Array) -> int:
    """Behind the first place where these small letters stand, in any case; -1 if nowhere."""
    for begin in range(p, stop - wanted.shape[0] + 1):
        same = True
        for i in range(wanted.shape[0]):
            byte = data[begin + i]
            small = byte | 32 if 65 <= byte <= 90 else byte
            if small != wanted[i]:
                same = False
                break
        if same:
            return begin + wanted.shape[0]
    return -1


@njit
def _numbers_in(data: Array, p: int, stop: int, out: Array) -> tuple[int, int]:
    """(behind them, how many) numbers with blanks or a comma between; the first go into `out`."""
    count = 0
    while True:
        p = blanks(data, p, stop)
        q, way = sign(data, p, stop)
        q, value, _, _ = number(data, q, stop, DOT)
        if q < 0:
            return p, (count if count == 0 or data[p - 1] != COMMA else -1)
        if count < out.shape[0]:
            out[count] = way * value
        count += 1
        p = blanks(data, q, stop)
        if p < stop and data[p] == COMMA:
            p += 1
        elif p == q:
            return p, count


@njit
def _point(data: Array, begin: int, stop: int, out: Array) -> int:
    """Reads `POINT(11.6 48.1)` or `{"type":"Point","coordinates":[11.6,48.1]}`, which have the
    longitude first, into `out` (latitude first)."""
    if data[begin] == 123:  # {
        if _find(data, begin, stop, _POINT) < 0:
            return NOTHING
        p = _find(data, begin, stop, _COORDINATES)
        if p < 0:
            return NOTHING
        p = blanks(data, p, stop)
        if p >= stop or data[p] != 58:
            return NOTHING
        p = blanks(data, p + 1, stop)
        if p >= stop or data[p] != 91:
            return NOTHING
        p, count = _numbers_in(data, p + 1, stop, out)
        closed = p < stop and data[p] == 93
    else:
        p = _find(data, begin, min(stop, begin + 24), _POINT)
        if p < 0:
            return NOTHING
        while p < stop and data[p] != _OPEN:  # `POINT Z (`, `POINT (`
            if not (data[p] == 32 or (data[p] | 32) == 122 or (data[p] | 32) == 109):
                return NOTHING
            p += 1
        p, count = _numbers_in(data, p + 1, stop, out)
        closed = p + 1 == stop and data[p] == _CLOSE
    if not closed or count < 2 or count > 4:
        return NOTHING
    out[0], out[1] = out[1], out[0]
    return PLACE


@njit
def _several(data: Array, begin: int, stop: int, out: Array) -> int:
    """The kind of a text that is a place or a pair, read into `out`; of a vector only the first two
    numbers, and how many it has behind them."""
    last = stop - 1
    one = data[begin]
    if (one == 91 and data[last] == 93) or (one == 123 and data[last] == 125):  # [ ], { }
        p, count = _numbers_in(data, begin + 1, last, out)
        if p == last and count > 0:
            out[2] = count
            return VECTOR
    if one == 123 or (one | 32) in (112, 115):  # { p(oint), s(rid=4326;point)
        return _point(data, begin, stop, out)
    if one == _OPEN and data[last] == _CLOSE:
        begin, stop = blanks(data, begin + 1, last), last
    kind, first, second = _two(data, begin, stop, DOT)
    if kind == NOTHING:
        kind, first, second = _two(data, begin, stop, COMMA)
    out[0], out[1] = first, second
    return kind


@njit
def _trimmed(data: Array, begin: int, stop: int) -> tuple[int, int]:
    begin = blanks(data, begin, stop)
    while stop > begin and data[stop - 1] == 32:
        stop -= 1
    return begin, stop


@njit
def _may_begin(byte: int) -> bool:
    """Whether any of the forms begins so; nearly every text of words is left here."""
    if digit(byte) or byte in (43, 45, 46, _OPEN, 91, 123, 0xE2):
        return True
    return (byte | 32) in (101, 110, 112, 115, 119)  # e n p s w


@kernel
def read_texts(offsets: Array, data: Array, kinds: Array, values: Array) -> None:
    """The kind of each text, and its first number; of a vector, how many numbers it has."""
    out = np.zeros(4, dtype=np.float64)
    for i in range(kinds.shape[0]):
        begin, stop = _trimmed(data, offsets[i], offsets[i + 1])
        kind, value = NOTHING, 0.0
        if stop > begin and _may_begin(data[begin]):
            kind, value = _one(data, begin, stop)
            if kind == NOTHING and stop - begin >= 3:
                kind = _several(data, begin, stop, out)
                value = out[2] if kind == VECTOR else out[0]
        kinds[i] = kind
        values[i] = value


@kernel
def read_pairs(offsets: Array, data: Array, out: Array) -> None:
    """The two numbers of each text that is a place, a pair or a vector of two; else NaN."""
    room = np.zeros(4, dtype=np.float64)
    for i in range(out.shape[0]):
        begin, stop = _trimmed(data, offsets[i], offsets[i + 1])
        out[i, 0] = out[i, 1] = np.nan
        if stop - begin >= 3 and _may_begin(data[begin]):
            kind = _several(data, begin, stop, room)
            if kind in (PAIR, PLACE) or (kind == VECTOR and room[2] == 2.0):
                out[i, 0], out[i, 1] = room[0], room[1]
