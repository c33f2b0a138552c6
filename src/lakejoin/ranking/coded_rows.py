"""Rows of the query table and of a lake table as codes of the lake table's segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.key_extension import NO_CODE
from lakejoin.model import Array
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.model import ColumnProfile
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The query table; all values that the segment lacks have the same code."""

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
        return self.query_table.codes_at(self.segment, columns, rows)


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
        of_segment = self.entry.first + np.asarray(columns, np.int64)
        codes = self.segment.rows.codes_at(of_segment, rows, self.entry.rows)
        return np.where(codes == NULL, np.int64(NO_CODE), codes.astype(np.int64))
