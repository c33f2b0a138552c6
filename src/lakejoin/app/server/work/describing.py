"""Jobs that look at tables: what the columns of a new one are, and one of the lake as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.tables import NOTE, mapped, note_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from lakejoin.model import ColumnProfile

_BATCH = 1 << 16

Told = dict[str, Any]


def describe(desk: Desk, job: Told, tell: Tell) -> Told:
    """Writes a note beside rows that SQL has made, and keeps both under the id given."""
    made = Path(job["path"])
    tell("progress", {"doing": "looking at the columns"})
    note_of_rows(desk, made.with_suffix(desk.results.endings[0]), job["name"], job["about"])
    desk.results.keep(job["id"], made)
    return {}


def as_arrow(desk: Desk, job: Told, tell: Tell) -> Told:
    """A table of the lake as an Arrow file, kept under the id given, for what reads only files."""
    import pyarrow as pa

    table = desk.tables.open(job["table"])
    with desk.results.making() as made:
        path = made.with_suffix(desk.results.endings[0])
        schema = table.part(0, 0).schema
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for begin in range(0, table.rows, _BATCH):
                tell("progress", {"doing": f"reading: {begin:,} of {table.rows:,} rows"})
                writer.write_table(table.part(begin, begin + _BATCH))
                check_size(file.tell(), desk.limits.result_bytes)
        made.with_suffix(NOTE).write_text(json.dumps(table.info()), "utf-8")
        desk.results.keep(job["id"], made)
    return {}


def check_size(size: int, most: int) -> None:
    """A problem if a file that is being made is larger than may be kept."""
    if size > most:
        raise Problem(
            "too_large",
            f"this has more than the {most / 1e9:g} GB that are kept here: take fewer rows or "
            "columns, or take the code and run it elsewhere",
        )


def note_of_rows(desk: Desk, path: Path, name: str, about: Told) -> None:
    """Writes what the columns of an Arrow file are beside it."""
    rows = mapped(path)
    rows.validate(full=True)  # what strangers' SQL ran beside wrote it, and the server will map it
    rules = desk.lake().snapshot.manifest.options.rules
    note = note_of(name, rows.column_names, profiles_of(rows, rules), rows.num_rows, **about)
    path.with_suffix(NOTE).write_text(json.dumps(note), "utf-8")


def profiles_of(rows: pa.Table, rules: Any) -> Sequence[ColumnProfile]:
    """What each column looks like, by the rules of the index."""
    from lakejoin.search.own_table import Frame, OwnTable

    table = OwnTable(Frame(rows), rules)
    found = []
    for place in range(rows.num_columns):  # one after the other: each is encoded in memory
        found.append(table.profile(place))
        table.forget()
    return found
