"""Compaction: merges small segments and drops removed tables, without reading the lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakejoin.locations import Location
from lakejoin.pipeline.build import build_name
from lakejoin.pipeline.job import Job, StartRunner, TaskRounds, send_encoder
from lakejoin.pipeline.options import reopen_encoder, segment_memory
from lakejoin.pipeline.task_progress import Listener, Progress
from lakejoin.store.commit import build_lock, clean_after_failure, clean_index, commit
from lakejoin.store.index_records import SegmentRecord
from lakejoin.store.manifest import Manifest, read_manifest
from lakejoin.store.meaning_vectors import all_store_vectors
from lakejoin.store.segment_builder import PAIR_BYTES
from lakejoin.store.source_states import read_sources

_MEMORY = 1600 << 20
_TEXT_BYTES = 24  # expected bytes of a value's text and spelling


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What a compaction did: segments merged, segments written, and segments in the index now."""

    version: int
    merged: int
    made: int
    segments: int
    bytes_before: int
    bytes_after: int


def compact_index(
    index: Location, start: StartRunner, listener: Listener, wait: float = 0.0
) -> CompactReport:
    """Merge segments as far as a worker's memory allows; readers keep the previous version."""
    with build_lock(index, wait):
        old = read_manifest(index)
        clean_index(index, old)
        with clean_after_failure(index, old):
            return _merge(index, old, start, listener)


def _merge(index: Location, old: Manifest, start: StartRunner, listener: Listener) -> CompactReport:
    before = old.totals.bytes
    memory = segment_memory(old.options, _MEMORY)
    groups = choose_merges(old.segments, memory)
    if not groups:
        count = len(old.segments)
        return CompactReport(old.version, 0, 0, count, before, before)
    job = Job(index.uri, build_name(old), old.options, memory=memory)
    meaning = old.options.meaning
    reuse = meaning is None or all(all_store_vectors(group) for group in groups)
    encoder = None if meaning is None or reuse else reopen_encoder(meaning, index.uri)
    work_bytes = sum(record.bytes for group in groups for record in group)
    with start(listener, work_bytes) as runner:
        rounds = TaskRounds(job, listener)
        if encoder is not None:
            send_encoder(job, encoder, runner)
        work = [("merge", group) for group in groups]
        outcomes = rounds.run(runner, work, Progress("merging segments"))
    fresh = [o.value for o in outcomes if o.kind == "segment"]
    gone = {record.id for group in groups for record in group}
    kept = [record for record in old.segments if record.id not in gone]
    listener(Progress("committing"))
    sources = read_sources(index, old.files)
    new = commit(index, old, old.lakes, old.options, [*kept, *fresh], sources)
    clean_index(index, new)
    return CompactReport(
        new.version, len(gone), len(fresh), len(new.segments), before, new.totals.bytes
    )


def choose_merges(records: Sequence[SegmentRecord], memory: int) -> list[list[SegmentRecord]]:
    """Choose groups of segments to rewrite: small ones together, and those with dead tables.

    >>> from dataclasses import replace
    >>> small = SegmentRecord("a", 1, 1, 1, 1, 1, 1, {})
    >>> [[s.id for s in g] for g in choose_merges([small, replace(small, id="b")], 1 << 30)]
    [['a', 'b']]
    >>> choose_merges([small], 1 << 30)
    []
    """
    groups: list[list[SegmentRecord]] = []
    room = 0
    for record in sorted(records, key=lambda r: (_need(r), r.id)):
        need = _need(record)
        if need > memory // 2 and not record.dead:
            continue
        if not groups or need > room:
            groups.append([])
            room = memory
        groups[-1].append(record)
        room -= need
    return [g for g in groups if len(g) > 1 or g[0].dead]


def _need(record: SegmentRecord) -> int:
    """The estimated memory to finish such a segment; see `SegmentBuilder.memory`."""
    alive = 1 - len(record.dead) / max(1, record.tables)
    return int(max(record.pairs, record.values) * (PAIR_BYTES + _TEXT_BYTES) * alive)
