"""Stream downloads from threads of their own, with a limit on how many run at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

from lakejoin.server.problems import Problem

_MAX_DOWNLOADS = 32
_DOWNLOAD_THREADS = 2


class Downloads:
    """Running downloads; a slow reader blocks only its own download."""

    def __init__(self, most: int = _MAX_DOWNLOADS) -> None:
        self._most = most
        self._threads = ThreadPoolExecutor(_DOWNLOAD_THREADS, "download")
        self.under_way = 0

    async def streamed(self, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Stream chunks, producing each one when the previous one was read. The first is produced
        now, so that an early failure is an error response and not a broken download. Raises
        `Problem` if too many downloads are running."""
        if self.under_way >= self._most:
            raise Problem("busy", "too many downloads are running; try again in a moment")
        return self._counted(await self._next(chunks), chunks)

    async def _counted(self, first: bytes | None, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
        self.under_way += 1
        try:
            chunk = first
            while chunk is not None:
                if chunk:
                    yield chunk
                chunk = await self._next(chunks)
        finally:
            self.under_way -= 1

    async def _next(self, chunks: Iterator[bytes]) -> bytes | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, next, chunks, None)

    def close(self) -> None:
        """Produce no more chunks."""
        self._threads.shutdown(wait=False, cancel_futures=True)
