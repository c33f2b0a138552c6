"""Columns of numbers near mine."""

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
    """My numbers in order, each with the span of numbers that are near enough."""

    both = True

    def __init__(self, points: Array, within: Within) -> None:
        if points.shape[1] != 1:
            raise InputError("numbers come from one column")
        self.counters = VectorCounters()
        numbers = points[:, 0]
        self._order = np.flatnonzero(np.isfinite(numbers))
        self._order = self._order[np.argsort(numbers[self._order], kind="stable")]
        self._numbers = numbers[self._order]
        self._low, self._high = spans_of(self._numbers, within)
        # With a share of 100 % or more the spans of larger numbers may begin earlier.
        self._rising = bool((np.diff(self._low) >= 0).all() and (np.diff(self._high) >= 0).all())

    def fits(self, sets: PointSets) -> Array:
        """The sets of numbers."""
        return np.asarray(sets.kinds == 0)

    def meet(self, sets: PointSets, wanted: Wanted) -> Found:
        """Counts by walking along both lists."""
        from lakejoin.search.nearby.numbers import meet_numbers
        from lakejoin.search.nearby.pool import pool_of

        which, box = wanted.sets, sets.boxes[wanted.sets]
        begin = np.zeros(len(which), dtype=np.int64)
        end = np.full(len(which), len(self._low), dtype=np.int64)
        if self._rising:
            begin = np.searchsorted(self._high, box[:, 0], side="left")
            end = np.maximum(begin, np.searchsorted(self._low, box[:, 1], side="right"))
        most = (end - begin) * (sets.sizes[which] if wanted.all_ else 1)
        # The most promising first: they raise the bar for the others.
        able = np.flatnonzero(most >= wanted.least)
        able = able[np.argsort(-most[able], kind="stable")]
        which = which[able]
        hits, pairs = np.zeros((2, len(which)), dtype=np.int64)
        if len(which):
            meet_numbers(
                pool_of(sets, which), which, begin[able], end[able], self._low, self._high,
                self._rising, wanted.all_, wanted.least, wanted.best, hits, pairs,
            )  # fmt: skip
        self.counters.methods["merge"] = self.counters.methods.get("merge", 0) + len(which)
        self.counters.verified += int(sets.sizes[which].sum())
        self.counters.near += int(pairs.sum())
        return Found(which, hits, pairs)

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """All pairs, from the spans."""
        theirs = sets.points(s)[:, 0]
        first = np.searchsorted(theirs, self._low, side="left")
        last = np.maximum(first, np.searchsorted(theirs, self._high, side="right"))
        mine, place = spread(first, last)
        distance = np.abs(self._numbers[mine] - theirs[place])
        return self._order[mine], place, distance


def spread(begin: Array, end: Array) -> tuple[Array, Array]:
    """(which span, what place) for every place of many spans."""
    counts = end - begin
    which = np.repeat(np.arange(len(begin)), counts)
    offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, np.repeat(begin, counts) + offset
