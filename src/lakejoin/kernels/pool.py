"""Texts by id, at 1.5 bytes of bookkeeping each: a pool of bytes with short lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import same_bytes

Array = np.ndarray[Any, Any]

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
        n = np.int64(long_length[low])
    return n


@kernel
def find_text_spans(
    length: Array, block: Array, long_id: Array, long_length: Array, ids: Array, out: Array
) -> None:
    """Write the (begin, end) of the text of each id to the rows of `out`."""
    for k in range(ids.shape[0]):
        i = np.int64(ids[k])
        first = i - i % BLOCK_TEXTS
        begin = block[i // BLOCK_TEXTS]
        for j in range(first, i):
            begin += text_length(length, long_id, long_length, j)
        out[k, 0] = begin
        out[k, 1] = begin + text_length(length, long_id, long_length, i)


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
