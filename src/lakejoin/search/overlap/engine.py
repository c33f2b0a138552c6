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
from lakejoin.search.overlap.tally import (
    ASKED,
    BYTES,
    MERGED,
    PROBED,
    PROBED_ALL,
    READ,
    SEEN,
    SEGMENTS,
    STOPPED,
)
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.search.overlap.costs import ReadCosts
    from lakejoin.search.overlap.room import Room
    from lakejoin.search.query import Query
    from lakejoin.store.postings import Postings
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

ALGORITHMS = ("auto", "stopping", "merge", "probe", "josie")
_NONE = np.zeros(0, dtype=np.uint32)


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

    def search(
        self,
        codes: Sequence[Array],
        k: int,
        algorithm: str = "auto",
        excluded: Excluded | None = None,
    ) -> Hits:
        """The k best columns of all segments, best first.

        `codes` are those that the query's values have in each segment, ascending.
        """
        from lakejoin.search.overlap.running import BEGIN, HIDDEN, ORDER, RUN

        chosen = "stopping" if algorithm == "auto" else algorithm
        costs = self.costs  # measuring them is a search of its own
        sizes = np.fromiter(map(len, codes), dtype=np.int64, count=len(codes))
        plan = np.zeros((3, len(codes) + 1), dtype=np.int64)
        np.cumsum(sizes, out=plan[BEGIN, 1:])
        # The segment with most of the query's values first: it sets a high k-th score.
        plan[ORDER, :-1] = np.argsort(-sizes, kind="stable")
        hidden = self._hidden(excluded, plan[HIDDEN])
        room = self._room(int(sizes.max(initial=0)), k)
        out = np.empty((3, k), dtype=np.int64)
        args = (self._matrix.rows, _joined(codes), plan, hidden, room.row, room.pending)
        found = RUN[chosen](*args, costs, out)
        self._matrix.verify(room.pending)
        return Hits(out[0, :found], out[1, :found], out[2, :found], _counters(room.tally, chosen))

    def overlaps(self, codes: Array, segment: int, columns: Array) -> Array:
        """How many of the query's values each of some columns of a segment holds."""
        from lakejoin.search.overlap.running import share

        out = np.zeros(len(columns), dtype=np.int64)
        room = self._room(len(codes), 1)
        stands = self.postings[segment].stands(columns)
        codes = _joined([codes])
        share(self._matrix.rows, segment, codes, stands, room.row, room.pending, out)
        self._matrix.verify(room.pending)
        return out

    def weigh(self, codes: Array, weights: Array, segment: int, out: Array) -> tuple[Array, int]:
        """Adds, by column of a segment, the weight of the query's values that it holds, and how
        many these are (two rows, zero before). `codes` ascend.

        Returns the columns that hold any, and how many entries of posting lists that took.
        """
        touched = np.empty(out.shape[1], dtype=np.int64)
        number, entries = self._weigh(codes, weights, segment, out, touched)
        return touched[:number], entries

    def entries(self, codes: Array, segment: int) -> int:
        """How many entries the posting lists of the query's values have in a segment."""
        none = np.zeros((2, 0), dtype=np.int64)
        return self._weigh(codes, none[0], segment, none, none[0])[1]

    def _weigh(
        self, codes: Array, weights: Array, segment: int, out: Array, touched: Array
    ) -> tuple[int, int]:
        from lakejoin.search.overlap.weighing import weigh_columns

        room = self._room(len(codes), 1)
        args = (self._matrix.rows, segment, _joined([codes]), weights, room.row, room.pending)
        number, entries = weigh_columns(*args, out, touched)
        self._matrix.verify(room.pending)
        return int(number), int(entries)

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

    def time_lists(self, segment: int, groups: Array) -> float:
        """The nanoseconds that merging posting lists takes, less what looking them up does."""
        from lakejoin.search.overlap.costs import timed

        postings = self.postings[segment]
        none = np.zeros(0, dtype=np.uint32)
        codes = [none] * len(self.postings)
        codes[segment] = own = postings.group_start()[groups]
        base = timed(lambda: self.overlaps(own, segment, none))
        return max(0.0, timed(lambda: self.search(codes, 1, "merge")) - base)

    def time_sets(self, segment: int, stands: Array) -> float:
        """The nanoseconds that reading the sets of columns takes, less what any call does."""
        from lakejoin.search.overlap.costs import timed

        columns = self.postings[segment].columns_at(stands)
        one = np.zeros(1, dtype=np.uint32)
        base = timed(lambda: self.overlaps(one, segment, columns[:1]))
        return max(0.0, timed(lambda: self.overlaps(one, segment, columns)) - base)

    def _room(self, values: int, k: int) -> Room:
        from lakejoin.search.overlap.room import Room

        room: Room | None = getattr(self._own, "room", None)
        if room is None:
            room = self._own.room = Room(
                max((p.columns for p in self.postings), default=0),
                max((p.groups for p in self.postings), default=0),
                self._matrix.blocks,
            )
        room.make(values, k)
        room.tally[:] = 0
        return room

    def _hidden(self, excluded: Excluded | None, begin: Array) -> Array:
        """The columns to hide, by their stands; those of segment s begin at begin[s]."""
        if excluded is None or not any(map(len, excluded.columns)):
            return np.zeros(0, dtype=np.uint32)
        parts = [
            p.stands(c) if len(c) else np.zeros(0, dtype=np.uint32)
            for p, c in zip(self.postings, excluded.columns, strict=True)
        ]
        np.cumsum([len(p) for p in parts], out=begin[1:])
        return np.concatenate(parts)


def _joined(codes: Sequence[Array]) -> Array:
    return np.concatenate([*codes, _NONE]).astype(np.uint32, copy=False)


def _counters(tally: Array, algorithm: str) -> Counters:
    counted = tally.tolist()
    if algorithm == "stopping":
        ways = {"merge": MERGED, "probe": PROBED_ALL, "stopping": STOPPED}
        algorithms = {way: counted[place] for way, place in ways.items() if counted[place]}
    else:
        algorithms = {algorithm: counted[SEGMENTS]} if counted[SEGMENTS] else {}
    return Counters(
        segments=counted[SEGMENTS],
        lists=counted[ASKED],
        lists_read=counted[READ],
        candidates=counted[SEEN],
        sets_read=counted[PROBED],
        pruned=max(0, counted[SEEN] - counted[PROBED]),
        bytes=counted[BYTES],
        algorithms=algorithms,
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
        return index.search(codes, k, self.algorithm, excluded)


def overlaps_of(segment: Segment, codes: Array, columns: Array) -> Array:
    """How many of a query's values, given by their codes, each of some columns holds."""
    index = index_of([segment])
    return index.overlaps(found_codes(codes), 0, np.asarray(columns))
