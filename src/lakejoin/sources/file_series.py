"""Series: dumps of one table whose names differ in their date (`sales_2024-01-01.csv`, …), or that
are numbered as copies (`export (3).csv`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date

from lakejoin.locations import Location
from lakejoin.model import Composition, LogicalTable, Source, SourceFile, TableFile
from lakejoin.sources.lake_files import LakeRoot, free_name
from lakejoin.sources.partitioned_folders import stamp_files
from lakejoin.sources.table_headers import read_header, split_ending

LEAST_DATED = 3  # fewer dated files stay apart: two may be two editions
LEAST_COPIES = 2
_MEMBERS_NAMED = 1000
_HEAD = 1 << 12
_SAME = 0.8  # of the columns of two headers together, to be those of one table

_TIME = r"(?:[T_ -]?[012]\d[-_:.h]?[0-5]\d(?:[-_:.]?[0-5]\d)?Z?)?"
_YEAR_FIRST = re.compile(
    r"(?<![\d.])((?:19|20)\d\d)([-_./]?)(\d\d)(?:\2(\d\d)" + _TIME + r")?(?!\d)"
)
_DAY_FIRST = re.compile(r"(?<!\d)(\d\d)([-_.])(\d\d)\2((?:19|20)\d\d)(?!\d)")
_COPY = re.compile(r" ?\(\d{1,4}\)$")


def mask_date(path: str) -> tuple[str, bool]:
    """A path with `{date}` for its dates of at least a month, and whether they are all dates: the
    season 2012-13 is not.

    >>> mask_date("a/sales_2024-01-31.csv"), mask_date("2024/01/31/x.json"), mask_date("x_2024.csv")
    (('a/sales_{date}.csv', True), ('{date}/x.json', True), ('x_2024.csv', False))
    >>> mask_date("2012-13/eng.csv")
    ('{date}/eng.csv', False)
    """
    found: list[bool] = []

    def year_first(match: re.Match[str]) -> str:
        found.append(_is_date(match[1], match[3], match[4] or "01"))
        return "{date}"

    def day_first(match: re.Match[str]) -> str:
        found.append(_is_date(match[4], match[3], match[1]))
        return "{date}"

    masked = _DAY_FIRST.sub(day_first, path)
    masked = _YEAR_FIRST.sub(year_first, masked)
    return masked, bool(found) and all(found)


def _is_date(year: str, month: str, day: str) -> bool:
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True


def find_series(root: LakeRoot) -> list[Source]:
    """The sources of a lake, with the files of a series as one table.

    Files belong together if their names differ in nothing but the date or the number of a copy,
    and have the same columns, or nearly.
    """
    dated: dict[str, list[SourceFile]] = {}
    refused: set[str] = set()
    copies: dict[str, list[SourceFile]] = {}
    for source in root.sources:
        if not isinstance(source, SourceFile):
            continue
        folder, slash, last = source.name.rpartition("/")
        stem, ending = split_ending(last)
        if not ending:
            continue
        masked, is_date = mask_date(source.name)
        if masked != source.name:
            dated.setdefault(masked, []).append(source)
            if not is_date:
                refused.add(masked)
            continue
        base = _COPY.sub("", stem)
        copies.setdefault(f"{folder}{slash}{base} ({{number}}){last[len(stem) :]}", []).append(
            source
        )
    tables: list[tuple[str, list[SourceFile]]] = []
    for name, files in dated.items():
        if name not in refused and len(files) >= LEAST_DATED:
            tables += ((name, same) for same in _same_columns(files, LEAST_DATED))
    for name, files in copies.items():
        if len(files) >= LEAST_COPIES and any(_is_copy(file.name) for file in files):
            tables += ((name, same) for same in _same_columns(files, LEAST_COPIES))
    members = {file.name for _, files in tables for file in files}
    rest: list[Source] = [source for source in root.sources if source.name not in members]
    taken = {source.name for source in rest}
    for name, files in tables:
        free = free_name(name, taken)
        rest.append(united_files(free, root.base / free, files))
    return rest


def united_files(name: str, where: Location, files: Sequence[SourceFile]) -> LogicalTable:
    """A series of files under a name."""
    members = tuple(file.name for file in files[:_MEMBERS_NAMED])
    return LogicalTable(
        name,
        where.uri,
        sum(file.size for file in files),
        stamp_files(files),
        Composition("series", len(files), members=members),
        tuple(TableFile(file) for file in files),
    )


def _is_copy(name: str) -> bool:
    return _COPY.search(split_ending(name)[0]) is not None


def _same_columns(files: Sequence[SourceFile], least: int) -> list[list[SourceFile]]:
    """The files with the columns that most have, or nearly, then those of the rest with the columns
    that most of these have, and so on, as long as they are `least` or more.

    A file that begins with the same line as one before has its columns: it is not looked at again.
    """
    by_line: dict[bytes, frozenset[str] | None] = {}
    left: dict[SourceFile, frozenset[str]] = {}
    for file in files:
        line = _first_line(file)
        if line not in by_line or not line:
            names = read_header(file)
            by_line[line] = (
                None if names is None else frozenset(name.strip().casefold() for name in names)
            )
        header = by_line[line]
        if header:
            left[file] = header
    tables: list[list[SourceFile]] = []
    while len(left) >= least:
        usual = Counter(left.values()).most_common(1)[0][0]
        same = [f for f, header in left.items() if _are_same(header, usual)]
        left = {f: header for f, header in left.items() if not _are_same(header, usual)}
        if len(same) >= least:
            tables.append(same)
    return tables


def _are_same(header: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two headers are nearly equal, or one has gained columns, at most as many again."""
    shared, all_names = len(header & other), len(header | other)
    gained = shared == min(len(header), len(other)) and shared > 1 and all_names <= 2 * shared
    return gained or shared >= _SAME * all_names


def _first_line(file: SourceFile) -> bytes:
    """The first line of a text file, if it is short; else nothing."""
    try:
        with Location.of(file.uri).open() as opened:
            head = opened.read(_HEAD)
    except OSError:
        return b""
    line, end, _ = head.partition(b"\n")
    return line if end and b"\0" not in head and line.count(b'"') % 2 == 0 else b""
