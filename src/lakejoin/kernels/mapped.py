"""Access to the mapped arrays of many segments at once, for compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray, njit

from lakejoin.kernels.mapped_arrays import pointer

Array = np.ndarray[Any, Any]

# A search runs over all segments in one call, because calling compiled code from Python costs as
# much as searching a small segment. Numba takes no list of arrays cheaply, so they are passed as a
# matrix of numbers: one row per segment with the address, length and file offset of every array.
# Whoever builds the matrix keeps the arrays alive.
#
# Blocks of a file are verified when they are first read. Compiled code cannot do that, so it notes
# the unverified blocks that it reads, and its caller verifies those before it uses any result.
# Until then bytes may be wrong, so nothing read from a file is used as an index without a bounds
# check.

_BLOCK_BITS = 16


class BlockGuard(NamedTuple):
    """The verified blocks of a file, and where to note unverified ones that are read.

    `checked` is empty once all are verified. `pending[0]` says whether any block is noted, and
    `pending[before + b]` whether the b-th of this file is.
    """

    checked: Array
    pending: Array
    before: int


@njit(inline="always")
def mapped_bytes(row: Array, field: int) -> Array:
    """Return the array of bytes whose address and length are in a row from `field` on."""
    return carray(pointer(row[field]), (row[field + 1],), np.uint8)


@njit(inline="always")
def mapped_shorts(row: Array, field: int) -> Array:
    """Return an array of 16-bit numbers."""
    return carray(pointer(row[field]), (row[field + 1],), np.uint16)


@njit(inline="always")
def mapped_words(row: Array, field: int) -> Array:
    """Return an array of 32-bit numbers."""
    return carray(pointer(row[field]), (row[field + 1],), np.uint32)


@njit(inline="always")
def mapped_longs(row: Array, field: int) -> Array:
    """Return an array of 64-bit numbers."""
    return carray(pointer(row[field]), (row[field + 1],), np.int64)


@njit
def _note(guard: BlockGuard, begin: int, end: int) -> None:
    for block in range(begin >> _BLOCK_BITS, ((end - 1) >> _BLOCK_BITS) + 1):
        if 0 <= block < guard.checked.shape[0] and guard.checked[block] == 0:
            guard.pending[0] = 1
            guard.pending[guard.before + block] = 1


@njit(inline="always")
def note_blocks(guard: BlockGuard, begin: int, end: int) -> None:
    """Note the unverified blocks of a file's bytes [begin, end)."""
    if guard.checked.shape[0] > 0 and end > begin:
        _note(guard, begin, end)
