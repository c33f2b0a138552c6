"""Rows of the query table and of a lake table as codes of the lake table's segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import NO_CELL
from lakejoin.joins.agreeing_columns import NO_CODE
from lakejoin.model import Array, null_id

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.model import ColumnProfile
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment


ABSENT = -2  # equals no value of the lake table; unlike a null, it differs from it


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The query table; all values that the segment lacks have the code `ABSENT`."""

    query_table: QueryTable
    segment: Segment

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return self.query_table.column_names

    @property
    def profiles(self) -> Sequence[ColumnProfile]:
        """The profiles of the columns."""
        return self.query_table.profiles()

    def codes_at(self, columns: Sequence[int], rows: Array) -> Array:
        """The codes of some rows, a line for each column."""
        import pyarrow as pa

        from lakejoin.store.dictionary import NOT_FOUND

        by_column = np.full((len(columns), len(rows)), np.int64(NO_CODE))
        self.query_table.read(columns)  # together, so that a file is read once
        texts, places = [], []
        for column in columns:
            tokens, cells = self.query_table.cells(column)
            at = cells[rows]
            known = np.flatnonzero(at != NO_CELL)
            distinct, position = np.unique(at[known], return_inverse=True)
            texts.append(tokens.take(distinct))
            places.append((known, position))
        if not texts:
            return by_column
        # One lookup for all columns, as a lookup has a fixed cost.
        found = self.segment.dictionary.find(pa.chunked_array(texts).combine_chunks())
        codes = np.where(found == NOT_FOUND, np.int64(ABSENT), found.astype(np.int64))
        start = 0
        for line, (known, position), own in zip(by_column, places, texts, strict=True):
            line[known] = codes[start + position]
            start += len(own)
        return by_column


@dataclass(frozen=True, eq=False)
class LakeRows:
    """A table of a segment; its columns are counted from its first."""

    segment: Segment
    entry: TableEntry

    @cached_property
    def columns(self) -> tuple[ColumnEntry, ...]:
        """The catalog entries of the columns."""
        return self.segment.catalog.columns_of(self.entry)

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def profiles(self) -> Sequence[ColumnProfile]:
        """The profiles of the columns."""
        return [column.profile for column in self.columns]

    def codes_at(self, columns: Sequence[int], rows: Array) -> Array:
        """The codes of some rows, a line for each column."""
        codes = np.full((len(columns), len(rows)), np.int64(NO_CODE))
        for line, column in zip(codes, columns, strict=True):
            line[:] = self._column_codes(self.entry.first + column, rows)
        return codes

    def _column_codes(self, column: int, rows: Array) -> Array:
        """The codes of some rows of a column, decoding only those."""
        from lakejoin.store.rows import NULL

        of_segment = self.segment.rows
        cells, ids = of_segment.local(column, self.entry.rows)
        if cells is None:
            at = ids[rows]
            known = at != NULL
        else:
            known = cells[rows] != null_id(cells.dtype)
            at = np.full(len(rows), NULL)
            at[known] = ids[cells[rows][known]]
        codes = np.full(len(rows), np.int64(NO_CODE))
        codes[known] = of_segment.codes_of(at[known])
        return codes
