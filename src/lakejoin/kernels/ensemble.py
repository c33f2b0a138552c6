"""The numbers behind LSH Ensemble: optimal partitions, optimal bands, and how sure a count is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]


@njit(inline="always")
def _cost(counts: Array, totals: Array, sizes: Array, i: int, j: int) -> np.float64:
    """Equation 2.18: what the partition of the distinct sizes [i, j] costs; sums run before i."""
    return (counts[j + 1] - counts[i]) - (totals[j + 1] - totals[i]) / sizes[j]


@njit(inline="always")
def _push(stack: Array, at: int, low: int, high: int, first: int, last: int) -> None:
    stack[at, 0] = low
    stack[at, 1] = high
    stack[at, 2] = first
    stack[at, 3] = last


@kernel
def optimal_ends(sizes: Array, counts: Array, partitions: int, ends: Array) -> float:
    """The cheapest partitions of ascending distinct sizes: writes the last size of each.

    Equation 2.19 by dynamic programming. With S the running sum of count x size, the part of the
    cost that couples the first size i and the last size j is S[i] / size[j]; S rises and 1 / size
    falls, so the best i never falls as j rises (the cost is a Monge array), and each layer is
    found by halving: O(partitions x d log d) for d distinct sizes, the exact optimum.
    """
    d = sizes.shape[0]
    before_counts = np.zeros(d + 1)
    before_totals = np.zeros(d + 1)
    for i in range(d):
        before_counts[i + 1] = before_counts[i] + counts[i]
        before_totals[i + 1] = before_totals[i] + counts[i] * np.float64(sizes[i])
    best = np.empty(d)
    for j in range(d):
        best[j] = _cost(before_counts, before_totals, sizes, 0, j)
    choice = np.zeros((partitions, d), dtype=np.int64)
    stack = np.empty((128, 4), dtype=np.int64)
    for p in range(1, partitions):
        layer = best.copy()  # fewer partitions remain allowed
        choice[p, :] = -1
        top = 1
        _push(stack, 0, p, d - 1, p, d - 1)
        while top > 0:
            top -= 1
            low, high = stack[top, 0], stack[top, 1]
            first, last = stack[top, 2], stack[top, 3]
            if low > high:
                continue
            j = (low + high) // 2
            value = np.inf
            where = first
            for i in range(first, min(last, j) + 1):
                total = best[i - 1] + _cost(before_counts, before_totals, sizes, i, j)
                if total < value:
                    value, where = total, i
            if value < layer[j]:
                layer[j] = value
                choice[p, j] = where
            _push(stack, top, low, j - 1, first, where)
            _push(stack, top + 1, j + 1, high, where, last)
            top += 2
        best = layer
    j = d - 1
    n = 0
    p = partitions - 1
    while j >= 0:
        while p > 0 and choice[p, j] < 0:
            p -= 1
        ends[n] = j
        n += 1
        if p == 0:
            break
        j = choice[p, j] - 1
        p -= 1
    return best[d - 1]


@kernel
def errors_of_bands(
    threshold: float, ratio: float, places: int, nodes: Array, weights: Array, out: Array
) -> None:
    """Equations 2.22 to 2.24 for all (b, r): out[r - 1, b - 1] is (false positive, false negative).

    `nodes` and `weights` integrate over [-1, 1].
    """
    upper = min(1.0, ratio)
    for side in range(2):
        low = 0.0 if side == 0 else min(threshold, upper)
        high = min(threshold, upper) if side == 0 else upper
        half = 0.5 * (high - low)
        for k in range(nodes.shape[0]):
            t = low + half * (1.0 + nodes[k])
            weight = half * weights[k]
            s = t / (ratio + 1.0 - t)
            power = 1.0
            for r in range(1, out.shape[0] + 1):
                power *= s
                miss = 1.0
                for b in range(1, places // r + 1):
                    miss *= 1.0 - power
                    out[r - 1, b - 1, side] += weight * (miss if side else 1.0 - miss)


@kernel
def upper_bounds(places: int, chance: float, out: Array) -> None:
    """How large a similarity may be, by the number of places that agree.

    out[c] is the similarity at which at most c of the places agree with probability `chance`
    (the one-sided bound of Clopper and Pearson); 1 where all agree.
    """
    logs = np.zeros(places + 1)
    for i in range(1, places + 1):
        logs[i] = logs[i - 1] + np.log(np.float64(i))
    out[places] = 1.0
    for c in range(places):
        low, high = 0.0, 1.0
        for _ in range(50):
            s = 0.5 * (low + high)
            total = 0.0
            for i in range(c + 1):
                choose = logs[places] - logs[i] - logs[places - i]
                total += np.exp(choose + i * np.log(s) + (places - i) * np.log1p(-s))
            if total > chance:
                low = s
            else:
                high = s
        out[c] = low
