"""The tools for agents: search for tables that join, describe and preview tables, and join two
tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from lakejoin import api
from lakejoin.errors import InputError, UnknownTable
from lakejoin.formats.file_reader import split_part
from lakejoin.inputs import LakeTable, resolve_table
from lakejoin.joins.join import Join
from lakejoin.joins.options import MatchOptions
from lakejoin.joins.output import check_output, write_table
from lakejoin.model import ColumnProfile
from lakejoin.ranking.join_arguments import join_arguments
from lakejoin.render.agent import (
    ANSWER_LENGTH,
    LINE_LENGTH,
    NAME_LENGTH,
    fitted,
    render_agent,
    report_lines,
    rows_as_csv,
)
from lakejoin.render.headlines import describe_best_joins
from lakejoin.render.report import Row, line
from lakejoin.text_format import clip, counted, format_percent, seconds, size

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.lake import Lake
    from lakejoin.ranking.answer import FusedAnswer, FusedResult
    from lakejoin.ranking.join_candidates import JoinCandidate


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
        resolved = resolve_table(table, lake.snapshot)
        query_table = resolved.query_table(lake.snapshot)
    except UnknownTable:
        matching = lake.tables(table)
        if not matching:
            raise
        match = "1 table matches" if len(matching) == 1 else f"{len(matching):,} tables match"
        return _listed(f"{match} {clip(table, NAME_LENGTH)!r}", matching)
    try:
        return _table(query_table, resolved.notes)
    finally:
        query_table.release()


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
    if split_part(table)[0]:
        rows = resolve_table(table, lake.snapshot).rows
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
    listed = [
        f"{clip(name, NAME_LENGTH)}/: {counted(n, 'table')}" for name, n in sorted(folders.items())
    ]
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
    items = [
        _column(name, profile) for name, profile in zip(table.column_names, profiles, strict=True)
    ]
    tail = [f"note: {note}" for note in (*notes, *table.notes())[:_NOTES]]
    return fitted([head + counted(len(profiles), "column")], items, tail, "more columns")


def _column(name: str, profile: ColumnProfile) -> str:
    examples = ", ".join(clip(value, _EXAMPLE) for value in profile.examples[:_EXAMPLES])
    nulls = f", {format_percent(profile.nulls / profile.rows)} null" if profile.nulls else ""
    unique = ", unique" if profile.uniqueness == 1 and profile.distinct else ""
    summary = f"{profile.type}, {profile.distinct:,} distinct{unique}{nulls}"
    return f"- {clip(name, NAME_LENGTH)}: {summary}" + (
        f"; for example {examples}" if examples else ""
    )


DEFAULT_K = 5


# The last answer for each lake, to continue it: agents ask for the next tables, or another search.
_last: WeakKeyDictionary[Lake, tuple[Any, FusedAnswer]] = WeakKeyDictionary()


def search(
    lake: Lake,
    table: str,
    on: str | Sequence[str] | None = None,
    k: int = DEFAULT_K,
    begin: int = 0,
) -> str:
    """The tables that join best, how each joins and what it adds; what was tried; near misses."""
    answer = _search(lake, table, parse_names(on) or None, k, begin)
    among = counted(len(lake), "table")
    query_table = clip(answer.table, NAME_LENGTH)
    if len(answer) and begin:
        shown = f"{begin + 1:,} to {begin + len(answer):,} of {answer.total:,}"
        head = f"joins {shown} for {query_table} among {among}"
    elif len(answer):
        best = describe_best_joins(len(answer), answer.total)
        head = f"{best} for {query_table} among {among}"
    elif begin and answer.total:
        head = f"no more tables: {counted(answer.total, 'table')} of {among} join"
    else:
        head = f"nothing found: none of {among} joins with {query_table}"
    rows = tuple(map(_row, answer))
    report = replace(answer.report(), title=line(head), rows=rows)
    return render_agent(report, _tried(answer))


def _search(lake: Lake, table: str, on: list[str] | None, k: int, begin: int) -> FusedAnswer:
    """The tables after the first `begin`; from the last search if it was the same."""
    asked, last = (table, on), _last.get(lake)
    if begin and last is not None and last[0] == asked:
        answer = last[1]
    else:
        answer = lake.search(table, on, k)
        _last[lake] = asked, answer
    assert answer.rest is not None, "a final answer has more"
    return answer.rest(begin, k) if begin else answer


def _row(result: FusedResult) -> Row:
    row = result.row()
    arguments = line(f"to join: {_join_arguments(result.candidates[0])}")
    return replace(row, lines=(*row.lines, arguments))


def _join_arguments(candidate: JoinCandidate) -> str:
    """The arguments for the tool `join`, besides the tables."""
    options = join_arguments(candidate)
    arguments = [f"on={list(options.on)}"] if options.on else []
    arguments += [f"by={options.by!r}"] if options.by else []
    arguments += [f"within={options.within!r}"] if options.within else []
    return ", ".join(arguments)


def _tried(answer: FusedAnswer) -> list[str]:
    """What was searched for and how long it took, and coincidental overlap."""
    columns = "; ".join(
        " + ".join(clip(name, NAME_LENGTH) for name in names) for names in answer.columns
    )
    stages = ", ".join(f"{stage} {seconds(took)}" for stage, took in answer.seconds_by.items())
    total = f"{seconds(answer.seconds)} in total"
    lines = [f"tried: columns {clip(columns, LINE_LENGTH // 2)}; {stages}; {total}"]
    if answer.misses:
        lines.append(clip(answer.misses_text, LINE_LENGTH))
    elif not len(answer):
        lines.append("no near misses: no table shares more than a value or two with it")
    return lines


_MOST_ROWS_WRITTEN = 10_000_000
_LINES_LEFT_OUT = "more lines"


def join(
    lake: Lake,
    left: str,
    right: str,
    on: str | Sequence[str] | None = None,
    how: str = "inner",
    by: str | None = None,
    within: str | None = None,
    output: str | None = None,
    rows: int = DEFAULT_ROWS,
) -> str:
    """Show how two tables join, step by step, and the first rows; with `output`, write all rows."""
    if output is not None:
        check_output(output, is_new=True)
    tables = resolve_table(left, lake.snapshot), resolve_table(right, lake.snapshot)
    options = MatchOptions(within=within)
    found = api.join(*tables, parse_names(on), how, by, options=options)
    if not found:
        return fitted(
            [f"nothing found: {found.no_join}"], [], [f"note: {note}" for note in found.notes]
        )
    head = report_lines(found.report())
    if output is not None:
        return fitted(head[:1], head[1:], [_write(found, output)], _LINES_LEFT_OUT)
    lines, taken = rows_as_csv(found.table(rows), ANSWER_LENGTH // 3)
    wide = len(found.schema)
    shown = f"the first rows, {taken:,} of {wide:,} columns" if taken < wide else "the first rows"
    tail = [f"nothing was written; to write all {counted(len(found), 'row')}, set `output`"]
    return fitted(head[:1], [*head[1:], f"{shown}:", *lines], tail, _LINES_LEFT_OUT)


def _write(found: Join, output: str) -> str:
    if len(found) > _MOST_ROWS_WRITTEN:
        warnings = "".join(f"; {warning}" for warning in found.warnings)
        raise InputError(
            f"the result would have {len(found):,} rows, more than the limit of "
            f"{_MOST_ROWS_WRITTEN:,} for agents: join on other columns{warnings}"
        )
    written = write_table(found.batches(), found.schema, output, overwrite=False)
    return f"wrote {Path(output).resolve()}: {counted(len(found), 'row')}, {size(written)}"


def parse_names(value: str | Sequence[str] | None) -> list[str]:
    """One or several names; some agents pass a list as JSON text.

    >>> parse_names("city"), parse_names('["a", "b"]'), parse_names(["a=b"]), parse_names(None)
    (['city'], ['a', 'b'], ['a=b'], [])
    """
    if not isinstance(value, str):
        return list(value or ())
    try:
        names = json.loads(value) if value.startswith("[") else None
    except ValueError:
        names = None
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    return [value]
