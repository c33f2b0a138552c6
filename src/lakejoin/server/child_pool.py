"""Pools of warm child processes for work that must be stoppable: started with `python -m`, killed
at a limit, replaced."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakejoin.server.api_problems import Problem

Message = dict[str, Any]
Listener = Callable[[str, Any], None]  # called with ("progress" or "partial", data)

_LENGTH = struct.Struct(">I")
_MAX_MESSAGE = 1 << 28  # bytes
_READY_SECONDS = 60.0
_LOOK_SECONDS = 0.2  # between two checks of a child's memory
_ENDED = "the worker process ended unexpectedly"
# A child inherits only what Python, its libraries and lakejoin need of the environment.
_INHERITED = (
    *("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", "NUMBA_CACHE_DIR"),
    *("LAKEJOIN_DEBUG", "LAKEJOIN_ENCODER"),
)
_INHERITED_PREFIXES = ("LC_", "XDG_")


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """The module that the children of a pool run, and their limits.

    A pool keeps `size` children. A child is replaced after `jobs_per_child` jobs, and killed once
    its own memory (without mapped files) exceeds `memory` bytes. `grace` is how many seconds a
    cancelled job has to stop by itself before its child is killed. `max_waiting` is how many jobs
    may wait for a child. `environment` is added to what children inherit. `on_exit` is called with
    the process id of each child that has gone, to remove its unfinished files.
    """

    module: str
    setup: Mapping[str, Any] = field(default_factory=dict)
    size: int = 2
    jobs_per_child: int = 1_000
    memory: int | None = None
    grace: float = 0.0
    max_waiting: int = 64
    environment: Mapping[str, str] = field(default_factory=dict)
    on_exit: Callable[[int], None] | None = None


class Child:
    """One child process."""

    def __init__(self, process: asyncio.subprocess.Process, memory: int | None) -> None:
        self._process = process
        self._memory = memory
        self._reading: asyncio.Task[Message] | None = None
        self.jobs = 0
        self.has_successor = False  # its successor has been started
        self.subject: str | None = None  # of its last job

    @classmethod
    async def start(cls, kind: ChildSpec) -> Child:
        """Start a child and send it its setup, without waiting for it to finish that."""
        python_path = os.pathsep.join(path for path in sys.path if path)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            kind.module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**_environment(), "PYTHONPATH": python_path, **kind.environment},
            start_new_session=True,  # a process group, which can be killed at once
        )
        child = cls(process, kind.memory)
        with suppress(ConnectionError):
            await child._send({"setup": dict(kind.setup)})
        return child

    async def wait_ready(self) -> None:
        """Wait until its setup is done or has failed, but not forever."""
        with suppress(Problem, TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._next_message()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def run(self, job: Message, seconds: float, listener: Listener | None) -> Any:
        self.jobs += 1
        watcher = asyncio.ensure_future(self._watch_memory())
        work = asyncio.ensure_future(self._exchange(job, listener))
        try:
            await asyncio.wait(
                {watcher, work}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if work.done():
                return work.result()
            if watcher.done():
                watcher.result()
            raise Problem("time", f"stopped after {seconds:g} seconds, the time limit")
        finally:
            watcher.cancel()
            work.cancel()

    async def stop(self, grace: float) -> bool:
        """Ask it to stop its job; returns whether it did in time and can be used again."""
        if not grace or not self.alive:
            return False
        try:
            async with asyncio.timeout(grace):
                await self._send({"stop": True})
                while True:
                    message = await self._next_message()
                    if "done" in message or "problem" in message:
                        return True
        except (TimeoutError, ConnectionError, Problem, asyncio.CancelledError):
            return False

    def kill(self) -> None:
        """Kill it and all that it has started."""
        if self.alive:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Kill it and wait until it has gone."""
        self.kill()
        if self._reading is not None:
            self._reading.cancel()
        with suppress(BrokenPipeError, ConnectionError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        await self._process.wait()

    async def _exchange(self, job: Message, listener: Listener | None) -> Any:
        try:
            await self._send({"job": job})
            while True:
                message = await self._next_message()
                if "done" in message:
                    return message["done"]
                if "problem" in message:
                    raise Problem.from_dict(message["problem"])
                for event, data in message.items():
                    if listener is not None and event != "ready":
                        listener(event, data)
        except ConnectionError:
            raise Problem("died", _ENDED) from None

    async def _send(self, message: Message) -> None:
        writer = self._process.stdin
        assert writer is not None
        data = json.dumps(message).encode()
        writer.write(_LENGTH.pack(len(data)) + data)
        await writer.drain()

    async def _next_message(self) -> Message:
        """The next message. A cancelled read goes on, so that no message is read halfway."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        try:
            message = await asyncio.shield(self._reading)
        except asyncio.CancelledError:
            if (
                self._reading.cancelled()
            ):  # because the child ended, not because the caller was cancelled
                raise Problem("died", _ENDED) from None
            raise
        self._reading = None
        return message

    async def _read(self) -> Message:
        reader = self._process.stdout
        assert reader is not None
        try:
            (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
            if length > _MAX_MESSAGE:  # a child that runs a stranger's SQL may send anything
                raise Problem("died", "the worker process sent an invalid message")
            message: Message = json.loads(await reader.readexactly(length))
        except asyncio.IncompleteReadError:
            raise Problem("died", _ENDED) from None
        return message

    async def _watch_memory(self) -> None:
        """Raise a problem once the child's own memory exceeds the limit."""
        status = Path(f"/proc/{self._process.pid}/status")
        if self._memory is None or not status.exists():
            await asyncio.Event().wait()
        assert self._memory is not None
        while True:
            if _own_memory(status) > self._memory:
                limit = f"{self._memory / 1e9:.1f} GB"
                raise Problem("memory", f"stopped: this used more than {limit} of memory")
            await asyncio.sleep(_LOOK_SECONDS)


def _own_memory(status: Path) -> int:
    """The bytes of a process that are not mapped from files; 0 if it has gone."""
    try:
        for line in status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in _INHERITED or name.startswith(_INHERITED_PREFIXES)
    }


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
        self.waiting = 0  # jobs that wait for a child
        self._closed = False
        self.killed = 0  # children that were killed early

    async def start(self) -> None:
        """Start a child, and the others once it is ready, so that they do not slow it down."""
        self._add()
        self._in_background(self._start_others())

    async def _start_others(self) -> None:
        await self.wait_ready(_READY_SECONDS)
        for _ in range(self.kind.size - 1):
            self._add()

    async def wait_ready(self, seconds: float) -> None:
        """Wait until a child is free, but no longer than this."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._freed:
                await self._freed.wait_for(lambda: self._free or self._closed)

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
            # A child whose index was changed may have kept what it read.
            done = problem.kind not in ("time", "memory", "died", "damaged")
            if self._closed:
                raise self._refusal() from None
            raise
        except asyncio.CancelledError:
            done = await child.stop(self.kind.grace)
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
        if self._closed or self.waiting >= self.kind.max_waiting:
            raise self._refusal()
        self.waiting += 1
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
            self.waiting -= 1

    def _refusal(self) -> Problem:
        if self._closed:
            return Problem("busy", "the server is shutting down")
        return Problem("busy", "the server is busy; try again in a moment")

    async def _give_back(self, child: Child, done: bool) -> None:
        if done and child.alive and child.jobs < self.kind.jobs_per_child:
            if child.jobs == self.kind.jobs_per_child - self.kind.jobs_per_child // _AHEAD:
                child.has_successor = True
                self._add()  # early, so that nobody waits once this one goes
            await self._release(child)
            return
        self.killed += not done
        self._replace(child)

    def _replace(self, child: Child, pause: float = 0.0) -> None:
        self._all.discard(child)
        self._in_background(self._end(child))
        if not child.has_successor:
            self._add(pause)

    async def _end(self, child: Child) -> None:
        await child.end()
        if self.kind.on_exit is not None:
            await asyncio.to_thread(self.kind.on_exit, child.pid)

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
            child = await Child.start(self.kind)
        except OSError:  # out of processes or file handles: try again later
            self._add(_RETRY_SECONDS)
            return
        self._all.add(child)
        if not self._closed:
            await child.wait_ready()
        await self._release(child)

    async def _release(self, child: Child) -> None:
        async with self._freed:
            self._free.append(child)
            self._freed.notify_all()  # all: a single waiter might just have been cancelled
