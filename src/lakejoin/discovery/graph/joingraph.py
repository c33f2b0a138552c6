"""The join graph as a Python user has it in hand."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.graph.nodes import Nodes
from lakejoin.errors import InputError
from lakejoin.search.graph.kept import still_there
from lakejoin.search.options import check_share

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.graph.around import Around
    from lakejoin.discovery.graph.statistics import Statistics
    from lakejoin.store.graph import GraphOptions
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Columns that are contained in columns of other tables: `share` of the values of `source`,
    `shared` of them, are in `target`. Both are numbers of columns."""

    source: Array
    target: Array
    shared: Array
    share: Array

    def __len__(self) -> int:
        return len(self.shared)


class JoinGraph:
    """All pairs of columns of a lake that join: one holds a share of the other's distinct values.

    `options` say which share, how many distinct values a column must have, and how many partners it
    keeps; `cut` columns have more. `complete` is false where pairs are missing until `lakejoin
    graph` refreshes it: those of tables that have been indexed since, and those that a column did
    not keep because of others that have gone.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        stored = snapshot.graph()
        if stored is None:
            raise InputError(
                f"the index at {snapshot.place} has no join graph yet: lakejoin graph makes it"
            )
        self.options: GraphOptions = stored.options
        kept = still_there(stored, snapshot)
        self._pairs = kept.pairs
        self.complete = not kept.fresh.any() and not kept.lack
        self.cut = len(kept.cut)
        self.nodes = Nodes(snapshot)

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        share = self.options.containment
        return f"<JoinGraph: {len(self):,} pairs of columns with a containment of {share:g}>"

    @cached_property
    def _both(self) -> Edges:
        """Every pair in both directions, where both reach the share."""
        pairs = self._pairs
        small = self.nodes.columns(pairs.segment, pairs.column)
        large = self.nodes.columns(pairs.other_segment, pairs.other_column)
        back = pairs.shared >= np.ceil(self.options.containment * pairs.other_size - 1e-9)
        return Edges(
            np.concatenate([small, large[back]]),
            np.concatenate([large, small[back]]),
            np.concatenate([pairs.shared, pairs.shared[back]]),
            np.concatenate(
                [pairs.shared / pairs.size, pairs.shared[back] / pairs.other_size[back]]
            ),
        )

    def edges(self, min: float | None = None, numbers: bool = True) -> Edges:
        """The columns that are contained in others, by at least the share `min`; without those that
        hold `numbers`, if these are left out."""
        if min is not None:
            check_share(min, "min")
            if min < self.options.containment:
                raise InputError(
                    f"the graph was made with a containment of {self.options.containment:g}: it "
                    f"cannot tell what contains {min:g}"
                )
        edges = self._both
        chosen = np.ones(len(edges), dtype=bool)
        if min is not None:
            chosen &= edges.share >= min - 1e-9
        if not numbers:
            chosen &= ~self.nodes.is_number[edges.source]
        if chosen.all():
            return edges
        return Edges(*(getattr(edges, name)[chosen] for name in Edges.__slots__))

    def statistics(
        self, min: float | None = None, numbers: bool = True, sample: int = 5, seed: int = 0
    ) -> Statistics:
        """How many tables join, with how many others; a random `sample` of tables as in table 1.4
        of Zhu's thesis."""
        from lakejoin.discovery.graph.statistics import statistics_of

        return statistics_of(self, self.edges(min, numbers), sample, seed)

    def around(
        self, table: str, hops: int = 1, min: float | None = None, numbers: bool = True
    ) -> Around:
        """The tables that can be reached from a table by so many joins, each with the best join
        that leads there: from a column to one that contains it."""
        from lakejoin.discovery.graph.around import around_of

        return around_of(self, self.edges(min, numbers), table, hops)

    def to_arrow(self, min: float | None = None, numbers: bool = True) -> pa.Table:
        """A row for every column that another contains: `table`, `column`, `other_table`,
        `other_column`, `shared` values, and the `containment` in the other column."""
        from lakejoin.discovery.graph.exporting import as_arrow

        return as_arrow(self, self.edges(min, numbers))

    def export(
        self, path: str | os.PathLike[str], min: float | None = None, numbers: bool = True
    ) -> int:
        """Writes the graph to a `.parquet` or `.graphml` file; returns how many edges it has."""
        from lakejoin.discovery.graph.exporting import export

        return export(self, self.edges(min, numbers), path)
