"""The mapped postings of segments as compiled code sees them: a matrix of addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.mapped_arrays import (
    BlockGuard,
    mapped_bytes,
    mapped_longs,
    mapped_shorts,
    mapped_words,
    note_blocks,
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
COLUMNS = 3 * len(ARRAYS)  # then the number of columns,
CHECKED = COLUMNS + 1  # then the flags of verified blocks: address, length, first in `pending`
WIDTH = CHECKED + 3


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
    """Open a segment by its index."""
    row = matrix[number]
    guard = BlockGuard(mapped_bytes(row, CHECKED), pending, row[CHECKED + 2])
    return SegmentPostings(number, row[COLUMNS], row, guard)


@njit(inline="always")
def note_read(part: SegmentPostings, array: int, begin: int, end: int) -> None:
    """Note that the bytes [begin, end) of an array are read, unless they are verified already."""
    if part.guard.checked.shape[0] > 0:
        at = part.row[3 * array + 2]
        note_blocks(part.guard, at + begin, at + end)


@njit(inline="always")
def group_start_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 0)


@njit(inline="always")
def group_sample_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 3)


@njit(inline="always")
def length_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 6)


@njit(inline="always")
def length_group_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 9)


@njit(inline="always")
def length_begin_of(part: SegmentPostings) -> Array:
    return mapped_longs(part.row, 12)


@njit(inline="always")
def short_lists_of(part: SegmentPostings) -> Array:
    return mapped_shorts(part.row, 15)


@njit(inline="always")
def lists_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 18)


@njit(inline="always")
def set_start_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 24)


@njit(inline="always")
def sets_of(part: SegmentPostings) -> Array:
    return mapped_bytes(part.row, 27)


@njit(inline="always")
def set_size_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 30)


@njit(inline="always")
def mark_size_rank_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 33)


@njit(inline="always")
def mark_first_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 36)


@njit(inline="always")
def mark_group_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 39)


@njit(inline="always")
def mark_byte_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 42)


@njit(inline="always")
def positions_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 21)


@njit(inline="always")
def by_size_of(part: SegmentPostings) -> Array:
    return mapped_words(part.row, 45)


@njit(inline="always")
def size_of(part: SegmentPostings, column: int) -> int:
    """Return how many distinct values a column has."""
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
        row[CHECKED : CHECKED + 3] = verified.ctypes.data, len(verified), self.blocks
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
                        row[CHECKED + 1] = 0  # nothing left to note
        finally:
            pending[:] = 0
