"""The join graph as a Spark job: made, or refreshed where segments are new or have gone.

First a task for each range of hashes says which values the segments share; then tasks of two
segments each count the pairs of columns; then a task for each segment puts together its best pairs,
and another sees them from the larger columns. What they tell each other lies in the index's scratch
folder, and what they make in the graph's own: the driver only names it. Only twos with a new
segment are counted; the other pairs are those of the graph before.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import IndexProblem, NewerIndex
from lakejoin.search.graph.kept import Kept
from lakejoin.search.graph.sharing import MOST_PARTS
from lakejoin.spark.build import Cluster, build_name
from lakejoin.spark.graph_work import Counting, Gathering, Lost, Range, Turning, Two
from lakejoin.spark.job import Job, Outcome, write_work
from lakejoin.spark.session import parallelism, session
from lakejoin.spark.tasks import Listener, Progress, run_here, run_tasks
from lakejoin.storage import Place
from lakejoin.store.commit import clean, clean_up, commit_graph
from lakejoin.store.graph import GraphOptions, PartRecord, StoredGraph, folder_of, write_graph
from lakejoin.store.lock import build_lock
from lakejoin.store.manifest import read_manifest
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.store.segment import SegmentRecord

Array = np.ndarray[Any, Any]
Files = dict[int, tuple[str, ...]]  # by segment

_VALUES = 4 << 20  # of all segments, in one range of hashes
_TWOS = 256  # segments, two and two, in one range of hashes
_TILE = 64  # segments that are compared with each other, or with as many others, at a time
_ROUNDS = 3  # tasks a core
_HERE = 1 << 24  # pairs that this process drops some of, without Spark


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What making a graph did: `pairs` of columns join, of which `counted` were counted now and the
    others kept; `cut` columns have more partners than they keep. `seconds` are by stage."""

    version: int
    pairs: int
    counted: int
    cut: int
    segments: int
    fresh: int
    seconds: Mapping[str, float]


def make_graph(
    index: Place | str | os.PathLike[str],
    options: GraphOptions | None = None,
    cluster: Cluster | None = None,
    listener: Listener = lambda progress: None,
    wait: float = 0.0,
    full: bool = False,
) -> GraphReport:
    """Makes the join graph of an index that of its tables now; `options` left out are those that
    the graph has, or the usual ones. `full` counts everything anew.

    >>> from lakejoin.spark import make_graph
    >>> make_graph("data.index", cluster=Cluster(master="spark://host:7077"))  # doctest: +SKIP
    """
    begin = time.perf_counter()
    index = index if isinstance(index, Place) else Place.of(index)
    with build_lock(index, wait):
        manifest = read_manifest(index)
        clean(index, manifest)
        snapshot = Snapshot(index, manifest)
        stored = usable_graph(snapshot)
        options = options or (stored.options if stored else GraphOptions())
        if stored and stored.is_of(manifest) and stored.options == options and not full:
            seconds = {"total": time.perf_counter() - begin}
            number = len(manifest.segments)
            return GraphReport(manifest.version, stored.count, 0, stored.cut, number, 0, seconds)
        kept = Kept(stored, snapshot) if stored and stored.options == options else None
        if full or (kept is not None and not kept.in_order):
            kept = None
        try:
            return _make(snapshot, kept, options, cluster or Cluster(), listener)
        except BaseException:
            clean_up(index)  # nothing of what failed stays
            raise


def usable_graph(snapshot: Snapshot) -> StoredGraph | None:
    """The graph that there is; one that is damaged or older is made anew."""
    try:
        return snapshot.graph()
    except NewerIndex:
        raise
    except IndexProblem:
        return None


def _make(
    snapshot: Snapshot,
    kept: Kept | None,
    options: GraphOptions,
    cluster: Cluster,
    listener: Listener,
) -> GraphReport:
    begin, old, index = time.perf_counter(), snapshot.manifest, snapshot.place
    name = f"graph-{old.version + 1:06d}-{secrets.token_hex(4)}.lj"
    folder = folder_of(index, name)
    folder.make_folder()
    job = Job(index.uri, build_name(old), old.options)
    job.scratch.make_folder()
    fresh = np.ones(len(old.segments), dtype=bool) if kept is None else kept.fresh
    with ExitStack() as stack:
        stages = _Stages(job, cluster, listener, stack)
        again = {} if kept is None else _lost(stages, snapshot, kept)
        files, counted = _count(stages, old.segments, fresh, again, options)
        small = kept is not None and not counted and kept.stored.count <= _HERE
        where = Gathering(
            old, old.graph if kept else None, (), files, again, options.most, folder.name
        )
        parts = _write(stages, where, here=small)
        seconds = stages.seconds
    listener(Progress("committing"))
    for left in set(folder.children()) - {one.name for one in parts}:
        (folder / left).remove()  # of a task that died and was run again
    named = write_graph(index, name, old.segments, options, parts)
    new = commit_graph(index, old, named)
    clean(index, new)
    seconds["total"] = time.perf_counter() - begin
    pairs = sum(one.pairs for one in parts if not one.turned)
    cut = sum(one.cut for one in parts)
    numbers = pairs, counted, cut, len(old.segments), int(np.count_nonzero(fresh))
    return GraphReport(new.version, *numbers, seconds)


class _Stages:
    """Runs the tasks of a graph, one stage after the other; Spark starts when it is needed."""

    def __init__(self, job: Job, cluster: Cluster, listener: Listener, stack: ExitStack) -> None:
        self.seconds: dict[str, float] = {}
        self.job = job
        self._cluster = cluster
        self._listener = listener
        self._stack = stack
        self._spark: Any = None
        self._next = 0

    @property
    def spark(self) -> Any:
        """The session."""
        if self._spark is None:
            begin = time.perf_counter()
            self._listener(Progress("starting Spark"))
            how = self._cluster.spark, self._cluster.master, self._cluster.conf
            self._spark = self._stack.enter_context(session(*how))
            self.seconds["start"] = time.perf_counter() - begin
        return self._spark

    @property
    def tasks(self) -> int:
        """How many tasks a stage has where there is much to do."""
        return _ROUNDS * parallelism(self.spark)

    def run(
        self, kind: str, works: Sequence[Any], stage: Progress, here: bool = False
    ) -> list[Outcome]:
        """Runs a task for each piece of work, `here` in this process."""
        if not works:
            return []
        spark = None if here else self.spark
        begin, first = time.perf_counter(), self._next
        self._next += len(works)
        for number, work in enumerate(works, start=first):
            write_work(self.job, number, kind, work)
        batches = range(first, self._next)
        if here:
            told = run_here(self.job, batches, stage, self._listener)
        else:
            told = run_tasks(spark, self.job, batches, stage, self._listener)
        self.seconds[kind] = self.seconds.get(kind, 0.0) + time.perf_counter() - begin
        return told


def _lost(stages: _Stages, snapshot: Snapshot, kept: Kept) -> dict[int, str]:
    """By segment, the files of columns that need partners which they did not keep."""
    named = snapshot.manifest.graph
    some = [one.segment for one in kept.stored.parts if one.cut and kept.now[one.segment] >= 0]
    if kept.is_whole or not some or named is None:
        return {}
    here = kept.stored.count <= _HERE
    pieces = [tuple(some)] if here else _even(some, stages.tasks)
    works = [Lost(snapshot.manifest, named, piece) for piece in pieces]
    stage = Progress("looking for what has gone", total=len(some), unit="segments")
    told = stages.run("lost", works, stage, here)
    return dict(one.value for one in told if one.kind == "again")


def _count(
    stages: _Stages,
    records: Sequence[SegmentRecord],
    fresh: Array,
    again: Mapping[int, str],
    options: GraphOptions,
) -> tuple[Files, int]:
    """The files of the pairs that were counted, by segment, and how many pairs these are."""
    asking = fresh.copy()
    asking[list(again)] = True
    every = dict(enumerate(records))
    new = frozenset(np.flatnonzero(fresh).tolist())
    waves = list(_waves(asking))
    counted: list[Any] = []
    for number, wave in enumerate(waves, start=1):
        which = f" ({number:,} of {len(waves):,})" if len(waves) > 1 else ""
        ranges = _ranges(every, wave, parallelism(stages.spark))
        stage = Progress(f"finding what segments share{which}", total=len(ranges), unit="ranges")
        told = [one.value for one in stages.run("shared", ranges, stage)]
        files = tuple(name for name, _ in told)
        twos = {two for _, found in told for two in found}
        twos |= {(one, other) for one, other in wave if one == other}
        works = [
            Counting(
                {n: every[n] for two in batch for n in two},
                tuple(batch),
                files,
                options,
                new,
                {n: again[n] for two in batch for n in two if n in again},
            )
            for batch in _cut(sorted(twos), every, stages.tasks)
        ]
        stage = Progress(f"counting pairs{which}", total=len(twos), unit="pairs of segments")
        counted += [one.value for one in stages.run("counted", works, stage)]
        for name in files:
            (stages.job.scratch / name).remove()
    return _by_segment(counted), sum(count for _, _, count in counted)


def _waves(asking: Array) -> Iterator[list[Two]]:
    """The twos to be counted, at least one of them `asking`, in parts of not too many segments: a
    value of all segments is shared by every two, and what they share is in files for a while."""
    every = np.arange(len(asking))
    tiles = [every[at : at + _TILE] for at in range(0, len(every), _TILE)]
    for n, tile in enumerate(tiles):
        for other in tiles[n:]:
            one, two = (end.ravel() for end in np.meshgrid(tile, other, indexing="ij"))
            wanted = (one <= two) & (asking[one] | asking[two])
            if wanted.any():
                yield list(zip(one[wanted].tolist(), two[wanted].tolist(), strict=True))


def _write(stages: _Stages, work: Gathering, here: bool) -> list[PartRecord]:
    """Writes the files of the graph."""
    records = work.manifest.segments
    every = list(range(len(records)))
    pieces = [tuple(every)] if here else _even(every, stages.tasks)
    works = [_of(work, piece) for piece in pieces if piece]
    stage = Progress("choosing the best", total=len(records), unit="segments")
    told = stages.run("gathered", works, stage, here)
    parts = [one.value for one in told if one.kind == "part"]
    turned = _by_segment([one.value for one in told if one.kind == "turned"])
    some = sorted(turned)
    pieces = [tuple(some)] if here else _even(some, stages.tasks)
    turning = [
        Turning({n: records[n] for n in piece}, {n: turned[n] for n in piece}, work.folder)
        for piece in pieces
        if piece
    ]
    stage = Progress("turning pairs", total=len(some), unit="segments")
    told = stages.run("turned", turning, stage, here)
    return [*parts, *(one.value for one in told if one.kind == "part")]


def _of(work: Gathering, numbers: tuple[int, ...]) -> Gathering:
    """The part of the work that is about these segments."""
    counted = {n: work.counted[n] for n in numbers if n in work.counted}
    again = {n: work.again[n] for n in numbers if n in work.again}
    return Gathering(work.manifest, work.old, numbers, counted, again, work.most, work.folder)


def _by_segment(files: Sequence[tuple[str, Sequence[int], int]]) -> Files:
    found: dict[int, list[str]] = {}
    for name, segments, _ in files:
        for number in segments:
            found.setdefault(number, []).append(name)
    return {number: tuple(names) for number, names in found.items()}


def _even(numbers: Sequence[int], tasks: int) -> list[tuple[int, ...]]:
    """Numbers in so many parts at most."""
    parts = min(max(1, tasks), len(numbers))
    return [tuple(numbers[n::parts]) for n in range(parts)]


def _ranges(records: Mapping[int, SegmentRecord], twos: Sequence[Two], cores: int) -> list[Range]:
    """Ranges of hashes that are small enough, and as many as there are cores; none for one segment,
    which shares with no other."""
    wanted = tuple((one, other) for one, other in twos if one != other)
    if not wanted:
        return []
    own = {n: records[n] for two in wanted for n in two}
    values = sum(record.values for record in own.values())
    enough = max(
        -(-values // _VALUES), len(wanted) // _TWOS, min(_ROUNDS * cores, values * 8 // _VALUES)
    )
    parts = 1
    while parts < min(enough, MOST_PARTS):
        parts *= 2
    return [Range(own, wanted, part, parts) for part in range(parts)]


def _cut(twos: Sequence[Two], records: Mapping[int, SegmentRecord], tasks: int) -> list[list[Two]]:
    """Twos in as many batches of about equal work; those of one segment stay together."""
    work = [records[one].pairs + records[other].pairs for one, other in twos]
    each = max(1, -(-sum(work) // tasks))
    batches: list[list[Two]] = []
    done = each
    for two, cost in zip(twos, work, strict=True):
        if done >= each:
            batches.append([])
            done = 0
        batches[-1].append(two)
        done += cost
    return batches
