"""Brute force over point sets: every pair measured in float64, by the limits that are stated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lakejoin.engines.distance.distance_methods import vector_limit
from lakejoin.model import Array
from lakejoin.store.distance_limits import (
    EARTH_RADIUS,
    DistanceLimit,
    haversine_limit,
    number_ranges,
)


def haversines(mine: Array, theirs: Array) -> Array:
    """sin(angle / 2) ** 2 of every two places."""
    a, b = np.radians(mine)[:, None, :], np.radians(theirs)[None, :, :]
    tall = np.sin(np.radians(mine[:, None, 0] - theirs[None, :, 0]) / 2) ** 2
    wide = np.sin(np.radians(mine[:, None, 1] - theirs[None, :, 1]) / 2) ** 2
    return np.asarray(tall + np.cos(a[:, :, 0]) * np.cos(b[:, :, 0]) * wide)


def distances(mine: Array, theirs: Array, metric: str) -> Array:
    """The distance of every two."""
    if metric == "haversine":
        return np.asarray(
            2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(1.0, haversines(mine, theirs))))
        )
    out = np.full((len(mine), len(theirs)), np.nan)
    for i, a in enumerate(mine):
        for j, b in enumerate(theirs):
            if metric == "difference":
                out[i, j] = abs(a[0] - b[0])
            elif metric == "l1":
                out[i, j] = np.abs(a - b).sum()
            elif metric == "l2":
                out[i, j] = math.dist(a, b)
            else:
                longs = math.hypot(*a), math.hypot(*b)
                if all(longs):
                    u, v = a / longs[0], b / longs[1]
                    out[i, j] = 2 * math.atan2(math.hypot(*(u - v)), math.hypot(*(u + v)))
    return out


def near(mine: Array, theirs: Array, within: DistanceLimit, metric: str) -> Array:
    """Whether every two are near enough; NaN never is."""
    if metric == "difference":
        low, high = number_ranges(mine[:, 0], within)
        return np.asarray((low[:, None] <= theirs[:, 0]) & (theirs[:, 0] <= high[:, None]))
    with np.errstate(invalid="ignore"):
        if metric == "haversine":
            return np.asarray(haversines(mine, theirs) <= haversine_limit(within))
        return np.asarray(distances(mine, theirs, metric) <= vector_limit(within))


def ranked(
    counts: Sequence[tuple[int, int, int, int, int]], measure: str, k: int | None, least: int
) -> list[tuple[int, int, int, int]]:
    """(segment, set, hits, pairs) of the sets that reach `least`, best first.

    Each of `counts` is (segment, set, size, hits, pairs).
    """
    score = {"hit": 3, "all": 4}[measure]
    kept = [one for one in counts if one[score] >= max(1, least)]
    kept.sort(key=lambda one: (-one[score], one[2], one[0], one[1]))
    return [(one[0], one[1], one[3], one[4]) for one in kept[:k]]
