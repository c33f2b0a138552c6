"""An hour's worth of requests in less time, and whether memory grows meanwhile."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil  # type: ignore[import-untyped, unused-ignore]

from server_asks import Asks
from server_load import PATIENCE, Ask, Waited, asked

HOUR = 1_200  # requests: five people who each do something every fifteen seconds
_SHARES = {"rows": 50, "table": 12, "find": 15, "search": 8, "preview": 8, "sql": 4, "upload": 3}
_WARM = 0.25  # of the time, in which caches and workers fill
_LOOK = 1.0


def soak(url: str, process: psutil.Process, asks: Asks, seconds: float) -> dict[str, Any]:
    """Requests of all kinds at an even pace, whether the server keeps up or not."""
    plan = mixed(asks, HOUR)
    waited: dict[str, Waited] = defaultdict(lambda: Waited(0))
    samples: list[tuple[float, int, int, int]] = []
    begin = time.perf_counter()

    async def one(http: httpx.AsyncClient, at: float, kind: str, ask: Ask) -> None:
        await asyncio.sleep(max(0.0, begin + at - time.perf_counter()))
        started = time.perf_counter()
        wrong = await asked(http, ask)
        if wrong is None:
            waited[kind].seconds.append(time.perf_counter() - started)
        else:
            waited[kind].errors[wrong] += 1

    async def look(done: asyncio.Event) -> None:
        while not done.is_set():
            samples.append((time.perf_counter() - begin, *await asyncio.to_thread(memory, process)))
            await asyncio.sleep(_LOOK)

    async def whole() -> None:
        done = asyncio.Event()
        looking = asyncio.ensure_future(look(done))
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as http:
            pace = seconds / len(plan)
            await asyncio.gather(
                *(one(http, place * pace, *each) for place, each in enumerate(plan))
            )
        done.set()
        await looking

    asyncio.run(whole())
    took = time.perf_counter() - begin
    for each in waited.values():
        each.took = took
    return {
        "seconds": round(took, 1),
        "requests": len(plan),
        "errors": sum(sum(each.errors.values()) for each in waited.values()),
        "by_kind": {kind: each.figures() for kind, each in sorted(waited.items())},
        "server": slope([(at, own) for at, own, _, _ in samples]),
        "children": slope([(at, theirs) for at, _, theirs, _ in samples]),
        "processes": [samples[0][3], samples[-1][3]],
    }


def mixed(asks: Asks, count: int, seed: int = 3) -> list[tuple[str, Ask]]:
    """Requests of all kinds in a mixed order."""
    numbers = {kind: max(1, count * share // 100) for kind, share in _SHARES.items()}
    searches = asks.search(numbers["search"])
    made = {
        "rows": asks.rows(numbers["rows"]),
        "table": asks.table(numbers["table"]),
        "find": asks.find(numbers["find"]),
        "search": searches,
        "preview": asks.preview(searches[: numbers["preview"] // 8 + 1], numbers["preview"]),
        "sql": [
            Ask("/sql", body={"table": one.query["table"], "sql": "select count(*) from result"})
            for one in asks.table(numbers["sql"])
        ],
        "upload": [
            Ask("/uploads", {"name": f"mine{n}.csv"}, content=_file(n))
            for n in range(numbers["upload"])
        ],
    }
    plan = [(kind, one) for kind, some in made.items() for one in some]
    random.Random(seed).shuffle(plan)
    return plan


def _file(seed: int) -> bytes:
    rows = (f"{seed * 1000 + n},name {n * 7 % 501}" for n in range(500))
    return ("id,name\n" + "\n".join(rows)).encode()


def memory(process: psutil.Process) -> tuple[int, int, int]:
    """The bytes that the server holds and that lie in no file, the same of all its children, and
    how many processes they are."""
    own, theirs = _anonymous(process.pid), 0
    children = process.children(recursive=True)
    for child in children:
        theirs += _anonymous(child.pid)
    return own, theirs, 1 + len(children)


def _anonymous(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def slope(samples: Sequence[tuple[float, int]]) -> dict[str, float]:
    """How memory grows once all is warm: a line through the samples, in MB a minute, with its
    standard error; and the medians of the first and the last third.

    >>> slope([(n, 1_000_000 * n) for n in range(100)])["mb_a_minute"]
    60.0
    """
    warm = samples[int(len(samples) * _WARM) :]
    at, size = (np.array(each, dtype=float) for each in zip(*warm, strict=True))
    size /= 1e6
    third = max(1, len(warm) // 3)
    found = {"first_mb": float(np.median(size[:third])), "last_mb": float(np.median(size[-third:]))}
    found["most_mb"] = float(max(one for _, one in samples)) / 1e6
    if len(warm) > 2:
        (rate, _), spread = np.polyfit(at, size, 1, cov=True)
        found |= {"mb_a_minute": rate * 60, "error": float(np.sqrt(max(0, spread[0, 0]))) * 60}
    return {key: round(float(value), 2) for key, value in found.items()}
