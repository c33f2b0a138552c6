"""Read the elements of coordinates: blanks, numbers, degrees, minutes, seconds, directions.

Each function reads from byte `p` on and returns where it stopped; -1 if what it wants is not there.
Texts may be folded (canonical values are) or original.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.canonical_numbers import is_digit
from lakejoin.kernels.jit import njit
from lakejoin.model import Array

ZERO, PLUS, MINUS, DOT, COMMA, BLANK = 48, 43, 45, 46, 44, 32
_LOWER = 32  # the bit that makes an ASCII letter lower-case

# What follows a number: nothing, or the mark of degrees, minutes or seconds.
NO_MARK, DEGREE, MINUTE, SECOND = range(4)

# The direction that a letter means.
NO_DIRECTION, NORTH, SOUTH, EAST, WEST = range(5)

_MANTISSA = np.uint64(1 << 53)
_DIGITS = 18  # digits of a mantissa; further ones only count as powers of ten
_TENS = 10.0 ** np.arange(23)


@njit
def skip_blanks(data: Array, p: int, stop: int) -> int:
    """Skip blanks, also no-break ones."""
    while p < stop:
        if data[p] == BLANK or data[p] == 9:
            p += 1
        elif data[p] == 0xC2 and p + 1 < stop and data[p + 1] == 0xA0:
            p += 2
        else:
            break
    return p


@njit
def read_sign(data: Array, p: int, stop: int) -> tuple[int, float]:
    """Read an optional sign: (after it, -1.0 or 1.0). The Unicode minus sign counts too."""
    if p < stop:
        if data[p] == MINUS:
            return p + 1, -1.0
        if data[p] == PLUS:
            return p + 1, 1.0
        if p + 2 < stop and data[p] == 0xE2 and data[p + 1] == 0x88 and data[p + 2] == 0x92:
            return p + 3, -1.0
    return p, 1.0


@njit
def scale_mantissa(mantissa: np.uint64, power: int) -> tuple[float, bool]:
    """Return (mantissa * 10 ** power, whether that is surely the nearest float)."""
    if mantissa == 0:
        return 0.0, True
    exact = mantissa < _MANTISSA and -23 < power < 23
    number = float(mantissa)
    while power > 22:
        number *= 1e22
        power -= 22
        if power > 400:
            return np.inf, False
    while power < -22:
        number /= 1e22
        power += 22
        if power < -400:
            return 0.0, False
    return (number * _TENS[power] if power >= 0 else number / _TENS[-power]), exact


@njit
def read_number(data: Array, p: int, stop: int, point: int) -> tuple[int, float, int, bool]:
    """Read a number without a sign: (after it, its value, decimals, whether the value is exact).

    `point` is the byte before the decimals. An exponent may follow.
    """
    mantissa = np.uint64(0)
    power = 0
    digits = 0
    decimals = 0
    begin = p
    exact = True
    while p < stop and is_digit(data[p]):
        if digits < _DIGITS:
            mantissa = mantissa * np.uint64(10) + np.uint64(data[p] - ZERO)
            digits += int(mantissa > 0)
        else:
            power += 1
            exact = False
        p += 1
    whole = p - begin
    if p < stop and data[p] == point and (p + 1 < stop and is_digit(data[p + 1])):
        p += 1
        while p < stop and is_digit(data[p]):
            if digits < _DIGITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(data[p] - ZERO)
                digits += int(mantissa > 0)
                power -= 1
            else:
                exact = False
            decimals += 1
            p += 1
    if whole + decimals == 0:
        return -1, 0.0, 0, True
    if p + 1 < stop and (data[p] | _LOWER) == 101:  # e
        q, exponent_sign = read_sign(data, p + 1, stop)
        first = q
        exponent = 0
        while q < stop and is_digit(data[q]) and q - first < 5:
            exponent = exponent * 10 + (data[q] - ZERO)
            q += 1
        if q > first:
            power += int(exponent_sign) * exponent
            p = q
    value, nearest = scale_mantissa(mantissa, power)
    return p, value, decimals, exact and nearest


@njit
def read_mark(data: Array, p: int, stop: int) -> tuple[int, int]:
    """Read a mark: (after it, which): degrees (° deg d), minutes (' ′ ’ m), seconds (" ″ ” '')."""
    if p >= stop:
        return p, NO_MARK
    byte = data[p]
    if byte == 0xC2 and p + 1 < stop and (data[p + 1] == 0xB0 or data[p + 1] == 0xBA):
        return p + 2, DEGREE
    if byte == 0xCB and p + 1 < stop and data[p + 1] == 0x9A:
        return p + 2, DEGREE
    if byte == 0xE2 and p + 2 < stop and data[p + 1] == 0x80:
        last = data[p + 2]
        if last in (0xB2, 0x99):
            return p + 3, MINUTE
        if last in (0xB3, 0x9D):
            return p + 3, SECOND
    if byte == 39:  # two apostrophes are seconds as well
        if p + 1 < stop and data[p + 1] == 39:
            return p + 2, SECOND
        return p + 1, MINUTE
    if byte == 34:
        return p + 1, SECOND
    if (byte | _LOWER) == 100:  # d, deg
        if p + 2 < stop and (data[p + 1] | _LOWER) == 101 and (data[p + 2] | _LOWER) == 103:
            return p + 3, DEGREE
        return p + 1, DEGREE
    if (byte | _LOWER) == 109:
        return p + 1, MINUTE
    return p, NO_MARK


@njit
def read_direction(data: Array, p: int, stop: int) -> tuple[int, int]:
    """Read a direction: (after it, which): N, S, E or W, not followed by another letter."""
    if p < stop and (p + 1 == stop or not 97 <= (data[p + 1] | _LOWER) <= 122):
        lower = data[p] | _LOWER
        if lower == 110:
            return p + 1, NORTH
        if lower == 115:
            return p + 1, SOUTH
        if lower == 101:
            return p + 1, EAST
        if lower == 119:
            return p + 1, WEST
    return p, NO_DIRECTION


@njit
def read_degrees(data: Array, p: int, stop: int, point: int) -> tuple[int, float, int, bool, bool]:
    """Read degrees in any form: (after them, their value, direction, whether they are marked,
    exact).

    `48.1`, `48.1° N`, `N 48.1`, `48°08'15"N`, `48 08 15 N`, `48:08:15N`: minutes and seconds
    without marks need a direction, else only the first number is read. South and west are negative.
    """
    p, direction = read_direction(data, p, stop)
    if direction != NO_DIRECTION:
        p = skip_blanks(data, p, stop)
    p, negative = read_sign(data, p, stop)
    p, value, decimals, exact = read_number(data, p, stop, point)
    if p < 0:
        return -1, 0.0, NO_DIRECTION, False, exact
    q, shown = read_mark(data, skip_blanks(data, p, stop), stop)
    if shown == DEGREE:
        p = q
    elif shown != NO_MARK:
        return -1, 0.0, NO_DIRECTION, False, exact
    marked = shown == DEGREE
    end = first_end = p
    first, shown_first, exact_first = value, marked, exact
    bare = False
    if decimals == 0:
        for unit in range(2):
            q = skip_blanks(data, end, stop)
            colon = q < stop and data[q] == 58 and not marked
            q, smaller, fraction, _ = read_number(data, q + 1 if colon else q, stop, point)
            if q < 0 or smaller >= 60:
                break
            r, shown = read_mark(data, skip_blanks(data, q, stop), stop)
            if shown == MINUTE + unit:
                q = r
                marked = True
            elif shown != NO_MARK or (q == end + 1 and not colon):
                break
            else:
                bare = True  # only a direction tells 48 08 from two numbers
            value += smaller / (60.0 if unit == 0 else 3600.0)
            exact = False
            end = q
            if fraction > 0:
                break
    after = direction
    p = end
    if direction == NO_DIRECTION:
        q, after = read_direction(data, skip_blanks(data, end, stop), stop)
        p = q if after != NO_DIRECTION else end
    if bare and after == NO_DIRECTION:
        return first_end, negative * first, NO_DIRECTION, shown_first, exact_first
    if after in (SOUTH, WEST):
        negative = -negative
    return p, negative * value, after, marked or after != NO_DIRECTION, exact
