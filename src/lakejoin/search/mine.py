"""A table of mine: a file, a frame, or a table of the lake, of which columns are searched for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lakejoin.errors import InputError, UnknownTable
from lakejoin.model import ColumnProfile, ColumnType, ValueRules, null_id
from lakejoin.search.origins import Origin, origin_of, written_as_text
from lakejoin.search.query import Query, query_of_data, query_of_lake_column

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.lake.tables import TableStream
    from lakejoin.model import ColumnData
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

FRAME = "my_table"  # what a frame is called, here and in SQL
NO_CELL = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Originals:
    """The distinct texts of a column as they are written, the canonical value of each, and in how
    many rows each stands."""

    texts: pa.LargeStringArray
    tokens: pa.LargeStringArray
    rows: Array


class MyTable(Protocol):
    """What is needed of a table in order to search for its columns."""

    @property
    def name(self) -> str:
        """What it is called in the answer."""

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns; they may repeat."""

    @property
    def origin(self) -> Origin:
        """Where its rows can be read again."""

    @property
    def home(self) -> tuple[int, int] | None:
        """(segment number, table number) of a table of the lake."""

    def rows(self) -> int:
        """How many rows it has."""

    def notes(self) -> tuple[str, ...]:
        """Sentences about how it was read."""

    def profiles(self) -> Sequence[ColumnProfile]:
        """What all its columns look like."""

    def profile(self, place: int) -> ColumnProfile:
        """What one column looks like."""

    def query(self, place: int) -> Query:
        """One column, to be searched for."""

    def cells(self, place: int) -> tuple[pa.LargeStringArray, Array]:
        """A column row by row: its tokens, and the number of each row's (`NO_CELL` is a null)."""

    def is_text(self, place: int) -> bool:
        """Whether a column is text where it comes from, and not a type of its own."""

    def originals(self, place: int) -> Originals:
        """The distinct texts of a column as they are written."""

    def forget(self) -> None:
        """Lets go of encoded columns; they are made anew when they are asked for again."""


class OwnTable:
    """A frame or a file of the caller's. Columns are encoded when they are asked for, and kept.

    A file is read in batches: only the asked columns' distinct texts, and 1 to 4 bytes a cell, stay
    in memory.
    """

    home = None

    def __init__(self, source: _Source, rules: ValueRules) -> None:
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

    def originals(self, place: int) -> Originals:
        """The distinct texts of a column as they are written."""
        import pyarrow as pa

        data = self._encoded([place])[0]
        ids = len(data.tokens) + len(data.spellings)
        rows = np.bincount(np.minimum(data.cells, ids), minlength=ids + 1)[:ids]
        texts = pa.chunked_array([data.tokens, data.spellings]).combine_chunks()
        token = np.concatenate([np.arange(len(data.tokens)), data.spelling_token])
        used = np.flatnonzero(rows)
        return Originals(texts.take(used), data.tokens.take(token[used]), rows[used])

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


class _Source(Protocol):
    """Rows that can be read again and again."""

    name: str
    origin: Origin

    @property
    def names(self) -> Sequence[str]: ...
    def batches(self) -> Iterable[Any]: ...
    def losses(self) -> tuple[str, ...]: ...
    def is_text(self, place: int, kind: ColumnType) -> bool: ...


@dataclass(slots=True)
class _Frame:
    """Rows in memory."""

    table: pa.Table
    name: str = FRAME
    origin: Origin = field(default_factory=Origin)

    @property
    def names(self) -> Sequence[str]:
        return list(self.table.column_names)

    def batches(self) -> Iterable[Any]:
        return [self.table]

    def losses(self) -> tuple[str, ...]:
        return ()

    def is_text(self, place: int, kind: ColumnType) -> bool:
        from lakejoin.lake.printing import is_text

        del kind
        return is_text(self.table.schema.field(place).type)


@dataclass(slots=True)
class _File:
    """Rows in a file, or in one part of it."""

    stream: TableStream
    name: str
    origin: Origin

    @property
    def names(self) -> Sequence[str]:
        return self.stream.column_names

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


class LakeTableOfMine:
    """A table of the lake, searched for in its own lake."""

    def __init__(self, snapshot: Snapshot, number: int, entry: TableEntry) -> None:
        self._snapshot = snapshot
        self._segment = snapshot.segments[number]
        self._number = number
        self._entry = entry
        self._columns = self._segment.catalog.columns_of(entry)

    @property
    def name(self) -> str:
        """Its name in the lake."""
        return self._entry.name

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns."""
        return [column.name for column in self._columns]

    @property
    def origin(self) -> Origin:
        """The file of the lake that it came from."""
        return origin_of(self._snapshot.manifest.lakes, self._entry)

    @property
    def home(self) -> tuple[int, int] | None:
        """Where it is in the index."""
        return self._number, self._entry.number

    def rows(self) -> int:
        """How many rows it has."""
        return self._entry.rows

    def notes(self) -> tuple[str, ...]:
        """Nothing: what was left out is told of the table itself."""
        return ()

    def profiles(self) -> Sequence[ColumnProfile]:
        """What all its columns look like."""
        return [column.profile for column in self._columns]

    def profile(self, place: int) -> ColumnProfile:
        """What one column looks like."""
        return self._columns[place].profile

    def query(self, place: int) -> Query:
        """One column, to be searched for."""
        number = self._columns[place].number
        return query_of_lake_column(self._snapshot, self._number, number, self.name)

    def cells(self, place: int) -> tuple[pa.LargeStringArray, Array]:
        """A column row by row."""
        from lakejoin.store.rows import NULL

        codes = self._segment.rows.codes(self._columns[place].number, self._entry.rows)
        distinct, cells = np.unique(codes, return_inverse=True)
        if len(distinct) and distinct[-1] == NULL:
            cells = np.where(cells == len(distinct) - 1, NO_CELL, cells)
            distinct = distinct[:-1]
        return self._segment.dictionary.texts.take(distinct), cells.astype(np.uint32)

    def is_text(self, place: int) -> bool:
        """Whether a column is text in its file."""
        return written_as_text(self.origin, self._columns[place].profile.type)

    def originals(self, place: int) -> Originals:
        """The distinct texts of a column as they are written."""
        return originals_of(self._segment, self._columns[place].number)

    def forget(self) -> None:
        """Nothing is kept."""


def originals_of(segment: Segment, column: int) -> Originals:
    """The distinct texts of a column of the lake as they are written."""
    from lakejoin.store.rows import NULL

    ids = segment.rows.value_ids(column, int(segment.column_rows[column]))
    distinct, rows = np.unique(ids[ids != NULL], return_counts=True)
    texts = segment.rows.texts(distinct, segment.dictionary.texts)
    tokens = segment.dictionary.texts.take(segment.rows.codes_of(distinct))
    return Originals(texts, tokens, rows)


def table_of(thing: Any, snapshot: Snapshot) -> tuple[MyTable, tuple[str, ...]]:
    """The table that the caller means, and a note where that was not plain.

    A text is a file if there is one, else a table of the lake; `file#part` names a part of a
    container. Anything else is a frame.
    """
    rules = snapshot.manifest.options.rules
    if isinstance(thing, str | os.PathLike):
        return _named(os.fspath(thing), isinstance(thing, str), snapshot, rules)
    from lakejoin.lake.frames import to_table
    from lakejoin.lake.tables import Table

    if isinstance(thing, Table):
        return OwnTable(_Frame(to_table(thing.rows), thing.name), rules), ()
    frame = to_table(thing)
    if frame.num_columns == 0:
        raise InputError("a table without columns cannot be searched for")
    return OwnTable(_Frame(frame), rules), ()


def _lake_table(snapshot: Snapshot, segment: Segment, entry: TableEntry) -> MyTable:
    number = next(i for i, one in enumerate(snapshot.segments) if one is segment)
    return LakeTableOfMine(snapshot, number, entry)


def _named(
    text: str, may_be_name: bool, snapshot: Snapshot, rules: ValueRules
) -> tuple[MyTable, tuple[str, ...]]:
    from lakejoin.lake.read import file_and_part, open_one
    from lakejoin.storage import Place

    path, _ = file_and_part(text)
    known = snapshot.find_table(text) if may_be_name else None
    if path:
        stream = open_one(text)
        file = Place.of(path).uri if path == text else ""  # not for a part of it
        origin = Origin(file, stream.format, stream.dialect, not stream.notes)
        note = (f"{text} is a file here and a table of the lake; the file was read",)
        return OwnTable(_File(stream, text, origin), rules), note if known else ()
    if known is not None:
        return _lake_table(snapshot, *known), ()
    if not may_be_name:
        raise InputError(f"there is no file {text}")
    try:
        segment, entry = snapshot.table(text)
    except UnknownTable as problem:  # it knows the nearest names
        raise UnknownTable(f"there is no file {text}, and {problem}") from None
    return _lake_table(snapshot, segment, entry), ()


def searched(kind: ColumnType, all_columns: bool) -> bool:
    """Whether columns of this type are searched in an index."""
    from lakejoin.store.encode import SEARCHED

    return kind is not ColumnType.EMPTY and (all_columns or kind in SEARCHED)
