"""Which table is meant: one on the server, or one that is here and has to be brought there?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.client.connection import Connection, Json
from lakejoin.client.remote_table import RemoteTable
from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

MY_TABLE = "my_table"  # what a frame is called, which has no name
_KINDS = ("lake:", "upload:", "result:")


def table_id(connection: Connection, table: Any) -> str:
    """The id of a table: a file that is here, the name or id of one on the server, a
    `RemoteTable`, or a frame; what is not on the server yet is brought there."""
    if isinstance(table, RemoteTable) and table.connection.url == connection.url:
        return table.id
    if isinstance(table, str):
        if table.startswith(_KINDS):
            return table
        if not _file(table)[0]:
            return f"lake:{table}"
    return upload(connection, table).id


def upload(connection: Connection, table: Any, name: str | None = None) -> RemoteTable:
    """Brings a file (or `file#part`) or a frame to the server."""
    if isinstance(table, str | os.PathLike):
        text = os.fspath(table)
        path, part = _file(text)
        if not path:
            folder = Path(text).is_dir()
            raise InputError(f"{text} is a folder" if folder else f"there is no file {text}")
        try:
            with Path(path).open("rb") as file:
                told = connection.send("/uploads", file, name=name or Path(path).name)
        except OSError as problem:
            raise InputError(f"{text} cannot be read: {problem.strerror}") from None
        return RemoteTable(connection, _chosen(told, text, part))
    name = f"{(name or MY_TABLE).removesuffix('.arrow')}.arrow"
    told = connection.send("/uploads", _packed(_rows(table)), name=name)
    return RemoteTable(connection, _chosen(told, name, ""))


def _file(text: str) -> tuple[str, str]:
    """The path of a file here and the part of it that is meant; no path where there is none."""
    from lakejoin.lake.read import file_and_part

    return ("", "") if "://" in text else file_and_part(text)


def _rows(table: Any) -> pa.Table:
    """The rows of a frame, or of a table of an index that is opened here."""
    from lakejoin.lake.frames import to_table

    if isinstance(table, RemoteTable) or hasattr(table, "entry"):
        return table.to_arrow()
    return to_table(table)


def _packed(rows: pa.Table) -> bytes:
    import pyarrow as pa

    if not rows.num_columns:
        raise InputError("a table without columns cannot be brought to a server")
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, rows.schema, options=options) as file:
        file.write_table(rows)
    return bytes(sink.getvalue())


def _chosen(told: Json, given: str, part: str) -> Json:
    """The table of an upload that is meant, if there are several."""
    tables: list[Json] = told["tables"]
    if part:
        tables = [one for one in tables if str(one["table"]).endswith(f"#{part}")]
    if len(tables) == 1:
        return tables[0]
    if not tables:
        reasons = [f"{one['name']}: {one['reason']}" for one in told.get("skipped", ())]
        raise InputError(f"no table was read from {given}" + "".join(f"; {one}" for one in reasons))
    names = ", ".join(str(one["table"]) for one in tables[:5])
    raise InputError(f"{given} holds {len(tables)} tables: name one of them ({names})")
