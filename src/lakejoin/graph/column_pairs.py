"""Find the pairs of joinable columns of two segments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.model import Array
from lakejoin.store.graph_files import ColumnPairs, column_keys, concat_pairs
from lakejoin.store.segment_tables import SegmentTables

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


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
        usable[SegmentTables(self.segment).deleted_columns] = False
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
    def sets(self) -> tuple[Array, Array]:
        """The columns as groups of values, the rarest of the segment first: where each column
        starts, and the groups."""
        start, groups = self.segment.postings.all_sets()
        length = np.diff(start)[self.columns]
        set_start = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
        jump = np.repeat(start[:-1][self.columns] - set_start[:-1], length)
        return set_start, np.asarray(groups[jump + np.arange(set_start[-1])], dtype=np.uint32)

    @cached_property
    def lists(self) -> tuple[Array, Array]:
        """The posting lists: where that of each group starts, and the ranks of its columns."""
        from lakejoin.kernels.packing import transpose_lists

        start, ranks = transpose_lists(*self.sets, self.segment.postings.groups)
        return start, ranks


@dataclass(frozen=True, slots=True, eq=False)
class SegmentOverlap:
    """The values that two segments share, by groups: `count` values are in the group `left` of the
    first and in the group `right` of the second."""

    left: Array
    right: Array
    count: Array

    def __len__(self) -> int:
        return len(self.count)

    def reversed(self) -> SegmentOverlap:
        """The same, seen from the other segment."""
        return SegmentOverlap(self.right, self.left, self.count)

    def by_group(self, groups: int) -> tuple[Array, Array, Array]:
        """(start, other groups, count): what each group of the first segment shares."""
        order = np.argsort(self.left, kind="stable")
        start = np.zeros(groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.left, minlength=groups), out=start[1:])
        other_groups = self.right[order].astype(np.uint32)
        return start, other_groups, self.count[order].astype(np.int64)


def overlap_with_itself(side: JoinableColumns) -> SegmentOverlap:
    """A segment shares every group with itself."""
    every = np.arange(len(side.weights))
    return SegmentOverlap(every, every, side.weights)


_LARGEST = (1 << 31) - 1  # more values than two columns can share
_ROOM = 1 << 20  # pairs written at a time, besides room for all columns of a segment


def order_best_first(pairs: ColumnPairs) -> Array:
    """The order by column; within a column by falling shared values, rising size, then position in
    the index."""
    return np.lexsort(
        (
            column_keys(pairs.other_segment, pairs.other_column),
            column_keys(_LARGEST - pairs.shared, pairs.other_size),
            column_keys(pairs.segment, pairs.column),
        )
    )


def best_of_each(pairs: ColumnPairs, most: int) -> tuple[ColumnPairs, Array]:
    """The `most` best pairs of each column, sorted as by `order_best_first`; and the columns that
    have more, packed by `column_keys`."""
    order = order_best_first(pairs)
    pairs = pairs.take(order)
    new = np.ones(len(pairs), dtype=bool)
    new[1:] = (np.diff(pairs.segment) != 0) | (np.diff(pairs.column) != 0)
    first = np.flatnonzero(new)
    nth = np.arange(len(pairs)) - np.repeat(first, np.diff(np.append(first, len(pairs))))
    more = nth == most
    return pairs.take(nth < most), column_keys(pairs.segment[more], pairs.column[more])


@dataclass(frozen=True, slots=True, eq=False)
class CountedColumns:
    """The columns of a segment whose pairs are counted: all, or the given ones."""

    side: JoinableColumns
    columns: Array | None = None

    def ranks(self) -> Array:
        """Their ranks, ascending."""
        every = np.arange(len(self.side.columns))
        return every if self.columns is None else every[np.isin(self.side.columns, self.columns)]


def find_pairs(
    left: CountedColumns,
    right: CountedColumns,
    shared: SegmentOverlap,
    segment_indexes: tuple[int, int],
    share: float,
    most: int,
) -> ColumnPairs:
    """The pairs of two segments, or of one with itself, at most the `most` best of each column;
    `segment_indexes` are the segments' indexes.

    A pair is listed under its smaller column; of equally large ones under the later.
    """
    left_index, right_index = segment_indexes
    there = _find_contained(left, right.side, shared, segment_indexes, share, most)
    if left_index == right_index:
        return there
    back = _find_contained(
        right, left.side, shared.reversed(), (right_index, left_index), share, most
    )
    return concat_pairs([there, back])


def _find_contained(
    counted: CountedColumns,
    larger: JoinableColumns,
    shared: SegmentOverlap,
    segment_indexes: tuple[int, int],
    share: float,
    most: int,
) -> ColumnPairs:
    """The pairs whose smaller column is one of the first segment's."""
    from lakejoin.graph.pair_kernels import (
        ContainedColumns,
        ContainingColumns,
        SharedGroups,
        count_pairs,
    )

    smaller, ranks, many = counted.side, counted.ranks(), len(larger.columns)
    if not many or not len(ranks) or not len(shared):
        return concat_pairs([])
    left_index, right_index = segment_indexes
    contained = ContainedColumns(smaller.sizes, smaller.tables, *smaller.sets, smaller.weights)
    containing = ContainingColumns(larger.sizes, larger.tables, *larger.sets, *larger.lists)
    between = SharedGroups(*shared.by_group(len(smaller.weights)))
    counts, touched = np.zeros(many, dtype=np.int64), np.empty(many, dtype=np.int64)
    out = np.empty((3, _ROOM + many), dtype=np.int64)
    batches, begin = [], 0
    while begin < len(ranks):
        options = left_index == right_index, left_index > right_index, share, ranks, begin
        begin, written = count_pairs(contained, containing, between, *options, counts, touched, out)
        q, x, both = out[:, :written].copy()
        pairs = ColumnPairs(
            np.full(written, left_index),
            smaller.columns[q].astype(np.int64),
            smaller.sizes[q],
            np.full(written, right_index),
            larger.columns[x].astype(np.int64),
            larger.sizes[x],
            both,
        )
        many_more = written and int(np.bincount(q).max()) > most
        batches.append(best_of_each(pairs, most)[0] if many_more else pairs)
    return concat_pairs(batches)
