"""One child process: how it is started, asked, watched and ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakejoin.app.server.problems import Problem

Message = dict[str, Any]
Listener = Callable[[str, Any], None]  # is told ("progress" or "partial", what)

_LENGTH = struct.Struct(">I")
_LONGEST = 1 << 28  # bytes of a message
_READY_SECONDS = 60.0
_LOOK_SECONDS = 0.2  # between two looks at a child's memory
_ENDED = "the process that worked on this has ended"
# Of the server's environment a child gets what Python, its libraries and lakejoin need.
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", "NUMBA_CACHE_DIR", "LAKEJOIN_DEBUG")
_KEPT_BEGINNINGS = ("LC_", "XDG_")


@dataclass(frozen=True, slots=True)
class Kind:
    """What children are for: the module that runs in them, and what they may take.

    `size` of them are kept. A child does `jobs_each` and is then replaced. One whose own memory
    (not files that it maps) grows above `memory` bytes is ended. `grace` is how long a job that is
    no longer wanted may take to stop by itself, before its child is ended. `patience` is how many
    jobs may wait for a child. `environment` is added to what children get. `ended` is told the
    process number of each that has gone, to take away what it left half made.
    """

    module: str
    setup: Mapping[str, Any] = field(default_factory=dict)
    size: int = 2
    jobs_each: int = 1_000
    memory: int | None = None
    grace: float = 0.0
    patience: int = 64
    environment: Mapping[str, str] = field(default_factory=dict)
    ended: Callable[[int], None] | None = None


class Child:
    """One child process."""

    def __init__(self, process: asyncio.subprocess.Process, memory: int | None) -> None:
        self._process = process
        self._memory = memory
        self._reading: asyncio.Task[Message] | None = None
        self.jobs = 0
        self.followed = False  # there is already one that takes its place
        self.subject: str | None = None  # of its last job

    @classmethod
    async def started(cls, kind: Kind) -> Child:
        """A new one, which has been told its setup; it may still be busy with it."""
        known = os.pathsep.join(place for place in sys.path if place)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            kind.module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**_environment(), "PYTHONPATH": known, **kind.environment},
            start_new_session=True,  # with all that it starts, it can be ended at once
        )
        child = cls(process, kind.memory)
        with suppress(ConnectionError):
            await child._send({"setup": dict(kind.setup)})
        return child

    async def ready(self) -> None:
        """Waits until it is done with its setup, or has ended over it, or for long enough."""
        with suppress(Problem, TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._received()

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.returncode is None

    async def run(self, job: Message, seconds: float, listener: Listener | None) -> Any:
        """Its answer to a job."""
        self.jobs += 1
        watching = asyncio.ensure_future(self._watched())
        working = asyncio.ensure_future(self._answered(job, listener))
        try:
            await asyncio.wait(
                {watching, working}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if working.done():
                return working.result()
            if watching.done():
                watching.result()
            raise Problem("time", f"this took more than {seconds:g} seconds, and was stopped")
        finally:
            watching.cancel()
            working.cancel()

    async def stopped(self, grace: float) -> bool:
        """Asks it to stop what it does; whether it did in time, and can be used again."""
        if not grace or not self.alive:
            return False
        try:
            async with asyncio.timeout(grace):
                await self._send({"stop": True})
                while True:
                    message = await self._received()
                    if "done" in message or "problem" in message:
                        return True
        except (TimeoutError, ConnectionError, Problem, asyncio.CancelledError):
            return False

    def kill(self) -> None:
        """Ends it now, with all that it has started."""
        if self.alive:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Ends it and waits until it has gone."""
        self.kill()
        if self._reading is not None:
            self._reading.cancel()
        with suppress(BrokenPipeError, ConnectionError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        await self._process.wait()

    async def _answered(self, job: Message, listener: Listener | None) -> Any:
        try:
            await self._send({"job": job})
            while True:
                message = await self._received()
                if "done" in message:
                    return message["done"]
                if "problem" in message:
                    raise Problem.of(message["problem"])
                for what, told in message.items():
                    if listener is not None and what != "ready":
                        listener(what, told)
        except ConnectionError:
            raise Problem("died", _ENDED) from None

    async def _send(self, message: Message) -> None:
        writer = self._process.stdin
        assert writer is not None
        data = json.dumps(message).encode()
        writer.write(_LENGTH.pack(len(data)) + data)
        await writer.drain()

    async def _received(self) -> Message:
        """The next message. A read that was cancelled goes on, so that none is torn apart."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        try:
            message = await asyncio.shield(self._reading)
        except asyncio.CancelledError:
            if self._reading.cancelled():  # by its end, and not the caller by somebody
                raise Problem("died", _ENDED) from None
            raise
        self._reading = None
        return message

    async def _read(self) -> Message:
        reader = self._process.stdout
        assert reader is not None
        try:
            (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
            if length > _LONGEST:  # a child that runs what strangers wrote may say anything
                raise Problem("died", "the process that worked on this answered nonsense")
            message: Message = json.loads(await reader.readexactly(length))
        except asyncio.IncompleteReadError:
            raise Problem("died", _ENDED) from None
        return message

    async def _watched(self) -> None:
        """Ends with a problem once the child's own memory is above the limit."""
        status = Path(f"/proc/{self._process.pid}/status")
        if self._memory is None or not status.exists():
            await asyncio.Event().wait()
        assert self._memory is not None
        while True:
            if _own_memory(status) > self._memory:
                most = f"{self._memory / 1e9:.1f} GB"
                raise Problem("memory", f"this took more than {most} of memory, and was stopped")
            await asyncio.sleep(_LOOK_SECONDS)


def _own_memory(status: Path) -> int:
    """The bytes that a process holds and that lie in no file; 0 if it has gone."""
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
        if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
    }
