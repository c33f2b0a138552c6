"""Respond to long requests with JSON or with events; work stops if the caller disconnects."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from lakejoin.server.api_problems import Problem
from lakejoin.server.child_pool import Listener
from lakejoin.server.request_services import ServicesDependency

EVENTS = "text/event-stream"
_ALIVE_SECONDS = 5.0  # without news, a progress event is repeated

Work = Callable[[Listener], Awaitable[Any]]


class LongRequest:
    """A request for long work, answered with JSON or events, as its Accept header asks."""

    def __init__(self, request: Request, services: ServicesDependency) -> None:
        self.request = request
        self.services = services

    async def run_job(self, job: str, **fields: Any) -> Response:
        """Run a job in a worker, and respond with its result."""
        return await self.respond(lambda listener: self.services.run_job(job, listener, **fields))

    async def respond(self, work: Work) -> Response:
        """Run the work, and respond with its result."""
        if EVENTS in self.request.headers.get("accept", ""):
            headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
            return StreamingResponse(_events(work), media_type=EVENTS, headers=headers)
        working = asyncio.ensure_future(work(ignore_progress))
        leaving = asyncio.ensure_future(_wait_for_disconnect(self.request))
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise Problem("stopped", "the caller disconnected")
            return JSONResponse(working.result())
        finally:
            leaving.cancel()
            await _cancel(working)


LongRequestDependency = Annotated[LongRequest, Depends()]


def ignore_progress(event: str, data: Any) -> None:
    """A listener that ignores progress."""


async def _events(work: Work) -> AsyncIterator[bytes]:
    queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
    begin = time.monotonic()

    async def run() -> None:
        try:
            done = await work(lambda name, data: queue.put_nowait((name, data)))
            queue.put_nowait(("done", done))
        except Exception as error:  # noqa: BLE001 (the caller gets every error)
            queue.put_nowait(("problem", {"error": Problem.from_error(error).to_dict()}))

    working = asyncio.ensure_future(run())
    try:
        doing = "waiting for a free worker"
        while True:
            try:
                name, data = await asyncio.wait_for(queue.get(), _ALIVE_SECONDS)
            except TimeoutError:
                name, data = "progress", {"doing": doing}
            if name == "progress":
                doing = data.get("doing", doing)
                data = {**data, "seconds": round(time.monotonic() - begin, 3)}
            yield format_event(name, data)
            if name in ("done", "problem"):
                return
    finally:
        await _cancel(working)


def format_event(name: str, data: Any) -> bytes:
    r"""Format one server-sent event.

    >>> format_event("progress", {"doing": "reading\n"})
    b'event: progress\ndata: {"doing":"reading\\n"}\n\n'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)
    return f"event: {name}\ndata: {text}\n\n".encode()


async def _wait_for_disconnect(request: Request) -> None:
    """Return once the caller has gone."""
    while True:
        if (await request.receive())["type"] == "http.disconnect":
            return


async def _cancel(working: asyncio.Future[Any]) -> None:
    """Cancel work that nobody waits for."""
    if not working.done():
        working.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await working
