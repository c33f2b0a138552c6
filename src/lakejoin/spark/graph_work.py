"""What a task does for the join graph: finds what segments share, and counts pairs of columns."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.search.graph.pairs import pairs_between
from lakejoin.search.graph.sharing import shared_in
from lakejoin.search.graph.sides import Shared, Side, with_itself
from lakejoin.spark.job import Job
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.graph import GraphOptions, together, write_pairs
from lakejoin.store.segment import Segment, SegmentRecord

Array = np.ndarray[Any, Any]

Two = tuple[int, int]  # segments, by their numbers, the smaller first


@dataclass(frozen=True, slots=True)
class Range:
    """One of `parts` ranges of hashes, in which all segments are compared; at least one of two has
    to be `fresh`."""

    records: tuple[SegmentRecord, ...]
    fresh: tuple[bool, ...]
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class Counting:
    """Segments, two and two, whose pairs of columns are to be counted; `shared` are the files that
    say which values they share."""

    records: dict[int, SegmentRecord]
    twos: tuple[Two, ...]
    shared: tuple[str, ...]
    options: GraphOptions


def find_shared(job: Job, batch: int, work: Range) -> Iterator[tuple[str, Any]]:
    """Writes which values segments share in a range of hashes; tells which segments share any."""
    segments = [Segment(job.segments / record.id, record) for record in work.records]
    found = list(shared_in(segments, work.part, work.parts, np.array(work.fresh)))
    name = f"shared-{batch:06d}-{secrets.token_hex(4)}.lj"  # of this attempt
    with ArrayFileWriter(job.scratch / name) as out:
        start = np.cumsum([0, *(len(shared) for _, shared in found)])
        out.add("two", np.array([two for two, _ in found], dtype=np.int64).reshape(-1))
        out.add("start", start.astype(np.int64))
        for field in ("mine", "theirs", "count"):
            parts = [getattr(shared, field).astype(np.uint32) for _, shared in found]
            out.add(field, np.concatenate([np.zeros(0, dtype=np.uint32), *parts]))
    yield "shared", (name, [two for two, _ in found])


def count_between(job: Job, batch: int, work: Counting) -> Iterator[tuple[str, Any]]:
    """Writes the pairs of columns of some segments."""
    opened = {number: Segment(job.segments / one.id, one) for number, one in work.records.items()}
    files = [_SharedFile(ArrayFile(job.scratch / name)) for name in work.shared]
    sides: dict[int, Side] = {}
    options, found = work.options, []
    for one, other in work.twos:  # sorted: the first of two stays the same for a while
        for number in (one, other):
            if number not in sides:
                sides = {n: side for n, side in sides.items() if n == one}
                sides[number] = Side(opened[number], options.least)
        mine, theirs = sides[one], sides[other]
        shared = with_itself(mine) if one == other else _all(files, (one, other))
        how = options.containment, options.most + 1  # so that it is seen which have more
        found.append(pairs_between(mine, theirs, shared, (one, other), *how))
    name = f"pairs-{batch:06d}-{secrets.token_hex(4)}.lj"
    with ArrayFileWriter(job.scratch / name) as out:
        write_pairs(out, together(found))
    yield "pairs", name


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
    return Shared(*(np.concatenate([part[i] for part in parts]).astype(np.int64) for i in range(3)))
