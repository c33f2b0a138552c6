"""How far apart are two vectors, in float64, and is that within a radius?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.errors import InputError
from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

METRICS = ("l2", "l1", "angular")
_L1, _ANGULAR = 1, 2
_ROUNDING = 1e-9


def limit(radius: float) -> float:
    """The largest distance that counts as within a radius.

    A little more than the radius, so that a distance that would equal it counts however it was
    summed up. Nothing but equal vectors is within a radius of zero.
    """
    return radius * (1.0 + _ROUNDING)


def check_metric(metric: str) -> None:
    """Raises for a metric that there is not."""
    if metric not in METRICS:
        raise InputError(f"no metric {metric!r}; there are {', '.join(METRICS)}")


def straight(radius: float, metric: str) -> float:
    """The straight distance beyond which no two vectors are within a radius of a metric.

    The straight distance of two vectors is at most that by `l1`; of vectors of length 1 it is the
    chord of their angle.

    >>> straight(0.3, "l1"), round(straight(np.pi / 2, "angular"), 6)
    (0.3, 1.414214)
    """
    if metric == "angular":
        return float(2.0 * np.sin(min(radius, np.pi) / 2.0))
    return radius


@njit(fastmath={"reassoc", "contract"})
def squared(a: Array, b: Array) -> float:
    """The squared straight distance of two vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        off = np.float64(a[j]) - np.float64(b[j])
        total += off * off
    return total


@njit(fastmath={"reassoc", "contract"})
def absolute(a: Array, b: Array) -> float:
    """The distance of two vectors by `l1`."""
    total = 0.0
    for j in range(a.shape[0]):
        total += abs(np.float64(a[j]) - np.float64(b[j]))
    return total


@kernel
def _measure(
    queries: Array, vectors: Array, query: Array, vector: Array, metric: int, out: Array
) -> None:
    for i in range(query.shape[0]):
        a, b = queries[query[i]], vectors[vector[i]]
        if metric == _L1:
            out[i] = absolute(a, b)
        else:
            out[i] = np.sqrt(squared(a, b))
            if metric == _ANGULAR:
                out[i] = 2.0 * np.arcsin(min(out[i] / 2.0, 1.0))


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
