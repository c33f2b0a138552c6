"""The tools for agents: search for tables that join, describe and preview tables, and join two
tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lakejoin.errors import InputError, UnknownTable
from lakejoin.lake_access import read_named_table
from lakejoin.mcp.short_text import (
    ANSWER_LENGTH,
    LINE_LENGTH,
    NAME_LENGTH,
    fitted,
    fitted_in_brief,
    parse_names,
    rows_as_csv,
)
from lakejoin.ranking.answer import (
    format_added_columns,
    format_figures,
    format_kind,
    format_versions,
)
from lakejoin.ranking.join_arguments import join_arguments
from lakejoin.search.answer_display import format_percent
from lakejoin.search.table_lookup import resolve_table
from lakejoin.text_format import clip, counted, seconds, size

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.joins.join import Join
    from lakejoin.lake import Lake, LakeTable
    from lakejoin.model import ColumnProfile
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
_MISSES_SHOWN = 3
_ALTERNATIVES_SHOWN = 2


def search(
    lake: Lake, table: str, on: str | Sequence[str] | None = None, k: int = DEFAULT_K
) -> str:
    """The tables that join best, how each joins and what it adds; what was tried; near misses."""
    answer = lake.search(table, parse_names(on) or None, k, by="fused")
    among = counted(len(lake), "table")
    query_table = clip(answer.table, NAME_LENGTH)
    if not len(answer):
        head = f"nothing found: none of {among} joins with {query_table}"
    elif len(answer) == 1:
        head = f"the best join for {query_table} among {among}"
    else:
        head = f"the {len(answer):,} best joins for {query_table} among {among}"
    full, brief = [*map(_in_full, answer)], [*map(_in_brief, answer)]
    return fitted_in_brief([head], full, brief, _tried(answer))


def _in_brief(result: FusedResult) -> str:
    candidate = result.ways[0]
    coverage = f"{format_percent(candidate.result.row_coverage)} of your rows"
    name = f"{result.rank}. {clip(result.table, NAME_LENGTH)} (score {result.score:.2f})"
    return f"{name}: {candidate.kind}, {clip(candidate.pairs, NAME_LENGTH)}, {coverage}"


def _in_full(result: FusedResult) -> str:
    candidate = result.ways[0]
    lines = [
        f"{result.rank}. {clip(result.table, NAME_LENGTH)} (score {result.score:.2f})",
        f"   {clip(format_figures(candidate), LINE_LENGTH)}",
        f"   {clip(format_kind(candidate) or 'equal values', LINE_LENGTH)}",
        f"   {clip(format_added_columns(result), LINE_LENGTH)}",
        f"   evidence: {clip(candidate.why, LINE_LENGTH)}",
        f"   to join: {clip(_join_arguments(candidate), LINE_LENGTH)}",
    ]
    if versions := format_versions(result):
        lines.append(f"   {clip(versions, LINE_LENGTH)}")
    others = [other for other in result.ways[1:] if other.believed]
    if others:
        pairs = "; ".join(clip(other.pairs, NAME_LENGTH) for other in others[:_ALTERNATIVES_SHOWN])
        more = len(others) - _ALTERNATIVES_SHOWN
        lines.append(f"   or by {pairs}" + (f" and {more:,} more" if more > 0 else ""))
    return "\n".join(lines)


def _join_arguments(candidate: JoinCandidate) -> str:
    """The arguments for the tool `join`, besides the tables."""
    options = join_arguments(candidate)
    arguments = [f"on={list(options.on)}"] if options.on else []
    arguments += [f"by={options.by!r}"] if options.by else []
    arguments += [f"within={options.within!r}"] if options.within else []
    return ", ".join(arguments)


def _tried(answer: FusedAnswer) -> list[str]:
    """What was searched for and how long it took, coincidental overlap, and notes."""
    columns = "; ".join(
        " + ".join(clip(name, NAME_LENGTH) for name in names) for names in answer.columns
    )
    stages = ", ".join(f"{stage} {seconds(took)}" for stage, took in answer.seconds_by.items())
    total = f"{seconds(answer.seconds)} in total"
    lines = [f"tried: columns {clip(columns, LINE_LENGTH // 2)}; {stages}; {total}"]
    head = "coincidental overlap" if len(answer) else "nearest misses (coincidental overlap)"
    for miss in answer.misses[:_MISSES_SHOWN]:
        why = f"{clip(miss.ways[0].pairs, NAME_LENGTH)}: {miss.accidental}"
        lines.append(clip(f"{head}: {clip(miss.table, NAME_LENGTH)} ({why})", LINE_LENGTH // 2))
    if not len(answer) and not answer.misses:
        lines.append("no near misses: no table shares more than a value or two with it")
    return [
        *lines,
        *(clip(f"note: {note}", LINE_LENGTH // 2) for note in answer.notes[:_MISSES_SHOWN]),
    ]


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
    from lakejoin.joins.join_finder import join_tables
    from lakejoin.joins.join_inputs import parse_column_pair
    from lakejoin.joins.options import JoinOptions

    if output is not None:
        _check_output(output)
    left_rows, right_rows = read_named_table(left, lake).rows, read_named_table(right, lake).rows
    names = left_rows.column_names, right_rows.column_names
    pairs = tuple(parse_column_pair(text, *names, left, right) for text in parse_names(on))
    rules = lake.snapshot.manifest.options.rules
    options = JoinOptions(on=pairs, how=how, by=by, within=within, rules=rules)
    found = join_tables(left_rows, right_rows, options, lambda doing: None, (left, right))
    if not found:
        return fitted(
            [f"nothing found: {found.no_join}"], [], [f"note: {note}" for note in found.notes]
        )
    head = [clip(line, LINE_LENGTH) for line in str(found).splitlines()]
    if output is not None:
        return fitted(head[:1], head[1:], [_write(found, output)], _LINES_LEFT_OUT)
    lines, taken = rows_as_csv(found.table(rows), ANSWER_LENGTH // 3)
    wide = len(found.schema)
    shown = f"the first rows, {taken:,} of {wide:,} columns" if taken < wide else "the first rows"
    tail = [f"nothing was written; to write all {counted(len(found), 'row')}, set `output`"]
    return fitted(head[:1], [*head[1:], f"{shown}:", *lines], tail, _LINES_LEFT_OUT)


def _check_output(output: str) -> None:
    """Refuse an unusable output file before the work starts."""
    from lakejoin.joins.output import check_output

    check_output(output)
    if Path(output).exists():
        raise InputError(f"{output} exists already and is never overwritten: name another file")


def _write(found: Join, output: str) -> str:
    from lakejoin.joins.output import write_table

    if len(found) > _MOST_ROWS_WRITTEN:
        warnings = "".join(f"; {warning}" for warning in found.warnings)
        raise InputError(
            f"the result would have {len(found):,} rows, more than the limit of "
            f"{_MOST_ROWS_WRITTEN:,} for agents: join on other columns{warnings}"
        )
    written = write_table(found.batches(), found.schema, output, overwrite=False)
    return f"wrote {Path(output).resolve()}: {counted(len(found), 'row')}, {size(written)}"
