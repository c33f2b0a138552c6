"""A hash directory: from a 64-bit hash to the codes that may have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import bucket_of

Array = np.ndarray[Any, Any]

# The top bits of a hash choose a bucket of about ten entries; an entry has the low 32 bits (the
# tag) and the code. An equal tag only makes a candidate: the caller compares the texts.

_TARGET = 12
_TAG_BITS = np.uint64(0xFFFFFFFF)


def directory_bits(tokens: int) -> int:
    """Return how many top bits choose a bucket: at least eight, so that any dictionary can be
    sampled.

    >>> directory_bits(0), directory_bits(1_000_000)
    (8, 16)
    """
    return max(8, (tokens // _TARGET).bit_length() - 1)


def build_directory(hashes: Array) -> tuple[Array, Array, Array]:
    """Build (bucket starts, tags, codes) for the hashes of codes 0, 1, 2, …"""
    bits = directory_bits(len(hashes))
    start = np.zeros((1 << bits) + 1, dtype=np.uint32)
    tags = np.empty(len(hashes), dtype=np.uint32)
    codes = np.empty(len(hashes), dtype=np.uint32)
    _fill_directory(hashes, np.uint64(64 - bits), start, tags, codes)
    return start, tags, codes


@kernel
def _fill_directory(
    hashes: Array, shift: np.uint64, start: Array, tags: Array, codes: Array
) -> None:
    for i in range(hashes.shape[0]):
        start[bucket_of(hashes[i], shift) + 1] += np.uint32(1)
    for b in range(start.shape[0] - 1):
        start[b + 1] += start[b]
    fill = start[:-1].copy()
    for i in range(hashes.shape[0]):
        b = bucket_of(hashes[i], shift)
        tags[fill[b]] = np.uint32(hashes[i] & _TAG_BITS)
        codes[fill[b]] = np.uint32(i)
        fill[b] += np.uint32(1)


@kernel
def find_bucket_spans(start: Array, hashes: Array, out: Array) -> None:
    """Write the entries (begin, end) of the bucket of each hash."""
    bits = 0
    while (1 << bits) < start.shape[0] - 1:
        bits += 1
    shift = np.uint64(64 - bits)
    for k in range(hashes.shape[0]):
        b = bucket_of(hashes[k], shift)
        out[k, 0] = start[b]
        out[k, 1] = start[b + 1]


@kernel
def find_tags(
    span: Array, tags: Array, codes: Array, hashes: Array, found: Array, row: Array
) -> int:
    """Write every (row, code) whose tag is equal; return how many, which may exceed the room."""
    n = 0
    for k in range(hashes.shape[0]):
        tag = np.uint32(hashes[k] & _TAG_BITS)
        for e in range(span[k, 0], span[k, 1]):
            if tags[e] == tag:
                if n < found.shape[0]:
                    found[n] = codes[e]
                    row[n] = k
                n += 1
    return n
