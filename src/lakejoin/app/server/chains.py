"""Chains: a table and the steps that were made from it, each kept so that none is made twice."""

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
_FORM = 1  # of the ids: another one where steps are made in another way


@dataclass(frozen=True, slots=True)
class Chains:
    """Makes the tables of chains, with workers and with SQL."""

    desk: Desk
    workers: Pool
    sql: SqlRunner

    async def tables(self, start: str, steps: Sequence[Step], listener: Listener) -> list[Info]:
        """What the start and each step after it is."""
        table = await asyncio.to_thread(self.desk.tables.open, start)
        found = [await asyncio.to_thread(table.info)]
        for place, step in enumerate(steps, 1):

            def told(what: str, said: Any, place: int = place) -> None:
                listener(what, {**said, "step": place})

            table = await self.made(table, step, told)
            found.append(await asyncio.to_thread(table.info))
        return found

    async def made(self, left: OpenTable, step: Step, listener: Listener) -> OpenTable:
        """The table that a step makes; from the shelf, if it was made before."""
        if step["kind"] == "join":
            return await self._joined(left, step, listener)
        return await self._by_sql(left, str(step["sql"]), listener)

    async def _joined(self, left: OpenTable, step: Step, listener: Listener) -> OpenTable:
        right = await asyncio.to_thread(self.desk.tables.open, step["right"])
        asked = JoinAsked.of({**step, "left": str(left.id)})
        id = made_id("join", _FORM, left.identity, right.identity, asked.settings())
        if self.desk.results.get(id) is None:
            join = {**step, "left": str(left.id)}
            job = {"job": "join", "id": id, "join": join, "made": join}
            await self.workers.run(job, self.desk.limits.seconds, listener)
        return self._kept(id)

    async def _by_sql(self, left: OpenTable, sql: str, listener: Listener) -> OpenTable:
        id = made_id("sql", _FORM, left.identity, sql.strip())
        if self.desk.results.get(id) is None:
            info = await asyncio.to_thread(left.info)
            shelf, kept = await self.arrow_of(left, listener)
            listener("progress", {"doing": "running the query"})
            with _held(shelf, kept, left) as path, self.desk.results.making() as made:
                types = _types(info, left.part(0, 0).schema)
                done = await self.sql.run(
                    sql, path, types, made.with_suffix(ARROW), listener=listener
                )
                about = {"kind": "sql", "sql": sql, "left": str(left.id)}
                name = f"SQL of {left.name.removeprefix('SQL of ')}"
                told = {"made": about, "seconds": done.seconds}
                job = {"job": "describe", "id": id, "path": str(made), "name": name, "about": told}
                await self.workers.run(job, self.desk.limits.seconds, listener)
        return self._kept(id)

    async def arrow_of(self, table: OpenTable, listener: Listener) -> tuple[Shelf, str]:
        """Where the rows of a table are kept as an Arrow file, and under which id."""
        if table.id.kind != "lake":
            shelf = self.desk.uploads if table.id.kind == "upload" else self.desk.results
            return shelf, table.id.name
        id = made_id("arrow", _FORM, table.identity)
        if self.desk.results.get(id) is None:
            job = {"job": "arrow", "id": id, "table": str(table.id)}
            await self.workers.run(job, self.desk.limits.seconds, listener)
        return self.desk.results, id

    def _kept(self, id: str) -> OpenTable:
        return self.desk.tables.open(TableId("result", id))


@contextmanager
def _held(shelf: Shelf, id: str, table: OpenTable) -> Iterator[Path]:
    """The file of a table, for as long as it is read, though others need its room meanwhile."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(shelf.held(id))
        except FileNotFoundError:
            told = f"{table.name} had to go while others needed its room: try again"
            raise Problem("busy", told) from None
        yield path


def _types(info: Info, schema: pa.Schema) -> dict[int, ColumnAs]:
    """What the columns of text hold, as far as SQL has a type for it."""
    import pyarrow.types as t

    return {
        place: ColumnAs(str(column["type"]), column["date_format"])
        for place, (column, field) in enumerate(zip(info["columns"], schema, strict=True))
        if column["type"] in _TYPED and (t.is_string(field.type) or t.is_large_string(field.type))
    }
