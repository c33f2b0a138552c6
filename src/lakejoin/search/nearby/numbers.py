"""Numbers near mine: two sorted lists, walked side by side, over all sets of a segment at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.search.nearby.bar import bar_of, push
from lakejoin.search.nearby.pool import Pool

Array = np.ndarray[Any, Any]


@njit(inline="always")
def _from(raw: Array, at: int, end: int, divisor: float, wanted: float) -> int:
    """The first place from `at` on with a number of at least `wanted`; `end` if there is none.

    By steps that double: most are near, since both lists rise.
    """
    step = 1
    while at + step <= end and np.float64(raw[at + step - 1]) / divisor < wanted:
        at += step
        step *= 2
    high = min(at + step - 1, end)
    while at < high:
        middle = (at + high) >> 1
        if np.float64(raw[middle]) / divisor < wanted:
            at = middle + 1
        else:
            high = middle
    return at


@njit(inline="always")
def _beyond(raw: Array, at: int, end: int, divisor: float, wanted: float) -> int:
    """The first place from `at` on with a number above `wanted`."""
    step = 1
    while at + step <= end and np.float64(raw[at + step - 1]) / divisor <= wanted:
        at += step
        step *= 2
    high = min(at + step - 1, end)
    while at < high:
        middle = (at + high) >> 1
        if np.float64(raw[middle]) / divisor <= wanted:
            at = middle + 1
        else:
            high = middle
    return at


@njit
def _meet(
    raw: Array,
    begin: int,
    size: int,
    divisor: float,
    low: Array,
    high: Array,
    rising: bool,
    all_: bool,
    bar: int,
) -> tuple[int, int]:
    """(my numbers with a partner, pairs); fewer than there are, once `bar` is out of reach."""
    end = begin + size
    first, last = begin, begin
    hits, pairs = 0, 0
    count = low.shape[0]
    for i in range(count):
        if not rising:  # a share of more than all: the spans of larger numbers may begin earlier
            first = last = begin
        first = _from(raw, first, end, divisor, low[i])
        if first == end and rising:
            break
        last = _beyond(raw, max(first, last), end, divisor, high[i])
        pairs += last - first
        hits += last > first
        left = count - 1 - i
        if (pairs + left * size if all_ else hits + left) < bar:
            break
    return hits, pairs


@kernel
def meet_numbers(
    pool: Pool,
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
    """Counts, for the sets `which`, my numbers that have a partner, and the pairs.

    My number i meets what is in [low[i], high[i]]; of them, [begin, end) can meet a set at all.
    Counts that do not reach the bar may be too small.
    """
    for i in range(which.shape[0]):
        s = which[i]
        bar = bar_of(best, least)
        mine = end[i] - begin[i]
        size = pool.size[s]
        if (mine * size if all_ else mine) < bar:
            continue
        lows, highs = low[begin[i] : end[i]], high[begin[i] : end[i]]
        at, divisor, form = pool.begin[s], pool.divisor[s], pool.form[s]
        if form == 0:
            found = _meet(pool.bytes_, at, size, divisor, lows, highs, rising, all_, bar)
        elif form == 1:
            found = _meet(pool.shorts, at, size, divisor, lows, highs, rising, all_, bar)
        elif form == 2:
            found = _meet(pool.words, at, size, divisor, lows, highs, rising, all_, bar)
        elif form == 3:
            found = _meet(pool.floats, at, size, divisor, lows, highs, rising, all_, bar)
        else:
            found = _meet(pool.doubles, at, size, divisor, lows, highs, rising, all_, bar)
        hits[i], pairs[i] = found
        score = found[1] if all_ else found[0]
        if score >= bar:
            push(best, score)
