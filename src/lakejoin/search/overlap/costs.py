"""What reading a posting list and a set costs on the machine at hand (thesis 3.4.3).

Samples of short and long lists and sets are read, and linear functions are fitted to the times:
S(X) = s0 + s1 * bytes of the set, L(f) = l0 + l1 * entries of the list (3.15). They are kept beside
the manifest in `costs.json`, by machine, because a cluster may build what a laptop searches.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lakejoin.errors import LakejoinError

if TYPE_CHECKING:
    from lakejoin.search.overlap.engine import OverlapIndex
    from lakejoin.storage import Place

Array = np.ndarray[Any, Any]

FILE = "costs.json"
_SAMPLE = 1000
_REPEATS = 5


class ReadCosts(NamedTuple):
    """Nanoseconds for a list, an entry of it, a set, a byte of it, and a look at a count."""

    list: float = 25.0
    entry: float = 3.0
    set: float = 150.0
    byte: float = 3.0
    look: float = 2.0


def kept_costs(place: Place) -> ReadCosts | None:
    """The costs that were measured on this machine, if the index at a place keeps any."""
    try:
        kept = json.loads((place / FILE).read_bytes())[machine()]
        costs = ReadCosts(*(float(kept[name]) for name in ReadCosts._fields))
        return costs if all(0 <= number < np.inf for number in costs) else None
    except (OSError, LakejoinError, ValueError, KeyError, TypeError):
        return None


def keep_costs(place: Place, costs: ReadCosts) -> None:
    """Keeps the costs of this machine beside those of others."""
    try:
        known = dict(json.loads((place / FILE).read_bytes()))
    except (OSError, LakejoinError, ValueError, TypeError):
        known = {}
    known[machine()] = costs._asdict()
    (place / FILE).replace(json.dumps(known, indent=1).encode())


def machine() -> str:
    """What machine this is, as far as speed goes."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        model = platform.processor() or "unknown"
    return f"{platform.machine()}, {model}, {os.cpu_count()} cores"


def measured_costs(index: OverlapIndex) -> ReadCosts:
    """Reads samples of the largest segment and fits the costs; the usual ones for a small index."""
    usual = ReadCosts()
    sizes = [p.groups for p in index.postings]
    if not sizes or max(sizes) < 2 * _SAMPLE:
        return usual
    segment = int(np.argmax(sizes))
    postings = index.postings[segment]
    rng = np.random.default_rng(0)
    lists = [_some(rng, low, postings.groups) for low in (0.0, 0.5, 0.9)]
    entries = [int(postings.list_lengths(groups).sum()) for groups in lists]
    l0, l1 = _fitted(lambda n: index.time_lists(segment, lists[n]), lists, entries)
    # The columns stand by falling size, so late ones have short sets.
    sets = [_some(rng, low, postings.columns) for low in (0.0, 0.3, 0.7)]
    lengths = [int(postings.set_bytes(stands).sum()) for stands in sets]
    s0, s1 = _fitted(lambda n: index.time_sets(segment, sets[n]), sets, lengths)
    return ReadCosts(
        l0 or usual.list, l1 or usual.entry, s0 or usual.set, s1 or usual.byte, usual.look
    )


def _some(rng: np.random.Generator, low: float, count: int) -> Array:
    """Up to a thousand numbers of the last part of [0, count), ascending."""
    first = int(low * count)
    chosen = rng.choice(count - first, min(_SAMPLE, count - first), replace=False)
    return np.sort(first + chosen).astype(np.uint32)


def _fitted(
    read: Callable[[int], float], samples: Sequence[Array], sizes: Sequence[int]
) -> tuple[float, float]:
    """(cost of each, cost of a unit of its size) in nanoseconds; 0 where the fit makes no sense."""
    times = []
    for number in range(len(samples)):
        read(number)  # once for the cache
        times.append(median(read(number) for _ in range(_REPEATS)))
    counts = [len(sample) for sample in samples]
    found = np.linalg.lstsq(np.array([counts, sizes]).T.astype(float), np.array(times), rcond=None)
    each, unit = (max(0.0, float(x)) for x in found[0])
    return each, unit


def timed(action: Callable[[], object]) -> float:
    """The nanoseconds that an action takes on this thread's processor."""
    begin = time.thread_time_ns()
    action()
    return float(time.thread_time_ns() - begin)
