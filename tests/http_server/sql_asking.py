"""Small tables, and statements over them, for the tests of SQL."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakejoin.server.sql.child import check_sql, write_result
from lakejoin.server.sql.confinement import connect, lock_settings
from lakejoin.server.sql.statement_runner import SqlLimits, SqlRunner, TargetType
from lakejoin.server.sql.typed_view import define_view

RAW_CHILD = "http_server.raw_sql_child"

PEOPLE = pa.table(
    {
        "name": ["Ada", "Bob", "Čapek", None],
        "age": ["36", "41", "NA", "7"],
        "born": ["10.12.1815", "01.02.1980", "", "31.12.2017"],
        "score": ["1.5", "2", "-3e2", None],
        "member": ["yes", "no", "Yes", None],
        "group": ["x", "y", "x", "y"],
    }
)
TYPES = {
    1: TargetType("integer"),
    2: TargetType("date", "d.m.y"),
    3: TargetType("decimal"),
    4: TargetType("boolean"),
}


def saved(table: pa.Table, path: Path) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def answer(
    sql: str,
    table: pa.Table = PEOPLE,
    types: dict[int, TargetType] | None = None,
    most: SqlLimits = SqlLimits(rows=10_000, bytes=10_000_000),  # noqa: B008 (frozen)
) -> pa.Table:
    """What a statement gives, all of it in this process: checked, locked, but not confined."""
    connection = connect(1)
    try:
        found = check_sql(connection, sql)
        define_view(connection, table, TYPES if types is None else types, found.names)
        lock_settings(connection, 200_000_000)
        sink = io.BytesIO()
        write_result(connection, found.sql, sink, most)
        return pa.ipc.open_file(sink.getvalue()).read_all()
    finally:
        connection.close()


def rows(
    sql: str, table: pa.Table = PEOPLE, types: dict[int, TargetType] | None = None
) -> list[Any]:
    return [tuple(one.values()) for one in answer(sql, table, types).to_pylist()]


def with_runner(
    work: Callable[[SqlRunner], Awaitable[Any]], limits: SqlLimits | None = None, **options: Any
) -> Any:
    async def run() -> Any:
        runner = SqlRunner(limits, **options)
        try:
            return await asyncio.wait_for(work(runner), 120)
        finally:
            await runner.close()

    return asyncio.run(run())
