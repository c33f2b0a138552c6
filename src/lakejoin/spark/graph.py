"""The join graph as a Spark job: made, or refreshed where segments are new or have gone.

First a task for each range of hashes says which values the segments share; then tasks of two
segments each count the pairs of columns. What they tell each other lies in the index's scratch
folder. Only twos with a new segment are counted; the other pairs are those of the graph before.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import LakejoinError
from lakejoin.search.graph.kept import Kept, kept_of
from lakejoin.search.graph.pairs import best_of_each
from lakejoin.search.graph.sharing import MOST_PARTS
from lakejoin.spark.build import Cluster, build_name
from lakejoin.spark.graph_work import Counting, Range, Two
from lakejoin.spark.job import Job, write_work
from lakejoin.spark.session import parallelism, session
from lakejoin.spark.tasks import Listener, Progress, run_tasks
from lakejoin.storage import Place
from lakejoin.store.arrayfile import ArrayFile
from lakejoin.store.commit import clean, clean_up, commit_graph
from lakejoin.store.graph import GraphOptions, Pairs, read_pairs, together, write_graph
from lakejoin.store.lock import build_lock
from lakejoin.store.manifest import read_manifest
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakejoin.store.segment import SegmentRecord

_VALUES = 4 << 20  # of all segments, in one range of hashes
_ROUNDS = 3  # tasks a core


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
) -> GraphReport:
    """Makes the join graph of an index that of its tables now; `options` left out are those that
    the graph has, or the usual ones.

    >>> from lakejoin.spark import make_graph
    >>> make_graph("data.index", cluster=Cluster(master="spark://host:7077"))  # doctest: +SKIP
    """
    begin = time.perf_counter()
    index = index if isinstance(index, Place) else Place.of(index)
    with build_lock(index, wait):
        manifest = read_manifest(index)
        clean(index, manifest)
        snapshot = Snapshot(index, manifest)
        stored = _opened(snapshot)
        options = options or (stored.options if stored else GraphOptions())
        if stored and stored.is_of(manifest) and stored.options == options:
            count = len(stored.file.array("shared"))
            seconds = {"total": time.perf_counter() - begin}
            number = len(manifest.segments)
            cut = len(stored.cut())
            return GraphReport(manifest.version, count, 0, cut, number, 0, seconds)
        try:
            return _make(snapshot, kept_of(stored, snapshot, options), options, cluster, listener)
        except BaseException:
            clean_up(index)  # nothing of what failed stays
            raise


def _opened(snapshot: Snapshot) -> Any:
    """The graph that there is; one that is damaged is made anew."""
    try:
        return snapshot.graph()
    except LakejoinError:
        return None


def _make(
    snapshot: Snapshot,
    kept: Kept,
    options: GraphOptions,
    cluster: Cluster | None,
    listener: Listener,
) -> GraphReport:
    begin, old, index = time.perf_counter(), snapshot.manifest, snapshot.place
    seconds: dict[str, float] = {}
    counted = together([])
    if kept.fresh.any():
        job = Job(index.uri, build_name(old), old.options)
        counted = _count(job, old.segments, kept.fresh, options, cluster, listener, seconds)
    listener(Progress("committing"))
    pairs, cut = best_of_each(together([kept.pairs, counted]), options.most)
    cut = np.union1d(cut, kept.cut)
    name = f"graph-{old.version + 1:06d}-{secrets.token_hex(4)}.lj"
    named = write_graph(index, name, old.segments, pairs, options, cut)
    new = commit_graph(index, old, named)
    clean(index, new)
    seconds["total"] = time.perf_counter() - begin
    fresh = int(np.count_nonzero(kept.fresh))
    numbers = len(pairs), len(counted), len(cut), len(old.segments), fresh
    return GraphReport(new.version, *numbers, seconds)


def _count(
    job: Job,
    records: Sequence[SegmentRecord],
    fresh: Any,
    options: GraphOptions,
    cluster: Cluster | None,
    listener: Listener,
    seconds: dict[str, float],
) -> Pairs:
    cluster = cluster or Cluster()
    listener(Progress("starting Spark"))
    begin = time.perf_counter()
    with session(cluster.spark, cluster.master, cluster.conf) as spark:
        seconds["start"] = time.perf_counter() - begin
        job.scratch.make_folder()
        ranges = _ranges(records, fresh, parallelism(spark))
        for number, work in enumerate(ranges):
            write_work(job, number, "shared", work)
        stage = Progress("finding what segments share")
        told = run_tasks(spark, job, range(len(ranges)), stage, listener)
        seconds["shared"] = time.perf_counter() - begin - seconds["start"]
        shared = tuple(one.value[0] for one in told if one.kind == "shared")
        twos = {two for one in told if one.kind == "shared" for two in one.value[1]}
        twos |= {(number, number) for number in np.flatnonzero(fresh).tolist()}
        batches = _cut(sorted(twos), records, _ROUNDS * parallelism(spark))
        found = _count_twos(spark, job, batches, records, shared, options, listener, len(ranges))
        seconds["pairs"] = time.perf_counter() - begin - sum(seconds.values())
    return found


def _count_twos(
    spark: SparkSession,
    job: Job,
    batches: Sequence[Sequence[Two]],
    records: Sequence[SegmentRecord],
    shared: tuple[str, ...],
    options: GraphOptions,
    listener: Listener,
    first: int,
) -> Pairs:
    for number, twos in enumerate(batches):
        own = {n: records[n] for two in twos for n in two}
        work = Counting(own, tuple(twos), shared, options)
        write_work(job, first + number, "pairs", work)
    stage = Progress("counting pairs")
    told = run_tasks(spark, job, range(first, first + len(batches)), stage, listener)
    names = [one.value for one in told if one.kind == "pairs"]
    return together([read_pairs(ArrayFile(job.scratch / name)) for name in names])


def _ranges(records: Sequence[SegmentRecord], fresh: Any, cores: int) -> list[Range]:
    """Ranges of hashes that are small enough, and as many as there are cores; none for one segment,
    which shares with no other."""
    if len(records) < 2:
        return []
    values = sum(record.values for record in records)
    wanted = max(-(-values // _VALUES), min(cores, values * 8 // _VALUES))
    parts = 1
    while parts < min(wanted, MOST_PARTS):
        parts *= 2
    flags = tuple(bool(one) for one in fresh)
    return [Range(tuple(records), flags, part, parts) for part in range(parts)]


def _cut(twos: Sequence[Two], records: Sequence[SegmentRecord], tasks: int) -> list[list[Two]]:
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
