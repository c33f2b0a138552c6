"""A file or a frame of the caller as the query table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.engines.query import (
    FRAME_NAME,
    NO_CELL,
    ColumnSpellings,
    Query,
    TableOrigin,
    is_stored_as_text,
    make_query,
)
from lakejoin.formats.file_reader import open_table, split_part, wrap_reader_errors
from lakejoin.locations import Location
from lakejoin.model import Array, ColumnData, ColumnProfile, ColumnType, ValueRules, null_id
from lakejoin.values.column_encoder import ColumnEncoder

if TYPE_CHECKING:
    from lakejoin.formats.table_stream import TableStream


class ExternalTable:
    """A frame or a file of the caller. Columns are encoded on demand and cached.

    A file is read in batches: only the distinct texts of the requested columns, and 1 to 4 bytes
    per cell, stay in memory.
    """

    home = None

    def __init__(self, source: RowSource, rules: ValueRules) -> None:
        self._source = source
        self._rules = rules
        self._data: dict[int, ColumnData] = {}

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def column_names(self) -> Sequence[str]:
        return self._source.names

    @property
    def origin(self) -> TableOrigin:
        return self._source.origin

    def rows(self) -> int:
        column_index = next(iter(self._data), 0)
        return len(self._encoded([column_index])[0].cells)

    def notes(self) -> tuple[str, ...]:
        """What was left out while the file was read."""
        return self._source.losses()

    def profiles(self) -> Sequence[ColumnProfile]:
        return [data.profile for data in self._encoded(range(len(self.column_names)))]

    def profile(self, column_index: int) -> ColumnProfile:
        return self._encoded([column_index])[0].profile

    def read(self, column_indexes: Sequence[int]) -> None:
        """Encode some columns, reading the file once."""
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

    def is_text(self, column_index: int) -> bool:
        return self._source.is_text(column_index, self.profile(column_index).type)

    def types(self) -> Sequence[pa.DataType]:
        return self._source.types()

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
        tokens = data.tokens.take(token[used])
        return ColumnSpellings(texts.take(used), tokens, rows[used], index_of_id[ids_of_rows])

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
        for batch in self._source.batches():
            for column_index, encoder in zip(column_indexes, encoders, strict=True):
                encoder.append(batch.column(column_index))
        encoders.reverse()  # free each encoder's memory as its column is finished
        return [encoders.pop().finish() for _ in range(len(encoders))]


@dataclass(slots=True)
class FrameRows:
    """Rows in memory."""

    table: pa.Table
    name: str = FRAME_NAME

    @property
    def names(self) -> Sequence[str]:
        return list(self.table.column_names)

    @property
    def origin(self) -> TableOrigin:
        return TableOrigin()

    def types(self) -> Sequence[pa.DataType]:
        return list(self.table.schema.types)

    def batches(self) -> Iterable[Any]:
        return [self.table]

    def losses(self) -> tuple[str, ...]:
        return ()  # nothing was left out

    def is_text(self, column_index: int, kind: ColumnType) -> bool:
        from lakejoin.values.plain_columns import is_text

        del kind
        return is_text(self.table.schema.field(column_index).type)


@dataclass(slots=True)
class FileRows:
    """Rows in a file, or in one part of a container."""

    stream: TableStream
    name: str
    path: str  # empty for a part of a file

    @property
    def names(self) -> Sequence[str]:
        return self.stream.column_names

    @property
    def origin(self) -> TableOrigin:
        plain = not self.stream.notes and not self.stream.losses
        return TableOrigin(self.path, self.stream.format, self.stream.dialect, plain)

    def types(self) -> Sequence[pa.DataType]:
        for batch in self.batches():
            return list(batch.schema.types)
        return [pa.large_string()] * len(self.names)

    def batches(self) -> Iterable[Any]:
        with wrap_reader_errors(self.name):
            yield from self.stream.batches()

    def losses(self) -> tuple[str, ...]:
        return tuple(
            f"while reading {self.name}: {loss.count:,} × {loss.reason}"
            for loss in self.stream.losses
        )

    def is_text(self, column_index: int, kind: ColumnType) -> bool:
        del column_index
        return is_stored_as_text(self.origin, kind)


RowSource = FrameRows | FileRows


def open_file_table(text: str, rules: ValueRules, name: str = "") -> ExternalTable:
    """Open a file, or `file#part`; the table is named `name`, by default `text`."""
    path, _ = split_part(text)
    whole = Location.of(path).uri if path == text else ""
    return ExternalTable(FileRows(open_table(text), name or text, whole), rules)


def ambiguous_name_note(text: str) -> str:
    """The note for a name that is both a file and a table of the lake."""
    return f"{text} is both a local file and a table of the lake; using the file"
