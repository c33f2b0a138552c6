"""Distinct texts: a hash table over Arrow buffers that numbers texts by first appearance."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import hash_text, same_bytes

Array = np.ndarray[Any, Any]

# The table is a set of flat arrays that the caller owns and grows: `slots` (open addressing, 32
# bits of hash beside the index + 1), `hashes` (one per text, to grow the slots without reading
# text), and the texts themselves as Arrow offsets and bytes. A kernel that runs out of room returns
# early; the caller grows what is short and calls again.

_SEED = np.uint64(0x2545F4914F6CDD1D)
_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(0xFFFFFFFF00000000)
_ONE = np.uint64(1)
_NONE = np.uint64(0)
NULL_CELL = np.uint32(0xFFFFFFFF)
_BLOCK = 256


@kernel
def index_texts(
    offsets: Array,
    data: Array,
    validity: Array,
    validity_offset: int,
    begin: int,
    slots: Array,
    hashes: Array,
    text_offsets: Array,
    texts: Array,
    count: int,
    numbers: Array,
) -> tuple[int, int]:
    """Number the texts from row `begin` on; return (rows done, distinct texts) when it must stop.

    `validity` is Arrow's bitmap, or empty if no cell is null. A null gets `NULL_CELL`.
    """
    rows = numbers.shape[0]
    mask = np.uint64(slots.shape[0] - 1)
    most = min(hashes.shape[0], slots.shape[0] // 2)
    room = texts.shape[0]
    nullable = validity.shape[0] > 0
    block = np.empty(_BLOCK + 1, np.uint64)
    row = begin
    while row < rows:
        stop_row = min(row + _BLOCK, rows)
        for i in range(row, stop_row):
            block[i - row] = hash_text(data, offsets[i], offsets[i + 1], _SEED)
        # Touching a block's slots in a tight loop overlaps their cache misses, the main cost of a
        # large table; the sum is stored only so that the compiler does not remove the loop.
        touched = np.uint64(0)
        for i in range(stop_row - row):
            touched ^= slots[block[i] & mask]
        block[_BLOCK] = touched
        first = row
        while row < stop_row:
            if nullable:
                bit = validity_offset + row
                if (validity[bit >> 3] >> np.uint8(bit & 7)) & 1 == 0:
                    numbers[row] = NULL_CELL
                    row += 1
                    continue
            p = offsets[row]
            length = offsets[row + 1] - p
            h = block[row - first]
            tag = h & _HIGH
            at = h & mask
            while True:
                slot = slots[at]
                if slot == _NONE:
                    start = text_offsets[count]
                    if count >= most or start + length > room:
                        return row, count
                    for j in range(length):
                        texts[start + j] = data[p + j]
                    text_offsets[count + 1] = start + length
                    hashes[count] = h
                    slots[at] = tag | np.uint64(count + 1)
                    numbers[row] = count
                    count += 1
                    break
                if slot & _HIGH == tag:
                    known = np.int64(slot & _LOW) - 1
                    start = text_offsets[known]
                    if text_offsets[known + 1] - start == length and same_bytes(
                        data, p, texts, start, length
                    ):
                        numbers[row] = known
                        break
                at = (at + _ONE) & mask
            row += 1
    return row, count


@kernel
def fill_slots(hashes: Array, count: int, slots: Array) -> None:
    """Enter `count` distinct texts into empty, larger slots."""
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(count):
        h = hashes[i]
        at = h & mask
        while slots[at] != _NONE:
            at = (at + _ONE) & mask
        slots[at] = (h & _HIGH) | np.uint64(i + 1)
