"""What compiled code sees of the mapped postings of segments and of a searching thread's buffers:
addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lakejoin.engines.overlap.read_costs import COUNTER_COUNT, ReadCosts
from lakejoin.kernels.jit import njit
from lakejoin.kernels.mapped_arrays import (
    BlockGuard,
    flags_at,
    longs_at,
    make_taker,
    mapped_bytes,
    mapped_longs,
    mapped_shorts,
    mapped_words,
    note_blocks,
    pack_addresses,
    ranks_at,
    words_at,
)
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, CheckedArray

# Symbols of the thesis (chapter 3) and their names in this folder:
#
#     Q, x_i      the query's values; those with equal posting lists form one *group* (3.4.1), so
#                 `i` counts groups, and `weight[i]` is how many values the i-th group has
#     |Q[i:]|     `rest[i]`, the weight from the i-th group on; `rest[0]` is |Q|
#     f_i         `length[i]`, the length of the i-th posting list
#     X, |X|      a column's set, packed as ascending groups, and its size
#     X_k         the worst of the k best so far
#
# Columns are stored by falling size; posting lists contain a column's *rank* in that order.

# The arrays of a segment's postings. Each has three columns of the matrix: address, length, offset.
ARRAYS = (
    "group_start",
    "group_sample",
    "length",
    "length_group",
    "length_begin",
    "short_lists",
    "lists",
    "positions",
    "set_start",
    "sets",
    "set_size",
    "mark_stand",
    "mark_first",
    "mark_group",
    "mark_byte",
    "by_size",
)
GROUP_START, GROUP_SAMPLE, LENGTH, LENGTH_GROUP, LENGTH_BEGIN, SHORT_LISTS, LISTS = range(7)
POSITIONS, SET_START, SETS, SET_SIZE, MARK_STAND, MARK_FIRST, MARK_GROUP, MARK_BYTE = range(7, 15)
BY_SIZE = 15
CHECKED = len(ARRAYS)  # then the flags of verified blocks: address, length, first in `pending`,
COLUMNS = 3 * CHECKED + 3  # and the number of columns.
WIDTH = COLUMNS + 1


class SegmentPostings(NamedTuple):
    """The postings of one segment: a row of the matrix, from which the functions below take arrays.

    Passing one array instead of fifteen keeps compiling fast.
    """

    segment_index: int
    columns: int
    row: Array
    guard: BlockGuard


@njit
def open_postings(matrix: Array, number: int, pending: Array) -> SegmentPostings:
    row = matrix[number]
    guard = BlockGuard(mapped_bytes(row, CHECKED), pending, row[3 * CHECKED + 2])
    return SegmentPostings(number, row[COLUMNS], row, guard)


@njit(inline="always")
def note_read(part: SegmentPostings, array: int, begin: int, end: int) -> None:
    """Note that the bytes [begin, end) of an array are read, unless they are verified already."""
    if part.guard.checked.shape[0] > 0:
        at = part.row[3 * array + 2]
        note_blocks(part.guard, at + begin, at + end)


group_start_of = make_taker(mapped_words, GROUP_START)
group_sample_of = make_taker(mapped_words, GROUP_SAMPLE)
length_of = make_taker(mapped_words, LENGTH)
length_group_of = make_taker(mapped_words, LENGTH_GROUP)
length_begin_of = make_taker(mapped_longs, LENGTH_BEGIN)
short_lists_of = make_taker(mapped_shorts, SHORT_LISTS)
lists_of = make_taker(mapped_words, LISTS)
positions_of = make_taker(mapped_words, POSITIONS)
set_start_of = make_taker(mapped_words, SET_START)
sets_of = make_taker(mapped_bytes, SETS)
set_size_of = make_taker(mapped_words, SET_SIZE)
mark_size_rank_of = make_taker(mapped_words, MARK_STAND)
mark_first_of = make_taker(mapped_words, MARK_FIRST)
mark_group_of = make_taker(mapped_words, MARK_GROUP)
mark_byte_of = make_taker(mapped_words, MARK_BYTE)
by_size_of = make_taker(mapped_words, BY_SIZE)


@njit(inline="always")
def size_of(part: SegmentPostings, column: int) -> int:
    at = part.row[3 * SET_SIZE + 2] + 4 * column
    note_blocks(part.guard, at, at + 4)
    return np.int64(set_size_of(part)[column])


class PostingsMatrix:
    """One row per segment for `open_postings`; keeps the files mapped.

    `blocks` is how many flags the note of blocks to verify needs.
    """

    def __init__(self, files: Sequence[ArrayFile]) -> None:
        self.rows = np.zeros((len(files), WIDTH), dtype=np.int64)
        self._files = tuple(files)
        self._arrays: list[CheckedArray] = []
        self._before: list[int] = []
        self.blocks = 1  # the first flag says whether any block is noted
        for row, file in zip(self.rows, files, strict=True):
            self._enter(row, file)

    def _enter(self, row: Array, file: ArrayFile) -> None:
        short = file.array("lists").raw.itemsize == 2
        for index, name in enumerate(ARRAYS):
            if name == ("lists" if short else "short_lists"):
                continue  # the unused of the two stays empty: its length is zero
            array = file.array("lists" if name == "short_lists" else name)
            self._arrays.append(array)
            row[3 * index : 3 * index + 3] = array.raw.ctypes.data, len(array.raw), array.offset
        row[COLUMNS] = len(file.array("set_size"))
        verified = file.verified
        row[3 * CHECKED : COLUMNS] = verified.ctypes.data, len(verified), self.blocks
        self._before.append(self.blocks)
        self.blocks += len(verified)

    def verify(self, pending: Array) -> None:
        """Verify the blocks that were read unverified; raise if one is damaged."""
        if not pending[0]:
            return
        try:
            for row, file, before in zip(self.rows, self._files, self._before, strict=True):
                blocks = np.flatnonzero(pending[before : before + len(file.verified)])
                if len(blocks):
                    file.check_blocks(blocks)
                    if file.verified.all():
                        row[3 * CHECKED + 1] = 0  # nothing left to note
        finally:
            pending[:] = 0


# The order of the arrays in the row: first those with an element per column of a segment (`TABLE`:
# per group), …
COUNTS, TOUCHED, ALIVE, EXACT, TABLE, FIRST, FIRST_POSITION, POSITION, PASSED = range(9)
QUERY = 9  # … per value of the query (the fields of `QueryGroups`),
TOP, LEADERS = 15, 17  # per result (rank and key), for the k best and for the leaders,
TALLY = 19  # and the counters.
FIELDS = 20


# Counts start from a typed zero: a literal 0 is a type of its own, and numba would compile
# everything once more for it.
ZERO: int = np.int64(0)  # type: ignore[assignment]


class BufferView(NamedTuple):
    """The buffers of a search (see `SearchBuffers`), blocks to verify, and the costs of reading.

    `counts` and the like have an element per column of a segment and are zero between two searches;
    so is `table`, the weight of every group. `touched`, `alive` and `exact` are lists of columns.
    `passed` marks columns to skip: 1 for hidden ones, 2 for those whose exact score is already
    taken, which `exact` lists. Only JOSIE uses `first` and the positions: where a candidate was
    first seen (group + 1), and its position then and last.
    """

    row: Array
    pending: Array
    costs: ReadCosts


class QueryGroups(NamedTuple):
    """A query in one segment, group by group: list i begins at `begin[i]` and has `length[i]`
    entries.

    `ahead[i]` is the total length of the lists from the i-th on.
    """

    group: Array
    weight: Array
    begin: Array
    length: Array
    rest: Array
    ahead: Array


class TopColumns(NamedTuple):
    """The k best columns of all segments so far, as a heap."""

    rank: Array
    key: Array


@njit
def query_in(row: Array) -> QueryGroups:
    return QueryGroups(
        longs_at(row, QUERY),
        longs_at(row, QUERY + 1),
        longs_at(row, QUERY + 2),
        longs_at(row, QUERY + 3),
        longs_at(row, QUERY + 4),
        longs_at(row, QUERY + 5),
    )


@njit
def top_in(work: BufferView, which: int) -> TopColumns:
    return TopColumns(ranks_at(work.row, which), ranks_at(work.row, which + 1))


counts_in = make_taker(words_at, COUNTS)
touched_in = make_taker(words_at, TOUCHED)
alive_in = make_taker(words_at, ALIVE)
exact_in = make_taker(words_at, EXACT)
table_in = make_taker(words_at, TABLE)
first_in = make_taker(words_at, FIRST)
first_position_in = make_taker(words_at, FIRST_POSITION)
position_in = make_taker(words_at, POSITION)
passed_in = make_taker(flags_at, PASSED)
tally_in = make_taker(longs_at, TALLY)


class SearchBuffers:
    """Buffers for segments of up to `columns` columns and `groups` groups, and for any query."""

    def __init__(self, columns: int, groups: int, blocks: int) -> None:
        self.pending = np.zeros(blocks, dtype=np.uint8)
        self.tally = np.zeros(COUNTER_COUNT, dtype=np.int64)
        self.row = np.zeros(2 * FIELDS, dtype=np.int64)
        by_column = [np.zeros(columns + 1, dtype=np.uint32) for _ in range(7)]
        table = np.zeros(groups + 1, dtype=np.uint32)
        self._arrays: dict[int, tuple[Array, ...]] = {}
        # In the order of the fields: counts, touched, alive, exact, table, first, two positions.
        self._hand_over(0, *by_column[:4], table, *by_column[4:])
        self._hand_over(PASSED, np.zeros(columns + 1, dtype=np.uint8))
        self._hand_over(TALLY, self.tally)
        self._values = self._best = -1

    def reserve(self, values: int, k: int) -> None:
        """Make room for a query of `values` values and for exactly k results."""
        if values > self._values:
            self._values = max(values, 1023)
            self._hand_over(QUERY, *np.zeros((6, self._values + 1), dtype=np.int64))
        if k != self._best:
            self._best = k
            self._hand_over(TOP, *np.zeros((2, k), dtype=np.uint64))
            self._hand_over(LEADERS, *np.zeros((2, k), dtype=np.uint64))

    def view(self, costs: ReadCosts) -> BufferView:
        return BufferView(self.row, self.pending, costs)

    def _hand_over(self, field: int, *arrays: Array) -> None:
        self._arrays[field] = arrays
        self.row[2 * field : 2 * (field + len(arrays))] = pack_addresses(*arrays)
