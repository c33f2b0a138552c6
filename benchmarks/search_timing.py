"""Times the contenders of `search_exact.py`, in turns, and checks that all say the same."""

from __future__ import annotations

import dataclasses
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lakejoin.model import Array
from search_contenders import Contender
from set_queries import SetQuery


@dataclass(slots=True)
class Timings:
    """CPU and wall seconds by (contender, k): arrays of repeats x queries; NaN where not run."""

    queries: Sequence[SetQuery]
    cpu: dict[tuple[str, int], Array] = field(default_factory=dict)
    wall: dict[tuple[str, int], Array] = field(default_factory=dict)
    counters: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=dict)
    scores: dict[int, list[Array]] = field(default_factory=dict)

    def of(self, name: str, k: int, band: int | None = None) -> Array:
        """The median CPU seconds of each query, of all or of one band; those that were run."""
        median = np.median(self.cpu[name, k], axis=0)
        return median if band is None else median[self.in_band(band)]

    def in_band(self, band: int) -> Array:
        """The numbers of the queries of a band."""
        return np.array([i for i, q in enumerate(self.queries) if q.band == band], dtype=np.int64)


def measure(
    timings: Timings,
    contenders: Sequence[Contender],
    ks: Sequence[int],
    repeats: int,
    every: int = 1,
) -> None:
    """Runs every `every`-th query on all contenders in turns, `repeats` times over.

    A contender goes through all queries before the next one does, so that no answer finds its data
    in the processor's cache because another contender has just read it.
    """
    queries = timings.queries
    chosen = range(0, len(queries), every)
    for k in ks:
        for one in contenders:
            for kept in (timings.cpu, timings.wall):
                kept[one.name, k] = np.full((repeats, len(queries)), np.nan)
            for query in (queries[0], max(queries, key=lambda q: q.size)):
                one.search(query, k)  # compiled for either size, opened
        for r in range(repeats):
            for one in contenders:
                notes = []
                for i in chosen:
                    cpu, wall, found = timed(one, queries[i], k)
                    timings.cpu[one.name, k][r, i] = cpu
                    timings.wall[one.name, k][r, i] = wall
                    notes.append(_plain(one.counters))
                    _same(timings, one.name, i, k, found)
                timings.counters[one.name, k] = notes


def timed(contender: Contender, query: SetQuery, k: int) -> tuple[float, float, Array]:
    """(CPU seconds, wall seconds, scores) of one answer."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = contender.search(query, k)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, wall, found


def again(timings: Timings, mine: Contender, other: Contender, k: int, above: float) -> Array:
    """The ratio mine / other of every query; those above a limit are measured again, 25 times.

    A single slow run on a shared machine must not pass for a slow algorithm.
    """
    ratio = timings.of(mine.name, k) / timings.of(other.name, k)
    for i in np.flatnonzero(ratio > above):
        taken = np.array(
            [[timed(one, timings.queries[i], k)[0] for one in (mine, other)] for _ in range(25)]
        )
        ratio[i] = np.median(taken[:, 0]) / np.median(taken[:, 1])
    return ratio


@dataclass(frozen=True, slots=True)
class Cold:
    """Means over first answers: to open the files, to answer, and what came from disk in all."""

    open_ms: float
    wall_ms: float
    cpu_ms: float
    read_mb: float


def cold(contender: Contender, queries: Sequence[SetQuery], k: int) -> Cold:
    """Answers each query right after opening files of which the page cache holds nothing."""
    rows = []
    for query in queries:
        contender.close()
        forget(contender.files())
        before = _read_from_disk()
        start = time.perf_counter()
        contender.open()
        opened = time.perf_counter() - start
        cpu, wall, _ = timed(contender, query, k)
        rows.append((1e3 * opened, 1e3 * wall, 1e3 * cpu, (_read_from_disk() - before) / 1e6))
    contender.close()
    return Cold(*np.mean(rows, axis=0).tolist())


def forget(files: Sequence[Path]) -> None:
    """Drops files from the page cache; they must not be mapped."""
    for path in files:
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def _read_from_disk() -> int:
    return 512 * resource.getrusage(resource.RUSAGE_SELF).ru_inblock


def _same(timings: Timings, name: str, i: int, k: int, found: Array) -> None:
    """The scores must be those that the first contender gave."""
    known = timings.scores.setdefault(k, [np.zeros(0)] * len(timings.queries))
    if len(known[i]) == 0:
        known[i] = np.asarray(found, dtype=np.int64)
    elif not np.array_equal(known[i], found):
        raise SystemExit(f"{name} disagrees on query {i}, k = {k}: {known[i]} and {found}")


def _plain(counters: Any) -> dict[str, Any]:
    return dataclasses.asdict(counters) if dataclasses.is_dataclass(counters) else {}
