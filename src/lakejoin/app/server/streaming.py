"""Answers that take a while: one JSON body, or events as the work goes on; stopped when the caller
has gone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from lakejoin.app.server.child import Listener
from lakejoin.app.server.problems import Problem

EVENTS = "text/event-stream"
_ALIVE_SECONDS = 5.0  # after so long without news, the caller is told that work goes on

Work = Callable[[Listener], Awaitable[Any]]


async def answered(request: Request, work: Work) -> Response:
    """What the work gives, in the way in which the caller wants it."""
    if EVENTS in request.headers.get("accept", ""):
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(_events(work), media_type=EVENTS, headers=headers)
    working = asyncio.ensure_future(work(nobody))
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Problem("stopped", "the caller has gone")
        return JSONResponse(working.result())
    finally:
        leaving.cancel()
        await _ended(working)


def nobody(what: str, told: Any) -> None:
    """Listens to work of which only the end is wanted."""


async def _events(work: Work) -> AsyncIterator[bytes]:
    told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
    begin = time.monotonic()

    async def whole() -> None:
        try:
            done = await work(lambda what, said: told.put_nowait((what, said)))
            told.put_nowait(("done", done))
        except Exception as error:  # noqa: BLE001 (whatever it is, the caller is told)
            told.put_nowait(("problem", {"error": Problem.from_error(error).to_dict()}))

    working = asyncio.ensure_future(whole())
    try:
        doing = "waiting for a free worker"
        while True:
            try:
                what, said = await asyncio.wait_for(told.get(), _ALIVE_SECONDS)
            except TimeoutError:
                what, said = "progress", {"doing": doing}
            if what == "progress":
                doing = said.get("doing", doing)
                said = {**said, "seconds": round(time.monotonic() - begin, 3)}
            yield event(what, said)
            if what in ("done", "problem"):
                return
    finally:
        await _ended(working)


def event(what: str, said: Any) -> bytes:
    r"""One server-sent event.

    >>> event("progress", {"doing": "reading\n"})
    b'event: progress\ndata: {"doing":"reading\\n"}\n\n'
    """
    data = json.dumps(said, ensure_ascii=False, separators=(",", ":"), default=str)
    return f"event: {what}\ndata: {data}\n\n".encode()


async def _left(request: Request) -> None:
    """Returns once the caller has gone."""
    while True:
        if (await request.receive())["type"] == "http.disconnect":
            return


async def _ended(working: asyncio.Future[Any]) -> None:
    """Stops work that nobody waits for."""
    if not working.done():
        working.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await working
