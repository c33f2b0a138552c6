"""Run untrusted SQL statements in warm child processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lakejoin.server.api_problems import Problem, SqlProblem
from lakejoin.server.child_pool import ChildPool, ChildSpec, Listener

MODULE = "lakejoin.server.sql.child"

_OVERHEAD = 700_000_000  # memory of a child besides DuckDB's: libraries, one batch, stacks
_WARM_UP_SECONDS = 60.0  # added to the limit, as a child may still be warming up
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Limits of one statement and its result."""

    memory: int = 1_000_000_000
    seconds: float = 30.0
    rows: int = 5_000_000
    bytes: int = 1_000_000_000
    threads: int = 2
    must_confine: bool = False  # refuse to run if the system cannot sandbox a process


@dataclass(frozen=True, slots=True)
class TargetType:
    """What to cast a text column to: `integer`, `decimal`, `date` or `boolean`. The date format is
    one of strptime or of a column profile, such as `d.m.y`."""

    type: str
    date_format: str = ""


@dataclass(frozen=True, slots=True)
class SqlOutcome:
    """The outcome of a statement: columns with DuckDB's types, number of rows, and seconds.

    `confined` is how the process was sandboxed: `seccomp` or `none`.
    """

    columns: list[str]
    types: list[str]
    rows: int
    seconds: float = 0.0
    confined: str = "none"


class SqlRunner:
    """Runs each statement in a child of its own. Close it at the end."""

    def __init__(
        self, limits: SqlLimits | None = None, *, children: int = 2, module: str = MODULE
    ) -> None:
        self.limits = limits or SqlLimits()
        self._children = children
        self._module = module
        self.pool: ChildPool | None = None  # once started

    async def start(self) -> None:
        """Start the child processes, which warm up in the background."""
        if self.pool is None:
            kind = ChildSpec(
                self._module,
                size=self._children,
                jobs_per_child=1,
                memory=self.limits.memory + _OVERHEAD,
                environment={**_ENVIRONMENT, "LAKEJOIN_SQL_THREADS": str(self.limits.threads)},
            )
            self.pool = ChildPool(kind)
            await self.pool.start()

    async def run(
        self,
        sql: str,
        table: Path,
        types: Mapping[int, TargetType],
        output: Path,
        *,
        seconds: float | None = None,
        listener: Listener | None = None,
    ) -> SqlOutcome:
        """Run a statement over the Arrow file `table` and write its result to the Arrow file
        `output`, which appears only on success. Raises `SqlProblem` for an invalid statement, and
        `Problem` of the kinds `time`, `memory`, `too_large`, `busy` and `died`."""
        await self.start()
        assert self.pool is not None
        max_seconds = self.limits.seconds if seconds is None else seconds
        partial = output.with_name(output.name + ".part")
        job = {
            "sql": sql,
            "table": os.fspath(table.resolve()),
            "output": os.fspath(partial.resolve()),
            "types": {str(index): asdict(kind) for index, kind in types.items()},
            "limits": asdict(replace(self.limits, seconds=max_seconds)),
        }
        try:
            done = await self._run_timed(self.pool, job, max_seconds, listener)
            partial.replace(output)
        finally:
            partial.unlink(missing_ok=True)
        columns, types_made = (list(map(str, done[key])) for key in ("columns", "types"))
        figures = int(done["rows"]), float(done["seconds"]), str(done["confined"])
        return SqlOutcome(columns, types_made, *figures)

    async def close(self) -> None:
        if self.pool is not None:
            await self.pool.close()

    async def _run_timed(
        self, pool: ChildPool, job: dict[str, Any], max_seconds: float, listener: Listener | None
    ) -> dict[str, Any]:
        """Run a job; the time counts from when a warm child starts on it."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit:

                def restart_timer(event: str, data: Any) -> None:
                    limit.reschedule(loop.time() + max_seconds)
                    if listener is not None:
                        listener(event, data)

                done: dict[str, Any] = await pool.run(
                    job, _WARM_UP_SECONDS + max_seconds, restart_timer
                )
                return done
        except TimeoutError:
            message = f"the query was stopped after {max_seconds:g} seconds, the time limit"
            raise Problem("time", message, limit="seconds") from None
        except Problem as problem:
            raise _query_problem(problem) from None


def _query_problem(problem: Problem) -> Problem:
    match problem.kind:
        case "sql":
            return SqlProblem.from_dict(problem.to_dict())
        case "memory":
            message = "the query was stopped: it exceeds the memory limit"
            return Problem("memory", message, limit="memory")
        case "time":
            return Problem("time", "the query was stopped: it took too long", limit="seconds")
        case "died":
            return Problem("died", "the query crashed its process; change the query")
    return problem
