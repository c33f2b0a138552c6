"""Prefix look-up of signatures on sorted arrays: an LSH Forest (Bawa et al. 2005) without trees.

For every place `s` of the signatures one array lists all of them (by rank) in the order of
(key s, partition, key s + 1, key s + 2, …), where a key is an entry of a signature with its bits
scattered, so that keys are spread evenly. The signatures that agree with a query at the places
s … s + r - 1 and belong to one partition stand side by side, for any s and r. The top bits of a key
choose a bucket of about eight ranks; the next bits, the *tag*, stand beside the rank in the same
32-bit word. Keys are compared by bucket and tag bits only (`Shape.kept`, nearly all of the 32);
what agrees there is a candidate, whose whole signature is compared anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.hashing import finish, mix

Array = np.ndarray[Any, Any]

_BUCKET = 8
_SLAB = 16  # places whose entries share a line of cache


@dataclass(frozen=True, slots=True)
class Shape:
    """How ranks and keys share 32 bits: a function of the number of signatures alone.

    >>> Shape.of(1_000_000)
    Shape(bucket_bits=16, tag_bits=12, rank_bits=20)
    """

    bucket_bits: int
    tag_bits: int
    rank_bits: int

    @classmethod
    def of(cls, signatures: int) -> Shape:
        """The shape for so many signatures."""
        bucket_bits = max(0, (signatures // _BUCKET).bit_length() - 1)
        rank_bits = max(1, (max(signatures, 1) - 1).bit_length())
        return cls(bucket_bits, min(32 - rank_bits, 32 - bucket_bits), rank_bits)

    @property
    def kept(self) -> int:
        """How many top bits of a key are compared."""
        return self.bucket_bits + self.tag_bits

    @property
    def buckets(self) -> int:
        """How many buckets each array has."""
        return 1 << self.bucket_bits


@njit(inline="always")
def key_of(entry: np.uint32) -> np.uint32:
    """An entry with its bits scattered, one to one (the finaliser of MurmurHash3)."""
    h = np.uint32(entry)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@kernel
def _slab(signature: Array, row: Array, first: int, out: Array) -> None:
    for i in range(row.shape[0]):
        for j in range(out.shape[0]):
            out[j, i] = key_of(signature[row[i], first + j])


@kernel
def _compose(key: Array, drop: int, partition: Array, place: Array, bits: int, out: Array) -> None:
    for i in range(key.shape[0]):
        low = (np.uint64(partition[i]) << np.uint64(bits)) | np.uint64(place[i])
        out[i] = ((np.uint64(key[i]) >> np.uint64(drop)) << np.uint64(32)) | low


@kernel
def _place(
    keys: Array,
    before: Array,
    bits: int,
    tag_bits: int,
    rank_bits: int,
    order: Array,
    place: Array,
    word: Array,
    bucket: Array,
) -> None:
    low = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    tags = (np.uint64(1) << np.uint64(tag_bits)) - np.uint64(1)
    bucket[:] = 0
    for i in range(keys.shape[0]):
        rank = before[np.int64(keys[i] & low)]
        top = keys[i] >> np.uint64(32)
        order[i] = rank
        place[rank] = i
        word[i] = np.uint32(((top & tags) << np.uint64(rank_bits)) | np.uint64(rank))
        bucket[np.int64(top >> np.uint64(tag_bits)) + 1] += np.uint32(1)
    for b in range(bucket.shape[0] - 1):
        bucket[b + 1] += bucket[b]


def build_forest(signature: Array, row: Array, partition: Array) -> Iterator[tuple[Array, Array]]:
    """(words, buckets) for each place, the last place first; the arrays are good until the next.

    By rank, `row` says where the signature stands and `partition`, which rises, where it belongs.
    """
    n, places = len(row), signature.shape[1]
    shape = Shape.of(n)
    bits = max(1, (max(n, 1) - 1).bit_length())
    if bits > 26:
        raise ValueError(f"{n:,} signatures are more than a forest takes")
    keys = np.empty(n, dtype=np.uint64)
    order, before = np.arange(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    place = np.arange(n, dtype=np.uint32)
    word = np.empty(n, dtype=np.uint32)
    bucket = np.empty(shape.buckets + 1, dtype=np.uint32)
    for end in range(places, 0, -_SLAB):
        first = max(0, end - _SLAB)
        key = np.empty((end - first, n), dtype=np.uint32)
        _slab(signature, row, first, key)
        for j in range(end - first - 1, -1, -1):
            _compose(key[j], 32 - shape.kept, partition, place, bits, keys)
            keys.sort()
            order, before = before, order
            _place(keys, before, bits, shape.tag_bits, shape.rank_bits, order, place, word, bucket)
            yield word, bucket


@kernel
def equal_rows(signature: Array, order: Array, out: Array) -> None:
    """Whether the signature at each place of an order is the one before it."""
    for i in range(1, order.shape[0]):
        a, b = signature[order[i - 1]], signature[order[i]]
        same = True
        for j in range(signature.shape[1]):
            if a[j] != b[j]:
                same = False
                break
        out[i] = same


@kernel
def row_keys(signature: Array, sizes: Array, out: Array) -> None:
    """A number of each signature that orders by size, and brings equal ones together."""
    for i in range(signature.shape[0]):
        h = np.uint64(0)
        for j in range(signature.shape[1]):
            h = mix(h, np.uint64(signature[i, j]))
        out[i] = (np.uint64(sizes[i]) << np.uint64(32)) | (finish(h) >> np.uint64(32))
