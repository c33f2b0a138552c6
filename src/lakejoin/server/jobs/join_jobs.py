"""Jobs that preview a join, compute and store it, and profile stored tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.joins.join_inputs import loaded_input
from lakejoin.joins.json_report import join_report
from lakejoin.server.api_problems import Problem
from lakejoin.server.job_loop import ProgressReporter
from lakejoin.server.jobs.chain_steps import JoinRequest, compute_join
from lakejoin.server.table_output import column_to_json, rows_to_json
from lakejoin.server.workspace import (
    DESCRIPTION_SUFFIX,
    Workspace,
    build_description,
    map_arrow_file,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join
    from lakejoin.model import ColumnProfile


_PREVIEW_ROWS = 40
_MAX_PREVIEW_ROWS = 500
_MAX_PREVIEW_CELLS = 200_000  # about; the server keeps a preview in memory


def preview_join(
    workspace: Workspace, job: dict[str, Any], tell: ProgressReporter
) -> dict[str, Any]:
    """How two tables join, with the keys of `lakejoin join --json`, and some rows."""
    request = JoinRequest.from_fields(job["join"])
    join = compute_join(workspace, request, tell)
    left, right = (
        loaded_input(workspace.tables.open(id).name, rows)
        for id, rows in ((request.left, join.left), (request.right, join.right))
    )
    if not join:
        return join_report(join, left, right)
    tell("progress", {"doing": "joining sample rows"})
    report = join_report(join, left, right)
    width = join.left.num_columns + join.right.num_columns
    rows = min(
        _MAX_PREVIEW_ROWS,
        int(job["join"].get("rows") or _PREVIEW_ROWS),
        max(1, _MAX_PREVIEW_CELLS // max(1, width)),
    )
    sample = _sample_rows(join, report, rows)
    return {**report, "found": True, "preview": _select_columns(sample, request.columns)}


def store_join(workspace: Workspace, job: dict[str, Any], tell: ProgressReporter) -> dict[str, Any]:
    """Compute the join and store it under the job's id."""
    request = JoinRequest.from_fields(job["join"])
    join = compute_join(workspace, request, tell)
    if not join:
        raise Problem("no_join", join.no_join)
    limits = workspace.limits
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
        _write(join, indexes, arrow, limits.result_bytes, tell)
        tell("progress", {"doing": "profiling the columns"})
        names = [workspace.tables.open(id).name for id in (request.left, request.right)]
        name = f"{_short_name(names[0])} ⋈ {_short_name(names[1])}"
        about = {"made": job["made"], "notes": list(join.warnings)}
        write_description(workspace, arrow, name, about)
        workspace.results.commit(job["id"], made)
    return {"rows": len(join)}


def _write(
    join: Join, indexes: Sequence[int], path: Path, max_bytes: int, tell: ProgressReporter
) -> None:
    import pyarrow as pa

    schema = pa.schema([join.schema.field(index) for index in indexes])
    done = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in join.batches():
            tell("progress", {"doing": f"writing: {done:,} of {len(join):,} rows"})
            columns = [batch.column(index) for index in indexes]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            done += batch.num_rows
            check_size(file.tell(), max_bytes)


def _column_indexes(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    if columns is None:
        return list(range(len(names)))
    if not columns:
        raise InputError("select at least one column of the result")
    if missing := [name for name in columns if name not in names]:
        raise InputError(f"column {missing[0]!r} not found in the result")
    return [index for index, name in enumerate(names) if name in set(columns)]


# -- preview -----------------------------------------------------------------------------------


def _sample_rows(join: Join, report: dict[str, Any], limit: int) -> dict[str, Any]:
    """Some matched rows, then some unmatched rows of each side."""
    if join.options.aggregate:
        return _aggregated_rows(join, report, limit)
    unmatched_limit = max(1, limit // 5)
    pairs = join.pairs(limit)
    rows = list(_matched_rows(join, pairs))
    for side in ("left", "right"):
        unmatched = join.unmatched(side, unmatched_limit, nearest=False).column("row")
        rows += _unmatched_rows(join, side, unmatched)
    return {"columns": _preview_columns(join, report), "rows": rows}


def _matched_rows(join: Join, pairs: pa.Table) -> Iterator[dict[str, Any]]:
    left = rows_to_json(join.left.take(pairs.column("left_row")))
    right = rows_to_json(join.right.take(pairs.column("right_row")))
    for left_cells, right_cells in zip(left, right, strict=True):
        yield {"cells": left_cells + right_cells, "met": "both"}


def _unmatched_rows(join: Join, side: str, rows: Any) -> Iterator[dict[str, Any]]:
    table, other = (join.left, join.right) if side == "left" else (join.right, join.left)
    nulls: list[Any] = [None] * other.num_columns
    for cells in rows_to_json(table.take(rows)):
        yield {"cells": cells + nulls if side == "left" else nulls + cells, "met": side}


def _preview_columns(join: Join, report: dict[str, Any]) -> list[dict[str, Any]]:
    left_width = join.left.num_columns
    keys = {
        *(join.left.column_names.index(name) for name in report["left_columns"]),
        *(left_width + join.right.column_names.index(name) for name in report["right_columns"]),
    }
    return [
        {"name": name, "side": "left" if index < left_width else "right", "key": index in keys}
        for index, name in enumerate(join.schema.names)
    ]


def _aggregated_rows(join: Join, report: dict[str, Any], limit: int) -> dict[str, Any]:
    """The first rows of an aggregated join; all of them count as matched."""
    table = join.table(limit)
    left_width = join.left.num_columns
    columns = [
        {
            "name": name,
            "side": "left" if index < left_width else "right",
            "key": index < left_width and name in report["left_columns"],
        }
        for index, name in enumerate(table.column_names)
    ]
    cells = [column_to_json(column) for column in table.columns]
    rows = [{"cells": list(row), "met": "both"} for row in zip(*cells, strict=True)]
    return {"columns": columns, "rows": rows}


def _select_columns(sample: dict[str, Any], columns: Sequence[str] | None) -> dict[str, Any]:
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


def describe_result(
    workspace: Workspace, job: dict[str, Any], tell: ProgressReporter
) -> dict[str, Any]:
    """Profile the rows that SQL has written, and store them with the profile under the job's id."""
    made = Path(job["path"])
    tell("progress", {"doing": "profiling the columns"})
    write_description(
        workspace, made.with_suffix(workspace.results.suffixes[0]), job["name"], job["about"]
    )
    workspace.results.commit(job["id"], made)
    return {}


def write_arrow(
    workspace: Workspace, job: dict[str, Any], tell: ProgressReporter
) -> dict[str, Any]:
    """Write a table of the lake as an Arrow file under the job's id, for code that reads files."""
    import pyarrow as pa

    table = workspace.tables.open(job["table"])
    with workspace.results.temporary_path() as made:
        path = made.with_suffix(workspace.results.suffixes[0])
        schema = table.read_rows(0, 0).schema
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for begin in range(0, table.rows, _BATCH):
                tell("progress", {"doing": f"reading: {begin:,} of {table.rows:,} rows"})
                writer.write_table(table.read_rows(begin, begin + _BATCH))
                check_size(file.tell(), workspace.limits.result_bytes)
        made.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(table.info()), "utf-8")
        workspace.results.commit(job["id"], made)
    return {}


def check_size(size: int, max_bytes: int) -> None:
    """Raise a problem if a file that is being written exceeds the limit."""
    if size > max_bytes:
        raise Problem(
            "too_large",
            f"the result is larger than {max_bytes / 1e9:g} GB, the limit here: select fewer rows "
            "or columns, or run the exported code elsewhere",
        )


def write_description(workspace: Workspace, path: Path, name: str, about: dict[str, Any]) -> None:
    """Profile the columns of an Arrow file, and write the description next to it."""
    rows = map_arrow_file(path)
    rows.validate(full=True)  # an SQL child wrote it, and the server will map it
    rules = workspace.lake().snapshot.manifest.options.rules
    note = build_description(
        name, rows.column_names, _profile_columns(rows, rules), rows.num_rows, **about
    )
    path.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(note), "utf-8")


def _profile_columns(rows: pa.Table, rules: Any) -> Sequence[ColumnProfile]:
    """Profile each column by the rules of the index."""
    from lakejoin.search.external_table import ExternalTable, FrameRows

    table = ExternalTable(FrameRows(rows), rules)
    profiles = []
    for index in range(rows.num_columns):  # one at a time, as each is encoded in memory
        profiles.append(table.profile(index))
        table.release()
    return profiles
