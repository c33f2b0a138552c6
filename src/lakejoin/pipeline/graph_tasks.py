"""The tasks of a join graph build: find values that segments share, count column pairs, and write
the files of the graph."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakejoin.graph.column_pairs import (
    CountedColumns,
    JoinableColumns,
    SegmentOverlap,
    find_overlaps,
    find_pairs,
    overlap_with_itself,
)
from lakejoin.graph.graph_refresh import (
    EarlierGraph,
    EarlierPairs,
    write_pairs,
    write_reverse_pairs,
)
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.pipeline.job import Job
from lakejoin.pipeline.task_progress import ProgressReporter
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.graph_files import (
    ColumnPairs,
    GraphOptions,
    PairFileRecord,
    PairSlices,
    StoredGraph,
    concat_pairs,
    write_pair_slices,
)
from lakejoin.store.index_records import NamedFile, SegmentRecord
from lakejoin.store.manifest import Manifest
from lakejoin.store.segment import Segment
from lakejoin.store.snapshot import Snapshot

SegmentPair = tuple[int, int]  # a pair of segment indexes, the smaller first

_HELD = 1 << 22  # pairs in memory before they are written
_NO_COLUMNS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class LostWork:
    """Segments of the previous graph, by index, whose columns may have lost joins."""

    manifest: Manifest
    graph: NamedFile
    segments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RangeWork:
    """One of `parts` ranges of hashes, in which the `pairs` segment pairs are compared."""

    records: dict[int, SegmentRecord]
    pairs: tuple[SegmentPair, ...]
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class CountWork:
    """Segment pairs whose column pairs are counted: all if one of them is `fresh`, else those of
    the columns in the files `again`. `shared` are the files with the values that segments share."""

    records: dict[int, SegmentRecord]
    pairs: tuple[SegmentPair, ...]
    shared: tuple[str, ...]
    options: GraphOptions
    fresh: frozenset[int]
    again: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GatherWork:
    """Segments whose pairs are collected: from the previous graph (`old`), except for the columns
    in the files `again`, and from the files `counted`, by segment."""

    manifest: Manifest
    old: NamedFile | None
    segments: tuple[int, ...]
    counted: dict[int, tuple[str, ...]]
    again: dict[int, str]
    most: int
    folder: str


@dataclass(frozen=True, slots=True)
class ReverseWork:
    """Segments whose pairs with smaller columns are collected from files, by segment."""

    records: dict[int, SegmentRecord]
    turned: dict[int, tuple[str, ...]]
    folder: str


def find_lost(job: Job, batch: int, work: LostWork) -> Iterator[tuple[str, Any]]:
    """Write the columns that need joins beyond those kept; yields the current indexes of their
    segments with the files."""
    index = Location.of(job.index)
    kept = EarlierGraph(StoredGraph(index, work.graph), Snapshot(index, work.manifest))
    reporter = ProgressReporter(job.scratch, batch)
    for segment in work.segments:
        columns = kept.columns_to_recount(segment)
        if len(columns):
            name = f"again-{batch:06d}-{secrets.token_hex(4)}.lj"
            with ArrayFileWriter(job.scratch / name) as out:
                out.add("column", columns)
            yield "again", (int(kept.current_index[segment]), name)
        reporter.end_file(0, 0)
    reporter.finish()


def find_shared(job: Job, batch: int, work: RangeWork) -> Iterator[tuple[str, Any]]:
    """Write the values that segments share in a range of hashes; yields the sharing pairs."""
    reporter = ProgressReporter(job.scratch, batch)
    numbers = sorted(work.records)
    segments = [Segment(job.segments / work.records[n].id, work.records[n]) for n in numbers]
    wanted = np.zeros((len(numbers), len(numbers)), dtype=bool)
    wanted[tuple(np.searchsorted(numbers, np.array(work.pairs)).T)] = True
    found = [
        ((numbers[first], numbers[second]), shared)
        for (first, second), shared in find_overlaps(segments, work.part, work.parts, wanted)
    ]
    name = f"shared-{batch:06d}-{secrets.token_hex(4)}.lj"  # unique to this attempt
    with ArrayFileWriter(job.scratch / name) as out:
        start = np.cumsum([0, *(len(shared) for _, shared in found)])
        out.add("two", np.array([pair for pair, _ in found], dtype=np.int64).reshape(-1))
        out.add("start", start.astype(np.int64))
        for array in ("left", "right", "count"):
            parts = [getattr(shared, array).astype(np.uint32) for _, shared in found]
            out.add(array, np.concatenate([np.zeros(0, dtype=np.uint32), *parts]))
    reporter.end_file(0, 0)
    reporter.finish()
    yield "shared", (name, [pair for pair, _ in found])


def count_pairs(job: Job, batch: int, work: CountWork) -> Iterator[tuple[str, Any]]:
    """Write the column pairs of some segment pairs; yields the files and their segments."""
    reporter = ProgressReporter(job.scratch, batch)
    opened = {n: Segment(job.segments / record.id, record) for n, record in work.records.items()}
    files = [_SharedFile(ArrayFile(job.scratch / name)) for name in work.shared]
    again = {
        n: ArrayFile(job.scratch / name).array("column").all() for n, name in work.again.items()
    }
    sides: dict[int, JoinableColumns] = {}
    options = work.options
    found: list[ColumnPairs] = []
    held = 0
    for first, second in work.pairs:  # sorted, so the first segment stays open for a while
        for segment in (first, second):
            if segment not in sides:
                sides = {n: side for n, side in sides.items() if n == first}
                sides[segment] = JoinableColumns(opened[segment], options.least)
        whole = first in work.fresh or second in work.fresh
        left, right = (
            CountedColumns(sides[n], None if whole else again.get(n, _NO_COLUMNS))
            for n in (first, second)
        )
        shared = (
            overlap_with_itself(sides[first])
            if first == second
            else _read_overlap(files, (first, second))
        )
        limits = options.containment, options.most + 1  # one more shows which columns have more
        found.append(find_pairs(left, right, shared, (first, second), *limits))
        held += len(found[-1])
        if held > _HELD:
            yield "counted", _write_slices(job, "counted", batch, concat_pairs(found))
            found, held = [], 0
        reporter.end_file(0, 0)
    if held:
        yield "counted", _write_slices(job, "counted", batch, concat_pairs(found))
    reporter.finish()


def gather_pairs(job: Job, batch: int, work: GatherWork) -> Iterator[tuple[str, Any]]:
    """Write the files of the graph for some segments; yields their records, and the files with
    their pairs reversed."""
    index = Location.of(job.index)
    snapshot = Snapshot(index, work.manifest)
    kept = EarlierGraph(StoredGraph(index, work.old), snapshot) if work.old else None
    reporter = ProgressReporter(job.scratch, batch)
    for segment in work.segments:
        sizes = _sizes(snapshot.segments[segment])
        files = [ArrayFile(job.scratch / name) for name in work.counted.get(segment, ())]
        counted = [PairSlices(file, segment, sizes) for file in files]
        old = None
        if kept is not None and kept.earlier_index[segment] >= 0:
            again = _NO_COLUMNS
            if segment in work.again:
                again = ArrayFile(job.scratch / work.again[segment]).array("column").all()
            old = EarlierPairs(kept, int(kept.earlier_index[segment]), again)
        turned: list[tuple[str, list[int], int]] = []

        def keep(pairs: ColumnPairs, turned: list[tuple[str, list[int], int]] = turned) -> None:
            turned.append(_write_slices(job, "turned", batch, pairs))

        name = f"pairs-{segment:06d}-{secrets.token_hex(4)}.lj"
        with ArrayFileWriter(index / work.folder / name) as out:
            figures = write_pairs(out, sizes, counted, old, work.most, keep)
        record = out.record
        yield "part", PairFileRecord(segment, False, name, record.bytes, record.checksum, *figures)
        for reversed_pairs in turned:
            yield "turned", reversed_pairs
        reporter.end_file(0, 0)
    reporter.finish()


def reverse_pairs(job: Job, batch: int, work: ReverseWork) -> Iterator[tuple[str, Any]]:
    """Write the files of the graph with its pairs seen from the larger columns."""
    index = Location.of(job.index)
    reporter = ProgressReporter(job.scratch, batch)
    for segment, record in work.records.items():
        sizes = _sizes(Segment(job.segments / record.id, record))
        files = [ArrayFile(job.scratch / name) for name in work.turned[segment]]
        name = f"turned-{segment:06d}-{secrets.token_hex(4)}.lj"
        with ArrayFileWriter(index / work.folder / name) as out:
            count = write_reverse_pairs(
                out, sizes, [PairSlices(file, segment, sizes) for file in files]
            )
        written = out.record
        yield "part", PairFileRecord(segment, True, name, written.bytes, written.checksum, count, 0)
        reporter.end_file(0, 0)
    reporter.finish()


def _sizes(segment: Segment) -> Array:
    return np.asarray(segment.postings.set_sizes(), dtype=np.int64)


def _write_slices(
    job: Job, kind: str, batch: int, pairs: ColumnPairs
) -> tuple[str, list[int], int]:
    """Write pairs; returns (name of the file, segments in it, number of pairs)."""
    name = f"{kind}-{batch:06d}-{secrets.token_hex(4)}.lj"
    with ArrayFileWriter(job.scratch / name) as out:
        write_pair_slices(out, pairs)
    return name, np.unique(pairs.segment).tolist(), len(pairs)


class _SharedFile:
    """A file with the values that segments share in a range of hashes."""

    def __init__(self, file: ArrayFile) -> None:
        self._file = file
        twos = file.array("two").all().reshape(-1, 2).tolist()
        self._position = {(first, second): at for at, (first, second) in enumerate(twos)}
        self._start = file.array("start").all()

    def read(self, pair: SegmentPair) -> list[Array]:
        """(left groups, right groups, count) of a segment pair."""
        at = self._position.get(pair)
        begin, end = (0, 0) if at is None else self._start[at : at + 2].tolist()
        return [self._file.array(name).slice(begin, end) for name in ("left", "right", "count")]


def _read_overlap(files: Sequence[_SharedFile], pair: SegmentPair) -> SegmentOverlap:
    parts = [file.read(pair) for file in files]
    empty = [np.zeros(0, dtype=np.int64)] * 3
    return SegmentOverlap(
        *(np.concatenate([part[i] for part in (empty, *parts)]).astype(np.int64) for i in range(3))
    )
