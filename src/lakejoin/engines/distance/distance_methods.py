"""How sets of numbers, coordinates and vectors are compared with the query's points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lakejoin.engines.distance.near_hits import count_near_points
from lakejoin.engines.distance.near_pairs import count_near_pairs
from lakejoin.engines.distance.point_pool import count_near_numbers, open_point_pool
from lakejoin.engines.distance.query_grids import GridFineness, QueryGrids, build_query_grids
from lakejoin.engines.meaning.hits import VectorCounters
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.store.distance_limits import (
    METRES,
    SHARE,
    WIDER,
    DistanceLimit,
    haversine_limit,
    metres_of,
    number_ranges,
)

if TYPE_CHECKING:
    from lakejoin.store.point_sets import PointSets


# Metrics by the kind of points, the default first. Angles between vectors are in radians.
METRICS = {
    "number": ("difference",),
    "place": ("haversine",),
    "vector": ("l2", "l1", "angular", "haversine"),
}


def resolve_metric(kind: str, within: DistanceLimit, metric: str | None) -> str:
    """Return the metric for a kind of points; raise if metric, kind and limit do not match."""
    if kind not in METRICS:
        raise InputError(f"{kind!r} is not a kind of points: choose one of {', '.join(METRICS)}")
    metric = metric or METRICS[kind][0]
    if metric not in METRICS[kind]:
        raise InputError(
            f"metric {metric} does not apply to {kind}s; choose one of {', '.join(METRICS[kind])}"
        )
    if metric == "haversine":
        if within.unit != METRES:
            raise InputError(
                f"'{within}' is not a distance between coordinates: write 500m, 2km or 3mi"
            )
    elif within.unit == METRES:
        raise InputError(
            f"'{within}' is a length, and {kind}s have no unit: write a plain number"
            + (" or a share such as 1%" if kind == "number" else "")
        )
    elif kind == "vector" and within.unit == SHARE:
        raise InputError(
            f"'{within}' is a share: write the distance of vectors as a plain number such as 0.2"
        )
    return metric


def vector_limit(within: DistanceLimit) -> float:
    """The largest distance at which vectors are near; rounding excludes none exactly at it."""
    return within.amount * WIDER + 1e-12


_MEASURED = 1 << 21  # distances computed at a time for pairs
_DEGREE = np.pi / 180
# For grids of bits, and for grids of counts, which are summed anew for each set.
_BITS, _COUNTS = GridFineness(8.0, 64), GridFineness(6.0, 8)


class PointDistance:
    """The query's points, divided into grids; `vectors`: lists of two numbers count as points."""

    counts_pairs = False

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
        self._query_points = points[self._which]

    def accepts(self, sets: PointSets) -> Array:
        """The sets of points; with `vectors`, also those of two numbers that can be coordinates."""
        fit = sets.kinds == 1
        if self._vectors:
            box = np.abs(sets.boxes).reshape(-1, 2, 2).max(axis=2)
            fit |= (sets.dimensions == 2) & (box[:, 0] <= 90) & (box[:, 1] <= 180)
        return np.asarray(fit)

    @cached_property
    def _with_bits(self) -> QueryGrids:
        return build_query_grids(self._query_points, self._limit, _BITS)

    @cached_property
    def _with_counts(self) -> QueryGrids:
        return build_query_grids(self._query_points, self._limit, _COUNTS)

    def count_matches(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        """Count hits with bitmaps of 64 sets at a time, or pairs with counts by cell."""
        query_size = len(self._query_points)
        most = query_size * (sets.sizes[request.sets] if request.count_pairs else np.int64(1))
        which = request.sets[np.broadcast_to(most >= request.least, len(request.sets))]
        hits, pairs = np.zeros((2, len(which)), dtype=np.int64)
        work = np.zeros(2, dtype=np.int64)
        if len(which) and query_size:
            points = (
                open_point_pool(sets, which),
                sets.blocks.all().reshape(-1, 4),
                sets.block_start,
            )
            required = request.least, request.best
            if request.count_pairs:
                count_near_pairs(
                    *points, which, self._with_counts, self._limit, *required, hits, pairs, work
                )
            else:
                count_near_points(
                    *points, which, self._with_bits, self._limit, *required, hits, work
                )
        name = "cells" if request.count_pairs else "bitmaps"
        self.counters.methods[name] = self.counters.methods.get(name, 0) + len(which)
        self.counters.bounded += int(work[0])
        self.counters.verified += int(work[1])
        self.counters.near += int(pairs.sum())
        return MatchCounts(which, hits, pairs)

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """Return all near pairs; measures only within the latitudes that can be near."""

        points = sets.points(s)
        order = np.argsort(points[:, 0], kind="stable")
        ordered = points[order]
        # A little more than the limit: the exact distance decides.
        angle = np.degrees(2 * np.arcsin(np.sqrt(min(self._limit, 1.0)))) * (1 + 1e-9) + 1e-9
        first = np.searchsorted(ordered[:, 0], self._query_points[:, 0] - angle, side="left")
        last = np.searchsorted(ordered[:, 0], self._query_points[:, 0] + angle, side="right")
        batches = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for begin, end in _batches(last - first):
            query_index, set_index = expand_intervals(first[begin:end], last[begin:end])
            query_index += begin
            distances = compute_haversines(self._query_points[query_index], ordered[set_index])
            is_near = distances <= self._limit
            batches.append(
                (query_index[is_near], set_index[is_near], metres_of(distances[is_near]))
            )
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


class NumberDistance:
    """The query's numbers in order, each with the interval of numbers near it."""

    counts_pairs = True

    def __init__(self, points: Array, within: DistanceLimit) -> None:
        if points.shape[1] != 1:
            raise InputError(f"distance between numbers takes one column; got {points.shape[1]}")
        self.counters = VectorCounters()
        numbers = points[:, 0]
        self._order = np.flatnonzero(np.isfinite(numbers))
        self._order = self._order[np.argsort(numbers[self._order], kind="stable")]
        self._numbers = numbers[self._order]
        self._low, self._high = number_ranges(self._numbers, within)
        # With a share of 100% or more the interval of a larger number may begin earlier.
        self._rising = bool((np.diff(self._low) >= 0).all() and (np.diff(self._high) >= 0).all())

    def accepts(self, sets: PointSets) -> Array:
        return np.asarray(sets.kinds == 0)

    def count_matches(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        """Count by walking along both sorted lists."""
        which, box = request.sets, sets.boxes[request.sets]
        begin = np.zeros(len(which), dtype=np.int64)
        end = np.full(len(which), len(self._low), dtype=np.int64)
        if self._rising:
            begin = np.searchsorted(self._high, box[:, 0], side="left")
            end = np.maximum(begin, np.searchsorted(self._low, box[:, 1], side="right"))
        most = (end - begin) * (sets.sizes[which] if request.count_pairs else 1)
        # The most promising sets first: they raise the score that others must reach.
        promising = np.flatnonzero(most >= request.least)
        promising = promising[np.argsort(-most[promising], kind="stable")]
        which = which[promising]
        hits, pairs = np.zeros((2, len(which)), dtype=np.int64)
        if len(which):
            count_near_numbers(
                open_point_pool(sets, which), which, begin[promising], end[promising], self._low,
                self._high, self._rising, request.count_pairs, request.least, request.best, hits,
                pairs,
            )  # fmt: skip
        self.counters.methods["merge"] = self.counters.methods.get("merge", 0) + len(which)
        self.counters.verified += int(sets.sizes[which].sum())
        self.counters.near += int(pairs.sum())
        return MatchCounts(which, hits, pairs)

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        numbers = sets.points(s)[:, 0]
        first = np.searchsorted(numbers, self._low, side="left")
        last = np.maximum(first, np.searchsorted(numbers, self._high, side="right"))
        query_index, set_index = expand_intervals(first, last)
        distance = np.abs(self._numbers[query_index] - numbers[set_index])
        return self._order[query_index], set_index, distance


def expand_intervals(begin: Array, end: Array) -> tuple[Array, Array]:
    """Expand intervals: return (interval, index) for every index in each interval."""
    counts = end - begin
    which = np.repeat(np.arange(len(begin)), counts)
    offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, np.repeat(begin, counts) + offset


@dataclass(frozen=True, slots=True, eq=False)
class CountRequest:
    """The sets of a segment to count, the score they must reach, and how they are scored.

    With `count_pairs` the score is the number of pairs, else the number of query points with a
    match.
    """

    sets: Array
    least: int
    best: Array  # the heap of the k best scores so far
    count_pairs: bool


@dataclass(frozen=True, slots=True, eq=False)
class MatchCounts:
    """Per set: query points with a match, and pairs; below the required score maybe too few."""

    sets: Array
    hits: Array
    pairs: Array


class DistanceMethod(Protocol):
    """The query points, prepared to be compared with the sets of one segment after another."""

    counters: VectorCounters
    counts_pairs: bool  # whether a search for hits also counts all pairs of its results

    def accepts(self, sets: PointSets) -> Array:
        """Return a flag per set: whether it is of the right kind."""

    def count_matches(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        """Count for the requested sets that can reach the required score."""

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """Return (query index, set index, distance) of all near pairs with one set."""
