"""Packs files into batches and runs the rounds of tasks that read a lake."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakejoin.errors import LakejoinError
from lakejoin.model import SourceFile
from lakejoin.pipeline.job import Job, Outcome, write_work
from lakejoin.spark.session import parallelism
from lakejoin.spark.task_runner import Listener, Progress, run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakejoin.formats.file_chunks import ChunkPlan, FileChunk
    from lakejoin.pipeline.chunk_tasks import ParsedChunk
    from lakejoin.store.segment import SegmentRecord


Work = tuple[str, Any]


class TaskRounds:
    """Runs rounds of batches of one build; batch numbers continue across rounds."""

    def __init__(self, spark: SparkSession, job: Job, stage: Progress, listener: Listener) -> None:
        self._spark = spark
        self._job = job
        self._stage = stage
        self._listener = listener
        self._next = 0
        job.scratch.make_folder()

    def run(self, work: Sequence[Work]) -> list[Outcome]:
        """Run one task for each (kind, items)."""
        first, self._next = self._next, self._next + len(work)
        for batch, (kind, items) in enumerate(work, start=first):
            write_work(self._job, batch, kind, items)
        batches = range(first, self._next)
        return run_tasks(self._spark, self._job, batches, self._stage, self._listener)


def read_lake(
    spark: SparkSession,
    job: Job,
    files: Sequence[SourceFile],
    behind: Sequence[SegmentRecord],
    chunk_bytes: int,
    listener: Listener,
) -> list[Outcome]:
    """Read files into segments and complete the segments that lack a component."""
    stage = Progress("reading and encoding", total=len(files))
    rounds = TaskRounds(spark, job, stage, listener)
    splits = _splits(job, files, chunk_bytes)
    pieces = _pieces(job, rounds, splits)
    in_pieces = {name for name, found in pieces.items() if found}
    whole = [f for f in files if f.name not in in_pieces]
    work: list[Work] = [
        ("files", batch) for batch in pack_files(whole, PlanLimits(cores=parallelism(spark)))
    ]
    work += [("components", record) for record in behind]
    work += [("piece", piece) for name in sorted(in_pieces) for piece in pieces[name]]
    outcomes = rounds.run(work)
    parsed: dict[str, list[ParsedChunk]] = {name: [] for name in sorted(in_pieces)}
    for outcome in outcomes:
        if outcome.kind == "piece":
            parsed[outcome.value.source.name].append(outcome.value)
    last: list[Work] = []
    for name, done in parsed.items():
        complete = len(done) == len(pieces[name])
        last.append(("assemble", done) if complete else ("files", [splits[name].source]))
    return outcomes + rounds.run(last)


def _splits(job: Job, files: Sequence[SourceFile], piece_bytes: int) -> dict[str, ChunkPlan]:
    """Where large files can be cut; a file that cannot be cut is read as a whole."""
    from lakejoin.formats.file_chunks import plan_chunks

    splits = {}
    for file in files:
        if expected_bytes(file) <= 2 * piece_bytes:
            continue
        try:
            split = plan_chunks(file, piece_bytes, job.limits)
        except (LakejoinError, OSError, ValueError):
            continue  # reading it reports the problem
        if split is not None:
            splits[file.name] = split
    return splits


def _pieces(
    job: Job, rounds: TaskRounds, splits: dict[str, ChunkPlan]
) -> dict[str, list[FileChunk]]:
    """The pieces of each split file, cut exactly between records; none if that fails."""
    from lakejoin.formats.file_chunks import resolve_chunks

    counts = {n: len(s.row_groups) or len(s.cuts) for n, s in splits.items()}
    work: list[Work] = [("scan", (splits[n], i)) for n, c in counts.items() for i in range(c)]
    scans: dict[str, dict[int, Any]] = {name: {} for name in splits}
    for outcome in rounds.run(work):
        if outcome.kind == "scan":
            name, cut, scan = outcome.value
            scans[name][cut] = scan
    pieces: dict[str, list[FileChunk]] = {}
    for name, split in splits.items():
        if len(scans[name]) < counts[name]:
            continue
        try:
            pieces[name] = resolve_chunks(
                split, [scans[name][i] for i in range(counts[name])], job.limits
            )
        except (LakejoinError, OSError, ValueError):
            continue
    return pieces


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
