"""The child process that runs one statement over one table, sandboxed, and writes its result.

The order matters. The child warms up; a job arrives; the statement is checked; the two files are
opened and the table's types detected; then DuckDB is locked and the process confined; and only then
does anything that the statement's author wrote run.

The result is an Arrow file of numbers, booleans, dates, times and text: only types that every
reader of Arrow files knows leave the child. Integers too large for 64 bits, and all nested or rare
types, become text as DuckDB prints them.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from lakejoin.server.api_problems import Problem, SqlProblem, problem_from_duckdb
from lakejoin.server.job_loop import JobHandler, Message, ProgressReporter, serve_jobs
from lakejoin.server.sql.confinement import connect, limit_process, lock_settings
from lakejoin.server.sql.statement_checks import (
    CheckedStatement,
    check_parse_tree,
    check_statement,
    check_syntax,
)
from lakejoin.server.sql.statement_runner import SqlLimits, SqlOutcome, TargetType
from lakejoin.server.sql.typed_view import define_view, name_columns
from lakejoin.server.system_calls import confine

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


_BATCH = 65_536
_MAX_COLUMNS = 10_000

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_LARGE = {"UBIGINT", "HUGEINT", "UHUGEINT"}  # integers that may not fit into 64 bits
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_TIMESTAMPS |= {"TIMESTAMP WITH TIME ZONE"}


class _IntegerOverflow(Exception):
    """These columns have integers that do not fit into 64 bits."""

    def __init__(self, columns: set[int]) -> None:
        super().__init__()
        self.columns = columns


def write_result(
    connection: duckdb.DuckDBPyConnection, sql: str, sink: Any, limits: SqlLimits
) -> SqlOutcome:
    """Run the statement and stream its result to the file."""
    described = _run(connection, "DESCRIBE SELECT * FROM (\n", sql).fetchall()
    names, types = name_columns([row[0] for row in described]), [row[1] for row in described]
    if len(names) > _MAX_COLUMNS:
        message = f"the result has {len(names):,} columns; at most {_MAX_COLUMNS:,} are allowed"
        raise Problem("too_large", message, limit="columns")
    as_text: set[int] = set()
    while True:
        try:
            rows = _write_once(connection, sql, sink, limits, names, types, as_text)
        except _IntegerOverflow as overflow:
            as_text |= overflow.columns
            sink.seek(0)
            sink.truncate()
        else:
            return SqlOutcome(names, types, rows)


def _run(connection: duckdb.DuckDBPyConnection, before: str, sql: str) -> Any:
    """Run the statement inside another one that begins with `before`."""
    try:
        return connection.execute(f"{before}{sql}\n)")
    except duckdb.Error as error:
        raise problem_from_duckdb(error, sql, len(before.encode())) from None


def _write_once(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    sink: Any,
    most: SqlLimits,
    names: Sequence[str],
    types: Sequence[str],
    as_text: set[int],
) -> int:
    """Run the statement once. Each column of large integers gets a flag column for overflow."""
    large = [p for p, kind in enumerate(types) if kind in _LARGE and p not in as_text]
    expressions = [_simple(index, kind, index in as_text) for index, kind in enumerate(types)]
    expressions += [f"#{p + 1} IS NOT NULL AND TRY_CAST(#{p + 1} AS BIGINT) IS NULL" for p in large]
    columns = ", ".join(f"{text} AS c{index}" for index, text in enumerate(expressions))
    before = f"SELECT {columns} FROM (\n"
    result = _run(connection, before, sql)
    rows = size = 0
    writer = None
    try:
        reader = result.to_arrow_reader(_BATCH)
        schema = pa.schema(
            [pa.field(name, reader.schema.field(p).type) for p, name in enumerate(names)]
        )
        writer = pa.ipc.new_file(sink, schema)
        for batch in reader:
            misfits = {p for at, p in enumerate(large, len(names)) if batch.column(at).true_count}
            if misfits:
                raise _IntegerOverflow(misfits)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            _check_size(rows, size, most)
            arrays = batch.columns[: len(names)]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
        writer.close()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise _write_problem(error, sql, len(before.encode())) from None
    return rows


def _simple(index: int, kind: str, as_text: bool) -> str:
    """The expression that casts a column to a type that every reader knows."""
    column = f"#{index + 1}"
    if kind in ("BOOLEAN", "DATE", "DOUBLE", "BIGINT", "VARCHAR", "TIMESTAMP"):
        return column
    if kind in _WHOLE:
        return f"CAST({column} AS BIGINT)"
    if kind in _LARGE and not as_text:
        return f"TRY_CAST({column} AS BIGINT)"
    if kind == "FLOAT" or kind.startswith("DECIMAL"):
        return f"CAST({column} AS DOUBLE)"
    if kind in _TIMESTAMPS:
        return f"CAST({column} AS TIMESTAMP)"
    return f"CAST({column} AS VARCHAR)"


def _check_size(rows: int, size: int, most: SqlLimits) -> None:
    if rows > most.rows:
        message = f"the result has more than {most.rows:,} rows: add LIMIT {most.rows} or less"
        raise Problem("too_large", message, limit="rows")
    if size > most.bytes:
        message = (
            f"the result has more than {most.bytes:,} bytes: select fewer columns or add a LIMIT"
        )
        raise Problem("too_large", message, limit="bytes")


def _write_problem(error: Exception, sql: str, before: int) -> Problem:
    if isinstance(error, duckdb.Error):
        return problem_from_duckdb(error, sql, before)
    if isinstance(error, MemoryError) or "alloc" in str(error):
        return Problem("memory", "the query exceeds the memory limit", limit="memory")
    text = str(error)
    if "Error: " in text:  # from DuckDB, through the stream of batches
        return problem_from_duckdb(
            ValueError(text[text.index("{") :] if "{" in text else text), sql, 0
        )
    return SqlProblem(f"the result cannot be written: {text.splitlines()[0][:200]}")


if __name__ == "__main__":
    main()
