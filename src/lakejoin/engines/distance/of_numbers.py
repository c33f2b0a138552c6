"""Count columns of numbers near the query's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.engines.distance.wanted import MatchCounts, CountRequest
from lakejoin.engines.distance.distance_metrics import DistanceLimit, number_ranges
from lakejoin.engines.meaning.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.point_sets import PointSets

Array = np.ndarray[Any, Any]


class NumberDistance:
    """The query's numbers in order, each with the interval of numbers near it."""

    both = True

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

    def fits(self, sets: PointSets) -> Array:
        """The sets of numbers."""
        return np.asarray(sets.kinds == 0)

    def meet(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        """Count by walking along both sorted lists."""
        from lakejoin.engines.distance.near_numbers import count_near_numbers
        from lakejoin.engines.distance.point_pool import open_point_pool

        which, box = request.sets, sets.boxes[request.sets]
        begin = np.zeros(len(which), dtype=np.int64)
        end = np.full(len(which), len(self._low), dtype=np.int64)
        if self._rising:
            begin = np.searchsorted(self._high, box[:, 0], side="left")
            end = np.maximum(begin, np.searchsorted(self._low, box[:, 1], side="right"))
        most = (end - begin) * (sets.sizes[which] if request.all_ else 1)
        # The most promising sets first: they raise the score that others must reach.
        promising = np.flatnonzero(most >= request.least)
        promising = promising[np.argsort(-most[promising], kind="stable")]
        which = which[promising]
        hits, pairs = np.zeros((2, len(which)), dtype=np.int64)
        if len(which):
            count_near_numbers(
                open_point_pool(sets, which), which, begin[promising], end[promising], self._low,
                self._high, self._rising, request.all_, request.least, request.best, hits, pairs,
            )  # fmt: skip
        self.counters.methods["merge"] = self.counters.methods.get("merge", 0) + len(which)
        self.counters.verified += int(sets.sizes[which].sum())
        self.counters.near += int(pairs.sum())
        return MatchCounts(which, hits, pairs)

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """Return all near pairs, from the intervals."""
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
