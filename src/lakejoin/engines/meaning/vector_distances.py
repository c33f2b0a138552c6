"""Compiled: distances of vectors in float64, and whether they are within a radius.

Sums in single precision decide nearly all pairs. All terms of such a sum are positive, so its
relative error is at most 2^-24 per term, and a little more. Only pairs closer to the radius than
that are summed in double precision.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lakejoin.errors import InputError
from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

METRICS = ("l2", "l1", "angular")
_L1, _ANGULAR = 1, 2
_ROUNDING = 1e-9
# Twice the relative error per term of a sum in single precision, and extra terms for safety.
_TERM, _MORE = 2.0**-23, 8
SMALL = 1e-30  # squares below this may underflow


def limit(radius: float) -> float:
    """The largest distance that counts as within a radius.

    A little more than the radius, so that a distance equal to it counts whatever the order of
    summation. Only equal vectors are within a radius of zero.
    """
    return radius * (1.0 + _ROUNDING)


def rounding_error(dimension: int) -> float:
    """Twice the relative error of a sum over `dimension` numbers in single precision."""
    return _TERM * (dimension + _MORE)


def check_metric(metric: str) -> None:
    """Raise for an unknown metric."""
    if metric not in METRICS:
        raise InputError(f"unknown metric {metric!r}: use one of {', '.join(METRICS)}")


def l2_radius(radius: float, metric: str) -> float:
    """The L2 distance beyond which no two vectors are within a radius of a metric.

    The L2 distance is at most the L1 distance; for vectors of length 1 it is the chord of their
    angle.

    >>> l2_radius(0.3, "l1"), round(l2_radius(np.pi / 2, "angular"), 6)
    (0.3, 1.414214)
    """
    if metric == "angular":
        return float(2.0 * np.sin(min(radius, np.pi) / 2.0))
    return radius


@njit(fastmath={"reassoc", "contract"})
def squared_l2(a: Array, b: Array) -> float:
    """The squared L2 distance of two vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        off = np.float64(a[j]) - np.float64(b[j])
        total += off * off
    return total


@njit(fastmath={"reassoc", "contract"})
def l1_distance(a: Array, b: Array) -> float:
    """The L1 distance of two vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        total += abs(np.float64(a[j]) - np.float64(b[j]))
    return total


@njit(fastmath={"reassoc", "contract"})
def _single(a: Array, b: Array, metric: int) -> float:
    """The L1 distance, or the squared L2 distance, in single precision."""
    total = np.float32(0)
    if metric == _L1:
        for j in range(a.shape[0]):
            total += abs(a[j] - b[j])
        return total
    for j in range(a.shape[0]):
        off = a[j] - b[j]
        total += off * off
    return total


@njit
def _double(a: Array, b: Array, metric: int) -> float:
    if metric == _L1:
        return l1_distance(a, b)
    far = np.sqrt(squared_l2(a, b))
    return 2.0 * np.arcsin(min(far / 2.0, 1.0)) if metric == _ANGULAR else far


@kernel
def _measure(
    queries: Array, vectors: Array, query: Array, vector: Array, metric: int, out: Array
) -> None:
    for i in range(query.shape[0]):
        out[i] = _double(queries[query[i]], vectors[vector[i]], metric)


@kernel
def _decide(
    queries: Array,
    vectors: Array,
    query: Array,
    vector: Array,
    metric: int,
    sure: float,
    never: float,
    most: float,
    out: Array,
) -> None:
    for i in range(query.shape[0]):
        a, b = queries[query[i]], vectors[vector[i]]
        far = np.float64(_single(a, b, metric))
        out[i] = far < sure or (far <= never and _double(a, b, metric) <= most)


def distances(
    queries: Array, vectors: Array, query: Array, vector: Array, metric: str = "l2"
) -> Array:
    """The distances of queries[query[i]] and vectors[vector[i]], all in float32.

    `angular` is the angle of vectors of length 1, in radians.

    >>> rows = np.eye(2, dtype=np.float32)
    >>> distances(rows, rows, np.array([0, 0]), np.array([0, 1]), "l1").tolist()
    [0.0, 2.0]
    """
    out = np.empty(len(query), dtype=np.float64)
    _measure(queries, vectors, query, vector, METRICS.index(metric), out)
    return out


def within(
    queries: Array, vectors: Array, query: Array, vector: Array, metric: str, radius: float
) -> Array:
    """Whether the distances of queries[query[i]] and vectors[vector[i]] are within a radius.

    The same as with `distances` and `limit`, but faster.

    >>> rows = np.eye(2, dtype=np.float32)
    >>> within(rows, rows, np.array([0, 0]), np.array([0, 1]), "l1", 1.9).tolist()
    [True, False]
    """
    most = limit(radius)
    reach = most if metric == "l1" else limit(l2_radius(radius, metric)) ** 2
    off = rounding_error(queries.shape[1])
    sure, never = reach * (1.0 - off), reach * (1.0 + off)
    if reach < SMALL:
        sure, never = -1.0, np.inf
    out = np.empty(len(query), dtype=np.bool_)
    _decide(queries, vectors, query, vector, METRICS.index(metric), sure, never, most, out)
    return out
