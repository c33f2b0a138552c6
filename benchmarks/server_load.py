"""A server under load: users who ask, and what they waited for."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil  # type: ignore[import-untyped, unused-ignore]

PATIENCE = 300.0
_API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: a GET with a query, or a POST with a body."""

    path: str
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    content: bytes | None = None

    @property
    def method(self) -> str:
        """POST where something is sent."""
        return "GET" if self.body is None and self.content is None else "POST"


@dataclass(slots=True)
class Waited:
    """The seconds of each request that was answered well, the others by what was answered, and the
    CPU seconds that the server and its children took meanwhile."""

    users: int
    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    took: float = 0.0
    cpu: float = 0.0
    load: float = 0.0

    def figures(self) -> dict[str, Any]:
        """Medians and tails, in milliseconds.

        >>> Waited(1, [0.1, 0.2, 0.3], took=1.0).figures()["p50_ms"]
        200.0
        """
        quantiles = np.quantile(self.seconds, [0.5, 0.95]) if self.seconds else [np.nan, np.nan]
        return {
            "users": self.users,
            "requests": len(self.seconds),
            "errors": dict(self.errors),
            "p50_ms": round(float(quantiles[0]) * 1e3, 2),
            "p95_ms": round(float(quantiles[1]) * 1e3, 2),
            "per_second": round(len(self.seconds) / self.took, 2) if self.took else 0.0,
            "cpu_ms_each": round(self.cpu / max(1, len(self.seconds)) * 1e3, 2),
            "load": self.load,
        }


@contextmanager
def served(index: Path, store: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A server of an index, at its address."""
    command = [sys.executable, "-m", "lakejoin", "serve", "--index", str(index)]
    command += ["--port", "0", "--store", str(store), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the server ended")
            text += line
        yield f"http://127.0.0.1:{json.loads(text)['port']}", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


async def asked(http: httpx.AsyncClient, one: Ask) -> str | None:
    """Asks, reads the answer to its end, and returns what was wrong with it."""
    try:
        answer = await http.request(
            one.method, _API + one.path, params=one.query, json=one.body, content=one.content
        )
    except httpx.HTTPError as problem:
        return type(problem).__name__
    return None if answer.status_code == 200 else str(answer.status_code)


def load(
    url: str,
    asks: Sequence[Ask],
    users: int,
    seconds: float,
    process: psutil.Process | None = None,
    ask: Callable[[httpx.AsyncClient, Ask], Any] = asked,
) -> Waited:
    """So many users, each asking the next one as soon as it has an answer, until the time is up or
    all is asked. Each request is asked once; those who ask when the time is up are waited for."""
    waited = Waited(users, load=round(psutil.getloadavg()[0], 1))
    left = iter(asks)

    async def user(http: httpx.AsyncClient, until: float) -> None:
        while time.perf_counter() < until and (one := next(left, None)) is not None:
            begin = time.perf_counter()
            wrong = await ask(http, one)
            if wrong is None:
                waited.seconds.append(time.perf_counter() - begin)
            else:
                waited.errors[wrong] += 1

    async def all_users() -> None:
        limits = httpx.Limits(max_connections=users, max_keepalive_connections=users)
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, limits=limits) as http:
            until = time.perf_counter() + seconds
            await asyncio.gather(*(user(http, until) for _ in range(users)))

    begin, cpu = time.perf_counter(), _cpu(process)
    asyncio.run(all_users())
    waited.took, waited.cpu = time.perf_counter() - begin, _cpu(process) - cpu
    return waited


def _cpu(process: psutil.Process | None) -> float:
    total = 0.0
    for one in [process, *process.children(recursive=True)] if process else []:
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
        if one is process:  # of children that have ended
            total += times.children_user + times.children_system
    return total
