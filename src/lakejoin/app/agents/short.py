"""Answers that an agent can afford to read: plain text of at most 4,000 characters."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.app.printing import clip

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 4_000  # characters of an answer
LINE = 400
NAME = 120
_CELL = 60
_LEAST_ROOM = 200


def fitted(
    head: Sequence[str], items: Sequence[str], tail: Sequence[str] = (), more: str = ""
) -> str:
    """As many items as fit between a head and a tail; `more` says what was left out, after its
    number.

    >>> fitted(["3 tables"], ["a", "b"], ["done"])
    '3 tables\\na\\nb\\ndone'
    >>> text = fitted(["many"], ["x" * 1_500] * 9, ["done"], "more tables")
    >>> len(text) < MOST, text[-20:]
    (True, '… 7 more tables\\ndone')
    """
    head, tail = [clip(line, LINE) for line in head], [clip(line, LINE) for line in tail]
    room = MOST - sum(len(line) + 1 for line in (*head, *tail)) - len(more) - 20
    kept: list[str] = []
    for item in items:
        room -= len(item) + 1
        if room < 0:
            break
        kept.append(item)
    left = len(items) - len(kept)
    told = [f"… {left:,} {more}"] if left else []
    return "\n".join([*head, *kept, *told, *tail])[:MOST]


def within(
    head: Sequence[str], full: Sequence[str], brief: Sequence[str], tail: Sequence[str]
) -> str:
    """The first items in full, and the others in brief where there is no room for them.

    >>> text = within(["two"], ["a" * 3_000, "b" * 3_000], ["a", "b"], ["done"])
    >>> len(text) < MOST, text[-7:]
    (True, '\\nb\\ndone')
    """
    room = MOST - sum(min(len(line), LINE) + 1 for line in (*head, *tail)) - _LEAST_ROOM
    kept = 0
    while kept < len(full):
        items = [*full[: kept + 1], *brief[kept + 1 :]]
        if sum(len(item) + 1 for item in items) > room:
            break
        kept += 1
    return fitted(head, [*full[:kept], *brief[kept:]], tail, "more, for which there is no room")


def rows_as_csv(rows: pa.Table, room: int) -> tuple[list[str], int]:
    """Rows as lines of CSV, long cells cut, and how many columns there was room for."""
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


def names_of(given: str | Sequence[str] | None) -> list[str]:
    """One name or several; some agents write a list as the text of one.

    >>> names_of("city"), names_of('["a", "b"]'), names_of(["a=b"]), names_of(None)
    (['city'], ['a', 'b'], ['a=b'], [])
    """
    if not isinstance(given, str):
        return list(given or ())
    try:
        listed = json.loads(given) if given.startswith("[") else None
    except ValueError:
        listed = None
    is_list = isinstance(listed, list) and all(isinstance(one, str) for one in listed)
    return list(listed) if isinstance(listed, list) and is_list else [given]
