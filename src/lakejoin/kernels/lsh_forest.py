"""Prefix look-up of signatures on sorted arrays: an LSH Forest (Bawa et al. 2005) without trees.

For every position `s` of the signatures one array lists all of them (by rank) in the order of (key
s, partition, key s + 1, rank), where a key is an entry of a signature with its bits scattered, so
that keys are spread evenly. Signatures that agree with a query at position s and belong to one
partition are adjacent, and so are those that also agree at position s + 1. The top bits of a key
choose a bucket of about eight ranks; the next bits, the *tag*, are stored beside the rank in the
same 32-bit word. Only some bits of keys are compared (`ForestShape`): agreement there makes a
candidate, whose whole signature is compared anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np

from lakejoin.kernels.hashes import finish, mix
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

_BUCKET = 8
_SLAB = 16  # positions whose entries share a cache line


@dataclass(frozen=True, slots=True)
class ForestShape:
    """How many bits are used for what; follows from the numbers of signatures and partitions.

    A word of an array has `tag_bits` of a key and a rank; `next_bits` of the next key order the
    words of one key and partition.

    >>> ForestShape.of(1_000_000, 16)
    ForestShape(bucket_bits=16, tag_bits=12, rank_bits=20, partition_bits=4, next_bits=12)
    """

    bucket_bits: int
    tag_bits: int
    rank_bits: int
    partition_bits: int
    next_bits: int

    @classmethod
    def of(cls, signatures: int, partitions: int) -> ForestShape:
        """Return the shape for a number of signatures and partitions."""
        bucket_bits = max(0, (signatures // _BUCKET).bit_length() - 1)
        rank_bits = max(1, (max(signatures, 1) - 1).bit_length())
        tag_bits = min(32 - rank_bits, 32 - bucket_bits)
        partition_bits = max(1, (max(partitions, 1) - 1).bit_length())
        rest = 64 - bucket_bits - tag_bits - rank_bits - partition_bits
        return cls(bucket_bits, tag_bits, rank_bits, partition_bits, max(0, min(rest, 32)))

    @property
    def buckets(self) -> int:
        """How many buckets each array has."""
        return 1 << self.bucket_bits

    def as_tuple(self) -> tuple[int, int, int, int, int]:
        """The fields as a tuple, for compiled code."""
        return astuple(self)


@njit(inline="always")
def key_of(entry: np.uint32) -> np.uint32:
    """Scatter the bits of an entry, one to one (the finaliser of MurmurHash3)."""
    h = np.uint32(entry)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@kernel
def _slab(signature: Array, row: Array, first: int, out: Array) -> None:
    """Compute the keys of some positions of all signatures."""
    for i in range(row.shape[0]):
        for j in range(out.shape[0]):
            out[j, i] = key_of(signature[row[i], first + j])


@kernel
def _compose(
    key: Array,
    following: Array,
    partition: Array,
    shape: tuple[int, int, int, int, int],
    out: Array,
) -> None:
    """Compute the numbers whose order is that of the array."""
    bucket_bits, tag_bits, rank_bits, partition_bits, next_bits = shape
    drop, drop_next = np.uint64(32 - bucket_bits - tag_bits), np.uint64(32 - next_bits)
    for i in range(key.shape[0]):
        number = np.uint64(key[i]) >> drop
        number = (number << np.uint64(partition_bits)) | np.uint64(partition[i])
        number = (number << np.uint64(next_bits)) | (np.uint64(following[i]) >> drop_next)
        out[i] = (number << np.uint64(rank_bits)) | np.uint64(i)


@kernel
def _divide(
    numbers: Array, shape: tuple[int, int, int, int, int], word: Array, bucket: Array
) -> None:
    """Extract the words of sorted numbers, and where each bucket begins."""
    _, tag_bits, rank_bits, partition_bits, next_bits = shape
    ranks = (np.uint64(1) << np.uint64(rank_bits)) - np.uint64(1)
    tags = (np.uint64(1) << np.uint64(tag_bits)) - np.uint64(1)
    above = np.uint64(rank_bits + next_bits + partition_bits)
    bucket[:] = 0
    for i in range(numbers.shape[0]):
        key = numbers[i] >> above
        word[i] = np.uint32(((key & tags) << np.uint64(rank_bits)) | (numbers[i] & ranks))
        bucket[np.int64(key >> np.uint64(tag_bits)) + 1] += np.uint32(1)
    for b in range(bucket.shape[0] - 1):
        bucket[b + 1] += bucket[b]


def build_forest(
    signature: Array, row: Array, partition: Array, shape: ForestShape
) -> Iterator[tuple[Array, Array]]:
    """Yield (words, buckets) for each position in turn; the arrays are reused by the next.

    By rank, `row` says where the signature is and `partition`, ascending, where it belongs.
    """
    n, positions = len(row), signature.shape[1]
    numbers = np.empty(n, dtype=np.uint64)
    word = np.empty(n, dtype=np.uint32)
    bucket = np.empty(shape.buckets + 1, dtype=np.uint32)
    key = np.zeros((_SLAB + 1, n), dtype=np.uint32)
    for first in range(0, positions, _SLAB):
        # The last position has no next one: use the same key for all.
        _slab(signature, row, first, key[: min(_SLAB + 1, positions - first)])
        for j in range(min(_SLAB, positions - first)):
            following = key[j + 1] if first + j + 1 < positions else key[0] * 0
            _compose(key[j], following, partition, shape.as_tuple(), numbers)
            numbers.sort()
            _divide(numbers, shape.as_tuple(), word, bucket)
            yield word, bucket


@kernel
def mark_equal_rows(signature: Array, order: Array, out: Array) -> None:
    """Mark each signature of an order that equals the previous one."""
    for i in range(1, order.shape[0]):
        a, b = signature[order[i - 1]], signature[order[i]]
        same = True
        for j in range(signature.shape[1]):
            if a[j] != b[j]:
                same = False
                break
        out[i] = same


@kernel
def compute_row_keys(signature: Array, sizes: Array, out: Array) -> None:
    """Compute a number per signature that sorts by size and groups equal signatures."""
    for i in range(signature.shape[0]):
        h = np.uint64(0)
        for j in range(signature.shape[1]):
            h = mix(h, np.uint64(signature[i, j]))
        out[i] = (np.uint64(sizes[i]) << np.uint64(32)) | (finish(h) >> np.uint64(32))
