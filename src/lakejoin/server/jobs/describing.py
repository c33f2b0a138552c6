"""Jobs that profile a new table, or write a table of the lake as an Arrow file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.server.job_loop import ProgressReporter
from lakejoin.server.desk import Workspace
from lakejoin.server.problems import Problem
from lakejoin.server.workspace import DESCRIPTION_SUFFIX, map_arrow_file, build_description

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from lakejoin.model import ColumnProfile

_BATCH = 1 << 16


def describe_result(workspace: Workspace, job: dict[str, Any], tell: ProgressReporter) -> dict[str, Any]:
    """Profile the rows that SQL has written, and store them with the profile under the job's id."""
    made = Path(job["path"])
    tell("progress", {"doing": "profiling the columns"})
    write_description(
        workspace, made.with_suffix(workspace.results.endings[0]), job["name"], job["about"]
    )
    workspace.results.keep(job["id"], made)
    return {}


def write_arrow(workspace: Workspace, job: dict[str, Any], tell: ProgressReporter) -> dict[str, Any]:
    """Write a table of the lake as an Arrow file under the job's id, for code that reads files."""
    import pyarrow as pa

    table = workspace.tables.open(job["table"])
    with workspace.results.making() as made:
        path = made.with_suffix(workspace.results.endings[0])
        schema = table.part(0, 0).schema
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for begin in range(0, table.rows, _BATCH):
                tell("progress", {"doing": f"reading: {begin:,} of {table.rows:,} rows"})
                writer.write_table(table.part(begin, begin + _BATCH))
                check_size(file.tell(), workspace.limits.result_bytes)
        made.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(table.info()), "utf-8")
        workspace.results.keep(job["id"], made)
    return {}


def check_size(size: int, most: int) -> None:
    """Raise a problem if a file that is being written exceeds the limit."""
    if size > most:
        raise Problem(
            "too_large",
            f"the result is larger than {most / 1e9:g} GB, the limit here: select fewer rows or "
            "columns, or run the exported code elsewhere",
        )


def write_description(workspace: Workspace, path: Path, name: str, about: dict[str, Any]) -> None:
    """Profile the columns of an Arrow file, and write the description next to it."""
    rows = map_arrow_file(path)
    rows.validate(full=True)  # an SQL child wrote it, and the server will map it
    rules = workspace.lake().snapshot.manifest.options.rules
    note = build_description(name, rows.column_names, _profile_columns(rows, rules), rows.num_rows, **about)
    path.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(note), "utf-8")


def _profile_columns(rows: pa.Table, rules: Any) -> Sequence[ColumnProfile]:
    """Profile each column by the rules of the index."""
    from lakejoin.search.external_table import FrameRows, ExternalTable

    table = ExternalTable(FrameRows(rows), rules)
    profiles = []
    for index in range(rows.num_columns):  # one at a time, as each is encoded in memory
        profiles.append(table.profile(index))
        table.forget()
    return profiles
