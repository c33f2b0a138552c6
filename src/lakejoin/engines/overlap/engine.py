"""Find the k columns that share the most distinct values with the query column, exactly."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

import numpy as np

from lakejoin.engines.hits import Counters, ExcludedColumns, Hits
from lakejoin.engines.overlap.overlap_kernels import (
    BEGIN,
    HIDDEN,
    ORDER,
    RUN,
    count_shared,
    weigh_columns,
)
from lakejoin.engines.overlap.postings_view import PostingsMatrix, SearchBuffers
from lakejoin.engines.overlap.read_costs import (
    BYTES_READ,
    CANDIDATES,
    LISTS_FOUND,
    LISTS_READ,
    MERGED,
    PROBED_ALL,
    SEGMENTS,
    SETS_READ,
    STOPPED,
    ReadCosts,
    measure_costs,
    time_call,
)
from lakejoin.engines.query import Query, locate_codes
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.store.postings import Postings
    from lakejoin.store.segment import Segment

ALGORITHMS = ("auto", "stopping", "merge", "josie")
_NONE = np.zeros(0, dtype=np.uint32)


class OverlapIndex:
    """The postings of some segments; several threads may search them at once.

    Only their mapped addresses are kept in memory. Each searching thread holds buffers of about 29
    bytes per column and 4 bytes per group of the largest segment, and 48 bytes per value of its
    largest query.
    """

    def __init__(self, postings: Sequence[Postings], costs: ReadCosts | None = None) -> None:
        self.postings = tuple(postings)
        self._matrix = PostingsMatrix([p.file for p in self.postings])
        self._own = threading.local()
        self._costs = costs

    def search(
        self,
        codes: Sequence[Array],
        k: int,
        algorithm: str = "auto",
        excluded: ExcludedColumns | None = None,
    ) -> Hits:
        """Return the k best columns of all segments, best first.

        `codes` are the ascending codes of the query's values in each segment.
        """
        chosen = "stopping" if algorithm == "auto" else algorithm
        costs = self.costs  # may run searches to measure them, so before buffers are taken
        sizes = np.fromiter(map(len, codes), dtype=np.int64, count=len(codes))
        plan = np.zeros((3, len(codes) + 1), dtype=np.int64)
        np.cumsum(sizes, out=plan[BEGIN, 1:])
        # Start with the segment that has most of the query's values: it sets a high k-th score.
        plan[ORDER, :-1] = np.argsort(-sizes, kind="stable")
        hidden = self._hidden(excluded, plan[HIDDEN])
        room = self._room(int(sizes.max(initial=0)), k)
        out = np.empty((3, k), dtype=np.int64)
        work = room.view(costs)
        hit_count = RUN[chosen](self._matrix.rows, _joined(codes), plan, hidden, work, out)
        self._matrix.verify(room.pending)
        segment, column, matched = out[:, :hit_count]
        return Hits(segment, column, matched, _counters(room.tally, chosen))

    def overlaps(self, codes: Array, segment: int, columns: Array) -> Array:
        """Count the query's values that each of some columns of a segment contains."""
        out = np.zeros(len(columns), dtype=np.int64)
        room = self._room(len(codes), 1)
        ranks = self.postings[segment].size_ranks(columns)
        codes = _joined([codes])
        count_shared(self._matrix.rows, segment, codes, ranks, room.row, room.pending, out)
        self._matrix.verify(room.pending)
        return out

    def weigh(self, codes: Array, weights: Array, segment: int, out: Array) -> tuple[Array, int]:
        """Sum, for each column of a segment, the weights of the query's values it contains, and
        count them.

        Results go to the two rows of `out`, which must be zero; `codes` ascend. Returns the columns
        that contain any value, and how many entries of posting lists were read.
        """
        touched = np.empty(out.shape[1], dtype=np.int64)
        room = self._room(len(codes), 1)
        args = (self._matrix.rows, segment, _joined([codes]), weights, room.row, room.pending)
        count, entries = weigh_columns(*args, out, touched)
        self._matrix.verify(room.pending)
        return touched[:count], int(entries)

    @property
    def costs(self) -> ReadCosts:
        """The costs of reading: those given, or else measured on first use."""
        if self._costs is None:
            self._costs = ReadCosts()  # measuring searches with the defaults
            self._costs = measure_costs(self)
        return self._costs

    def uses_costs(self, costs: ReadCosts | None) -> bool:
        return costs is None or costs == self._costs

    def time_lists(self, segment: int, groups: Array) -> float:
        """Time merging posting lists, less the time of looking them up; in nanoseconds."""
        postings = self.postings[segment]
        empty = np.zeros(0, dtype=np.uint32)
        codes = [empty] * len(self.postings)
        codes[segment] = segment_codes = postings.group_start()[groups]
        base = time_call(lambda: self.overlaps(segment_codes, segment, empty))
        return max(0.0, time_call(lambda: self.search(codes, 1, "merge")) - base)

    def time_sets(self, segment: int, ranks: Array) -> float:
        """Time reading the sets of columns, less the time of an empty call; in nanoseconds."""
        columns = self.postings[segment].columns_at(ranks)
        any_code = np.zeros(1, dtype=np.uint32)
        base = time_call(lambda: self.overlaps(any_code, segment, columns[:1]))
        return max(0.0, time_call(lambda: self.overlaps(any_code, segment, columns)) - base)

    def _room(self, values: int, k: int) -> SearchBuffers:
        room: SearchBuffers | None = getattr(self._own, "room", None)
        if room is None:
            room = self._own.room = SearchBuffers(
                max((p.columns for p in self.postings), default=0),
                max((p.groups for p in self.postings), default=0),
                self._matrix.blocks,
            )
        room.reserve(values, k)
        room.tally[:] = 0
        return room

    def _hidden(self, excluded: ExcludedColumns | None, begin: Array) -> Array:
        """Return the ranks of the columns to hide; those of segment s begin at begin[s]."""
        if excluded is None or not any(map(len, excluded.columns)):
            return np.zeros(0, dtype=np.uint32)
        hidden = [
            p.size_ranks(c) if len(c) else np.zeros(0, dtype=np.uint32)
            for p, c in zip(self.postings, excluded.columns, strict=True)
        ]
        np.cumsum([len(p) for p in hidden], out=begin[1:])
        return np.concatenate(hidden)


def _joined(codes: Sequence[Array]) -> Array:
    return np.concatenate([*codes, _NONE]).astype(np.uint32, copy=False)


def _counters(tally: Array, algorithm: str) -> Counters:
    counts = tally.tolist()
    if algorithm == "stopping":
        counters = {"merge": MERGED, "probe": PROBED_ALL, "stopping": STOPPED}
        algorithms = {name: counts[index] for name, index in counters.items() if counts[index]}
    else:
        algorithms = {algorithm: counts[SEGMENTS]} if counts[SEGMENTS] else {}
    return Counters(
        segments=counts[SEGMENTS],
        lists=counts[LISTS_FOUND],
        lists_read=counts[LISTS_READ],
        candidates=counts[CANDIDATES],
        sets_read=counts[SETS_READ],
        pruned=max(0, counts[CANDIDATES] - counts[SETS_READ]),
        bytes=counts[BYTES_READ],
        algorithms=algorithms,
    )


# Keyed by the first segment, then by all. The values hold weak references: a strong one would keep
# the segments open forever.
_OPENED: WeakKeyDictionary[Segment, dict[tuple[ref[Segment], ...], OverlapIndex]]
_OPENED = WeakKeyDictionary()
_OPENING = threading.Lock()


def index_of(segments: Sequence[Segment], costs: ReadCosts | None = None) -> OverlapIndex:
    """Return the index over these segments; it is built once and lives as long as they do."""
    if not segments:
        return OverlapIndex([], costs)
    with _OPENING:
        key = tuple(map(ref, segments))
        indexes = _OPENED.setdefault(segments[0], {})
        if key not in indexes or not indexes[key].uses_costs(costs):
            indexes[key] = OverlapIndex([s.postings for s in segments], costs)
        return indexes[key]


def drop_missing_codes(codes: Array) -> Array:
    """Drop the codes of values that the segment does not have, and sort the rest."""
    return np.sort(codes[codes != NOT_FOUND])


@dataclass(frozen=True, slots=True)
class Overlap:
    """Find the k columns that share the most distinct values (JOSIE; Zhu's thesis, chapter 3).

    Exact. Columns that share equally many values are ordered by size, smallest first, then by their
    order in the index. `algorithm` is "merge" (MergeList), "josie", "stopping" (an early-stopping
    merge) or "auto", which means "stopping"; all give the same answer. `costs` are the costs of
    reading; if omitted, they are measured on first use.

    >>> Overlap(k=0)
    Traceback (most recent call last):
    lakejoin.errors.InputError: k must be at least 1, not 0
    """

    k: int = 10
    algorithm: str = "auto"
    costs: ReadCosts | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k must be at least 1, not {self.k}")
        if self.algorithm not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise InputError(f"there is no algorithm {self.algorithm!r}; choose one of {known}")

    def search(
        self, query: Query, segments: Sequence[Segment], excluded: ExcludedColumns | None = None
    ) -> Hits:
        index = index_of(segments, self.costs)
        codes = [drop_missing_codes(locate_codes(query, n, s)) for n, s in enumerate(segments)]
        columns = sum(p.columns for p in index.postings)
        k = max(1, min(self.k, columns))
        return index.search(codes, k, self.algorithm, excluded)


def count_overlaps(segment: Segment, codes: Array, columns: Array) -> Array:
    """Count the values of a query, given by their codes, that each of some columns contains."""
    index = index_of([segment])
    return index.overlaps(drop_missing_codes(codes), 0, np.asarray(columns))
