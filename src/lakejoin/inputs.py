"""`LakeTable`, a table of an index; and which table the caller means: one of these, a file, a part
of a container, a frame of any library, or a table that was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from lakejoin.errors import InputError, MissingIndex, UnknownTable
from lakejoin.joins.join_inputs import JoinInput, ReadRows
from lakejoin.kernels.compiled_library import require_kernels
from lakejoin.locations import Location
from lakejoin.model import FRAME_NAME, FrameSource
from lakejoin.quoting import DEFAULT_INDEX
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment

_NAMES_SHOWN = 3

PathLike = str | os.PathLike[str]


class LakeTable(FrameSource):
    """A table of the index; its rows are rebuilt from codes on demand.

    >>> table = lake.table("cities.csv")
    >>> table.rows, [column.name for column in table.columns()][:2]
    (7, ['name', 'land'])
    """

    def __init__(self, snapshot: Snapshot, segment: Segment, entry: TableEntry) -> None:
        self._snapshot = snapshot
        self._segment = segment
        self.entry = entry

    def __repr__(self) -> str:
        return f"<LakeTable {self.name}: {self.entry.rows:,} rows, {self.entry.width} columns>"

    @property
    def name(self) -> str:
        """Its path in the lake; a table inside a container is named `path#part`."""
        return self.entry.name

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.entry.rows

    def columns(self) -> list[ColumnEntry]:
        """The columns with their profiles."""
        return list(self._segment.catalog.columns_of(self.entry))

    @property
    def lakes(self) -> tuple[str, ...]:
        """The paths or URIs that the index was built from."""
        return tuple(self._snapshot.manifest.lakes)

    @property
    def identity(self) -> str:
        """A text that changes whenever the table is indexed again."""
        return f"{self.name}@{self._segment.record.id}/{self.entry.table_id}"

    def to_dict(self) -> dict[str, Any]:
        """How the table was read, and its columns, with the keys of `lakejoin columns --json`."""
        entry = self.entry
        return {
            "table": entry.name,
            "source": entry.source,
            "format": entry.format,
            "rows": entry.rows,
            "composition": asdict(entry.composition) if entry.composition else None,
            "declared": asdict(entry.declared) if entry.declared else None,
            "dialect": asdict(entry.dialect) if entry.dialect else None,
            "losses": [asdict(loss) for loss in entry.losses],
            "notes": list(entry.notes),
            "columns": [
                {"column": column.name, "indexed": column.indexed, **asdict(column.profile)}
                for column in self.columns()
            ],
        }

    def to_arrow(
        self, begin: int = 0, end: int | None = None, column_indices: Sequence[int] | None = None
    ) -> pa.Table:
        """Rows [begin, end) with their original texts, as a `pyarrow.Table`; all columns, or those
        with these zero-based indices."""
        with self._snapshot.in_use():
            return self._segment.to_arrow(self.entry, begin, end, column_indices)


def index_location(index: PathLike | None) -> Location:
    """The location of the index: `index`, else `$LAKEJOIN_INDEX`, else `./.lakejoin`."""
    return Location.of(index or os.environ.get("LAKEJOIN_INDEX") or DEFAULT_INDEX)


class NearbyIndex:
    """An index in which tables are looked up that are no files.

    One that is named is opened at once. The default one is opened when it is needed, and need not
    exist.
    """

    def __init__(self, index: PathLike | None = None) -> None:
        self._index = index
        if index is not None:
            _ = self.snapshot

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """Its newest version; None if no index was named and there is none."""
        try:
            return Snapshot(index_location(self._index))
        except MissingIndex:
            if self._index is None and not os.environ.get("LAKEJOIN_INDEX"):
                return None
            raise


Index: TypeAlias = Snapshot | NearbyIndex  # where names of tables are looked up


@dataclass(frozen=True, eq=False)
class InputTable(JoinInput):
    """A table that the caller named or passed: an input of joins, and a query for searches.

    Nothing is read until rows or a query are needed. `notes` say if the name was ambiguous.
    """

    open_query: Callable[[Snapshot], QueryTable] | None = None
    notes: tuple[str, ...] = ()

    def query_table(self, snapshot: Snapshot) -> QueryTable:
        """The table as a query for this index, whose value rules apply."""
        from lakejoin.search.query_tables import FrameTable, IndexedTable

        if self.open_query is not None:
            return self.open_query(snapshot)
        if self.stored is not None:
            segment, entry = self.stored
            for segment_index, other in enumerate(snapshot.segments):
                removed = entry.table_id in other.record.dead
                if other.location == segment.location and not removed:
                    return IndexedTable(snapshot, segment_index, entry)
        return FrameTable(self.rows, snapshot.manifest.options.rules)


def resolve_table(source: Any, index: Index | None = None, default: str = "") -> InputTable:
    """Resolve what the caller named or passed to a table.

    A text is a file if there is one (`book.xlsx#sheet` is a part of a file), otherwise the name of
    a table of `index`, by default of the default index. A frame is called `default`.

    >>> table = resolve_table({"town": ["Bern"], "people": [134]}, default="towns")
    >>> table.name, table.columns, table.rows.num_rows
    ('towns', ('town', 'people'), 1)
    """
    from lakejoin.formats.table_stream import Table

    require_kernels()
    if isinstance(source, InputTable):
        return source
    if isinstance(source, LakeTable):
        return _indexed_input(source._snapshot, source._segment, source.entry)
    if isinstance(source, str):
        return _resolve_name(source, NearbyIndex() if index is None else index)
    if isinstance(source, os.PathLike):
        return _resolve_path(os.fspath(source))
    if isinstance(source, list) and source and isinstance(source[0], Table):
        names = ", ".join(table.name for table in source[:_NAMES_SHOWN])
        raise InputError(f"got {len(source)} tables ({names}, …): pass one of them")
    return _frame_input(source, default)


def find_indexed_file(source: Any, snapshot: Snapshot) -> InputTable | None:
    """The table of the index that was read from a file or `file#part`; None if there is none."""
    from lakejoin.formats.file_reader import split_part
    from lakejoin.sources.lake_files import find_file, possible_names

    if not isinstance(source, str | os.PathLike):
        return None
    path, part = split_part(os.fspath(source))
    if not path:
        return None
    file, lakes = Location.of(path), snapshot.manifest.lakes
    for name in possible_names(lakes, file):
        location = find_file(lakes, name)
        indexed = snapshot.find_table(f"{name}#{part}" if part else name)
        if indexed is not None and location is not None and location.uri == file.uri:
            return _indexed_input(snapshot, *indexed)
    return None


def _resolve_name(text: str, index: Index) -> InputTable:
    from lakejoin.formats.file_reader import location_kind, split_part
    from lakejoin.search.query_tables import ambiguous_name_note

    if split_part(text)[0]:
        # Only a search has opened its index already; for a file, a nearby one is not consulted.
        both = isinstance(index, Snapshot) and index.find_table(text) is not None
        return _file_input(text, (ambiguous_name_note(text),) if both else ())
    snapshot = index.snapshot if isinstance(index, NearbyIndex) else index
    indexed = None if snapshot is None else snapshot.find_table(text)
    if snapshot is not None and indexed is not None:
        return _indexed_input(snapshot, *indexed)
    if location_kind(text) == "folder":
        raise InputError(f"{text} is a folder; name a file in it, or search with --batch {text}")
    if snapshot is None:
        raise InputError(f"there is no file {text}, and no index to look it up in")
    try:
        return _indexed_input(snapshot, *snapshot.table(text))
    except UnknownTable as problem:  # suggests similar names
        raise UnknownTable(f"there is no file {text}, and {problem}") from None


def _resolve_path(text: str) -> InputTable:
    from lakejoin.formats.file_reader import location_kind, split_part

    if split_part(text)[0]:
        return _file_input(text)
    folder = location_kind(text) == "folder"
    raise InputError(
        f"{text} is a folder; name a file in it" if folder else f"there is no file {text}"
    )


def _file_input(text: str, notes: Sequence[str] = ()) -> InputTable:
    from lakejoin.search.query_tables import open_file_table

    def read() -> ReadRows:
        from lakejoin.formats.file_reader import open_table, wrap_reader_errors
        from lakejoin.formats.table_stream import Table

        with wrap_reader_errors(text):
            table = Table.of(open_table(text))
        return table.rows, table.losses

    def query(snapshot: Snapshot) -> QueryTable:
        return open_file_table(text, snapshot.manifest.options.rules)

    return InputTable(text, read, open_query=query, notes=tuple(notes))


def _frame_input(frame: Any, default: str) -> InputTable:
    from lakejoin.formats.table_stream import Table
    from lakejoin.search.query_tables import FrameTable
    from lakejoin.sources.frames import to_table
    from lakejoin.values.plain_columns import Losses, repair_batch

    is_read = isinstance(frame, Table)

    def read() -> ReadRows:
        if is_read:
            return to_table(frame.rows), frame.losses
        rows, losses = to_table(frame), Losses()
        repaired = [repair_batch(batch, losses) for batch in rows.to_batches()]
        if losses.to_list():
            rows = rows.from_batches(repaired)
        return rows, tuple(losses.to_list())

    def query(snapshot: Snapshot) -> QueryTable:
        rows, _ = read()
        if not rows.num_columns:
            raise InputError("the table has no columns to search for")
        name = frame.name if is_read else FRAME_NAME
        return FrameTable(rows, snapshot.manifest.options.rules, name)

    name = getattr(frame, "name", None)
    name = name if isinstance(name, str) and name else default
    return InputTable(name or FRAME_NAME, read, open_query=query)


def _indexed_input(snapshot: Snapshot, segment: Segment, entry: TableEntry) -> InputTable:
    def read() -> ReadRows:
        return segment.to_arrow(entry), entry.losses

    rules = snapshot.manifest.options.rules
    return InputTable(entry.name, read, (segment, entry), snapshot.location.uri, rules)
