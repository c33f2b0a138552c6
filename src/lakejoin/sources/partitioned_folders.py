"""Folders that are one table: partitions as Hive names them (`year=2024/month=01`), and the part
files that a job writes into a folder of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from lakejoin.locations import Location
from lakejoin.model import Composition, LogicalTable, Source, SourceFile, TableFile
from lakejoin.sources.lake_files import LakeRoot, free_name
from lakejoin.sources.table_headers import are_alike, read_header, split_ending

_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_NULL = "__HIVE_DEFAULT_PARTITION__"
_PART_FILE = re.compile(r"(?:run-\d+-)?part-(?:[mr]-)?\d+")
_UNNAMED = re.compile(r"[\d_-]+")  # as Hive names its files: 000000_0
_VARYING = re.compile(r"[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|\d+", re.IGNORECASE)
_MOST_STEMS = 24  # more different names than that are made up by a writer

_Partition = tuple[tuple[str, str | None], ...]


def find_folder_tables(root: LakeRoot) -> list[Source]:
    """The sources of a lake, with the files of partitioned folders and of jobs as one table each.

    A partitioned table is named after the folder above its partitions. If its partitions contain
    several files with other names and other columns (`day=1/orders.csv`, `day=1/customers.csv`),
    each of these is a table.
    """
    groups: dict[tuple[str, bool], list[tuple[SourceFile, _Partition]]] = {}
    found: list[Source] = []
    for source in root.sources:
        group = _group_of(source) if isinstance(source, SourceFile) else None
        if group is None:
            found.append(source)
        else:
            folder, partition = group
            assert isinstance(source, SourceFile)
            groups.setdefault((folder, bool(partition)), []).append((source, partition))
    taken = {source.name for source in found}
    for (folder, partitioned), members in groups.items():
        where = root.base / folder if folder else root.base
        if not partitioned:
            name = free_name(folder or root.label, taken)
            found.append(_table(name, where, "job", members))
            continue
        for ending, stem_members in _stems(members):
            name = free_name("/".join(filter(None, (folder, ending))) or root.label, taken)
            place = where / ending if ending else where
            found.append(_table(name, place, "partitioned", stem_members))
    return found


def _group_of(file: SourceFile) -> tuple[str, _Partition] | None:
    """The folder of the table that a file belongs to, and its partition; None for a file that is
    a table of its own."""
    *folders, last = file.name.split("/")
    is_part = _PART_FILE.match(last) is not None
    if not split_ending(last)[1] and ("." in last or not (is_part or _UNNAMED.fullmatch(last))):
        return None
    partition: list[tuple[str, str | None]] = []
    rest: list[str] = []
    for folder in folders:
        match = _PARTITION.fullmatch(folder)
        if match is None:
            rest.append(folder)
        else:
            value = unquote(match[2])
            partition.append((unquote(match[1]), None if value == _NULL else value))
    if partition or is_part:
        return "/".join(rest), tuple(partition)
    return None


def _stems(
    members: Sequence[tuple[SourceFile, _Partition]],
) -> list[tuple[str, list[tuple[SourceFile, _Partition]]]]:
    """The tables in one partitioned folder: all files, under an empty name, unless files of
    different names have different columns."""
    by_stem: dict[str, list[tuple[SourceFile, _Partition]]] = {}
    for member in members:
        stem = split_ending(member[0].name.rpartition("/")[2])[0]
        by_stem.setdefault(_VARYING.sub("#", stem), []).append(member)
    if not 1 < len(by_stem) <= _MOST_STEMS:
        return [("", list(members))]
    if are_alike(read_header(files[0][0]) for files in by_stem.values()):
        return [("", list(members))]
    return [(_common_name(files), files) for files in by_stem.values()]


def _common_name(members: Sequence[tuple[SourceFile, _Partition]]) -> str:
    """The name that all files have, with `{number}` for what varies."""
    names = {file.name.rpartition("/")[2] for file, _ in members}
    return names.pop() if len(names) == 1 else _VARYING.sub("{number}", sorted(names)[0])


def _table(
    name: str, where: Location, kind: str, members: Sequence[tuple[SourceFile, _Partition]]
) -> LogicalTable:
    keys = tuple(dict.fromkeys(key for _, partition in members for key, _ in partition))
    files = []
    for file, partition in members:
        values = dict(partition)
        files.append(TableFile(file, tuple(values.get(key) for key in keys)))
    composition = Composition(kind, len(files), keys)
    total = sum(file.size for file, _ in members)
    stamp = stamp_files(file for file, _ in members)
    return LogicalTable(name, where.uri, total, stamp, composition, tuple(files))


def stamp_files(files: Iterable[SourceFile]) -> int:
    """A number that differs once a file is added, changed or removed."""
    return stamp_text("\n".join(f"{f.name}\t{f.size}\t{f.mtime_ns}" for f in files))


def stamp_text(text: str) -> int:
    """A number of 63 bits that stands for a text.

    >>> stamp_text("a") == stamp_text("a"), stamp_text("a") == stamp_text("b")
    (True, False)
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "big") >> 1
