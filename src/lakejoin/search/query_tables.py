"""The tables that can be searched with: a frame, a file, or a table of the index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.engines.query import (
    NO_CELL,
    ColumnSpellings,
    Query,
    QueryTable,
    TableOrigin,
    find_codes,
    find_origin,
    is_stored_as_text,
    locate_codes,
    make_lake_query,
    make_query,
    read_spellings,
)
from lakejoin.formats.file_reader import open_table, split_part, wrap_reader_errors
from lakejoin.locations import Location
from lakejoin.model import FRAME_NAME, Array, ColumnData, ColumnProfile, ValueRules, null_id
from lakejoin.store.rows import NULL
from lakejoin.values.column_encoder import ColumnEncoder
from lakejoin.values.plain_columns import is_text

if TYPE_CHECKING:
    from lakejoin.formats.table_stream import TableStream
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


class ExternalTable(QueryTable, ABC):
    """A frame or a file of the caller. Columns are encoded on demand and cached.

    A file is read in batches: only the distinct texts of the requested columns, and 1 to 4 bytes
    per cell, stay in memory.
    """

    def __init__(self, name: str, column_names: Sequence[str], rules: ValueRules) -> None:
        self.name = name
        self.column_names = column_names
        self._rules = rules
        self._data: dict[int, ColumnData] = {}

    @abstractmethod
    def batches(self) -> Iterable[Any]:
        """The rows, in Arrow batches or tables."""

    def rows(self) -> int:
        column_index = next(iter(self._data), 0)
        return len(self._encoded([column_index])[0].cells)

    def profiles(self) -> Sequence[ColumnProfile]:
        return [data.profile for data in self._encoded(range(len(self.column_names)))]

    def profile(self, column_index: int) -> ColumnProfile:
        return self._encoded([column_index])[0].profile

    def read(self, column_indexes: Sequence[int]) -> None:
        self._encoded(column_indexes)

    def query(self, column_index: int) -> Query:
        return make_query(
            self.name, self.column_names[column_index], self._encoded([column_index])[0]
        )

    def cells(self, column_index: int) -> tuple[pa.LargeStringArray, Array]:
        data = self._encoded([column_index])[0]
        token_of = np.arange(len(data.tokens), dtype=np.uint32)
        token_of = np.concatenate([token_of, data.spelling_token.astype(np.uint32)])
        null = data.cells == null_id(data.cells.dtype)
        return data.tokens, np.where(
            null, NO_CELL, np.append(token_of, NO_CELL)[np.where(null, len(token_of), data.cells)]
        )

    def spellings(self, column_index: int) -> ColumnSpellings:
        data = self._encoded([column_index])[0]
        ids = len(data.tokens) + len(data.spellings)
        ids_of_rows = np.minimum(data.cells, ids)
        rows = np.bincount(ids_of_rows, minlength=ids + 1)[:ids]
        texts = pa.chunked_array([data.tokens, data.spellings]).combine_chunks()
        token = np.concatenate([np.arange(len(data.tokens)), data.spelling_token])
        used = np.flatnonzero(rows)
        index_of_id = np.full(ids + 1, NO_CELL)
        index_of_id[used] = np.arange(len(used))
        return ColumnSpellings(
            texts.take(used),
            lambda: data.tokens.take(token[used]),
            rows[used],
            index_of_id[ids_of_rows],
        )

    def release(self) -> None:
        self._data = {}

    def _encoded(self, column_indexes: Iterable[int]) -> list[ColumnData]:
        requested = list(column_indexes)
        missing = [column_index for column_index in requested if column_index not in self._data]
        if missing:
            self._data.update(zip(missing, self._encode(missing), strict=True))
        return [self._data[column_index] for column_index in requested]

    def _encode(self, column_indexes: Sequence[int]) -> list[ColumnData]:
        encoders = [
            ColumnEncoder(self.column_names[column_index], self._rules)
            for column_index in column_indexes
        ]
        for batch in self.batches():
            for column_index, encoder in zip(column_indexes, encoders, strict=True):
                encoder.append(batch.column(column_index))
        encoders.reverse()  # free each encoder's memory as its column is finished
        return [encoders.pop().finish() for _ in range(len(encoders))]


class FrameTable(ExternalTable):
    """Rows in memory."""

    origin = TableOrigin()

    def __init__(self, table: pa.Table, rules: ValueRules, name: str = FRAME_NAME) -> None:
        super().__init__(name, table.column_names, rules)
        self._table = table

    def types(self) -> Sequence[pa.DataType]:
        return list(self._table.schema.types)

    def batches(self) -> Iterable[Any]:
        return [self._table]

    def is_text(self, column_index: int) -> bool:
        return is_text(self._table.schema.field(column_index).type)


class FileTable(ExternalTable):
    """Rows in a file at `path`, or in one part of a container, which has no path."""

    def __init__(self, stream: TableStream, rules: ValueRules, name: str, path: str) -> None:
        super().__init__(name, stream.column_names, rules)
        self._stream = stream
        self._path = path

    @property
    def origin(self) -> TableOrigin:
        plain = not self._stream.notes and not self._stream.losses
        return TableOrigin(self._path, self._stream.format, self._stream.dialect, plain)

    def types(self) -> Sequence[pa.DataType]:
        for batch in self.batches():
            return list(batch.schema.types)
        return [pa.large_string()] * len(self.column_names)

    def batches(self) -> Iterable[Any]:
        with wrap_reader_errors(self.name):
            yield from self._stream.batches()

    def notes(self) -> tuple[str, ...]:
        """What was left out while the file was read."""
        return tuple(
            f"while reading {self.name}: {loss.count:,} × {loss.reason}"
            for loss in self._stream.losses
        )

    def is_text(self, column_index: int) -> bool:
        return is_stored_as_text(self.origin, self.profile(column_index).type)


def open_file_table(text: str, rules: ValueRules, name: str = "") -> FileTable:
    """Open a file, or `file#part`; the table is named `name`, by default `text`."""
    path, _ = split_part(text)
    whole = Location.of(path).uri if path == text else ""
    return FileTable(open_table(text), rules, name or text, whole)


def ambiguous_name_note(text: str) -> str:
    """The note for a name that is both a file and a table in the lake."""
    return f"{text} is both a local file and a table in the lake; using the file"


class IndexedTable(QueryTable):
    """A table of the index whose columns are searched for in the same index."""

    def __init__(self, snapshot: Snapshot, segment_index: int, entry: TableEntry) -> None:
        self.name = entry.name
        self.home = segment_index, entry.table_id
        self._snapshot = snapshot
        self._segment = snapshot.segments[segment_index]
        self._number = segment_index
        self._entry = entry
        self._columns = self._segment.catalog.columns_of(entry)
        self.column_names = [column.name for column in self._columns]
        # A search that compares rows needs both repeatedly.
        self._queries: dict[int, Query] = {}
        self._cells: dict[int, tuple[pa.LargeStringArray, Array]] = {}

    @property
    def origin(self) -> TableOrigin:
        return find_origin(self._snapshot.manifest.lakes, self._entry)

    def rows(self) -> int:
        return self._entry.rows

    def profiles(self) -> Sequence[ColumnProfile]:
        return [column.profile for column in self._columns]

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

    def texts_at(
        self, column_indexes: Sequence[int], rows: Array
    ) -> tuple[pa.LargeStringArray, Array]:
        columns = np.array(column_indexes, np.int64) + self._entry.first
        codes = self._segment.rows.codes_at(columns, rows, self._entry.rows)
        known = codes != NULL
        cells = np.full(codes.shape, -1)
        cells[known] = np.arange(np.count_nonzero(known))
        return self._segment.dictionary.texts.take(codes[known]), cells

    def codes_at(self, segment: Segment, column_indexes: Sequence[int], rows: Array) -> Array:
        columns = np.array(column_indexes, np.int64) + self._entry.first
        codes = self._segment.rows.codes_at(columns, rows, self._entry.rows)
        if segment is self._segment:
            return np.where(codes == NULL, np.int64(-1), codes.astype(np.int64))
        distinct, which = np.unique(codes, return_inverse=True)
        texts = self._segment.dictionary.texts.take(distinct[distinct != NULL])
        return np.append(find_codes(segment, texts), -1)[which].reshape(codes.shape)

    def first_rows(self, column_index: int, query: Query) -> Array:
        column, rows = self._columns[column_index].column_id, self._entry.rows
        codes = locate_codes(query, self._number, self._segment)
        return self._segment.rows.first_rows(column, codes, rows)

    def is_text(self, column_index: int) -> bool:
        return is_stored_as_text(self.origin, self._columns[column_index].profile.type)

    def types(self) -> Sequence[pa.DataType]:
        return [pa.large_string()] * len(self._columns)

    def spellings(self, column_index: int) -> ColumnSpellings:
        return read_spellings(self._segment, self._columns[column_index].column_id)

    def release(self) -> None:
        self._queries.clear()
        self._cells.clear()


class ForeignIndexedTable(IndexedTable):
    """A table of the index, searched for in segments that do not include its own."""

    def __init__(self, snapshot: Snapshot, segment_index: int, entry: TableEntry) -> None:
        super().__init__(snapshot, segment_index, entry)
        self.home = None

    def query(self, column_index: int) -> Query:
        return replace(super().query(column_index), home=None)
