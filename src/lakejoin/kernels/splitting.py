"""Into which pieces do a few example texts split? By every separator, from both ends, each once.

Texts are code points in one array, a piece is where it begins and ends in it for every example.
Pieces with the same texts are one piece with several paths. A path is a row of eight numbers: the
piece, the column, and the first and the second split, each as where the separator stands, its
length (0: no split, below 0: stretches of a kind), and which part is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

MOST_PARTS = 5  # counted from each end
MOST_SEPARATORS = 8
MOST_PATHS = 8
LONGEST_SEPARATOR = 3
DIGITS, LETTERS, WORDS = -1, -2, -3  # the kinds of stretches

_PARTS = MOST_SEPARATORS * 2 * MOST_PARTS
_STRETCHES = 3 * 2 * MOST_PARTS
_UNDERSCORE = np.uint32(95)
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
# A path; behind it stand, until paths are put together, where every example's text begins and ends.
_PIECE, _COLUMN, _SEPARATOR, _LENGTH, _PART = range(5)
_SECOND = 3  # further on in a path is the second split
_PATH = 8


@kernel
def split_once(
    chars: Array, alnum: Array, begins: Array, ends: Array
) -> tuple[Array, Array, Array, Array]:
    """The pieces of the examples' columns: whole, split, as stretches.

    Their begins and ends, all paths, and the place of each piece's first path.
    """
    examples, columns = begins.shape
    found = np.empty((columns * (1 + _PARTS + _STRETCHES), _PATH + 2 * examples), np.int64)
    separators = np.empty((_separator_room(begins, ends), 4), np.int64)
    parts = np.empty((2, examples, _longest(begins, ends) + 2), np.int64)
    first, last = np.empty(examples, np.int64), np.empty(examples, np.int64)
    many, path = np.zeros(examples, np.int64), np.zeros(_PATH, np.int64)
    size = np.int64(0)
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, first, last)
        size = _add(found, size, path, first, last)
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, first, last)
        for i in range(_separators(chars, alnum, first, last, separators)):
            path[_SEPARATOR], path[_LENGTH] = separators[i, 0], separators[i, 1]
            _split(chars, first, last, separators[i, 0], separators[i, 1], parts, many)
            size = _add_parts(found, size, path, np.int64(_PART), parts, many)
    path[_SEPARATOR] = 0
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, first, last)
        for kind in (DIGITS, LETTERS, WORDS):
            path[_LENGTH] = kind
            if _stretches(chars, first, last, kind, parts, many):
                size = _add_parts(found, size, path, np.int64(_PART), parts, many)
    nothing = np.empty((0, examples), np.int64)
    return _distinct(chars, found, size, nothing, nothing)


@kernel
def split_twice(
    chars: Array, alnum: Array, begins: Array, ends: Array, known_firsts: Array, known_lasts: Array
) -> tuple[Array, Array, Array, Array]:
    """The pieces of pieces that are not among those known; they are numbered after the known."""
    examples, columns = begins.shape
    found = np.empty((columns * _PARTS * _PARTS, _PATH + 2 * examples), np.int64)
    one = np.empty((_separator_room(begins, ends), 4), np.int64)
    two = np.empty((len(one), 4), np.int64)
    outer = np.empty((2, examples, _longest(begins, ends) + 2), np.int64)
    inner = np.empty((2, examples, outer.shape[2]), np.int64)
    many, fewer = np.zeros(examples, np.int64), np.zeros(examples, np.int64)
    whole, end = np.empty(examples, np.int64), np.empty(examples, np.int64)
    first, last = np.empty(examples, np.int64), np.empty(examples, np.int64)
    path = np.zeros(_PATH, np.int64)
    size = np.int64(0)
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, whole, end)
        for i in range(_separators(chars, alnum, whole, end, one)):
            separator, length = one[i, 0], one[i, 1]
            path[_SEPARATOR], path[_LENGTH] = separator, length
            _split(chars, whole, end, separator, length, outer, many)
            fewest = _fewest(many)
            for turn in range(2 * fewest):
                path[_PART] = turn if turn < fewest else fewest - 1 - turn
                if not _take(outer, many, path[_PART], first, last):
                    continue
                for j in range(_separators(chars, alnum, first, last, two)):
                    if _holds(chars, separator, length, two[j, 0], two[j, 1]):
                        continue
                    path[_SEPARATOR + _SECOND] = two[j, 0]
                    path[_LENGTH + _SECOND] = two[j, 1]
                    _split(chars, first, last, two[j, 0], two[j, 1], inner, fewer)
                    size = _add_parts(found, size, path, np.int64(_PART + _SECOND), inner, fewer)
    return _distinct(chars, found, size, known_firsts, known_lasts)


@njit(nogil=True)
def _distinct(
    chars: Array, found: Array, size: int, known_firsts: Array, known_lasts: Array
) -> tuple[Array, Array, Array, Array]:
    """The pieces that are none of the known, and up to `MOST_PATHS` paths to each."""
    known, examples = known_firsts.shape
    room = known + size
    slots = 64
    while slots < 2 * room:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    firsts, lasts = np.empty((room, examples), np.int64), np.empty((room, examples), np.int64)
    used = np.zeros(room, np.int64)
    pieces = np.int64(0)
    for i in range(known):
        for e in range(examples):
            firsts[i, e], lasts[i, e] = known_firsts[i, e], known_lasts[i, e]
        pieces = max(pieces, _number(chars, table, firsts, lasts, pieces) + 1)
    paths, ways = np.empty((size, _PATH), np.int64), 0
    first_ways = np.empty(room, np.int64)
    for i in range(size):
        for e in range(examples):
            firsts[pieces, e] = found[i, _PATH + e]
            lasts[pieces, e] = found[i, _PATH + examples + e]
        piece = _number(chars, table, firsts, lasts, pieces)
        pieces = max(pieces, piece + 1)
        if piece >= known and used[piece] < MOST_PATHS:
            if used[piece] == 0:
                first_ways[piece] = ways
            used[piece] += 1
            paths[ways, _PIECE] = piece
            for k in range(1, _PATH):
                paths[ways, k] = found[i, k]
            ways += 1
    return (
        firsts[known:pieces].copy(),
        lasts[known:pieces].copy(),
        paths[:ways].copy(),
        first_ways[known:pieces].copy(),
    )


@njit(nogil=True)
def _number(chars: Array, table: Array, firsts: Array, lasts: Array, new: int) -> int:
    """The number of the piece with the texts of piece `new`, which is that one if all differ."""
    examples = firsts.shape[1]
    h = np.uint64(0)
    for e in range(examples):
        for i in range(firsts[new, e], lasts[new, e]):
            h = (h ^ np.uint64(chars[i])) * _PRIME
            h ^= h >> _SHIFT
        h = (h + np.uint64(1)) * _PRIME
    mask = np.uint64(len(table) - 1)
    at = (h ^ (h >> _SHIFT)) & mask
    while table[at] >= 0:
        piece = table[at]
        e = 0
        while e < examples and _equal(
            chars, firsts[piece, e], lasts[piece, e], firsts[new, e], lasts[new, e]
        ):
            e += 1
        if e == examples:
            return piece
        at = (at + np.uint64(1)) & mask
    table[at] = new
    return new


@njit(nogil=True)
def _column(begins: Array, ends: Array, column: int, first: Array, last: Array) -> None:
    for e in range(len(first)):
        first[e], last[e] = begins[e, column], ends[e, column]


@njit(nogil=True)
def _add(found: Array, size: int, path: Array, first: Array, last: Array) -> int:
    """One more path with its texts; how many there are then."""
    examples = len(first)
    for k in range(_PATH):
        found[size, k] = path[k]
    for e in range(examples):
        found[size, _PATH + e] = first[e]
        found[size, _PATH + examples + e] = last[e]
    return size + 1


@njit(nogil=True)
def _add_parts(found: Array, size: int, path: Array, place: int, parts: Array, many: Array) -> int:
    """The parts that all examples have and that are empty in none, counted from both ends."""
    first, last = np.empty(len(many), np.int64), np.empty(len(many), np.int64)
    fewest = _fewest(many)
    for turn in range(2 * fewest):
        path[place] = turn if turn < fewest else fewest - 1 - turn
        if _take(parts, many, path[place], first, last):
            size = _add(found, size, path, first, last)
    path[place] = 0
    return size


@njit(nogil=True)
def _fewest(many: Array) -> int:
    fewest = np.int64(MOST_PARTS)
    for e in range(len(many)):
        fewest = min(fewest, many[e])
    return fewest


@njit(nogil=True)
def _longest(begins: Array, ends: Array) -> int:
    longest = np.int64(0)
    for example in range(begins.shape[0]):
        for column in range(begins.shape[1]):
            longest = max(longest, ends[example, column] - begins[example, column])
    return longest


@njit(nogil=True)
def _separator_room(begins: Array, ends: Array) -> int:
    """Each text has fewer separators than twice its characters."""
    return begins.shape[0] * 2 * (_longest(begins, ends) + 1)


@njit(nogil=True)
def _take(parts: Array, many: Array, part: int, first: Array, last: Array) -> bool:
    """Every example's part of that number, from the end if below 0; whether none is empty."""
    for e in range(len(many)):
        at = part if part >= 0 else many[e] + part
        first[e], last[e] = parts[0, e, at], parts[1, e, at]
        if first[e] == last[e]:
            return False
    return True


@njit(nogil=True)
def _split(
    chars: Array, first: Array, last: Array, separator: int, length: int, parts: Array, many: Array
) -> None:
    """Where the parts between separators begin and end in every example, and how many there are."""
    for e in range(len(first)):
        begin, end = first[e], last[e]
        found = np.int64(0)
        parts[0, e, 0] = begin
        at = begin
        while at + length <= end:
            if _equal(chars, at, at + length, separator, separator + length):
                parts[1, e, found] = at
                at += length
                found += 1
                parts[0, e, found] = at
            else:
                at += 1
        parts[1, e, found] = end
        many[e] = found + 1


@njit(nogil=True)
def _stretches(
    chars: Array, first: Array, last: Array, kind: int, parts: Array, many: Array
) -> bool:
    """Where stretches of a kind begin and end; whether any text is more than one such stretch."""
    telling = False
    for e in range(len(first)):
        found = np.int64(0)
        inside = False
        for at in range(first[e], last[e]):
            if _is_kind(chars[at], kind):
                if not inside:
                    parts[0, e, found] = at
                    inside = True
            elif inside:
                parts[1, e, found] = at
                found += 1
                inside = False
        if inside:
            parts[1, e, found] = last[e]
            found += 1
        many[e] = found
        if found != 1 or parts[0, e, 0] != first[e] or parts[1, e, 0] != last[e]:
            telling = True
    return telling


@njit(nogil=True)
def _is_kind(char: np.uint32, kind: int) -> bool:
    """As the expressions of `forms.Runs` say: all beyond ASCII counts as letters."""
    if char >= 48 and char <= 57:
        return kind != LETTERS
    letter = char >= 128 or (char >= 65 and char <= 90) or (char >= 97 and char <= 122)
    return letter and kind != DIGITS


@njit(nogil=True)
def _separators(chars: Array, alnum: Array, first: Array, last: Array, found: Array) -> int:
    """What is neither letter nor digit: single characters and whole runs, the commonest first.

    Rows of `found`: where a separator stands, its length, how many examples have it, and the last
    of them. The best come first, and how many there are is told.
    """
    many = np.int64(0)
    for e in range(len(first)):
        at, end = first[e], last[e]
        while at < end:
            if alnum[at]:
                at += 1
                continue
            begin = at
            underscore = chars[at] == _UNDERSCORE
            while at < end and not alnum[at] and (chars[at] == _UNDERSCORE) == underscore:
                many = _count(chars, found, many, at, np.int64(1), e)
                at += 1
            if at - begin > 1 and at - begin <= LONGEST_SEPARATOR:
                many = _count(chars, found, many, begin, at - begin, e)
    best = min(many, np.int64(MOST_SEPARATORS))
    for place in range(best):
        chosen = place
        for i in range(place + 1, many):
            if _comes_first(chars, found[i], found[chosen]):
                chosen = i
        for k in range(4):
            found[place, k], found[chosen, k] = found[chosen, k], found[place, k]
    return best


@njit(nogil=True)
def _count(chars: Array, found: Array, many: int, at: int, length: int, example: int) -> int:
    for i in range(many):
        if found[i, 1] == length and _equal(
            chars, found[i, 0], found[i, 0] + length, at, at + length
        ):
            if found[i, 3] != example:
                found[i, 2] += 1
                found[i, 3] = example
            return many
    found[many, 0], found[many, 1], found[many, 2], found[many, 3] = at, length, 1, example
    return many + 1


@njit(nogil=True)
def _comes_first(chars: Array, one: Array, other: Array) -> bool:
    """The commoner separator, then the shorter, then by its characters."""
    if one[2] != other[2]:
        return one[2] > other[2]
    if one[1] != other[1]:
        return one[1] < other[1]
    for i in range(one[1]):
        mine, theirs = chars[one[0] + i], chars[other[0] + i]
        if mine != theirs:
            return mine < theirs
    return False


@njit(nogil=True)
def _holds(chars: Array, begin: int, length: int, inner: int, inner_length: int) -> bool:
    for at in range(begin, begin + length - inner_length + 1):
        if _equal(chars, at, at + inner_length, inner, inner + inner_length):
            return True
    return False


@njit(nogil=True)
def _equal(chars: Array, one: int, one_end: int, other: int, other_end: int) -> bool:
    if one_end - one != other_end - other:
        return False
    while one < one_end and chars[one] == chars[other]:
        one += 1
        other += 1
    return one == one_end
