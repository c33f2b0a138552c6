"""Which table does the caller mean? A file, a table of the lake, or a frame."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError, UnknownTable
from lakejoin.search.known_table import KnownTable
from lakejoin.search.mine import MyTable
from lakejoin.search.own_table import File, Frame, OwnTable

if TYPE_CHECKING:
    from lakejoin.model import ValueRules
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


def table_of(thing: Any, snapshot: Snapshot) -> tuple[MyTable, tuple[str, ...]]:
    """The table that the caller means, and a note where that was not plain.

    A text is a file if there is one, else a table of the lake; `file#part` names a part of a
    container. Anything else is a frame.
    """
    rules = snapshot.manifest.options.rules
    if isinstance(thing, str | os.PathLike):
        return _named(os.fspath(thing), isinstance(thing, str), snapshot, rules)
    from lakejoin.lake.frames import to_table
    from lakejoin.lake.tables import Table

    if isinstance(thing, Table):
        return OwnTable(Frame(to_table(thing.rows), thing.name), rules), ()
    if isinstance(thing, list) and thing and isinstance(thing[0], Table):
        names = ", ".join(one.name for one in thing[:3])
        raise InputError(f"these are {len(thing)} tables ({names}, …); search for one of them")
    frame = to_table(thing)
    if frame.num_columns == 0:
        raise InputError("a table without columns cannot be searched for")
    return OwnTable(Frame(frame), rules), ()


def file_table(text: str, rules: ValueRules, name: str = "") -> MyTable:
    """The table of a file, or of `file#part`; it is called as it was given, or by a `name`."""
    from lakejoin.lake.read import file_and_part, open_one
    from lakejoin.storage import Place

    path, _ = file_and_part(text)
    whole = Place.of(path).uri if path == text else ""
    return OwnTable(File(open_one(text), name or text, whole), rules)


def lake_table_of(text: str, snapshot: Snapshot) -> MyTable | None:
    """The table of the lake that a file, or `file#part`, was read into, if it is one."""
    from lakejoin.lake.files import file_of, names_in
    from lakejoin.lake.read import file_and_part
    from lakejoin.storage import Place

    path, part = file_and_part(text)
    if not path:
        return None
    file, lakes = Place.of(path), snapshot.manifest.lakes
    for name in names_in(lakes, file):
        own = file_of(lakes, name)
        known = snapshot.find_table(f"{name}#{part}" if part else name)
        if known is not None and own is not None and own.uri == file.uri:
            return _lake_table(snapshot, *known)
    return None


def also_a_table(text: str) -> str:
    """What is said of a file whose name a table of the lake has too."""
    return f"{text} is a file here and a table of the lake; the file was read"


def _lake_table(snapshot: Snapshot, segment: Segment, entry: TableEntry) -> MyTable:
    number = next(i for i, one in enumerate(snapshot.segments) if one is segment)
    return KnownTable(snapshot, number, entry)


def _named(
    text: str, may_be_name: bool, snapshot: Snapshot, rules: ValueRules
) -> tuple[MyTable, tuple[str, ...]]:
    from lakejoin.lake.read import file_and_part, kind_of

    path, _ = file_and_part(text)
    known = snapshot.find_table(text) if may_be_name else None
    if path:
        return file_table(text, rules), (also_a_table(text),) if known else ()
    if known is not None:
        return _lake_table(snapshot, *known), ()
    if kind_of(text) == "folder":
        raise InputError(f"{text} is a folder; name a file in it, or search with --batch {text}")
    if not may_be_name:
        raise InputError(f"there is no file {text}")
    try:
        segment, entry = snapshot.table(text)
    except UnknownTable as problem:  # it knows the nearest names
        raise UnknownTable(f"there is no file {text}, and {problem}") from None
    return _lake_table(snapshot, segment, entry), ()
