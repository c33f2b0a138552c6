"""Count columns of vectors near the query's: blocks of distances, by matrix products where
possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.distance.wanted import MatchCounts, CountRequest
from lakejoin.engines.distance.distance_metrics import DistanceLimit, vector_limit
from lakejoin.engines.meaning.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.point_sets import PointSets

Array = np.ndarray[Any, Any]

# A matrix product is slightly off; pairs it cannot decide are measured from their differences.

_BLOCK = 1 << 22  # numbers in memory at a time
_PRODUCT_ERROR = 4e-16  # relative error of a product, per number summed


class VectorDistance:
    """The query's vectors; for angles they are scaled to length 1, and zero vectors never match."""

    both = True

    def __init__(self, points: Array, within: DistanceLimit, metric: str) -> None:
        self.counters = VectorCounters()
        self._metric = metric
        self._dimension = points.shape[1]
        self._limit = vector_limit(within)
        self._chord = 2 * np.sin(min(self._limit, np.pi) / 2) if metric == "angular" else 0.0
        self._which, self._mine = self._prepared(points)

    def _prepared(self, points: Array) -> tuple[Array, Array]:
        """Return (indices of the vectors that can match anything, those vectors)."""
        real = np.isfinite(points).all(axis=1)
        if self._metric != "angular":
            which = np.flatnonzero(real)
            return which, points[which]
        # Divide by the largest number first, so that squares neither overflow nor vanish.
        largest = np.abs(points).max(axis=1, initial=0.0)
        which = np.flatnonzero(real & (largest > 0))
        scaled = points[which] / largest[which, None]
        return which, scaled / np.sqrt((scaled * scaled).sum(axis=1))[:, None]

    def fits(self, sets: PointSets) -> Array:
        """The sets of vectors of the same dimension."""
        return np.asarray((sets.kinds == 2) & (sets.dimensions == self._dimension))

    def meet(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        """Count set by set."""
        from lakejoin.kernels.bar import required_score, push_score

        hits, pairs = np.zeros((2, len(request.sets)), dtype=np.int64)
        for i, s in enumerate(request.sets.tolist()):
            _, vectors = self._prepared(sets.points(s))
            required = required_score(request.best, request.least)
            step = max(1, _BLOCK // max(len(vectors), 1))
            for begin in range(0, len(self._mine), step):
                left = len(self._mine) - begin
                if (pairs[i] + left * len(vectors) if request.all_ else hits[i] + left) < required:
                    break
                near = self._near(self._mine[begin : begin + step], vectors)
                hits[i] += near.any(axis=1).sum()
                pairs[i] += near.sum()
            score = int(pairs[i] if request.all_ else hits[i])
            if score >= required:
                push_score(request.best, score)
            self.counters.verified += len(self._mine) * len(vectors)
        self.counters.methods["flat"] = self.counters.methods.get("flat", 0) + len(request.sets)
        self.counters.near += int(pairs.sum())
        return MatchCounts(request.sets, hits, pairs)

    def _near(self, query: Array, vectors: Array) -> Array:
        """Return a matrix of flags: which query vectors are near which vectors of a set."""
        if self._metric == "l1":
            near = np.zeros((len(query), len(vectors)), dtype=bool)
            step = max(1, _BLOCK // max(vectors.size, 1))
            for begin in range(0, len(query), step):
                difference = query[begin : begin + step, None, :] - vectors[None, :, :]
                near[begin : begin + step] = np.abs(difference).sum(axis=2) <= self._limit
            return near
        limit = self._chord if self._metric == "angular" else self._limit
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = (query * query).sum(axis=1)[:, None], (vectors * vectors).sum(axis=1)[None, :]
            squared = lengths[0] + lengths[1] - 2 * (query @ vectors.T)
            off = _PRODUCT_ERROR * (self._dimension + 8) * (lengths[0] + lengths[1])
            near = squared <= limit * limit
            undecided = ~(np.abs(squared - limit * limit) > off + 1e-12 * limit * limit)
        rows, columns = np.nonzero(undecided)
        step = max(1, _BLOCK // self._dimension)
        for begin in range(0, len(rows), step):
            a, b = rows[begin : begin + step], columns[begin : begin + step]
            near[a, b] = self._distances(query[a], vectors[b]) <= self._limit
        return np.asarray(near)

    def _distances(self, left: Array, right: Array) -> Array:
        """Return the distances of two arrays of vectors, row by row."""
        difference = np.abs(left - right)
        if self._metric == "l1":
            return np.asarray(difference.sum(axis=1))
        largest = difference.max(axis=1, initial=0.0)
        scaled = difference / np.where(largest > 0, largest, 1.0)[:, None]
        straight = largest * np.sqrt((scaled * scaled).sum(axis=1))
        if self._metric == "l2":
            return np.asarray(straight)
        return np.asarray(2 * np.arcsin(np.minimum(straight / 2, 1.0)))

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """Return all near pairs, block by block."""
        which, vectors = self._prepared(sets.points(s))
        blocks = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        step = max(1, _BLOCK // max(len(vectors), 1))
        for begin in range(0, len(self._mine), step):
            query_index, set_index = np.nonzero(
                self._near(self._mine[begin : begin + step], vectors)
            )
            query_index += begin
            distance = self._distances(self._mine[query_index], vectors[set_index])
            blocks.append((query_index, set_index, distance))
        query_index, set_index, distance = (
            np.concatenate(arrays) for arrays in zip(*blocks, strict=True)
        )
        return self._which[query_index], which[set_index], distance
