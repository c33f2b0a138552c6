"""The tables and columns of a segment as arrays, built once per segment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment

Made = TypeVar("Made")


class PerSegment(Generic[Made]):
    """Something derived from a segment, computed once and kept as long as the segment.

    It must not reference the segment, which would then never be freed.
    """

    def __init__(self, make: Callable[[Segment], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._by_segment: WeakKeyDictionary[Segment, Made] = WeakKeyDictionary()

    def __call__(self, segment: Segment) -> Made:
        with self._lock:
            if segment not in self._by_segment:
                self._by_segment[segment] = self._make(segment)
            return self._by_segment[segment]


class TableLayout(NamedTuple):
    """By table its first column, width and rows; by column its table, rows, and rows per value."""

    first: Array
    width: Array
    rows: Array
    table_of: Array
    column_rows: Array
    repeats: Array

    def columns_of(self, tables: Array) -> Array:
        width = self.width[tables]
        begin = np.cumsum(width) - width
        return np.repeat(self.first[tables] - begin, width) + np.arange(width.sum())


def _layout(segment: Segment) -> TableLayout:
    tables, columns = segment.catalog.tables, segment.catalog.columns
    first, width, rows = (
        np.ascontiguousarray(tables[name].to_numpy(), dtype=np.int64)
        for name in ("first", "width", "rows")
    )
    nulls, distinct = (columns[name].to_numpy() for name in ("nulls", "distinct"))
    column_rows = np.ascontiguousarray(segment.column_rows, dtype=np.int64)
    return TableLayout(
        first,
        width,
        rows,
        np.repeat(np.arange(len(width)), width),
        column_rows,
        (column_rows - nulls) / np.maximum(distinct, 1),
    )


table_layout_of = PerSegment(_layout)
