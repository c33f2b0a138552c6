"""MergeList: read every distinct posting list of the query, count, and take the best k.

Thesis 3.2.1 with the distinct lists of 3.4.1. The yardstick for the other algorithms, and the
best of them where a query's lists are short.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.mapped import touch
from lakejoin.kernels.topk import enters, least_score, place_of, push, rank_of
from lakejoin.search.overlap.reading import LISTS, SHORT_LISTS, Groups, Part, size_of

Array = np.ndarray[Any, Any]


class Top(NamedTuple):
    """The k best columns of all segments so far, a heap."""

    rank: Array
    place: Array


class Tally(NamedTuple):
    """What was read: see `Counters`. Arrays of one, so that compiled code can add to them."""

    lists: Array
    lists_read: Array
    candidates: Array
    sets_read: Array
    pruned: Array
    bytes: Array
    segments: Array


class Work(NamedTuple):
    """The room one search needs: counts for every column of a segment, and lists of columns.

    Everything but the lists is zero between two searches. `passed` marks columns to pass over: 1
    for hidden ones, 2 for those whose score was taken already; these are listed in `exact`.
    `table` holds the weight of every group, `pending` the blocks to verify. The last three are for
    JOSIE alone: where a candidate was met first, and its positions then and last.
    """

    counts: Array
    touched: Array
    alive: Array
    exact: Array
    passed: Array
    table: Array
    pending: Array
    first: Array
    first_position: Array
    position: Array


@njit
def read_lists(
    part: Part, query: Groups, i: int, j: int, limit: int, work: Work, tally: Tally, seen: int
) -> int:
    """Adds the weights of the lists [i, j) to the counts of the first `limit` columns in them.

    Columns met for the first time are appended to the `seen` in `touched`; returns how many it has.
    """
    tally.lists_read[0] += j - i
    if part.short_lists.shape[0] > 0:
        if part.guard.checked.shape[0] > 0:
            _touch_lists(part, part.at[SHORT_LISTS], 2, query, i, j)
        return _count(part.short_lists, 2, query, i, j, limit, work, tally, seen)
    if part.guard.checked.shape[0] > 0:
        _touch_lists(part, part.at[LISTS], 4, query, i, j)
    return _count(part.lists, 4, query, i, j, limit, work, tally, seen)


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
    tally: Tally,
    seen: int,
) -> int:
    counts, touched = work.counts, work.touched
    begins, lengths, weights = query.begin, query.length, query.weight
    none = counts.dtype.type(0)
    last = np.uint64(limit)
    number = np.uint64(seen)
    read = np.uint64(0)
    for m in range(np.uint64(i), np.uint64(j)):
        weight = counts.dtype.type(weights[m])
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
    tally.bytes[0] += size * np.int64(read)
    return np.int64(number)


@njit
def take_best(part: Part, work: Work, columns: Array, n: int, top: Top, found: int) -> int:
    """Takes the best of `n` columns, whose counts are final, among the k best."""
    least = least_score(top.rank, found)
    counts, passed = work.counts, work.passed
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
def merge(part: Part, n: int, query: Groups, work: Work, top: Top, found: int, tally: Tally) -> int:
    """Reads all lists of one segment and takes the best columns."""
    seen = read_lists(part, query, 0, n, part.columns, work, tally, 0)
    found = take_best(part, work, work.touched, seen, top, found)
    clear(work.counts, work.touched, seen)
    tally.candidates[0] += seen
    return found


@njit
def clear(numbers: Array, places: Array, n: int) -> None:
    """Sets the numbers at `n` places to zero."""
    for j in range(n):
        numbers[places[j]] = 0
