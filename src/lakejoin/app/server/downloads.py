"""Downloads that are under way: so many at once, made in threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

from lakejoin.app.server.problems import Problem

_MOST = 32
_THREADS = 2


class Downloads:
    """However many are asked for, and whether they are read or not, nothing else waits for them."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._threads = ThreadPoolExecutor(_THREADS, "download")
        self.under_way = 0

    async def streamed(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """The same pieces, each made when the one before was taken; a `Problem` if there are too
        many downloads. The first is made at once: what fails then is told, and is no download that
        breaks off."""
        if self.under_way >= self._most:
            raise Problem("busy", "too many downloads are under way: try again in a moment")
        return self._counted(await self._next(pieces), pieces)

    async def _counted(self, first: bytes | None, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        self.under_way += 1
        try:
            piece = first
            while piece is not None:
                if piece:
                    yield piece
                piece = await self._next(pieces)
        finally:
            self.under_way -= 1

    async def _next(self, pieces: Iterator[bytes]) -> bytes | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, next, pieces, None)

    def close(self) -> None:
        """Makes no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
