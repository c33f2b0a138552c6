"""Tables on a server: `RemoteTable`, and uploads of local tables."""

from __future__ import annotations

import os
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lakejoin.client.connection import Connection, Json
from lakejoin.errors import InputError, ServerProblem
from lakejoin.model import FRAME_NAME, ColumnProfile, ColumnType, FrameSource, Loss

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import ColumnEntry


_ARROW_MAGIC = b"ARROW1\0\0"  # an Arrow file begins with it; a stream of batches follows


class RemoteTable(FrameSource):
    """A table on a server; its rows are downloaded when needed.

    `id` is its id on the server: `lake:NAME`, `upload:ID` or `result:ID`.

    >>> with lakejoin.connect(server.url) as lake:
    ...     lake.table("cities.csv").rows
    7
    """

    def __init__(self, connection: Connection, data: Json) -> None:
        self.connection = connection
        self._data = data

    def __repr__(self) -> str:
        return f"<RemoteTable {self.name}: {self.rows:,} rows, {self._width} columns>"

    def __len__(self) -> int:
        return self.rows

    @property
    def id(self) -> str:
        """Its id on the server."""
        return str(self._data["id"])

    @property
    def name(self) -> str:
        """Its name; for a table in the lake, its path there."""
        return str(self._data["table"])

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._data["rows"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about how it was read."""
        return tuple(self._info.get("notes", ()))

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was dropped while it was read."""
        return tuple(
            Loss(loss["reason"], loss["count"], loss.get("detail", ""))
            for loss in self._info.get("losses", ())
        )

    @property
    def suggested(self) -> tuple[str, ...]:
        """The columns that look like keys: good candidates to search by."""
        return tuple(
            column["column"] for column in self._info["columns"] if column.get("suggested")
        )

    def columns(self) -> list[ColumnEntry]:
        """The columns with their profiles."""
        from lakejoin.store.catalog import ColumnEntry

        return [
            ColumnEntry(index, column["column"], bool(column.get("indexed")), _profile(column))
            for index, column in enumerate(self._info["columns"])
        ]

    def to_arrow(self, begin: int = 0, end: int | None = None) -> pa.Table:
        """Rows [begin, end) as a `pyarrow.Table`; later rows are not downloaded."""
        import pyarrow as pa

        begin, end, _ = slice(begin, end).indices(self.rows)
        with self.connection.download("/export", table=self.id, format="arrow") as body:
            try:
                return _read(body, begin, max(begin, end))
            except pa.ArrowException as problem:
                raise ServerProblem(
                    f"the download of {self.name} is incomplete ({problem})"
                ) from None

    def to_dict(self) -> Json:
        """The JSON that the server sent about it."""
        return self._info

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column["column"] for column in self._info["columns"]]

    @property
    def _width(self) -> int:
        columns = self._data["columns"]
        return columns if isinstance(columns, int) else len(columns)

    @cached_property
    def _info(self) -> Json:
        """The full description; lists of tables only have the number of columns."""
        if isinstance(self._data["columns"], list):
            return self._data
        return self.connection.get("/table", table=self.id)


def _read(body: IO[bytes], begin: int, end: int) -> pa.Table:
    """Read the rows [begin, end) of an Arrow file from its start, no further than needed."""
    import pyarrow as pa

    if body.read(len(_ARROW_MAGIC)) != _ARROW_MAGIC:
        raise pa.ArrowInvalid("not an Arrow file")
    batches, seen = [], 0
    with pa.ipc.open_stream(body) as stream:
        while seen < end:
            try:
                batch = stream.read_next_batch()
            except StopIteration:
                break
            here = max(0, begin - seen), min(batch.num_rows, end - seen)
            if here[0] < here[1]:
                batches.append(batch.slice(here[0], here[1] - here[0]))
            seen += batch.num_rows
        return pa.Table.from_batches(batches, stream.schema)


def _profile(data: Json) -> ColumnProfile:
    known = {field.name: data[field.name] for field in fields(ColumnProfile) if field.name in data}
    examples, date_format = tuple(data.get("examples", ())), data.get("date_format") or ""
    kind = ColumnType(data["type"])
    return ColumnProfile(
        **{**known, "type": kind, "examples": examples, "date_format": date_format}
    )


KINDS = ("lake:", "upload:", "result:")


def table_id(connection: Connection, table: Any) -> str:
    """The id of a table: a local file, the name or id of a table on the server, a `RemoteTable`, or
    a frame. Local tables are uploaded."""
    if isinstance(table, RemoteTable) and table.connection.url == connection.url:
        return table.id
    if isinstance(table, str):
        if table.startswith(KINDS):
            return table
        if not _local_file(table)[0]:
            return f"lake:{table}"
    return upload(connection, table).id


def upload(connection: Connection, table: Any, name: str | None = None) -> RemoteTable:
    """Upload a file (or `file#part`) or a frame."""
    if isinstance(table, str | os.PathLike):
        text = os.fspath(table)
        path, part = _local_file(text)
        if not path:
            folder = Path(text).is_dir()
            raise InputError(
                f"{text} is a folder: name a file in it" if folder else f"there is no file {text}"
            )
        try:
            with Path(path).open("rb") as file:
                data = connection.send("/uploads", file, name=name or Path(path).name)
        except OSError as problem:
            raise InputError(f"cannot read {text}: {problem.strerror}") from None
        return RemoteTable(connection, _chosen(data, text, part))
    name = f"{(name or FRAME_NAME).removesuffix('.arrow')}.arrow"
    data = connection.send("/uploads", _arrow_file(_rows(table)), name=name)
    return RemoteTable(connection, _chosen(data, name, ""))


def _local_file(text: str) -> tuple[str, str]:
    """The path of a local file and the part that is named; an empty path if there is none."""
    from lakejoin.formats.file_reader import split_part

    return ("", "") if "://" in text else split_part(text)


def _rows(table: Any) -> pa.Table:
    """The rows of a frame, of a table of a local index, or of another server."""
    from lakejoin.inputs import resolve_table

    return table.to_arrow() if isinstance(table, RemoteTable) else resolve_table(table).rows


def _arrow_file(rows: pa.Table) -> bytes:
    import pyarrow as pa

    if not rows.num_columns:
        raise InputError("a table without columns cannot be uploaded")
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, rows.schema, options=options) as file:
        file.write_table(rows)
    return bytes(sink.getvalue())


def _chosen(data: Json, name: str, part: str) -> Json:
    """The table of an upload that is named, if there are several."""
    tables: list[Json] = data["tables"]
    if part:
        tables = [table for table in tables if str(table["table"]).endswith(f"#{part}")]
    if len(tables) == 1:
        return tables[0]
    if not tables:
        reasons = "".join(f"; {file['name']}: {file['reason']}" for file in data.get("skipped", ()))
        raise InputError(f"no table could be read from {name}{reasons}")
    names = ", ".join(str(table["table"]) for table in tables[:5])
    raise InputError(f"{name} has {len(tables)} tables: name one of them ({names})")
