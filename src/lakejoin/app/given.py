"""The tables that a person names: files, and tables of the lake."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin import api
from lakejoin.errors import InputError, MissingIndex, UnknownTable
from lakejoin.opened import side_of

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.sides import Side
    from lakejoin.model import Loss
    from lakejoin.opened import Lake, LakeTable


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
    from lakejoin.lake.read import file_and_part, open_one, readable
    from lakejoin.lake.tables import Table

    if file_and_part(name)[0]:
        with readable(name):
            table = Table.of(open_one(name))
        return Given(name, table.to_arrow(), table.losses)
    if lake is None:
        raise InputError(f"there is no file {name}, and no index in which it could be a table")
    found = _known(name, lake)
    return Given(name, found.to_arrow(), found.entry.losses)


def given_side(name: str, lake: Lake | None) -> Side:
    """The same for a predicate: a table of the lake is not read as long as its codes suffice."""
    from lakejoin.joins.sides import side_of_rows
    from lakejoin.lake.read import file_and_part

    if lake is not None and not file_and_part(name)[0]:
        return side_of(_known(name, lake))
    given = given_table(name, lake)
    return side_of_rows(name, given.rows, given.losses)


def _known(name: str, lake: Lake) -> LakeTable:
    try:
        return lake.table(name)
    except UnknownTable as problem:
        raise UnknownTable(f"there is no file {name}, and {problem}") from None
