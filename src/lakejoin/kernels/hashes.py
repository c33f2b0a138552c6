"""64-bit hashes of strings, and the hash directory that looks them up."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# The hash is lakejoin's own (multiply, rotate and fold over 8-byte words, then a finaliser) and
# part of the index format: changing it needs a new format version. The seed changes the multiplier
# of every step, so that texts made to collide under one seed do not collide under another: an index
# that finds two texts with one hash picks a new random seed.

_K1 = np.uint64(0x9E3779B97F4A7C15)
_K2 = np.uint64(0xC2B2AE3D27D4EB4F)
_K3 = np.uint64(0x165667B19E3779F9)
_EVEN = np.uint64(0xFFFFFFFFFFFFFFFE)
_U8 = np.uint64(8)
_U16 = np.uint64(16)
_U24 = np.uint64(24)
_U29 = np.uint64(29)
_U32 = np.uint64(32)
_U35 = np.uint64(35)
_U40 = np.uint64(40)
_U48 = np.uint64(48)
_U56 = np.uint64(56)


@njit(inline="always")
def load_word(data: Array, p: int) -> np.uint64:
    """Load eight bytes at any offset, little-endian; compiles to one unaligned load."""
    return (
        np.uint64(data[p])
        | (np.uint64(data[p + 1]) << _U8)
        | (np.uint64(data[p + 2]) << _U16)
        | (np.uint64(data[p + 3]) << _U24)
        | (np.uint64(data[p + 4]) << _U32)
        | (np.uint64(data[p + 5]) << _U40)
        | (np.uint64(data[p + 6]) << _U48)
        | (np.uint64(data[p + 7]) << _U56)
    )


@njit(inline="always")
def mix(h: np.uint64, word: np.uint64, multiplier: np.uint64 = _K2) -> np.uint64:
    """Fold one word into a running hash."""
    h = (h ^ (word * _K1)) * multiplier
    return (h << _U29) | (h >> _U35)


@njit(inline="always")
def finish(h: np.uint64) -> np.uint64:
    """Spread every bit of a running hash over the whole word."""
    h ^= h >> _U32
    h *= _K1
    h ^= h >> _U29
    h *= _K3
    h ^= h >> _U32
    return h


@njit(inline="always")
def bucket_of(h: np.uint64, shift: np.uint64) -> np.int64:
    """Return the top bits of a hash; a shift by all 64 bits (undefined in hardware) is bucket 0."""
    return np.int64(0) if shift == np.uint64(64) else np.int64(h >> shift)


@kernel
def word_at(data: Array, p: int) -> np.uint64:
    """Load eight bytes at any offset; a separate function, so that callers compile faster."""
    return load_word(data, p)


@kernel
def same_bytes(a: Array, p: int, b: Array, q: int, length: int) -> bool:
    """Whether `length` bytes of `a` from `p` on equal those of `b` from `q` on."""
    i = 0
    while i + 8 <= length:
        if word_at(a, p + i) != word_at(b, q + i):
            return False
        i += 8
    while i < length:
        if a[p + i] != b[q + i]:
            return False
        i += 1
    return True


@njit(inline="always")
def _hash(data: Array, p: int, stop: int, seed: np.uint64) -> np.uint64:
    multiplier = _K2 ^ (finish(seed) & _EVEN)  # stays odd
    h = seed ^ (np.uint64(stop - p) * _K3)
    while p + 8 <= stop:
        h = mix(h, load_word(data, p), multiplier)
        p += 8
    left = stop - p
    if left > 0:
        word = np.uint64(0)
        if p + 8 <= data.shape[0]:
            keep = np.uint64(64 - 8 * left)
            word = (load_word(data, p) << keep) >> keep
        else:  # at the end of the buffer there is no whole word to load
            for j in range(left):
                word |= np.uint64(data[p + j]) << np.uint64(8 * j)
        h = mix(h, word, multiplier)
    return finish(h)


@kernel
def hash_text(data: Array, p: int, stop: int, seed: np.uint64) -> np.uint64:
    """Hash the text `data[p:stop]`; a separate function, so that callers compile faster."""
    return _hash(data, p, stop, seed)


@kernel
def hash_strings(offsets: Array, data: Array, seed: np.uint64, out: Array) -> None:
    """Write the hash of string i, `data[offsets[i]:offsets[i + 1]]`, to `out[i]`."""
    for i in range(out.shape[0]):
        out[i] = _hash(data, offsets[i], offsets[i + 1], seed)


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
    span: Array, tags: Array, codes: Array, hashes: Array, tag_codes: Array, row: Array
) -> int:
    """Write every (row, code) whose tag is equal; return how many, which may exceed the room."""
    n = 0
    for k in range(hashes.shape[0]):
        tag = np.uint32(hashes[k] & _TAG_BITS)
        for e in range(span[k, 0], span[k, 1]):
            if tags[e] == tag:
                if n < tag_codes.shape[0]:
                    tag_codes[n] = codes[e]
                    row[n] = k
                n += 1
    return n
