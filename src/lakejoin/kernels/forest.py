"""Prefix look-up of signatures on sorted arrays: an LSH Forest (Bawa et al. 2005) without trees.

For every place `s` of the signatures one array lists all of them (by rank) in the order of
(entry s, partition, entry s + 1, entry s + 2, …). So the signatures that agree with a query at the
places s … s + r - 1 and belong to one partition stand side by side, for any s and r. The top bits
of an entry choose a bucket of about eight ranks; the next bits, the *tag*, stand beside the rank in
the same 32-bit word. Entries are compared by bucket and tag bits only (`Shape.kept`, nearly all of
the 32); what agrees there is a candidate, whose whole signature is compared anyway.
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

MOST_PARTITIONS = 64
_BUCKET = 8
_FEW = 16
_BLOCK_SHIFT = 16  # blocks of checksums are 2 ** 16 bytes
_SLAB = 16  # places whose entries share a line of cache

DAMAGED = -1


@dataclass(frozen=True, slots=True)
class Shape:
    """How ranks and entries share 32 bits: a function of the number of signatures alone.

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
        """How many top bits of an entry are compared."""
        return self.bucket_bits + self.tag_bits

    @property
    def buckets(self) -> int:
        """How many buckets each array has."""
        return 1 << self.bucket_bits


@kernel
def _slab(signature: Array, row: Array, first: int, out: Array) -> None:
    for i in range(row.shape[0]):
        for j in range(out.shape[0]):
            out[j, i] = signature[row[i], first + j]


@kernel
def _compose(
    entry: Array, drop: int, partition: Array, place: Array, bits: int, out: Array
) -> None:
    for i in range(entry.shape[0]):
        low = (np.uint64(partition[i]) << np.uint64(bits)) | np.uint64(place[i])
        out[i] = ((np.uint64(entry[i]) >> np.uint64(drop)) << np.uint64(32)) | low


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
        entry = np.empty((end - first, n), dtype=np.uint32)
        _slab(signature, row, first, entry)
        for j in range(end - first - 1, -1, -1):
            _compose(entry[j], 32 - shape.kept, partition, place, bits, keys)
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


# -- looking up --------------------------------------------------------------------------------


@njit(inline="always")
def _touch(touched: Array, offset: int, begin: int, end: int, size: int) -> None:
    """Notes the blocks of the elements [begin, end) of an array that begins at a byte of a file."""
    last = (offset + end * size - 1) >> _BLOCK_SHIFT
    block = (offset + begin * size) >> _BLOCK_SHIFT
    while block <= last:
        touched[block] = 1
        block += 1


@njit(inline="always")
def _compare(row: Array, query: Array, first: int, end: int, drop: np.uint32) -> np.int64:
    """How the kept bits of a signature's entries [first, end) stand to those of the query."""
    for j in range(first, end):
        a, b = row[j] >> drop, query[j] >> drop
        if a != b:
            return np.int64(-1) if a < b else np.int64(1)
    return np.int64(0)


@kernel
def _first_tag(words: Array, low: int, high: int, tag: np.uint32, rank_bits: np.uint32) -> int:
    """The first word in [low, high) whose tag is not below `tag`."""
    while high - low > _FEW:
        middle = (low + high) // 2
        if (words[middle] >> rank_bits) < tag:
            low = middle + 1
        else:
            high = middle
    while low < high and (words[low] >> rank_bits) < tag:
        low += 1
    return low


@kernel
def _first_rank(words: Array, low: int, high: int, rank: np.uint32, mask: np.uint32) -> int:
    """The first word in [low, high) whose rank is not below `rank`."""
    while high - low > _FEW:
        middle = (low + high) // 2
        if (words[middle] & mask) < rank:
            low = middle + 1
        else:
            high = middle
    while low < high and (words[low] & mask) < rank:
        low += 1
    return low


@kernel
def _first_row(
    words: Array,
    low: int,
    high: int,
    mask: np.uint32,
    signature: Array,
    offset: int,
    touched: Array,
    query: Array,
    first: int,
    end: int,
    drop: np.uint32,
    above: int,
) -> int:
    """The first word in [low, high) whose entries stand to the query's as `above` or higher."""
    places = query.shape[0]
    while low < high:
        middle = (low + high) // 2
        rank = np.int64(words[middle] & mask)
        if rank >= signature.shape[0]:
            return DAMAGED
        _touch(touched, offset, rank * places, (rank + 1) * places, 4)
        if _compare(signature[rank], query, first, end, drop) < above:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def look_up(
    query: Array,
    words: Array,
    buckets: Array,
    signature: Array,
    shape: tuple[int, int, int],
    offsets: tuple[int, int, int],
    starts: Array,
    bands: Array,
    rows: Array,
    touched: Array,
    found: Array,
) -> tuple[int, int]:
    """Ranks that agree with the query in one of the bands of their partition.

    Partition p holds the ranks [starts[p], starts[p + 1]); its bands are the places [j * rows[p],
    (j + 1) * rows[p]) for j below bands[p], none if that is zero. `words` and `buckets` are those
    of `build_forest`, one row a place. `offsets` say where words, buckets and signatures begin in
    their file, and the blocks that were read are noted in `touched`. Returns how many ranks were
    written to `found` (`DAMAGED` if the arrays cannot be right) and how many words were read.
    """
    places = query.shape[0]
    n = signature.shape[0]
    bucket_bits, tag_bits, rank_bits = shape
    mask = np.uint32((1 << rank_bits) - 1)
    drop = np.uint32(32 - bucket_bits - tag_bits)
    shift = np.uint32(rank_bits)
    tags = np.uint32((np.uint64(1) << np.uint64(tag_bits)) - np.uint64(1))
    seen = np.zeros((n + 63) // 64, dtype=np.uint64)
    needed = np.zeros(places, dtype=np.uint8)
    for p in range(bands.shape[0]):
        for j in range(bands[p]):
            needed[j * rows[p]] = 1
    span = np.zeros((places, 2), dtype=np.int64)
    width = buckets.shape[1]
    for s in range(places):  # all first, so that the memory can serve many at a time
        if needed[s]:
            b = np.int64(np.uint64(query[s]) >> np.uint64(32 - bucket_bits))
            tree = places - 1 - s
            span[s, 0] = buckets[tree, b]
            span[s, 1] = buckets[tree, b + 1]
            _touch(touched, offsets[1], tree * width + b, tree * width + b + 2, 4)
    count = 0
    read = 0
    for s in range(places):
        low, high = span[s, 0], span[s, 1]
        if low > high or high > n:
            return DAMAGED, read
        if low == high:
            continue
        tree = places - 1 - s
        line = words[tree]
        tag = (query[s] >> drop) & tags
        _touch(touched, offsets[0], tree * n + low, tree * n + high, 4)
        low = _first_tag(line, low, high, tag, shift)
        end = low
        if high - low > _FEW and (line[low + _FEW] >> shift) == tag:
            end = high if tag == tags else _first_tag(line, low, high, tag + np.uint32(1), shift)
        while end < high and (line[end] >> shift) == tag:
            end += 1
        read += high - span[s, 0]
        p = 0
        while low < end:
            rank = np.int64(line[low] & mask)
            if rank >= n:
                return DAMAGED, read
            while p + 1 < bands.shape[0] and rank >= starts[p + 1]:
                p += 1
            stop = max(low + 1, _first_rank(line, low, end, np.uint32(starts[p + 1]), mask))
            r = rows[p]
            if bands[p] > 0 and s % r == 0 and s // r < bands[p]:
                a, z = low, stop
                if r > 1 and stop - low > _FEW:
                    a = _first_row(
                        line, low, stop, mask, signature, offsets[2], touched,
                        query, s + 1, s + r, drop, 0,
                    )  # fmt: skip
                    z = _first_row(
                        line, a, stop, mask, signature, offsets[2], touched,
                        query, s + 1, s + r, drop, 1,
                    ) if a >= 0 else a  # fmt: skip
                    if a < 0 or z < 0:
                        return DAMAGED, read
                for i in range(a, z):
                    rank = np.int64(line[i] & mask)
                    if rank >= n:
                        return DAMAGED, read
                    bit = np.uint64(1) << np.uint64(rank & 63)
                    if seen[rank >> 6] & bit:
                        continue
                    if r > 1 and stop - low <= _FEW:
                        _touch(touched, offsets[2], rank * places, (rank + 1) * places, 4)
                        if _compare(signature[rank], query, s + 1, s + r, drop) != 0:
                            continue
                    seen[rank >> 6] |= bit
                    found[count] = rank
                    count += 1
            low = stop
    return count, read


@kernel
def weigh(
    query: Array,
    signature: Array,
    offset: int,
    touched: Array,
    ranks: Array,
    sizes: Array,
    query_size: int,
    threshold: float,
    bound: Array,
    agree: Array,
) -> int:
    """Counts the places where each ranked signature agrees with the query, and drops poor ones.

    One stays if its set is large enough to hold the threshold's share of the query, and if the
    Jaccard similarity which that would take is at most `bound[places that agree]`. The ranks that
    stay move to the front, with their counts in `agree`; returns how many they are.
    """
    places = query.shape[0]
    kept = 0
    for i in range(ranks.shape[0]):
        rank = np.int64(ranks[i])
        _touch(touched, offset, rank * places, (rank + 1) * places, 4)
        row = signature[rank]
        same = 0
        for j in range(places):
            same += row[j] == query[j]
        size = np.float64(sizes[rank])
        needed = threshold / (size / query_size + 1.0 - threshold)
        if size >= threshold * query_size - 1e-9 and needed <= bound[same]:
            ranks[kept] = np.uint32(rank)
            agree[kept] = same
            kept += 1
    return kept
