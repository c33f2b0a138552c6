"""Compute chains: a table and the steps after it, each stored so that none is computed twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakejoin.server.api_problems import Problem
from lakejoin.server.child_pool import ChildPool, Listener
from lakejoin.server.disk_cache import DiskCache
from lakejoin.server.jobs.join_jobs import JoinRequest
from lakejoin.server.sql.statement_runner import SqlRunner, TargetType
from lakejoin.server.workspace import (
    ARROW_SUFFIX,
    ServedTable,
    TableDescription,
    TableId,
    Workspace,
    hash_id,
)
from lakejoin.values.plain_columns import is_text

Step = Mapping[str, Any]

_TYPED = ("integer", "decimal", "date", "boolean")
_FORM = 1  # part of the ids: raise it when steps compute something else


@dataclass(frozen=True, slots=True)
class ChainRunner:
    """Computes the tables of chains, with workers and with SQL."""

    workspace: Workspace
    workers: ChildPool
    sql: SqlRunner

    async def tables(
        self, start: str, steps: Sequence[Step], listener: Listener
    ) -> list[TableDescription]:
        """Describe the start and the table of each step."""
        table = await asyncio.to_thread(self.workspace.open, start)
        infos = [await asyncio.to_thread(table.info)]
        for number, step in enumerate(steps, 1):

            def step_listener(event: str, data: Any, number: int = number) -> None:
                listener(event, {**data, "step": number})

            table = await self.run_step(table, step, step_listener)
            infos.append(await asyncio.to_thread(table.info))
        return infos

    async def run_step(self, left: ServedTable, step: Step, listener: Listener) -> ServedTable:
        """The table of a step, computed unless it is stored already."""
        if step["kind"] == "join":
            return await self._run_join(left, step, listener)
        return await self._run_sql(left, str(step["sql"]), listener)

    async def _run_join(self, left: ServedTable, step: Step, listener: Listener) -> ServedTable:
        right = await asyncio.to_thread(self.workspace.open, step["right"])
        request = JoinRequest.from_fields({**step, "left": str(left.id)})
        id = hash_id("join", _FORM, left.identity, right.identity, request.settings())
        if self.workspace.results.get(id) is None:
            join = {**step, "left": str(left.id)}
            job = {"job": "join", "id": id, "join": join, "made": join}
            await self.workers.run(job, self.workspace.limits.seconds, listener)
        return self._open_result(id)

    async def _run_sql(self, left: ServedTable, sql: str, listener: Listener) -> ServedTable:
        id = hash_id("sql", _FORM, left.identity, sql.strip())
        if self.workspace.results.get(id) is None:
            info = await asyncio.to_thread(left.info)
            shelf, arrow_id = await self.ensure_arrow(left, listener)
            listener("progress", {"doing": "running the query"})
            with (
                _hold(shelf, arrow_id, left) as path,
                self.workspace.results.temporary_path() as made,
            ):
                types = _types(info, left.read_rows(0, 0).schema)
                done = await self.sql.run(
                    sql, path, types, made.with_suffix(ARROW_SUFFIX), listener=listener
                )
                step = {"kind": "sql", "sql": sql, "left": str(left.id)}
                name = f"SQL of {left.name.removeprefix('SQL of ')}"
                about = {"made": step, "seconds": done.seconds}
                job = {"job": "describe", "id": id, "path": str(made), "name": name, "about": about}
                await self.workers.run(job, self.workspace.limits.seconds, listener)
        return self._open_result(id)

    async def ensure_arrow(self, table: ServedTable, listener: Listener) -> tuple[DiskCache, str]:
        """Where the rows of a table are stored as an Arrow file, and under which id."""
        if table.id.kind != "lake":
            shelf = self.workspace.uploads if table.id.kind == "upload" else self.workspace.results
            return shelf, table.id.name
        id = hash_id("arrow", _FORM, table.identity)
        if self.workspace.results.get(id) is None:
            job = {"job": "arrow", "id": id, "table": str(table.id)}
            await self.workers.run(job, self.workspace.limits.seconds, listener)
        return self.workspace.results, id

    def _open_result(self, id: str) -> ServedTable:
        return self.workspace.open(TableId("result", id))


@contextmanager
def _hold(shelf: DiskCache, id: str, table: ServedTable) -> Iterator[Path]:
    """The file of a table, which stays readable even if the entry is removed meanwhile."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(shelf.hold(id))
        except FileNotFoundError:
            message = f"{table.name} was removed to make room; try again"
            raise Problem("busy", message) from None
        yield path


def _types(info: TableDescription, schema: pa.Schema) -> dict[int, TargetType]:
    """The types of text columns whose content has an SQL type."""
    return {
        index: TargetType(str(column["type"]), column["date_format"])
        for index, (column, field) in enumerate(zip(info["columns"], schema, strict=True))
        if column["type"] in _TYPED and is_text(field.type)
    }
