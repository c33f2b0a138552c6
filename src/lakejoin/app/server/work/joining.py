"""Jobs that join: a preview of what would be made, and the making of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.app.given import Given
from lakejoin.app.join_answers import report_of, report_of_none
from lakejoin.app.server.cells import cells_of, rows_of
from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.work.describing import check_size, note_of_rows
from lakejoin.app.server.work.joined import JoinAsked, joined
from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join

Told = dict[str, Any]

_ROWS = 40
_MOST = 500
_CELLS = 200_000  # of a preview, about: the server holds it as a whole


def preview(desk: Desk, job: Told, tell: Tell) -> Told:
    """How two tables join, with the keys of `lakejoin join --json`, and some rows."""
    asked = JoinAsked.of(job["join"])
    found = joined(desk, asked, tell)
    left, right = (
        Given(desk.tables.open(id).name, rows)
        for id, rows in ((asked.left, found.left), (asked.right, found.right))
    )
    if not found:
        return report_of_none(found, left, right)
    tell("progress", {"doing": "making some rows"})
    report = report_of(found, left, right)
    wide = found.left.num_columns + found.right.num_columns
    rows = min(_MOST, int(job["join"].get("rows") or _ROWS), max(1, _CELLS // max(1, wide)))
    shown = _preview(found, report, rows)
    return {**report, "found": True, "preview": _kept(shown, asked.columns)}


def run(desk: Desk, job: Told, tell: Tell) -> Told:
    """Makes the join and keeps it under the id that it was given."""
    asked = JoinAsked.of(job["join"])
    found = joined(desk, asked, tell)
    if not found:
        raise Problem("no_join", found.no_join)
    limits = desk.limits
    if len(found) > limits.result_rows:
        raise Problem(
            "too_large",
            f"the result would have {len(found):,} rows, more than the {limits.result_rows:,} that "
            "are kept here: join on other columns, or take the code and run it elsewhere"
            + "".join(f"; {warning}" for warning in found.warnings),
        )
    places = _places(found.schema.names, asked.columns)
    with desk.results.making() as made:
        arrow = made.with_suffix(desk.results.endings[0])
        _write(found, places, arrow, limits.result_bytes, tell)
        tell("progress", {"doing": "looking at the columns"})
        names = tuple(desk.tables.open(one).name for one in (asked.left, asked.right))
        name = f"{_short(names[0])} ⋈ {_short(names[1])}"
        about = {"made": job["made"], "notes": list(found.warnings)}
        note_of_rows(desk, arrow, name, about)
        desk.results.keep(job["id"], made)
    return {"rows": len(found)}


def _write(found: Join, places: Sequence[int], path: Path, most: int, tell: Tell) -> None:
    import pyarrow as pa

    schema = pa.schema([found.schema.field(place) for place in places])
    done = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in found.batches():
            tell("progress", {"doing": f"writing: {done:,} of {len(found):,} rows"})
            writer.write_batch(
                pa.RecordBatch.from_arrays([batch.column(place) for place in places], schema=schema)
            )
            done += batch.num_rows
            check_size(file.tell(), most)


def _places(names: Sequence[str], wanted: Sequence[str] | None) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    missing = [name for name in wanted if name not in names]
    if missing or not wanted:
        raise InputError(f"the result has no column {missing[0]!r}" if missing else "no column")
    return [place for place, name in enumerate(names) if name in set(wanted)]


# -- some rows ---------------------------------------------------------------------------------


def _preview(found: Join, report: Told, limit: int) -> Told:
    """Rows that meet, then rows of each side that do not: of all three some."""
    if found.options.aggregate:
        return _aggregated(found, report, limit)
    beside = max(1, limit // 5)
    pairs = found.pairs(limit)
    rows = list(_met(found, pairs))
    for side in ("left", "right"):
        alone = found.unmatched(side, beside, nearest=False).column("row")
        rows += _alone(found, side, alone)
    return {"columns": _columns(found, report), "rows": rows}


def _met(found: Join, pairs: pa.Table) -> Iterator[Told]:
    left = rows_of(found.left.take(pairs.column("left_row")))
    right = rows_of(found.right.take(pairs.column("right_row")))
    for mine, theirs in zip(left, right, strict=True):
        yield {"cells": mine + theirs, "met": "both"}


def _alone(found: Join, side: str, places: Any) -> Iterator[Told]:
    here, there = (found.left, found.right) if side == "left" else (found.right, found.left)
    nothing: list[Any] = [None] * there.num_columns
    for row in rows_of(here.take(places)):
        yield {"cells": row + nothing if side == "left" else nothing + row, "met": side}


def _columns(found: Join, report: Told) -> list[Told]:
    wide = found.left.num_columns
    keys = {
        *(found.left.column_names.index(name) for name in report["left_columns"]),
        *(wide + found.right.column_names.index(name) for name in report["right_columns"]),
    }
    return [
        {"name": name, "side": "left" if place < wide else "right", "key": place in keys}
        for place, name in enumerate(found.schema.names)
    ]


def _aggregated(found: Join, report: Told, limit: int) -> Told:
    """The first rows of one row for each of mine; which met is not told apart."""
    table = found.table(limit)
    wide = found.left.num_columns
    columns = [
        {
            "name": name,
            "side": "left" if place < wide else "right",
            "key": place < wide and name in report["left_columns"],
        }
        for place, name in enumerate(table.column_names)
    ]
    cells = [cells_of(column) for column in table.columns]
    rows = [{"cells": list(row), "met": "both"} for row in zip(*cells, strict=True)]
    return {"columns": columns, "rows": rows}


def _kept(preview: Told, wanted: Sequence[str] | None) -> Told:
    """Only the columns that the result is to have."""
    places = _places([one["name"] for one in preview["columns"]], wanted)
    return {
        "columns": [preview["columns"][place] for place in places],
        "rows": [
            {**row, "cells": [row["cells"][place] for place in places]} for row in preview["rows"]
        ],
    }


def _short(name: str) -> str:
    """The last part of a name, without what says that it is a file."""
    last = name.rpartition("/")[2]
    return last.partition(".")[0] or last
