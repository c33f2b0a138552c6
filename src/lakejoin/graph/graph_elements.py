"""The tables, columns and edges of a join graph, with one index over all segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.errors import UnknownTable
from lakejoin.model import Array
from lakejoin.store.segment_tables import SegmentTables

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.snapshot import Snapshot


_NUMBERS = ("integer", "decimal")


class GraphNodes:
    """Tables and columns by an index over all segments; facts about them are read on demand."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._segment_tables = [SegmentTables(segment) for segment in snapshot.segments]
        self._numeric: dict[int, Array] = {}
        records = [segment.record for segment in snapshot.segments]
        self._first_table = np.cumsum([0, *(record.tables for record in records)])
        self._first_column = np.cumsum([0, *(record.columns for record in records)])

    @property
    def tables(self) -> int:
        """How many tables there are, including removed ones."""
        return int(self._first_table[-1])

    def columns(self, segment: Array, column: Array) -> Array:
        """The index of each column, given by its segment and its index there."""
        return np.asarray(self._first_column[segment] + column)

    def tables_of(self, columns: Array) -> Array:
        tables = np.empty(len(columns), dtype=np.int64)
        for segment, here, local in _by_segment(columns, self._first_column):
            table = np.searchsorted(self._segment_tables[segment].first, local, side="right") - 1
            tables[here] = table + self._first_table[segment]
        return tables

    def columns_of(self, tables: Array) -> Iterator[tuple[int, Array]]:
        for segment, _, local in _by_segment(np.sort(tables), self._first_table):
            yield segment, self._segment_tables[segment].columns_of(local)

    def first_columns(self, segment: int) -> Array:
        return self._segment_tables[segment].first

    @cached_property
    def live(self) -> Array:
        """The tables that have not been removed."""
        alive = np.ones(self.tables, dtype=bool)
        for first, segment in zip(self._first_table, self.snapshot.segments, strict=False):
            alive[first + np.array(segment.record.dead, dtype=np.int64)] = False
        return np.flatnonzero(alive)

    def is_number(self, columns: Array) -> Array:
        """Whether columns hold numbers, which overlap by coincidence more often than texts do."""
        numeric = np.zeros(len(columns), dtype=bool)
        for segment, here, local in _by_segment(columns, self._first_column):
            if segment not in self._numeric:
                kinds = self.snapshot.segments[segment].catalog.columns["type"].cast("string")
                self._numeric[segment] = np.isin(kinds.to_numpy(), _NUMBERS)
            numeric[here] = self._numeric[segment][local]
        return numeric

    def profile(self, name: str, columns: Array) -> Array:
        values = np.empty(len(columns))
        for segment, here, local in _by_segment(columns, self._first_column):
            values[here] = self._segment_tables[segment].profile(name)[local]
        return values

    def table_names(self, tables: Array) -> pa.ChunkedArray:
        return self._names("tables", tables, self._first_table)

    def column_names(self, columns: Array) -> pa.ChunkedArray:
        return self._names("columns", columns, self._first_column)

    def rows(self, tables: Array) -> Array:
        row_counts = np.empty(len(tables), dtype=np.int64)
        for segment, here, local in _by_segment(tables, self._first_table):
            row_counts[here] = self._segment_tables[segment].rows[local]
        return row_counts

    def table(self, name: str) -> int:
        """The index of the live table with a name."""
        located = self.snapshot.find_table(name)
        if located is None:
            self.snapshot.table(name)  # raises with the closest names
            raise UnknownTable(f"no table {name!r} in the index")
        segment, entry = located
        index = next(i for i, known in enumerate(self.snapshot.segments) if known is segment)
        return int(self._first_table[index]) + entry.table_id

    def _names(self, of: str, indexes: Array, first: Array) -> pa.ChunkedArray:
        import pyarrow as pa

        parts, order = [], np.empty(len(indexes), dtype=np.int64)
        done = 0
        for segment, here, local in _by_segment(indexes, first):
            names = getattr(self.snapshot.segments[segment].catalog, of)["name"]
            parts += names.take(pa.array(local)).chunks
            order[here] = np.arange(done, done + len(local))
            done += len(local)
        return pa.chunked_array(parts, pa.string()).take(pa.array(order))


def _by_segment(indexes: Array, first: Array) -> Iterator[tuple[int, Array, Array]]:
    """(segment, positions in `indexes`, indexes within the segment), by segment."""
    segments = np.searchsorted(first, indexes, side="right") - 1
    order = np.argsort(segments, kind="stable")
    present, begin = np.unique(segments[order], return_index=True)
    for segment, here in zip(present.tolist(), np.split(order, begin[1:]), strict=False):
        yield segment, here, indexes[here] - first[segment]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Columns that are contained in columns of other tables: `shared` values of `source`, a share
    `share` of them, are in `target`. Both are indexes of columns in the graph."""

    source: Array
    target: Array
    shared: Array
    share: Array

    def __len__(self) -> int:
        return len(self.shared)

    def take(self, chosen: Array) -> Edges:
        return Edges(
            self.source[chosen], self.target[chosen], self.shared[chosen], self.share[chosen]
        )


def concat_edges(parts: Sequence[Edges]) -> Edges:
    none = np.zeros(0, dtype=np.int64)
    return Edges(
        np.concatenate([none, *(edges.source for edges in parts)]),
        np.concatenate([none, *(edges.target for edges in parts)]),
        np.concatenate([none, *(edges.shared for edges in parts)]),
        np.concatenate([np.zeros(0), *(edges.share for edges in parts)]),
    )
