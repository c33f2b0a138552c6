"""Which tables a lake has: files, partitioned folders, series of dumps, tables of the formats Delta
and Iceberg, and what the rules of the lake group.

A folder of such a format is read by the library of that format or not at all: its files include
rows that were deleted or replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.locations import Location
from lakejoin.model import LogicalTable, Skipped, Source, SourceFile
from lakejoin.sources.database_urls import is_database
from lakejoin.sources.databases import list_database
from lakejoin.sources.delta_tables import DAMAGED_DELTA, list_delta_table
from lakejoin.sources.file_series import find_series, united_files
from lakejoin.sources.iceberg_tables import (
    DAMAGED_ICEBERG,
    list_iceberg_table,
    newest_metadata,
)
from lakejoin.sources.lake_files import (
    FORMAT_FOLDERS,
    LakeRoot,
    free_name,
    is_path,
    list_roots,
    name_uniquely,
    shown_name,
)
from lakejoin.sources.partitioned_folders import find_folder_tables
from lakejoin.sources.table_rules import RULES_FILE, TableRules, matches_any, read_rules

NO_READER = "no reader for this format"
# Why a table of a format is skipped as a whole when the lake is listed; it may be read again later.
UNREAD_FORMATS = (NO_READER, DAMAGED_DELTA, DAMAGED_ICEBERG)


def list_tables(
    lakes: Sequence[str],
    problems: list[Skipped],
    exclude: Location | None = None,
    follow_links: bool = False,
    rules: TableRules | None = None,
    excluded: tuple[str, ...] = (),
    as_of: datetime | None = None,
) -> list[Source]:
    """List what the lakes have to read, as `list_files` does, with the files that are one table
    together as one; a table that cannot be read goes to `problems`.

    `rules` replace those in the lakes; files that match the globs `excluded` are left out too.
    Delta and Iceberg tables are listed as they were at the moment `as_of`.
    """
    files = [lake for lake in lakes if is_path(lake)]
    roots = iter(list_roots(files, problems, exclude, follow_links))
    found = []
    for lake in lakes:
        if is_database(lake):
            tables = list_database(lake, problems)
            kept = [s for s in tables.sources if not matches_any(excluded, s.name)]
            found.append(replace(tables, sources=tuple(kept)))
        if not is_path(lake):
            continue
        root = next(roots)
        own = read_rules(root.base) if rules is None else rules
        found.append(_find_tables(root, own.with_excluded(excluded), problems, as_of))
    return name_uniquely(found)


def list_single_files(
    lakes: Sequence[str],
    problems: list[Skipped],
    exclude: Location | None = None,
    follow_links: bool = False,
) -> list[SourceFile]:
    """List every file of the lakes as `list_files` does, but for those of Delta, Iceberg and Hudi
    tables: their files are not their rows, so such tables go to `problems`."""
    roots = []
    for root in list_roots(lakes, problems, exclude, follow_links):
        formats = dict(_format_folders(root))
        for folder, kind in formats.items():
            detail = f"{kind.capitalize()} tables can only be read by indexing their lake"
            problems.append(Skipped(shown_name(folder) or root.label, "not a file", detail))
        roots.append(replace(root, sources=tuple(_outside_formats(root, formats))))
    return [source for source in name_uniquely(roots) if isinstance(source, SourceFile)]


def _find_tables(
    root: LakeRoot, rules: TableRules, problems: list[Skipped], as_of: datetime | None
) -> LakeRoot:
    formats = dict(_format_folders(root))
    tables: list[Source] = []
    for folder, kind in formats.items():
        name = shown_name(folder) or root.label
        if folder and not rules.reads(name):
            continue
        where = root.base / folder if folder else root.base
        try:
            tables.append(_list_format_table(name, where, kind, as_of))
        except MissingDependency as problem:
            problems.append(Skipped(name, NO_READER, str(problem)))
        except UnreadableFile as problem:
            problems.append(Skipped(name, problem.reason, problem.detail))
    loose = [
        source
        for source in _outside_formats(root, formats)
        if source.name != RULES_FILE and rules.reads(source.name)
    ]
    tables += _grouped(root, rules, loose)
    apart = [s for s in loose if matches_any(rules.keep_apart, s.name)]
    names = {s.name for s in apart}
    rest = replace(root, sources=tuple(s for s in loose if s.name not in names))
    rest = replace(rest, sources=tuple(find_folder_tables(rest)))
    return replace(root, sources=_named_apart([*tables, *apart, *find_series(rest)]))


def _outside_formats(root: LakeRoot, formats: Mapping[str, str]) -> list[Source]:
    """What is not in the folder of a table of a format."""
    if "" in formats:
        return []
    prefixes = tuple(f"{shown_name(folder)}/" for folder in formats)
    return [source for source in root.sources if not source.name.startswith(prefixes)]


def _named_apart(sources: list[Source]) -> tuple[Source, ...]:
    """The sources with numbers at names that stand twice: files keep theirs."""
    taken = {source.name for source in sources if isinstance(source, SourceFile)}
    return tuple(
        source
        if isinstance(source, SourceFile)
        else replace(source, name=free_name(source.name, taken))
        for source in sources
    )


def _grouped(root: LakeRoot, rules: TableRules, loose: list[Source]) -> list[Source]:
    """The tables that the rules group, whose files are taken from `loose`."""
    tables: list[Source] = []
    for group in rules.group:
        files = [s for s in loose if isinstance(s, SourceFile) and matches_any(group.files, s.name)]
        if files:
            tables.append(united_files(group.name, root.base / group.name, files))
            names = {file.name for file in files}
            loose[:] = [s for s in loose if s.name not in names]
    return tables


def _format_folders(root: LakeRoot) -> Iterator[tuple[str, str]]:
    """The folders that are tables of a format, but for those inside another."""
    outer: list[str] = []
    for folder, marker in sorted(root.format_folders.items()):
        kind = FORMAT_FOLDERS[marker]
        if any(not above or folder.startswith(f"{above}/") for above in outer):
            continue
        where = root.base / folder if folder else root.base
        if kind != "iceberg" or newest_metadata(where) is not None:
            outer.append(folder)
            yield folder, kind


def _list_format_table(
    name: str, folder: Location, kind: str, as_of: datetime | None
) -> LogicalTable:
    if kind == "delta":
        return list_delta_table(name, folder, as_of)
    metadata = newest_metadata(folder) if kind == "iceberg" else None
    if metadata is not None:
        return list_iceberg_table(name, folder, metadata, as_of)
    raise MissingDependency(
        "Hudi tables are not read: export it as Parquet, or write it as Delta or Iceberg"
    )
