"""Long-lived services behind the routes: the workspace, child processes, thread lanes and
downloads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from lakejoin.kernels.compiled_library import survive_cut_files
from lakejoin.server.api_problems import Problem
from lakejoin.server.chains import ChainRunner
from lakejoin.server.child_pool import ChildPool, ChildSpec, Listener
from lakejoin.server.metrics import Metrics
from lakejoin.server.settings import Settings
from lakejoin.server.sql.statement_runner import SqlLimits, SqlRunner
from lakejoin.server.workspace import Workspace

if TYPE_CHECKING:
    from fastapi.responses import JSONResponse

T = TypeVar("T")

_MAX_UPLOADS = 16  # at once: each may take its full size on disk before it is parsed
_QUICK_THREADS = 4
_QUICK_SECONDS = 20.0
_LONG_THREADS = 2
_LONG_SECONDS = 60.0
_GRACE = 1.0
_JOBS_PER_WORKER = 200  # then it is replaced, so that no leak grows forever
_READER_MEMORY = 2_000_000_000
_READY_SECONDS = 0.5  # that the server waits for a worker before it answers
_WORKER_SECONDS = 5.0  # that other children wait for one


class Services:
    """Everything that lives as long as the server."""

    def __init__(self, settings: Settings) -> None:
        limits = settings.limits
        survive_cut_files()
        self.settings = settings
        self.metrics = Metrics()
        self.workspace = Workspace(settings.index, settings.folder, limits)
        rules = self.workspace.lake().snapshot.manifest.options.rules
        self.workers = ChildPool(
            ChildSpec(
                "lakejoin.server.jobs.worker",
                self.workspace.setup(),
                settings.workers,
                _JOBS_PER_WORKER,
                limits.worker_memory,
                _GRACE,
                limits.waiting,
                on_exit=self.workspace.remove_unfinished,
            )
        )
        reader_setup = {**self.workspace.setup(), "rules": asdict(rules)}
        self.readers = ChildPool(
            ChildSpec(
                "lakejoin.server.upload_reader",
                reader_setup,
                2,
                1,
                _READER_MEMORY,
                max_waiting=16,
                on_exit=self.workspace.remove_unfinished,
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
        self.chains = ChainRunner(self.workspace, self.workers, self.sql)
        self.downloads = Downloads()
        self._quick = ThreadLane("quick", _QUICK_THREADS, _QUICK_SECONDS)
        self._long = ThreadLane("long", _LONG_THREADS, _LONG_SECONDS)
        self._uploads = 0
        self._starting: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Start the workers, and once one is ready the other children: searches come first."""
        await self.workers.start()
        self._starting = asyncio.ensure_future(self._start_others())

    async def _start_others(self) -> None:
        await self.workers.wait_ready(_WORKER_SECONDS)
        await self.readers.start()
        await self.sql.start()

    async def wait_ready(self) -> None:
        """Wait until a worker is ready, so that the first search is fast; but not for long if the
        lake is large."""
        await self.workers.wait_ready(_READY_SECONDS)

    async def stop_children(self) -> None:
        """Stop the child processes; waiting callers get an error."""
        if self._starting is not None:
            self._starting.cancel()
        await asyncio.gather(self.workers.close(), self.readers.close(), self.sql.close())

    async def close(self) -> None:
        await self.stop_children()
        for lane in (self._quick, self._long, self.downloads):
            lane.close()

    @contextmanager
    def count_upload(self) -> Iterator[None]:
        """Count an upload while it arrives; raises `Problem` if there are too many."""
        if self._uploads >= _MAX_UPLOADS:
            raise Problem("busy", "too many uploads are in progress; try again in a moment")
        self._uploads += 1
        try:
            yield
        finally:
            self._uploads -= 1

    async def run_quick(self, work: Callable[..., T], *args: Any) -> T:
        """Run a short read in a thread; it never waits for searches, joins or whole columns."""
        return await self._quick.run(self.workspace.run_unchanged, partial(work, *args))

    async def quick_response(self, work: Callable[..., Any], *args: Any) -> JSONResponse:
        """Run a short read and serialize its result in the same thread, off the event loop."""
        return await self.run_quick(lambda: _serialize(work(*args)))

    async def long_response(self, work: Callable[..., Any], *args: Any) -> JSONResponse:
        """Like `quick_response`, for work that may read whole columns."""
        return await self._long.run(self.workspace.run_unchanged, lambda: _serialize(work(*args)))

    async def run_job(self, job: str, listener: Listener, **fields: Any) -> Any:
        """Run a job in a worker, preferably the one that last had the same `key`."""
        seconds = self.settings.limits.seconds
        return await self.workers.run({"job": job, **fields}, seconds, listener, fields.get("key"))


def _serialize(content: Any) -> JSONResponse:
    from fastapi.responses import JSONResponse  # not loaded when the first children start

    return JSONResponse(content)


_MAX_DOWNLOADS = 32
_CLIENT_DOWNLOADS = 8  # of one address
_DOWNLOAD_THREADS = 2


class Downloads:
    """Running downloads; a slow reader blocks only its own download. One that reads too slowly is
    disconnected (`WatchedConnection`)."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_DOWNLOAD_THREADS, "download")
        self._running: Counter[str] = Counter()  # by the address of the client

    @property
    def running(self) -> int:
        """How many downloads are running."""
        return self._running.total()

    async def stream(self, chunks: Iterator[bytes], client: str) -> AsyncIterator[bytes]:
        """Stream chunks, producing each one when the previous one was read. The first is produced
        now, so that an early failure is an error response and not a broken download. Raises
        `Problem` if too many downloads are running, in all or to this client."""
        counted = self._counted(chunks, client)
        return _prepend(await anext(counted, b""), counted)

    async def _counted(self, chunks: Iterator[bytes], client: str) -> AsyncGenerator[bytes]:
        if self.running >= _MAX_DOWNLOADS:
            raise Problem("busy", "too many downloads are running; try again in a moment")
        if self._running[client] >= _CLIENT_DOWNLOADS:
            raise Problem(
                "busy",
                f"{_CLIENT_DOWNLOADS} downloads to your address are running, the limit; try again "
                "when one of them has ended",
            )
        self._running[client] += 1
        try:
            while (chunk := await self._next(chunks)) is not None:
                if chunk:
                    yield chunk
        finally:
            self._running[client] -= 1
            self._running += Counter()  # forgets clients without downloads

    async def _next(self, chunks: Iterator[bytes]) -> bytes | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, next, chunks, None)

    def close(self) -> None:
        """Produce no more chunks."""
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _prepend(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for chunk in rest:
            yield chunk


Result = TypeVar("Result")

_MAX_WAITING = 256


class ThreadLane:
    """A thread pool with a time limit and a bounded queue; a `Problem` is raised beyond either."""

    def __init__(self, name: str, threads: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._seconds = seconds
        self._waiting = 0

    async def run(self, work: Callable[..., Result], *args: Any) -> Result:
        if self._waiting >= _MAX_WAITING:
            raise Problem("busy", "the server is busy; try again in a moment")
        self._waiting += 1
        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, work, *args)
            return await asyncio.wait_for(running, self._seconds)
        except TimeoutError:
            raise Problem("time", f"this took more than {self._seconds:g} seconds") from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Accept no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
