"""Packs files into batches and runs the rounds of tasks that read a lake."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lakejoin.errors import LakejoinError
from lakejoin.formats.file_chunks import ChunkPlan, FileChunk, plan_chunks, resolve_chunks
from lakejoin.model import LogicalTable, Source, SourceFile, TableFile
from lakejoin.pipeline.chunk_tasks import Assembly
from lakejoin.pipeline.job import Job, Outcome, TaskRounds, TaskRunner, Work
from lakejoin.pipeline.task_progress import Listener, Progress
from lakejoin.sources.table_files import is_one_stream, is_plain_file

if TYPE_CHECKING:
    from lakejoin.pipeline.chunk_tasks import ParsedChunk
    from lakejoin.store.index_records import SegmentRecord


def read_lake(
    runner: TaskRunner,
    job: Job,
    sources: Sequence[Source],
    behind: Sequence[SegmentRecord],
    chunk_bytes: int,
    listener: Listener,
) -> list[Outcome]:
    """Read files and logical tables into segments, and complete the segments that lack a
    component."""
    stage = Progress("reading and encoding", total=sum(map(count_files, sources)))
    rounds = TaskRounds(job, listener)
    large = {s.name: s for s in sources if expected_bytes(s) > 2 * chunk_bytes}
    tables = [s for s in large.values() if isinstance(s, LogicalTable)]
    plans = _plan_chunks(job, list(_large_files(large.values(), chunk_bytes)), chunk_bytes)
    scanned = rounds.run(runner, _scan_work(plans), stage)
    chunks = _resolve_chunks(job, plans, scanned)
    groups = {table.name: _group_files(table, chunks, chunk_bytes) for table in tables}
    whole = [s for s in sources if s.name not in chunks and s.name not in groups]
    work: list[Work] = [
        ("files", batch) for batch in pack_files(whole, PlanLimits(cores=runner.cores))
    ]
    work += [("components", record) for record in behind]
    work += [("chunk", chunk) for name in sorted(chunks) for chunk in chunks[name]]
    for table in tables:
        work += [_group_work(table, group, chunk_bytes) for group in groups[table.name]]
    outcomes = rounds.run(runner, work, stage)
    parsed = _parsed_chunks(outcomes)
    # A large file of a logical table that cannot be cut after all is read as a whole.
    broken = {name for name, pieces in chunks.items() if _count_main(parsed, name) < len(pieces)}
    again: list[Work] = [
        ("group", replace(table, files=(member,)))
        for table in tables
        for member in table.files
        if member.file.name in broken
    ]
    more = rounds.run(runner, again, stage)
    parsed = {name: pieces for name, pieces in parsed.items() if name not in broken}
    parsed.update(_parsed_chunks(more))
    last: list[Work] = []
    for name in sorted(chunks):
        file = large.get(name)
        if isinstance(file, SourceFile):
            pairs = tuple((chunk, ()) for chunk in parsed.get(name, ()))
            last.append(
                ("files", [file]) if name in broken else ("assemble", Assembly(file, pairs))
            )
    for table in tables:
        assembly = _assembly(table, parsed, set(chunks) - broken)
        if assembly is not None:
            last.append(("assemble", assembly))
    return outcomes + more + rounds.run(runner, last, stage)


def count_files(source: Source) -> int:
    return len(source.files) if isinstance(source, LogicalTable) else 1


def _large_files(sources: Iterable[Source], chunk_bytes: int) -> Iterator[SourceFile]:
    """The files among large sources that may have to be cut."""
    for source in sources:
        if isinstance(source, SourceFile):
            yield source
            continue
        for member in source.files:
            if is_plain_file(source, member) and expected_bytes(member.file) > 2 * chunk_bytes:
                yield member.file


def _group_files(
    table: LogicalTable, chunks: Mapping[str, list[FileChunk]], chunk_bytes: int
) -> list[tuple[TableFile, ...]]:
    """The files of a large table that are not cut, in order, as groups of about equal work."""
    groups: list[list[TableFile]] = []
    room = 0
    for member in table.files:
        if member.file.name in chunks:
            room = 0  # what follows is another group, since rows keep their order
            continue
        cost = expected_bytes(member.file) + FILE_COST
        if cost > room:
            groups.append([])
            room = chunk_bytes
        groups[-1].append(member)
        room -= cost
    return [tuple(group) for group in groups]


def _group_work(table: LogicalTable, group: tuple[TableFile, ...], chunk_bytes: int) -> Work:
    files = replace(table, files=group)
    if is_one_stream(table, group[0]):
        return "stream", (files, chunk_bytes)
    return "group", files


def _count_main(parsed: Mapping[str, Sequence[ParsedChunk]], name: str) -> int:
    """How many chunks of a file were parsed, apart from the tables nested in its records."""
    return sum(not chunk.part for chunk in parsed.get(name, ()))


def _parsed_chunks(outcomes: Sequence[Outcome]) -> dict[str, list[ParsedChunk]]:
    """The chunks of each file, or of each group by its first file, in order."""
    parsed: dict[str, list[ParsedChunk]] = {}
    for outcome in outcomes:
        if outcome.kind == "chunk":
            parsed.setdefault(outcome.value.source.name, []).append(outcome.value)
    for pieces in parsed.values():
        pieces.sort(key=lambda chunk: chunk.chunk_index)
    return parsed


def _assembly(
    table: LogicalTable, parsed: Mapping[str, Sequence[ParsedChunk]], cut: set[str]
) -> Assembly | None:
    """The chunks of a logical table in the order of its files; None if none could be read.

    The rows of a group have their partition values already, those of a `cut` file get them now.
    """
    pairs: list[tuple[ParsedChunk, tuple[tuple[str, str | None], ...]]] = []
    for member in table.files:
        name = member.file.name
        keys = table.composition.keys if name in cut else ()
        constants = tuple(zip(keys, member.partition, strict=False))
        pairs += ((chunk, constants) for chunk in parsed.get(name, ()))
    if not any(chunk.names for chunk, _ in pairs):
        return None
    return Assembly(replace(table, files=()), tuple(pairs))


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
    files: list[Source] = field(default_factory=list, compare=False)


def expected_bytes(file: Source) -> int:
    """Estimate the uncompressed size of a file from its ending, or of all files of a table.

    >>> expected_bytes(SourceFile("a.csv.gz", "/a.csv.gz", 100, 0))
    500
    """
    if isinstance(file, LogicalTable):
        return sum(expected_bytes(member.file) for member in file.files)
    lower = file.name.lower()
    factor = next((f for ending, f in _PACKED.items() if lower.endswith(ending)), 1)
    return file.size * factor


def pack_files(files: Sequence[Source], limits: PlanLimits) -> list[list[Source]]:
    """Pack files and logical tables into batches: the largest first, each into the batch with the
    least work.

    >>> files = [SourceFile(f"{i}.csv", "", 200 << 20, 0) for i in range(4)]
    >>> [len(batch) for batch in pack_files(files, PlanLimits(cores=2))]
    [1, 1, 1, 1]
    """
    if not files:
        return []
    costs = {f.name: expected_bytes(f) + FILE_COST * count_files(f) for f in files}
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
