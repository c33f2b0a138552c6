"""Recognise a number in folded text and rewrite it plainly, in place."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

# The kind of a value, in three bits. Dates have their format in the bits above.
TEXT, INTEGER, CODE, DECIMAL, DATE, BOOLEAN, EMPTY, OPEN_DATE = range(8)

# Numbers in exponent form are rewritten plainly up to this length.
LONGEST_PLAIN = 40

_ZERO, _NINE, _PLUS, _MINUS, _DOT, _E = 48, 57, 43, 45, 46, 101


@kernel
def is_digit(byte: int) -> bool:
    """Whether a byte is an ASCII digit."""
    return _ZERO <= byte <= _NINE


@kernel
def rewrite_number(out: Array, start: int, stop: int) -> tuple[int, int]:
    """Rewrite the number in `out[start:stop]` in place: (its new end, its kind).

    Text that is no number comes back as `TEXT`, unchanged. Digits are only moved, never converted,
    so no precision is lost whatever the length. Up to `LONGEST_PLAIN` bytes may be written.
    """
    p = start
    sign = out[p]
    if sign in (_PLUS, _MINUS):
        p += 1
    whole = p
    while p < stop and is_digit(out[p]):
        p += 1
    whole_digits = p - whole
    fraction = p
    fraction_digits = 0
    point = p < stop and out[p] == _DOT
    if point:
        p += 1
        fraction = p
        while p < stop and is_digit(out[p]):
            p += 1
        fraction_digits = p - fraction
    if whole_digits + fraction_digits == 0:
        return stop, TEXT
    if whole_digits >= 2 and out[whole] == _ZERO:
        plain_code = p == stop and not point and whole == start
        return stop, CODE if plain_code else TEXT
    if p < stop:
        return _rewrite_exponent(
            out, start, whole, whole_digits, fraction, fraction_digits, p, stop
        )

    while fraction_digits > 0 and out[fraction + fraction_digits - 1] == _ZERO:
        fraction_digits -= 1
    zero = fraction_digits == 0 and (whole_digits == 0 or out[whole] == _ZERO)
    if zero:
        out[start] = _ZERO
        return start + 1, INTEGER
    if whole_digits == 0:
        # .5 becomes 0.5: the fraction moves right by one, unless a dropped + makes room.
        shift = 1 if sign != _PLUS else 0
        for j in range(fraction_digits - 1, -1, -1):
            out[fraction + shift + j] = out[fraction + j]
        at = start + (1 if sign == _MINUS else 0)
        out[at] = _ZERO
        out[at + 1] = _DOT
        return at + 2 + fraction_digits, DECIMAL
    end = fraction + fraction_digits if fraction_digits else whole + whole_digits
    if sign == _PLUS:
        for j in range(start + 1, end):
            out[j - 1] = out[j]
        end -= 1
    return end, DECIMAL if fraction_digits else INTEGER


@kernel
def _rewrite_exponent(
    out: Array,
    start: int,
    whole: int,
    whole_digits: int,
    fraction: int,
    fraction_digits: int,
    p: int,
    stop: int,
) -> tuple[int, int]:
    """Rewrite 1.5e3 or 1e-05; a bare 1e3 may be an identifier and stays as it is."""
    if out[p] != _E or p + 1 >= stop:
        return stop, TEXT
    p += 1
    negative = out[p] == _MINUS
    signed = negative or out[p] == _PLUS
    if signed:
        p += 1
    elif fraction_digits == 0:
        return stop, TEXT
    if p >= stop or stop - p > 4:
        return stop, TEXT
    exponent = 0
    for j in range(p, stop):
        if not is_digit(out[j]):
            return stop, TEXT
        exponent = exponent * 10 + (out[j] - _ZERO)
    if negative:
        exponent = -exponent
    if whole_digits + fraction_digits > LONGEST_PLAIN:
        return stop, DECIMAL

    digits = np.empty(LONGEST_PLAIN, np.uint8)
    n = 0
    dropped = 0
    for j in range(whole_digits + fraction_digits):
        digit = out[whole + j] if j < whole_digits else out[fraction + j - whole_digits]
        if n == 0 and digit == _ZERO:
            dropped += 1
            continue
        digits[n] = digit
        n += 1
    before = whole_digits - dropped + exponent  # digits before the point
    while n > 0 and digits[n - 1] == _ZERO:
        n -= 1
    if n == 0:
        out[start] = _ZERO
        return start + 1, INTEGER
    minus = out[start] == _MINUS
    length = max(before, n) if before > 0 else 2 + n - before
    if 0 < before < n:
        length = n + 1
    if length > LONGEST_PLAIN - 1:
        return stop, DECIMAL
    at = start + (1 if minus else 0)
    if before <= 0:
        out[at] = _ZERO
        out[at + 1] = _DOT
        at += 2
        for _ in range(-before):
            out[at] = _ZERO
            at += 1
    for j in range(n):
        if j == before and before > 0:
            out[at] = _DOT
            at += 1
        out[at] = digits[j]
        at += 1
    for _ in range(before - n):
        out[at] = _ZERO
        at += 1
    return at, INTEGER if before >= n else DECIMAL
