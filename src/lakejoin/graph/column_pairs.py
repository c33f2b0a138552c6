"""Find the values that segments share, and the pairs of joinable columns of two segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
        first = SegmentTables(self.segment).first
        return np.asarray(np.searchsorted(first, self.columns, side="right") - 1)

    @cached_property
    def weights(self) -> Array:
        return np.diff(self.segment.postings.group_start().astype(np.int64))

    @cached_property
    def sets(self) -> tuple[Array, Array]:
        """Where each column starts, and its groups of values, the rarest of the segment first."""
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
_PAIRS_AT_ONCE = 1 << 20  # written together, besides room for all columns of a segment


def order_best_first(pairs: ColumnPairs) -> Array:
    """The order by column, then by falling shared values, rising size, and place in the index."""
    return np.lexsort(
        (
            column_keys(pairs.other_segment, pairs.other_column),
            column_keys(_LARGEST - pairs.shared, pairs.other_size),
            column_keys(pairs.segment, pairs.column),
        )
    )


def best_of_each(pairs: ColumnPairs, most: int) -> tuple[ColumnPairs, Array]:
    """The `most` best pairs of each column, in order, and the packed keys of columns with more."""
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
        BothSides,
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
    sides = BothSides(contained, containing, between)
    counts, touched = np.zeros(many, dtype=np.int64), np.empty(many, dtype=np.int64)
    out = np.empty((3, _PAIRS_AT_ONCE + many), dtype=np.int64)
    batches, begin = [], 0
    while begin < len(ranks):
        options = left_index == right_index, left_index > right_index, share, ranks, begin
        begin, written = count_pairs(sides, *options, counts, touched, out)
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


# Each segment has codes of its own. The directory of a dictionary is sorted by hash, so a range of
# it is read without hashing anything; values with the same hash are compared by their text.

MOST_HASH_RANGES = 256  # every directory knows at least eight bits of a hash


def find_overlaps(
    segments: Sequence[Segment], hash_range: int, hash_ranges: int, counted: Array
) -> Iterator[tuple[tuple[int, int], SegmentOverlap]]:
    """By pair of segments, the values that they share with a hash in this range of `hash_ranges` (a
    power of two); the matrix `counted` says for which pairs."""
    keys, codes, owners = _tokens(segments, hash_range, hash_ranges)
    order = np.argsort(keys, kind="stable")  # within a hash, segments ascend
    keys, codes, owners = keys[order], codes[order], owners[order]
    some = np.zeros(len(keys), dtype=bool)
    some[1:] = keys[1:] == keys[:-1]
    some[:-1] |= some[1:]
    keys, codes, owners = keys[some], codes[some], owners[some]
    token, order = _number_values(segments, keys, codes, owners)
    token, codes, owners = token[order], codes[order], owners[order]
    groups = np.empty(len(codes), dtype=np.int64)
    for segment_index in np.unique(owners).tolist():
        here = owners == segment_index
        start = segments[segment_index].postings.group_start()
        groups[here] = np.searchsorted(start, codes[here], side="right") - 1
    yield from _by_pair(token, owners, groups, counted)


def _tokens(segments: Sequence[Segment], part: int, parts: int) -> tuple[Array, Array, Array]:
    """(known bits of the hash, code, segment) of all searched values in the range."""
    known_bits = min(segment.dictionary.known_bits for segment in segments)
    keys, codes, owners = [], [], []
    for segment_index, segment in enumerate(segments):
        hashes, local_codes = segment.dictionary.hashes_in_range(part, parts, known_bits)
        searched = local_codes >= segment.postings.unsearched
        keys.append(hashes[searched])
        codes.append(local_codes[searched].astype(np.int64))
        owners.append(np.full(len(codes[-1]), segment_index))
    return np.concatenate(keys), np.concatenate(codes), np.concatenate(owners)


def _number_values(
    segments: Sequence[Segment], keys: Array, codes: Array, owners: Array
) -> tuple[Array, Array]:
    """An id for every distinct value, and the order by value, then by segment.

    Texts decide: values with the same hash almost always equal the first of them.
    """
    if not len(keys):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    begins = np.concatenate(([True], keys[1:] != keys[:-1]))
    run = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)[run]
    texts = _texts(segments, codes, owners)
    alike = np.asarray(pc.equal(texts, texts.take(first)))
    token = run.astype(np.int64)
    next_id = int(run[-1]) + 1
    others: dict[tuple[int, str], int] = {}
    for at in np.flatnonzero(~alike).tolist():
        value = (int(run[at]), texts[at].as_py())
        if value not in others:
            others[value] = next_id
            next_id += 1
        token[at] = others[value]
    return token, np.lexsort((owners, token))


def _texts(segments: Sequence[Segment], codes: Array, owners: Array) -> pa.LargeStringArray:
    by_owner = np.argsort(owners, kind="stable")
    texts = []
    for segment_index in np.unique(owners).tolist():
        texts.append(segments[segment_index].dictionary.texts.take(codes[owners == segment_index]))
    back = np.empty(len(codes), dtype=np.int64)
    back[by_owner] = np.arange(len(codes))
    return pa.chunked_array(texts, pa.large_string()).take(pa.array(back)).combine_chunks()


def _by_pair(
    token: Array, owners: Array, groups: Array, counted: Array
) -> Iterator[tuple[tuple[int, int], SegmentOverlap]]:
    """What each pair of segments shares; tokens ascend, and within a token segments do."""
    shared = [np.zeros((4, 0), dtype=np.int64)]
    for step in range(1, len(counted)):
        here = np.flatnonzero(token[step:] == token[:-step])
        if not len(here):
            break
        left, right = owners[here], owners[here + step]
        some = counted[left, right]
        here = here[some]
        shared.append(np.stack([left[some], right[some], groups[here], groups[here + step]]))
    rows = np.concatenate(shared, axis=1)
    if not rows.shape[1]:
        return
    rows = rows[:, np.lexsort(rows[::-1])]
    begin = _changes(rows)
    count = np.diff(np.append(begin, rows.shape[1]))
    rows = rows[:, begin]
    pair = _changes(rows[:2])
    for at, end in zip(pair, np.append(pair[1:], rows.shape[1]), strict=True):
        left, right = rows[:2, at].tolist()
        yield (left, right), SegmentOverlap(rows[2, at:end], rows[3, at:end], count[at:end])


def _changes(rows: Array) -> Array:
    """Where a column of the sorted matrix differs from the one before."""
    new = np.ones(rows.shape[1], dtype=bool)
    new[1:] = (np.diff(rows, axis=1) != 0).any(axis=0)
    return np.flatnonzero(new)
