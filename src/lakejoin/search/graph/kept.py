"""What of an older graph still holds, and what has to be counted anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.places import Places
from lakejoin.store.pairs import Pairs, place_of

if TYPE_CHECKING:
    from lakejoin.store.graph import StoredGraph
    from lakejoin.store.pairs import PairFile
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

_AT_ONCE = 4_096  # columns that keep only their best partners, looked at together


@dataclass(frozen=True, eq=False)
class Kept:
    """A graph, seen from a later version of its index."""

    stored: StoredGraph
    snapshot: Snapshot

    @cached_property
    def now(self) -> Array:
        """The number that each segment of the graph has now; -1 where it has gone."""
        numbers = {segment.record.id: n for n, segment in enumerate(self.snapshot.segments)}
        return np.array([numbers.get(one.id, -1) for one in self.stored.segments], dtype=np.int64)

    @cached_property
    def before(self) -> Array:
        """The number that each segment had in the graph; -1 for a new one."""
        before = np.full(len(self.snapshot.segments), -1, dtype=np.int64)
        there = self.now >= 0
        before[self.now[there]] = np.flatnonzero(there)
        return before

    @property
    def fresh(self) -> Array:
        """Which segments of the index the graph knows nothing of."""
        return self.before < 0

    @property
    def in_order(self) -> bool:
        """Whether segments stand in the same order: of equally large columns the later asks."""
        return bool((np.diff(self.now[self.now >= 0]) > 0).all())

    @cached_property
    def _dead(self) -> Array:
        """The columns that have gone since, as the graph numbers them, of segments still there."""
        parts = [np.zeros(0, dtype=np.int64)]
        for number, one in enumerate(self.stored.segments):
            if self.now[number] >= 0:
                here = self.snapshot.segments[self.now[number]]
                if here.record.dead != one.dead:
                    columns = Places(here).dead
                    parts.append(place_of(np.full(len(columns), number), columns))
        return np.concatenate(parts)

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it has gone."""
        return bool((self.now >= 0).all()) and not len(self._dead)

    def alive(self, segment: Array, column: Array) -> Array:
        """Which columns, as the graph numbers them, are of tables that are still there."""
        alive = np.asarray(self.now[segment] >= 0)
        if len(self._dead):
            alive &= ~np.isin(place_of(segment, column), self._dead)
        return alive

    def still(self, pairs: Pairs) -> Pairs:
        """Those pairs of the graph that still hold, with segments numbered as they are now."""
        if not self.is_whole:
            both = self.alive(pairs.segment, pairs.column)
            both &= self.alive(pairs.other_segment, pairs.other_column)
            pairs = pairs.take(both)
        sizes = pairs.column, pairs.size, self.now[pairs.other_segment]
        rest = pairs.other_column, pairs.other_size, pairs.shared
        return Pairs(self.now[pairs.segment], *sizes, *rest)

    def lacking(self, number: int) -> Array:
        """The columns of a segment, by its number in the graph, that keep only their best partners
        and have lost one of them: they need some that they did not keep."""
        file = self.stored.pairs(number)
        none = np.zeros(0, dtype=np.int64)
        if file is None or self.is_whole or self.now[number] < 0:
            return none
        cut, found = file.cut(), [none]
        for begin in range(0, len(cut), _AT_ONCE):
            pairs = file.of(cut[begin : begin + _AT_ONCE])
            lost = self.alive(pairs.segment, pairs.column)
            lost &= ~self.alive(pairs.other_segment, pairs.other_column)
            found.append(np.unique(pairs.column[lost]))
        return np.concatenate(found)

    @cached_property
    def lacks(self) -> bool:
        """Whether any column needs partners that it did not keep."""
        return any(len(self.lacking(number)) for number in range(len(self.stored.segments)))


def cut_still(file: PairFile, kept: Kept, number: int) -> Array:
    """The columns of a segment of the graph that keep only their best and are still there."""
    cut = file.cut()
    return cut[kept.alive(np.full(len(cut), number), cut)]
