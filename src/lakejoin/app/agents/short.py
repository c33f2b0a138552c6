"""Fit answers for agents into 4,000 characters of plain text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.app.text_format import clip

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 4_000  # characters per answer
LINE = 400
NAME = 120
_CELL = 60
_LEAST_ROOM = 200


def fitted(
    head: Sequence[str], items: Sequence[str], tail: Sequence[str] = (), more: str = ""
) -> str:
    """As many items as fit between head and tail; `more` describes the items that were left out.

    >>> fitted(["3 tables"], ["a", "b"], ["done"])
    '3 tables\\na\\nb\\ndone'
    >>> text = fitted(["many"], ["x" * 1_500] * 9, ["done"], "more tables")
    >>> len(text) < MOST, text[-20:]
    (True, '… 7 more tables\\ndone')
    """
    head, tail = [clip(line, LINE) for line in head], [clip(line, LINE) for line in tail]
    room = MOST - sum(len(line) + 1 for line in (*head, *tail)) - len(more) - 20
    shown: list[str] = []
    for item in items:
        room -= len(item) + 1
        if room < 0:
            break
        shown.append(item)
    left_out = len(items) - len(shown)
    rest = [f"… {left_out:,} {more}"] if left_out else []
    return "\n".join([*head, *shown, *rest, *tail])[:MOST]


def within(
    head: Sequence[str], full: Sequence[str], brief: Sequence[str], tail: Sequence[str]
) -> str:
    """The first items in full, and those that do not fit in brief.

    >>> text = within(["two"], ["a" * 3_000, "b" * 3_000], ["a", "b"], ["done"])
    >>> len(text) < MOST, text[-7:]
    (True, '\\nb\\ndone')
    """
    room = MOST - sum(min(len(line), LINE) + 1 for line in (*head, *tail)) - _LEAST_ROOM
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


def names_of(value: str | Sequence[str] | None) -> list[str]:
    """One or several names; some agents pass a list as JSON text.

    >>> names_of("city"), names_of('["a", "b"]'), names_of(["a=b"]), names_of(None)
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
