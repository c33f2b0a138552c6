"""Cut texts into tokens that survive rewriting, as 64-bit hashes.

(These are tokens of a text, unlike the tokens of a segment, which are whole values.) Rewriting
moves, drops and adds signs, blanks, zeros and affixes, and reorders words, but it mostly leaves
words and numbers whole. The tokens of a text (of its first 256 characters) are

- its *runs*: consecutive letters, or consecutive digits;
- the number that digits with single signs between them make (`2014-01-31`, `1,234,567`);
- each part between blanks, and the whole text, squeezed: only their letters and digits;
- every two consecutive runs, squeezed, and every two consecutive words in any order;
- dates: a year of four digits, a day, and a month as a number or a name, in any order;
- of the 5-grams inside a run of more than five characters every fourth, chosen by its hash.

Leading zeros of numbers, accents and the case of Latin letters are ignored (other letters come in
lower case). A token has at least two characters. What is a token, and its hash, is part of the
index format.

Every token has a *rank*. Columns keep the tokens of the lowest ranks, so that two columns keep the
same tokens where both have them.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from lakejoin.kernels.canonical_dates import find_month
from lakejoin.kernels.hashes import finish, mix
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

MAX_CHARACTERS = 256  # characters read of a text
MAX_TOKENS = 8 * MAX_CHARACTERS  # more tokens than these can have
GRAM_SIZE = 5

_SEED = np.uint64(0x2545F4914F6CDD1D)
_ORDER = np.uint64(0xD6E8FEB86659FD93)
_SAMPLED = np.uint64(3 << 40)
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_ZERO, _NINE, _BLANK, _SIGN = 48, 57, 32, 1
_LATIN_END = 592


def _latin_table() -> Array:
    """Map code points below 592 to a letter without its accent, a digit, a blank or a sign."""
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


_LATIN = _latin_table()


@njit(inline="always")
def token_rank(token: np.uint64) -> np.uint64:
    """Return the rank of a token, by which columns choose the same tokens; ranks are distinct."""
    return token * _ORDER


@njit(inline="always")
def _six_bits(data: Array, p: int, stop: int) -> np.uint32:
    """Return the payload of a UTF-8 continuation byte."""
    return np.uint32(data[p]) & np.uint32(0x3F) if p < stop else np.uint32(0)


@njit(nogil=True)
def _read_characters(data: Array, p: int, stop: int, characters: Array) -> int:
    """Decode a UTF-8 text to the characters that count; return how many there are."""
    n = 0
    while p < stop and n < MAX_CHARACTERS:
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
        elif point >= 0x300 and point < 0x370:  # a combining accent
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
def _nonzero(h: np.uint64) -> np.uint64:
    """Return a hash that is not zero: zero means that there is no token."""
    return h if h != _NONE else _ONE


@njit(nogil=True)
def _squeeze(characters: Array, begin: int, end: int) -> np.uint64:
    """Hash the letters and digits of a range, without leading zeros of numbers; 0 if too short."""
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
    return _nonzero(finish(h)) if size >= 2 else _NONE


@njit(nogil=True)
def _gram(characters: Array, begin: int) -> np.uint64:
    """Hash one q-gram."""
    h = _SEED
    for i in range(begin, begin + GRAM_SIZE):
        h = mix(h, np.uint64(characters[i]))
    return _nonzero(finish(h))


@njit(inline="always")
def _combine(left: np.uint64, right: np.uint64) -> np.uint64:
    """Combine two hashes regardless of their order."""
    return _nonzero(finish(mix(min(left, right), max(left, right))))


@njit(nogil=True)
def _date_part(characters: Array, begin: int, end: int) -> int:
    """Read a run as part of a date: up to four digits, or a month's name; 0 if it is none."""
    if not _is_digit(characters[begin]):
        return find_month(characters, begin, end - begin) if 3 <= end - begin <= 9 else 0
    if end - begin > 4:
        return 0
    number: Any = 0
    for i in range(begin, end):
        number = 10 * number + np.int64(characters[i]) - _ZERO
    return number


@njit(inline="always")
def _date(a: int, b: int, c: int) -> np.uint64:
    """Hash a date whose year, month and day come in any order; 0 if it is no date."""
    year, lowest = max(a, b, c), min(a, b, c)
    middle = a + b + c - year - lowest
    if lowest < 1 or lowest > 12 or middle > 31 or year < 1000 or year > 2999:
        return _NONE
    return _nonzero(finish(mix(mix(_SEED, np.uint64(year)), np.uint64(32 * lowest + middle))))


@kernel
def cut_tokens(data: Array, p: int, stop: int, characters: Array, out: Array) -> int:
    """Write the tokens of the text `data[p:stop]` and return how many; 0 marks a missing one.

    Some come twice. `characters` and `out` have room for `MAX_CHARACTERS` and `MAX_TOKENS`.
    """
    size = _read_characters(data, p, stop, characters)
    n = 0
    runs = runs_between_blanks = runs_of_number = 0
    after_blank = number_begin = 0
    before_begin = before_end = 0
    before = _NONE  # the previous word
    last = second = third = 0  # parts of dates: this run and the two before it
    i = 0
    while i <= size:
        character = characters[i] if i < size else np.uint32(_BLANK)
        digit, letter = _is_digit(character), _is_letter(character)
        if not digit and runs_of_number > 0:
            goes_on = character == _SIGN and i + 1 < size and _is_digit(characters[i + 1])
            if not goes_on:
                if runs_of_number > 1:
                    out[n] = _squeeze(characters, number_begin, i)
                    n += 1
                runs_of_number = 0
        if character == _BLANK:
            if runs_between_blanks > 1:
                out[n] = _squeeze(characters, after_blank, i)
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
        run = _squeeze(characters, begin, i)
        out[n] = run
        n += 1
        if runs > 0:
            out[n] = _squeeze(characters, before_begin, i)
            n += 1
            if letter and min(run, before) != _NONE:
                out[n] = _combine(run, before)
                n += 1
        third = second
        second = last if begin - before_end <= 2 else 0
        last = _date_part(characters, begin, i)
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
        if i - begin > GRAM_SIZE:
            for g in range(begin, i - GRAM_SIZE + 1):
                gram = _gram(characters, g)
                if gram & _SAMPLED == _NONE:
                    out[n] = gram
                    n += 1
    if runs > 2:
        out[n] = _squeeze(characters, 0, size)
        n += 1
    return n


def token_ranks(tokens: Array) -> Array:
    """Return the rank of each token."""
    return tokens * _ORDER
