"""A table of the index as the query table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.engines.query import (
    NO_CELL,
    ColumnSpellings,
    Query,
    TableOrigin,
    find_origin,
    is_stored_as_text,
    make_lake_query,
    read_spellings,
)
from lakejoin.model import Array, ColumnProfile
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.snapshot import Snapshot


class IndexedTable:
    """A table of the index whose columns are searched for in the same index."""

    def __init__(self, snapshot: Snapshot, segment_index: int, entry: TableEntry) -> None:
        self._snapshot = snapshot
        self._segment = snapshot.segments[segment_index]
        self._number = segment_index
        self._entry = entry
        self._columns = self._segment.catalog.columns_of(entry)
        # A search that compares rows needs both repeatedly.
        self._queries: dict[int, Query] = {}
        self._cells: dict[int, tuple[pa.LargeStringArray, Array]] = {}

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def column_names(self) -> Sequence[str]:
        return [column.name for column in self._columns]

    @property
    def origin(self) -> TableOrigin:
        return find_origin(self._snapshot.manifest.lakes, self._entry)

    @property
    def home(self) -> tuple[int, int] | None:
        return self._number, self._entry.table_id

    def rows(self) -> int:
        return self._entry.rows

    def notes(self) -> tuple[str, ...]:
        return ()

    def profiles(self) -> Sequence[ColumnProfile]:
        return [column.profile for column in self._columns]

    def profile(self, column_index: int) -> ColumnProfile:
        return self._columns[column_index].profile

    def read(self, column_indexes: Sequence[int]) -> None:
        """Do nothing: the columns are encoded in the index."""

    def query(self, column_index: int) -> Query:
        if column_index not in self._queries:
            segment_column = self._columns[column_index].column_id
            query = make_lake_query(self._snapshot, self._number, segment_column, self.name)
            self._queries[column_index] = query
        return self._queries[column_index]

    def cells(self, column_index: int) -> tuple[pa.LargeStringArray, Array]:
        if column_index not in self._cells:
            self._cells[column_index] = self._cells_of(column_index)
        return self._cells[column_index]

    def _cells_of(self, column_index: int) -> tuple[pa.LargeStringArray, Array]:
        codes = self._segment.rows.codes(self._columns[column_index].column_id, self._entry.rows)
        distinct, cells = np.unique(codes, return_inverse=True)
        if len(distinct) and distinct[-1] == NULL:
            cells = np.where(cells == len(distinct) - 1, NO_CELL, cells)
            distinct = distinct[:-1]
        return self._segment.dictionary.texts.take(distinct), cells.astype(np.uint32)

    def is_text(self, column_index: int) -> bool:
        return is_stored_as_text(self.origin, self._columns[column_index].profile.type)

    def types(self) -> Sequence[pa.DataType]:
        """All text: the index stores no other type."""
        return [pa.large_string()] * len(self._columns)

    def spellings(self, column_index: int) -> ColumnSpellings:
        return read_spellings(self._segment, self._columns[column_index].column_id)

    def release(self) -> None:
        self._queries.clear()
        self._cells.clear()


class ForeignIndexedTable(IndexedTable):
    """A table of the index, searched for in segments that do not include its own."""

    @property
    def home(self) -> tuple[int, int] | None:
        return None

    def query(self, column_index: int) -> Query:
        return replace(super().query(column_index), home=None)
