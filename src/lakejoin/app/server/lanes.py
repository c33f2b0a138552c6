"""Threads for work that reads and is not stopped: each kind has its own, and waits for no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lakejoin.app.server.problems import Problem

T = TypeVar("T")

_WAITING = 256


class Lane:
    """So many threads; whoever waits longer than `seconds`, or behind too many, is told."""

    def __init__(self, name: str, threads: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._seconds = seconds
        self._waiting = 0

    async def run(self, work: Callable[..., T], *given: Any) -> T:
        """What the work gives."""
        if self._waiting >= _WAITING:
            raise Problem("busy", "the server has too much to do just now: try again in a moment")
        self._waiting += 1
        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
            return await asyncio.wait_for(running, self._seconds)
        except TimeoutError:
            raise Problem("time", f"this took more than {self._seconds:g} seconds") from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Takes no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
