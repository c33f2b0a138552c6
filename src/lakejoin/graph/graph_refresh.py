"""Which pairs of an earlier graph still hold, and how the pairs of a segment are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.graph.column_pairs import best_of_each, order_best_first
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.graph_files import (
    ColumnPairs,
    PairFileWriter,
    PairSlices,
    column_keys,
    concat_pairs,
    cut_ranges,
)
from lakejoin.store.segment_tables import SegmentTables

if TYPE_CHECKING:
    from lakejoin.store.graph_files import PairFile, StoredGraph
    from lakejoin.store.snapshot import Snapshot


_COLUMNS_AT_ONCE = 4_096  # that keep only their best joins, checked together


@dataclass(frozen=True, eq=False)
class EarlierGraph:
    """A stored graph, seen from a later version of its index."""

    stored: StoredGraph
    snapshot: Snapshot

    @cached_property
    def current_index(self) -> Array:
        """The current index of each segment of the graph; -1 if it has been removed."""
        index_of = {segment.record.id: n for n, segment in enumerate(self.snapshot.segments)}
        return np.array(
            [index_of.get(record.id, -1) for record in self.stored.segments], dtype=np.int64
        )

    @cached_property
    def earlier_index(self) -> Array:
        """The index that each segment had in the graph; -1 for a new one."""
        before = np.full(len(self.snapshot.segments), -1, dtype=np.int64)
        there = self.current_index >= 0
        before[self.current_index[there]] = np.flatnonzero(there)
        return before

    @property
    def new_segments(self) -> Array:
        return self.earlier_index < 0

    @property
    def in_order(self) -> bool:
        """Whether segments kept their order, which decides pairs of equally large columns."""
        return bool((np.diff(self.current_index[self.current_index >= 0]) > 0).all())

    @cached_property
    def _dead(self) -> Array:
        """The columns removed since, by their index in the graph, of segments that remain."""
        parts = [np.zeros(0, dtype=np.int64)]
        for segment_index, record in enumerate(self.stored.segments):
            if self.current_index[segment_index] >= 0:
                here = self.snapshot.segments[self.current_index[segment_index]]
                if here.record.dead != record.dead:
                    columns = SegmentTables(here).deleted_columns
                    parts.append(column_keys(np.full(len(columns), segment_index), columns))
        return np.concatenate(parts)

    @property
    def is_whole(self) -> bool:
        return bool((self.current_index >= 0).all()) and not len(self._dead)

    def alive(self, segment: Array, column: Array) -> Array:
        """Which columns, by their index in the graph, still exist."""
        alive = np.asarray(self.current_index[segment] >= 0)
        if len(self._dead):
            alive &= ~np.isin(column_keys(segment, column), self._dead)
        return alive

    def still_valid(self, pairs: ColumnPairs) -> ColumnPairs:
        """The pairs of the graph that still hold, with the current indexes of segments."""
        if not self.is_whole:
            both = self.alive(pairs.segment, pairs.column)
            both &= self.alive(pairs.other_segment, pairs.other_column)
            pairs = pairs.take(both)
        sizes = pairs.column, pairs.size, self.current_index[pairs.other_segment]
        rest = pairs.other_column, pairs.other_size, pairs.shared
        return ColumnPairs(self.current_index[pairs.segment], *sizes, *rest)

    def columns_to_recount(self, segment_index: int) -> Array:
        """The columns of a segment of the graph that lost one of the best joins they kept."""
        file = self.stored.pairs(segment_index)
        none = np.zeros(0, dtype=np.int64)
        if file is None or self.is_whole or self.current_index[segment_index] < 0:
            return none
        cut, lacking = file.cut(), [none]
        for begin in range(0, len(cut), _COLUMNS_AT_ONCE):
            pairs = file.pairs_of(cut[begin : begin + _COLUMNS_AT_ONCE])
            lost = self.alive(pairs.segment, pairs.column)
            lost &= ~self.alive(pairs.other_segment, pairs.other_column)
            lacking.append(np.unique(pairs.column[lost]))
        return np.concatenate(lacking)

    @cached_property
    def needs_recount(self) -> bool:
        """Whether any column needs joins that were not kept."""
        return any(
            len(self.columns_to_recount(segment_index))
            for segment_index in range(len(self.stored.segments))
        )


def cut_columns(file: PairFile, graph: EarlierGraph, segment_index: int) -> Array:
    """The columns of a segment of the graph that keep only their best joins and still exist."""
    cut = file.cut()
    return cut[graph.alive(np.full(len(cut), segment_index), cut)]


_PAIRS_AT_ONCE = 1 << 22  # in memory
_COLUMN_MASK = 0xFFFFFFFF  # the half of a packed (segment, column) that holds the column


@dataclass(frozen=True, slots=True, eq=False)
class EarlierPairs:
    """What an earlier graph has of a segment (by its index there), except `recounted` columns."""

    graph: EarlierGraph
    segment_index: int
    recounted: Array


def write_pairs(
    out: ArrayFileWriter,
    sizes: Array,
    counted: Sequence[PairSlices],
    old: EarlierPairs | None,
    most: int,
    turned: Callable[[ColumnPairs], None],
) -> tuple[int, int]:
    """Write the best pairs of all columns of a segment, and pass their reverse to `turned`; returns
    the number of pairs, and how many columns have more."""
    writer = PairFileWriter(out, sizes)
    cut_before = _cut_earlier(old)
    step = max(1, _PAIRS_AT_ONCE // (most + 1))
    for begin in range(0, len(sizes), step):
        end = min(begin + step, len(sizes))
        batches, count = [], 0
        for pairs in _sources(counted, old, begin, end):
            batches.append(pairs)
            count += len(pairs)
            if count > _PAIRS_AT_ONCE:  # one more than is kept, to see which columns have more
                batches = [best_of_each(concat_pairs(batches), most + 1)[0]]
                count = len(batches[0])
        best, cut = best_of_each(concat_pairs(batches), most)
        before = cut_before[(cut_before >= begin) & (cut_before < end)]
        writer.append(best, np.concatenate([cut & _COLUMN_MASK, before]))
        if len(best):
            turned(best.reverse())
    return writer.finish()


def write_reverse_pairs(out: ArrayFileWriter, sizes: Array, slices: Sequence[PairSlices]) -> int:
    """Write the pairs with smaller columns, those that share most first; returns their number."""
    writer = PairFileWriter(out, sizes)
    counts = np.zeros(len(sizes), dtype=np.int64)
    for part in slices:
        counts += np.bincount(part.columns(), minlength=len(sizes))
    for begin, end in cut_ranges(np.concatenate(([0], np.cumsum(counts))), _PAIRS_AT_ONCE):
        pairs = concat_pairs([part.pairs_in(begin, end) for part in slices])
        writer.append(pairs.take(order_best_first(pairs)), np.zeros(0, dtype=np.int64))
    return writer.finish()[0]


def _sources(
    counted: Sequence[PairSlices], old: EarlierPairs | None, begin: int, end: int
) -> Iterator[ColumnPairs]:
    """The known pairs of the columns [begin, end)."""
    file = None if old is None else old.graph.stored.pairs(old.segment_index)
    if old is not None and file is not None:
        columns = np.arange(begin, end)
        yield old.graph.still_valid(file.pairs_of(columns[~np.isin(columns, old.recounted)]))
    for part in counted:
        yield part.pairs_in(begin, end)


def _cut_earlier(old: EarlierPairs | None) -> Array:
    file = None if old is None else old.graph.stored.pairs(old.segment_index)
    if old is None or file is None:
        return np.zeros(0, dtype=np.int64)
    cut = cut_columns(file, old.graph, old.segment_index)
    return cut[~np.isin(cut, old.recounted)]
