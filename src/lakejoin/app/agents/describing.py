"""The tools `describe` and `preview`: what is in the lake, in a table, in its rows?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.app.agents.short import MOST, NAME, fitted, names_of, rows_as_csv
from lakejoin.app.given import given_table
from lakejoin.app.printing import clip, counted, size
from lakejoin.errors import InputError, UnknownTable
from lakejoin.search.display import percent
from lakejoin.search.meant import table_of

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ColumnProfile
    from lakejoin.opened import Lake, LakeTable
    from lakejoin.search.mine import MyTable

DEFAULT_ROWS = 5
MOST_ROWS = 50
_EXAMPLE = 24
_EXAMPLES = 3
_NOTES = 3
_NAMED = 40  # tables; of more, their folders are


def describe(lake: Lake, table: str | None = None) -> str:
    """The columns of a table; the tables that fit a part of a name; without one, the lake."""
    if table is None:
        return _lake(lake)
    try:
        mine, notes = table_of(table, lake.snapshot)
    except UnknownTable:
        fitting = lake.tables(table)
        if not fitting:
            raise
        fits = "1 table fits" if len(fitting) == 1 else f"{len(fitting):,} tables fit"
        return _listed(f"{fits} {clip(table, NAME)!r}", fitting)
    try:
        return _table(mine, notes)
    finally:
        mine.forget()


def preview(
    lake: Lake,
    table: str,
    rows: int = DEFAULT_ROWS,
    begin: int = 0,
    columns: str | Sequence[str] | None = None,
) -> str:
    """Some rows of a table, as CSV."""
    chosen, total = _rows(lake, table, begin, begin + rows)
    wide = chosen.num_columns
    if columns is not None:
        chosen = _only(chosen, names_of(columns), table)
    lines, taken = rows_as_csv(chosen, MOST // 2)
    last = begin + chosen.num_rows
    which = f"rows {begin + 1:,} to {last:,}" if chosen.num_rows else "no rows there,"
    head = [f"{clip(table, NAME)}: {which} of {total:,}; {counted(wide, 'column')}"]
    tail = []
    if taken < chosen.num_columns:
        rest = ", ".join(clip(name, _EXAMPLE) for name in chosen.column_names[taken:])
        tail.append(f"no room for {counted(chosen.num_columns - taken, 'column')}: {rest}")
        tail.append("name the ones that you want in `columns`")
    return fitted([*head, lines[0]], lines[1:], tail, "more rows, not shown: ask for fewer columns")


def _rows(lake: Lake, table: str, begin: int, end: int) -> tuple[pa.Table, int]:
    from lakejoin.lake.read import file_and_part

    if file_and_part(table)[0]:
        given = given_table(table, lake).rows
        return given.slice(begin, end - begin), given.num_rows
    found = lake.table(table)
    return found.to_arrow(min(begin, found.rows), min(end, found.rows)), found.rows


def _only(rows: pa.Table, names: Sequence[str], table: str) -> pa.Table:
    known = rows.column_names
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(f"{table} has no column {missing[0]!r}: describe it to see its columns")
    return rows.select([known.index(name) for name in names])


def _lake(lake: Lake) -> str:
    info = lake.info()
    lines = [
        f"a lake of {counted(info['tables'], 'table')} with {info['columns']:,} columns and "
        f"{info['rows']:,} rows, indexed {info['created']} ({size(info['bytes'])})",
        f"searched by {', '.join(['equal values', *info['parts']])}",
    ]
    return _listed(". ".join(lines), lake.tables())


def _by_folder(tables: Sequence[LakeTable]) -> list[str]:
    """The folders of tables, where there are too many of these to be named."""
    folders = Counter(one.name.partition("/")[0] for one in tables if "/" in one.name)
    alone = [one for one in tables if "/" not in one.name]
    listed = [f"{clip(name, NAME)}/: {counted(n, 'table')}" for name, n in sorted(folders.items())]
    return [*listed, *map(_line, alone)]


def _line(table: LakeTable) -> str:
    shape = f"{counted(table.rows, 'row')}, {counted(table.entry.width, 'column')}"
    return f"{clip(table.name, NAME)}: {shape}"


def _listed(head: str, tables: Sequence[LakeTable]) -> str:
    items = [_line(one) for one in tables] if len(tables) <= _NAMED else _by_folder(tables)
    return fitted([head], items, more="more: describe a part of a name, or a glob")


def _table(mine: MyTable, notes: Sequence[str]) -> str:
    profiles = mine.profiles()
    head = f"{clip(mine.name, NAME)}: {counted(mine.rows(), 'row')}, "
    items = [_column(*one) for one in zip(mine.names, profiles, strict=True)]
    tail = [f"note: {note}" for note in (*notes, *mine.notes())[:_NOTES]]
    return fitted([head + counted(len(profiles), "column")], items, tail, "more columns")


def _column(name: str, profile: ColumnProfile) -> str:
    examples = ", ".join(clip(one, _EXAMPLE) for one in profile.examples[:_EXAMPLES])
    nulls = f", {percent(profile.nulls / profile.rows)} null" if profile.nulls else ""
    unique = ", unique" if profile.uniqueness == 1 and profile.distinct else ""
    told = f"{profile.type}, {profile.distinct:,} distinct{unique}{nulls}"
    return f"- {clip(name, NAME)}: {told}" + (f"; such as {examples}" if examples else "")
