"""Our own methods as contenders: the default, each method by name, and the papers' as published."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.meaning.engine import Nearness, VectorSearch, VectorSpace
from lakejoin.store.compact_vectors import CompactVectors, MatrixSource
from vectors_data import Array, Lake
from vectors_lists import MatrixLists
from vectors_peers import Answer


class Prepared:
    """A lake in the form that all our methods start from, made once."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    @cached_property
    def space(self) -> VectorSpace:
        """Compact form, vectors and lists, in memory."""
        source = MatrixSource(self.lake.vectors)
        lists = MatrixLists(*self.lake.lists, self.lake.columns)
        return VectorSpace(CompactVectors.build(source), source, lists)


class Ours:
    """Our search by one of its methods."""

    def __init__(self, prepared: Prepared, method: str = "auto") -> None:
        self.method, self.search_of = method, VectorSearch([prepared.space])

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        nearness = Nearness(radius, least=least, method=self.method)
        found = self.search_of.search(queries, nearness)
        order = np.argsort(found.column)
        return Answer(found.column[order], found.matched[order], found.counters.verified)


class Indexed:
    """Our default on an index: the vectors of the few survivors are computed from their texts."""

    def __init__(self, spaces: list[VectorSpace], excluded: ExcludedColumns, origin: Array) -> None:
        self.search_of, self.excluded = VectorSearch(spaces), excluded
        self.order = np.lexsort((origin[1], origin[0]))
        self.keys = _key(*origin)[self.order]

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        found = self.search_of.search(queries, Nearness(radius, least=least), self.excluded)
        columns = self.order[np.searchsorted(self.keys, _key(found.segment, found.column))]
        order = np.argsort(columns)
        return Answer(columns[order], found.matched[order], found.counters.verified)


def _key(segment: Array, column: Array) -> Array:
    return segment.astype(np.int64) << 32 | column.astype(np.int64)


class Published:
    """A method of the papers alone; counting stops once a column has enough, as in the paper."""

    def __init__(self, method: Any, columns: int) -> None:
        self.method, self.allowed = method, np.ones(columns, bool)

    @classmethod
    def grid(cls, prepared: Prepared, naive: bool = False) -> Published:
        """PEXESO for text, and with `naive` the paper's PEXESO-H."""
        from published.grid import GridMethod, GridOptions

        options = GridOptions(exact=False, naive=naive)
        return cls(GridMethod.of(prepared.space, options=options), prepared.lake.columns)

    @classmethod
    def groups(cls, prepared: Prepared) -> Published:
        """PEXESO for numeric vectors."""
        from published.groups import GroupMethod

        return cls(GroupMethod.of(prepared.space), prepared.lake.columns)

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        counts = self.method.counts(queries, radius, "hit", least, self.allowed)
        columns = np.flatnonzero(counts >= least)
        return Answer(columns, np.full(len(columns), -1), self.method.counters.verified)
