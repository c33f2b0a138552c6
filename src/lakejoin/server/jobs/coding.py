"""The job that exports a chain as code: a Python script, a notebook, SQL or PySpark.

The code has a source for each table that is read, and one statement or function for each step. A
join writes its own SQL and PySpark, so that the code gives the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakejoin.server.job_loop import ProgressReporter
from lakejoin.server.desk import Workspace
from lakejoin.server.problems import Problem
from lakejoin.server.jobs.chain_code import write_notebook, write_script
from lakejoin.server.jobs.code_spark import write_pyspark
from lakejoin.server.jobs.code_sql import write_sql
from lakejoin.server.jobs.chain_steps import JoinRequest, compute_join
from lakejoin.server.jobs.sql_types import infer_casts
from lakejoin.server.jobs.written import ChainJoin, ChainSource, ChainSql, ExportedChain


def export_code(workspace: Workspace, job: dict[str, Any], tell: ProgressReporter) -> dict[str, Any]:
    """Export a chain; returns the code, a file name and notes for the user."""
    target = job["as"]
    chain = _chain(workspace, job, target in ("sql", "pyspark"), tell)
    notes = [
        f"{source.table.name} was uploaded: put the file next to the code before you run it"
        for source in chain.sources
        if not source.in_lake
    ]
    tell("progress", {"doing": "writing the code"})
    if target == "sql":
        return {"code": write_sql(chain), "filename": "chain.sql", "notes": notes}
    if target == "pyspark":
        text, spark_notes = write_pyspark(chain)
        return {"code": text, "filename": "chain_spark.py", "notes": notes + spark_notes}
    if target == "notebook":
        text = write_notebook(chain)
        return {"code": text, "filename": "chain.ipynb", "notes": notes}
    return {"code": write_script(chain), "filename": "chain.py", "notes": notes}


def _chain(workspace: Workspace, job: dict[str, Any], with_joins: bool, tell: ProgressReporter) -> ExportedChain:
    tables: Sequence[str] = job["tables"]
    start = ChainSource("start", workspace.tables.open(tables[0]), workspace.index)
    steps: list[ChainJoin | ChainSql] = []
    for number, (left, step) in enumerate(zip(tables, job["steps"], strict=False), 1):
        if step["kind"] == "sql":
            table = workspace.tables.open(left)
            steps.append(ChainSql(step["sql"], infer_casts(table.part(0, table.rows), table.info())))
            continue
        request = JoinRequest.of({**step, "left": left})
        right = ChainSource(f"table_{number}", workspace.tables.open(request.right), workspace.index)
        join = compute_join(workspace, request, tell) if with_joins else None
        if join is not None and not join:
            raise Problem("no_join", join.no_join)
        steps.append(ChainJoin(request, right, join))
    return ExportedChain(start, tuple(steps), workspace.index)
