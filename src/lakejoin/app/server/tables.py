"""Any table that has an id: one of the lake, an upload or a result; what it is and its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lakejoin.app.server.ids import TableId
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.shelf import Shelf
from lakejoin.model import ColumnProfile, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.lake.tables import Table
    from lakejoin.opened import Lake, LakeTable

Info = dict[str, Any]

ARROW, NOTE = ".arrow", ".json"
_SUGGESTED = 3
_KEY_LIKE = 0.5
_GONE = {
    "upload": "that table was brought to this server and is no longer stored here: bring it again",
    "result": "that result is no longer kept: open the link that led to it, and it is made again",
}


class OpenTable(Protocol):
    """What is asked of a table, wherever it lies."""

    id: TableId

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def identity(self) -> str:
        """A text that is another one as soon as its rows are others."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    @property
    def column_names(self) -> Sequence[str]:
        """The names of its columns, each once."""

    def info(self) -> Info:
        """What it is, with the keys of `lakejoin columns --json`."""

    def part(self, begin: int, end: int, places: Sequence[int] | None = None) -> pa.Table:
        """Rows [begin, end), of all columns or some."""

    def given(self) -> Any:
        """As `lakejoin.join` and `Lake.search` take it; never a text, which might be a path."""


class Tables:
    """Opens tables by id."""

    def __init__(self, lake: Callable[[], Lake], uploads: Shelf, results: Shelf) -> None:
        self.lake = lake
        self.uploads = uploads
        self.results = results

    def open(self, text: str | TableId) -> OpenTable:
        """The table of an id; a `Problem` if there is none."""
        id = text if isinstance(text, TableId) else TableId.of(text)
        if id.kind == "lake":
            return OfLake(id, self.lake().table(id.name))
        shelf = self.uploads if id.kind == "upload" else self.results
        path = shelf.get(id.name)
        if path is None:
            raise _gone(id)
        return Kept(id, path)


class OfLake:
    """A table of the lake."""

    def __init__(self, id: TableId, table: LakeTable) -> None:
        self.id = id
        self.table = table

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def identity(self) -> str:
        # Segments never change, so a table that was indexed again lies in another one.
        return f"lake:{self.table.identity}"

    @property
    def rows(self) -> int:
        return self.table.rows

    @cached_property
    def column_names(self) -> Sequence[str]:
        return [one.name for one in self.table.columns()]

    def info(self) -> Info:
        entry = self.table.entry
        columns = [
            {"column": one.name, "indexed": one.indexed, **asdict(one.profile)}
            for one in self.table.columns()
        ]
        suggest(columns)
        return {
            "id": str(self.id),
            "table": entry.name,
            "rows": entry.rows,
            "format": entry.format,
            "source": entry.source,
            "notes": list(entry.notes),
            "losses": [asdict(loss) for loss in entry.losses],
            "columns": columns,
            "made": None,
        }

    def part(self, begin: int, end: int, places: Sequence[int] | None = None) -> pa.Table:
        return self.table.to_arrow(min(begin, self.rows), min(end, self.rows), places)

    def given(self) -> LakeTable:
        return self.table


class Kept:
    """A table in a file of its own: Arrow, memory-mapped, with a note of what it is beside it."""

    def __init__(self, id: TableId, path: Path) -> None:
        self.id = id
        self._path = path

    @cached_property
    def _note(self) -> Info:
        try:
            note: Info = json.loads(self._path.with_suffix(NOTE).read_text("utf-8"))
        except FileNotFoundError:
            raise _gone(self.id) from None
        return note

    @cached_property
    def _rows(self) -> pa.Table:
        try:
            return mapped(self._path)
        except FileNotFoundError:
            raise _gone(self.id) from None

    @property
    def name(self) -> str:
        return str(self._note["table"])

    @property
    def identity(self) -> str:
        return str(self.id)  # which is made of the content, or of all that it was made from

    @property
    def rows(self) -> int:
        return int(self._note["rows"])

    @property
    def column_names(self) -> Sequence[str]:
        return [str(one["column"]) for one in self._note["columns"]]

    def info(self) -> Info:
        return {"id": str(self.id), **self._note}

    def part(self, begin: int, end: int, places: Sequence[int] | None = None) -> pa.Table:
        rows = self._rows.slice(begin, max(0, end - begin))
        return rows if places is None else rows.select(list(places))

    def given(self) -> Table:
        from lakejoin.lake.tables import Table

        return Table(self.name, "arrow", self._rows)


def _gone(id: TableId) -> Problem:
    return Problem("gone", _GONE[id.kind], table=str(id))


def mapped(path: Path) -> pa.Table:
    """The rows of an Arrow file, read from the disk as they are needed."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def note_of(
    name: str,
    names: Sequence[str],
    profiles: Sequence[ColumnProfile],
    rows: int,
    **more: Any,
) -> Info:
    """What is written beside the rows of a table that is kept."""
    columns = [
        {"column": column, "indexed": profile.type is not ColumnType.EMPTY, **asdict(profile)}
        for column, profile in zip(names, profiles, strict=True)
    ]
    suggest(columns)
    note = {"table": name, "rows": rows, "format": "arrow", "source": "", "notes": [], "losses": []}
    return {**note, "columns": columns, "made": None, **more}


def suggest(columns: list[Info]) -> None:
    """Marks the columns that look most like something to join on."""
    likely = [one for one in columns if one["key_likeness"] >= _KEY_LIKE and one["distinct"] > 1]
    likely.sort(key=lambda one: (one["type"] == ColumnType.INTEGER, -one["key_likeness"]))
    for one in columns:
        one["suggested"] = any(one is other for other in likely[:_SUGGESTED])
