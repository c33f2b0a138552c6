"""The tools `describe` and `preview`: the lake, a table, its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.mcp.short_text import ANSWER_LENGTH, NAME_LENGTH, fitted, parse_names, rows_as_csv
from lakejoin.lake_access import read_named_table
from lakejoin.text_format import clip, counted, size
from lakejoin.errors import InputError, UnknownTable
from lakejoin.search.answer_display import format_percent
from lakejoin.search.meant import resolve_table

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ColumnProfile
    from lakejoin.lake import Lake, LakeTable
    from lakejoin.engines.mine import QueryTable

DEFAULT_ROWS = 5
MOST_ROWS = 50
_EXAMPLE = 24
_EXAMPLES = 3
_NOTES = 3
_TABLES_LISTED = 40  # if there are more, their folders are listed


def describe(lake: Lake, table: str | None = None) -> str:
    """Describe a table or the lake, or list the tables that match a pattern."""
    if table is None:
        return _lake(lake)
    try:
        query_table, notes = resolve_table(table, lake.snapshot)
    except UnknownTable:
        matching = lake.tables(table)
        if not matching:
            raise
        match = "1 table matches" if len(matching) == 1 else f"{len(matching):,} tables match"
        return _listed(f"{match} {clip(table, NAME_LENGTH)!r}", matching)
    try:
        return _table(query_table, notes)
    finally:
        query_table.forget()


def preview(
    lake: Lake,
    table: str,
    rows: int = DEFAULT_ROWS,
    begin: int = 0,
    columns: str | Sequence[str] | None = None,
) -> str:
    """Show some rows of a table as CSV."""
    chosen, total = _rows(lake, table, begin, begin + rows)
    wide = chosen.num_columns
    if columns is not None:
        chosen = _only(chosen, parse_names(columns), table)
    lines, taken = rows_as_csv(chosen, ANSWER_LENGTH // 2)
    last = begin + chosen.num_rows
    which = f"rows {begin + 1:,} to {last:,} of" if chosen.num_rows else "no more rows after"
    head = [f"{clip(table, NAME_LENGTH)}: {which} {total:,}; {counted(wide, 'column')}"]
    tail = []
    if taken < chosen.num_columns:
        rest = ", ".join(clip(name, _EXAMPLE) for name in chosen.column_names[taken:])
        tail.append(f"no space for {counted(chosen.num_columns - taken, 'column')}: {rest}")
        tail.append("name the columns you need in `columns`")
    return fitted([*head, lines[0]], lines[1:], tail, "more rows: select fewer columns to see them")


def _rows(lake: Lake, table: str, begin: int, end: int) -> tuple[pa.Table, int]:
    from lakejoin.formats.file_reader import split_part

    if split_part(table)[0]:
        rows = read_named_table(table, lake).rows
        return rows.slice(begin, end - begin), rows.num_rows
    lake_table = lake.table(table)
    last = lake_table.rows
    return lake_table.to_arrow(min(begin, last), min(end, last)), last


def _only(rows: pa.Table, names: Sequence[str], table: str) -> pa.Table:
    known = rows.column_names
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(
            f"column {missing[0]!r} not found in {table}: use describe to see its columns"
        )
    return rows.select([known.index(name) for name in names])


def _lake(lake: Lake) -> str:
    info = lake.info()
    lines = [
        f"a lake of {counted(info['tables'], 'table')} with {info['columns']:,} columns and "
        f"{info['rows']:,} rows, indexed {info['created']} ({size(info['bytes'])})",
        f"can be searched by {', '.join(['equal values', *info['parts']])}",
    ]
    return _listed(". ".join(lines), lake.tables())


def _by_folder(tables: Sequence[LakeTable]) -> list[str]:
    """The folders of tables, if there are too many tables to list."""
    folders = Counter(table.name.partition("/")[0] for table in tables if "/" in table.name)
    alone = [table for table in tables if "/" not in table.name]
    listed = [f"{clip(name, NAME_LENGTH)}/: {counted(n, 'table')}" for name, n in sorted(folders.items())]
    return [*listed, *map(_line, alone)]


def _line(table: LakeTable) -> str:
    shape = f"{counted(table.rows, 'row')}, {counted(table.entry.width, 'column')}"
    return f"{clip(table.name, NAME_LENGTH)}: {shape}"


def _listed(head: str, tables: Sequence[LakeTable]) -> str:
    items = [*map(_line, tables)] if len(tables) <= _TABLES_LISTED else _by_folder(tables)
    return fitted([head], items, more="more: describe a part of a name, or a glob, to see them")


def _table(table: QueryTable, notes: Sequence[str]) -> str:
    profiles = table.profiles()
    head = f"{clip(table.name, NAME_LENGTH)}: {counted(table.rows(), 'row')}, "
    items = [_column(name, profile) for name, profile in zip(table.names, profiles, strict=True)]
    tail = [f"note: {note}" for note in (*notes, *table.notes())[:_NOTES]]
    return fitted([head + counted(len(profiles), "column")], items, tail, "more columns")


def _column(name: str, profile: ColumnProfile) -> str:
    examples = ", ".join(clip(value, _EXAMPLE) for value in profile.examples[:_EXAMPLES])
    nulls = f", {format_percent(profile.nulls / profile.rows)} null" if profile.nulls else ""
    unique = ", unique" if profile.uniqueness == 1 and profile.distinct else ""
    summary = f"{profile.type}, {profile.distinct:,} distinct{unique}{nulls}"
    return f"- {clip(name, NAME_LENGTH)}: {summary}" + (f"; for example {examples}" if examples else "")
