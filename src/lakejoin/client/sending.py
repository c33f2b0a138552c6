"""Resolve a table to its id on the server, and upload it if it is local."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.client.connection import Connection, Json
from lakejoin.client.remote_table import RemoteTable
from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

MY_TABLE = "my_table"  # the name of a frame
_KINDS = ("lake:", "upload:", "result:")


def table_id(connection: Connection, table: Any) -> str:
    """The id of a table: a local file, the name or id of a table on the server, a `RemoteTable`, or
    a frame. Local tables are uploaded."""
    if isinstance(table, RemoteTable) and table.connection.url == connection.url:
        return table.id
    if isinstance(table, str):
        if table.startswith(_KINDS):
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
    name = f"{(name or MY_TABLE).removesuffix('.arrow')}.arrow"
    data = connection.send("/uploads", _arrow_file(_rows(table)), name=name)
    return RemoteTable(connection, _chosen(data, name, ""))


def _local_file(text: str) -> tuple[str, str]:
    """The path of a local file and the part that is named; an empty path if there is none."""
    from lakejoin.formats.file_reader import split_part

    return ("", "") if "://" in text else split_part(text)


def _rows(table: Any) -> pa.Table:
    """The rows of a frame, or of a table of a local index."""
    from lakejoin.sources.frames import to_table

    if isinstance(table, RemoteTable) or hasattr(table, "entry"):
        return table.to_arrow()
    return to_table(table)


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
