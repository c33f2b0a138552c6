"""Builds or refreshes an index: lists the lake, runs the tasks, commits one new version."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakejoin.errors import BuildFailed, InputError, LakejoinError
from lakejoin.locations import OUTSIDE, Location
from lakejoin.model import KINDS_OF_FILES, LogicalTable, Skipped, Source
from lakejoin.pipeline.frame_tasks import read_frames, write_frames
from lakejoin.pipeline.job import Job, Outcome, StartRunner, send_encoder
from lakejoin.pipeline.lake_difference import (
    UNLISTED,
    Difference,
    check_empty_lakes,
    check_removal,
    check_replacement,
    compare_files,
)
from lakejoin.pipeline.options import (
    BuildOptions,
    choose_features,
    drop_unused_components,
    index_components,
    index_options,
    lack_vectors,
    segment_memory,
)
from lakejoin.pipeline.read_plan import read_lake
from lakejoin.pipeline.retries import MOST_TRIES, read_retries, write_retries
from lakejoin.pipeline.task_progress import Listener, Progress
from lakejoin.quoting import lakejoin_command
from lakejoin.sources.database_urls import is_database, keep_password
from lakejoin.sources.lake_files import free_name, is_path
from lakejoin.sources.lake_tables import list_tables
from lakejoin.store.commit import (
    build_lock,
    check_index_folder,
    clean_after_failure,
    clean_index,
    commit,
    current_manifest,
)
from lakejoin.store.index_records import SegmentRecord
from lakejoin.store.manifest import Manifest, Totals
from lakejoin.store.segment import missing_components
from lakejoin.store.snapshot import Snapshot
from lakejoin.store.source_states import SourceState, read_sources
from lakejoin.text_format import counted

if TYPE_CHECKING:
    from lakejoin.sources.lake_frames import LakeFrame
    from lakejoin.store.segment import Component


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, in numbers of files and logical tables; `totals` are those of the index
    after it.

    `seconds` has the wall time of the stages `list`, `encoder` (opening it), `start` (of Spark),
    `tasks`, `commit`, `costs` (measuring the cost of reading the index here) and `total`, and,
    summed over the tasks, `read` (parsing and encoding) and `build` (segments). A stage that did
    not run has no key. `notes` are sentences about default decisions and rebuilt components.
    `engine` is what ran the tasks: `local` processes or `spark`; None if there was nothing to run.

    >>> report = lakejoin.index("data/", "data.index", spark=spark)
    >>> report.new, report.totals.tables
    (0, 4)
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
    engine: str | None = None


def build_index(
    lakes: Sequence[str],
    index: Location,
    options: BuildOptions,
    start: StartRunner,
    listener: Listener,
    frames: Sequence[LakeFrame] = (),
) -> BuildReport:
    """Bring the index up to date: read new and changed files and frames, remove tables of deleted
    ones."""
    clock = _Clock()
    check_index_folder(index)
    with build_lock(index, options.wait):
        old = current_manifest(index, replacing=options.full and bool(lakes))
        with clean_after_failure(index, old):
            return _build(lakes, index, old, options, start, listener, clock, frames)


def _build(
    lakes: Sequence[str],
    index: Location,
    old: Manifest,
    options: BuildOptions,
    start: StartRunner,
    listener: Listener,
    clock: _Clock,
    frames: Sequence[LakeFrame],
) -> BuildReport:
    lakes = _same_lakes(lakes, index, old, options, frames)
    settings = index_options(old, options)
    listener(Progress("listing files"))
    unlisted: list[Skipped] = []
    files = list_tables(
        lakes,
        unlisted,
        index,
        options.follow_links,
        options.table_rules,
        settings.exclude,
        options.as_of,
    )
    taken = {file.name for file in files}
    frames = [replace(frame, name=free_name(frame.name, taken)) for frame in frames]
    files += [frame.source for frame in frames]
    clean_index(index, old)
    same_lakes = sorted(lakes) == sorted(old.lakes)
    if options.full and same_lakes and not options.allow_removal:
        check_replacement(index, old, files, unlisted)
    known = {} if options.full else read_sources(index, old.files)
    retries = read_retries(index, options.limits)
    exhausted = retries.exhausted(files)
    difference = compare_files(files, known, unlisted, options.allow_removal, exhausted)
    if not options.allow_removal:
        check_removal(index, old, len(files), difference)
        check_empty_lakes(lakes, index, difference, options.follow_links)
    clock.lap("list")
    new = old.version == 0 or options.full
    chosen = choose_features(settings, options, new, sum(file.size for file in files), index.uri)
    settings = chosen.options
    records = () if options.full else _mark_dead(index, old, difference.dropped)
    records = tuple(drop_unused_components(record, settings) for record in records)
    components = index_components(settings, chosen.open_encoder)
    behind = [r for r in records if missing_components(r, components)]
    outcomes: list[Outcome] = []
    engine, why = None, ""
    if difference.read or behind:
        memory = segment_memory(settings, options.memory)
        job = Job(index.uri, build_name(old), settings, options.limits, memory)
        encode = settings.meaning is not None and (
            difference.read or lack_vectors(behind, components)
        )
        encoder = chosen.open_encoder() if encode else None
        if encoder is not None:
            clock.lap("encoder")
        work_bytes = sum(f.size for f in difference.read) + sum(r.bytes for r in behind)
        with start(listener, work_bytes) as runner:
            clock.lap("start")
            engine, why = runner.engine, runner.note
            if encoder is not None:
                send_encoder(job, encoder, runner)
            files, later = write_frames(job, difference.read, frames)
            outcomes = read_lake(runner, job, files, behind, options.chunk_bytes, listener)
            outcomes += read_frames(runner, job, later, options.chunk_bytes, listener)
            clock.lap("tasks")
        clock.add_reported(outcomes)
    sources = _sources(difference, outcomes)
    if options.strict:
        _raise_if_skipped(sources)
    notes = (
        *((why,) if why else ()),
        *chosen.notes,
        *_note_rebuilt(behind, components),
        *_note_logical(files, index),
        *_note_links(unlisted),
        *_note_unreachable(difference),
        *_note_exhausted(exhausted.intersection(difference.kept), index),
    )
    counted_tries = retries.counting(difference.read, sources)
    if counted_tries != retries:
        write_retries(index, counted_tries)
    same = settings == old.options and tuple(records) == old.segments
    # Files that are tried again at every refresh make no new version by failing again.
    failed_again = sources == known and all(o.kind in ("skipped", "seconds") for o in outcomes)
    unchanged = same and not (new or difference.gone or difference.regrouped)
    if unchanged and (failed_again or not outcomes):
        return _report(old, difference, sources, clock, notes, engine)
    listener(Progress("committing"))
    segments = _segments(records, outcomes)
    committed = commit(index, old, lakes, settings, segments, sources)
    clean_index(index, committed)
    clock.lap("commit")
    _measure(index)
    clock.lap("costs")
    return _report(committed, difference, sources, clock, notes, engine)


def _note_rebuilt(
    behind: Sequence[SegmentRecord], components: Sequence[Component]
) -> Iterator[str]:
    names = sorted(
        {missing.name for record in behind for missing in missing_components(record, components)}
    )
    if names:
        yield f"added to existing segments without reading files again: {', '.join(names)}"


def _note_logical(sources: Sequence[Source], index: Location) -> Iterator[str]:
    tables = [
        source
        for source in sources
        if isinstance(source, LogicalTable) and source.composition.kind in KINDS_OF_FILES
    ]
    if tables:
        files = counted(sum(table.composition.files for table in tables), "file")
        are = "table is" if len(tables) == 1 else "tables are"
        command = lakejoin_command("tables", index.uri)
        yield f"{len(tables):,} {are} made of {files}; see how with: {command}"


def _note_links(unlisted: Sequence[Skipped]) -> Iterator[str]:
    links = sum(s.reason == OUTSIDE for s in unlisted)
    if links:
        lead = "link leads" if links == 1 else "links lead"
        yield f"{links:,} {lead} outside the lake, not followed; --follow-links follows such links"


def _note_unreachable(difference: Difference) -> Iterator[str]:
    if difference.unreachable:
        files = counted(len(difference.unreachable), "file")
        yield (
            f"the tables of {files} are kept as they were, because the files are out of reach now; "
            "remove them with --allow-removal"
        )


def _note_exhausted(names: Collection[str], index: Location) -> Iterator[str]:
    if names:
        has, it = ("has", "it changes") if len(names) == 1 else ("have", "they change")
        yield (
            f"{counted(len(names), 'file')} {has} failed {MOST_TRIES} times and will only be "
            f"tried again once {it}, or with --full; list what was skipped with: "
            f"{lakejoin_command('skipped', index.uri)}"
        )


def _measure(index: Location) -> None:
    """Measure the cost of reading the index on this machine; a search works without it."""
    from lakejoin.engines.overlap import OverlapIndex
    from lakejoin.engines.overlap.read_costs import load_costs, measure_costs, save_costs

    try:
        if load_costs(index) is None:
            opened = OverlapIndex([segment.postings for segment in Snapshot(index).segments])
            save_costs(index, measure_costs(opened))
    except (OSError, LakejoinError):
        return


class _Clock:
    """Wall time by stage, and the times that tasks report."""

    def __init__(self) -> None:
        self._begin = self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now

    def add_reported(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.kind == "seconds":
                for name, seconds in outcome.value.items():
                    self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def total(self) -> dict[str, float]:
        return {**self.seconds, "total": time.perf_counter() - self._begin}


def _same_lakes(
    lakes: Sequence[str],
    index: Location,
    old: Manifest,
    options: BuildOptions,
    frames: Sequence[LakeFrame],
) -> list[str]:
    """The lakes as absolute URIs; raises if they are not the index's own, without --full."""
    if not lakes:
        passed = [lake for lake in old.lakes if not is_path(lake) and not is_database(lake)]
        if passed and not frames:
            raise InputError(
                f"this index was built from {', '.join(passed)}, which lakejoin cannot read "
                "by itself: pass them again, to lakejoin.index or with --tables"
            )
        if not old.lakes:
            command = lakejoin_command("index LAKE", index.uri)
            raise InputError(f"name the files or folders to index: {command}")
        return list(old.lakes)
    named = [_lake_name(lake) for lake in lakes]
    if old.lakes and not options.full and sorted(named) != sorted(old.lakes):
        raise InputError(
            f"this index was built from {', '.join(old.lakes)}: name the same files or folders, "
            "choose another --index, or replace it with --full"
        )
    return named


def _lake_name(lake: str) -> str:
    if is_database(lake):
        return keep_password(lake)
    return Location.of(lake).uri if is_path(lake) else lake


def build_name(old: Manifest) -> str:
    """A name for the next build, which is also the prefix of its segments' names."""
    return f"{old.version + 1:06d}{secrets.token_hex(2)}"


def _mark_dead(index: Location, old: Manifest, dropped: set[str]) -> tuple[SegmentRecord, ...]:
    """The old segments with the tables of dropped sources marked dead, without empty segments."""
    if not dropped:
        return old.segments
    alive = []
    for segment in Snapshot(index).segments:
        sources = segment.catalog.tables["source"].to_pylist()
        dead = {table_id for table_id, source in enumerate(sources) if source in dropped}
        dead.update(segment.record.dead)
        if len(dead) < segment.record.tables:
            alive.append(replace(segment.record, dead=tuple(sorted(dead))))
    return tuple(alive)


def _sources(difference: Difference, outcomes: Sequence[Outcome]) -> dict[str, SourceState]:
    skipped: dict[str, list[Skipped]] = {}
    for outcome in outcomes:
        if outcome.kind == "skipped":
            source, item = outcome.value
            skipped.setdefault(source, []).append(item)
    fresh = {
        f.name: SourceState(f.size, f.mtime_ns, tuple(skipped.get(f.name, ())))
        for f in difference.read
    }
    sources = {**difference.kept, **fresh}
    return dict(sorted(sources.items()))


def _raise_if_skipped(sources: Mapping[str, SourceState]) -> None:
    bad = [str(s) for state in sources.values() for s in state.skipped]
    if bad:
        more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
        raise BuildFailed(f"{bad[0]}{more}; nothing was changed, because of --strict")


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
    difference: Difference,
    sources: Mapping[str, Any],
    clock: _Clock,
    notes: tuple[str, ...],
    engine: str | None,
) -> BuildReport:
    skipped = tuple(s for state in sources.values() for s in state.skipped)
    return BuildReport(
        manifest.version,
        len(difference.new),
        len(difference.changed),
        len(difference.gone),
        sum(state.size != UNLISTED for state in difference.kept.values()),
        len(manifest.segments),
        manifest.totals,
        skipped,
        clock.total(),
        notes,
        engine,
    )
