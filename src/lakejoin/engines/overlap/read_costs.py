"""Measure and store what reading lists and sets costs; counters of what a search reads."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lakejoin.errors import LakejoinError
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.engines.overlap.engine import OverlapIndex
    from lakejoin.locations import Location


# Times of sample reads of short and long lists and sets are fitted by linear functions: S(X) = s0 +
# s1 * bytes of the set, L(f) = l0 + l1 * entries of the list (3.15). The costs are stored beside
# the manifest in `costs.json`, by machine: a cluster may build an index that a laptop searches.

FILE = "costs.json"
_SAMPLE = 1000
_REPEATS = 5


class ReadCosts(NamedTuple):
    """Nanoseconds per list, entry of a list, set, byte of a set, and look at a count."""

    list: float = 25.0
    entry: float = 3.0
    set: float = 150.0
    byte: float = 3.0
    look: float = 2.0


def load_costs(location: Location) -> ReadCosts | None:
    """Return the costs measured on this machine, if the index stores any."""
    try:
        stored = json.loads((location / FILE).read_bytes())[describe_machine()]
        costs = ReadCosts(*(float(stored[name]) for name in ReadCosts._fields))
        return costs if all(0 <= cost < np.inf for cost in costs) else None
    except (OSError, LakejoinError, ValueError, KeyError, TypeError):
        return None


def save_costs(location: Location, costs: ReadCosts) -> None:
    """Store the costs of this machine beside those of others."""
    try:
        known = dict(json.loads((location / FILE).read_bytes()))
    except (OSError, LakejoinError, ValueError, TypeError):
        known = {}
    known[describe_machine()] = costs._asdict()
    (location / FILE).replace(json.dumps(known, indent=1).encode())


def describe_machine() -> str:
    """Name this machine as far as it matters for speed."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        model = platform.processor() or "unknown"
    return f"{platform.machine()}, {model}, {os.cpu_count()} cores"


def measure_costs(index: OverlapIndex) -> ReadCosts:
    """Time samples of the largest segment and fit the costs; a small index gets the defaults."""
    default = ReadCosts()
    sizes = [p.groups for p in index.postings]
    if not sizes or max(sizes) < 2 * _SAMPLE:
        return default
    segment = int(np.argmax(sizes))
    postings = index.postings[segment]
    rng = np.random.default_rng(0)
    lists = [_draw_sample(rng, skipped, postings.groups) for skipped in (0.0, 0.5, 0.9)]
    entries = [int(postings.list_lengths(groups).sum()) for groups in lists]
    l0, l1 = _fit(lambda n: index.time_lists(segment, lists[n]), lists, entries)
    # Columns are in order of falling size, so late ones have short sets.
    sets = [_draw_sample(rng, skipped, postings.columns) for skipped in (0.0, 0.3, 0.7)]
    lengths = [int(postings.set_bytes(ranks).sum()) for ranks in sets]
    s0, s1 = _fit(lambda n: index.time_sets(segment, sets[n]), sets, lengths)
    return ReadCosts(
        l0 or default.list, l1 or default.entry, s0 or default.set, s1 or default.byte, default.look
    )


def _draw_sample(rng: np.random.Generator, skipped: float, count: int) -> Array:
    """Draw up to a thousand ascending indices from [skipped * count, count)."""
    first = int(skipped * count)
    chosen = rng.choice(count - first, min(_SAMPLE, count - first), replace=False)
    return np.sort(first + chosen).astype(np.uint32)


def _fit(
    read: Callable[[int], float], samples: Sequence[Array], sizes: Sequence[int]
) -> tuple[float, float]:
    """Fit (cost of each, cost of a unit of its size) in nanoseconds; 0 where that is negative."""
    times = []
    for index in range(len(samples)):
        read(index)  # once, to fill the cache
        times.append(median(read(index) for _ in range(_REPEATS)))
    counts = [len(sample) for sample in samples]
    fit = np.linalg.lstsq(np.array([counts, sizes]).T.astype(float), np.array(times), rcond=None)
    each, unit = (max(0.0, float(x)) for x in fit[0])
    return each, unit


def time_call(call: Callable[[], object]) -> float:
    """Return the nanoseconds of this thread's processor time that a call takes."""
    begin = time.thread_time_ns()
    call()
    return float(time.thread_time_ns() - begin)


LISTS_FOUND, LISTS_READ, CANDIDATES, SETS_READ, BYTES_READ, SEGMENTS = range(6)
# How the early-stopping merge ended in a segment: all lists read, all sets read, or stopped early.
MERGED, PROBED_ALL, STOPPED = range(6, 9)
COUNTER_COUNT = 9
