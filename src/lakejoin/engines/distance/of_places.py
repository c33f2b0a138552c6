"""Count columns of coordinates near the query's points."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.engines.distance.query_grids import GridFineness, QueryGrids, build_query_grids
from lakejoin.engines.distance.wanted import MatchCounts, CountRequest
from lakejoin.engines.distance.distance_metrics import DistanceLimit, haversine_limit, metres_of
from lakejoin.engines.meaning.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.point_sets import PointSets

Array = np.ndarray[Any, Any]

_MEASURED = 1 << 21  # distances computed at a time for pairs
_DEGREE = np.pi / 180
# For grids of bits, and for grids of counts, which are summed anew for each set.
_BITS, _COUNTS = GridFineness(8.0, 64), GridFineness(6.0, 8)


class PointDistance:
    """The query's points, divided into grids; `vectors`: lists of two numbers count as points."""

    both = False

    def __init__(self, points: Array, within: DistanceLimit, vectors: bool = False) -> None:
        if points.shape[1] != 2:
            raise InputError(
                "distance between coordinates takes latitude and longitude; "
                f"got {points.shape[1]} columns"
            )
        self.counters = VectorCounters()
        self._vectors = vectors
        self._limit = haversine_limit(within)
        real = np.isfinite(points).all(axis=1) & (np.abs(points[:, 0]) <= 90)
        self._which = np.flatnonzero(real)
        self._places = points[self._which]

    def fits(self, sets: PointSets) -> Array:
        """The sets of points; with `vectors`, also those of two numbers that can be coordinates."""
        fit = sets.kinds == 1
        if self._vectors:
            box = np.abs(sets.boxes).reshape(-1, 2, 2).max(axis=2)
            fit |= (sets.dimensions == 2) & (box[:, 0] <= 90) & (box[:, 1] <= 180)
        return np.asarray(fit)

    @cached_property
    def _with_bits(self) -> QueryGrids:
        return build_query_grids(self._places, self._limit, _BITS)

    @cached_property
    def _with_counts(self) -> QueryGrids:
        return build_query_grids(self._places, self._limit, _COUNTS)

    def meet(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        """Count hits with bitmaps of 64 sets at a time, or pairs with counts by cell."""
        from lakejoin.engines.distance.places import count_near_pairs
        from lakejoin.engines.distance.point_pool import open_point_pool
        from lakejoin.engines.distance.near_hits import count_near_points

        query_size = len(self._places)
        most = query_size * (sets.sizes[request.sets] if request.all_ else np.int64(1))
        which = request.sets[np.broadcast_to(most >= request.least, len(request.sets))]
        hits, pairs = np.zeros((2, len(which)), dtype=np.int64)
        work = np.zeros(2, dtype=np.int64)
        if len(which) and query_size:
            points = open_point_pool(sets, which), sets.blocks.all().reshape(-1, 4), sets.block_start
            required = request.least, request.best
            if request.all_:
                count_near_pairs(
                    *points, which, self._with_counts, self._limit, *required, hits, pairs, work
                )
            else:
                count_near_points(*points, which, self._with_bits, self._limit, *required, hits, work)
        name = "cells" if request.all_ else "bitmaps"
        self.counters.methods[name] = self.counters.methods.get(name, 0) + len(which)
        self.counters.bounded += int(work[0])
        self.counters.verified += int(work[1])
        self.counters.near += int(pairs.sum())
        return MatchCounts(which, hits, pairs)

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """Return all near pairs; measures only within the latitudes that can be near."""
        from lakejoin.engines.distance.of_numbers import expand_intervals

        points = sets.points(s)
        order = np.argsort(points[:, 0], kind="stable")
        ordered = points[order]
        # A little more than the limit: the exact distance decides.
        angle = np.degrees(2 * np.arcsin(np.sqrt(min(self._limit, 1.0)))) * (1 + 1e-9) + 1e-9
        first = np.searchsorted(ordered[:, 0], self._places[:, 0] - angle, side="left")
        last = np.searchsorted(ordered[:, 0], self._places[:, 0] + angle, side="right")
        batches = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for begin, end in _batches(last - first):
            query_index, set_index = expand_intervals(first[begin:end], last[begin:end])
            query_index += begin
            distances = compute_haversines(self._places[query_index], ordered[set_index])
            kept = distances <= self._limit
            batches.append((query_index[kept], set_index[kept], metres_of(distances[kept])))
        query_index, set_index, distance = (
            np.concatenate(arrays) for arrays in zip(*batches, strict=True)
        )
        return self._which[query_index], order[set_index], distance


def compute_haversines(left: Array, right: Array) -> Array:
    """Return sin(angle / 2) ** 2 of two arrays of points in degrees, row by row."""
    tall = np.sin((left[:, 0] - right[:, 0]) * (_DEGREE / 2))
    wide = np.sin((left[:, 1] - right[:, 1]) * (_DEGREE / 2))
    cosines = np.cos(left[:, 0] * _DEGREE) * np.cos(right[:, 0] * _DEGREE)
    return np.asarray(tall * tall + cosines * wide * wide)


def _batches(counts: Array) -> list[tuple[int, int]]:
    """Divide a list of counts into ranges of about `_MEASURED` in sum."""
    total = np.cumsum(counts)
    edges = np.searchsorted(total, np.arange(_MEASURED, total[-1] if len(total) else 0, _MEASURED))
    cuts = np.unique(np.concatenate(([0], edges, [len(counts)]))).tolist()
    return list(pairwise(cuts))
