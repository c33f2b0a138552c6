"""Pools of warm child processes for work that must be stoppable.

A child is started with `python -m MODULE`, gets its setup once and then jobs, one at a time
(`child_side.py` is the child's half of the protocol). Whatever a job does, the server survives: a
child that takes too long, uses too much memory or dies is killed with all that it started, and
replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from lakejoin.server.child_pool import Child, ChildSpec, Listener, Message
from lakejoin.server.problems import Problem

_AHEAD = 10  # a successor is started when one tenth of a child's jobs are left
_PAUSE_SECONDS = 0.2  # before a child that died while idle is replaced
_RETRY_SECONDS = 2.0  # until starting a child is tried again


class ChildPool:
    """Children of one kind. `run` gives a job to the next free one."""

    def __init__(self, kind: ChildSpec) -> None:
        self.kind = kind
        self._free: list[Child] = []
        self._freed = asyncio.Condition()
        self._all: set[Child] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._closed = False
        self.killed = 0  # children that were killed early

    async def start(self) -> None:
        """Start the children; they warm up in the background."""
        for _ in range(self.kind.size):
            self._add()

    @property
    def waiting(self) -> int:
        """How many jobs wait for a child."""
        return self._waiting

    @property
    def busy(self) -> int:
        """How many children are working or starting."""
        return max(0, self.kind.size - len(self._free))

    async def run(
        self,
        job: Message,
        seconds: float,
        listener: Listener | None = None,
        subject: str | None = None,
    ) -> Any:
        """Run a job in a child and return its answer; raises the `Problem` that the child reports.

        The time counts from when a child takes the job. If the caller is cancelled, so is the job.
        A free child that last worked on the same `subject` is preferred.
        """
        child = await self._next(subject)
        child.subject = subject
        done = False
        try:
            answer = await child.run(job, seconds, listener)
            done = True
            return answer
        except Problem as problem:
            done = problem.kind not in ("time", "memory", "died")
            if self._closed:
                raise self._refusal() from None
            raise
        except asyncio.CancelledError:
            done = await child.stopped(self.kind.grace)
            raise
        finally:
            await asyncio.shield(self._give_back(child, done))

    async def close(self) -> None:
        """Kill all children; callers that wait for one get an error."""
        self._closed = True
        for child in self._all:
            child.kill()
        async with self._freed:
            self._freed.notify_all()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*map(self._end, self._all), return_exceptions=True)
        self._all.clear()

    async def _next(self, subject: str | None) -> Child:
        if self._closed or self._waiting >= self.kind.patience:
            raise self._refusal()
        self._waiting += 1
        try:
            async with self._freed:
                while True:
                    await self._freed.wait_for(lambda: self._free or self._closed)
                    if self._closed:
                        raise self._refusal()
                    same = [child for child in self._free if subject and child.subject == subject]
                    child = same[0] if same else self._free[0]
                    self._free.remove(child)
                    if child.alive:
                        return child
                    # It died while idle. The next one might too, so wait a little.
                    self._replace(child, _PAUSE_SECONDS)
        finally:
            self._waiting -= 1

    def _refusal(self) -> Problem:
        if self._closed:
            return Problem("busy", "the server is shutting down")
        return Problem("busy", "the server is busy; try again in a moment")

    async def _give_back(self, child: Child, done: bool) -> None:
        if done and child.alive and child.jobs < self.kind.jobs_each:
            if child.jobs == self.kind.jobs_each - self.kind.jobs_each // _AHEAD:
                child.followed = True
                self._add()  # early, so that nobody waits once this one goes
            await self._release(child)
            return
        self.killed += not done
        self._replace(child)

    def _replace(self, child: Child, pause: float = 0.0) -> None:
        self._all.discard(child)
        self._in_background(self._end(child))
        if not child.followed:
            self._add(pause)

    async def _end(self, child: Child) -> None:
        await child.end()
        if self.kind.ended is not None:
            await asyncio.to_thread(self.kind.ended, child.pid)

    def _add(self, pause: float = 0.0) -> None:
        if not self._closed:
            self._in_background(self._start_child(pause))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_child(self, pause: float) -> None:
        await asyncio.sleep(pause)
        try:
            child = await Child.started(self.kind)
        except OSError:  # out of processes or file handles: try again later
            self._add(_RETRY_SECONDS)
            return
        self._all.add(child)
        if not self._closed:
            await child.ready()
        await self._release(child)

    async def _release(self, child: Child) -> None:
        async with self._freed:
            self._free.append(child)
            self._freed.notify_all()  # all: a single waiter might just have been cancelled
