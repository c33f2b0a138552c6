"""MergeList: read every distinct posting list of the query, count, and take the best k.

Thesis 3.2.1 with the distinct lists of 3.4.1. The yardstick for the other algorithms, and the
best of them where a query's lists are short.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.mapped import bytes_at, touch, words_at
from lakejoin.kernels.topk import enters, least_score, place_of, push, rank_of
from lakejoin.search.overlap.reading import (
    LISTS,
    SHORT_LISTS,
    Groups,
    Part,
    lists_of,
    short_lists_of,
    size_of,
)
from lakejoin.search.overlap.tally import BYTES, READ, SEEN

Array = np.ndarray[Any, Any]


class Top(NamedTuple):
    """The k best columns of all segments so far, a heap."""

    rank: Array
    place: Array


class Work(NamedTuple):
    """The room one search needs, as a row of addresses (see `Room`), and the blocks to verify.

    `counts` and the like are for every column of a segment, and zero between two searches; so is
    `table`, the weight of every group. `touched`, `alive` and `exact` are lists of columns.
    `passed` marks columns to pass over: 1 for hidden ones, 2 for those whose score was taken
    already, which `exact` lists. The last three are for JOSIE alone: where a candidate was met
    first (one more than the group), and its positions then and last.
    """

    row: Array
    pending: Array


@njit(inline="always")
def counts_in(work: Work) -> Array:
    return words_at(work.row, 0)


@njit(inline="always")
def touched_in(work: Work) -> Array:
    return words_at(work.row, 2)


@njit(inline="always")
def alive_in(work: Work) -> Array:
    return words_at(work.row, 4)


@njit(inline="always")
def exact_in(work: Work) -> Array:
    return words_at(work.row, 6)


@njit(inline="always")
def table_in(work: Work) -> Array:
    return words_at(work.row, 8)


@njit(inline="always")
def first_in(work: Work) -> Array:
    return words_at(work.row, 10)


@njit(inline="always")
def first_position_in(work: Work) -> Array:
    return words_at(work.row, 12)


@njit(inline="always")
def position_in(work: Work) -> Array:
    return words_at(work.row, 14)


@njit(inline="always")
def passed_in(work: Work) -> Array:
    return bytes_at(work.row, 16)


@njit
def read_lists(
    part: Part, query: Groups, i: int, j: int, limit: int, work: Work, tally: Array, seen: int
) -> int:
    """Adds the weights of the lists [i, j) to the counts of the first `limit` columns in them.

    Columns met for the first time are appended to the `seen` in `touched`; returns how many it has.
    """
    tally[READ] += j - i
    if short_lists_of(part).shape[0] > 0:
        if part.guard.checked.shape[0] > 0:
            _touch_lists(part, part.row[3 * SHORT_LISTS + 2], 2, query, i, j)
        return _count(short_lists_of(part), 2, query, i, j, limit, work, tally, seen)
    if part.guard.checked.shape[0] > 0:
        _touch_lists(part, part.row[3 * LISTS + 2], 4, query, i, j)
    return _count(lists_of(part), 4, query, i, j, limit, work, tally, seen)


@njit
def _touch_lists(part: Part, at: int, size: int, query: Groups, i: int, j: int) -> None:
    for m in range(i, j):
        begin = at + size * query.begin[m]
        touch(part.guard, begin, begin + size * query.length[m])


@njit
def _count(
    lists: Array,
    size: int,
    query: Groups,
    i: int,
    j: int,
    limit: int,
    work: Work,
    tally: Array,
    seen: int,
) -> int:
    counts, touched = counts_in(work), touched_in(work)
    begins, lengths, weights = query.begin, query.length, query.weight
    none = np.uint32(0)
    last = np.uint64(limit)
    number = np.uint64(seen)
    read = np.uint64(0)
    for m in range(np.uint64(i), np.uint64(j)):
        weight = np.uint32(weights[m])
        place = np.uint64(begins[m])
        end = place + np.uint64(lengths[m])
        read -= place
        while place < end:
            column = np.uint64(lists[place])
            if column >= last:
                break
            count = counts[column]
            touched[number] = column
            number += np.uint64(count == none)
            counts[column] = count + weight
            place += np.uint64(1)
        read += place
    tally[BYTES] += size * np.int64(read)
    return np.int64(number)


@njit
def take_best(part: Part, work: Work, columns: Array, n: int, top: Top, found: int) -> int:
    """Takes the best of `n` columns, whose counts are final, among the k best."""
    least = least_score(top.rank, found)
    counts, passed = counts_in(work), passed_in(work)
    for j in range(n):
        column = np.uint64(columns[j])
        score = np.int64(counts[column])
        if score < least or passed[column]:
            continue
        rank = rank_of(score, size_of(part, np.int64(column)))
        place = place_of(part.number, np.int64(column))
        if enters(top.rank, top.place, found, rank, place):
            found = push(top.rank, top.place, found, rank, place)
            least = least_score(top.rank, found)
    return found


@njit
def merge(part: Part, n: int, query: Groups, work: Work, top: Top, found: int, tally: Array) -> int:
    """Reads all lists of one segment and takes the best columns."""
    seen = read_lists(part, query, 0, n, part.columns, work, tally, 0)
    found = take_best(part, work, touched_in(work), seen, top, found)
    clear(counts_in(work), touched_in(work), seen)
    tally[SEEN] += seen
    return found


@njit
def clear(numbers: Array, places: Array, n: int) -> None:
    """Sets the numbers at `n` places to zero."""
    for j in range(n):
        numbers[places[j]] = 0
