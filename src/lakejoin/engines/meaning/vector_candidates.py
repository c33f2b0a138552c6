"""Find candidate pairs within a radius, by the method with the lowest estimated cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lakejoin.engines.meaning.tree_kernels import VectorTree, descend, new_descent, reached_share
from lakejoin.engines.meaning.vector_distances import (
    BLOCK_LEAVES,
    BLOCK_QUERIES,
    SINGLE_ERROR,
    WholeVectors,
    decode_leaves,
    pick_pairs,
    query_rows,
)
from lakejoin.model import Array
from lakejoin.store.compact_vectors import (
    LEAF,
    CompactVectors,
    VectorSource,
    can_match,
    check_magnitude,
)

TOGETHER = 1024  # queries that descend the tree together
_ROOM = 1 << 18  # candidates per batch
_SMALL = 1e-12
_FEW = 64  # queries whose products are computed in slices
_ALONE = 400_000  # multiplications that BLAS libraries do in one thread
_SINGLE = 2e-6  # error of a distance in single precision, as a share of the largest number


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePairs:
    """Pairs of a query and a vector id that may be within the radius; `sure` if they are."""

    query: Array
    id: Array
    sure: Array

    def __len__(self) -> int:
        return len(self.query)

    def take(self, chosen: Array) -> CandidatePairs:
        return CandidatePairs(self.query[chosen], self.id[chosen], self.sure[chosen])


def merge_candidates(parts: list[CandidatePairs]) -> CandidatePairs:
    """Concatenate candidates, sorted by query."""
    query = np.concatenate([np.zeros(0, np.int32), *(part.query for part in parts)])
    order = np.argsort(query, kind="stable")
    ids = np.concatenate([np.zeros(0, np.uint32), *(part.id for part in parts)])
    sure = np.concatenate([np.zeros(0, np.bool_), *(part.sure for part in parts)])
    return CandidatePairs(query[order], ids[order], sure[order])


class CandidateFinder:
    """Finds candidates in the compact form of vectors, or in whole vectors if in memory."""

    def __init__(self, compact: CompactVectors, source: VectorSource | None = None) -> None:
        self.compact = compact
        self._source = source

    @cached_property
    def _tree(self) -> VectorTree:
        c = self.compact
        return VectorTree(c.scale.astype(np.float32), c.blocks, c.rest, c.low, c.high, c.span)

    @cached_property
    def _whole(self) -> WholeVectors | None:
        vectors = None if self._source is None else self._source.whole()
        return None if vectors is None else WholeVectors.of(vectors, self.compact.zeros)

    @cached_property
    def _largest(self) -> float:
        """The largest number in computations, apart from those of the queries."""
        finite = self.compact.span[0, 1] if len(self.compact.span) else 0.0
        return float(max(np.abs(128 * self.compact.scale).max(initial=0.0), finite, 0.0))

    def find(self, queries: Array, radius: float, method: str) -> CandidateSearch:
        """Search for candidates within an L2 distance; `method` is auto, tree, flat or whole."""
        usable = np.flatnonzero(can_match(queries, self.compact.zeros))
        check_magnitude(queries[usable])
        coordinates, rests = self.compact.coordinates(queries[usable])
        points, beside = coordinates.astype(np.float32, order="C"), rests.astype(np.float32)
        largest = max(np.abs(points).max(initial=0.0), beside.max(initial=0.0), self._largest)
        slack = _SINGLE * float(largest)
        if self.compact.sums:  # a product of matrices gives no sums of differences
            method, slack = TREE, slack * (1 + points.shape[1] / 4)
        if method == "auto":
            at_hand = self._source is not None and self._source.whole() is not None
            method = choose_method(
                self.compact, self._tree, points, beside, radius + slack, at_hand
            )
        whole = self._whole if method == WHOLE else None
        return CandidateSearch(
            self._tree, self.compact, usable, points, beside, radius, slack, method,
            queries[usable], whole,
        )  # fmt: skip


@dataclass(eq=False)
class CandidateSearch:
    """A search for candidates; iterate over it for batches."""

    tree: VectorTree
    compact: CompactVectors
    usable: Array
    queries: Array
    rests: Array
    radius: float
    slack: float
    name: str  # the method: tree, flat or whole
    vectors: Array  # the queries themselves
    whole: WholeVectors | None = None
    bounded: int = 0

    def position_of(self, query: Array) -> Array:
        """The positions of queries among those that can match anything."""
        return np.searchsorted(self.usable, query)

    def __iter__(self) -> Iterator[CandidatePairs]:
        for begin in range(0, len(self.queries), TOGETHER):
            yield from self.block(begin, begin + TOGETHER)

    def block(self, begin: int, end: int) -> Iterator[CandidatePairs]:
        """The candidates of some queries, in batches of bounded size."""
        queries, rests = self.queries[begin:end], self.rests[begin:end]
        if self.whole is not None:
            parts = self.whole.pairs(self.vectors[begin:end], self.radius)
        else:
            parts = (self._down if self.name == TREE else self._over)(queries, rests)
        for pairs in parts:
            ids = pairs[:, 1] if self.whole is not None else self.compact.order[pairs[:, 1]]
            query = self.usable[begin + pairs[:, 0]].astype(np.int32)
            yield CandidatePairs(query, ids.astype(np.uint32), pairs[:, 2] != 0)

    def _down(self, queries: Array, rests: Array) -> Iterator[Array]:
        """Descend the tree."""
        out = np.empty((max(_ROOM, LEAF * len(queries)), 3), dtype=np.int32)
        state = new_descent(len(queries), len(self.tree.blocks))
        reach = self.radius + self.slack
        # Squares of very small numbers are zero in single precision: then nothing is sure.
        sure = self.radius - self.slack if self.slack > _SINGLE * _SMALL else -1.0
        while state.top[0]:
            pair_count = descend(
                self.tree, queries, rests, reach, sure, state, out, self.compact.sums
            )
            self.compact.check(np.flatnonzero(state.leaves))
            state.leaves[:] = 0
            yield out[:pair_count]
        self.bounded += int(state.tally[0])

    def _over(self, queries: Array, rests: Array) -> Iterator[Array]:
        """Scan all leaves."""
        tree, leaves = self.tree, len(self.tree.blocks)
        rows, own = query_rows(queries, rests)
        step, many = BLOCK_LEAVES, min(len(rows), BLOCK_QUERIES)
        columns = np.empty((rows.shape[1], step * LEAF), dtype=np.float32)
        reach = self.radius + self.slack + self.compact.span[self.compact.leaf_nodes, 2]
        squares, largest = reach * reach, float(own.max(initial=0.0))
        self.compact.check(np.arange(leaves))
        out = np.empty((many * step * LEAF, 3), dtype=np.int32)
        room = np.empty((many, step * LEAF), dtype=np.float32)
        for first in range(0, leaves, step):
            last = min(first + step, leaves)
            most = decode_leaves(tree.blocks, tree.rest, tree.scale, first, last, columns)
            limits = squares[first:last] + np.float32(SINGLE_ERROR * (largest + most))
            wide = columns[:, : (last - first) * LEAF]
            parts = []
            for at in range(0, len(rows), BLOCK_QUERIES):
                part = slice(at, at + BLOCK_QUERIES)
                some = rows[part]
                products = _products(some, wide, room[: len(some), : wide.shape[1]])
                pair_count = pick_pairs(products, limits, own[part], at, first, out)
                if pair_count:
                    parts.append(out[:pair_count].copy())
            if parts:  # all candidates of a leaf's points come together
                yield np.concatenate(parts)
        self.bounded += leaves * LEAF * len(queries)


def _products(rows: Array, columns: Array, out: Array) -> Array:
    """The products of rows with columns. Those of few rows are computed in slices, each too small
    for BLAS to split among threads, which would wait for each other longer than they compute; on a
    busy machine ten times as long."""
    width = _ALONE // (rows.shape[0] * rows.shape[1])
    if len(rows) > _FEW or width < LEAF // 2:
        return np.matmul(rows, columns, out=out)
    for begin in range(0, columns.shape[1], width):
        part = slice(begin, begin + width)
        np.matmul(rows, columns[:, part], out=out[:, part])
    return out


TREE, FLAT, WHOLE = "tree", "flat", "whole"
_SOME = 32  # queries and leaves in the sample
# Nanoseconds for a pair at a leaf of the tree, for a pair in a scan, and to decode a point.
_AT_LEAF, _AMONG_ALL, _DECODED = 5.0, 2.5, 20.0
# To measure a candidate, and more per dimension.
_MEASURED, _NUMBER = 100.0, 1.5
# Whole vectors: to read a number, to multiply one, and to check a product.
_READ, _MULTIPLIED, _LOOKED = 1.0, 0.02, 1.0
_CLEAR = 0.25  # share of a scan's cost below which the tree is chosen without further estimates


def choose_method(
    compact: CompactVectors,
    tree: VectorTree,
    queries: Array,
    rests: Array,
    reach: float,
    at_hand: bool,
) -> str:
    """`tree`, `flat` or `whole`; the last only if whole vectors are in memory (`at_hand`)."""
    nodes = compact.leaf_nodes
    if not len(nodes) or not len(queries):
        return TREE
    leaves = np.arange(0, len(nodes), max(len(nodes) // _SOME, 1))
    some = slice(None, None, max(len(queries) // _SOME, 1))
    sample, beside = queries[some], rests[some]
    many = len(queries)
    boxed = many * _AT_LEAF * reached_share(tree, sample, beside, reach, nodes[leaves], False)
    flat = _DECODED + many * _AMONG_ALL
    if not at_hand or boxed < _CLEAR * flat:
        return TREE if boxed < flat else FLAT
    left = _left(compact, sample, beside, reach, leaves)
    dimension = compact.dimension
    measured = many * left * (_MEASURED + _NUMBER * dimension)
    whole = dimension * _READ + many * (dimension * _MULTIPLIED + _LOOKED)
    if whole < min(boxed, flat) + measured:
        return WHOLE
    return TREE if boxed < flat else FLAT


def _left(
    compact: CompactVectors, queries: Array, rests: Array, reach: float, leaves: Array
) -> float:
    """The share of pairs, of sampled queries and leaves, that the bounds do not exclude."""
    compact.check(leaves)
    points = compact.blocks[leaves].transpose(0, 2, 1) * compact.scale.astype(np.float32)
    points = points.reshape(-1, points.shape[2])
    beside = compact.rest.reshape(-1, LEAF)[leaves].reshape(-1)
    points, beside = points[beside < np.inf], beside[beside < np.inf]
    far = (queries * queries).sum(axis=1)[:, None] + (points * points).sum(axis=1)
    far += (rests[:, None] - beside) ** 2 - 2 * queries @ points.T
    error = float(compact.span[compact.leaf_nodes[leaves], 2].max(initial=0.0))
    return float(np.count_nonzero(far <= (reach + error) ** 2)) / max(far.size, 1)
