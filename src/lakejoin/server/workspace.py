"""Tables by id: a table of the lake, an upload or a result, with its description and rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lakejoin.server.ids import TableId
from lakejoin.server.problems import Problem
from lakejoin.server.disk_cache import DiskCache
from lakejoin.model import ColumnProfile, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.formats.table_stream import Table
    from lakejoin.lake import Lake, LakeTable

TableDescription = dict[str, Any]

ARROW_SUFFIX, DESCRIPTION_SUFFIX = ".arrow", ".json"
_SUGGESTED = 3
_KEY_LIKE = 0.5
_GONE = {
    "upload": "this uploaded table is no longer stored here; upload it again",
    "result": "this result is no longer stored; open the link that led to it to compute it again",
}


class ServedTable(Protocol):
    """A table that can be shown, searched with and joined, wherever it is stored."""

    id: TableId

    @property
    def name(self) -> str:
        """Its display name."""

    @property
    def identity(self) -> str:
        """A text that changes whenever its rows do."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    @property
    def column_names(self) -> Sequence[str]:
        """The names of its columns, without duplicates."""

    def info(self) -> TableDescription:
        """Its description, with the keys of `lakejoin columns --json`."""

    def part(self, begin: int, end: int, places: Sequence[int] | None = None) -> pa.Table:
        """Rows [begin, end) of all or some columns."""

    def given(self) -> Any:
        """As input for `lakejoin.join` and `Lake.search`; never a text, which could be a path."""


class TableOpener:
    """Opens tables by id."""

    def __init__(self, lake: Callable[[], Lake], uploads: DiskCache, results: DiskCache) -> None:
        self.lake = lake
        self.uploads = uploads
        self.results = results

    def open(self, text: str | TableId) -> ServedTable:
        """Open a table by id; raises `Problem` if there is none."""
        id = text if isinstance(text, TableId) else TableId.of(text)
        if id.kind == "lake":
            return ServedLakeTable(id, self.lake().table(id.name))
        shelf = self.uploads if id.kind == "upload" else self.results
        path = shelf.get(id.name)
        if path is None:
            raise _gone(id)
        return StoredTable(id, path)


class ServedLakeTable:
    """A table of the lake."""

    def __init__(self, id: TableId, table: LakeTable) -> None:
        self.id = id
        self.table = table

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def identity(self) -> str:
        # Segments never change, so a table that is indexed again is in another segment.
        return f"lake:{self.table.identity}"

    @property
    def rows(self) -> int:
        return self.table.rows

    @cached_property
    def column_names(self) -> Sequence[str]:
        return [column.name for column in self.table.columns()]

    def info(self) -> TableDescription:
        entry = self.table.entry
        columns = [
            {"column": column.name, "indexed": column.indexed, **asdict(column.profile)}
            for column in self.table.columns()
        ]
        mark_suggested(columns)
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


class StoredTable:
    """An upload or result: a memory-mapped Arrow file with a JSON description next to it."""

    def __init__(self, id: TableId, path: Path) -> None:
        self.id = id
        self._path = path

    @cached_property
    def _note(self) -> TableDescription:
        try:
            note: TableDescription = json.loads(self._path.with_suffix(DESCRIPTION_SUFFIX).read_text("utf-8"))
        except FileNotFoundError:
            raise _gone(self.id) from None
        return note

    @cached_property
    def _rows(self) -> pa.Table:
        try:
            return map_arrow_file(self._path)
        except FileNotFoundError:
            raise _gone(self.id) from None

    @property
    def name(self) -> str:
        return str(self._note["table"])

    @property
    def identity(self) -> str:
        return str(self.id)  # a hash of its content, or of everything that it was computed from

    @property
    def rows(self) -> int:
        return int(self._note["rows"])

    @property
    def column_names(self) -> Sequence[str]:
        return [str(column["column"]) for column in self._note["columns"]]

    def info(self) -> TableDescription:
        return {"id": str(self.id), **self._note}

    def part(self, begin: int, end: int, places: Sequence[int] | None = None) -> pa.Table:
        rows = self._rows.slice(begin, max(0, end - begin))
        return rows if places is None else rows.select(list(places))

    def given(self) -> Table:
        from lakejoin.formats.table_stream import Table

        return Table(self.name, "arrow", self._rows)


def _gone(id: TableId) -> Problem:
    return Problem("gone", _GONE[id.kind], table=str(id))


def map_arrow_file(path: Path) -> pa.Table:
    """Memory-map an Arrow file."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def build_description(
    name: str,
    names: Sequence[str],
    profiles: Sequence[ColumnProfile],
    rows: int,
    **more: Any,
) -> TableDescription:
    """The description that is stored next to the rows of a table."""
    columns = [
        {"column": column, "indexed": profile.type is not ColumnType.EMPTY, **asdict(profile)}
        for column, profile in zip(names, profiles, strict=True)
    ]
    mark_suggested(columns)
    note = {"table": name, "rows": rows, "format": "arrow", "source": "", "notes": [], "losses": []}
    return {**note, "columns": columns, "made": None, **more}


def mark_suggested(columns: list[TableDescription]) -> None:
    """Mark the columns that look most like join keys as suggested."""
    likely = [c for c in columns if c["key_likeness"] >= _KEY_LIKE and c["distinct"] > 1]
    likely.sort(key=lambda c: (c["type"] == ColumnType.INTEGER, -c["key_likeness"]))
    for column in columns:
        column["suggested"] = any(column is other for other in likely[:_SUGGESTED])
