"""The joinable columns of a segment as flat arrays for compiled code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.store.segment_tables import SegmentTables

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class JoinableColumns:
    """The searched columns of live tables that have at least `least` distinct values.

    A column's *rank* is its position by falling size, then by its index in the segment. A posting
    list sorted by rank starts with its largest columns.
    """

    segment: Segment
    least: int

    @cached_property
    def columns(self) -> Array:
        """The column index of each rank."""
        sizes = np.asarray(self.segment.postings.set_sizes(), dtype=np.int64)
        usable = sizes >= max(1, self.least)
        usable[SegmentTables(self.segment).dead] = False
        chosen = np.flatnonzero(usable)
        return chosen[np.argsort(-sizes[chosen], kind="stable")]

    @cached_property
    def sizes(self) -> Array:
        """How many distinct values each column has, descending."""
        sizes = self.segment.postings.set_sizes(self.columns.astype(np.uint32))
        return np.asarray(sizes, dtype=np.int64)

    @cached_property
    def tables(self) -> Array:
        """The table of each column."""
        first = SegmentTables(self.segment).first
        return np.asarray(np.searchsorted(first, self.columns, side="right") - 1)

    @cached_property
    def weights(self) -> Array:
        """How many values each group has."""
        return np.diff(self.segment.postings.group_start().astype(np.int64))

    @cached_property
    def _sets(self) -> tuple[Array, Array]:
        start, groups = self.segment.postings.all_sets()
        length = np.diff(start)[self.columns]
        own = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
        jump = np.repeat(start[:-1][self.columns] - own[:-1], length)
        return own, np.asarray(groups[jump + np.arange(own[-1])], dtype=np.uint32)

    @property
    def set_start(self) -> Array:
        """Where the set of each column starts in `groups`."""
        return self._sets[0]

    @property
    def groups(self) -> Array:
        """The sets as groups of values, the rarest of the segment first."""
        return self._sets[1]

    @cached_property
    def _lists(self) -> tuple[Array, Array]:
        from lakejoin.kernels.packing import transpose_lists

        start, ranks = transpose_lists(self.set_start, self.groups, self.segment.postings.groups)
        return start, ranks

    @property
    def list_start(self) -> Array:
        """Where the posting list of each group starts in `lists`."""
        return self._lists[0]

    @property
    def lists(self) -> Array:
        """The ranks of the columns that hold each group, ascending."""
        return self._lists[1]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentOverlap:
    """The values that two segments share, by groups: `count` values are in the group `mine` of the
    first and in the group `theirs` of the second."""

    mine: Array
    theirs: Array
    count: Array

    def __len__(self) -> int:
        return len(self.count)

    def turned(self) -> SegmentOverlap:
        """The same, seen from the other segment."""
        return SegmentOverlap(self.theirs, self.mine, self.count)

    def by_group(self, groups: int) -> tuple[Array, Array, Array]:
        """(start, theirs, count): what each group of the first segment shares."""
        order = np.argsort(self.mine, kind="stable")
        start = np.zeros(groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.mine, minlength=groups), out=start[1:])
        theirs = self.theirs[order].astype(np.uint32)
        return start, theirs, self.count[order].astype(np.int64)


def overlap_with_itself(side: JoinableColumns) -> SegmentOverlap:
    """A segment shares every group with itself."""
    every = np.arange(len(side.weights))
    return SegmentOverlap(every, every, side.weights)
