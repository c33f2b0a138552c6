"""Small tables, and statements over them, for the tests of SQL."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakejoin.app.server.sql.child import checked
from lakejoin.app.server.sql.confinement import connect, lock
from lakejoin.app.server.sql.runner import SqlLimits, SqlRunner
from lakejoin.app.server.sql.typed import Wanted, define
from lakejoin.app.server.sql.writing import Most, write

RAW_CHILD = "app.server.raw_sql_child"

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
    1: Wanted("integer"),
    2: Wanted("date", "d.m.y"),
    3: Wanted("decimal"),
    4: Wanted("boolean"),
}


def saved(table: pa.Table, path: Path) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def answer(
    sql: str,
    table: pa.Table = PEOPLE,
    types: dict[int, Wanted] | None = None,
    most: Most = Most(10_000, 10_000_000),  # noqa: B008 (frozen)
) -> pa.Table:
    """What a statement gives, all of it in this process: checked, locked, but not confined."""
    connection = connect(1)
    try:
        found = checked(connection, sql)
        define(connection, table, TYPES if types is None else types, found.names)
        lock(connection, 200_000_000)
        sink = io.BytesIO()
        write(connection, found.sql, sink, most)
        return pa.ipc.open_file(sink.getvalue()).read_all()
    finally:
        connection.close()


def rows(sql: str, table: pa.Table = PEOPLE, types: dict[int, Wanted] | None = None) -> list[Any]:
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
