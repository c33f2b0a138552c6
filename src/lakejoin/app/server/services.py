"""What the routes work with: the desk, the children, and room for what is quick."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from fastapi.responses import JSONResponse

from lakejoin.app.server.chains import Chains
from lakejoin.app.server.child import Kind, Listener
from lakejoin.app.server.children import Pool
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.downloads import Downloads
from lakejoin.app.server.lanes import Lane
from lakejoin.app.server.measuring import Measures
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.settings import Settings
from lakejoin.app.server.sql.runner import SqlLimits, SqlRunner

T = TypeVar("T")

_ARRIVING = 16  # uploads at once: each may lie on the disk as a whole before it is read
_QUICK_THREADS = 4
_QUICK_SECONDS = 20.0
_LONG_THREADS = 2
_LONG_SECONDS = 60.0
_GRACE = 1.0
_LIFE = 200  # jobs of a worker, so that nothing grows for ever
_READER_MEMORY = 2_000_000_000


class Services:
    """Everything that lives as long as the server."""

    def __init__(self, settings: Settings) -> None:
        limits = settings.limits
        self.settings = settings
        self.measures = Measures()
        self.desk = Desk(settings.index, settings.folder, limits)
        rules = self.desk.lake().snapshot.manifest.options.rules
        self.workers = Pool(
            Kind(
                "lakejoin.app.server.work.worker",
                self.desk.setup(),
                settings.workers,
                _LIFE,
                limits.worker_memory,
                _GRACE,
                limits.waiting,
                ended=self.desk.sweep_of,
            )
        )
        reading = {**self.desk.setup(), "rules": asdict(rules)}
        self.readers = Pool(
            Kind(
                "lakejoin.app.server.reader",
                reading,
                2,
                1,
                _READER_MEMORY,
                patience=16,
                ended=self.desk.sweep_of,
            )
        )
        self.sql = SqlRunner(
            SqlLimits(
                memory=limits.sql_memory,
                seconds=limits.sql_seconds,
                rows=limits.result_rows,
                bytes=limits.result_bytes,
            )
        )
        self.chains = Chains(self.desk, self.workers, self.sql)
        self.downloads = Downloads()
        self._quick = Lane("quick", _QUICK_THREADS, _QUICK_SECONDS)
        self._long = Lane("long", _LONG_THREADS, _LONG_SECONDS)
        self._arriving = 0

    async def start(self) -> None:
        """Starts the children."""
        await self.workers.start()
        await self.readers.start()
        await self.sql.start()

    async def stop_work(self) -> None:
        """Ends the children; who waits for them is told so."""
        await asyncio.gather(self.workers.close(), self.readers.close(), self.sql.close())

    async def close(self) -> None:
        """Ends all that was started."""
        await self.stop_work()
        for one in (self._quick, self._long, self.downloads):
            one.close()

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """While an upload arrives; a `Problem` if too many do."""
        if self._arriving >= _ARRIVING:
            raise Problem("busy", "too many uploads are under way: try again in a moment")
        self._arriving += 1
        try:
            yield
        finally:
            self._arriving -= 1

    async def quick(self, work: Callable[..., T], *given: Any) -> T:
        """What reads a little, in a thread: it never waits for searches, joins or whole columns."""
        return await self._quick.run(work, *given)

    async def quick_answer(self, work: Callable[..., Any], *given: Any) -> JSONResponse:
        """The same as an answer, which is written in the thread, and not while others wait."""
        return await self._quick.run(lambda: JSONResponse(work(*given)))

    async def long_answer(self, work: Callable[..., Any], *given: Any) -> JSONResponse:
        """The same for what may read whole columns."""
        return await self._long.run(lambda: JSONResponse(work(*given)))

    async def job(self, job: str, listener: Listener, **more: Any) -> Any:
        """What a worker answers; one that had the same `key` before, if it is free."""
        seconds = self.settings.limits.seconds
        return await self.workers.run({"job": job, **more}, seconds, listener, more.get("key"))


def services(request: Request) -> Services:
    """Those of the server that was asked."""
    return cast(Services, request.app.state.services)


Given = Annotated[Services, Depends(services)]
