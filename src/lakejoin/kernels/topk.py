"""The k best columns and the k best scores seen so far, as heaps with the worst on top."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# A column's rank is a number: its score in the high 32 bits, and below it how small its set is, so
# that of two columns with equal scores the smaller comes first. Remaining ties are ordered by the
# column's key (segment, then column). The order is total: whatever the order in which columns come,
# the same k remain.

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@njit(inline="always")
def rank_of(score: int, size: int) -> np.uint64:
    """Return the rank of a column with that score and that many distinct values."""
    return (np.uint64(score) << _HALF) | (_LOW - np.uint64(size))


@njit(inline="always")
def column_key(segment: int, column: int) -> np.uint64:
    """Return the key of a column: segment and column as one number."""
    return (np.uint64(segment) << _HALF) | np.uint64(column)


@njit(inline="always")
def score_of(rank: np.uint64) -> int:
    """Return the score in a rank."""
    return np.int64(rank >> _HALF)


@njit(inline="always")
def would_enter(ranks: Array, keys: Array, count: int, rank: np.uint64, key: np.uint64) -> bool:
    """Whether a column of that rank would be among the k best."""
    if count < ranks.shape[0]:
        return True
    return rank > ranks[0] or (rank == ranks[0] and key < keys[0])


@njit(inline="always")
def least_score(ranks: Array, count: int) -> int:
    """Return the score below which no column can enter; an equal one may."""
    return score_of(ranks[0]) if count == ranks.shape[0] else 1


@njit(inline="always")
def _worse(ranks: Array, keys: Array, a: int, b: int) -> bool:
    return ranks[a] < ranks[b] or (ranks[a] == ranks[b] and keys[a] > keys[b])


@njit
def push_column(ranks: Array, keys: Array, count: int, rank: np.uint64, key: np.uint64) -> int:
    """Take a column into the heap if it enters; return how many there are."""
    if not would_enter(ranks, keys, count, rank, key):
        return count
    size = ranks.shape[0]
    if count < size:
        i = count
        ranks[i], keys[i] = rank, key
        while i > 0:
            parent = (i - 1) >> 1
            if not _worse(ranks, keys, i, parent):
                break
            ranks[i], ranks[parent] = ranks[parent], ranks[i]
            keys[i], keys[parent] = keys[parent], keys[i]
            i = parent
        return count + 1
    ranks[0], keys[0] = rank, key
    _sink(ranks, keys, size)
    return count


@njit
def _sink(ranks: Array, keys: Array, size: int) -> None:
    """Move the first of a heap of that size down to where it belongs."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _worse(ranks, keys, child + 1, child):
            child += 1
        if not _worse(ranks, keys, child, i):
            break
        ranks[i], ranks[child] = ranks[child], ranks[i]
        keys[i], keys[child] = keys[child], keys[i]
        i = child


@njit
def sort_best_first(ranks: Array, keys: Array, count: int) -> None:
    """Sort a heap, best first; it is no heap afterwards."""
    for last in range(count - 1, 0, -1):
        ranks[0], ranks[last] = ranks[last], ranks[0]
        keys[0], keys[last] = keys[last], keys[0]
        _sink(ranks, keys, last)


@kernel(inline="always")
def required_score(best: Array, least: int) -> int:
    """Return the score that a set must reach.

    `best` has the number of scores in it, then a heap of the k best with the lowest on top. If it
    has no room (k = 0), every set with at least `least` counts.
    """
    size = best.shape[0] - 1
    if size > 0 and best[0] == size and best[1] > least:
        return best[1]
    return least


@kernel
def push_score(best: Array, score: int) -> None:
    """Take a score into the heap if it is among the k best."""
    size = best.shape[0] - 1
    if size == 0:
        return
    if best[0] < size:
        best[0] += 1
        i = best[0]
        best[i] = score
        while i > 1 and best[i] < best[i >> 1]:
            best[i], best[i >> 1] = best[i >> 1], best[i]
            i >>= 1
        return
    if score <= best[1]:
        return
    best[1] = score
    i = 1
    while True:
        child = 2 * i
        if child > size:
            break
        if child < size and best[child + 1] < best[child]:
            child += 1
        if best[i] <= best[child]:
            break
        best[i], best[child] = best[child], best[i]
        i = child
