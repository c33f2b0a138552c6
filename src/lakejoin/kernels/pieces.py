"""The pieces of a text that stay whole when it is rewritten, as 64-bit hashes.

Rewriting moves, drops and adds signs, blanks, zeros and affixes, and puts words into another order,
but it mostly leaves words and numbers whole. The pieces of a text (of its first 256 characters) are

- its *runs*: letters, or digits, that follow each other;
- the number that digits make with single signs between them (`2014-01-31`, `1,234,567`);
- what stands between blanks, and the whole text, squeezed: only their letters and digits;
- every two runs that follow each other, squeezed, and every two words also in any order;
- dates: a year of four digits, a day, and a month as a number or a name, in any order;
- of the 5-grams inside a run of more than five characters every fourth, chosen by its hash.

Zeros at the beginning of a number do not count, nor accents, nor the case of Latin letters (others
come in lower case). A piece has at least two characters. What is a piece, and its hash, is part of
the index format.

Every piece has a *rank*. Columns keep the pieces of the lowest ranks, so that what two of them keep
are the same pieces where both have them.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.hashing import finish, mix

Array = np.ndarray[Any, Any]

READ = 256  # characters of a text
ROOM = 8 * READ  # more pieces than these have
GRAM = 5

_SEED = np.uint64(0x2545F4914F6CDD1D)
_ORDER = np.uint64(0xD6E8FEB86659FD93)
_SAMPLED = np.uint64(3 << 40)
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_ZERO, _NINE, _BLANK, _SIGN = 48, 57, 32, 1
_LATIN_END = 592
_MONTHS = np.frombuffer(
    b"january  february march    april    may      june     "
    b"july     august   septemberoctober  november december ",
    dtype=np.uint8,
).reshape(12, 9)


def _latin() -> Array:
    """What code points below 592 count as: a letter without its accent, a digit, blank or sign."""
    table = np.full(_LATIN_END, _SIGN, dtype=np.uint32)
    for point in range(_LATIN_END):
        base = unicodedata.normalize("NFD", chr(point))[0].lower()
        if chr(point).isspace():
            table[point] = _BLANK
        elif base in "0123456789" or unicodedata.category(base).startswith("L"):
            table[point] = ord(base)
    for letter, base in zip("øØłŁđĐı", "oollddi", strict=True):
        table[ord(letter)] = ord(base)
    return table


_LATIN = _latin()


@njit(inline="always")
def rank_of(piece: np.uint64) -> np.uint64:
    """By this columns choose the same pieces: no two have the same."""
    return piece * _ORDER


@njit(inline="always")
def _six_bits(data: Array, p: int, stop: int) -> np.uint32:
    return np.uint32(data[p]) & np.uint32(0x3F) if p < stop else np.uint32(0)


@njit(nogil=True)
def _read(data: Array, p: int, stop: int, characters: Array) -> int:
    """Writes the characters of a UTF-8 text as they count; returns how many there are."""
    n = 0
    while p < stop and n < READ:
        byte = np.uint32(data[p])
        point = byte
        more = 0
        if byte >= 0xF0:
            point, more = byte & np.uint32(0x07), 3
        elif byte >= 0xE0:
            point, more = byte & np.uint32(0x0F), 2
        elif byte >= 0x80:
            point, more = byte & np.uint32(0x1F), 1
        for i in range(1, more + 1):
            point = (point << np.uint32(6)) | _six_bits(data, p + i, stop)
        p += 1 + more
        if point < _LATIN_END:
            point = _LATIN[point]
        elif point >= 0x300 and point < 0x370:  # an accent by itself
            continue
        elif point == 0x3000:
            point = np.uint32(_BLANK)
        elif (
            (point >= 0x2000 and point < 0x2C00)  # punctuation, arrows, boxes
            or (point > 0x3000 and point < 0x3040)
            or (point >= 0xFE10 and point < 0xFE70)
        ):
            point = np.uint32(_SIGN)
        characters[n] = point
        n += 1
    return n


@njit(inline="always")
def _is_digit(character: np.uint32) -> bool:
    return character >= _ZERO and character <= _NINE


@njit(inline="always")
def _is_letter(character: np.uint32) -> bool:
    return character > _NINE


@njit(inline="always")
def _some(h: np.uint64) -> np.uint64:
    """A hash that is not zero, which says that there is no piece."""
    return h if h != _NONE else _ONE


@njit(nogil=True)
def _squeezed(characters: Array, begin: int, end: int) -> np.uint64:
    """The piece that letters and digits make, without the zeros that numbers begin with."""
    h = _SEED
    size = 0
    number = False
    for i in range(begin, end):
        character = characters[i]
        if _is_digit(character):
            if character == _ZERO and not number:
                continue
            number = True
        elif _is_letter(character):
            number = False
        else:
            continue
        h = mix(h, np.uint64(character))
        size += 1
    return _some(finish(h)) if size >= 2 else _NONE


@njit(nogil=True)
def _gram(characters: Array, begin: int) -> np.uint64:
    h = _SEED
    for i in range(begin, begin + GRAM):
        h = mix(h, np.uint64(characters[i]))
    return _some(finish(h))


@njit(inline="always")
def _in_any_order(one: np.uint64, other: np.uint64) -> np.uint64:
    return _some(finish(mix(min(one, other), max(one, other))))


@njit(nogil=True)
def _month(characters: Array, begin: int, end: int) -> int:
    """The month whose name, or three letters of it, a run is; 0 for none."""
    size = end - begin
    if size < 3 or size > 9:
        return 0
    for month in range(12):
        name = _MONTHS[month]
        same = 0
        while same < size and characters[begin + same] == name[same]:
            same += 1
        if same == size and (size in (3, 9) or name[size] == _BLANK):
            return month + 1
        if same == size and size == 4 and month == 8:  # sept
            return 9
    return 0


@njit(nogil=True)
def _number(characters: Array, begin: int, end: int) -> int:
    """A run as part of a date: up to four digits, or a month's name; 0 for none."""
    if not _is_digit(characters[begin]):
        return _month(characters, begin, end)
    if end - begin > 4:
        return 0
    number: Any = 0
    for i in range(begin, end):
        number = 10 * number + np.int64(characters[i]) - _ZERO
    return number


@njit(inline="always")
def _date(a: int, b: int, c: int) -> np.uint64:
    """The piece of a date whose year, month and day these are, in any order; none otherwise."""
    year, least = max(a, b, c), min(a, b, c)
    other = a + b + c - year - least
    if least < 1 or least > 12 or other > 31 or year < 1000 or year > 2999:
        return _NONE
    return _some(finish(mix(mix(_SEED, np.uint64(year)), np.uint64(32 * least + other))))


@kernel
def cut(data: Array, p: int, stop: int, characters: Array, out: Array) -> int:
    """Writes the pieces of the text `data[p:stop]`, 0 where there is none and some of them twice;
    returns how many. `characters` and `out` have room for `READ` and `ROOM`."""
    size = _read(data, p, stop, characters)
    n = 0
    runs = runs_between_blanks = runs_of_number = 0
    after_blank = number_begin = 0
    before_begin = before_end = 0
    before = _NONE  # the word before
    last = second = third = 0  # parts of dates: this run, the one before it, and before that
    i = 0
    while i <= size:
        character = characters[i] if i < size else np.uint32(_BLANK)
        digit, letter = _is_digit(character), _is_letter(character)
        if not digit and runs_of_number > 0:
            goes_on = character == _SIGN and i + 1 < size and _is_digit(characters[i + 1])
            if not goes_on:
                if runs_of_number > 1:
                    out[n] = _squeezed(characters, number_begin, i)
                    n += 1
                runs_of_number = 0
        if character == _BLANK:
            if runs_between_blanks > 1:
                out[n] = _squeezed(characters, after_blank, i)
                n += 1
            runs_between_blanks = 0
            after_blank = i + 1
        if not digit and not letter:
            i += 1
            continue
        begin = i
        while i < size and (_is_digit(characters[i]) if digit else _is_letter(characters[i])):
            i += 1
        if digit:
            if runs_of_number == 0:
                number_begin = begin
            runs_of_number += 1
        run = _squeezed(characters, begin, i)
        out[n] = run
        n += 1
        if runs > 0:
            out[n] = _squeezed(characters, before_begin, i)
            n += 1
            if letter and min(run, before) != _NONE:
                out[n] = _in_any_order(run, before)
                n += 1
        third = second
        second = last if begin - before_end <= 2 else 0
        last = _number(characters, begin, i)
        if last > 0 and second > 0 and third > 0:
            out[n] = _date(last, second, third)
            n += 1
        before = run if letter else _NONE
        before_begin, before_end = begin, i
        runs += 1
        runs_between_blanks += 1
        if digit:
            while begin < i and characters[begin] == _ZERO:
                begin += 1
        if i - begin > GRAM:
            for g in range(begin, i - GRAM + 1):
                gram = _gram(characters, g)
                if gram & _SAMPLED == _NONE:
                    out[n] = gram
                    n += 1
    if runs > 2:
        out[n] = _squeezed(characters, 0, size)
        n += 1
    return n


@kernel
def cut_one(data: Array) -> Array:
    """The pieces of one text."""
    out = np.empty(ROOM, np.uint64)
    n = cut(data, 0, data.shape[0], np.empty(READ, np.uint32), out)
    return out[:n].copy()


@kernel
def ranks_of(pieces: Array) -> Array:
    """The rank of each piece."""
    out = np.empty(pieces.shape[0], np.uint64)
    for k in range(pieces.shape[0]):
        out[k] = rank_of(pieces[k])
    return out
