"""Which k columns share the most distinct values with mine? Exactly, by JOSIE and its kin."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.hits import Counters, Excluded, Hits
from lakejoin.search.overlap.tally import ASKED, BYTES, PLACES, PROBED, READ, SEEN, SEGMENTS
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.search.overlap.costs import ReadCosts
    from lakejoin.search.query import Query
    from lakejoin.store.postings import Postings
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

ALGORITHMS = ("auto", "stopping", "merge", "probe", "josie")
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """A query looked up: segment s has the groups [begin[s], begin[s] + number[s])."""

    groups: Array
    weights: Array
    begin: Array
    number: Array
    order: Array


class OverlapIndex:
    """The postings of some segments, ready to be searched by several threads at once.

    It keeps nothing of them in memory but where they are mapped. A thread that searches keeps room
    for some 29 bytes a column of the largest segment, 4 bytes a group of it, and 48 bytes a value
    of its largest query.
    """

    def __init__(self, postings: Sequence[Postings], costs: ReadCosts | None = None) -> None:
        from lakejoin.search.overlap.matrix import Matrix

        self.postings = tuple(postings)
        self._matrix = Matrix([p.file for p in self.postings])
        self._own = threading.local()
        self._costs = costs

    def locate(self, codes: Sequence[Array]) -> Located:
        """Looks up the ascending codes that a query's values have in each segment."""
        from lakejoin.search.overlap.running import look_up

        sizes = np.fromiter(map(len, codes), dtype=np.int64, count=len(codes))
        begin = np.zeros(len(codes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=begin[1:])
        flat = np.concatenate([*codes, np.zeros(0, dtype=np.uint32)]).astype(np.uint32, copy=False)
        groups = np.empty(len(flat), dtype=np.uint32)
        weights = np.empty(len(flat), dtype=np.uint32)
        number = np.zeros(len(codes), dtype=np.int64)
        pending = self._room().pending
        look_up(self._matrix.rows, flat, begin, pending, groups, weights, number)
        self._matrix.verify(pending)
        # The segment with most of the query's values first: it sets a high k-th score.
        return Located(groups, weights, begin, number, np.argsort(-sizes, kind="stable"))

    def search(
        self,
        located: Located,
        k: int,
        algorithm: str = "auto",
        excluded: Excluded | None = None,
    ) -> Hits:
        """The k best columns of all segments, best first."""
        from lakejoin.search.overlap.merging import Top
        from lakejoin.search.overlap.running import RUN, Asked

        chosen = "stopping" if algorithm == "auto" else algorithm
        largest = int(np.diff(located.begin).max(initial=0))
        room = self._room()
        heaps = np.zeros((4, k), dtype=np.uint64)
        tally = np.zeros(PLACES, dtype=np.int64)
        hidden, hidden_begin = self._hidden(excluded)
        asked = Asked(
            self._matrix.rows,
            located.order,
            located.groups,
            located.weights,
            located.begin,
            located.number,
            hidden,
            hidden_begin,
        )
        found = RUN[chosen](
            asked,
            self._compiled_costs(),
            room.query(largest),
            room.work,
            Top(heaps[0], heaps[1]),
            Top(heaps[2], heaps[3]),
            tally,
        )
        self._matrix.verify(room.pending)
        best = np.lexsort((heaps[1, :found], ~heaps[0, :found]))
        segment = (heaps[1, best] >> _HALF).astype(np.int64)
        column = self._columns(segment, (heaps[1, best] & _LOW).astype(np.int64))
        matched = (heaps[0, best] >> _HALF).astype(np.int64)
        return Hits(segment, column, matched, _counters(tally, chosen))

    def overlaps(self, located: Located, segment: int, columns: Array) -> Array:
        """How many of the query's values each of some columns of a segment holds."""
        from lakejoin.search.overlap.running import share

        out = np.zeros(len(columns), dtype=np.int64)
        begin = int(located.begin[segment])
        own = slice(begin, begin + int(located.number[segment]))
        room = self._room()
        stands = self.postings[segment].stands(columns)
        groups, weights = located.groups[own], located.weights[own]
        table = room.table
        share(self._matrix.rows, segment, groups, weights, stands, table, room.pending, out)
        self._matrix.verify(room.pending)
        return out

    @property
    def costs(self) -> ReadCosts:
        """What reading costs: as given, or measured now."""
        if self._costs is None:
            from lakejoin.search.overlap.costs import ReadCosts, measured_costs

            self._costs = ReadCosts()  # what measuring itself goes by
            self._costs = measured_costs(self)
        return self._costs

    def goes_by(self, costs: ReadCosts | None) -> bool:
        """Whether it reads by these costs; None are any."""
        return costs is None or costs == self._costs

    def _compiled_costs(self) -> Any:
        from lakejoin.search.overlap.stopping import Costs

        costs = self.costs
        return Costs(costs.list, costs.entry, costs.set, costs.byte, costs.look)

    def time_lists(self, segment: int, groups: Array) -> float:
        """The nanoseconds that merging posting lists takes, less what any call does."""
        from lakejoin.search.overlap.costs import timed

        nothing = self._groups_located(segment, groups[:1])
        all_of_them = self._groups_located(segment, groups)
        base = timed(lambda: self.search(nothing, 1, "merge"))
        return max(0.0, timed(lambda: self.search(all_of_them, 1, "merge")) - base)

    def time_sets(self, segment: int, stands: Array) -> float:
        """The nanoseconds that reading the sets of columns takes, less what any call does."""
        from lakejoin.search.overlap.costs import timed

        columns = self.postings[segment].columns_at(stands)
        some = self._groups_located(segment, np.zeros(1, dtype=np.uint32))
        base = timed(lambda: self.overlaps(some, segment, columns[:1]))
        return max(0.0, timed(lambda: self.overlaps(some, segment, columns)) - base)

    def _groups_located(self, segment: int, groups: Array) -> Located:
        number = np.zeros(len(self.postings), dtype=np.int64)
        number[segment] = len(groups)
        begin = np.concatenate(([0], np.cumsum(number)))
        weights = np.ones(len(groups), dtype=np.uint32)
        return Located(groups, weights, begin, number, np.array([segment], dtype=np.int64))

    def _room(self) -> Any:
        from lakejoin.search.overlap.room import Room

        room = getattr(self._own, "room", None)
        if room is None:
            room = self._own.room = Room(
                max((p.columns for p in self.postings), default=0),
                max((p.groups for p in self.postings), default=0),
                self._matrix.blocks,
            )
        return room

    def _hidden(self, excluded: Excluded | None) -> tuple[Array, Array]:
        begin = np.zeros(len(self.postings) + 1, dtype=np.int64)
        if excluded is None or not any(map(len, excluded.columns)):
            return np.zeros(0, dtype=np.uint32), begin
        parts = [
            p.stands(c) if len(c) else np.zeros(0, dtype=np.uint32)
            for p, c in zip(self.postings, excluded.columns, strict=True)
        ]
        np.cumsum([len(p) for p in parts], out=begin[1:])
        return np.concatenate(parts), begin

    def _columns(self, segment: Array, stand: Array) -> Array:
        column = np.empty(len(stand), dtype=np.int64)
        for number in np.unique(segment).tolist():
            own = segment == number
            column[own] = self.postings[number].columns_at(stand[own])
        return column


def _counters(tally: Array, algorithm: str) -> Counters:
    ran = int(tally[SEGMENTS])
    return Counters(
        segments=ran,
        lists=int(tally[ASKED]),
        lists_read=int(tally[READ]),
        candidates=int(tally[SEEN]),
        sets_read=int(tally[PROBED]),
        pruned=max(0, int(tally[SEEN]) - int(tally[PROBED])),
        bytes=int(tally[BYTES]),
        algorithms={algorithm: ran} if ran else {},
    )


# By the first segment, then by all. A value that held a segment would keep it for ever.
_OPENED: WeakKeyDictionary[Segment, dict[tuple[ref[Segment], ...], OverlapIndex]]
_OPENED = WeakKeyDictionary()
_OPENING = threading.Lock()


def index_of(segments: Sequence[Segment], costs: ReadCosts | None = None) -> OverlapIndex:
    """The index over these segments, made once and kept as long as they are."""
    if not segments:
        return OverlapIndex([], costs)
    with _OPENING:
        wanted = tuple(map(ref, segments))
        opened = _OPENED.setdefault(segments[0], {})
        if wanted not in opened or not opened[wanted].goes_by(costs):
            opened[wanted] = OverlapIndex([s.postings for s in segments], costs)
        return opened[wanted]


def found_codes(codes: Array) -> Array:
    """The codes that were found, ascending."""
    return np.sort(codes[codes != NOT_FOUND])


@dataclass(frozen=True, slots=True)
class Overlap:
    """Which k columns share the most distinct values with mine? (JOSIE; Zhu's thesis, chapter 3)

    Exact. Of columns with equally many shared values the smaller comes first, then the order of the
    index. `algorithm` is "merge" (MergeList), "probe" (ProbeSet), "josie", "stopping" (an
    early-stopping merge) or "auto", which is "stopping"; all give the same answer. `costs` are
    those of reading; left out, they are measured on first use.

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
            raise InputError(f"there is no algorithm {self.algorithm!r}; there are: {known}")

    def search(
        self, query: Query, segments: Sequence[Segment], excluded: Excluded | None = None
    ) -> Hits:
        """The best columns of all segments."""
        from lakejoin.search.query import locate

        index = index_of(segments, self.costs)
        codes = [found_codes(locate(query, n, s)) for n, s in enumerate(segments)]
        columns = sum(p.columns for p in index.postings)
        k = max(1, min(self.k, columns))
        return index.search(index.locate(codes), k, self.algorithm, excluded)


def overlaps_of(segment: Segment, codes: Array, columns: Array) -> Array:
    """How many of a query's values, given by their codes, each of some columns holds."""
    index = index_of([segment])
    return index.overlaps(index.locate([found_codes(codes)]), 0, np.asarray(columns))
