"""Render reports for agents: at most 4,000 characters of plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.render.report import Report, Row
from lakejoin.text_format import clip

if TYPE_CHECKING:
    import pyarrow as pa

ANSWER_LENGTH = 4_000  # characters per answer
LINE_LENGTH = 400
NAME_LENGTH = 120
_CELL = 60
_NOTES = 3
_LEAST_ROOM = 200


def render_agent(report: Report, tail: Sequence[str] = ()) -> str:
    """The report with as many rows in full as fit, the others in brief, and then `tail`."""
    full = ["\n".join(row_lines(report, row)) for row in report.rows]
    brief = [": ".join(text.strip() for text in row_lines(report, row)[:2]) for row in report.rows]
    notes = [clip(f"note: {note}", LINE_LENGTH // 2) for note in report.notes[:_NOTES]]
    return fitted_in_brief([report.title.text], full, brief, [*tail, *notes])


def report_lines(report: Report) -> list[str]:
    """The lines of a whole report, each cut to its length."""
    rows = (text for row in report.rows for text in row_lines(report, row))
    after = (shown.text for shown in report.after)
    notes = (f"note: {note}" for note in report.notes)
    return [clip(text, LINE_LENGTH) for text in (report.title.text, *rows, *after, *notes)]


def row_lines(report: Report, row: Row) -> list[str]:
    """A row: its rank and names, its figures with their names, and the lines beneath."""
    rank, *cells = row.cells
    pairs = list(zip(report.columns[1:], cells, strict=True))
    names = [clip(cell.text, NAME_LENGTH) for column, cell in pairs if column.keep]
    figures = [f"{column.name} {cell.text.strip()}" for column, cell in pairs if not column.keep]
    beneath = ("; ".join(figures), *(shown.text for shown in row.lines))
    head = f"{rank.text}. {' · '.join(names)}"
    return [head, *(f"   {clip(text, LINE_LENGTH)}" for text in beneath if text)]


def fitted(
    head: Sequence[str], items: Sequence[str], tail: Sequence[str] = (), more: str = ""
) -> str:
    """As many items as fit between head and tail; `more` describes the items that were left out.

    >>> fitted(["3 tables"], ["a", "b"], ["done"])
    '3 tables\\na\\nb\\ndone'
    >>> text = fitted(["many"], ["x" * 1_500] * 9, ["done"], "more tables")
    >>> len(text) < ANSWER_LENGTH, text[-20:]
    (True, '… 7 more tables\\ndone')
    """
    head, tail = (
        [clip(line, LINE_LENGTH) for line in head],
        [clip(line, LINE_LENGTH) for line in tail],
    )
    room = ANSWER_LENGTH - sum(len(line) + 1 for line in (*head, *tail)) - len(more) - 20
    shown: list[str] = []
    for item in items:
        room -= len(item) + 1
        if room < 0:
            break
        shown.append(item)
    left_out = len(items) - len(shown)
    rest = [f"… {left_out:,} {more}"] if left_out else []
    return "\n".join([*head, *shown, *rest, *tail])[:ANSWER_LENGTH]


def fitted_in_brief(
    head: Sequence[str], full: Sequence[str], brief: Sequence[str], tail: Sequence[str]
) -> str:
    """The first items in full, and those that do not fit in brief.

    >>> text = fitted_in_brief(["two"], ["a" * 3_000, "b" * 3_000], ["a", "b"], ["done"])
    >>> len(text) < ANSWER_LENGTH, text[-7:]
    (True, '\\nb\\ndone')
    """
    room = (
        ANSWER_LENGTH
        - sum(min(len(line), LINE_LENGTH) + 1 for line in (*head, *tail))
        - _LEAST_ROOM
    )
    in_full = 0
    while in_full < len(full):
        items = [*full[: in_full + 1], *brief[in_full + 1 :]]
        if sum(len(item) + 1 for item in items) > room:
            break
        in_full += 1
    return fitted(head, [*full[:in_full], *brief[in_full:]], tail, "more results")


def rows_as_csv(rows: pa.Table, room: int) -> tuple[list[str], int]:
    """Rows as lines of CSV with long cells cut, and the number of columns that fit."""
    names = [clip(name, _CELL) for name in rows.column_names]
    columns = [[clip(cell, _CELL) for cell in column.to_pylist()] for column in rows.columns]
    taken, used = 0, 0
    for name, column in zip(names, columns, strict=True):
        used += sum(len(cell) + 3 for cell in (name, *column))
        if taken and used > max(room, _LEAST_ROOM):
            break
        taken += 1
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(names[:taken])
    writer.writerows(zip(*columns[:taken], strict=True))
    return lines.getvalue().splitlines(), taken
