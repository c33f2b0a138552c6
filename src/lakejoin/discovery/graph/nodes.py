"""The tables and columns of a graph, numbered through all segments."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import UnknownTable
from lakejoin.search.places import Places

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

_NUMBERS = ("integer", "decimal")


class Nodes:
    """Tables and columns by one number each; what is said of them is read when it is needed."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._places = [Places(segment) for segment in snapshot.segments]
        records = [segment.record for segment in snapshot.segments]
        self._first_table = np.cumsum([0, *(record.tables for record in records)])
        self._first_column = np.cumsum([0, *(record.columns for record in records)])

    def columns(self, segment: Array, column: Array) -> Array:
        """Numbers of columns."""
        return np.asarray(self._first_column[segment] + column)

    @cached_property
    def table_of(self) -> Array:
        """The table of every column."""
        parts = [np.zeros(0, dtype=np.int64)]
        for number, places in enumerate(self._places):
            tables = np.arange(len(places.width)) + self._first_table[number]
            parts.append(np.repeat(tables, places.width))
        return np.concatenate(parts)

    @cached_property
    def live(self) -> Array:
        """The tables that have not gone."""
        alive = np.ones(int(self._first_table[-1]), dtype=bool)
        for number, segment in enumerate(self.snapshot.segments):
            alive[self._first_table[number] + np.array(segment.record.dead, dtype=np.int64)] = False
        return np.flatnonzero(alive)

    @cached_property
    def is_number(self) -> Array:
        """Whether every column holds numbers, which meet by accident more often than texts do."""
        parts = [np.zeros(0, dtype=bool)]
        for segment in self.snapshot.segments:
            kinds = segment.catalog.columns["type"].to_pylist()
            parts.append(np.isin(np.array(kinds, dtype=object).astype(str), _NUMBERS))
        return np.concatenate(parts)

    @cached_property
    def table_names(self) -> pa.ChunkedArray:
        """The name of every table."""
        return self._strings("tables")

    @cached_property
    def column_names(self) -> pa.ChunkedArray:
        """The name of every column."""
        return self._strings("columns")

    def rows(self, tables: Array) -> list[int]:
        """How many rows tables have."""
        where = np.searchsorted(self._first_table, tables, side="right") - 1
        own = tables - self._first_table[where]
        pairs = zip(where.tolist(), own.tolist(), strict=True)
        return [int(self._places[segment].rows[table]) for segment, table in pairs]

    def table(self, name: str) -> int:
        """The number of the live table of a name."""
        found = self.snapshot.find_table(name)
        if found is None:
            self.snapshot.table(name)  # knows the nearest names
            raise UnknownTable(f"no table {name!r} in the index")
        segment, entry = found
        number = next(n for n, one in enumerate(self.snapshot.segments) if one is segment)
        return int(self._first_table[number]) + entry.number

    def _strings(self, of: str) -> pa.ChunkedArray:
        import pyarrow as pa

        chunks = [
            chunk
            for segment in self.snapshot.segments
            for chunk in getattr(segment.catalog, of)["name"].chunks
        ]
        return pa.chunked_array(chunks, pa.string())
