"""How sets of vectors are compared with the query's, by L2, L1 or angle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.distance.box_trees import (
    BoxTree,
    count_near_vectors,
    mark_near_pairs,
    open_box_tree,
    pick_near_pairs,
)
from lakejoin.engines.distance.distance_methods import CountRequest, MatchCounts, vector_limit
from lakejoin.engines.meaning.hits import VectorCounters
from lakejoin.engines.meaning.vector_candidates import CandidateFinder
from lakejoin.kernels.kd_trees import order_leaves
from lakejoin.kernels.topk import push_score, required_score
from lakejoin.model import Array
from lakejoin.store.compact_vectors import LARGEST
from lakejoin.store.distance_limits import DistanceLimit
from lakejoin.store.indexed_vectors import IndexedVectors, scaled_to_unit
from lakejoin.store.point_detection import FEW_DIMENSIONS

if TYPE_CHECKING:
    from lakejoin.store.point_sets import PointSets

_BLOCK = 1 << 22  # numbers in memory at a time
_PRODUCT_ERROR = 4e-16  # relative error of a product, per number summed
_KEPT = 1 << 22  # candidates in memory at a time
_MANY, _SOME = 256, 24  # from so many queries on, so many are tried first
_FLAGS = 1 << 27  # (set, query) pairs that are marked at once
_MEASURED = 1 << 16  # vectors that are read at once
# Nanoseconds to measure a candidate, and per element; and to scan a pair, and per element.
_CANDIDATE, _ELEMENT, _PRODUCT = 120.0, 1.0, 0.08
SCAN = 3.0


class VectorDistance:
    """The query's vectors; for angles they are scaled to length 1, and zero vectors never match.

    Vectors of few dimensions are searched by boxes, set by set. Those of many are searched in the
    compact form that the index has, all sets at once: pairs whose bound is within the limit are
    candidates, and only those of sets that can reach the score are measured. What the index lacks,
    or where most pairs are candidates, is scanned.
    """

    def __init__(self, points: Array, within: DistanceLimit, metric: str) -> None:
        self.counters = VectorCounters()
        self._metric = metric
        self._dimension = points.shape[1]
        self._limit = vector_limit(within)
        self._sums = metric == "l1"
        # For angles: of vectors of length 1, how long the line between them may be.
        chord = 2 * np.sin(self._limit / 2) if self._limit < np.pi else np.inf
        self._reach = float(chord if metric == "angular" else self._limit)
        self._which, self._query_vectors = self._prepared(points)
        self.counts_pairs = self._dimension > FEW_DIMENSIONS

    def _prepared(self, points: Array) -> tuple[Array, Array]:
        """Return (indices of the vectors that can match anything, those vectors)."""
        real = np.isfinite(points).all(axis=1)
        if self._metric == "angular":
            which = np.flatnonzero(real & points.any(axis=1))
            return which, scaled_to_unit(points[which])
        which = np.flatnonzero(real)
        return which, np.ascontiguousarray(points[which])

    def accepts(self, sets: PointSets) -> Array:
        return np.asarray((sets.kinds == 2) & (sets.dimensions == self._dimension))

    def count_matches(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        if self._dimension <= FEW_DIMENSIONS:
            return self._count_in_boxes(sets, request)
        indexed = sets.indexed(self._metric, self._dimension)
        largest = max(self._reach, float(np.abs(self._query_vectors).max(initial=0.0)))
        if indexed is not None and largest <= LARGEST:
            counts = self._count_candidates(sets, indexed, request)
            if counts is not None:
                return counts
        return self._scan(sets, request)

    # -- few dimensions ---------------------------------------------------------------------------

    def _count_in_boxes(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        hits, pairs = np.zeros((2, len(request.sets)), dtype=np.int64)
        queries, order = self._query_tree
        for i, s in enumerate(request.sets.tolist()):
            tree = open_box_tree(self._prepared(sets.points(s))[1])
            required = required_score(request.best, request.least)
            if not len(tree.first):
                continue
            hits[i], pairs[i] = count_near_vectors(
                tree, queries, order, 1 / self._reach, self._sums, request.count_pairs, required
            )
            score = int(pairs[i] if request.count_pairs else hits[i])
            if score >= required:
                push_score(request.best, score)
        self._note("boxes", len(request.sets))
        return MatchCounts(request.sets, hits, pairs)

    @cached_property
    def _query_tree(self) -> tuple[BoxTree, Array]:
        """The query's vectors in groups, and its leaves in an order that shows early how many are
        near: at random."""
        along = np.arange(len(self._query_vectors))
        order_leaves(self._query_vectors, along)
        tree = open_box_tree(self._query_vectors[along])
        leaves = np.flatnonzero(tree.last - tree.first == 1)
        return tree, np.random.default_rng(0).permutation(leaves)

    def _note(self, method: str, times: int) -> None:
        self.counters.methods[method] = self.counters.methods.get(method, 0) + times

    # -- compact form -----------------------------------------------------------------------------

    def _count_candidates(
        self, sets: PointSets, indexed: IndexedVectors, request: CountRequest
    ) -> MatchCounts | None:
        """Count by candidates of the compact form; None if a scan is quicker."""
        candidates = self._candidates(indexed)
        if candidates is None:
            return None
        position = np.full(len(indexed.sets), -1)  # of each set in the request
        position[np.isin(indexed.sets, request.sets)] = np.arange(len(request.sets))
        candidates = candidates.among(position)
        upper = candidates.count(len(request.sets), request.count_pairs)
        hits, pairs = np.zeros((2, len(request.sets)), dtype=np.int64)
        order = np.argsort(-upper, kind="stable")
        order = order[upper[order] > 0]
        rank = np.full(len(request.sets), len(order))
        rank[order] = np.arange(len(order))
        candidates = candidates.sorted_by(rank)
        ends = np.searchsorted(rank[candidates.set], np.arange(len(order)), side="right")
        begin = first = 0
        while first < len(order):
            required = required_score(request.best, request.least)
            if upper[order[first]] < required:
                break
            # As many sets as there is room for; with k, few at first, to raise what is required.
            room = _KEPT if len(request.best) == 1 else max(1 << 14, 2 * begin)
            last = max(int(np.searchsorted(ends, begin + room, side="right")), first + 1)
            part = candidates.part(begin, int(ends[last - 1]))
            near = part.part(self._measure(sets, indexed, part))
            chosen = order[first:last]
            hits[chosen] = near.count(len(hits), False)[chosen]
            pairs[chosen] = near.count(len(hits), True)[chosen]
            for score in (pairs if request.count_pairs else hits)[chosen].tolist():
                if score >= required:
                    push_score(request.best, score)
            begin, first = int(ends[last - 1]), last
        self.counters.near += int(pairs.sum())
        return MatchCounts(request.sets, hits, pairs)

    def _candidates(self, indexed: IndexedVectors) -> _SetPairs | None:
        """The candidates of all sets; None if they are too many."""
        finder, queries = CandidateFinder(indexed.compact), self._query_vectors
        total = len(self._query_vectors) * indexed.compact.count
        scan = SCAN + _PRODUCT * self._dimension
        most = min(_KEPT, total * scan / (_CANDIDATE + _ELEMENT * self._dimension))
        some = queries[:: max(1, len(queries) // _SOME)]
        if len(queries) > _MANY:
            few = sum(map(len, finder.find(some, self._reach, "auto")))
            if few * len(queries) > most * len(some):
                return None
        search = finder.find(queries, self._reach, "auto")
        parts, count = [_SetPairs.none()], 0
        for batch in search:
            count += len(batch)
            if count > most:
                return None
            set_index = np.searchsorted(indexed.first, batch.id, side="right") - 1
            parts.append(_SetPairs(set_index, batch.query.astype(np.int64), batch.id, batch.sure))
        self.counters.bounded += search.bounded
        self._note(search.name, 1)
        return _SetPairs.of(parts)

    def _measure(self, sets: PointSets, indexed: IndexedVectors, pairs: _SetPairs) -> Array:
        """The positions of the pairs that are near."""
        near = pairs.sure.copy()
        unique, which = np.unique(pairs.id[~near], return_inverse=True)
        open_ = np.flatnonzero(~near)[np.argsort(which, kind="stable")]
        which = np.sort(which)
        set_index = np.searchsorted(indexed.first, unique, side="right") - 1
        for begin in range(0, len(unique), _MEASURED):
            end = min(begin + _MEASURED, len(unique))
            vectors = np.empty((end - begin, self._dimension))
            for s in np.unique(set_index[begin:end]).tolist():
                low, high = np.searchsorted(set_index[begin:end], [s, s + 1])
                rows = unique[begin + low : begin + high].astype(np.int64) - indexed.first[s]
                read = sets.vectors_at(int(indexed.sets[s]), rows)
                vectors[low:high] = scaled_to_unit(read) if self._metric == "angular" else read
            low, high = np.searchsorted(which, [begin, end])
            some, out = open_[low:high], np.empty(high - low, dtype=np.bool_)
            pick_near_pairs(
                self._query_vectors, vectors, pairs.query[some], which[low:high] - begin,
                1 / self._reach, self._sums, out,
            )  # fmt: skip
            near[some] = out
        self.counters.verified += len(open_)
        return np.flatnonzero(near)

    # -- scan -------------------------------------------------------------------------------------

    def _scan(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        hits, pairs = np.zeros((2, len(request.sets)), dtype=np.int64)
        for i, s in enumerate(request.sets.tolist()):
            _, vectors = self._prepared(sets.points(s))
            required = required_score(request.best, request.least)
            step = max(1, _BLOCK // max(len(vectors), 1))
            for begin in range(0, len(self._query_vectors), step):
                left = len(self._query_vectors) - begin
                if (
                    pairs[i] + left * len(vectors) if request.count_pairs else hits[i] + left
                ) < required:
                    break
                near = self._near(self._query_vectors[begin : begin + step], vectors)
                hits[i] += near.any(axis=1).sum()
                pairs[i] += near.sum()
            score = int(pairs[i] if request.count_pairs else hits[i])
            if score >= required:
                push_score(request.best, score)
            self.counters.verified += len(self._query_vectors) * len(vectors)
        self._note("scan", len(request.sets))
        self.counters.near += int(pairs.sum())
        return MatchCounts(request.sets, hits, pairs)

    def _near(self, query: Array, vectors: Array) -> Array:
        """Return a matrix of flags: which query vectors are near which vectors of a set."""
        near = np.empty((len(query), len(vectors)), dtype=np.bool_)
        if self._sums:
            mark_near_pairs(query, vectors, 1 / self._reach, True, near)
            return near
        # A product is slightly off; pairs it cannot decide are measured from their differences.
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = (query * query).sum(axis=1)[:, None], (vectors * vectors).sum(axis=1)[None, :]
            squared = lengths[0] + lengths[1] - 2 * (query @ vectors.T)
            off = _PRODUCT_ERROR * (self._dimension + 8) * (lengths[0] + lengths[1])
            limit = self._reach * self._reach
            near[:] = squared <= limit
            undecided = ~(np.abs(squared - limit) > off + 1e-12 * limit)
        rows, columns = np.nonzero(undecided)
        out = np.empty(len(rows), dtype=np.bool_)
        pick_near_pairs(query, vectors, rows, columns, 1 / self._reach, False, out)
        near[rows, columns] = out
        return near

    # -- pairs ------------------------------------------------------------------------------------

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        which, vectors = self._prepared(sets.points(s))
        blocks = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        step = max(1, _BLOCK // max(len(vectors), 1))
        for begin in range(0, len(self._query_vectors), step):
            query_index, set_index = np.nonzero(
                self._near(self._query_vectors[begin : begin + step], vectors)
            )
            query_index += begin
            distance = self._distances(self._query_vectors[query_index], vectors[set_index])
            blocks.append((query_index, set_index, distance))
        query_index, set_index, distance = (
            np.concatenate(arrays) for arrays in zip(*blocks, strict=True)
        )
        return self._which[query_index], which[set_index], distance

    def _distances(self, left: Array, right: Array) -> Array:
        """Return the distances of two arrays of vectors, row by row."""
        difference = np.abs(left - right)
        if self._sums:
            return np.asarray(difference.sum(axis=1))
        largest = difference.max(axis=1, initial=0.0)
        scaled = difference / np.where(largest > 0, largest, 1.0)[:, None]
        straight = largest * np.sqrt((scaled * scaled).sum(axis=1))
        if self._metric == "l2":
            return np.asarray(straight)
        return np.asarray(2 * np.arcsin(np.minimum(straight / 2, 1.0)))


@dataclass(frozen=True, slots=True, eq=False)
class _SetPairs:
    """Pairs of a query and a vector id, the index of the set with the vector, and whether they are
    surely near."""

    set: Array
    query: Array
    id: Array
    sure: Array

    @classmethod
    def none(cls) -> _SetPairs:
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing.astype(np.uint32), nothing.astype(np.bool_))

    @classmethod
    def of(cls, parts: list[_SetPairs]) -> _SetPairs:
        arrays = ((part.set, part.query, part.id, part.sure) for part in parts)
        return cls(*map(np.concatenate, zip(*arrays, strict=True)))

    def __len__(self) -> int:
        return len(self.set)

    def part(self, *where: int | Array) -> _SetPairs:
        """Some of them: at positions, or between two."""
        chosen = where[0] if len(where) == 1 else slice(*where)
        return _SetPairs(self.set[chosen], self.query[chosen], self.id[chosen], self.sure[chosen])

    def among(self, position: Array) -> _SetPairs:
        """Those of wanted sets, whose index becomes their position."""
        found = self.part(np.flatnonzero(position[self.set] >= 0))
        return _SetPairs(position[found.set], found.query, found.id, found.sure)

    def sorted_by(self, rank: Array) -> _SetPairs:
        return self.part(np.argsort(rank[self.set], kind="stable"))

    def count(self, sets: int, pairs: bool) -> Array:
        """By set the number of pairs, or of queries with a pair."""
        if pairs:
            return np.bincount(self.set, minlength=sets)
        several = int(self.query.max(initial=0)) + 1
        if sets * several <= _FLAGS:  # quicker than to sort
            flags = np.zeros(sets * several, dtype=np.bool_)
            flags[self.set * several + self.query] = True
            return np.count_nonzero(flags.reshape(sets, several), axis=1)
        return np.bincount(np.unique(self.set * several + self.query) // several, minlength=sets)
