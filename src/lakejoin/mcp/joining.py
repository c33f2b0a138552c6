"""The tool `join`: show how two tables join, and write the result to a new file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lakejoin.mcp.lake_tools import DEFAULT_ROWS
from lakejoin.mcp.short_text import LINE_LENGTH, ANSWER_LENGTH, fitted, parse_names, rows_as_csv
from lakejoin.lake_access import read_named_table
from lakejoin.text_format import clip, counted, size
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.joins.join import Join
    from lakejoin.lake import Lake

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
    from lakejoin.joins.joining import join_tables
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
    written = write_table(found.batches(), found.schema, output, over=False)
    return f"wrote {Path(output).resolve()}: {counted(len(found), 'row')}, {size(written)}"
