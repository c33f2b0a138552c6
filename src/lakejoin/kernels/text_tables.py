"""Pools of texts by id, and hash tables of distinct texts."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.hashes import finish, hash_text, mix, same_bytes
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

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


# | array | meaning |
# | --- | --- |
# | `length` | one byte per text; 255 means "look it up in `long_length`" |
# | `block` | where every 16th text begins |
# | `long_id`, `long_length` | the texts of 255 bytes and more, ascending |
#
# A text begins where its block begins plus the lengths before it in the block.

BLOCK_TEXTS = 16
LONG_TEXT = 255


@njit(inline="always")
def text_length(length: Array, long_id: Array, long_length: Array, i: int) -> np.int64:
    """Return the length in bytes of text `i`."""
    n = np.int64(length[i])
    if n == LONG_TEXT:
        low, high = 0, long_id.shape[0]
        while low < high:
            middle = (low + high) // 2
            if long_id[middle] < i:
                low = middle + 1
            else:
                high = middle
        n = np.int64(long_length[low]) if low < long_length.shape[0] else np.int64(0)  # forged
    return n


@kernel
def find_text_spans(
    length: Array, block: Array, long_id: Array, long_length: Array, ids: Array, out: Array
) -> None:
    """Write the (begin, end) of the text of each id to the rows of `out`."""
    following, end = np.int64(-1), np.int64(0)  # the id after the one before, where it begins
    for k in range(ids.shape[0]):
        i = np.int64(ids[k])
        first = i - i % BLOCK_TEXTS
        if first < following <= i:  # in the same block: go on from there
            first = following
        else:
            end = block[i // BLOCK_TEXTS]
        for j in range(first, i):
            end += text_length(length, long_id, long_length, j)
        out[k, 0] = end
        end += text_length(length, long_id, long_length, i)
        out[k, 1] = end
        following = i + 1


@kernel
def copy_texts(data: Array, span: Array, offsets: Array, out: Array) -> None:
    """Copy the spans one after another; `offsets` (texts + 1) says where each goes."""
    for k in range(span.shape[0]):
        at = offsets[k]
        for p in range(span[k, 0], span[k, 1]):
            out[at] = data[p]
            at += 1


@kernel
def copy_strings(offsets: Array, data: Array, ids: Array, new_offsets: Array, out: Array) -> None:
    """Copy the strings `ids` of an (offsets, data) pair; `new_offsets` says where each goes."""
    for k in range(ids.shape[0]):
        at = new_offsets[k]
        for p in range(offsets[ids[k]], offsets[ids[k] + np.uint32(1)]):
            out[at] = data[p]
            at += 1


@kernel
def compare_spans(
    left: Array, left_span: Array, right_offsets: Array, right: Array, rows: Array, out: Array
) -> None:
    """Compare span k of `left` with string `rows[k]` of `right`, byte by byte."""
    for k in range(left_span.shape[0]):
        a = left_span[k, 0]
        b = right_offsets[rows[k]]
        n = left_span[k, 1] - a
        out[k] = right_offsets[rows[k] + 1] - b == n and same_bytes(left, a, right, b, n)
