"""Candidates of one collection of vectors: every pair within a radius, and some others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.search.vectors import scanning
from lakejoin.search.vectors.descending import Tree, descend, new_descent, reached_share
from lakejoin.store.compact import LEAF, Compact, check_size, matches_any

Array = np.ndarray[Any, Any]

TOGETHER = 1024  # queries that go down the tree together
_ROOM = 1 << 18  # candidates that are handed out at once
# Nanoseconds: a pair at a leaf of the tree, a pair among all, and a point decoded for all queries.
_AT_LEAF, _AMONG_ALL, _DECODED = 7.5, 2.5, 25.0
_SOME = 32  # queries, and leaves, of which it is estimated how many are reached
_SMALL = 1e-12
_SINGLE = 2e-6  # what single precision may change of a distance, as a share of the largest number


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pairs that may be within the radius, `sure` where they are: of queries and numbers of
    vectors."""

    query: Array
    id: Array
    sure: Array

    def __len__(self) -> int:
        return len(self.query)

    def take(self, chosen: Array) -> Candidates:
        """Those at some places, or where a mask is set."""
        return Candidates(self.query[chosen], self.id[chosen], self.sure[chosen])


def together(parts: list[Candidates]) -> Candidates:
    """All candidates of several parts, by query."""
    query = np.concatenate([np.zeros(0, np.int32), *(part.query for part in parts)])
    order = np.argsort(query, kind="stable")
    ids = np.concatenate([np.zeros(0, np.uint32), *(part.id for part in parts)])
    sure = np.concatenate([np.zeros(0, np.bool_), *(part.sure for part in parts)])
    return Candidates(query[order], ids[order], sure[order])


class Finder:
    """Finds candidates in the compact form of a collection."""

    def __init__(self, compact: Compact) -> None:
        self.compact = compact

    @cached_property
    def _tree(self) -> Tree:
        c = self.compact
        return Tree(c.scale.astype(np.float32), c.blocks, c.rest, c.low, c.high, c.span)

    @cached_property
    def _largest(self) -> float:
        """The largest number that is computed with, beside those of the queries."""
        finite = self.compact.span[0, 1] if len(self.compact.span) else 0.0
        return float(max(np.abs(128 * self.compact.scale).max(initial=0.0), finite, 0.0))

    def find(self, queries: Array, radius: float, method: str) -> Finding:
        """The candidates within a straight distance; `method` is auto, tree or flat."""
        usable = np.flatnonzero(matches_any(queries, self.compact.zeros))
        check_size(queries[usable])
        coordinates, rests = self.compact.coordinates(queries[usable])
        mine, beside = coordinates.astype(np.float32), rests.astype(np.float32)
        largest = max(np.abs(mine).max(initial=0.0), beside.max(initial=0.0), self._largest)
        slack = _SINGLE * float(largest)
        boxed = method == "tree" or (method == "auto" and self._pays(mine, beside, radius + slack))
        return Finding(self._tree, self.compact, usable, mine, beside, radius, slack, boxed)

    def _pays(self, mine: Array, beside: Array, reach: float) -> bool:
        """Whether looking at boxes saves more than it costs."""
        nodes = self.compact.leaf_nodes
        nodes = nodes[:: max(len(nodes) // _SOME, 1)]
        some = np.arange(0, len(mine), max(len(mine) // _SOME, 1))
        share = reached_share(self._tree, mine[some], beside[some], reach, nodes)
        return bool(share * _AT_LEAF < _AMONG_ALL + _DECODED / max(len(mine), 1))


@dataclass(eq=False)
class Finding:
    """A search for candidates: iterate over it, part by part."""

    tree: Tree
    compact: Compact
    usable: Array
    queries: Array
    rests: Array
    radius: float
    slack: float
    boxed: bool
    bounded: int = 0

    @property
    def name(self) -> str:
        """What is done: tree or flat."""
        return "tree" if self.boxed else "flat"

    def place(self, query: Array) -> Array:
        """The places of queries among those that can match anything."""
        return np.searchsorted(self.usable, query)

    def __iter__(self) -> Iterator[Candidates]:
        for begin in range(0, len(self.queries), TOGETHER):
            yield from self.block(begin, begin + TOGETHER)

    def block(self, begin: int, end: int) -> Iterator[Candidates]:
        """The candidates of some queries, in parts that are bounded in size."""
        queries, rests = self.queries[begin:end], self.rests[begin:end]
        parts = self._down(queries, rests) if self.boxed else self._over(queries, rests)
        for found in parts:
            yield Candidates(
                self.usable[begin + found[:, 0]].astype(np.int32),
                self.compact.order[found[:, 1]],
                found[:, 2] != 0,
            )

    def _down(self, queries: Array, rests: Array) -> Iterator[Array]:
        """Down the tree."""
        out = np.empty((max(_ROOM, LEAF * len(queries)), 3), dtype=np.int32)
        state = new_descent(len(queries), len(self.tree.blocks))
        reach = self.radius + self.slack
        # Squares of what is very small are zero in single precision: then nothing is sure.
        sure = self.radius - self.slack if self.slack > _SINGLE * _SMALL else -1.0
        while state.top[0]:
            found = descend(self.tree, queries, rests, reach, sure, state, out)
            self.compact.check(np.flatnonzero(state.leaves))
            state.leaves[:] = 0
            yield out[:found]
        self.bounded += int(state.tally[0])

    def _over(self, queries: Array, rests: Array) -> Iterator[Array]:
        """Over all leaves."""
        tree, leaves = self.tree, len(self.tree.blocks)
        rows, own = scanning.rows_of(queries, rests)
        step, many = scanning.leaves_with(len(rows)), min(len(rows), scanning.QUERIES)
        columns = np.empty((rows.shape[1], step * LEAF), dtype=np.float32)
        errors = self.compact.span[self.compact.leaf_nodes, 2]
        out = np.empty((many * step * LEAF, 3), dtype=np.int32)
        room = np.empty((many, step * LEAF), dtype=np.float32)
        for first in range(0, leaves, step):
            last = min(first + step, leaves)
            self.compact.check(np.arange(first, last))
            most = scanning.decode(tree.blocks, tree.rest, tree.scale, first, last, columns)
            reach = self.radius + self.slack + errors[first:last]
            limits = reach * reach + scanning.SINGLE * (float(own.max(initial=0.0)) + most)
            wide = columns[:, : (last - first) * LEAF]
            parts = []
            for at in range(0, len(rows), scanning.QUERIES):
                part = slice(at, at + scanning.QUERIES)
                some = rows[part]
                products = np.matmul(some, wide, out=room[: len(some), : wide.shape[1]])
                found = scanning.pick(
                    products, limits.astype(np.float32), own[part], at, first, out
                )
                if found:
                    parts.append(out[:found].copy())
            if parts:  # all that a leaf's points are candidates of come together
                yield np.concatenate(parts)
        self.bounded += leaves * LEAF * len(queries)
