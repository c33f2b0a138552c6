"""Keep the newest version of an index open, and resolve the tables that a person names."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.errors import InputError, MissingIndex, UnknownTable
from lakejoin.lake import open_lake
from lakejoin.lake_table import join_side

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join_inputs import Side
    from lakejoin.lake import Lake
    from lakejoin.lake_table import LakeTable
    from lakejoin.model import Loss


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
    from lakejoin.formats.file_reader import open_table, split_part, wrap_reader_errors
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
    from lakejoin.formats.file_reader import split_part
    from lakejoin.joins.join_inputs import side_from_rows

    if lake is not None and not split_part(name)[0]:
        return join_side(_lake_table(name, lake))
    table = read_named_table(name, lake)
    return side_from_rows(name, table.rows, table.losses)


def _lake_table(name: str, lake: Lake) -> LakeTable:
    try:
        return lake.table(name)
    except UnknownTable as problem:
        raise UnknownTable(f"there is no file {name}, and {problem}") from None


class CurrentLake:
    """The newest version of an index; checked for at most every `seconds`."""

    def __init__(self, index: str | None, seconds: float = 0.0) -> None:
        self._index = index
        self._seconds = seconds
        self._lock = threading.Lock()
        self._lake = open_lake(index)
        self._checked = time.monotonic()

    def lake(self) -> Lake:
        """The newest version; the same object, with its caches, until a newer version exists."""
        with self._lock:
            if time.monotonic() - self._checked >= self._seconds:
                newest = open_lake(self._index)
                if newest.snapshot.manifest != self._lake.snapshot.manifest:
                    self._lake = newest
                self._checked = time.monotonic()
            return self._lake
