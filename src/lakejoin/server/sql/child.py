"""The child process that runs one statement over one table, sandboxed.

The order matters. The child warms up; a job arrives; the statement is checked; the two files are
opened and the table's types detected; then DuckDB is locked and the process confined; and only then
does anything that the statement's author wrote run.
"""

from __future__ import annotations

import io
import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from lakejoin.server.api_problems import Problem
from lakejoin.server.job_loop import JobHandler, Message, ProgressReporter, serve_jobs
from lakejoin.server.sql.confinement import confine, connect, limit_process, lock_settings
from lakejoin.server.sql.result_writer import write_result
from lakejoin.server.sql.statement_checks import (
    CheckedStatement,
    check_parse_tree,
    check_statement,
    check_syntax,
)
from lakejoin.server.sql.statement_runner import SqlLimits, TargetType
from lakejoin.server.sql.typed_view import define_view

_WARM_UP_SQL = "select c, count(*), sum(n), ['x'], strftime(max(d), '%Y') from result group by all"


class _ImportBlocker(MetaPathFinder):
    """Blocks libraries that DuckDB and Arrow import only to recognize their data frames."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name in ("pandas", "polars", "torch", "tensorflow"):
            raise ModuleNotFoundError(name)


def main() -> None:
    sys.meta_path.insert(0, _ImportBlocker())
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    threads = int(os.environ.get("LAKEJOIN_SQL_THREADS", "1"))
    _warm_up(threads)
    connection = connect(threads)

    def prepare(_: Message) -> JobHandler:
        def work(job: Message, tell: ProgressReporter) -> Any:
            tell("progress", {"doing": "running the query"})
            return run(connection, job)

        return work

    serve_jobs(prepare)


def check_sql(connection: duckdb.DuckDBPyConnection, sql: str) -> CheckedStatement:
    """Check a statement with both parsers."""
    check_syntax(connection, sql)
    statement = check_statement(sql)
    check_parse_tree(connection, statement)
    return statement


def run(connection: duckdb.DuckDBPyConnection, job: Message) -> Message:
    """Run a job's statement `sql` over the Arrow file `table`, into the new file `output`."""
    begin = time.perf_counter()
    statement, limits = check_sql(connection, job["sql"]), SqlLimits(**job["limits"])
    source = Path(job["table"])
    size = source.stat().st_size
    with pa.memory_map(str(source)) as mapped, Path(job["output"]).open("wb") as sink:
        table = pa.ipc.open_file(mapped).read_all()
        types = {int(index): TargetType(**kind) for index, kind in job["types"].items()}
        define_view(connection, table, types, statement.names)
        lock_settings(connection, limits.memory)
        os.environ.clear()  # the process has read it by now
        written, cpu_seconds = limits.bytes * 2 + 1_000_000, limits.seconds * limits.threads
        limit_process(limits.memory, size, written, cpu_seconds)
        confined = confine()
        if limits.must_confine and confined == "none":
            raise Problem("ours", "this machine cannot sandbox SQL")
        done = write_result(connection, statement.sql, sink, limits)
    return {**asdict(done), "seconds": time.perf_counter() - begin, "confined": confined}


def _warm_up(threads: int) -> None:
    """Do once everything that a job does, so that nothing has to be loaded later."""
    table = pa.table({"c": ["a", "a"], "n": ["1", "2"], "d": ["2020-01-31", None]})
    connection = connect(threads)
    statement = check_sql(connection, _WARM_UP_SQL)
    define_view(connection, table, {1: TargetType("integer"), 2: TargetType("date", "y-m-d")}, None)
    lock_settings(connection, 100_000_000)
    written = write_result(connection, statement.sql, io.BytesIO(), SqlLimits())
    assert written.rows == 1
    with suppress(Problem):
        write_result(connection, "select nothing from result", io.BytesIO(), SqlLimits())
    connection.close()


if __name__ == "__main__":
    main()
