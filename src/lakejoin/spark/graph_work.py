"""What a task does for the join graph: finds what segments share, counts pairs of columns, and
writes the files of the graph."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakejoin.search.graph.gathering import Old, gather, turn
from lakejoin.search.graph.kept import Kept
from lakejoin.search.graph.pairs import Asks, pairs_between
from lakejoin.search.graph.sharing import shared_in
from lakejoin.search.graph.sides import Shared, Side, with_itself
from lakejoin.spark.job import Job
from lakejoin.spark.progress import Reporter
from lakejoin.storage import Place
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.graph import GraphOptions, PartRecord, StoredGraph
from lakejoin.store.manifest import Manifest, NamedFile
from lakejoin.store.pairs import Pairs, Slices, together, write_slices
from lakejoin.store.segment import Segment, SegmentRecord
from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

Two = tuple[int, int]  # segments, by their numbers, the smaller first

_HELD = 1 << 22  # pairs, before they are written
_NO_COLUMNS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Lost:
    """Segments, by their numbers in the graph before, in which columns may have lost partners."""

    manifest: Manifest
    graph: NamedFile
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """One of `parts` ranges of hashes, in which segments are compared: the `wanted` twos."""

    records: dict[int, SegmentRecord]
    wanted: tuple[Two, ...]
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class Counting:
    """Segments, two and two, whose pairs of columns are to be counted: all with a `fresh` one, else
    those of the columns in the files `again`. `shared` are the files that say which values the
    segments share."""

    records: dict[int, SegmentRecord]
    twos: tuple[Two, ...]
    shared: tuple[str, ...]
    options: GraphOptions
    fresh: frozenset[int]
    again: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gathering:
    """Segments whose pairs are put together: those of the graph before (`old`), but for columns in
    the files `again`, and those in the files `counted`, by segment."""

    manifest: Manifest
    old: NamedFile | None
    numbers: tuple[int, ...]
    counted: dict[int, tuple[str, ...]]
    again: dict[int, str]
    most: int
    folder: str


@dataclass(frozen=True, slots=True)
class Turning:
    """Segments whose pairs with smaller columns are put together from files, by segment."""

    records: dict[int, SegmentRecord]
    turned: dict[int, tuple[str, ...]]
    folder: str


def find_lost(job: Job, batch: int, work: Lost) -> Iterator[tuple[str, Any]]:
    """Writes which columns need partners that they did not keep; tells of which segments, by their
    numbers now."""
    index = Place.of(job.index)
    kept = Kept(StoredGraph(index, work.graph), Snapshot(index, work.manifest))
    reporter = Reporter(job.scratch, batch)
    for number in work.numbers:
        columns = kept.lacking(number)
        if len(columns):
            name = f"again-{batch:06d}-{secrets.token_hex(4)}.lj"
            with ArrayFileWriter(job.scratch / name) as out:
                out.add("column", columns)
            yield "again", (int(kept.now[number]), name)
        reporter.end_file(0, 0)
    reporter.finish()


def find_shared(job: Job, batch: int, work: Range) -> Iterator[tuple[str, Any]]:
    """Writes which values segments share in a range of hashes; tells which segments share any."""
    reporter = Reporter(job.scratch, batch)
    numbers = sorted(work.records)
    segments = [Segment(job.segments / work.records[n].id, work.records[n]) for n in numbers]
    wanted = np.zeros((len(numbers), len(numbers)), dtype=bool)
    wanted[tuple(np.searchsorted(numbers, np.array(work.wanted)).T)] = True
    found = [
        ((numbers[one], numbers[other]), shared)
        for (one, other), shared in shared_in(segments, work.part, work.parts, wanted)
    ]
    name = f"shared-{batch:06d}-{secrets.token_hex(4)}.lj"  # of this attempt
    with ArrayFileWriter(job.scratch / name) as out:
        start = np.cumsum([0, *(len(shared) for _, shared in found)])
        out.add("two", np.array([two for two, _ in found], dtype=np.int64).reshape(-1))
        out.add("start", start.astype(np.int64))
        for name_ in ("mine", "theirs", "count"):
            parts = [getattr(shared, name_).astype(np.uint32) for _, shared in found]
            out.add(name_, np.concatenate([np.zeros(0, dtype=np.uint32), *parts]))
    reporter.end_file(0, 0)
    reporter.finish()
    yield "shared", (name, [two for two, _ in found])


def count_between(job: Job, batch: int, work: Counting) -> Iterator[tuple[str, Any]]:
    """Writes the pairs of columns of some segments; tells in which files they are, and of which
    segments."""
    reporter = Reporter(job.scratch, batch)
    opened = {number: Segment(job.segments / one.id, one) for number, one in work.records.items()}
    files = [_SharedFile(ArrayFile(job.scratch / name)) for name in work.shared]
    again = {
        number: ArrayFile(job.scratch / name).array("column").all()
        for number, name in work.again.items()
    }
    sides: dict[int, Side] = {}
    options = work.options
    found: list[Pairs] = []
    held = 0
    for one, other in work.twos:  # sorted: the first of two stays the same for a while
        for number in (one, other):
            if number not in sides:
                sides = {n: side for n, side in sides.items() if n == one}
                sides[number] = Side(opened[number], options.least)
        whole = one in work.fresh or other in work.fresh
        mine, theirs = (
            Asks(sides[n], None if whole else again.get(n, _NO_COLUMNS)) for n in (one, other)
        )
        shared = with_itself(sides[one]) if one == other else _all(files, (one, other))
        how = options.containment, options.most + 1  # so that it is seen which have more
        found.append(pairs_between(mine, theirs, shared, (one, other), *how))
        held += len(found[-1])
        if held > _HELD:
            yield "counted", _write_slices(job, "counted", batch, together(found))
            found, held = [], 0
        reporter.end_file(0, 0)
    if held:
        yield "counted", _write_slices(job, "counted", batch, together(found))
    reporter.finish()


def gather_pairs(job: Job, batch: int, work: Gathering) -> Iterator[tuple[str, Any]]:
    """Writes the files of the graph for some segments; tells what they are, and in which files
    their pairs are turned."""
    index = Place.of(job.index)
    snapshot = Snapshot(index, work.manifest)
    kept = Kept(StoredGraph(index, work.old), snapshot) if work.old else None
    reporter = Reporter(job.scratch, batch)
    for number in work.numbers:
        sizes = _sizes(snapshot.segments[number])
        files = [ArrayFile(job.scratch / name) for name in work.counted.get(number, ())]
        counted = [Slices(file, number, sizes) for file in files]
        old = None
        if kept is not None and kept.before[number] >= 0:
            again = _NO_COLUMNS
            if number in work.again:
                again = ArrayFile(job.scratch / work.again[number]).array("column").all()
            old = Old(kept, int(kept.before[number]), again)
        turned: list[tuple[str, list[int], int]] = []

        def keep(pairs: Pairs, turned: list[tuple[str, list[int], int]] = turned) -> None:
            turned.append(_write_slices(job, "turned", batch, pairs))

        name = f"pairs-{number:06d}-{secrets.token_hex(4)}.lj"
        with ArrayFileWriter(index / work.folder / name) as out:
            figures = gather(out, sizes, counted, old, work.most, keep)
        record = out.record
        yield "part", PartRecord(number, False, name, record.bytes, record.checksum, *figures)
        for one in turned:
            yield "turned", one
        reporter.end_file(0, 0)
    reporter.finish()


def turn_pairs(job: Job, batch: int, work: Turning) -> Iterator[tuple[str, Any]]:
    """Writes the files of the graph that see its pairs from the larger columns."""
    index = Place.of(job.index)
    reporter = Reporter(job.scratch, batch)
    for number, record in work.records.items():
        sizes = _sizes(Segment(job.segments / record.id, record))
        files = [ArrayFile(job.scratch / name) for name in work.turned[number]]
        name = f"turned-{number:06d}-{secrets.token_hex(4)}.lj"
        with ArrayFileWriter(index / work.folder / name) as out:
            count = turn(out, sizes, [Slices(file, number, sizes) for file in files])
        told = out.record
        yield "part", PartRecord(number, True, name, told.bytes, told.checksum, count, 0)
        reporter.end_file(0, 0)
    reporter.finish()


def _sizes(segment: Segment) -> Array:
    return np.asarray(segment.postings.set_sizes(), dtype=np.int64)


def _write_slices(job: Job, kind: str, batch: int, pairs: Pairs) -> tuple[str, list[int], int]:
    """(name of the file, segments whose pairs are in it, how many pairs)."""
    name = f"{kind}-{batch:06d}-{secrets.token_hex(4)}.lj"
    with ArrayFileWriter(job.scratch / name) as out:
        write_slices(out, pairs)
    return name, np.unique(pairs.segment).tolist(), len(pairs)


class _SharedFile:
    def __init__(self, file: ArrayFile) -> None:
        self._file = file
        twos = file.array("two").all().reshape(-1, 2).tolist()
        self._place = {(one, other): place for place, (one, other) in enumerate(twos)}
        self._start = file.array("start").all()

    def of(self, two: Two) -> list[Array]:
        """(mine, theirs, count) of two segments."""
        place = self._place.get(two)
        begin, end = (0, 0) if place is None else self._start[place : place + 2].tolist()
        return [self._file.array(name).part(begin, end) for name in ("mine", "theirs", "count")]


def _all(files: Sequence[_SharedFile], two: Two) -> Shared:
    parts = [file.of(two) for file in files]
    none = [np.zeros(0, dtype=np.int64)] * 3
    return Shared(
        *(np.concatenate([part[i] for part in (none, *parts)]).astype(np.int64) for i in range(3))
    )
