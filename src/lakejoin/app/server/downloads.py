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

    def streamed(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """The same pieces, each made when the one before was taken; a `Problem` if there are too
        many downloads."""
        if self.under_way >= self._most:
            raise Problem("busy", "too many downloads are under way: try again in a moment")
        return self._counted(pieces)

    async def _counted(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        self.under_way += 1
        try:
            while True:
                piece = await loop.run_in_executor(self._threads, next, pieces, None)
                if piece is None:
                    return
                if piece:
                    yield piece
        finally:
            self.under_way -= 1

    def close(self) -> None:
        """Makes no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
