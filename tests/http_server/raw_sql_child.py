"""The SQL child without its check: runs any statements, one after another, once it is confined.

`sql` is a JSON list of statements; one that begins with `python:` is Python. The answer's rows are
what each of them gave, so that a test can look for what should not be there.
"""

from __future__ import annotations

import ctypes  # noqa: F401 (loaded before nothing can be)
import json
import mmap  # noqa: F401
import resource  # noqa: F401
import socket  # noqa: F401
import threading  # noqa: F401
from typing import Any

import duckdb
import pyarrow as pa

from lakejoin.server.sql import child
from lakejoin.server.sql.statement_checks import CheckedStatement
from lakejoin.server.sql.statement_runner import SqlLimits, SqlOutcome

PYTHON = "python:"
really_write = child.write_result
really_checked = child.check_sql


def unchecked(connection: duckdb.DuckDBPyConnection, sql: str) -> CheckedStatement:
    return (
        CheckedStatement(sql, False, None)
        if sql.startswith("[")
        else really_checked(connection, sql)
    )


def write(
    connection: duckdb.DuckDBPyConnection, sql: str, sink: Any, most: SqlLimits
) -> SqlOutcome:
    if not sql.startswith("["):
        return really_write(connection, sql, sink, most)
    said = [outcome(connection, statement) for statement in json.loads(sql)]
    table = pa.table({"said": said})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return SqlOutcome(["said"], ["VARCHAR"], len(said))


def outcome(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    try:
        if statement.startswith(PYTHON):
            names: dict[str, Any] = {}
            exec(statement.removeprefix(PYTHON), names)
            return f"gave {names.get('said')!r}"
        return f"gave {connection.execute(statement).fetchall()!r}"[:20_000]
    except Exception as error:  # noqa: BLE001 (whatever it is, the test is told)
        return f"refused {type(error).__name__}: {error}"


if __name__ == "__main__":
    child.check_sql = unchecked
    child.write_result = write
    child.main()
