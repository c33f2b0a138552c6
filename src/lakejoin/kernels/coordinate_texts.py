"""Read what a text says in numbers: one number, degrees, coordinates or a vector.

One pass over the distinct values of a segment finds the kind of each; the kind of a *column*
follows from those of its values (`store/parsed_numbers.py`), since a column decides what one text
cannot: whether `11,575` has decimals or thousands, and which of two numbers is the latitude.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.canonical_numbers import is_digit
from lakejoin.kernels.coordinate_scanner import (
    COMMA,
    DOT,
    NO_DIRECTION,
    NORTH,
    SOUTH,
    ZERO,
    read_degrees,
    read_number,
    read_sign,
    skip_blanks,
)
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# The kind of a text. ROUGH: a number that may not be the nearest float. COMMAS: a decimal comma.
# THREE: three digits after a comma, decimals or thousands. GROUPS: surely thousands. DEGREES have a
# mark or a direction. The two numbers of a PAIR are in the order written; a PLACE has its latitude
# first. A VECTOR is a list in brackets.
(
    NO_NUMBERS, NUMBER, ROUGH, COMMAS, THREE, GROUPS, DEGREES, LATITUDE, LONGITUDE, PAIR, POINT,
    VECTOR,
) = range(12)  # fmt: skip
KIND_COUNT = 12

_OPEN, _CLOSE = 40, 41
_SLASH, _SEMICOLON, _BAR = 47, 59, 124
# What introduces a point in GeoJSON and WKT, in lower case.
_POINT = np.frombuffer(b"point", dtype=np.uint8)
_COORDINATES = np.frombuffer(b'"coordinates"', dtype=np.uint8)


@njit
def _read_one(data: Array, begin: int, stop: int) -> tuple[int, float]:
    """Read a text that is one number or an angle: (kind, value); NOTHING if it is neither."""
    p, sign_factor = read_sign(data, begin, stop)
    if p < stop and (is_digit(data[p]) or data[p] == DOT):
        q, value, _, exact = read_number(data, p, stop, DOT)
        if q == stop:
            code = data[p] == ZERO and p + 1 < stop and is_digit(data[p + 1])
            return (NO_NUMBERS if code else NUMBER if exact else ROUGH), sign_factor * value
        if q < stop and data[q] == COMMA:
            return _read_with_commas(data, p, stop, sign_factor)
    q, value, direction, marked, exact = read_degrees(data, begin, stop, DOT)
    if q != stop:
        q, value, direction, marked, exact = read_degrees(data, begin, stop, COMMA)
    return (_kind_of(direction), value) if q == stop and marked else (NO_NUMBERS, 0.0)


@njit
def _read_with_commas(data: Array, p: int, stop: int, sign_factor: float) -> tuple[int, float]:
    """Read digits with commas between: (kind, value); decimals, thousands, or else an angle."""
    q, value, decimals, _ = read_number(data, p, stop, COMMA)
    if q == stop and decimals > 0:
        whole = q - p - 1 - decimals
        zero = data[p] == ZERO
        if zero and whole > 1:
            return NO_NUMBERS, 0.0
        return (THREE if decimals == 3 and whole <= 3 and not zero else COMMAS), sign_factor * value
    total = 0.0
    q = p
    group = 0
    while q < stop and is_digit(data[q]):
        total = total * 10.0 + (data[q] - ZERO)
        group += 1
        q += 1
        if q < stop and data[q] == COMMA:
            if (group != 3 and total >= 1000.0) or group > 3 or group == 0:
                return NO_NUMBERS, 0.0
            group = 0
            q += 1
    if group == 3 and q == stop:
        return GROUPS, sign_factor * total
    if group == 3 and data[q] == DOT:
        r, fraction, _, _ = read_number(data, q, stop, DOT)
        if r == stop:
            return GROUPS, sign_factor * (total + fraction)
    r, value, direction, marked, _ = read_degrees(data, p, stop, COMMA)
    return (_kind_of(direction), sign_factor * value) if r == stop and marked else (NO_NUMBERS, 0.0)


@njit
def _kind_of(direction: int) -> int:
    """Return the kind of degrees with a direction."""
    if direction == NO_DIRECTION:
        return DEGREES
    return LATITUDE if direction in (NORTH, SOUTH) else LONGITUDE


@njit
def _read_two(data: Array, p: int, stop: int, point: int) -> tuple[int, float, float]:
    """Read two angles with a comma, semicolon, slash, bar or blank between: (kind, both values)."""
    q, first, first_direction, _, _ = read_degrees(data, p, stop, point)
    if q < 0:
        return NO_NUMBERS, 0.0, 0.0
    r = skip_blanks(data, q, stop)
    separated = r > q
    if r < stop and (
        (data[r] == COMMA and point != COMMA) or data[r] in (_SEMICOLON, _SLASH, _BAR)
    ):
        r = skip_blanks(data, r + 1, stop)
        separated = True
    if not separated and first_direction == NO_DIRECTION:
        return NO_NUMBERS, 0.0, 0.0
    q, second, second_direction, _, _ = read_degrees(data, r, stop, point)
    if q < 0 or skip_blanks(data, q, stop) != stop:
        return NO_NUMBERS, 0.0, 0.0
    if first_direction == NO_DIRECTION and second_direction == NO_DIRECTION:
        return PAIR, first, second
    kinds = _kind_of(first_direction), _kind_of(second_direction)
    if kinds == (LATITUDE, LONGITUDE):
        return POINT, first, second
    if kinds == (LONGITUDE, LATITUDE):
        return POINT, second, first
    return NO_NUMBERS, 0.0, 0.0


@njit
def _find(data: Array, p: int, stop: int, pattern: Array) -> int:
    """The offset after the first occurrence of lower-case letters, in any case; -1 if none."""
    for begin in range(p, stop - pattern.shape[0] + 1):
        same = True
        for i in range(pattern.shape[0]):
            byte = data[begin + i]
            lower = byte | 32 if 65 <= byte <= 90 else byte
            if lower != pattern[i]:
                same = False
                break
        if same:
            return begin + pattern.shape[0]
    return -1


@njit
def _read_numbers(data: Array, p: int, stop: int, out: Array) -> tuple[int, int]:
    """Read numbers with blanks or commas between: (after them, how many); the first go to `out`."""
    count = 0
    while True:
        p = skip_blanks(data, p, stop)
        q, sign_factor = read_sign(data, p, stop)
        q, value, _, _ = read_number(data, q, stop, DOT)
        if q < 0:
            return p, (count if count == 0 or data[p - 1] != COMMA else -1)
        if count < out.shape[0]:
            out[count] = sign_factor * value
        count += 1
        p = skip_blanks(data, q, stop)
        if p < stop and data[p] == COMMA:
            p += 1
        elif p == q:
            return p, count


@njit
def _read_point(data: Array, begin: int, stop: int, out: Array) -> int:
    """Read `POINT(11.6 48.1)` or `{"type":"Point","coordinates":[11.6,48.1]}` into `out`.

    Both have the longitude first; `out` gets the latitude first.
    """
    if data[begin] == 123:  # {
        if _find(data, begin, stop, _POINT) < 0:
            return NO_NUMBERS
        p = _find(data, begin, stop, _COORDINATES)
        if p < 0:
            return NO_NUMBERS
        p = skip_blanks(data, p, stop)
        if p >= stop or data[p] != 58:
            return NO_NUMBERS
        p = skip_blanks(data, p + 1, stop)
        if p >= stop or data[p] != 91:
            return NO_NUMBERS
        p, count = _read_numbers(data, p + 1, stop, out)
        closed = p < stop and data[p] == 93
    else:
        p = _find(data, begin, min(stop, begin + 24), _POINT)
        if p < 0:
            return NO_NUMBERS
        while p < stop and data[p] != _OPEN:  # `POINT Z (`, `POINT (`
            if not (data[p] == 32 or (data[p] | 32) == 122 or (data[p] | 32) == 109):
                return NO_NUMBERS
            p += 1
        p, count = _read_numbers(data, p + 1, stop, out)
        closed = p + 1 == stop and data[p] == _CLOSE
    if not closed or count < 2 or count > 4:
        return NO_NUMBERS
    out[0], out[1] = out[1], out[0]
    return POINT


@njit
def _read_several(data: Array, begin: int, stop: int, out: Array) -> int:
    """Read a text of several numbers into `out` and return its kind.

    Of a vector only the first two numbers are read; `out[2]` gets how many it has.
    """
    last = stop - 1
    opening = data[begin]
    if (opening == 91 and data[last] == 93) or (opening == 123 and data[last] == 125):  # [ ], { }
        p, count = _read_numbers(data, begin + 1, last, out)
        if p == last and count > 0:
            out[2] = count
            return VECTOR
    if opening == 123 or (opening | 32) in (112, 115):  # { p(oint), s(rid=4326;point)
        return _read_point(data, begin, stop, out)
    if opening == _OPEN and data[last] == _CLOSE:
        begin, stop = skip_blanks(data, begin + 1, last), last
    kind, first, second = _read_two(data, begin, stop, DOT)
    if kind == NO_NUMBERS:
        kind, first, second = _read_two(data, begin, stop, COMMA)
    out[0], out[1] = first, second
    return kind


@njit
def _trim(data: Array, begin: int, stop: int) -> tuple[int, int]:
    """Return a text's range without blanks around it."""
    begin = skip_blanks(data, begin, stop)
    while stop > begin and data[stop - 1] == 32:
        stop -= 1
    return begin, stop


@njit
def _may_begin(byte: int) -> bool:
    """Whether any of the forms can begin so; nearly all texts of words end here."""
    if is_digit(byte) or byte in (43, 45, 46, _OPEN, 91, 123, 0xE2):
        return True
    return (byte | 32) in (101, 110, 112, 115, 119)  # e n p s w


@kernel
def classify_texts(offsets: Array, data: Array, kinds: Array, values: Array) -> None:
    """Write the kind of each text, and its first number; of a vector, how many numbers it has."""
    out = np.zeros(4, dtype=np.float64)
    for i in range(kinds.shape[0]):
        begin, stop = _trim(data, offsets[i], offsets[i + 1])
        kind, value = NO_NUMBERS, 0.0
        if stop > begin and _may_begin(data[begin]):
            kind, value = _read_one(data, begin, stop)
            if kind == NO_NUMBERS and stop - begin >= 3:
                kind = _read_several(data, begin, stop, out)
                value = out[2] if kind == VECTOR else out[0]
        kinds[i] = kind
        values[i] = value


@kernel
def read_number_pairs(offsets: Array, data: Array, out: Array) -> None:
    """Write the two numbers of each text that is a point, a pair or a vector of two; else NaN."""
    room = np.zeros(4, dtype=np.float64)
    for i in range(out.shape[0]):
        begin, stop = _trim(data, offsets[i], offsets[i + 1])
        out[i, 0] = out[i, 1] = np.nan
        if stop - begin >= 3 and _may_begin(data[begin]):
            kind = _read_several(data, begin, stop, room)
            if kind in (PAIR, POINT) or (kind == VECTOR and room[2] == 2.0):
                out[i, 0], out[i, 1] = room[0], room[1]
