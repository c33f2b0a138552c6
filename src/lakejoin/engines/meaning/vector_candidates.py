"""Find candidate pairs: every pair within a radius, and some others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.engines.meaning.tree_kernels import VectorTree, descend, new_descent
from lakejoin.engines.meaning.planning import TREE, WHOLE, choose_method
from lakejoin.engines.meaning.scanning import (
    BLOCK_LEAVES,
    BLOCK_QUERIES,
    SINGLE_ERROR,
    decode_leaves,
    pick_pairs,
    query_rows,
)
from lakejoin.engines.meaning.product_kernels import WholeVectors
from lakejoin.store.compact_vectors import (
    LEAF,
    CompactVectors,
    VectorSource,
    check_magnitude,
    can_match,
)

Array = np.ndarray[Any, Any]

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
        """The pairs at these positions, or where a mask is set."""
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
        mine, beside = coordinates.astype(np.float32), rests.astype(np.float32)
        largest = max(np.abs(mine).max(initial=0.0), beside.max(initial=0.0), self._largest)
        slack = _SINGLE * float(largest)
        if method == "auto":
            at_hand = self._source is not None and self._source.whole() is not None
            method = choose_method(self.compact, self._tree, mine, beside, radius + slack, at_hand)
        whole = self._whole if method == WHOLE else None
        return CandidateSearch(
            self._tree, self.compact, usable, mine, beside, radius, slack, method,
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

    def place(self, query: Array) -> Array:
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
        for found in parts:
            ids = found[:, 1] if self.whole is not None else self.compact.order[found[:, 1]]
            query = self.usable[begin + found[:, 0]].astype(np.int32)
            yield CandidatePairs(query, ids.astype(np.uint32), found[:, 2] != 0)

    def _down(self, queries: Array, rests: Array) -> Iterator[Array]:
        """Descend the tree."""
        out = np.empty((max(_ROOM, LEAF * len(queries)), 3), dtype=np.int32)
        state = new_descent(len(queries), len(self.tree.blocks))
        reach = self.radius + self.slack
        # Squares of very small numbers are zero in single precision: then nothing is sure.
        sure = self.radius - self.slack if self.slack > _SINGLE * _SMALL else -1.0
        while state.top[0]:
            found = descend(self.tree, queries, rests, reach, sure, state, out)
            self.compact.check(np.flatnonzero(state.leaves))
            state.leaves[:] = 0
            yield out[:found]
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
                found = pick_pairs(products, limits, own[part], at, first, out)
                if found:
                    parts.append(out[:found].copy())
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
