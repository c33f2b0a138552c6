"""Resolve the tables that a person names: files, parts of files, or tables of the lake."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.errors import InputError, MissingIndex, UnknownTable
from lakejoin.lake_table import side_of
from lakejoin.opened import open_lake

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.sides import Side
    from lakejoin.lake_table import LakeTable
    from lakejoin.model import Loss
    from lakejoin.opened import Lake


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A table under the name it was given, its rows, and what was dropped while reading it."""

    name: str
    rows: pa.Table
    losses: tuple[Loss, ...] = ()


def lake_if_any(index: str | None) -> Lake | None:
    """Open the lake; None if no index was named and there is none at the default location."""
    try:
        return open_lake(index)
    except MissingIndex:
        if index is None and not os.environ.get("LAKEJOIN_INDEX"):
            return None
        raise


def given_table(name: str, lake: Lake | None) -> Given:
    """Read a file, a part of a file (`book.xlsx#sheet`), or a table of the lake.

    An existing file takes precedence over a table of the lake with the same name.
    """
    from lakejoin.lake.read import file_and_part, open_one, readable
    from lakejoin.lake.tables import Table

    if file_and_part(name)[0]:
        with readable(name):
            table = Table.of(open_one(name))
        return Given(name, table.to_arrow(), table.losses)
    if lake is None:
        raise InputError(f"there is no file {name}, and no index to look it up in")
    lake_table = _lake_table(name, lake)
    return Given(name, lake_table.to_arrow(), lake_table.entry.losses)


def given_side(name: str, lake: Lake | None) -> Side:
    """Like `given_table`, as one side of a join; a lake table is read only if its codes do not
    suffice."""
    from lakejoin.joins.sides import side_of_rows
    from lakejoin.lake.read import file_and_part

    if lake is not None and not file_and_part(name)[0]:
        return side_of(_lake_table(name, lake))
    table = given_table(name, lake)
    return side_of_rows(name, table.rows, table.losses)


def _lake_table(name: str, lake: Lake) -> LakeTable:
    try:
        return lake.table(name)
    except UnknownTable as problem:
        raise UnknownTable(f"there is no file {name}, and {problem}") from None
