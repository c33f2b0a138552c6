"""The k best columns seen so far, as a heap with the worst on top.

A column's rank is a number: its score in the high 32 bits, and below it how small its set is, so
that of two columns with equal scores the smaller comes first. What is still equal is ordered by
its place (segment, then column). The order is total: whatever way the columns are met, the same k
remain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@njit(inline="always")
def rank_of(score: int, size: int) -> np.uint64:
    """The rank of a column with that score and that many distinct values."""
    return (np.uint64(score) << _HALF) | (_LOW - np.uint64(size))


@njit(inline="always")
def place_of(segment: int, column: int) -> np.uint64:
    """Where a column is, as one number."""
    return (np.uint64(segment) << _HALF) | np.uint64(column)


@njit(inline="always")
def score_of(rank: np.uint64) -> int:
    """The score in a rank."""
    return np.int64(rank >> _HALF)


@njit(inline="always")
def enters(ranks: Array, places: Array, count: int, rank: np.uint64, place: np.uint64) -> bool:
    """Whether a column of that rank would be among the k best."""
    if count < ranks.shape[0]:
        return True
    return rank > ranks[0] or (rank == ranks[0] and place < places[0])


@njit(inline="always")
def least_score(ranks: Array, count: int) -> int:
    """A lower score than this cannot enter; an equal one perhaps."""
    return score_of(ranks[0]) if count == ranks.shape[0] else 1


@njit(inline="always")
def _worse(ranks: Array, places: Array, a: int, b: int) -> bool:
    return ranks[a] < ranks[b] or (ranks[a] == ranks[b] and places[a] > places[b])


@njit
def push(ranks: Array, places: Array, count: int, rank: np.uint64, place: np.uint64) -> int:
    """Takes a column in if it enters; returns how many there are."""
    if not enters(ranks, places, count, rank, place):
        return count
    size = ranks.shape[0]
    if count < size:
        i = count
        ranks[i], places[i] = rank, place
        while i > 0:
            parent = (i - 1) >> 1
            if not _worse(ranks, places, i, parent):
                break
            ranks[i], ranks[parent] = ranks[parent], ranks[i]
            places[i], places[parent] = places[parent], places[i]
            i = parent
        return count + 1
    ranks[0], places[0] = rank, place
    _sink(ranks, places, size)
    return count


@njit
def _sink(ranks: Array, places: Array, size: int) -> None:
    """Moves the first of a heap of that size down to where it belongs."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _worse(ranks, places, child + 1, child):
            child += 1
        if not _worse(ranks, places, child, i):
            break
        ranks[i], ranks[child] = ranks[child], ranks[i]
        places[i], places[child] = places[child], places[i]
        i = child


@njit
def sort_best_first(ranks: Array, places: Array, count: int) -> None:
    """Puts what a heap holds in order; it is no heap then."""
    for last in range(count - 1, 0, -1):
        ranks[0], ranks[last] = ranks[last], ranks[0]
        places[0], places[last] = places[last], places[0]
        _sink(ranks, places, last)
