"""Map the columns of a segment to its tables and their names; lists deleted columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.segment import Segment


class SegmentTables:
    """The tables of a segment and their column ranges."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._profiles: dict[str, Array] = {}

    @cached_property
    def first(self) -> Array:
        return np.asarray(self._segment.catalog.tables["first"].to_numpy())

    @cached_property
    def width(self) -> Array:
        return np.asarray(self._segment.catalog.tables["width"].to_numpy())

    @cached_property
    def rows(self) -> Array:
        return np.asarray(self._segment.catalog.tables["rows"].to_numpy())

    @cached_property
    def deleted_columns(self) -> Array:
        return self.columns_of(np.array(self._segment.record.dead, dtype=np.int64))

    def profile(self, name: str) -> Array:
        """One profile figure of all columns."""
        if name not in self._profiles:
            self._profiles[name] = np.asarray(self._segment.catalog.columns[name].to_numpy())
        return self._profiles[name]

    def table_of(self, column: int) -> int:
        return int(np.searchsorted(self.first, column, side="right")) - 1

    def columns_of(self, tables: Array) -> Array:
        """All columns of some tables, ascending."""
        tables = np.sort(np.asarray(tables, dtype=np.int64))
        width = self.width[tables].astype(np.int64)
        begin = np.cumsum(width) - width
        return np.repeat(self.first[tables] - begin, width) + np.arange(width.sum())

    def table_name(self, table: int) -> str:
        return str(self._table_names[table].as_py())

    def column_name(self, column: int) -> str:
        return str(self._column_names[column].as_py())

    def size_of(self, column: int) -> int:
        return int(self.profile("distinct")[column])

    @cached_property
    def _table_names(self) -> pa.ChunkedArray:
        return self._segment.catalog.tables["name"]

    @cached_property
    def _column_names(self) -> pa.ChunkedArray:
        return self._segment.catalog.columns["name"]
