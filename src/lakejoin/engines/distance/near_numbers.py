"""Count numbers near the query's: walk two sorted lists, over all sets of a segment at once."""

from __future__ import annotations

import numpy as np
from numba import njit

from lakejoin.engines.distance.point_pool import PointPool
from lakejoin.kernels.jit import kernel
from lakejoin.kernels.topk import push_score, required_score
from lakejoin.model import Array


@njit(inline="always")
def _first_at_least(raw: Array, at: int, end: int, divisor: float, bound: float) -> int:
    """Return the first index from `at` on with a number of at least `bound`; `end` if there is
    none.

    Gallops, because both lists ascend and most numbers are close by.
    """
    step = 1
    while at + step <= end and np.float64(raw[at + step - 1]) / divisor < bound:
        at += step
        step *= 2
    high = min(at + step - 1, end)
    while at < high:
        middle = (at + high) >> 1
        if np.float64(raw[middle]) / divisor < bound:
            at = middle + 1
        else:
            high = middle
    return at


@njit(inline="always")
def _first_above(raw: Array, at: int, end: int, divisor: float, bound: float) -> int:
    """Return the first index from `at` on with a number above `bound`."""
    step = 1
    while at + step <= end and np.float64(raw[at + step - 1]) / divisor <= bound:
        at += step
        step *= 2
    high = min(at + step - 1, end)
    while at < high:
        middle = (at + high) >> 1
        if np.float64(raw[middle]) / divisor <= bound:
            at = middle + 1
        else:
            high = middle
    return at


@njit
def _count_set(
    raw: Array,
    begin: int,
    size: int,
    divisor: float,
    low: Array,
    high: Array,
    rising: bool,
    all_: bool,
    required: int,
) -> tuple[int, int]:
    """Return (query numbers with a partner, pairs); stops once the score is out of reach."""
    end = begin + size
    first, last = begin, begin
    hits, pairs = 0, 0
    count = low.shape[0]
    for i in range(count):
        if not rising:  # 100% or more: the interval of a larger number may begin earlier
            first = last = begin
        first = _first_at_least(raw, first, end, divisor, low[i])
        if first == end and rising:
            break
        last = _first_above(raw, max(first, last), end, divisor, high[i])
        pairs += last - first
        hits += last > first
        left = count - 1 - i
        if (pairs + left * size if all_ else hits + left) < required:
            break
    return hits, pairs


@kernel
def count_near_numbers(
    pool: PointPool,
    which: Array,
    begin: Array,
    end: Array,
    low: Array,
    high: Array,
    rising: bool,
    all_: bool,
    least: int,
    best: Array,
    hits: Array,
    pairs: Array,
) -> None:
    """Count, for the sets `which`, the query numbers that have a partner, and the pairs.

    Query number i matches what is in [low[i], high[i]]; only those in [begin, end) can match a set.
    Counts that do not reach the required score may be too small.
    """
    for i in range(which.shape[0]):
        s = which[i]
        required = required_score(best, least)
        able = end[i] - begin[i]
        size = pool.size[s]
        if (able * size if all_ else able) < required:
            continue
        lows, highs = low[begin[i] : end[i]], high[begin[i] : end[i]]
        at, divisor, form = pool.begin[s], pool.divisor[s], pool.form[s]
        if form == 0:
            counts = _count_set(pool.bytes_, at, size, divisor, lows, highs, rising, all_, required)
        elif form == 1:
            counts = _count_set(pool.shorts, at, size, divisor, lows, highs, rising, all_, required)
        elif form == 2:
            counts = _count_set(pool.words, at, size, divisor, lows, highs, rising, all_, required)
        elif form == 3:
            counts = _count_set(pool.floats, at, size, divisor, lows, highs, rising, all_, required)
        else:
            counts = _count_set(
                pool.doubles, at, size, divisor, lows, highs, rising, all_, required
            )
        hits[i], pairs[i] = counts
        score = counts[1] if all_ else counts[0]
        if score >= required:
            push_score(best, score)
