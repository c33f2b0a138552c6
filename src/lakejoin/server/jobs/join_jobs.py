"""What a job has in hand; the jobs that preview, compute and store joins, and profile tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakejoin import api
from lakejoin.errors import InputError
from lakejoin.joins.join_inputs import loaded_input
from lakejoin.joins.join_report import join_report
from lakejoin.joins.options import MatchOptions
from lakejoin.model import ColumnProfile
from lakejoin.server.api_problems import Problem
from lakejoin.server.job_loop import ProgressReporter
from lakejoin.server.table_output import rows_to_json
from lakejoin.server.workspace import (
    DESCRIPTION_SUFFIX,
    ServedTable,
    Workspace,
    build_description,
    map_arrow_file,
)

if TYPE_CHECKING:
    from lakejoin.joins.join import Join


Json = dict[str, Any]

MATCH_OPTIONS = ("within", "tau", "precision", "one_to_one", "aggregate")
_MAX_PREVIEW_CELLS = 200_000  # about; the server keeps a preview in memory


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a worker: what was asked for, the workspace, and how the server hears of it."""

    workspace: Workspace
    fields: Json
    tell: ProgressReporter

    def open(self, key: str = "table") -> ServedTable:
        """Open the table whose id is in a field."""
        return self.workspace.open(self.fields[key])

    def progress(self, doing: str) -> None:
        """Tell the server what is being done."""
        self.tell("progress", {"doing": doing})


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """How to join two tables, given by id; `columns` are those to keep in the result."""

    left: str
    right: str
    on: tuple[tuple[str, str], ...] | None = None
    how: str = "inner"
    by: str | None = None
    within: str | float | None = None
    tau: float | None = None
    precision: float = 0.9
    one_to_one: bool = False
    aggregate: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> JoinRequest:
        """From the JSON of a request, ignoring unknown and null fields.

        >>> fields = {"left": "lake:a", "right": "lake:b", "on": [{"left": "x", "right": "y"}]}
        >>> JoinRequest.from_fields({**fields, "rows": 5, "tau": None}).on
        (('x', 'y'),)
        """
        settings = {name: fields[name] for name in cls.__slots__ if fields.get(name) is not None}
        if "on" in settings:
            settings["on"] = tuple((p["left"], p["right"]) for p in settings["on"]) or None
        for name in ("aggregate", "columns"):
            if name in settings:
                settings[name] = tuple(settings[name])
        return cls(**settings)

    def settings(self) -> Json:
        """Everything except the tables, for the id of the result."""
        return {key: value for key, value in asdict(self).items() if key not in ("left", "right")}


def compute_join(job: Job, request: JoinRequest) -> Join:
    """Join two tables; the result is falsy if there is no join."""
    left, right = (job.workspace.open(id).as_input() for id in (request.left, request.right))
    options = MatchOptions(**{name: getattr(request, name) for name in MATCH_OPTIONS})
    on = list(request.on) if request.on else None
    return api.join(
        left, right, on, request.how, request.by, options=options, progress=job.progress
    )


def preview_join(job: Job) -> Json:
    """How two tables join, with the keys of `lakejoin join --json`, and some rows."""
    request = JoinRequest.from_fields(job.fields["join"])
    join = compute_join(job, request)
    left, right = (
        loaded_input(job.workspace.open(id).name, rows)
        for id, rows in ((request.left, join.left), (request.right, join.right))
    )
    if not join:
        return join_report(join, left, right)
    job.progress("joining sample rows")
    report = join_report(join, left, right)
    width = join.left.num_columns + join.right.num_columns
    rows = min(job.fields["join"]["rows"], max(1, _MAX_PREVIEW_CELLS // max(1, width)))
    sample = _sample_rows(join, report, rows)
    return {**report, "found": True, "preview": _select_columns(sample, request.columns)}


def store_join(job: Job) -> Json:
    """Compute the join and store it under the job's id."""
    request = JoinRequest.from_fields(job.fields["join"])
    join = compute_join(job, request)
    if not join:
        raise Problem("no_join", join.no_join)
    workspace, limits = job.workspace, job.workspace.limits
    if len(join) > limits.result_rows:
        raise Problem(
            "too_large",
            f"the result would have {len(join):,} rows, and the limit is "
            f"{limits.result_rows:,}: join on other columns, or run the exported code elsewhere"
            + "".join(f"; {warning}" for warning in join.warnings),
        )
    indexes = _column_indexes(join.schema.names, request.columns)
    with workspace.results.temporary_path() as made:
        arrow = made.with_suffix(workspace.results.suffixes[0])
        _write(job, join, indexes, arrow)
        job.progress("profiling the columns")
        names = [workspace.open(id).name for id in (request.left, request.right)]
        name = f"{_short_name(names[0])} ⋈ {_short_name(names[1])}"
        about = {"made": job.fields["made"], "notes": list(join.warnings)}
        write_description(workspace, arrow, name, about)
        workspace.results.commit(job.fields["id"], made)
    return {"rows": len(join)}


def _write(job: Job, join: Join, indexes: Sequence[int], path: Path) -> None:
    schema = pa.schema([join.schema.field(index) for index in indexes])
    done = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in join.batches():
            job.progress(f"writing: {done:,} of {len(join):,} rows")
            columns = [batch.column(index) for index in indexes]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            done += batch.num_rows
            check_size(file.tell(), job.workspace.limits.result_bytes)


def _column_indexes(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    if not columns:
        raise InputError("select at least one column of the result")
    if missing := [name for name in columns if name not in names]:
        raise InputError(f"column {missing[0]!r} not found in the result")
    return [index for index, name in enumerate(names) if name in set(columns)]


# -- preview -----------------------------------------------------------------------------------


def _sample_rows(join: Join, report: Json, limit: int) -> Json:
    """Some matched rows, then some unmatched rows of each side."""
    columns = _preview_columns(join, report)
    if join.options.aggregate:  # all rows count as matched
        rows = [{"cells": cells, "met": "both"} for cells in rows_to_json(join.table(limit))]
        return {"columns": columns, "rows": rows}
    unmatched_limit = max(1, limit // 5)
    pairs = join.pairs(limit)
    rows = list(_matched_rows(join, pairs))
    for side in ("left", "right"):
        unmatched = join.unmatched(side, unmatched_limit, nearest=False).column("row")
        rows += _unmatched_rows(join, side, unmatched)
    return {"columns": columns, "rows": rows}


def _matched_rows(join: Join, pairs: pa.Table) -> Iterator[Json]:
    left = rows_to_json(join.left.take(pairs.column("left_row")))
    right = rows_to_json(join.right.take(pairs.column("right_row")))
    for left_cells, right_cells in zip(left, right, strict=True):
        yield {"cells": left_cells + right_cells, "met": "both"}


def _unmatched_rows(join: Join, side: str, rows: Any) -> Iterator[Json]:
    table, other = (join.left, join.right) if side == "left" else (join.right, join.left)
    nulls: list[Any] = [None] * other.num_columns
    for cells in rows_to_json(table.take(rows)):
        yield {"cells": cells + nulls if side == "left" else nulls + cells, "met": side}


def _preview_columns(join: Join, report: Json) -> list[Json]:
    left_width = join.left.num_columns
    keys = {join.left.column_names.index(name) for name in report["left_columns"]}
    if not join.options.aggregate:  # which drops and renames right columns
        right = join.right.column_names
        keys |= {left_width + right.index(name) for name in report["right_columns"]}
    return [
        {"name": name, "side": "left" if index < left_width else "right", "key": index in keys}
        for index, name in enumerate(join.schema.names)
    ]


def _select_columns(sample: Json, columns: Sequence[str] | None) -> Json:
    """Keep only the columns that the result will have."""
    indexes = _column_indexes([column["name"] for column in sample["columns"]], columns)
    return {
        "columns": [sample["columns"][index] for index in indexes],
        "rows": [
            {**row, "cells": [row["cells"][index] for index in indexes]} for row in sample["rows"]
        ],
    }


def _short_name(name: str) -> str:
    """The file name without its endings."""
    last = name.rpartition("/")[2]
    return last.partition(".")[0] or last


_BATCH = 1 << 16


def describe_result(job: Job) -> Json:
    """Profile the rows that SQL has written, and store them with the profile under the job's id."""
    workspace, made = job.workspace, Path(job.fields["path"])
    job.progress("profiling the columns")
    arrow = made.with_suffix(workspace.results.suffixes[0])
    write_description(workspace, arrow, job.fields["name"], job.fields["about"])
    workspace.results.commit(job.fields["id"], made)
    return {}


def write_arrow(job: Job) -> Json:
    """Write a table in the lake as an Arrow file under the job's id, for code that reads files."""
    workspace, table = job.workspace, job.open()
    with workspace.results.temporary_path() as made:
        path = made.with_suffix(workspace.results.suffixes[0])
        schema = table.read_rows(0, 0).schema
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for begin in range(0, table.rows, _BATCH):
                job.progress(f"reading: {begin:,} of {table.rows:,} rows")
                writer.write_table(table.read_rows(begin, begin + _BATCH))
                check_size(file.tell(), workspace.limits.result_bytes)
        made.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(table.info()), "utf-8")
        workspace.results.commit(job.fields["id"], made)
    return {}


def check_size(size: int, max_bytes: int) -> None:
    """Raise a problem if a file that is being written exceeds the limit."""
    if size > max_bytes:
        raise Problem(
            "too_large",
            f"the result is larger than {max_bytes / 1e9:g} GB, the limit here: select fewer rows "
            "or columns, or run the exported code elsewhere",
        )


def write_description(workspace: Workspace, path: Path, name: str, about: Json) -> None:
    """Profile the columns of an Arrow file, and write the description next to it."""
    rows = map_arrow_file(path)
    rows.validate(full=True)  # an SQL child wrote it, and the server will map it
    rules = workspace.lake().snapshot.manifest.options.rules
    note = build_description(
        name, rows.column_names, _profile_columns(rows, rules), rows.num_rows, **about
    )
    path.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(note), "utf-8")


def _profile_columns(rows: pa.Table, rules: Any) -> Sequence[ColumnProfile]:
    from lakejoin.search.query_tables import FrameTable

    table = FrameTable(rows, rules)
    profiles = []
    for index in range(rows.num_columns):  # one at a time, as each is encoded in memory
        profiles.append(table.profile(index))
        table.release()
    return profiles
