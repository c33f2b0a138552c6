"""Thread pools for short reads that are never interrupted, one per kind of work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lakejoin.server.problems import Problem

Result = TypeVar("Result")

_MAX_WAITING = 256


class ThreadLane:
    """A thread pool with a time limit and a bounded queue; a `Problem` is raised beyond either."""

    def __init__(self, name: str, threads: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._seconds = seconds
        self._waiting = 0

    async def run(self, work: Callable[..., Result], *args: Any) -> Result:
        """Run `work` in a thread and return its result."""
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
