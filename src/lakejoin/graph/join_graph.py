"""The join graph of an index, as Python users see it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.engines.limits import check_share
from lakejoin.errors import InputError
from lakejoin.graph.graph_elements import Edges, GraphNodes, concat_edges
from lakejoin.graph.graph_refresh import EarlierGraph
from lakejoin.model import Array
from lakejoin.quoting import lakejoin_command
from lakejoin.store.graph_files import ColumnPairs, concat_pairs, cut_ranges

if TYPE_CHECKING:
    from lakejoin.graph.graph_statistics import GraphStatistics
    from lakejoin.graph.neighborhood import Neighborhood
    from lakejoin.store.graph_files import GraphOptions
    from lakejoin.store.snapshot import Snapshot

_PAIRS_AT_ONCE = 1 << 20  # read together


class JoinGraph:
    """All pairs of columns of a lake that join: one holds a share of the other's distinct values.

    `options` say which share, how many distinct values a column must have, and how many joins it
    keeps; `cut` columns had more. Everything is read from the index's files on demand.

    >>> [step.other_table for step in lake.graph().around("sights.csv").steps]
    ['cities.csv']
    """

    def __init__(self, snapshot: Snapshot) -> None:
        stored = snapshot.graph()
        if stored is None:
            raise InputError(
                f"the index at {snapshot.location} has no join graph yet: run "
                f"{lakejoin_command('graph', snapshot.location.uri)}"
            )
        self.options: GraphOptions = stored.options
        self.cut = stored.cut
        self._index = snapshot.location.uri
        self._stored = stored
        self._earlier = EarlierGraph(stored, snapshot)
        self.nodes = GraphNodes(snapshot)

    @cached_property
    def complete(self) -> bool:
        """False if pairs are missing until `lakejoin graph` refreshes it: those of tables indexed
        since, and those that a column did not keep because of others that have been removed."""
        return self.knows_all and not self._earlier.needs_recount

    @property
    def knows_all(self) -> bool:
        """Whether no table has been indexed since the graph was built."""
        return not self._earlier.new_segments.any()

    @cached_property
    def _length(self) -> int:
        if self._earlier.is_whole:
            return self._stored.count
        return sum(
            len(self._earlier.still_valid(file.pairs_of(np.arange(*columns))))
            for segment in range(len(self._stored.segments))
            if (file := self._stored.pairs(segment)) is not None
            for columns in cut_ranges(file.start, _PAIRS_AT_ONCE)
        )

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        share = self.options.containment
        return f"<JoinGraph: {len(self):,} pairs of columns with a containment of {share:g}>"

    def pairs_of(self, segment: int, columns: Array) -> ColumnPairs:
        """All pairs of some columns of a segment, with columns around and inside them."""
        before = int(self._earlier.earlier_index[segment])
        if before < 0:
            return concat_pairs([])
        both = [self._stored.pairs(before, turned) for turned in (False, True)]
        pairs = [
            self._earlier.still_valid(file.pairs_of(columns)) for file in both if file is not None
        ]
        return concat_pairs(pairs)

    def edges_of(self, tables: Array, min: float | None = None, numbers: bool = True) -> Edges:
        """The edges that start at the given tables."""
        return concat_edges(
            [
                self._chosen(self.pairs_of(segment, columns), min, numbers)
                for segment, columns in self.nodes.columns_of(tables)
            ]
        )

    def batches(self, min: float | None = None, numbers: bool = True) -> Iterator[Edges]:
        """All edges in batches; the edges of a table come together."""
        for before in range(len(self._stored.segments)):
            segment = int(self._earlier.current_index[before])
            files = [self._stored.pairs(before, turned) for turned in (False, True)]
            starts = [file.start for file in files if file is not None]
            if segment < 0 or not starts:
                continue
            first = self.nodes.first_columns(segment)
            for begin, end in cut_ranges(sum(starts[1:], starts[0]), _PAIRS_AT_ONCE, first):
                pairs = self.pairs_of(segment, np.arange(begin, end))
                edges = self._chosen(pairs, min, numbers)
                if len(edges):
                    yield edges

    def edges(self, min: float | None = None, numbers: bool = True) -> Edges:
        """The columns that others contain, by at least the share `min`; `numbers=False` omits
        columns of numbers. All in memory; see `batches`."""
        return concat_edges(list(self.batches(min, numbers)))

    def _chosen(self, pairs: ColumnPairs, min: float | None, numbers: bool) -> Edges:
        """The pairs that are edges from their own column, sorted by it."""
        self._check(min)
        share = self.options.containment
        chosen = pairs.shared >= np.ceil(share * pairs.size - 1e-9)
        if min is not None:
            chosen &= pairs.shared / pairs.size >= min - 1e-9
        pairs = pairs.take(chosen)
        source = self.nodes.columns(pairs.segment, pairs.column)
        target = self.nodes.columns(pairs.other_segment, pairs.other_column)
        if not numbers:
            texts = ~self.nodes.is_number(source)
            pairs, source, target = pairs.take(texts), source[texts], target[texts]
        order = np.lexsort((target, source))
        shared = pairs.shared / pairs.size
        return Edges(source[order], target[order], pairs.shared[order], shared[order])

    def _check(self, min: float | None) -> None:
        if min is None:
            return
        check_share(min, "min")
        if min < self.options.containment:
            raise InputError(
                f"the graph only has joins with a containment of {self.options.containment:g} or "
                f"more, not {min:g}: run "
                f"{lakejoin_command(f'graph --containment {min:g}', self._index)}"
            )

    def statistics(
        self, min: float | None = None, numbers: bool = True, sample: int = 5, seed: int = 0
    ) -> GraphStatistics:
        """How many tables join, and with how many others; with a random `sample` of tables, as in
        table 1.4 of Zhu's thesis."""
        from lakejoin.graph.graph_statistics import compute_statistics

        self._check(min)
        return compute_statistics(self, min, numbers, sample, seed)

    def around(
        self, table: str, hops: int = 1, min: float | None = None, numbers: bool = True
    ) -> Neighborhood:
        """The tables within `hops` joins of a table, each with the best join that leads there: from
        a column to one that contains it."""
        from lakejoin.graph.neighborhood import find_neighborhood

        self._check(min)
        return find_neighborhood(self, table, hops, min, numbers)

    def to_arrow(self, min: float | None = None, numbers: bool = True) -> pa.Table:
        """A row for every pair of a column and one that contains it: `table`, `column`,
        `other_table`, `other_column`, `shared` values and `containment` in the other column."""
        from lakejoin.graph.graph_export import edges_to_arrow

        self._check(min)
        return edges_to_arrow(self, self.edges(min, numbers))

    def export(
        self, path: str | os.PathLike[str], min: float | None = None, numbers: bool = True
    ) -> int:
        """Write the graph to a `.parquet` or `.graphml` file; returns the number of edges."""
        from lakejoin.graph.graph_export import export_graph

        self._check(min)
        return export_graph(self, path, min, numbers)
