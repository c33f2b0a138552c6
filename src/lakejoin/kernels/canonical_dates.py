"""Recognise a date, with or without a time, in folded text and rewrite it as ISO.

Where only the column can tell day from month (`05/04/2020`), `order` has what the column has
decided for each separator, and `evidence` collects what each value indicates.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.canonical_numbers import DATE, OPEN_DATE, TEXT, is_digit
from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

UNDECIDED, DAY_FIRST, MONTH_FIRST, LEAVE = range(4)

# Formats, in the bits above a kind; the caller's list of formats has the same order.
_YMD, _DMY, _MDY, _DAY_NAME, _NAME_DAY = 1, 4, 7, 10, 11
FORMAT_SHIFT = 3

_SLASH, _DASH, _DOT, _COMMA, _BLANK, _COLON, _PLUS, _T, _Z = 47, 45, 46, 44, 32, 58, 43, 116, 90
_MONTHS = np.frombuffer(
    b"january  february march    april    may      june     "
    b"july     august   septemberoctober  november december ",
    dtype=np.uint8,
).copy()
_MONTH_WIDTH = 9
_MONTH_STARTS = np.zeros((256, 256), np.bool_)
_MONTH_STARTS[_MONTHS[::_MONTH_WIDTH], _MONTHS[1::_MONTH_WIDTH]] = True
_DAYS_BEFORE_EPOCH = 719468  # from 0000-03-01 to 1970-01-01


@kernel
def _separator(byte: int) -> int:
    """Return 0 for `/`, 1 for `-`, 2 for `.`, else -1."""
    if byte == _SLASH:
        return 0
    if byte == _DASH:
        return 1
    return 2 if byte == _DOT else -1


@kernel
def _digits(out: Array, p: int, stop: int) -> tuple[int, int]:
    """Read the digits at `p`: their value and how many there are (5 means too many)."""
    value = 0
    n = 0
    while p + n < stop and n < 5 and is_digit(out[p + n]):
        value = value * 10 + (out[p + n] - 48)
        n += 1
    return value, n


@kernel
def _valid(year: int, month: int, day: int) -> bool:
    if year < 1 or month < 1 or month > 12 or day < 1 or day > 31:
        return False
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return day <= (29 if leap else 28)
    return day <= 30 or month not in (4, 6, 9, 11)


@kernel
def find_month(letters: Array, begin: int, size: int) -> int:
    """The month that `size` letters name, in full or by three of them; 0 if none."""
    for month in range(12):
        base = month * _MONTH_WIDTH
        same = 0
        while same < min(size, _MONTH_WIDTH) and letters[begin + same] == _MONTHS[base + same]:
            same += 1
        if same == size and (size in (3, _MONTH_WIDTH) or _MONTHS[base + size] == _BLANK):
            return month + 1
        if same == size == 4 and month == 8:  # sept
            return 9
    return 0


@kernel
def _month_name(out: Array, p: int, stop: int) -> tuple[int, int]:
    """Read the month named at `p` (0 if none) and where its name ends."""
    q = p
    if p + 3 > stop or not _MONTH_STARTS[out[p], out[p + 1]]:
        return 0, q
    while q < stop and 97 <= out[q] <= 122 and q - p <= _MONTH_WIDTH:
        q += 1
    return find_month(out, p, q - p) if q - p >= 3 else 0, q


@kernel
def _day_number(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date."""
    y = year - 1 if month <= 2 else year
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _DAYS_BEFORE_EPOCH


@kernel
def _civil(days: int) -> tuple[int, int, int]:
    """Return (year, month, day) of a number of days from 1970-01-01."""
    z = days + _DAYS_BEFORE_EPOCH
    era = z // 146097
    of_era_day = z - era * 146097
    of_era = (of_era_day - of_era_day // 1460 + of_era_day // 36524 - of_era_day // 146096) // 365
    of_year = of_era_day - (365 * of_era + of_era // 4 - of_era // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return of_era + era * 400 + (1 if month <= 2 else 0), month, day


@kernel
def _two(out: Array, p: int, value: int) -> None:
    out[p] = 48 + value // 10
    out[p + 1] = 48 + value % 10


@kernel
def _zone(out: Array, p: int, stop: int, signs: bool) -> tuple[bool, int]:
    """Read the UTC offset in minutes that fills `out[p:stop]`; (False, 0) if there is none."""
    if out[p] == _BLANK:
        p += 1
    n = stop - p
    if n == 1 and out[p] == 122:
        return True, 0
    if n == 3 and (
        (out[p] == 117 and out[p + 1] == 116 and out[p + 2] == 99)
        or (out[p] == 103 and out[p + 1] == 109 and out[p + 2] == 116)
    ):
        return True, 0
    if not signs or n < 3 or out[p] not in (_PLUS, _DASH):
        return False, 0
    hours = 0
    minutes = 0
    value, count = _digits(out, p + 1, stop)
    if count == 2:
        hours = value
        if n == 6 and out[p + 3] == _COLON:
            minutes, more = _digits(out, p + 4, stop)
            if more != 2:
                return False, 0
        elif n != 3:
            return False, 0
    elif count == 4 and n == 5:
        hours = value // 100
        minutes = value % 100
    else:
        return False, 0
    if hours > 14 or minutes > 59:
        return False, 0
    total = hours * 60 + minutes
    return True, -total if out[p] == _DASH else total


@kernel
def _read_numeric(out: Array, p: int, stop: int) -> tuple[int, int, int, int, int, bool]:
    """Read a date of three numbers at `p`: (end or -1, the numbers, separator, year first?)."""
    no_date = (-1, 0, 0, 0, 0, False)
    first, n1 = _digits(out, p, stop)
    p += n1
    separator = _separator(out[p]) if p < stop else -1
    if separator < 0:
        return no_date
    second, n2 = _digits(out, p + 1, stop)
    q = p + 1 + n2
    if n2 < 1 or n2 > 2 or q >= stop or out[q] != out[p]:
        return no_date
    third, n3 = _digits(out, q + 1, stop)
    year_first = n1 == 4 and 1 <= n3 <= 2
    if not year_first and not (1 <= n1 <= 2 and n3 == 4):
        return no_date
    if year_first and separator == 2 and n2 + n3 != 4:  # 2020.1.10 is more likely a version
        return no_date
    return q + 1 + n3, first, second, third, separator, year_first


@kernel
def _read_named(out: Array, p: int, stop: int) -> tuple[int, int, int, int]:
    """Read a date with a month's name at `p`: (its end or -1, year, month, day)."""
    no_date = (-1, 0, 0, 0)
    day = 0
    day_first = is_digit(out[p])
    if day_first:
        day, n = _digits(out, p, stop)
        p += n
        if n > 2 or p >= stop:
            return no_date
        if out[p] in (_BLANK, _DASH, _SLASH):
            p += 1
    month, p = _month_name(out, p, stop)
    if month == 0:
        return no_date
    if not day_first:
        if p < stop and out[p] == _DOT:
            p += 1
        if p >= stop or out[p] not in (_BLANK, _DASH, _SLASH):
            return no_date
        day, n = _digits(out, p + 1, stop)
        p += 1 + n
        if n < 1 or n > 2:
            return no_date
    before = p
    if p < stop and out[p] == _COMMA:
        p += 1
    if p < stop and out[p] in (_BLANK, _DASH, _SLASH):
        p += 1
    if p == before and not day_first:  # 31jan2020 is a date, jan 312020 is not
        return no_date
    year, n = _digits(out, p, stop)
    if n != 4:
        return no_date
    return p + n, year, month, day


@kernel
def _read_time(
    out: Array, p: int, stop: int, year_first: bool
) -> tuple[bool, int, int, int, bool, int]:
    """Read the time that fills `out[p:stop]`.

    Returns (whether it is one, seconds of the day, where its fraction is and how long, whether it
    has a UTC offset, that offset in minutes).
    """
    no_time = (False, 0, 0, 0, False, 0)
    iso = out[p] == _T and year_first
    if out[p] == _COMMA and p + 1 < stop and out[p + 1] == _BLANK:
        p += 1
    elif out[p] != _BLANK and not iso:
        return no_time
    p += 1
    hour, n = _digits(out, p, stop)
    p += n
    if n < 1 or n > 2 or p >= stop or out[p] != _COLON:
        return no_time
    minute, n = _digits(out, p + 1, stop)
    p += 1 + n
    if n != 2:
        return no_time
    second = 0
    fraction = p
    fraction_digits = 0
    has_seconds = p < stop and out[p] == _COLON
    if has_seconds:
        second, n = _digits(out, p + 1, stop)
        p += 1 + n
        if n != 2:
            return no_time
        if p < stop and out[p] == _DOT:
            fraction = p + 1
            p = fraction
            while p < stop and is_digit(out[p]):
                p += 1
            fraction_digits = p - fraction
            if fraction_digits == 0:
                return no_time
    q = p + 1 if p < stop and out[p] == _BLANK else p
    if q + 1 < stop and out[q + 1] == 109 and out[q] in (97, 112):  # am, pm
        if hour < 1 or hour > 12:
            return no_time
        hour = hour % 12 + (12 if out[q] == 112 else 0)
        p = q + 2
    zoned = False
    offset = 0
    if p < stop:
        zoned, offset = _zone(out, p, stop, has_seconds or iso)
        if not zoned:
            return no_time
    if hour > 23 or minute > 59 or second > 59:
        return no_time
    return True, hour * 3600 + minute * 60 + second, fraction, fraction_digits, zoned, offset


@kernel
def _write(
    out: Array,
    start: int,
    date: tuple[int, int, int],
    seconds: int,
    fraction: int,
    fraction_digits: int,
    zoned: bool,
) -> int:
    """Write a date, and its time unless midnight, to `out[start:]`; return where it ends."""
    while fraction_digits > 0 and out[fraction + fraction_digits - 1] == 48:
        fraction_digits -= 1
    end = start + 10
    if seconds + fraction_digits > 0:
        end = start + 19
        if fraction_digits > 0:
            # Move the fraction's digits first, before they are overwritten.
            if fraction < end + 1:
                for j in range(fraction_digits - 1, -1, -1):
                    out[end + 1 + j] = out[fraction + j]
            else:
                for j in range(fraction_digits):
                    out[end + 1 + j] = out[fraction + j]
            out[end] = _DOT
            end += 1 + fraction_digits
        if zoned:
            out[end] = _Z
            end += 1
        out[start + 10] = _BLANK
        _two(out, start + 11, seconds // 3600)
        out[start + 13] = _COLON
        _two(out, start + 14, seconds // 60 % 60)
        out[start + 16] = _COLON
        _two(out, start + 17, seconds % 60)
    _two(out, start, date[0] // 100)
    _two(out, start + 2, date[0] % 100)
    out[start + 4] = _DASH
    _two(out, start + 5, date[1])
    out[start + 7] = _DASH
    _two(out, start + 8, date[2])
    return end


@kernel
def rewrite_date(
    out: Array, start: int, stop: int, order: Array, evidence: Array
) -> tuple[int, int]:
    """Rewrite the date in `out[start:stop]` in place: (its new end, its kind with its format).

    Text that is no date comes back as `TEXT`, a date whose order the column has not decided as
    `OPEN_DATE`, both unchanged. At most 16 bytes are added.
    """
    no_date = (stop, TEXT)
    if stop - start < 8:
        return no_date
    p, first, second, third, separator, year_first = _read_numeric(out, start, stop)
    day_first = month_first = False
    if p < 0:
        p, year, month, day = _read_named(out, start, stop)
        kind = _DAY_NAME if is_digit(out[start]) else _NAME_DAY
        known = p > 0 and _valid(year, month, day)
    elif year_first:
        year, month, day = first, second, third
        kind = _YMD + separator
        known = _valid(year, month, day)
    else:
        year, month, day = third, 0, 0
        kind = 0
        day_first = _valid(year, second, first)
        month_first = _valid(year, first, second)
        known = day_first or month_first
    if not known:
        return no_date

    seconds, fraction, fraction_digits, zoned, offset = 0, p, 0, False, 0
    if p < stop:
        known, seconds, fraction, fraction_digits, zoned, offset = _read_time(
            out, p, stop, year_first
        )
        if not known:
            return no_date

    if kind == 0:
        column = 2 if day_first and month_first else 0 if day_first else 1
        evidence[separator, column] += 1
        decided = order[separator]
        if decided == DAY_FIRST and day_first:
            day, month, kind = first, second, _DMY + separator
        elif decided == MONTH_FIRST and month_first:
            day, month, kind = second, first, _MDY + separator
        else:
            return stop, OPEN_DATE
    if offset != 0:
        seconds -= offset * 60
        year, month, day = _civil(_day_number(year, month, day) + seconds // 86400)
        seconds %= 86400
        if year < 1 or year > 9999:
            return no_date
    end = _write(out, start, (year, month, day), seconds, fraction, fraction_digits, zoned)
    return end, DATE | (kind << FORMAT_SHIFT)
