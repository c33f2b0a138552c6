"""Hash texts ignoring case and blanks, and look the hashes up in a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import finish, mix

Array = np.ndarray[Any, Any]

# Only ASCII letters are folded here; a caller with others passes texts in lower case. Blanks around
# a text are ignored, and several in a row count as one. A null or an empty text has the hash 0.

NO_TEXT = np.uint64(0)
_PLAIN_SEED = np.uint64(0x2545F4914F6CDD1D)
_BYTE = np.uint64(8)
_FULL = np.uint64(64)


@kernel
def hash_plain_texts(offsets: Array, data: Array, validity: Array, validity_offset: int) -> Array:
    """Hash every text."""
    rows = len(offsets) - 1
    hashes = np.zeros(rows, np.uint64)
    nullable = len(validity) > 0
    for row in range(rows):
        if nullable:
            bit = validity_offset + row
            if (validity[bit >> 3] >> np.uint8(bit & 7)) & 1 == 0:
                continue
        hashes[row] = _plain_hash(data, offsets[row], offsets[row + 1])
    return hashes


@njit(nogil=True)
def _plain_hash(data: Array, begin: int, end: int) -> np.uint64:
    h, word, shift = _PLAIN_SEED, np.uint64(0), np.uint64(0)
    size = np.uint64(0)
    blank = False
    p = begin
    while p < end:
        byte = data[p]
        p += 1
        if byte == 32 or (byte >= 9 and byte <= 13):
            blank = True
            continue
        if byte == 0xC2 and p < end and data[p] == 0xA0:  # a no-break space
            p += 1
            blank = True
            continue
        if blank and size > 0:
            word |= np.uint64(32) << shift
            shift += _BYTE
            size += np.uint64(1)
            if shift == _FULL:
                h = mix(h, word)
                word, shift = np.uint64(0), np.uint64(0)
        blank = False
        if byte >= 65 and byte <= 90:
            byte += np.uint8(32)
        word |= np.uint64(byte) << shift
        shift += _BYTE
        size += np.uint64(1)
        if shift == _FULL:
            h = mix(h, word)
            word, shift = np.uint64(0), np.uint64(0)
    if size == 0:
        return NO_TEXT
    h = finish(mix(mix(h, word), size))
    return h if h != NO_TEXT else np.uint64(1)


@kernel
def build_hash_table(hashes: Array) -> tuple[Array, Array, Array, Array]:
    """Return (slots, distinct hashes in order of their first rows, their counts, those rows)."""
    rows = len(hashes)
    size = 16
    while size < 2 * rows:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, -1, np.int32)
    distinct = np.empty(rows, np.uint64)
    counts, first = np.zeros(rows, np.int64), np.empty(rows, np.int64)
    distinct_count = 0
    for row in range(rows):
        h = hashes[row]
        if h == NO_TEXT:
            continue
        at = h & mask
        while slots[at] >= 0 and distinct[slots[at]] != h:
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            slots[at] = np.int32(distinct_count)
            distinct[distinct_count] = h
            first[distinct_count] = row
            distinct_count += 1
        counts[slots[at]] += 1
    return (
        slots,
        distinct[:distinct_count].copy(),
        counts[:distinct_count].copy(),
        first[:distinct_count].copy(),
    )


@kernel
def look_up_hashes(slots: Array, distinct: Array, hashes: Array) -> Array:
    """Return the index of each hash among the distinct ones, -1 if missing."""
    mask = np.uint64(len(slots) - 1)
    indices = np.full(len(hashes), -1, np.int64)
    for i in range(len(hashes)):
        h = hashes[i]
        if h == NO_TEXT:
            continue
        at = h & mask
        while slots[at] >= 0:
            if distinct[slots[at]] == h:
                indices[i] = slots[at]
                break
            at = (at + np.uint64(1)) & mask
    return indices
