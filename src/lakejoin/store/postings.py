"""The inverted index of a segment: posting lists by group, and sets as lists of groups.

Tokens with exactly the same posting list form a *group*: the list is stored once per group, and a
column's set is a union of whole groups. Codes follow the groups: group g has the codes
[group_start[g], group_start[g + 1]). Groups are ordered by the length of their list (JOSIE's global
order). The lists are plain column numbers, one list after the other: as lengths ascend, a list is
found with a small table of lengths, and plain numbers are read several times faster than packed
ones. The sets are packed as byte-wise differences.

Inside this component, columns are identified by their rank by falling set size, the *size rank*
(`stand` in the file). A column with fewer values than the k-th best score cannot be among the best
k, so a search reads only the beginning of each list.

The multiplicities of a set (the number of rows of each value) are stored in code order for columns
with repeated values; in other columns every value occurs once.

For searching there are also: a sample of group starts, small enough for the processor's cache, to
find the group of a code; marks inside long sets, to read the end of one without its beginning; and
for every list entry its position, the number of the column's values up to there in the global order
(JOSIE's position filter).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lakejoin.errors import BuildFailed
from lakejoin.model import Array
from lakejoin.store.array_cache import ArrayCache
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, Limits

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment

MARK = 64  # groups between two marks in a long set
SAMPLE = 64  # groups between two sampled ones
_KEPT = 1 << 24  # bytes of decoded sets to keep


class PostingsComponent:
    name = "postings"
    version = 3
    made_with = ""

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        """Write the groups, their posting lists, the sets and their multiplicities."""
        from lakejoin.kernels.packing import pack_lists, transpose_lists

        group_start, list_start, columns = source.posting_lists()
        weight = np.diff(group_start.astype(np.int64))
        sizes = np.zeros(source.column_count, dtype=np.int64)
        np.add.at(sizes, columns, np.repeat(weight, np.diff(list_start)))
        by_size = np.argsort(-sizes, kind="stable")
        size_rank = np.empty(source.column_count, dtype=np.uint32)
        size_rank[by_size] = np.arange(source.column_count, dtype=np.uint32)
        out.add("by_size", by_size.astype(np.uint32))
        out.add("stand", size_rank)
        out.add("set_size", sizes[by_size].astype(np.uint32))
        out.add("group_start", group_start.astype(np.uint32))
        out.add("group_sample", group_start[:-1:SAMPLE].astype(np.uint32))
        set_start, groups = transpose_lists(list_start, size_rank[columns], source.column_count)
        _write_lists(list_start, set_start, groups, weight, out)
        begin, packed = pack_lists(set_start, groups)
        if begin[-1] >= 1 << 32:
            raise BuildFailed("the sets of a segment would exceed 4 GB; build with less memory")
        out.add("set_start", begin.astype(np.uint32))
        out.add("sets", packed)
        _write_marks(set_start, groups, begin, packed, out)
        self._write_repeats(source, out)

    def _write_repeats(self, source: Segment, out: ArrayFileWriter) -> None:
        from lakejoin.kernels.packing import pack_counts

        begin = np.zeros(source.column_count + 1, dtype=np.int64)
        out.begin("repeats", np.dtype(np.uint8))
        for column in range(source.column_count):
            counts = source.repeats(column)
            size = 0
            if counts is not None and len(counts):
                packed = pack_counts(counts)
                out.append(packed)
                size = len(packed)
            begin[column + 1] = begin[column] + size
        out.add("repeats_start", _narrow(begin))


def _write_lists(
    list_start: Array, set_start: Array, groups: Array, weight: Array, out: ArrayFileWriter
) -> None:
    """Write the lists with their positions, and for each distinct length, ascending, its first
    group and where that group's list begins."""
    length = np.diff(list_start)
    first = np.flatnonzero(np.diff(length, prepend=-1))
    out.add("length", length[first].astype(np.uint32))
    out.add("length_group", np.append(first, len(length)).astype(np.uint32))
    out.add("length_begin", list_start[np.append(first, len(length))].astype(np.uint64))
    size_ranks = np.repeat(np.arange(len(set_start) - 1, dtype=np.uint32), np.diff(set_start))
    order = np.argsort(groups, kind="stable")
    narrow = np.uint16 if len(set_start) - 1 <= 1 << 16 else np.uint32
    out.add("lists", size_ranks[order].astype(narrow))
    upto = np.concatenate(([0], np.cumsum(weight[groups])))
    position = upto[1:] - np.repeat(upto[set_start[:-1]], np.diff(set_start))
    out.add("positions", position[order].astype(np.uint32))


def _write_marks(
    set_start: Array, groups: Array, begin: Array, packed: Array, out: ArrayFileWriter
) -> None:
    """Write, for every MARK-th group of a long set, the preceding group plus one, and its byte."""
    counts = np.diff(set_start)
    marked = np.flatnonzero(counts > 2 * MARK)
    marks = (counts[marked] - 1) // MARK
    first = np.concatenate(([0], np.cumsum(marks))).astype(np.int64)
    column = np.repeat(marked, marks)
    nth = MARK * (1 + np.arange(first[-1]) - np.repeat(first[:-1], marks))
    # The n-th packed number begins after the (n-1)-th byte that ends a number.
    ends = np.flatnonzero(packed < 128) if len(column) else np.zeros(0, dtype=np.int64)
    last = set_start[column] + nth - 1
    out.add("mark_stand", marked.astype(np.uint32))
    out.add("mark_first", first.astype(np.uint32))
    out.add("mark_group", (groups[last].astype(np.int64) + 1).astype(np.uint32))
    out.add("mark_byte", (ends[last] + 1 - begin[column]).astype(np.uint32))


def _narrow(begin: Array) -> Array:
    """Starts in 32 bits if they fit: they are most of the size of a short list."""
    return begin.astype(np.uint32) if begin[-1] < 1 << 32 else begin


class Postings:
    """The opened postings of a segment with this many `tokens` and `columns`; None: whatever the
    file says."""

    def __init__(
        self, file: ArrayFile, tokens: int | None = None, columns: int | None = None
    ) -> None:
        own = len(file.array("stand"))
        codes = Limits((1 << 32) - 1 if tokens is None else tokens + 1)
        ascending_codes = Limits(codes.below, ascend=True)
        self._by_size = file.array("by_size", Limits(own), "u4")
        self._size_rank = file.array("stand", Limits(own), "u4")
        self._group_start = file.array("group_start", ascending_codes, "u4")
        self._sets = file.array("sets", None, "u1")
        self._repeats = file.array("repeats", None, "u1")
        self._lists = file.array("lists", Limits(own), "u2 u4")
        groups, entries = self.groups, len(self._lists)
        self._length = file.array("length", None, "u4")
        self._length_group = file.array("length_group", Limits(groups + 1, ascend=True), "u4")
        self._length_begin = file.array("length_begin", Limits(entries + 1, ascend=True), "u8")
        self._set_start = file.array("set_start", Limits(len(self._sets) + 1, ascend=True), "u4")
        self._set_size = file.array("set_size", codes, "u4")
        ends_of_repeats = Limits(len(self._repeats) + 1, ascend=True)
        self._repeats_start = file.array("repeats_start", ends_of_repeats, "u4 i8")
        self.file = file
        self._codes = ArrayCache(_KEPT)
        file.require(columns is None or own == columns)
        file.require(len(self._by_size) == len(self._set_size) == own)
        file.require(len(self._set_start) == len(self._repeats_start) == own + 1)
        file.require(len(file.array("positions", None, "u4")) == entries)
        file.require(groups >= 0 and (tokens is None or int(self._group_start.last()) == tokens))
        self._check_lengths()
        self._check_search_marks(ascending_codes)

    def _check_lengths(self) -> None:
        """The lists lie one after the other, as their lengths say."""
        first, begin = self._length_group.all(), self._length_begin.all()
        self.file.require(len(first) == len(begin) == len(self._length) + 1)
        self.file.require(int(first[0]) == 0 and int(first[-1]) == self.groups)
        self.file.require(int(begin[0]) == 0 and int(begin[-1]) == len(self._lists))
        taken = np.diff(first.astype(np.int64)) * self._length.all().astype(np.int64)
        self.file.require(np.array_equal(np.diff(begin.astype(np.int64)), taken))

    def _check_search_marks(self, codes: Limits) -> None:
        """What only compiled code reads, which finds the arrays in the file by itself."""
        file = self.file
        sample = file.array("group_sample", codes, "u4")
        file.require(len(sample) == -(-self.groups // SAMPLE))
        marked = file.array("mark_stand", Limits(self.columns, ascend=True), "u4")
        groups = file.array("mark_group", Limits(self.groups + 1), "u4")
        first = file.array("mark_first", Limits(len(groups) + 1, ascend=True), "u4")
        file.require(len(first) == len(marked) + 1)
        in_sets = Limits(len(self._sets) + 1)
        file.require(len(file.array("mark_byte", in_sets, "u4")) == len(groups))

    @property
    def groups(self) -> int:
        return len(self._group_start) - 1

    @property
    def columns(self) -> int:
        """The number of columns, searched or not."""
        return len(self._size_rank)

    def group_start(self) -> Array:
        """Group g has the codes [group_start[g], group_start[g + 1])."""
        return self._group_start.all()

    @property
    def unsearched(self) -> int:
        """The number of codes that no searched column contains; they come first."""
        length = self._length.all()
        groups = int(self._length_group.all()[1]) if len(length) and length[0] == 0 else 0
        return int(self._group_start.take(np.array([groups]))[0])

    def set_sizes(self, columns: Array | None = None) -> Array:
        """The number of distinct values of some or all columns; 0 if not indexed."""
        size_ranks = self._size_rank.all() if columns is None else self._size_rank.take(columns)
        return self._set_size.take(size_ranks)

    def size_ranks(self, columns: Array) -> Array:
        return self._size_rank.take(columns)

    def columns_at(self, size_ranks: Array) -> Array:
        return self._by_size.take(size_ranks)

    def list_lengths(self, groups: Array) -> Array:
        nth = np.searchsorted(self._length_group.all(), groups, side="right") - 1
        return self._length.take(nth)

    def set_bytes(self, size_ranks: Array) -> Array:
        """The sizes in bytes of the packed sets of columns, given by their size ranks."""
        size_ranks = np.asarray(size_ranks, dtype=np.int64)
        begin = self._set_start.take(size_ranks).astype(np.int64)
        return self._set_start.take(size_ranks + 1).astype(np.int64) - begin

    def columns_of(self, group: int) -> Array:
        """The posting list of a group: the columns that contain its tokens, ascending."""
        first = self._length_group.all()
        nth = int(np.searchsorted(first, group, side="right")) - 1
        length = int(self._length.all()[nth])
        begin = int(self._length_begin.all()[nth]) + (group - int(first[nth])) * length
        return np.sort(self._by_size.take(self._lists.slice(begin, begin + length)))

    def spans(self, codes: Array) -> tuple[Array, Array]:
        """Where the posting lists of codes begin among all entries, and their lengths."""
        group = np.searchsorted(self._group_start.all(), codes, side="right") - 1
        first = self._length_group.all()
        nth = np.searchsorted(first, group, side="right") - 1
        length = self._length.all()[nth].astype(np.int64)
        begin = self._length_begin.all()[nth].astype(np.int64)
        return begin + (group - first[nth].astype(np.int64)) * length, length

    def entries(self, begin: Array, length: Array) -> Array:
        """The array of size ranks from which these `spans` can be read."""
        return self._lists.touch(begin, begin + length)

    def groups_of(self, column: int) -> Array:
        """A column's set, as groups."""
        from lakejoin.kernels.packing import unpack

        size_rank = int(self._size_rank.slice(column, column + 1)[0])
        begin, end = self._set_start.slice(size_rank, size_rank + 2).tolist()
        groups = unpack(self._sets.touch(np.array([begin]), np.array([end])), begin, end)
        self.file.require(Limits(self.groups, ascend=True).hold(groups))
        return groups

    def all_sets(self) -> tuple[Array, Array]:
        """All sets at once: the groups of column c are groups[start[c]:start[c + 1]]."""
        from lakejoin.kernels.packing import unpack_lists

        begin = self._set_start.all().astype(np.int64)
        start, groups = unpack_lists(begin, self._sets.all())
        self.file.require(Limits(self.groups).hold(groups))
        size_rank = self._size_rank.all()
        length = np.diff(start)[size_rank]
        out = np.concatenate(([0], np.cumsum(length)))
        jump = np.repeat(start[:-1][size_rank] - out[:-1], length)
        return out, groups[jump + np.arange(out[-1])]

    def codes_of(self, column: int) -> Array:
        """A column's set, as ascending codes. Those of the last columns are kept: every stage of a
        search asks for them again."""
        return self._codes.get(column, lambda: self._codes_of(column))

    def _codes_of(self, column: int) -> Array:
        groups = self.groups_of(column).astype(np.int64)
        start = self._group_start.take(groups).astype(np.int64)
        size = self._group_start.take(groups + 1).astype(np.int64) - start
        total = int(size.sum())
        jump = np.repeat(start - np.concatenate(([0], np.cumsum(size)[:-1])), size)
        return (jump + np.arange(total)).astype(np.uint32)

    def repeats_of(self, column: int) -> Array:
        """The number of rows of each code of a column's set."""
        from lakejoin.kernels.packing import unpack_counts

        begin, end = self._repeats_start.slice(column, column + 2).tolist()
        size = int(self.set_sizes(np.array([column]))[0])
        if begin == end:
            return np.ones(size, dtype=np.int64)
        packed = self._repeats.touch(np.array([begin]), np.array([end]))
        width = int(packed[begin])
        self.file.require(width in (1, 2, 4, 8) and 8 * (end - begin - 1) >= size * width)
        return unpack_counts(packed, begin, end, size)

    def lists_agree(self) -> bool:
        """Whether the posting lists match the sets and ascend in length."""
        from lakejoin.kernels.packing import transpose_lists

        start, groups = self.all_sets()
        list_start, columns = transpose_lists(start, groups, self.groups)
        lengths = np.diff(list_start)
        counts: Array = np.diff(self._length_group.all().astype(np.int64))
        stored = np.repeat(self._length.all(), counts)
        if not (np.diff(lengths) >= 0).all() or not np.array_equal(lengths, stored):
            return False
        group = np.repeat(np.arange(self.groups), lengths)
        size_ranks = self._size_rank.take(columns)
        return np.array_equal(size_ranks[np.lexsort((size_ranks, group))], self._lists.all())
