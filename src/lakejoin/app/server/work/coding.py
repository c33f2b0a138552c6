"""The job that exports a chain as code: a Python script, a notebook, SQL or PySpark.

The code has a source for each table that is read, and one statement or function for each step. A
join writes its own SQL and PySpark, so that the code gives the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.work.code_python import write_notebook, write_script
from lakejoin.app.server.work.code_spark import write_pyspark
from lakejoin.app.server.work.code_sql import write_sql
from lakejoin.app.server.work.joined import JoinAsked, joined
from lakejoin.app.server.work.sql_types import sql_types
from lakejoin.app.server.work.written import JoinStep, Source, SqlStep, Written


def code(workspace: Desk, job: dict[str, Any], tell: Tell) -> dict[str, Any]:
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


def _chain(workspace: Desk, job: dict[str, Any], with_joins: bool, tell: Tell) -> Written:
    tables: Sequence[str] = job["tables"]
    start = Source("start", workspace.tables.open(tables[0]), workspace.index)
    steps: list[JoinStep | SqlStep] = []
    for number, (left, step) in enumerate(zip(tables, job["steps"], strict=False), 1):
        if step["kind"] == "sql":
            table = workspace.tables.open(left)
            steps.append(SqlStep(step["sql"], sql_types(table.part(0, table.rows), table.info())))
            continue
        request = JoinAsked.of({**step, "left": left})
        right = Source(f"table_{number}", workspace.tables.open(request.right), workspace.index)
        join = joined(workspace, request, tell) if with_joins else None
        if join is not None and not join:
            raise Problem("no_join", join.no_join)
        steps.append(JoinStep(request, right, join))
    return Written(start, tuple(steps), workspace.index)
