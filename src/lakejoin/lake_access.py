"""Resolve the tables that a person names: files, parts of files, or tables of the lake."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.errors import InputError, MissingIndex, UnknownTable
from lakejoin.lake_table import join_side
from lakejoin.lake import open_lake

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.sides import Side
    from lakejoin.lake_table import LakeTable
    from lakejoin.model import Loss
    from lakejoin.lake import Lake


@dataclass(frozen=True, slots=True, eq=False)
class NamedTable:
    """A table under the name it was given, its rows, and what was dropped while reading it."""

    name: str
    rows: pa.Table
    losses: tuple[Loss, ...] = ()


def open_lake_if_any(index: str | None) -> Lake | None:
    """Open the lake; None if no index was named and there is none at the default location."""
    try:
        return open_lake(index)
    except MissingIndex:
        if index is None and not os.environ.get("LAKEJOIN_INDEX"):
            return None
        raise


def read_named_table(name: str, lake: Lake | None) -> NamedTable:
    """Read a file, a part of a file (`book.xlsx#sheet`), or a table of the lake.

    An existing file takes precedence over a table of the lake with the same name.
    """
    from lakejoin.formats.file_reader import split_part, open_table, wrap_reader_errors
    from lakejoin.formats.table_stream import Table

    if split_part(name)[0]:
        with wrap_reader_errors(name):
            table = Table.of(open_table(name))
        return NamedTable(name, table.to_arrow(), table.losses)
    if lake is None:
        raise InputError(f"there is no file {name}, and no index to look it up in")
    lake_table = _lake_table(name, lake)
    return NamedTable(name, lake_table.to_arrow(), lake_table.entry.losses)


def named_join_side(name: str, lake: Lake | None) -> Side:
    """Like `read_named_table`, as one side of a join; a lake table is read only if its codes do not
    suffice."""
    from lakejoin.joins.sides import side_from_rows
    from lakejoin.formats.file_reader import split_part

    if lake is not None and not split_part(name)[0]:
        return join_side(_lake_table(name, lake))
    table = read_named_table(name, lake)
    return side_from_rows(name, table.rows, table.losses)


def _lake_table(name: str, lake: Lake) -> LakeTable:
    try:
        return lake.table(name)
    except UnknownTable as problem:
        raise UnknownTable(f"there is no file {name}, and {problem}") from None
