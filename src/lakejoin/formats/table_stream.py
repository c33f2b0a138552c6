"""What a reader takes and returns: Blob, bytes that can be opened repeatedly, and TableStream, a
table read batch by batch."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import pyarrow as pa

from lakejoin.errors import LakejoinError, UnreadableFile
from lakejoin.locations import Location
from lakejoin.model import Dialect, FrameSource, Loss, ReadLimits, Skipped, SourceFile
from lakejoin.values.plain_columns import Losses, plain_batch

DEFAULT_LIMITS = ReadLimits()

BatchReader = Callable[[Losses], "Iterator[pa.RecordBatch]"]


@dataclass(slots=True)
class TableStream:
    """A table of a file, read batch by batch.

    `column_names` are unique. `losses` is complete once `batches()` is exhausted. `notes` say what
    was changed without loss, such as a column's name. `children` are the tables nested in its
    records, at any depth, each of which names its `part` of the file.
    """

    name: str
    format: str
    column_names: tuple[str, ...]
    read_batches: BatchReader
    dialect: Dialect | None = None
    notes: tuple[str, ...] = ()
    limits: ReadLimits = DEFAULT_LIMITS
    children: tuple[TableStream, ...] = ()
    part: str = ""
    _losses: Losses = field(default_factory=Losses)

    def with_children(self) -> tuple[TableStream, ...]:
        """This table and those nested in it."""
        return (self, *self.children)

    @property
    def losses(self) -> list[Loss]:
        return self._losses.to_list()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in order; each call reads the table from its start."""
        self._losses = Losses()
        for batch in self.read_batches(self._losses):
            yield plain_batch(batch, self.limits, self._losses)


def with_nested(tables: Iterable[TableStream | Skipped]) -> Iterator[TableStream | Skipped]:
    """The tables, each followed by those nested in its records."""
    for table in tables:
        yield from (table,) if isinstance(table, Skipped) else table.with_children()


@dataclass(frozen=True, slots=True)
class Table(FrameSource):
    """A table in memory: its rows, the dialect of its file, what was lost in reading, and as
    `children` the tables nested in its records.

    >>> table = lakejoin.read("mine.csv")
    >>> table.column_names, table.rows.num_rows
    (('city', 'country', 'visits'), 5)
    """

    name: str
    format: str
    rows: pa.Table = field(repr=False)
    dialect: Dialect | None = None
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    children: tuple[Table, ...] = ()

    @staticmethod
    def of(stream: TableStream) -> Table:
        """Read a stream to its end."""
        batches = list(stream.batches())
        if batches:
            rows = pa.Table.from_batches(_same_schema(batches))
        else:
            rows = pa.table({name: pa.array([], pa.string()) for name in stream.column_names})
        losses = tuple(stream.losses)
        children = tuple(map(Table.of, stream.children))
        return Table(
            stream.name, stream.format, rows, stream.dialect, losses, stream.notes, children
        )

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.rows.column_names)

    def to_arrow(self) -> pa.Table:
        """The rows as a `pyarrow.Table`."""
        return self.rows

    def __repr__(self) -> str:
        shape = f"{self.rows.num_rows} rows x {self.rows.num_columns} columns"
        return f"Table({self.name!r}, {self.format}, {shape})"


def _same_schema(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Batches of one schema: a column whose type changes between batches becomes text."""
    first = batches[0].schema
    if all(b.schema.equals(first) for b in batches):
        return batches
    fields = [
        f
        if all(b.schema.field(i).type == f.type for b in batches)
        else pa.field(f.name, pa.string())
        for i, f in enumerate(first)
    ]
    schema = pa.schema(fields)
    return [b.cast(schema) for b in batches]


COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Blob:
    """Named bytes and how to open them.

    `path` is set if the bytes are a plain local file. `name` is what users see; `label` is the
    name whose ending shows the format (`b.csv` for a member of `a.zip` and for `b.csv.gz`).
    """

    name: str
    label: str
    opener: Callable[[], BinaryIO]
    size: int | None = None
    path: str | None = None
    seekable: bool = True

    @staticmethod
    def of_file(source: SourceFile) -> Blob:
        """The bytes of a file of the lake."""
        file = Location.of(source.uri)
        # Libraries expect paths in UTF-8: files with other names are opened here instead.
        plain = file.local and file.uri.encode("utf-8", "replace").decode() == file.uri
        return Blob(source.name, file.name, file.open, source.size, file.uri if plain else None)

    def open(self) -> BinaryIO:
        return self.opener()

    def head(self, count: int) -> bytes:
        """The first `count` bytes, or all if there are fewer."""
        with self.opener() as file:
            return read_fully(file, count)

    @contextmanager
    def random_access(self) -> Iterator[Any]:
        """A path or an open file that Arrow's readers accept and can seek in."""
        if self.path is not None:
            yield self.path
        elif self.seekable:
            with self.opener() as file:
                yield file
        else:
            with self.as_path() as path:
                yield path

    @contextmanager
    def as_path(self) -> Iterator[str]:
        """A local path with these bytes; a temporary copy if they are unpacked or remote."""
        if self.path is not None:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="lakejoin-") as copy:
            with self.opener() as file:
                shutil.copyfileobj(file, cast(BinaryIO, copy), COPY_BYTES)
            copy.flush()
            yield copy.name


def read_fully(file: BinaryIO, count: int) -> bytes:
    """Read until `count` bytes or the end of the file; a single `read` may return fewer."""
    data = bytes(file.read(count))
    while len(data) < count and (more := bytes(file.read(count - len(data)))):
        data += more
    return data


def first_line_of(problem: BaseException) -> str:
    """The first line of an error's message, short enough for a report."""
    text = str(problem).strip().partition("\n")[0] or type(problem).__name__
    return text if len(text) <= 200 else text[:197] + "..."


@contextmanager
def wrap_library_errors(blob: Blob, reason: str) -> Iterator[None]:
    """Turn whatever a library raises for bad bytes into `UnreadableFile`."""
    try:
        yield
    except LakejoinError:
        raise
    except MemoryError as problem:
        detail = first_line_of(problem)
        raise UnreadableFile(blob.name, "reader ran out of memory", detail) from problem
    except Exception as problem:  # libraries may raise anything
        raise UnreadableFile(blob.name, reason, first_line_of(problem)) from problem


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The bytes from `start` up to, but not including, `end`."""

    start: int
    end: int


class ByteStream(io.RawIOBase):
    """A stream of the bytes that `take` returns; closing it calls `release`."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release

    def take(self, count: int) -> bytes:
        """The next bytes, at most `count`; empty only at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._release()
        super().close()


class _Range(ByteStream):
    def __init__(self, file: BinaryIO, span: ByteRange) -> None:
        super().__init__(file.close)
        self._file = file
        self._left = span.end - span.start
        file.seek(span.start)

    def take(self, count: int) -> bytes:
        data = self._file.read(min(count, self._left)) if self._left > 0 else b""
        self._left -= len(data)
        return data


def open_range(blob: Blob, span: ByteRange) -> BinaryIO:
    """Open a range of a blob's bytes.

    >>> import io
    >>> blob = Blob("x", "x", lambda: io.BytesIO(b"abcdef"))
    >>> open_range(blob, ByteRange(2, 4)).read()
    b'cd'
    """
    return cast(BinaryIO, io.BufferedReader(_Range(blob.open(), span), 1 << 18))
