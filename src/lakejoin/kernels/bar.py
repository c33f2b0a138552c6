"""The score that a set must reach: `least`, or the k-th best score so far."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]


@njit(inline="always")
def required_score(best: Array, least: int) -> int:
    """Return the score that a set must reach.

    `best` has the number of scores in it, then a heap of the k best with the lowest on top. If it
    has no room (k = 0), every set with at least `least` counts.
    """
    size = best.shape[0] - 1
    if size > 0 and best[0] == size and best[1] > least:
        return best[1]
    return least


@njit
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
