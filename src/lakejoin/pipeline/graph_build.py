"""Builds the join graph with tasks, or updates it for new and removed segments.

First a task per range of hashes finds which values the segments share; then tasks per pair of
segments count the column pairs; then a task per segment collects its best pairs, and another
reverses them for the larger columns. Tasks exchange files in the index's scratch folder and write
their results to the graph's folder; the driver only passes names. Only segment pairs with a new
segment are counted; the other pairs come from the previous graph.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import IndexProblem, NewerIndex
from lakejoin.graph.column_pairs import MOST_HASH_RANGES
from lakejoin.graph.graph_refresh import EarlierGraph
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.pipeline.build import build_name
from lakejoin.pipeline.graph_tasks import (
    CountWork,
    GatherWork,
    LostWork,
    RangeWork,
    ReverseWork,
    SegmentPair,
)
from lakejoin.pipeline.job import Job, Outcome, StartRunner, TaskRounds, TaskRunner
from lakejoin.pipeline.task_kinds import InlineRunner
from lakejoin.pipeline.task_progress import Listener, Progress
from lakejoin.store.commit import build_lock, clean_after_failure, clean_index, commit_graph
from lakejoin.store.graph_files import (
    GraphOptions,
    PairFileRecord,
    StoredGraph,
    graph_folder,
    write_graph,
)
from lakejoin.store.manifest import read_manifest
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.store.index_records import SegmentRecord

Files = dict[int, tuple[str, ...]]  # by segment

_VALUES = 4 << 20  # values of all segments in one range of hashes
_PAIRS = 256  # segment pairs in one range of hashes
_TILE = 64  # segments compared with each other, or with as many others, at a time
_ROUNDS = 3  # tasks per core
_HERE = 1 << 24  # pairs that this process can filter itself, without a cluster


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What a graph build did: `pairs` of columns join, of which `counted` were counted now and the
    others reused; `cut` columns have more joins than are kept. `seconds` are by stage."""

    version: int
    pairs: int
    counted: int
    cut: int
    segments: int
    fresh: int
    seconds: Mapping[str, float]


def build_graph(
    index: Location,
    options: GraphOptions | None,
    start: StartRunner,
    listener: Listener,
    wait: float = 0.0,
    full: bool = False,
) -> GraphReport:
    """Build or update the join graph of an index.

    Without `options`, those of the existing graph or the defaults are used. A runner is started
    only if there is much to do. `full` recounts all pairs.
    """
    begin = time.perf_counter()
    with build_lock(index, wait):
        manifest = read_manifest(index)
        clean_index(index, manifest)
        snapshot = Snapshot(index, manifest)
        stored = usable_graph(snapshot)
        options = options or (stored.options if stored else GraphOptions())
        if stored and stored.matches(manifest) and stored.options == options and not full:
            seconds = {"total": time.perf_counter() - begin}
            segments = len(manifest.segments)
            return GraphReport(manifest.version, stored.count, 0, stored.cut, segments, 0, seconds)
        kept = EarlierGraph(stored, snapshot) if stored and stored.options == options else None
        if full or (kept is not None and not kept.in_order):
            kept = None
        with clean_after_failure(index, snapshot.manifest):
            return _build(snapshot, kept, options, start, listener)


def usable_graph(snapshot: Snapshot) -> StoredGraph | None:
    """The existing graph; None if it is damaged or outdated and must be rebuilt."""
    try:
        return snapshot.graph()
    except NewerIndex:
        raise
    except IndexProblem:
        return None


def _build(
    snapshot: Snapshot,
    kept: EarlierGraph | None,
    options: GraphOptions,
    start: StartRunner,
    listener: Listener,
) -> GraphReport:
    begin, old, index = time.perf_counter(), snapshot.manifest, snapshot.location
    name = f"graph-{old.version + 1:06d}-{secrets.token_hex(4)}.lj"
    folder = graph_folder(index, name)
    folder.make_folder()
    job = Job(index.uri, build_name(old), old.options)
    fresh = np.ones(len(old.segments), dtype=bool) if kept is None else kept.new_segments
    with ExitStack() as stack:
        stages = _Stages(job, partial(start, listener, old.totals.bytes), listener, stack)
        again = {} if kept is None else _find_lost(stages, snapshot, kept)
        files, counted = _count(stages, old.segments, fresh, again, options)
        small = kept is not None and not counted and kept.stored.count <= _HERE
        work = GatherWork(
            old, old.graph if kept else None, (), files, again, options.most, folder.name
        )
        parts = _write(stages, work, here=small)
        seconds = stages.seconds
    listener(Progress("committing"))
    for leftover in set(folder.children()) - {part.name for part in parts}:
        (folder / leftover).remove()  # of a task that died and was retried
    named = write_graph(index, name, old.segments, options, parts)
    new = commit_graph(index, old, named)
    clean_index(index, new)
    seconds["total"] = time.perf_counter() - begin
    pairs = sum(part.pairs for part in parts if not part.turned)
    cut = sum(part.cut for part in parts)
    counts = pairs, counted, cut, len(old.segments), int(np.count_nonzero(fresh))
    return GraphReport(new.version, *counts, seconds)


class _Stages:
    """Runs the stages of a graph build; starts a runner only if it is needed."""

    def __init__(
        self,
        job: Job,
        start: Callable[[], AbstractContextManager[TaskRunner]],
        listener: Listener,
        stack: ExitStack,
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.job = job
        self._start = start
        self._stack = stack
        self._runner: TaskRunner | None = None
        self._rounds = TaskRounds(job, listener)

    @property
    def runner(self) -> TaskRunner:
        if self._runner is None:
            begin = time.perf_counter()
            self._runner = self._stack.enter_context(self._start())
            self.seconds["start"] = time.perf_counter() - begin
        return self._runner

    @property
    def tasks(self) -> int:
        return _ROUNDS * self.runner.cores

    def run(
        self, kind: str, works: Sequence[Any], stage: Progress, here: bool = False
    ) -> list[Outcome]:
        """Run a task for each item of work; in this process if `here`."""
        if not works:
            return []
        runner = InlineRunner() if here else self.runner
        begin = time.perf_counter()
        outcomes = self._rounds.run(runner, [(kind, work) for work in works], stage)
        self.seconds[kind] = self.seconds.get(kind, 0.0) + time.perf_counter() - begin
        return outcomes


def _find_lost(stages: _Stages, snapshot: Snapshot, kept: EarlierGraph) -> dict[int, str]:
    """By segment, the files with the columns that need joins beyond those kept."""
    named = snapshot.manifest.graph
    cut = [
        part.segment
        for part in kept.stored.pair_files
        if part.cut and kept.current_index[part.segment] >= 0
    ]
    if kept.is_whole or not cut or named is None:
        return {}
    here = kept.stored.count <= _HERE
    groups = [tuple(cut)] if here else _spread(cut, stages.tasks)
    works = [LostWork(snapshot.manifest, named, group) for group in groups]
    stage = Progress("finding removed joins", total=len(cut), unit="segments")
    outcomes = stages.run("lost", works, stage, here)
    return dict(outcome.value for outcome in outcomes if outcome.kind == "again")


def _count(
    stages: _Stages,
    records: Sequence[SegmentRecord],
    fresh: Array,
    again: Mapping[int, str],
    options: GraphOptions,
) -> tuple[Files, int]:
    """Count pairs; returns their files by segment, and the number of pairs."""
    recount = fresh.copy()
    recount[list(again)] = True
    by_index = dict(enumerate(records))
    new = frozenset(np.flatnonzero(fresh).tolist())
    waves = list(_waves(recount))
    counted: list[Any] = []
    for rank, wave in enumerate(waves, start=1):
        which = f" ({rank:,} of {len(waves):,})" if len(waves) > 1 else ""
        ranges = _choose_ranges(by_index, wave, stages.runner.cores)
        stage = Progress(f"finding shared values{which}", total=len(ranges), unit="ranges")
        shared = [outcome.value for outcome in stages.run("shared", ranges, stage)]
        files = tuple(name for name, _ in shared)
        pairs = {pair for _, sharing in shared for pair in sharing}
        pairs |= {(first, second) for first, second in wave if first == second}
        works = [
            CountWork(
                {n: by_index[n] for pair in batch for n in pair},
                tuple(batch),
                files,
                options,
                new,
                {n: again[n] for pair in batch for n in pair if n in again},
            )
            for batch in _divide_pairs(sorted(pairs), by_index, stages.tasks)
        ]
        stage = Progress(f"counting pairs{which}", total=len(pairs), unit="pairs of segments")
        counted += [outcome.value for outcome in stages.run("counted", works, stage)]
        for name in files:
            (stages.job.scratch / name).remove()
    return _by_segment(counted), sum(count for _, _, count in counted)


def _waves(recount: Array) -> Iterator[list[SegmentPair]]:
    """The segment pairs to count, with at least one segment to `recount`, a limited number of
    segments at a time: a value of all segments is shared by every pair, and the files with shared
    values take space."""
    every = np.arange(len(recount))
    tiles = [every[at : at + _TILE] for at in range(0, len(every), _TILE)]
    for n, tile in enumerate(tiles):
        for other in tiles[n:]:
            first, second = (end.ravel() for end in np.meshgrid(tile, other, indexing="ij"))
            chosen = (first <= second) & (recount[first] | recount[second])
            if chosen.any():
                yield list(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))


def _write(stages: _Stages, work: GatherWork, here: bool) -> list[PairFileRecord]:
    records = work.manifest.segments
    segments = list(range(len(records)))
    groups = [tuple(segments)] if here else _spread(segments, stages.tasks)
    works = [_restrict(work, group) for group in groups if group]
    stage = Progress("choosing the best pairs", total=len(records), unit="segments")
    outcomes = stages.run("gathered", works, stage, here)
    parts = [outcome.value for outcome in outcomes if outcome.kind == "part"]
    turned = _by_segment([outcome.value for outcome in outcomes if outcome.kind == "turned"])
    segments = sorted(turned)
    groups = [tuple(segments)] if here else _spread(segments, stages.tasks)
    turning = [
        ReverseWork({n: records[n] for n in group}, {n: turned[n] for n in group}, work.folder)
        for group in groups
        if group
    ]
    stage = Progress("reversing pairs", total=len(segments), unit="segments")
    outcomes = stages.run("turned", turning, stage, here)
    return [*parts, *(outcome.value for outcome in outcomes if outcome.kind == "part")]


def _restrict(work: GatherWork, segments: tuple[int, ...]) -> GatherWork:
    counted = {n: work.counted[n] for n in segments if n in work.counted}
    again = {n: work.again[n] for n in segments if n in work.again}
    return replace(work, segments=segments, counted=counted, again=again)


def _by_segment(files: Sequence[tuple[str, Sequence[int], int]]) -> Files:
    by_segment: dict[int, list[str]] = {}
    for name, segments, _ in files:
        for segment in segments:
            by_segment.setdefault(segment, []).append(name)
    return {segment: tuple(names) for segment, names in by_segment.items()}


def _spread(segments: Sequence[int], tasks: int) -> list[tuple[int, ...]]:
    """Spread segments evenly over at most `tasks` groups."""
    groups = min(max(1, tasks), len(segments))
    return [tuple(segments[n::groups]) for n in range(groups)]


def _choose_ranges(
    records: Mapping[int, SegmentRecord], wave: Sequence[SegmentPair], cores: int
) -> list[RangeWork]:
    """Ranges of hashes that fit in memory, enough for all cores; none for a single segment, which
    shares values with no other."""
    pairs = tuple((first, second) for first, second in wave if first != second)
    if not pairs:
        return []
    compared = {n: records[n] for pair in pairs for n in pair}
    values = sum(record.values for record in compared.values())
    enough = max(
        -(-values // _VALUES), len(pairs) // _PAIRS, min(_ROUNDS * cores, values * 8 // _VALUES)
    )
    parts = 1
    while parts < min(enough, MOST_HASH_RANGES):
        parts *= 2
    return [RangeWork(compared, pairs, part, parts) for part in range(parts)]


def _divide_pairs(
    pairs: Sequence[SegmentPair], records: Mapping[int, SegmentRecord], tasks: int
) -> list[list[SegmentPair]]:
    """Divide segment pairs into batches of about equal work; those of one segment stay together."""
    costs = [records[first].pairs + records[second].pairs for first, second in pairs]
    enough = max(1, -(-sum(costs) // tasks))
    batches: list[list[SegmentPair]] = []
    done = enough
    for pair, cost in zip(pairs, costs, strict=True):
        if done >= enough:
            batches.append([])
            done = 0
        batches[-1].append(pair)
        done += cost
    return batches
