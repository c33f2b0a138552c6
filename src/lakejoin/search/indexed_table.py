"""Resolve what the caller passed to a query table: a file, a frame, or a table of the index."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.query import (
    NO_CELL,
    ColumnSpellings,
    Query,
    QueryTable,
    TableOrigin,
    find_origin,
    is_stored_as_text,
    make_lake_query,
    read_spellings,
)
from lakejoin.errors import InputError, UnknownTable
from lakejoin.model import Array, ColumnProfile
from lakejoin.search.external_table import ExternalTable, FileRows, FrameRows

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ValueRules
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
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
        """Its name in the lake."""
        return self._entry.name

    @property
    def column_names(self) -> Sequence[str]:
        """The names of its columns."""
        return [column.name for column in self._columns]

    @property
    def origin(self) -> TableOrigin:
        """The file of the lake that it came from."""
        return find_origin(self._snapshot.manifest.lakes, self._entry)

    @property
    def home(self) -> tuple[int, int] | None:
        """(segment index, table index)."""
        return self._number, self._entry.table_id

    def rows(self) -> int:
        """The number of rows."""
        return self._entry.rows

    def notes(self) -> tuple[str, ...]:
        """Nothing: the catalog has the notes about reading the table."""
        return ()

    def profiles(self) -> Sequence[ColumnProfile]:
        """The profiles of all columns."""
        return [column.profile for column in self._columns]

    def profile(self, column_index: int) -> ColumnProfile:
        """The profile of one column."""
        return self._columns[column_index].profile

    def read(self, column_indexes: Sequence[int]) -> None:
        """Do nothing: the columns are encoded in the index."""

    def query(self, column_index: int) -> Query:
        """One column as a query."""
        if column_index not in self._queries:
            segment_column = self._columns[column_index].column_id
            query = make_lake_query(self._snapshot, self._number, segment_column, self.name)
            self._queries[column_index] = query
        return self._queries[column_index]

    def cells(self, column_index: int) -> tuple[pa.LargeStringArray, Array]:
        """The tokens of a column, and the token id of each row."""
        if column_index not in self._cells:
            self._cells[column_index] = self._cells_of(column_index)
        return self._cells[column_index]

    def _cells_of(self, column_index: int) -> tuple[pa.LargeStringArray, Array]:
        from lakejoin.store.rows import NULL

        codes = self._segment.rows.codes(self._columns[column_index].column_id, self._entry.rows)
        distinct, cells = np.unique(codes, return_inverse=True)
        if len(distinct) and distinct[-1] == NULL:
            cells = np.where(cells == len(distinct) - 1, NO_CELL, cells)
            distinct = distinct[:-1]
        return self._segment.dictionary.texts.take(distinct), cells.astype(np.uint32)

    def is_text(self, column_index: int) -> bool:
        """Whether a column is stored as text in its file."""
        return is_stored_as_text(self.origin, self._columns[column_index].profile.type)

    def types(self) -> Sequence[pa.DataType]:
        """All text: the index stores no other type."""
        import pyarrow as pa

        return [pa.large_string()] * len(self._columns)

    def spellings(self, column_index: int) -> ColumnSpellings:
        """The distinct texts of a column as spelled in the table."""
        return read_spellings(self._segment, self._columns[column_index].column_id)

    def release(self) -> None:
        """Drop cached columns; they are read again on demand."""
        self._queries.clear()
        self._cells.clear()


class ForeignIndexedTable(IndexedTable):
    """A table of the index, searched for in segments that do not include its own."""

    @property
    def home(self) -> tuple[int, int] | None:
        """None: the table is in none of the segments."""
        return None

    def query(self, column_index: int) -> Query:
        """One column as a query."""
        return replace(super().query(column_index), home=None)


def resolve_table(source: Any, snapshot: Snapshot) -> tuple[QueryTable, tuple[str, ...]]:
    """Resolve what the caller passed to a table; returns it with a note if the name was ambiguous.

    A string is a file if there is one, otherwise a table of the lake; `file#part` is a part of a
    container. Anything else is a frame.
    """
    rules = snapshot.manifest.options.rules
    if isinstance(source, str | os.PathLike):
        return _resolve_name(os.fspath(source), isinstance(source, str), snapshot, rules)
    from lakejoin.formats.table_stream import Table
    from lakejoin.sources.frames import to_table

    if isinstance(source, Table):
        return ExternalTable(FrameRows(to_table(source.rows), source.name), rules), ()
    if isinstance(source, list) and source and isinstance(source[0], Table):
        names = ", ".join(table.name for table in source[:3])
        raise InputError(f"got {len(source)} tables ({names}, …); search for one of them at a time")
    frame = to_table(source)
    if frame.num_columns == 0:
        raise InputError("the table has no columns to search for")
    return ExternalTable(FrameRows(frame), rules), ()


def open_file_table(text: str, rules: ValueRules, name: str = "") -> QueryTable:
    """Open a file, or `file#part`; the table is named `name`, by default `text`."""
    from lakejoin.formats.file_reader import open_table, split_part
    from lakejoin.locations import Location

    path, _ = split_part(text)
    whole = Location.of(path).uri if path == text else ""
    return ExternalTable(FileRows(open_table(text), name or text, whole), rules)


def find_lake_table(text: str, snapshot: Snapshot) -> QueryTable | None:
    """The table of the lake that was read from a file or `file#part`; None if there is none."""
    from lakejoin.formats.file_reader import split_part
    from lakejoin.locations import Location
    from lakejoin.sources.lake_files import find_file, possible_names

    path, part = split_part(text)
    if not path:
        return None
    file, lakes = Location.of(path), snapshot.manifest.lakes
    for name in possible_names(lakes, file):
        location = find_file(lakes, name)
        indexed = snapshot.find_table(f"{name}#{part}" if part else name)
        if indexed is not None and location is not None and location.uri == file.uri:
            return _lake_table(snapshot, *indexed)
    return None


def ambiguous_name_note(text: str) -> str:
    """The note for a name that is both a file and a table of the lake."""
    return f"{text} is both a local file and a table of the lake; using the file"


def _lake_table(snapshot: Snapshot, segment: Segment, entry: TableEntry) -> QueryTable:
    segment_index = next(i for i, known in enumerate(snapshot.segments) if known is segment)
    return IndexedTable(snapshot, segment_index, entry)


def _resolve_name(
    text: str, may_be_name: bool, snapshot: Snapshot, rules: ValueRules
) -> tuple[QueryTable, tuple[str, ...]]:
    from lakejoin.formats.file_reader import location_kind, split_part

    path, _ = split_part(text)
    indexed = snapshot.find_table(text) if may_be_name else None
    if path:
        return open_file_table(text, rules), (ambiguous_name_note(text),) if indexed else ()
    if indexed is not None:
        return _lake_table(snapshot, *indexed), ()
    if location_kind(text) == "folder":
        raise InputError(f"{text} is a folder; name a file in it, or search with --batch {text}")
    if not may_be_name:
        raise InputError(f"there is no file {text}")
    try:
        segment, entry = snapshot.table(text)
    except UnknownTable as problem:  # suggests similar names
        raise UnknownTable(f"there is no file {text}, and {problem}") from None
    return _lake_table(snapshot, segment, entry), ()
