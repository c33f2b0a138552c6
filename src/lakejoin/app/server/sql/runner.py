"""Runs statements of anybody's in children that are kept warm: the way in from the server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lakejoin.app.server.child import Kind, Listener
from lakejoin.app.server.children import Pool
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.sql.problem import SqlProblem

MODULE = "lakejoin.app.server.sql.child"

_BESIDES = 700_000_000  # what a child holds besides DuckDB's memory: libraries, one batch, stacks
_WARM_UP_SECONDS = 60.0  # a child that is still getting warm takes the job later
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What one statement may take and give."""

    memory: int = 1_000_000_000
    seconds: float = 30.0
    rows: int = 5_000_000
    bytes: int = 1_000_000_000
    threads: int = 2
    must_confine: bool = False  # refuse to run where the system cannot confine a process


@dataclass(frozen=True, slots=True)
class ColumnAs:
    """What a column of text holds: `integer`, `decimal`, `date` or `boolean`. The format of dates
    is one of strptime's or one of a profile's, such as `d.m.y`."""

    type: str
    date_format: str = ""


@dataclass(frozen=True, slots=True)
class SqlDone:
    """What came of a statement: columns with DuckDB's types, rows, and the seconds that it took.

    `confined` names what kept the process from reaching out: `seccomp`, or `none`.
    """

    columns: list[str]
    types: list[str]
    rows: int
    seconds: float
    confined: str
    output: Path


class SqlRunner:
    """Runs statements, each in a child of its own. `close` it in the end."""

    def __init__(
        self, limits: SqlLimits | None = None, *, children: int = 2, module: str = MODULE
    ) -> None:
        self.limits = limits or SqlLimits()
        self._children = children
        self._module = module
        self._pool: Pool | None = None

    @property
    def pool(self) -> Pool | None:
        """The children, once they were started."""
        return self._pool

    async def start(self) -> None:
        """Starts the children, which get warm while others are served."""
        if self._pool is None:
            kind = Kind(
                self._module,
                size=self._children,
                jobs_each=1,
                memory=self.limits.memory + _BESIDES,
                environment={**_ENVIRONMENT, "LAKEJOIN_SQL_THREADS": str(self.limits.threads)},
            )
            self._pool = Pool(kind)
            await self._pool.start()

    async def run(
        self,
        sql: str,
        table: Path,
        types: Mapping[int, ColumnAs],
        output: Path,
        *,
        seconds: float | None = None,
        listener: Listener | None = None,
    ) -> SqlDone:
        """Runs a statement over the Arrow file `table`, and writes what it gives to the Arrow file
        `output`, which appears only when all is well. Raises `SqlProblem` for a statement that is
        wrong, and `Problem` of the kinds `time`, `memory`, `too_large`, `busy` and `died`."""
        await self.start()
        assert self._pool is not None
        most = self.limits.seconds if seconds is None else seconds
        half = output.with_name(output.name + ".part")
        job = {
            "sql": sql,
            "table": os.fspath(table.resolve()),
            "output": os.fspath(half.resolve()),
            "types": {str(place): asdict(kind) for place, kind in types.items()},
            "memory": self.limits.memory,
            "rows": self.limits.rows,
            "bytes": self.limits.bytes,
            "cpu_seconds": most * self.limits.threads,
            "must_confine": self.limits.must_confine,
        }
        try:
            done = await self._timed(self._pool, job, most, listener)
            half.replace(output)
        finally:
            with suppress(FileNotFoundError):
                half.unlink()
        return SqlDone(
            columns=[str(name) for name in done["columns"]],
            types=[str(kind) for kind in done["types"]],
            rows=int(done["rows"]),
            seconds=float(done["seconds"]),
            confined=str(done["confined"]),
            output=output,
        )

    async def close(self) -> None:
        """Ends all children."""
        if self._pool is not None:
            await self._pool.close()

    async def _timed(
        self, pool: Pool, job: dict[str, Any], most: float, listener: Listener | None
    ) -> dict[str, Any]:
        """The time counts from when a warm child begins."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit:

                def heard(what: str, told: Any) -> None:
                    limit.reschedule(loop.time() + most)
                    if listener is not None:
                        listener(what, told)

                done: dict[str, Any] = await pool.run(job, _WARM_UP_SECONDS + most, heard)
                return done
        except TimeoutError:
            told = f"this query took more than {most:g} seconds, and was stopped"
            raise Problem("time", told, limit="seconds") from None
        except Problem as problem:
            raise _told(problem) from None


def _told(problem: Problem) -> Problem:
    match problem.kind:
        case "sql":
            return SqlProblem.of(problem.to_dict())
        case "memory":
            told = "this query takes more memory than a query may, and was stopped"
            return Problem("memory", told, limit="memory")
        case "time":
            return Problem("time", "this query took too long, and was stopped", limit="seconds")
        case "died":
            return Problem("died", "this query made the process that ran it end: change the query")
    return problem
