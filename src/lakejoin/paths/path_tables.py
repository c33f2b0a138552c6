"""The tables of a path: tables in the lake and, at its ends, files and frames of the caller.

A table or column is referred to by its segment's index and its index in the segment. Tables outside
the lake have a segment index below 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.engines.query import QueryTable
from lakejoin.model import Array
from lakejoin.search.query_tables import IndexedTable
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.snapshot import Snapshot

SegmentRef = tuple[int, int]  # the index of a segment, and of a table or a column in it


def is_external(ref: SegmentRef) -> bool:
    """Whether a table or column is outside the lake."""
    return ref[0] < 0


class PathTables:
    """The tables in the lake, and those of the caller."""

    def __init__(self, snapshot: Snapshot, ends: Sequence[QueryTable] = ()) -> None:
        self.snapshot = snapshot
        self._external = {(-n, 0): table for n, table in enumerate(ends, 1) if table.home is None}
        self._indexed: dict[SegmentRef, IndexedTable] = {}
        #: Both ends.
        self.ends = [table.home or (-n, 0) for n, table in enumerate(ends, 1)]

    def table(self, ref: SegmentRef) -> QueryTable:
        if is_external(ref):
            return self._external[ref]
        if ref not in self._indexed:
            entry = self.snapshot.segments[ref[0]].catalog.table(ref[1])
            self._indexed[ref] = IndexedTable(self.snapshot, ref[0], entry)
        return self._indexed[ref]

    def column_ref(self, table: SegmentRef, column_index: int) -> SegmentRef:
        """A column by its index in its table."""
        return table[0], self._first(table) + column_index

    def column_index(self, table: SegmentRef, column: SegmentRef) -> int:
        return column[1] - self._first(table)

    def names(self, table: SegmentRef, column: SegmentRef) -> tuple[str, str]:
        named = self.table(table)
        return named.name, named.column_names[self.column_index(table, column)]

    def _first(self, table: SegmentRef) -> int:
        if is_external(table):
            return 0
        return self.snapshot.segments[table[0]].catalog.table(table[1]).first

    def cells(self, table: SegmentRef, column: SegmentRef) -> ColumnCells:
        if is_external(table):
            tokens, codes = self._external[table].cells(column[1])
            return ColumnCells(table[0], codes, tokens.take, partial(_find_tokens, tokens))
        segment = self.snapshot.segments[table[0]]
        codes = segment.rows.codes(column[1], int(segment.column_rows[column[1]]))
        dictionary = segment.dictionary
        return ColumnCells(table[0], codes, dictionary.texts.take, dictionary.find)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCells:
    """The cells of a column as codes; empty cells are `lakejoin.store.rows.NULL`.

    `segment` is the index of the segment that the codes belong to. `texts` gives the canonical
    values of codes, `find` the codes of canonical values, `NOT_FOUND` for unknown ones.
    """

    segment: int
    codes: Array
    texts: Callable[[Array], pa.LargeStringArray]
    find: Callable[[pa.LargeStringArray], Array]


def _find_tokens(tokens: pa.LargeStringArray, texts: pa.LargeStringArray) -> Array:
    """The position of each text among the distinct values of a column outside the lake."""
    positions = pc.index_in(texts, value_set=tokens).to_numpy(zero_copy_only=False)
    return np.where(np.isnan(positions), NOT_FOUND, positions).astype(np.uint32)
