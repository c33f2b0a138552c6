"""The job that writes a chain as code: a Python script, a notebook, SQL or PySpark.

A chain is a table and steps after it; in code, a source for each table that is read, and one
statement or function for each step. What a step does is written by what made it: the join writes
its own SQL and its own PySpark, so that they give the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.work import code_python, code_spark, code_sql
from lakejoin.app.server.work.joined import JoinAsked, joined
from lakejoin.app.server.work.sql_types import sql_types
from lakejoin.app.server.work.written import JoinStep, Source, SqlStep, Written

Told = dict[str, Any]


def code(desk: Desk, job: Told, tell: Tell) -> Told:
    """A chain as code, what the file is called, and what should be known of it."""
    target = job["as"]
    chain = _chain(desk, job, target in ("sql", "pyspark"), tell)
    notes = [
        f"{one.table.name} was brought to the server: the code expects it beside itself"
        for one in chain.sources
        if not one.in_lake
    ]
    tell("progress", {"doing": "writing"})
    if target == "sql":
        return {"code": code_sql.written(chain), "filename": "chain.sql", "notes": notes}
    if target == "pyspark":
        text, more = code_spark.written(chain)
        return {"code": text, "filename": "chain_spark.py", "notes": notes + more}
    if target == "notebook":
        text = code_python.notebook(chain)
        return {"code": text, "filename": "chain.ipynb", "notes": notes}
    return {"code": code_python.written(chain), "filename": "chain.py", "notes": notes}


def _chain(desk: Desk, job: Told, with_joins: bool, tell: Tell) -> Written:
    tables: Sequence[str] = job["tables"]
    start = Source("start", desk.tables.open(tables[0]), desk.index)
    steps: list[JoinStep | SqlStep] = []
    for number, (left, step) in enumerate(zip(tables, job["steps"], strict=False), 1):
        if step["kind"] == "sql":
            mine = desk.tables.open(left)
            steps.append(SqlStep(step["sql"], sql_types(mine.part(0, mine.rows), mine.info())))
            continue
        asked = JoinAsked.of({**step, "left": left})
        right = Source(f"table_{number}", desk.tables.open(asked.right), desk.index)
        join = joined(desk, asked, tell) if with_joins else None
        if join is not None and not join:
            raise Problem("no_join", join.no_join)
        steps.append(JoinStep(asked, right, join))
    return Written(start, tuple(steps), desk.index)
