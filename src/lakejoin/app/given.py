"""The tables that a person names: files, and tables of the lake."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin import api
from lakejoin.errors import InputError, MissingIndex, UnknownTable

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.api import Lake
    from lakejoin.lake.tables import Table
    from lakejoin.model import Loss


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A table as it was named, its rows, and what reading it left out."""

    name: str
    rows: pa.Table
    losses: tuple[Loss, ...] = ()


def lake_if_any(index: str | None) -> Lake | None:
    """The lake; None where none was asked for and there is none in the usual place."""
    try:
        return api.open(index)
    except MissingIndex:
        if index is None and not os.environ.get("LAKEJOIN_INDEX"):
            return None
        raise


def given_table(name: str, lake: Lake | None) -> Given:
    """The rows of a file, of a part of a file (`book.xlsx#sheet`), or of a table of the lake.

    A file that is there goes before a table of the lake of the same name.
    """
    path, part = file_and_part(name)
    if path is not None:
        return _of_file(name, path, part)
    if lake is None:
        raise InputError(f"there is no file {name}, and no index in which it could be a table")
    try:
        found = lake.table(name)
    except UnknownTable as problem:
        raise UnknownTable(f"there is no file {name}, and {problem}") from None
    return Given(name, found.to_arrow(), found.entry.losses)


def file_and_part(name: str) -> tuple[str | None, str]:
    """The file that a name stands for, and which part of it; (None, "") where there is none."""
    from lakejoin.storage import Place

    if Place.of(name).kind() == "file":
        return name, ""
    path, mark, part = name.rpartition("#")
    if mark and path and Place.of(path).kind() == "file":
        return path, part
    return None, ""


def _of_file(name: str, path: str, part: str) -> Given:
    from lakejoin.lake.read import read

    found = read(path)
    tables = found if isinstance(found, list) else [found]
    if part:
        tables = [table for table in tables if _part_of(table) == part] or _no_part(path, tables)
    if len(tables) > 1:
        raise InputError(
            f"{path} holds {len(tables)} tables: name one, such as {path}#{_part_of(tables[0])}"
        )
    (table,) = tables
    return Given(name, table.to_arrow(), table.losses)


def _part_of(table: Table) -> str:
    return table.name.partition("#")[2]


def _no_part(path: str, tables: list[Table]) -> list[Table]:
    parts = ", ".join(filter(None, map(_part_of, tables))) or "no parts"
    raise InputError(f"{path} has no such part; it has {parts}")
