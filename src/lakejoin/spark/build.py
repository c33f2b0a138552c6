"""Builds or refreshes an index: lists the lake, runs the tasks, commits one new version."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lakejoin.errors import BuildFailed, InputError, LakejoinError
from lakejoin.lake.files import list_files
from lakejoin.model import Skipped, SourceFile
from lakejoin.spark.encoding import hand_over
from lakejoin.spark.job import Job, Outcome
from lakejoin.spark.options import BuildOptions, index_options
from lakejoin.spark.parts import (
    choose_parts,
    components_of,
    lack_meaning,
    segment_memory,
    without_others,
)
from lakejoin.spark.rounds import read_lake
from lakejoin.spark.session import session
from lakejoin.spark.tasks import Listener, Progress
from lakejoin.storage import Place
from lakejoin.store.commit import check_place, clean, clean_up, commit, current_manifest
from lakejoin.store.lock import build_lock
from lakejoin.store.manifest import Manifest, Totals, with_dead
from lakejoin.store.segment import SegmentRecord, lacking
from lakejoin.store.snapshot import Snapshot
from lakejoin.store.sources import SourceState, read_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakejoin.encoders import Encoder
    from lakejoin.store.components import Component


_UNLISTED = -1  # the size of what could not be listed


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to run: a session that the caller keeps, or how to make one."""

    spark: SparkSession | None = None
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did. Files are counted; `totals` are those of the index after it.

    `seconds` has the wall time of the stages `list`, `encoder` (opening it), `start` (Spark),
    `tasks`, `commit`, `costs` (measuring what reading the index costs here) and `total`, and,
    summed over the tasks, `read` (parsing and encoding) and `build` (segments). A stage that did
    not run has no key. `notes` are sentences about what was decided unasked, and what was made of
    old segments.
    """

    version: int
    new: int
    changed: int
    gone: int
    unchanged: int
    segments: int
    totals: Totals
    skipped: tuple[Skipped, ...]
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Difference:
    """The lake against the index: what to read, and which sources' old tables are to go."""

    new: tuple[SourceFile, ...]
    changed: tuple[SourceFile, ...]
    gone: tuple[str, ...]
    kept: Mapping[str, SourceState]

    @property
    def read(self) -> tuple[SourceFile, ...]:
        return self.new + self.changed

    @property
    def dropped(self) -> set[str]:
        return {f.name for f in self.changed} | set(self.gone)


def build_index(
    lakes: Sequence[str],
    index: Place,
    options: BuildOptions,
    cluster: Cluster,
    listener: Listener,
) -> BuildReport:
    """Makes the index that of the lakes: reads what is new or changed, drops what has gone."""
    clock = _Clock()
    check_place(index)
    with build_lock(index, options.wait):
        old = current_manifest(index, replacing=options.full and bool(lakes))
        try:
            return _build(lakes, index, old, options, cluster, listener, clock)
        except BaseException:
            clean_up(index)  # nothing of what failed stays
            raise


def _build(
    lakes: Sequence[str],
    index: Place,
    old: Manifest,
    options: BuildOptions,
    cluster: Cluster,
    listener: Listener,
    clock: _Clock,
) -> BuildReport:
    lakes = _same_lakes(lakes, old, options)
    settings = index_options(old, options)
    listener(Progress("listing files"))
    unlisted: list[Skipped] = []
    files = list_files(lakes, unlisted, exclude=index)
    clean(index, old)
    known = {} if options.full else read_sources(index, old.files)
    difference = _compare(files, known, unlisted)
    clock.lap("list")
    new = old.version == 0 or options.full
    chosen = choose_parts(settings, options, new, sum(file.size for file in files))
    settings = chosen.options
    records = () if options.full else _bury(index, old, difference.dropped)
    records = tuple(without_others(record, settings) for record in records)
    wanted = components_of(settings, chosen.opened)
    behind = [r for r in records if lacking(r, wanted)]
    outcomes: list[Outcome] = []
    if difference.read or behind:
        memory = segment_memory(settings, options.memory)
        job = Job(index.uri, build_name(old), settings, options.limits, memory)
        encode = settings.meaning is not None and (difference.read or lack_meaning(behind, wanted))
        encoder = chosen.opened() if encode else None
        if encoder is not None:
            clock.lap("encoder")
        work = _Work(difference.read, behind, options.piece_bytes, encoder)
        outcomes = _run(job, work, cluster, listener, clock)
    sources = _sources(difference, outcomes)
    if options.strict:
        _be_strict(sources)
    notes = (*chosen.notes, *_made_from_within(behind, wanted))
    same = settings == old.options and tuple(records) == old.segments
    if not outcomes and same and not (new or difference.gone):
        return _report(old, difference, sources, clock, notes)
    listener(Progress("committing"))
    segments = _segments(records, outcomes)
    made = commit(index, old, lakes, settings, segments, sources)
    clean(index, made)
    clock.lap("commit")
    _measure(index)
    clock.lap("costs")
    return _report(made, difference, sources, clock, notes)


def _made_from_within(
    behind: Sequence[SegmentRecord], wanted: Sequence[Component]
) -> Iterator[str]:
    names = sorted({component.name for record in behind for component in lacking(record, wanted)})
    if names:
        yield f"made from what the index held: {', '.join(names)}"


def _measure(index: Place) -> None:
    """Measures what reading the index costs on this machine; a search does without, if need be."""
    from lakejoin.search.overlap import OverlapIndex
    from lakejoin.search.overlap.costs import keep_costs, kept_costs, measured_costs

    try:
        if kept_costs(index) is None:
            opened = OverlapIndex([segment.postings for segment in Snapshot(index).segments])
            keep_costs(index, measured_costs(opened))
    except (OSError, LakejoinError):
        return


class _Clock:
    """Wall time by stage, and what the tasks report of theirs."""

    def __init__(self) -> None:
        self._begin = self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now

    def total(self) -> dict[str, float]:
        return {**self.seconds, "total": time.perf_counter() - self._begin}


def _same_lakes(lakes: Sequence[str], old: Manifest, options: BuildOptions) -> list[str]:
    """The lakes as absolute places; another lake than the index's own needs --full."""
    if not lakes:
        if not old.lakes:
            raise InputError("name the files or folders to index: lakejoin index LAKE")
        return list(old.lakes)
    named = [Place.of(lake).uri for lake in lakes]
    if old.lakes and not options.full and sorted(named) != sorted(old.lakes):
        raise InputError(
            f"this index was made from {', '.join(old.lakes)}: name the same, or another --index, "
            "or replace it with --full"
        )
    return named


def build_name(old: Manifest) -> str:
    """A name for the build that follows a version, also the beginning of its segments' names."""
    return f"{old.version + 1:06d}{secrets.token_hex(2)}"


def _compare(
    files: Sequence[SourceFile], known: Mapping[str, SourceState], unlisted: Sequence[Skipped]
) -> _Difference:
    """What is new, changed or gone; what could not be listed is kept as skipped, never read."""
    new, changed = [], []
    kept = {s.name: SourceState(_UNLISTED, 0, (s,)) for s in unlisted}
    for file in files:
        before = known.get(file.name)
        if before is None:
            new.append(file)
        elif before.same_as(file):
            kept[file.name] = before
        else:
            changed.append(file)
    names = {f.name for f in files} | set(kept)
    gone = tuple(n for n, s in known.items() if n not in names and s.size != _UNLISTED)
    return _Difference(tuple(new), tuple(changed), gone, kept)


def _bury(index: Place, old: Manifest, dropped: set[str]) -> tuple[SegmentRecord, ...]:
    """The old segments with the tables of dropped sources marked dead; empty ones go."""
    if not dropped:
        return old.segments
    alive = []
    for segment in Snapshot(index).segments:
        sources = segment.catalog.tables["source"].to_pylist()
        dead = {number for number, source in enumerate(sources) if source in dropped}
        record = with_dead(segment.record, dead)
        if len(record.dead) < record.tables:
            alive.append(record)
    return tuple(alive)


@dataclass(frozen=True, slots=True)
class _Work:
    """What the tasks have to do: read files, and complete segments; `encoder` makes vectors."""

    files: Sequence[SourceFile]
    behind: Sequence[SegmentRecord]
    piece_bytes: int
    encoder: Encoder | None


def _run(
    job: Job, work: _Work, cluster: Cluster, listener: Listener, clock: _Clock
) -> list[Outcome]:
    listener(Progress("starting Spark", total=len(work.files)))
    with session(cluster.spark, cluster.master, cluster.conf) as spark:
        clock.lap("start")
        if work.encoder is not None:
            hand_over(job, work.encoder)
        outcomes = read_lake(spark, job, work.files, work.behind, work.piece_bytes, listener)
        clock.lap("tasks")
    for outcome in outcomes:
        if outcome.kind == "seconds":
            for name, seconds in outcome.value.items():
                clock.seconds[name] = clock.seconds.get(name, 0.0) + seconds
    return outcomes


def _sources(difference: _Difference, outcomes: Sequence[Outcome]) -> dict[str, SourceState]:
    skipped: dict[str, list[Skipped]] = {}
    for outcome in outcomes:
        if outcome.kind == "skipped":
            source, what = outcome.value
            skipped.setdefault(source, []).append(what)
    fresh = {
        f.name: SourceState(f.size, f.mtime_ns, tuple(skipped.get(f.name, ())))
        for f in difference.read
    }
    both = {**difference.kept, **fresh}
    return dict(sorted(both.items()))


def _be_strict(sources: Mapping[str, SourceState]) -> None:
    bad = [str(s) for state in sources.values() for s in state.skipped]
    if bad:
        more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
        raise BuildFailed(
            f"{bad[0]}{more}; nothing was changed, since --strict allows no skipped file"
        )


def _segments(records: Sequence[SegmentRecord], outcomes: Sequence[Outcome]) -> list[SegmentRecord]:
    renewed = {}
    fresh = []
    for outcome in outcomes:
        if outcome.kind == "segment":
            fresh.append(outcome.value)
        elif outcome.kind == "components":
            renewed[outcome.value.id] = outcome.value
    kept = [replace(r, components=renewed[r.id].components) if r.id in renewed else r
            for r in records]  # fmt: skip
    return [*kept, *fresh]


def _report(
    manifest: Manifest,
    difference: _Difference,
    sources: Mapping[str, Any],
    clock: _Clock,
    notes: tuple[str, ...],
) -> BuildReport:
    skipped = tuple(s for state in sources.values() for s in state.skipped)
    return BuildReport(
        manifest.version,
        len(difference.new),
        len(difference.changed),
        len(difference.gone),
        sum(state.size != _UNLISTED for state in difference.kept.values()),
        len(manifest.segments),
        manifest.totals,
        skipped,
        clock.total(),
        notes,
    )
