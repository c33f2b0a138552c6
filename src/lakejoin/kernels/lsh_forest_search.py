"""Look signatures up in a forest (see `lsh_forest`), filter them and estimate what they share.

One call does everything for a segment, because a call from Python costs as much as a small search.
Blocks of a file are verified when they are first read. Compiled code cannot do that, so it notes in
`pending` the unverified blocks that it reads, and the caller verifies those before it uses any
result. Until then bytes may be wrong: nothing read from the file is trusted as an index.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.lsh_forest import key_of
from lakejoin.kernels.mapped_arrays import flags_at, longs_at, pack_addresses, prefetch, words_at
from lakejoin.kernels.minhash import estimate_shared, score_counts, score_equal_count
from lakejoin.model import Array

DAMAGED = -1
_FEW = 16  # shorter ranges are scanned, longer ones halved
_WAITING = 1024  # prefetched candidates before they are compared
_AHEAD = 4  # candidates prefetched ahead
_LINE = 16  # 32-bit numbers in a cache line
_BLOCK_SHIFT = 16  # blocks of checksums are 2 ** 16 bytes


@njit(inline="always")
def _touch(pending: Array, checked: Array, offset: int, begin: int, end: int) -> None:
    """Note the blocks of the 32-bit elements [begin, end) of an array that begins at `offset`."""
    last = (offset + end * 4 - 1) >> _BLOCK_SHIFT
    block = (offset + begin * 4) >> _BLOCK_SHIFT
    while block <= last:
        if not checked[block]:
            pending[block] = 1
        block += 1


@njit(inline="always")
def _agree(row: Array, query: Array, first: int, end: int) -> bool:
    """Whether a signature equals the query's at positions [first, end)."""
    j = first
    while j < end and row[j] == query[j]:
        j += 1
    return j == end


@kernel
def _first_tag(words: Array, low: int, high: int, tag: np.uint32, rank_bits: np.uint32) -> int:
    """Return the first word in [low, high) whose tag is not below `tag`."""
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
def _first_rank(words: Array, low: int, high: int, rank: int, mask: np.uint32) -> int:
    """Return the first word in [low, high) whose rank is not below `rank`."""
    while high - low > _FEW:
        middle = (low + high) // 2
        if np.int64(words[middle] & mask) < rank:
            low = middle + 1
        else:
            high = middle
    while low < high and np.int64(words[low] & mask) < rank:
        low += 1
    return low


@kernel
def _first_next(
    words: Array,
    low: int,
    high: int,
    mask: np.uint32,
    signature: Array,
    position: int,
    key: np.uint32,
    drop: np.uint32,
    above: int,
) -> int:
    """The first word in [low, high) whose key at a position is not below `key`, or is above it."""
    while low < high:
        middle = (low + high) // 2
        rank = np.int64(words[middle] & mask)
        if rank >= signature.shape[0]:
            return DAMAGED
        other = key_of(signature[rank, position]) >> drop
        if other < key or (above and other == key):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _find_candidates(
    query: Array,
    words: Array,
    buckets: Array,
    signature: Array,
    shape: tuple[int, int, int, int, int],
    offsets: tuple[int, int, int],
    starts: Array,
    bands: Array,
    rows: Array,
    pending: Array,
    checked: Array,
    candidates: Array,
) -> tuple[int, int]:
    """Find the ranks that agree with the query in one of the bands of their partition.

    Partition p has the ranks [starts[p], starts[p + 1]); its bands are the positions [j * rows[p],
    (j + 1) * rows[p]) for j below bands[p], none if that is zero. `words` and `buckets` are those
    of `build_forest`, one row per position. `offsets` are where words, buckets and signatures begin
    in their file. Returns how many ranks were written to `candidates` (`DAMAGED` if the arrays
    cannot be right) and how many words were read.

    Memory is prefetched well before it is read, position by position.
    """
    positions = query.shape[0]
    n = signature.shape[0]
    bucket_bits, tag_bits, rank_bits, _, next_bits = shape
    mask = np.uint32((1 << rank_bits) - 1)
    drop = np.uint32(32 - bucket_bits - tag_bits)
    drop_next = np.uint32(32 - next_bits)
    shift = np.uint32(rank_bits)
    tags = np.uint32((np.uint64(1) << np.uint64(tag_bits)) - np.uint64(1))
    width = buckets.shape[1]
    seen = np.zeros((n + 63) // 64, dtype=np.uint64)
    waiting = np.empty((_WAITING, 3), dtype=np.int64)
    key = np.empty(positions, dtype=np.uint32)
    needed = np.zeros(positions, dtype=np.uint8)
    span = np.zeros((positions, 2), dtype=np.int64)
    for p in range(bands.shape[0]):
        for j in range(bands[p]):
            needed[j * rows[p]] = 1
    for s in range(positions):
        key[s] = key_of(query[s])
        if needed[s]:
            b = np.int64(np.uint64(key[s]) >> np.uint64(32 - bucket_bits))
            span[s, 0] = s * width + b
            prefetch(buckets, span[s, 0])
    for s in range(positions):
        if needed[s]:
            b = span[s, 0] - s * width
            _touch(pending, checked, offsets[1], span[s, 0], span[s, 0] + 2)
            span[s, 0] = buckets[s, b]
            span[s, 1] = buckets[s, b + 1]
            if span[s, 0] > span[s, 1] or span[s, 1] > n:
                return DAMAGED, 0
            prefetch(words, s * n + span[s, 0])
    count = 0
    read = 0
    queued = 0
    for s in range(positions):
        low, high = span[s, 0], span[s, 1]
        if low == high:
            continue
        position_words = words[s]
        tag = (key[s] >> drop) & tags
        _touch(pending, checked, offsets[0], s * n + low, s * n + high)
        low = _first_tag(position_words, low, high, tag, shift)
        end = low
        if high - low > _FEW and (position_words[low + _FEW] >> shift) == tag:
            end = (
                high
                if tag == tags
                else _first_tag(position_words, low, high, tag + np.uint32(1), shift)
            )
        while end < high and (position_words[end] >> shift) == tag:
            end += 1
        p = 0
        while low < end:
            rank = np.int64(position_words[low] & mask)
            while p + 1 < bands.shape[0] and rank >= starts[p + 1]:
                p += 1
            stop = max(low + 1, _first_rank(position_words, low, end, starts[p + 1], mask))
            r = rows[p]
            if bands[p] > 0 and s % r == 0 and s // r < bands[p]:
                a, z = low, stop
                if r > 1 and stop - low > _FEW:
                    other = key[s + 1] >> drop_next
                    a = _first_next(
                        position_words, low, stop, mask, signature, s + 1, other, drop_next, 0
                    )
                    z = _first_next(
                        position_words, max(a, 0), stop, mask, signature, s + 1, other, drop_next, 1
                    )
                    if a < 0 or z < 0:
                        return DAMAGED, read
                read += z - a
                for i in range(a, z):
                    rank = np.int64(position_words[i] & mask)
                    if rank >= n:
                        return DAMAGED, read
                    bit = np.uint64(1) << np.uint64(rank & 63)
                    if seen[rank >> 6] & bit:
                        continue
                    if r == 1:
                        seen[rank >> 6] |= bit
                        candidates[count] = rank
                        count += 1
                        continue
                    if queued == _WAITING:
                        count = _settle(waiting[:queued], query, signature, seen, candidates, count)
                        queued = 0
                    waiting[queued, 0] = rank
                    waiting[queued, 1] = s + 1
                    waiting[queued, 2] = s + r
                    queued += 1
                    _touch(
                        pending, checked, offsets[2], rank * positions + s, rank * positions + s + r
                    )
                    prefetch(signature, rank * positions + s + 1)
            low = stop
    return _settle(waiting[:queued], query, signature, seen, candidates, count), read


@kernel
def _settle(
    waiting: Array, query: Array, signature: Array, seen: Array, candidates: Array, count: int
) -> int:
    """Take the waiting (rank, first position, end) that agree with the query there."""
    for i in range(waiting.shape[0]):
        rank = waiting[i, 0]
        bit = np.uint64(1) << np.uint64(rank & 63)
        if not seen[rank >> 6] & bit and _agree(
            signature[rank], query, waiting[i, 1], waiting[i, 2]
        ):
            seen[rank >> 6] |= bit
            candidates[count] = rank
            count += 1
    return count


@kernel
def _filter_candidates(
    query: Array,
    signature: Array,
    offset: int,
    pending: Array,
    checked: Array,
    ranks: Array,
    sizes: Array,
    query_size: int,
    needed: float,
    limit: float,
    ordered: bool,
    equal: Array,
    less: Array,
) -> int:
    """Count at how many positions each ranked signature agrees with the query; drop poor ones.

    `equal` are the positions that agree, `less` those where the query has the smaller number. A set
    stays if it is large enough to contain the `needed` values, and if its counts are within `limit`
    standard deviations of those of a set that contains exactly that many (`score_counts`). Those
    that stay move to the front; returns how many there are.
    """
    positions = query.shape[0]
    remaining = 0
    for i in range(ranks.shape[0]):
        if i + _AHEAD < ranks.shape[0]:
            soon = np.int64(ranks[i + _AHEAD]) * positions
            prefetch(sizes, np.int64(ranks[i + _AHEAD]))
            for j in range(0, positions, _LINE):
                prefetch(signature, soon + j)
        rank = np.int64(ranks[i])
        size = np.float64(sizes[rank])
        if size < needed:
            continue
        _touch(pending, checked, offset, rank * positions, (rank + 1) * positions)
        row = signature[rank]
        same = np.uint32(0)
        below = np.uint32(0)
        for j in range(positions):
            same += np.uint32(row[j] == query[j])
            below += np.uint32(query[j] < row[j])
        better = 0.0
        if ordered and needed > 0.0:
            better = score_counts(int(same), int(below), positions, query_size, size, needed)
        elif needed > 0.0:
            better = score_equal_count(int(same), positions, query_size, size, needed)
        if better < -limit:
            continue
        ranks[remaining] = np.uint32(rank)
        equal[remaining] = same
        less[remaining] = below
        remaining += 1
    return remaining


WORDS, BUCKETS, SIGNATURES, SIZES, MEMBERS, MEMBER_START, STARTS, UPPERS, CHECKED = range(9)


def pack_forest(
    shape: tuple[int, int, int, int, int],
    offsets: tuple[int, int, int],
    positions: int,
    ordered: bool,
    **arrays: Array,
) -> Array:
    """Pack the arrays of a signature file into the array of numbers that `search_forest` takes."""
    names = ("words", "buckets", "signatures", "sizes", "members", "member_start", "starts",
             "uppers", "checked")  # fmt: skip
    located = pack_addresses(*(arrays[name] for name in names))
    return np.concatenate((located, [*shape, *offsets, positions, ordered])).astype(np.int64)


@kernel
def search_forest(
    file: Array,
    segment: int,
    query: Array,
    bands_and_rows: Array,
    query_size: int,
    needed: float,
    limit: float,
    pending: Array,
) -> tuple[Array, int, int, int, int]:
    """Look up, filter and estimate in a signature file packed by `pack_forest`.

    In partition p, `bands_and_rows[0, p]` bands of `bands_and_rows[1, p]` rows are looked up;
    partitions without a set of `needed` values are skipped. Returns the columns found, as (segment,
    column, size, values shared, standard error of that) in rows of one array; how many classes were
    looked up (`DAMAGED` if the arrays cannot be right) and how many of them stayed; the words read;
    and how many blocks were noted in `pending`.
    """
    shape = (file[18], file[19], file[20], file[21], file[22])
    offsets = (file[23], file[24], file[25])
    positions, ordered = file[26], file[27] != 0
    signature = words_at(file, SIGNATURES).reshape(-1, positions)
    words = words_at(file, WORDS).reshape(positions, signature.shape[0])
    buckets = words_at(file, BUCKETS).reshape(positions, (1 << shape[0]) + 1)
    sizes, members = words_at(file, SIZES), words_at(file, MEMBERS)
    member_start, starts = longs_at(file, MEMBER_START), longs_at(file, STARTS)
    uppers, checked = longs_at(file, UPPERS), flags_at(file, CHECKED)
    bands = bands_and_rows[0].copy()
    for p in range(bands.shape[0]):
        if uppers[p] < needed:
            bands[p] = 0
    candidates = np.empty(signature.shape[0], dtype=np.uint32)
    count, read = _find_candidates(
        query, words, buckets, signature, shape, offsets, starts, bands, bands_and_rows[1], pending,
        checked, candidates,
    )  # fmt: skip
    ranks = candidates[: max(count, 0)]
    equal = np.empty(ranks.shape[0], dtype=np.uint32)
    less = np.empty(ranks.shape[0], dtype=np.uint32)
    remaining = _filter_candidates(
        query, signature, offsets[2], pending, checked, ranks, sizes, query_size, needed, limit,
        ordered, equal, less,
    )  # fmt: skip
    size = np.empty(remaining, dtype=np.int64)
    total = 0
    for i in range(remaining):
        size[i] = sizes[ranks[i]]
        total += int(member_start[ranks[i] + 1]) - int(member_start[ranks[i]])
    shared = np.empty(remaining)
    error = np.empty(remaining)
    equal, less, q = equal[:remaining], less[:remaining], np.float64(query_size)
    estimate_shared(equal, less, positions, q, size, ordered, shared, error)
    out = np.empty((5, total))
    n = 0
    for i in range(remaining):
        for m in range(member_start[ranks[i]], member_start[ranks[i] + 1]):
            out[0, n] = segment
            out[1, n] = members[m]
            out[2, n] = size[i]
            out[3, n] = shared[i]
            out[4, n] = error[i]
            n += 1
    noted = 0
    for block in range(pending.shape[0]):
        noted += pending[block]
    return out, count, remaining, read, noted
