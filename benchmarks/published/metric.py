"""Distances for the published methods, one pair at a time, and what rounding does to bounds.

What decides whether two vectors are within a radius is the same as everywhere (`exact`). Bounds are
made of distances for which the triangle inequality holds, all that the methods know of a metric.
They may be rounded, so there is room on either side: what is farther by a bound than `far` is
outside the radius, and what is within `sure` is inside, whatever was rounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.engines.meaning.vector_distances import limit, squared_l2
from lakejoin.errors import InputError
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

METRICS = ("l2", "l1", "angular")
_L1, _ANGULAR = METRICS.index("l1"), METRICS.index("angular")
# Distances that are kept are rounded to float32: so much of the largest of them is more than four
# of them and their sums can be off together.
_ROUNDING = 2.0**-20


class Reach(NamedTuple):
    """A metric by its number, the largest distance that is within the radius, and what that is for
    bounds, with room for rounding on either side."""

    metric: int
    limit: float
    far: float
    sure: float


def number_of(metric: str) -> int:
    """The number of a metric in compiled code."""
    if metric not in METRICS:
        raise InputError(f"unknown metric {metric!r}: use one of {', '.join(METRICS)}")
    return METRICS.index(metric)


def reach_of(radius: float, metric: int, largest: float) -> Reach:
    """How far a radius reaches among distances for bounds, of which one is the largest.

    >>> reach = reach_of(0.5, 0, largest=2.0)
    >>> reach.sure < 0.5 < reach.far
    True
    """
    slack = _ROUNDING * largest
    within = limit(radius)
    bound = within
    if metric == _ANGULAR:
        bound = float(2.0 * np.sin(within / 2.0)) if within < np.pi else np.inf
    return Reach(metric, within, bound + slack, bound - slack)


@njit(fastmath={"reassoc", "contract"})
def l1_distance(a: Array, b: Array) -> float:
    """The L1 distance of two vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        total += abs(np.float64(a[j]) - np.float64(b[j]))
    return total


@njit
def bounding(metric: int, a: Array, b: Array) -> float:
    """The distance that bounds are made of: for angles the chord, a metric that rises with them.

    The angle itself is one only where all lengths are exactly 1, and they are rounded. Another
    metric is a branch here and in `distance`.
    """
    if metric == _L1:
        return l1_distance(a, b)
    return np.sqrt(squared_l2(a, b))


@njit
def distance(metric: int, a: Array, b: Array) -> float:
    """The distance that decides; the angular one is for vectors of length 1."""
    found = bounding(metric, a, b)
    if metric == _ANGULAR:
        return 2.0 * np.arcsin(min(found / 2.0, 1.0))
    return found


@kernel
def distances(metric: int, vectors: Array, others: Array, out: Array) -> None:
    """The distance for bounds of each vector from each of the others, rounded to `out`."""
    for i in range(vectors.shape[0]):
        for j in range(others.shape[0]):
            out[i, j] = bounding(metric, vectors[i], others[j])


@kernel
def paired_distances(metric: int, vectors: Array, others: Array, which: Array, out: Array) -> None:
    """The distance for bounds of each vector from one of the others."""
    for i in range(vectors.shape[0]):
        out[i] = bounding(metric, vectors[i], others[which[i]])
