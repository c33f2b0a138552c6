"""Find the pairs of columns of two segments that join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.graph.column_pairs import SegmentOverlap, JoinableColumns
from lakejoin.store.graph_files import ColumnPairs, column_keys, concat_pairs

Array = np.ndarray[Any, Any]

_LARGEST = (1 << 31) - 1  # more values than two columns can share
_ROOM = 1 << 20  # pairs written at a time, besides room for all columns of a segment


def sorted_best_first(pairs: ColumnPairs) -> Array:
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
    """The `most` best pairs of each column, sorted as by `sorted_best_first`; and the columns that
    have more, packed by `column_keys`."""
    order = sorted_best_first(pairs)
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
    mine: CountedColumns, theirs: CountedColumns, shared: SegmentOverlap, numbers: tuple[int, int], share: float, most: int
) -> ColumnPairs:
    """The pairs of two segments, or of one with itself, at most the `most` best of each column;
    `numbers` are the segments' indexes.

    A pair is listed under its smaller column; of equally large ones under the later.
    """
    left, right = numbers
    there = _contained(mine, theirs.side, shared, numbers, share, most)
    if left == right:
        return there
    back = _contained(theirs, mine.side, shared.turned(), (right, left), share, most)
    return concat_pairs([there, back])


def _contained(
    asks: CountedColumns, theirs: JoinableColumns, shared: SegmentOverlap, numbers: tuple[int, int], share: float, most: int
) -> ColumnPairs:
    """The pairs whose smaller column is one of the first segment's."""
    from lakejoin.graph.pair_kernels import (
        ContainingColumns,
        ContainedColumns,
        SharedGroups,
        count_pairs,
    )

    mine, ranks, many = asks.side, asks.ranks(), len(theirs.columns)
    if not many or not len(ranks) or not len(shared):
        return concat_pairs([])
    left, right = numbers
    asking = ContainedColumns(mine.sizes, mine.tables, mine.set_start, mine.groups, mine.weights)
    asked = ContainingColumns(
        theirs.sizes,
        theirs.tables,
        theirs.set_start,
        theirs.groups,
        theirs.list_start,
        theirs.lists,
    )
    between = SharedGroups(*shared.by_group(len(mine.weights)))
    counts, touched = np.zeros(many, dtype=np.int64), np.empty(many, dtype=np.int64)
    out = np.empty((3, _ROOM + many), dtype=np.int64)
    batches, begin = [], 0
    while begin < len(ranks):
        options = left == right, left > right, share, ranks, begin
        begin, written = count_pairs(asking, asked, between, *options, counts, touched, out)
        q, x, both = out[:, :written].copy()
        pairs = ColumnPairs(
            np.full(written, left),
            mine.columns[q].astype(np.int64),
            mine.sizes[q],
            np.full(written, right),
            theirs.columns[x].astype(np.int64),
            theirs.sizes[x],
            both,
        )
        many_more = written and int(np.bincount(q).max()) > most
        batches.append(best_of_each(pairs, most)[0] if many_more else pairs)
    return concat_pairs(batches)
