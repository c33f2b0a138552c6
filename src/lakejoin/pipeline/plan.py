"""Packs whole files into batches of about equal work, one per task.

A batch becomes one segment (or a few, if its files are larger than expected). There are enough
batches to keep every core busy, but few enough that segments do not get tiny, and none exceeds a
worker's memory. Thousands of small files become a few batches.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from lakejoin.model import SourceFile

FILE_COST = (
    20_000  # opening a file and finding its dialect costs as much as reading this many bytes
)
_PACKED = {
    ".gz": 5,
    ".bz2": 6,
    ".xz": 7,
    ".zst": 5,
    ".zip": 5,
    ".parquet": 4,
    ".orc": 4,
    ".xlsx": 8,
}


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """`cores` is the number of tasks that run at once, `batch_bytes` the most text in a batch
    (unless one file is larger), and `least_bytes` the least text that justifies another batch.
    """

    cores: int = 2
    batch_bytes: int = 320 << 20
    least_bytes: int = 4 << 20


@dataclass(order=True, slots=True)
class _Bin:
    cost: int
    number: int
    files: list[SourceFile] = field(default_factory=list, compare=False)


def expected_bytes(file: SourceFile) -> int:
    """Estimate the uncompressed size of a file from its ending.

    >>> expected_bytes(SourceFile("a.csv.gz", "/a.csv.gz", 100, 0))
    500
    """
    lower = file.name.lower()
    factor = next((f for ending, f in _PACKED.items() if lower.endswith(ending)), 1)
    return file.size * factor


def pack_files(files: Sequence[SourceFile], limits: PlanLimits) -> list[list[SourceFile]]:
    """Pack files into batches: the largest first, each into the batch with the least work.

    >>> files = [SourceFile(f"{i}.csv", "", 200 << 20, 0) for i in range(4)]
    >>> [len(batch) for batch in pack_files(files, PlanLimits(cores=2))]
    [1, 1, 1, 1]
    """
    if not files:
        return []
    costs = {f.name: expected_bytes(f) + FILE_COST for f in files}
    total = sum(costs.values())
    by_size = -(-total // limits.batch_bytes)
    by_cores = min(limits.cores, total // limits.least_bytes)
    count = max(1, by_size, by_cores)
    if by_size > 1:  # full rounds, so that no core idles in the last one
        count = -(-count // limits.cores) * limits.cores
    bins = [_Bin(0, n) for n in range(min(count, len(files)))]
    for file in sorted(files, key=lambda f: (-costs[f.name], f.name)):
        lightest = heapq.heappop(bins)
        lightest.files.append(file)
        lightest.cost += costs[file.name]
        heapq.heappush(bins, lightest)
    batches = [sorted(b.files, key=lambda f: f.name) for b in sorted(bins, key=lambda b: b.number)]
    return [batch for batch in batches if batch]
