"""Compute chains: a table and the steps after it, each stored so that none is computed twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.app.server.child import Listener
from lakejoin.app.server.children import Pool
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.ids import TableId, made_id
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.shelf import Shelf
from lakejoin.app.server.sql.runner import ColumnAs, SqlRunner
from lakejoin.app.server.tables import ARROW, Info, OpenTable
from lakejoin.app.server.work.joined import JoinAsked

if TYPE_CHECKING:
    import pyarrow as pa

Step = Mapping[str, Any]

_TYPED = ("integer", "decimal", "date", "boolean")
_FORM = 1  # part of the ids: raise it when steps compute something else


@dataclass(frozen=True, slots=True)
class Chains:
    """Computes the tables of chains, with workers and with SQL."""

    desk: Desk
    workers: Pool
    sql: SqlRunner

    async def tables(self, start: str, steps: Sequence[Step], listener: Listener) -> list[Info]:
        """Describe the start and the table of each step."""
        table = await asyncio.to_thread(self.desk.tables.open, start)
        infos = [await asyncio.to_thread(table.info)]
        for number, step in enumerate(steps, 1):

            def step_listener(event: str, data: Any, number: int = number) -> None:
                listener(event, {**data, "step": number})

            table = await self.made(table, step, step_listener)
            infos.append(await asyncio.to_thread(table.info))
        return infos

    async def made(self, left: OpenTable, step: Step, listener: Listener) -> OpenTable:
        """The table of a step, computed unless it is stored already."""
        if step["kind"] == "join":
            return await self._run_join(left, step, listener)
        return await self._run_sql(left, str(step["sql"]), listener)

    async def _run_join(self, left: OpenTable, step: Step, listener: Listener) -> OpenTable:
        right = await asyncio.to_thread(self.desk.tables.open, step["right"])
        request = JoinAsked.of({**step, "left": str(left.id)})
        id = made_id("join", _FORM, left.identity, right.identity, request.settings())
        if self.desk.results.get(id) is None:
            join = {**step, "left": str(left.id)}
            job = {"job": "join", "id": id, "join": join, "made": join}
            await self.workers.run(job, self.desk.limits.seconds, listener)
        return self._open_result(id)

    async def _run_sql(self, left: OpenTable, sql: str, listener: Listener) -> OpenTable:
        id = made_id("sql", _FORM, left.identity, sql.strip())
        if self.desk.results.get(id) is None:
            info = await asyncio.to_thread(left.info)
            shelf, arrow_id = await self.arrow_of(left, listener)
            listener("progress", {"doing": "running the query"})
            with _hold(shelf, arrow_id, left) as path, self.desk.results.making() as made:
                types = _types(info, left.part(0, 0).schema)
                done = await self.sql.run(
                    sql, path, types, made.with_suffix(ARROW), listener=listener
                )
                step = {"kind": "sql", "sql": sql, "left": str(left.id)}
                name = f"SQL of {left.name.removeprefix('SQL of ')}"
                about = {"made": step, "seconds": done.seconds}
                job = {"job": "describe", "id": id, "path": str(made), "name": name, "about": about}
                await self.workers.run(job, self.desk.limits.seconds, listener)
        return self._open_result(id)

    async def arrow_of(self, table: OpenTable, listener: Listener) -> tuple[Shelf, str]:
        """Where the rows of a table are stored as an Arrow file, and under which id."""
        if table.id.kind != "lake":
            shelf = self.desk.uploads if table.id.kind == "upload" else self.desk.results
            return shelf, table.id.name
        id = made_id("arrow", _FORM, table.identity)
        if self.desk.results.get(id) is None:
            job = {"job": "arrow", "id": id, "table": str(table.id)}
            await self.workers.run(job, self.desk.limits.seconds, listener)
        return self.desk.results, id

    def _open_result(self, id: str) -> OpenTable:
        return self.desk.tables.open(TableId("result", id))


@contextmanager
def _hold(shelf: Shelf, id: str, table: OpenTable) -> Iterator[Path]:
    """The file of a table, which stays readable even if the entry is removed meanwhile."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(shelf.held(id))
        except FileNotFoundError:
            message = f"{table.name} was removed to make room; try again"
            raise Problem("busy", message) from None
        yield path


def _types(info: Info, schema: pa.Schema) -> dict[int, ColumnAs]:
    """The types of text columns whose content has an SQL type."""
    import pyarrow.types as t

    return {
        index: ColumnAs(str(column["type"]), column["date_format"])
        for index, (column, field) in enumerate(zip(info["columns"], schema, strict=True))
        if column["type"] in _TYPED and (t.is_string(field.type) or t.is_large_string(field.type))
    }
