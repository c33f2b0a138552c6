"""Packs files into batches and runs the rounds of tasks that read a lake."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakejoin.errors import LakejoinError
from lakejoin.formats.file_chunks import ChunkPlan, FileChunk, plan_chunks, resolve_chunks
from lakejoin.model import SourceFile
from lakejoin.pipeline.job import Job, Outcome, TaskRounds, TaskRunner, Work
from lakejoin.pipeline.task_progress import Listener, Progress

if TYPE_CHECKING:
    from lakejoin.pipeline.chunk_tasks import ParsedChunk
    from lakejoin.store.index_records import SegmentRecord


def read_lake(
    runner: TaskRunner,
    job: Job,
    files: Sequence[SourceFile],
    behind: Sequence[SegmentRecord],
    chunk_bytes: int,
    listener: Listener,
) -> list[Outcome]:
    """Read files into segments and complete the segments that lack a component."""
    stage = Progress("reading and encoding", total=len(files))
    rounds = TaskRounds(job, listener)
    plans = _plan_chunks(job, files, chunk_bytes)
    scanned = rounds.run(runner, _scan_work(plans), stage)
    chunks = _resolve_chunks(job, plans, scanned)
    whole = [file for file in files if file.name not in chunks]
    work: list[Work] = [
        ("files", batch) for batch in pack_files(whole, PlanLimits(cores=runner.cores))
    ]
    work += [("components", record) for record in behind]
    work += [("chunk", chunk) for name in sorted(chunks) for chunk in chunks[name]]
    outcomes = rounds.run(runner, work, stage)
    parsed: dict[str, list[ParsedChunk]] = {name: [] for name in sorted(chunks)}
    for outcome in outcomes:
        if outcome.kind == "chunk":
            parsed[outcome.value.source.name].append(outcome.value)
    last: list[Work] = []
    for name, done in parsed.items():
        complete = len(done) == len(chunks[name])
        last.append(("assemble", done) if complete else ("files", [plans[name].source]))
    return outcomes + rounds.run(runner, last, stage)


def _plan_chunks(job: Job, files: Sequence[SourceFile], chunk_bytes: int) -> dict[str, ChunkPlan]:
    """Where large files can be cut; a file that cannot be cut is read as a whole."""
    plans = {}
    for file in files:
        if expected_bytes(file) <= 2 * chunk_bytes:
            continue
        try:
            plan = plan_chunks(file, chunk_bytes, job.limits)
        except (LakejoinError, OSError, ValueError):
            continue  # reading it reports the problem
        if plan is not None:
            plans[file.name] = plan
    return plans


def _scan_work(plans: Mapping[str, ChunkPlan]) -> list[Work]:
    return [("scan", (plan, cut)) for plan in plans.values() for cut in range(_count_cuts(plan))]


def _count_cuts(plan: ChunkPlan) -> int:
    return len(plan.row_groups) or len(plan.cuts)


def _resolve_chunks(
    job: Job, plans: Mapping[str, ChunkPlan], scanned: Sequence[Outcome]
) -> dict[str, list[FileChunk]]:
    """The chunks of each file that can be cut exactly between records."""
    scans: dict[str, dict[int, Any]] = {name: {} for name in plans}
    for outcome in scanned:
        if outcome.kind == "scan":
            name, cut, scan = outcome.value
            scans[name][cut] = scan
    chunks: dict[str, list[FileChunk]] = {}
    for name, plan in plans.items():
        count = _count_cuts(plan)
        if len(scans[name]) < count:
            continue
        try:
            resolved = resolve_chunks(plan, [scans[name][cut] for cut in range(count)], job.limits)
        except (LakejoinError, OSError, ValueError):
            continue
        if resolved:
            chunks[name] = resolved
    return chunks


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
