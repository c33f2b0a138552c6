"""Child processes for work that must be stoppable: kept warm, killed at the limit, replaced.

A child is started by `python -m MODULE`, is told its setup once and then takes jobs, one at a time
(`child_side.py` is its half of the talk). Whatever a job does, the server goes on: a child that
takes too long, too much memory, or dies is ended with all that it started, and another takes its
place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from lakejoin.app.server.child import Child, Kind, Listener, Message
from lakejoin.app.server.problems import Problem

_AHEAD = 10  # with this part of its jobs left to do, a child gets a successor
_PAUSE_SECONDS = 0.2  # before a child that died idle gets one
_RETRY_SECONDS = 2.0  # until another child is started where one could not be


class Pool:
    """Children of one kind. `run` gives a job to the next one that is free."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._free: list[Child] = []
        self._freed = asyncio.Condition()
        self._all: set[Child] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._closed = False
        self.killed = 0  # children that were ended before their time

    async def start(self) -> None:
        """Starts the children; they get warm while others are served."""
        for _ in range(self.kind.size):
            self._add()

    @property
    def waiting(self) -> int:
        """How many jobs wait for a child."""
        return self._waiting

    @property
    def busy(self) -> int:
        """How many children are at work, or being started."""
        return max(0, self.kind.size - len(self._free))

    async def run(
        self,
        job: Message,
        seconds: float,
        listener: Listener | None = None,
        subject: str | None = None,
    ) -> Any:
        """What a child answers to a job; raises the `Problem` that it has.

        The time counts from when a child takes the job. If the caller is cancelled, so is the job.
        Of children that are free, one that last worked on the same `subject` is taken.
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
        """Ends all children; who waits for one, or for its answer, is told."""
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
                    same = [one for one in self._free if subject and one.subject == subject]
                    child = same[0] if same else self._free[0]
                    self._free.remove(child)
                    if child.alive:
                        return child
                    # It died while it had nothing to do: the next might too, so not at once.
                    self._replace(child, _PAUSE_SECONDS)
        finally:
            self._waiting -= 1

    def _refusal(self) -> Problem:
        if self._closed:
            return Problem("busy", "the server is being stopped")
        return Problem("busy", "the server has too much to do just now: try again in a moment")

    async def _give_back(self, child: Child, done: bool) -> None:
        if done and child.alive and child.jobs < self.kind.jobs_each:
            if child.jobs == self.kind.jobs_each - self.kind.jobs_each // _AHEAD:
                child.followed = True
                self._add()  # in time, so that nobody waits for it once this one goes
            await self._is_free(child)
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
            self._in_background(self._started(pause))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _started(self, pause: float) -> None:
        await asyncio.sleep(pause)
        try:
            child = await Child.started(self.kind)
        except OSError:  # no process or no file can be had just now: there may be room soon
            self._add(_RETRY_SECONDS)
            return
        self._all.add(child)
        if not self._closed:
            await child.ready()
        await self._is_free(child)

    async def _is_free(self, child: Child) -> None:
        async with self._freed:
            self._free.append(child)
            self._freed.notify_all()  # if only one was told, and left just then, none would come
