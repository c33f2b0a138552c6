"""Read SQLite files: every table, with the types that its cells actually have."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lakejoin.errors import UnreadableFile
from lakejoin.formats.blob import Blob, first_line_of
from lakejoin.values.losses import Losses
from lakejoin.values.column_names import unique_names
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import ReadLimits, Skipped

if TYPE_CHECKING:
    import pyarrow as pa


def open_sqlite(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Open the tables of an SQLite file, named `file#table`."""
    with _connected(blob) as connection:
        tables = connection.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' "
            "escape '\\' order by name"
        ).fetchall()
    if not tables:
        raise UnreadableFile(blob.name, "no tables inside")
    for (table,) in tables:
        try:
            yield _open_table(blob, table, limits)
        except UnreadableFile as problem:
            yield Skipped(f"{blob.name}#{table}", problem.reason, problem.detail)


def _open_table(blob: Blob, table: str, limits: ReadLimits) -> TableStream:
    name = f"{blob.name}#{table}"
    with _connected(blob) as connection:
        cursor = connection.execute(f"select * from {_quoted(table)} limit 0")
        raw = [column[0] for column in cursor.description]
        if len(raw) > limits.columns:
            raise UnreadableFile(name, "too many columns", f"the limit is {limits.columns}")
        kinds = [_kind(connection, table, column) for column in raw]
    names, notes = unique_names(raw)
    step = max(1, min(50_000, 1_000_000 // len(raw)))

    def reading(_: Losses) -> Iterator[pa.RecordBatch]:
        with _connected(blob) as connection:
            cursor = connection.execute(f"select * from {_quoted(table)}")
            while rows := cursor.fetchmany(step):
                yield _table_batch(rows, kinds, names)

    return TableStream(name, "sqlite", names, reading, None, notes, limits)


@contextmanager
def _connected(blob: Blob) -> Iterator[sqlite3.Connection]:
    try:
        with blob.as_path() as path:
            # immutable: lakes are only read, and a read-only folder allows no lock files.
            uri = f"file:{quote(path)}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                connection.text_factory = lambda data: data.decode("utf-8", "replace")
                yield connection
    except sqlite3.Error as problem:
        raise UnreadableFile(blob.name, "damaged SQLite file", first_line_of(problem)) from None


def _kind(connection: sqlite3.Connection, table: str, column: str) -> str:
    """The narrowest type that fits every cell; SQLite does not enforce declared types."""
    types = connection.execute(
        f"select distinct typeof({_quoted(column)}) from {_quoted(table)}"
    ).fetchall()
    kinds = {kind for (kind,) in types} - {"null"}
    if kinds == {"integer"}:
        return "integer"
    return "real" if kinds and kinds <= {"integer", "real"} else "text"


def _table_batch(
    rows: list[tuple[Any, ...]], kinds: list[str], names: tuple[str, ...]
) -> pa.RecordBatch:
    import pyarrow as pa

    types = {"integer": pa.int64(), "real": pa.float64()}
    columns = []
    for values, kind in zip(zip(*rows, strict=True), kinds, strict=True):
        if kind == "text":
            columns.append(_text_array(values))
        else:
            columns.append(pa.array(values, types[kind]))
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _text_array(values: tuple[Any, ...]) -> pa.Array:
    import pyarrow as pa

    if all(v is None or isinstance(v, bytes) for v in values):
        return pa.array(values, pa.binary())  # later becomes text or base64, like all bytes
    texts = [v if v is None or isinstance(v, str) else _text(v) for v in values]
    return pa.array(texts, pa.string())


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
