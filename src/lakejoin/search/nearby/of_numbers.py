"""Count columns of numbers near the query's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.nearby.wanted import Found, Wanted
from lakejoin.search.nearby.within import Within, spans_of
from lakejoin.search.vectors.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.points import PointSets

Array = np.ndarray[Any, Any]


class NumbersNearby:
    """The query's numbers in order, each with the interval of numbers near it."""

    both = True

    def __init__(self, points: Array, within: Within) -> None:
        if points.shape[1] != 1:
            raise InputError(f"distance between numbers takes one column; got {points.shape[1]}")
        self.counters = VectorCounters()
        numbers = points[:, 0]
        self._order = np.flatnonzero(np.isfinite(numbers))
        self._order = self._order[np.argsort(numbers[self._order], kind="stable")]
        self._numbers = numbers[self._order]
        self._low, self._high = spans_of(self._numbers, within)
        # With a share of 100% or more the interval of a larger number may begin earlier.
        self._rising = bool((np.diff(self._low) >= 0).all() and (np.diff(self._high) >= 0).all())

    def fits(self, sets: PointSets) -> Array:
        """The sets of numbers."""
        return np.asarray(sets.kinds == 0)

    def meet(self, sets: PointSets, request: Wanted) -> Found:
        """Count by walking along both sorted lists."""
        from lakejoin.search.nearby.numbers import meet_numbers
        from lakejoin.search.nearby.pool import pool_of

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
            meet_numbers(
                pool_of(sets, which), which, begin[promising], end[promising], self._low,
                self._high, self._rising, request.all_, request.least, request.best, hits, pairs,
            )  # fmt: skip
        self.counters.methods["merge"] = self.counters.methods.get("merge", 0) + len(which)
        self.counters.verified += int(sets.sizes[which].sum())
        self.counters.near += int(pairs.sum())
        return Found(which, hits, pairs)

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """Return all near pairs, from the intervals."""
        numbers = sets.points(s)[:, 0]
        first = np.searchsorted(numbers, self._low, side="left")
        last = np.maximum(first, np.searchsorted(numbers, self._high, side="right"))
        query_index, set_index = spread(first, last)
        distance = np.abs(self._numbers[query_index] - numbers[set_index])
        return self._order[query_index], set_index, distance


def spread(begin: Array, end: Array) -> tuple[Array, Array]:
    """Expand intervals: return (interval, index) for every index in each interval."""
    counts = end - begin
    which = np.repeat(np.arange(len(begin)), counts)
    offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, np.repeat(begin, counts) + offset
