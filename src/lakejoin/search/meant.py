"""Resolve what the caller passed to a query table: a file, a table of the lake, or a frame."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError, UnknownTable
from lakejoin.search.table_lookup import IndexedTable
from lakejoin.engines.mine import QueryTable
from lakejoin.search.external_table import FileRows, FrameRows, ExternalTable

if TYPE_CHECKING:
    from lakejoin.model import ValueRules
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


def resolve_table(source: Any, snapshot: Snapshot) -> tuple[QueryTable, tuple[str, ...]]:
    """Resolve what the caller passed to a table; returns it with a note if the name was ambiguous.

    A string is a file if there is one, otherwise a table of the lake; `file#part` is a part of a
    container. Anything else is a frame.
    """
    rules = snapshot.manifest.options.rules
    if isinstance(source, str | os.PathLike):
        return _resolve_name(os.fspath(source), isinstance(source, str), snapshot, rules)
    from lakejoin.sources.frames import to_table
    from lakejoin.formats.table_stream import Table

    if isinstance(source, Table):
        return ExternalTable(FrameRows(to_table(source.rows), source.name), rules), ()
    if isinstance(source, list) and source and isinstance(source[0], Table):
        names = ", ".join(table.name for table in source[:3])
        raise InputError(f"got {len(source)} tables ({names}, …); search for one of them at a time")
    frame = to_table(source)
    if frame.num_columns == 0:
        raise InputError("the table has no columns to search for")
    return ExternalTable(FrameRows(frame), rules), ()


def open_file_table(text: str, rules: ValueRules, name: str = "") -> QueryTable:
    """Open a file, or `file#part`; the table is named `name`, by default `text`."""
    from lakejoin.formats.file_reader import split_part, open_table
    from lakejoin.locations import Location

    path, _ = split_part(text)
    whole = Location.of(path).uri if path == text else ""
    return ExternalTable(FileRows(open_table(text), name or text, whole), rules)


def find_lake_table(text: str, snapshot: Snapshot) -> QueryTable | None:
    """The table of the lake that was read from a file or `file#part`; None if there is none."""
    from lakejoin.sources.lake_files import find_file, possible_names
    from lakejoin.formats.file_reader import split_part
    from lakejoin.locations import Location

    path, part = split_part(text)
    if not path:
        return None
    file, lakes = Location.of(path), snapshot.manifest.lakes
    for name in possible_names(lakes, file):
        location = find_file(lakes, name)
        indexed = snapshot.find_table(f"{name}#{part}" if part else name)
        if indexed is not None and location is not None and location.uri == file.uri:
            return _lake_table(snapshot, *indexed)
    return None


def ambiguous_name_note(text: str) -> str:
    """The note for a name that is both a file and a table of the lake."""
    return f"{text} is both a local file and a table of the lake; using the file"


def _lake_table(snapshot: Snapshot, segment: Segment, entry: TableEntry) -> QueryTable:
    segment_index = next(i for i, known in enumerate(snapshot.segments) if known is segment)
    return IndexedTable(snapshot, segment_index, entry)


def _resolve_name(
    text: str, may_be_name: bool, snapshot: Snapshot, rules: ValueRules
) -> tuple[QueryTable, tuple[str, ...]]:
    from lakejoin.formats.file_reader import split_part, location_kind

    path, _ = split_part(text)
    indexed = snapshot.find_table(text) if may_be_name else None
    if path:
        return open_file_table(text, rules), (ambiguous_name_note(text),) if indexed else ()
    if indexed is not None:
        return _lake_table(snapshot, *indexed), ()
    if location_kind(text) == "folder":
        raise InputError(f"{text} is a folder; name a file in it, or search with --batch {text}")
    if not may_be_name:
        raise InputError(f"there is no file {text}")
    try:
        segment, entry = snapshot.table(text)
    except UnknownTable as problem:  # suggests similar names
        raise UnknownTable(f"there is no file {text}, and {problem}") from None
    return _lake_table(snapshot, segment, entry), ()
