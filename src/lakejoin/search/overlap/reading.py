"""How the algorithms read posting lists and sets: compiled, over mapped arrays.

The symbols of the thesis (chapter 3), as they are called here:

    Q, x_i      the query's values; those with equal posting lists are one *group* (3.4.1), so `i`
                counts groups, and `weight[i]` is how many values the i-th stands for
    |Q[i:]|     `rest[i]`, the weight from the i-th group on; `rest[0]` is |Q|
    f_i         `length[i]`, the length of the i-th posting list
    X, |X|      a column's set, packed as ascending groups, and its size
    X_k         the worst of the k best so far
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.mapped import (
    Guard,
    bytes_at,
    longs_at,
    shorts_at,
    touch,
    words_at,
)
from lakejoin.store.postings import SAMPLE

Array = np.ndarray[Any, Any]

# The arrays of a segment's postings in the order of the matrix's columns, three columns each.
ARRAYS = (
    "group_start",
    "group_sample",
    "length",
    "length_group",
    "length_begin",
    "short_lists",
    "lists",
    "positions",
    "set_start",
    "sets",
    "set_size",
    "mark_stand",
    "mark_first",
    "mark_group",
    "mark_byte",
)
GROUP_START, GROUP_SAMPLE, LENGTH, LENGTH_GROUP, LENGTH_BEGIN, SHORT_LISTS, LISTS = range(7)
POSITIONS, SET_START, SETS, SET_SIZE, MARK_STAND, MARK_FIRST, MARK_GROUP, MARK_BYTE = range(7, 15)
COLUMNS = 3 * len(ARRAYS)  # … then the number of columns,
CHECKED = COLUMNS + 1  # and the verified blocks: address, number, how many come before.
WIDTH = CHECKED + 3

_LOW = np.uint64(0x7F)
_MORE = np.uint64(0x80)
_SEVEN = np.uint64(7)
_ONE = np.uint64(1)
_BLOCK = 16
LONG = 192  # bytes of a set from which its marks are looked at


class Part(NamedTuple):
    """The postings of one segment: a row of the matrix, from which the functions below take arrays.

    Handing on one array instead of fifteen is what keeps the compiler quick.
    """

    number: int
    columns: int
    row: Array
    guard: Guard


class Groups(NamedTuple):
    """A query in one segment, group by group: its list begins at `begin` and has `length` entries;
    `ahead[i]` is the length of all lists from the i-th on."""

    group: Array
    weight: Array
    begin: Array
    length: Array
    rest: Array
    ahead: Array


@njit
def open_part(matrix: Array, number: int, pending: Array) -> Part:
    """A segment by its number."""
    row = matrix[number]
    guard = Guard(bytes_at(row, CHECKED), pending, row[CHECKED + 2])
    return Part(number, row[COLUMNS], row, guard)


@njit(inline="always")
def note(part: Part, array: int, begin: int, end: int) -> None:
    """Notes that the bytes [begin, end) of an array were read, if they were never verified."""
    if part.guard.checked.shape[0] > 0:
        at = part.row[3 * array + 2]
        touch(part.guard, at + begin, at + end)


@njit(inline="always")
def group_start_of(part: Part) -> Array:
    return words_at(part.row, 0)


@njit(inline="always")
def group_sample_of(part: Part) -> Array:
    return words_at(part.row, 3)


@njit(inline="always")
def length_of(part: Part) -> Array:
    return words_at(part.row, 6)


@njit(inline="always")
def length_group_of(part: Part) -> Array:
    return words_at(part.row, 9)


@njit(inline="always")
def length_begin_of(part: Part) -> Array:
    return longs_at(part.row, 12)


@njit(inline="always")
def short_lists_of(part: Part) -> Array:
    return shorts_at(part.row, 15)


@njit(inline="always")
def lists_of(part: Part) -> Array:
    return words_at(part.row, 18)


@njit(inline="always")
def set_start_of(part: Part) -> Array:
    return words_at(part.row, 24)


@njit(inline="always")
def sets_of(part: Part) -> Array:
    return bytes_at(part.row, 27)


@njit(inline="always")
def set_size_of(part: Part) -> Array:
    return words_at(part.row, 30)


@njit(inline="always")
def mark_stand_of(part: Part) -> Array:
    return words_at(part.row, 33)


@njit(inline="always")
def mark_first_of(part: Part) -> Array:
    return words_at(part.row, 36)


@njit(inline="always")
def mark_group_of(part: Part) -> Array:
    return words_at(part.row, 39)


@njit(inline="always")
def mark_byte_of(part: Part) -> Array:
    return words_at(part.row, 42)


@njit(inline="always")
def positions_of(part: Part) -> Array:
    return words_at(part.row, 21)


@njit(inline="always")
def size_of(part: Part, column: int) -> int:
    """How many distinct values a column has."""
    at = part.row[3 * SET_SIZE + 2] + 4 * column
    touch(part.guard, at, at + 4)
    return np.int64(set_size_of(part)[column])


@njit
def find_groups(part: Part, codes: Array, groups: Array, weights: Array) -> int:
    """The groups of ascending codes, with how many of the codes each holds; returns their number.

    Part of looking a query up, as in 3.4.1: it depends on neither k nor the algorithm.
    """
    start, sample = group_start_of(part), group_sample_of(part)
    last = start.shape[0] - 1
    n, i, group = 0, 0, -1
    while i < codes.shape[0]:
        code = np.int64(codes[i])
        # Both rise: gallop through the sample, then look into one stretch of the starts.
        near = first_above(sample, (group + 1) // SAMPLE, sample.shape[0], code) - 1
        low = max(group + 1, near * SAMPLE)
        group = first_above(start, low, min(low + SAMPLE + 1, last), code) - 1
        if group < 0 or group >= last or start[group] > code or start[group + 1] <= code:
            # Only damage leads here: all that was looked at must be verified.
            note(part, GROUP_SAMPLE, 0, 4 * sample.shape[0])
            note(part, GROUP_START, 4 * low, 4 * (low + SAMPLE + 2))
            break
        note(part, GROUP_START, 4 * group, 4 * (group + 2))
        beyond = first_above(codes, i + 1, codes.shape[0], np.int64(start[group + 1]) - 1)
        groups[n], weights[n] = group, beyond - i
        n += 1
        i = max(beyond, i + 1)
    return n


@njit
def read_query(part: Part, groups: Array, weights: Array, query: Groups) -> int:
    """Finds the lists of groups; returns how many there are.

    Groups with an empty list (of values in no searched column) are left out.
    """
    kinds = length_of(part).shape[0]
    size = short_lists_of(part).shape[0] + lists_of(part).shape[0]
    n, kind = 0, 0
    note(part, LENGTH_GROUP, 0, 4 * (kinds + 1))
    for i in range(groups.shape[0]):
        group = np.int64(groups[i])
        kind = max(first_above(length_group_of(part), kind, kinds, group) - 1, 0)
        length = np.int64(length_of(part)[kind])
        begin = (
            length_begin_of(part)[kind] + (group - np.int64(length_group_of(part)[kind])) * length
        )
        if length > 0 and 0 <= begin <= size - length:
            query.group[n], query.weight[n] = group, weights[i]
            query.begin[n], query.length[n] = begin, length
            n += 1
        note(part, LENGTH, 4 * kind, 4 * (kind + 1))
        note(part, LENGTH_BEGIN, 8 * kind, 8 * (kind + 1))
    query.rest[n] = 0
    query.ahead[n] = 0
    for i in range(n - 1, -1, -1):
        query.rest[i] = query.rest[i + 1] + query.weight[i]
        query.ahead[i] = query.ahead[i + 1] + query.length[i]
    return n


@njit
def first_above(numbers: Array, low: int, end: int, number: int) -> int:
    """The first place in [low, end) of rising numbers that holds more than a number.

    Looks near `low` first: the numbers asked for rise too. Whole blocks are compared at once,
    because a guess that fails costs the processor more than some needless comparisons.
    """
    if low >= end or numbers[low] > number:
        return low
    step = _BLOCK
    while low + step < end and numbers[low + step] <= number:
        low += step
        step += step
    high = min(low + step, end)
    while high - low > _BLOCK:
        middle = (low + high) >> 1
        if numbers[middle] <= number:
            low = middle
        else:
            high = middle
    if low + _BLOCK <= end:
        below = 0
        for j in range(_BLOCK):
            below += numbers[low + j] <= number
        return low + below
    while low < high and numbers[low] <= number:
        low += 1
    return low


@njit(inline="always")
def number_at(data: Array, at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The packed number at a place, and the place after it."""
    byte = np.uint64(data[at])
    at += _ONE
    value = byte & _LOW
    shift = _SEVEN
    while byte >= _MORE and at < end:
        byte = np.uint64(data[at])
        at += _ONE
        value |= (byte & _LOW) << shift
        shift += _SEVEN
    return value, at


@njit
def mark_before(part: Part, column: int, group: int) -> tuple[int, int]:
    """The last mark in a long set before a group: (the least group that may follow, its byte)."""
    columns = mark_stand_of(part)
    place = np.searchsorted(columns, np.uint32(column))
    if place == columns.shape[0] or columns[place] != column:
        return 0, 0
    note(part, MARK_STAND, 4 * place, 4 * place + 4)
    note(part, MARK_FIRST, 4 * place, 4 * place + 8)
    begin = np.int64(mark_first_of(part)[place])
    end = min(np.int64(mark_first_of(part)[place + 1]), mark_group_of(part).shape[0])
    last = first_above(mark_group_of(part), begin, end, group) - 1
    if last < begin or mark_group_of(part)[last] > group:
        return 0, 0
    note(part, MARK_GROUP, 4 * last, 4 * last + 4)
    note(part, MARK_BYTE, 4 * last, 4 * last + 4)
    return np.int64(mark_group_of(part)[last]), np.int64(mark_byte_of(part)[last])


@njit
def large_enough(part: Part, size: int) -> int:
    """How many columns have at least so many values: those are the first by their stands."""
    low, high = 0, part.columns
    while low < high:
        middle = (low + high) >> 1
        if np.int64(set_size_of(part)[middle]) >= size:
            low = middle + 1
        else:
            high = middle
    note(part, SET_SIZE, 4 * max(low - 1, 0), 4 * (low + 1))
    return low


@njit
def touch_set(part: Part, column: int, begin: int, end: int) -> None:
    """Notes what is read of a column: where its set is, its size, and the set itself."""
    at = part.row[3 * SET_START + 2] + 4 * column
    touch(part.guard, at, at + 8)
    at = part.row[3 * SET_SIZE + 2] + 4 * column
    touch(part.guard, at, at + 4)
    note(part, SETS, begin, end)


@njit(inline="always")
def shared_by_table(
    sets: Array, at: np.uint64, end: np.uint64, value: np.uint64, first: np.uint64, table: Array
) -> int:
    """The weight that packed groups share with a query, from a table of the weights of all groups;
    those from `first` on count."""
    total = np.uint64(0)
    size = np.uint64(table.shape[0])
    while at < end and value < first:
        step, at = number_at(sets, at, end)
        value += step
        if first <= value < size:
            total += np.uint64(table[value])
        value += _ONE
    while at < end:
        step, at = number_at(sets, at, end)
        value += step
        if value < size:
            total += np.uint64(table[value])
        value += _ONE
    return np.int64(total)
