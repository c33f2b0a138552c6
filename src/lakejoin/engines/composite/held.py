"""The rows and super keys of a segment for compiled code, as addresses of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from lakejoin.kernels.mapped import BlockGuard
from lakejoin.kernels.mapped_arrays import pack_addresses, flags_at, longs_at, ranks_at, words_at
from lakejoin.engines.composite.table_layout import PerSegment

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

# The arrays in the order of the row of addresses. `FILE_OFFSETS` holds the offsets of the mapped arrays
# in their files.
LOCAL, IDS, SPELLING, KEYS, WIDTH, IDS_START, LOCAL_START, ROWS, KEY_START, FILE_OFFSETS = range(10)
CHECKED, KEYS_CHECKED = 10, 11


class MappedRows:
    """A segment's rows, and optionally its super keys; keeps the files mapped.

    Compiled code marks the unverified blocks that it read in `pending`, and `verify` checks them.
    Each search has its own `pending`, so that several threads can search.
    """

    def __init__(self, segment: Segment, super_keys: bool) -> None:
        rows = segment.rows
        self.tokens = rows.tokens
        mapped = [rows.local_cells, rows.ids, rows.spelling_code]
        key_start = none = np.zeros(0, dtype=np.int64)
        if super_keys:
            mapped.append(segment.superkeys.keys)
            key_start = segment.superkeys.row_start
        self._files = [rows.ids.file, *(array.file for array in mapped[3:])]
        self._arrays = [
            *[*(array.raw for array in mapped), none][:4],
            rows.width,
            rows.ids_start,
            rows.local_start,
            np.ascontiguousarray(segment.column_rows, dtype=np.int64),
            key_start,
            np.array([*(array.offset for array in mapped), 0], dtype=np.int64),
            *[*(file.verified for file in self._files), none][:2],
        ]
        self.row = pack_addresses(*self._arrays)

    def pending(self) -> list[Array]:
        """Marks for the blocks of each of the two files; the first says whether any is set."""
        blocks = [len(file.verified) for file in self._files]
        return [np.zeros(1 + n, dtype=np.uint8) for n in [*blocks, 0][:2]]

    def verify(self, pending: list[Array]) -> None:
        """Verify the marked blocks; raises if one is damaged."""
        for file, noted in zip(self._files, pending, strict=False):
            if noted[0]:
                file.check_blocks(np.flatnonzero(noted[1:]))
                noted[:] = 0


_WITH_KEYS = PerSegment(lambda segment: MappedRows(segment, super_keys=True))
_ROWS_ALONE = PerSegment(lambda segment: MappedRows(segment, super_keys=False))


def open_mapped_rows(segment: Segment, super_keys: bool) -> MappedRows:
    """The rows of a segment, opened once and kept as long as the segment."""
    return _WITH_KEYS(segment) if super_keys else _ROWS_ALONE(segment)


@njit(inline="always")
def local_in(row: Array) -> Array:
    return flags_at(row, LOCAL)


@njit(inline="always")
def ids_in(row: Array) -> Array:
    return words_at(row, IDS)


@njit(inline="always")
def spelling_in(row: Array) -> Array:
    return words_at(row, SPELLING)


@njit(inline="always")
def width_in(row: Array) -> Array:
    return flags_at(row, WIDTH)


@njit(inline="always")
def ids_start_in(row: Array) -> Array:
    return longs_at(row, IDS_START)


@njit(inline="always")
def local_start_in(row: Array) -> Array:
    return longs_at(row, LOCAL_START)


@njit(inline="always")
def rows_in(row: Array) -> Array:
    return longs_at(row, ROWS)


@njit(inline="always")
def key_start_in(row: Array) -> Array:
    return longs_at(row, KEY_START)


@njit(inline="always")
def keys_in(row: Array) -> Array:
    return ranks_at(row, KEYS)


@njit(inline="always")
def file_offset_in(row: Array, array: int) -> int:
    return longs_at(row, FILE_OFFSETS)[array]


@njit(inline="always")
def rows_guard(row: Array, pending: Array) -> BlockGuard:
    return BlockGuard(flags_at(row, CHECKED), pending, 1)


@njit(inline="always")
def keys_guard(row: Array, pending: Array) -> BlockGuard:
    return BlockGuard(flags_at(row, KEYS_CHECKED), pending, 1)
