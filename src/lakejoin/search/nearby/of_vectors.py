"""Columns of vectors near mine: blocks of distances, as matrix products where the metric allows.

A product is a little off; what it leaves open is measured from the differences themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.nearby.wanted import Found, Wanted
from lakejoin.search.nearby.within import Within, vector_limit
from lakejoin.search.vectors.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.points import PointSets

Array = np.ndarray[Any, Any]

_BLOCK = 1 << 22  # numbers in memory at once
_PRODUCT_OFF = 4e-16  # of a product, for each number that is added up


class VectorsNearby:
    """My vectors; by angle they are made of length 1, and those of length 0 meet nothing."""

    both = True

    def __init__(self, points: Array, within: Within, metric: str) -> None:
        self.counters = VectorCounters()
        self._metric = metric
        self._dimension = points.shape[1]
        self._limit = vector_limit(within)
        self._chord = 2 * np.sin(min(self._limit, np.pi) / 2) if metric == "angular" else 0.0
        self._which, self._mine = self._prepared(points)

    def _prepared(self, points: Array) -> tuple[Array, Array]:
        """(which can meet anything, those)."""
        real = np.isfinite(points).all(axis=1)
        if self._metric != "angular":
            which = np.flatnonzero(real)
            return which, points[which]
        # The largest number first, so that squares neither overflow nor vanish.
        largest = np.abs(points).max(axis=1, initial=0.0)
        which = np.flatnonzero(real & (largest > 0))
        scaled = points[which] / largest[which, None]
        return which, scaled / np.sqrt((scaled * scaled).sum(axis=1))[:, None]

    def fits(self, sets: PointSets) -> Array:
        """The sets of vectors of as many numbers."""
        return np.asarray((sets.kinds == 2) & (sets.dimensions == self._dimension))

    def meet(self, sets: PointSets, wanted: Wanted) -> Found:
        """Counts set by set."""
        from lakejoin.search.nearby.bar import bar_of, push

        hits, pairs = np.zeros((2, len(wanted.sets)), dtype=np.int64)
        for i, s in enumerate(wanted.sets.tolist()):
            _, theirs = self._prepared(sets.points(s))
            bar = bar_of(wanted.best, wanted.least)
            step = max(1, _BLOCK // max(len(theirs), 1))
            for begin in range(0, len(self._mine), step):
                left = len(self._mine) - begin
                if (pairs[i] + left * len(theirs) if wanted.all_ else hits[i] + left) < bar:
                    break
                near = self._near(self._mine[begin : begin + step], theirs)
                hits[i] += near.any(axis=1).sum()
                pairs[i] += near.sum()
            score = int(pairs[i] if wanted.all_ else hits[i])
            if score >= bar:
                push(wanted.best, score)
            self.counters.verified += len(self._mine) * len(theirs)
        self.counters.methods["flat"] = self.counters.methods.get("flat", 0) + len(wanted.sets)
        self.counters.near += int(pairs.sum())
        return Found(wanted.sets, hits, pairs)

    def _near(self, mine: Array, theirs: Array) -> Array:
        """Which of mine are near which of theirs: a truth value for every two."""
        if self._metric == "l1":
            near = np.zeros((len(mine), len(theirs)), dtype=bool)
            step = max(1, _BLOCK // max(theirs.size, 1))
            for begin in range(0, len(mine), step):
                apart = mine[begin : begin + step, None, :] - theirs[None, :, :]
                near[begin : begin + step] = np.abs(apart).sum(axis=2) <= self._limit
            return near
        limit = self._chord if self._metric == "angular" else self._limit
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = (mine * mine).sum(axis=1)[:, None], (theirs * theirs).sum(axis=1)[None, :]
            squared = lengths[0] + lengths[1] - 2 * (mine @ theirs.T)
            off = _PRODUCT_OFF * (self._dimension + 8) * (lengths[0] + lengths[1])
            near = squared <= limit * limit
            open_ = ~(np.abs(squared - limit * limit) > off + 1e-12 * limit * limit)
        one, other = np.nonzero(open_)
        step = max(1, _BLOCK // self._dimension)
        for begin in range(0, len(one), step):
            a, b = one[begin : begin + step], other[begin : begin + step]
            near[a, b] = self._distances(mine[a], theirs[b]) <= self._limit
        return np.asarray(near)

    def _distances(self, one: Array, other: Array) -> Array:
        """How far apart, row by row, by the metric."""
        apart = np.abs(one - other)
        if self._metric == "l1":
            return np.asarray(apart.sum(axis=1))
        largest = apart.max(axis=1, initial=0.0)
        scaled = apart / np.where(largest > 0, largest, 1.0)[:, None]
        straight = largest * np.sqrt((scaled * scaled).sum(axis=1))
        if self._metric == "l2":
            return np.asarray(straight)
        return np.asarray(2 * np.arcsin(np.minimum(straight / 2, 1.0)))

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """All pairs, block by block."""
        which, theirs = self._prepared(sets.points(s))
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        step = max(1, _BLOCK // max(len(theirs), 1))
        for begin in range(0, len(self._mine), step):
            mine, other = np.nonzero(self._near(self._mine[begin : begin + step], theirs))
            mine += begin
            distance = self._distances(self._mine[mine], theirs[other])
            found.append((mine, other, distance))
        mine, other, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return self._which[mine], which[other], distance
