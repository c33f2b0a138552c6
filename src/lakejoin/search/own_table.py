"""A file or a frame of the caller's, of which columns are searched for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lakejoin.model import ColumnProfile, ColumnType, ValueRules, null_id
from lakejoin.search.mine import FRAME, NO_CELL, Originals
from lakejoin.search.origins import Origin, written_as_text
from lakejoin.search.query import Query, query_of_data

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.lake.tables import TableStream
    from lakejoin.model import ColumnData

Array = np.ndarray[Any, Any]


class OwnTable:
    """A frame or a file of the caller's. Columns are encoded when they are asked for, and kept.

    A file is read in batches: only the asked columns' distinct texts, and 1 to 4 bytes a cell, stay
    in memory.
    """

    home = None

    def __init__(self, source: Source, rules: ValueRules) -> None:
        self._source = source
        self._rules = rules
        self._data: dict[int, ColumnData] = {}

    @property
    def name(self) -> str:
        """The file's name, or `my_table`."""
        return self._source.name

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns."""
        return self._source.names

    @property
    def origin(self) -> Origin:
        """The file, where it is one."""
        return self._source.origin

    def rows(self) -> int:
        """How many rows it has."""
        known = next(iter(self._data), 0)
        return len(self._encoded([known])[0].cells)

    def notes(self) -> tuple[str, ...]:
        """What was left out while the file was read."""
        return self._source.losses()

    def profiles(self) -> Sequence[ColumnProfile]:
        """What all its columns look like; reads them all."""
        return [data.profile for data in self._encoded(range(len(self.names)))]

    def profile(self, place: int) -> ColumnProfile:
        """What one column looks like."""
        return self._encoded([place])[0].profile

    def read(self, places: Sequence[int]) -> None:
        """Encodes some columns, reading the file once."""
        self._encoded(places)

    def query(self, place: int) -> Query:
        """One column, to be searched for."""
        return query_of_data(self.name, self.names[place], self._encoded([place])[0])

    def cells(self, place: int) -> tuple[pa.LargeStringArray, Array]:
        """A column row by row."""
        data = self._encoded([place])[0]
        token_of = np.arange(len(data.tokens), dtype=np.uint32)
        token_of = np.concatenate([token_of, data.spelling_token.astype(np.uint32)])
        null = data.cells == null_id(data.cells.dtype)
        return data.tokens, np.where(
            null, NO_CELL, np.append(token_of, NO_CELL)[np.where(null, len(token_of), data.cells)]
        )

    def is_text(self, place: int) -> bool:
        """Whether a column is text in the frame or file."""
        return self._source.is_text(place, self.profile(place).type)

    def types(self) -> Sequence[pa.DataType]:
        """The types of its columns in the frame or file."""
        return self._source.types()

    def originals(self, place: int) -> Originals:
        """The distinct texts of a column as they are written."""
        import pyarrow as pa

        data = self._encoded([place])[0]
        ids = len(data.tokens) + len(data.spellings)
        found = np.minimum(data.cells, ids)
        rows = np.bincount(found, minlength=ids + 1)[:ids]
        texts = pa.chunked_array([data.tokens, data.spellings]).combine_chunks()
        token = np.concatenate([np.arange(len(data.tokens)), data.spelling_token])
        used = np.flatnonzero(rows)
        number = np.full(ids + 1, NO_CELL)
        number[used] = np.arange(len(used))
        tokens = data.tokens.take(token[used])
        return Originals(texts.take(used), tokens, rows[used], number[found])

    def forget(self) -> None:
        """Lets go of what was encoded."""
        self._data = {}

    def _encoded(self, places: Iterable[int]) -> list[ColumnData]:
        wanted = list(places)
        missing = [place for place in wanted if place not in self._data]
        if missing:
            self._data.update(zip(missing, self._encode(missing), strict=True))
        return [self._data[place] for place in wanted]

    def _encode(self, places: Sequence[int]) -> list[ColumnData]:
        from lakejoin.lake.columns import ColumnEncoder

        encoders = [ColumnEncoder(self.names[place], self._rules) for place in places]
        for batch in self._source.batches():
            for place, encoder in zip(places, encoders, strict=True):
                encoder.append(batch.column(place))
        encoders.reverse()  # each encoder's memory goes as its column is finished
        return [encoders.pop().finish() for _ in range(len(encoders))]


class Source(Protocol):
    """Rows that can be read again and again."""

    name: str

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def origin(self) -> Origin:
        """Where the rows are."""

    def types(self) -> Sequence[pa.DataType]:
        """The types of the columns."""

    def batches(self) -> Iterable[Any]:
        """The rows, from the first on."""

    def losses(self) -> tuple[str, ...]:
        """What the last reading left out."""

    def is_text(self, place: int, kind: ColumnType) -> bool:
        """Whether a column, which holds values of a kind, is written as text."""


@dataclass(slots=True)
class Frame:
    """Rows in memory."""

    table: pa.Table
    name: str = FRAME

    @property
    def names(self) -> Sequence[str]:
        return list(self.table.column_names)

    @property
    def origin(self) -> Origin:
        return Origin()

    def types(self) -> Sequence[pa.DataType]:
        return list(self.table.schema.types)

    def batches(self) -> Iterable[Any]:
        return [self.table]

    def losses(self) -> tuple[str, ...]:
        return ()

    def is_text(self, place: int, kind: ColumnType) -> bool:
        from lakejoin.lake.printing import is_text

        del kind
        return is_text(self.table.schema.field(place).type)


@dataclass(slots=True)
class File:
    """Rows in a file, or in one part of it."""

    stream: TableStream
    name: str
    path: str  # empty for a part of a file

    @property
    def names(self) -> Sequence[str]:
        return self.stream.column_names

    @property
    def origin(self) -> Origin:
        plain = not self.stream.notes and not self.stream.losses
        return Origin(self.path, self.stream.format, self.stream.dialect, plain)

    def types(self) -> Sequence[pa.DataType]:
        import pyarrow as pa

        for batch in self.batches():
            return list(batch.schema.types)
        return [pa.large_string()] * len(self.names)

    def batches(self) -> Iterable[Any]:
        from lakejoin.lake.read import readable

        with readable(self.name):
            yield from self.stream.batches()

    def losses(self) -> tuple[str, ...]:
        return tuple(
            f"while reading {self.name}, {loss.count:,} × {loss.reason}"
            for loss in self.stream.losses
        )

    def is_text(self, place: int, kind: ColumnType) -> bool:
        del place
        return written_as_text(self.origin, kind)
