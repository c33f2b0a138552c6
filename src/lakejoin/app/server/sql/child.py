"""What runs in the child: one statement over one table, in a process that has given up all else.

The order matters. The child gets warm; a job comes; the statement is checked; the two files are
opened, and the table's types are found out; then DuckDB is locked and the process confined; and
only then anything of the statement's author is run.
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

from lakejoin.app.server.child_side import Message, Tell, Work, serve_jobs
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.sql import second_opinion
from lakejoin.app.server.sql.checking import Checked, check
from lakejoin.app.server.sql.confinement import (
    confine,
    connect,
    forget_environment,
    limit_process,
    lock,
)
from lakejoin.app.server.sql.typed import Wanted, define
from lakejoin.app.server.sql.writing import Most, write

_WARMING = "select c, count(*), sum(n), ['x'], strftime(max(d), '%Y') from result group by all"


class _Unwanted(MetaPathFinder):
    """Libraries that DuckDB and Arrow would load only to see whether they are given a frame."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Says of these that they are not installed."""
        if name in ("pandas", "polars", "torch", "tensorflow"):
            raise ModuleNotFoundError(name)


def main() -> None:
    """Gets warm, then works on one job."""
    sys.meta_path.insert(0, _Unwanted())
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    threads = int(os.environ.get("LAKEJOIN_SQL_THREADS", "1"))
    _warm(threads)
    connection = connect(threads)

    def prepare(_: Message) -> Work:
        def work(job: Message, tell: Tell) -> Any:
            tell("progress", {"doing": "running the statement"})
            return run(connection, job)

        return work

    serve_jobs(prepare)


def checked(connection: duckdb.DuckDBPyConnection, sql: str) -> Checked:
    """The statement, as both parsers have allowed it."""
    second_opinion.parse_errors(connection, sql)
    found = check(sql)
    second_opinion.agree(connection, found)
    return found


def run(connection: duckdb.DuckDBPyConnection, job: Message) -> Message:
    """Runs a job's statement `sql` over the Arrow file `table`, into the new file `output`."""
    began = time.perf_counter()
    statement = checked(connection, job["sql"])
    source = Path(job["table"])
    size = source.stat().st_size
    with pa.memory_map(str(source)) as mapped, Path(job["output"]).open("wb") as sink:
        table = pa.ipc.open_file(mapped).read_all()
        wanted = {int(place): Wanted(**told) for place, told in job["types"].items()}
        define(connection, table, wanted, statement.names)
        lock(connection, job["memory"])
        forget_environment()
        limit_process(job["memory"], size, job["bytes"] * 2 + 1_000_000, job["cpu_seconds"])
        confined = confine()
        if job.get("must_confine") and confined == "none":
            raise Problem("ours", "this machine cannot confine a process that runs SQL")
        done = write(connection, statement.sql, sink, Most(job["rows"], job["bytes"]))
    return {**asdict(done), "seconds": time.perf_counter() - began, "confined": confined}


def _warm(threads: int) -> None:
    """Goes once through all that a job needs, so that nothing has to be loaded afterwards."""
    table = pa.table({"c": ["a", "a"], "n": ["1", "2"], "d": ["2020-01-31", None]})
    connection = connect(threads)
    found = checked(connection, _WARMING)
    define(connection, table, {1: Wanted("integer"), 2: Wanted("date", "y-m-d")}, None)
    lock(connection, 100_000_000)
    written = write(connection, found.sql, io.BytesIO(), Most(10, 1_000_000))
    assert written.rows == 1
    with suppress(Problem):
        write(connection, "select nothing from result", io.BytesIO(), Most(10, 1_000_000))
    connection.close()


if __name__ == "__main__":
    main()
