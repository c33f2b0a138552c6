"""The tool `join`: shows how two tables join, and writes the result where it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lakejoin.app.agents.short import LINE, MOST, fitted, names_of, rows_as_csv
from lakejoin.app.given import given_table
from lakejoin.app.printing import clip, counted, size
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.joins.join import Join
    from lakejoin.opened import Lake

DEFAULT_ROWS = 5
MOST_ROWS = 50
_MOST_WRITTEN = 10_000_000  # rows
_LEFT_OUT = "more lines, for which there is no room"


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
    """How two tables join, step by step, and the first rows; with `output`, all are written."""
    from lakejoin.joins.joining import join_tables
    from lakejoin.joins.on import columns_of
    from lakejoin.joins.options import JoinOptions

    if output is not None:
        _check(output)
    mine, theirs = given_table(left, lake), given_table(right, lake)
    names = mine.rows.column_names, theirs.rows.column_names
    pairs = tuple(columns_of(text, *names, left, right) for text in names_of(on))
    rules = lake.snapshot.manifest.options.rules
    options = JoinOptions(on=pairs, how=how, by=by, within=within, rules=rules)
    found = join_tables(mine.rows, theirs.rows, options, lambda doing: None, (left, right))
    if not found:
        return fitted(
            [f"nothing found: {found.no_join}"], [], [f"note: {note}" for note in found.notes]
        )
    head = [clip(line, LINE) for line in str(found).splitlines()]
    if output is not None:
        return fitted(head[:1], head[1:], [_written(found, output)], _LEFT_OUT)
    lines, taken = rows_as_csv(found.table(rows), MOST // 3)
    wide = len(found.schema)
    shown = f"the first rows, {taken:,} of {wide:,} columns" if taken < wide else "the first rows"
    tail = [f"nothing was written; `output` names a file for all {counted(len(found), 'row')}"]
    return fitted(head[:1], [*head[1:], f"{shown}:", *lines], tail, _LEFT_OUT)


def _check(output: str) -> None:
    """Says at once what would otherwise fail only after the work is done."""
    from lakejoin.joins.output import check_output

    check_output(output)
    if Path(output).exists():
        raise InputError(f"{output} is there already and is never overwritten: name another file")


def _written(found: Join, output: str) -> str:
    from lakejoin.joins.output import write

    if len(found) > _MOST_WRITTEN:
        said = "".join(f"; {warning}" for warning in found.warnings)
        raise InputError(
            f"the result would have {len(found):,} rows, more than the {_MOST_WRITTEN:,} that are "
            f"written for an agent: join on other columns{said}"
        )
    written = write(found.batches(), found.schema, output, over=False)
    return f"written to {Path(output).resolve()}: {counted(len(found), 'row')}, {size(written)}"
