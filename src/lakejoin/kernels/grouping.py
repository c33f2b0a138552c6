"""From hashed (column, value) pairs to codes, groups and posting lists.

| symbol | meaning |
| --- | --- |
| pair | one distinct value of one column; the pairs of a column are adjacent, columns ascend |
| token | one distinct value of the segment: all pairs with the same hash |
| list | a token's posting list: the *indexed* columns that hold it, ascending |
| group | all tokens with exactly the same list |
| code | a token's number: groups by rising list length, then by list; inside a group by hash |

The pairs are first partitioned by the top bits of their hash into buckets that fit the cache, so
that everything random happens inside a bucket. Time is linear in the pairs; the peak is about 32
bytes a pair and 24 a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.hashing import bucket_of, finish, mix

Array = np.ndarray[Any, Any]

_BUCKET_PAIRS = 8192
_EMPTY = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Groups:
    """The result of `group`: tokens by code, groups by rank, and the code of every pair.

    `first_pair[code]` is a pair that holds the token's text; `group_start` (groups + 1) splits the
    codes; `list_start` (groups + 1) splits `list_columns`, the posting lists.
    """

    pair_code: Array
    token_hash: Array
    first_pair: Array
    group_start: Array
    list_start: Array
    list_columns: Array


def group(hashes: Array, column_start: Array, indexed: Array) -> Groups:
    """Groups pairs by hash into tokens, and tokens by posting list into groups.

    Two different texts with one hash would become one token: see `first_mismatch`.

    >>> h = np.array([5, 9, 5, 9, 7], dtype=np.uint64)
    >>> g = group(h, np.array([0, 2, 5]), np.array([True, True]))
    >>> g.pair_code.tolist(), g.group_start.tolist(), g.list_columns.tolist()
    ([1, 2, 1, 2, 0], [0, 1, 3], [1, 0, 1])
    """
    # The large arrays are made here and not in compiled code: numpy asks for huge pages.
    pairs = len(hashes)
    entry_hash = np.empty(pairs, dtype=np.uint64)
    entry_pair = np.empty(pairs, dtype=np.uint32)
    entry_column = np.empty(pairs, dtype=np.uint32)
    bucket_start = _partition(
        hashes, column_start, indexed, _bucket_bits(pairs), entry_hash, entry_pair, entry_column
    )
    entry_token = np.empty(pairs, dtype=np.uint32)
    tokens = _number_tokens(entry_hash, bucket_start, entry_token)
    first_pair = np.empty(tokens, dtype=np.uint32)
    token_hash = np.empty(tokens, dtype=np.uint64)
    list_start = np.zeros(tokens + 1, dtype=np.int64)
    _describe_tokens(
        entry_token, entry_hash, entry_pair, entry_column, first_pair, token_hash, list_start
    )
    del entry_hash
    np.cumsum(list_start, out=list_start)
    lists = np.empty(int(list_start[-1]), dtype=np.uint32)
    _fill_lists(entry_token, entry_column, list_start[:-1].copy(), lists)
    del entry_column
    token_group = np.empty(tokens, dtype=np.uint32)
    leaders = _group_lists(list_start, lists, len(indexed), token_group)
    rank, group_lists_start, group_lists = _order_groups(leaders, list_start, lists)
    del lists, list_start
    token_code = np.empty(tokens, dtype=np.uint32)
    group_start = _number_codes(rank, token_group, token_code)
    pair_code = np.empty(pairs, dtype=np.uint32)
    _scatter_codes(entry_token, entry_pair, token_code, pair_code)
    return Groups(
        pair_code,
        _permute(token_hash, token_code),
        _permute(first_pair, token_code),
        group_start,
        group_lists_start,
        group_lists,
    )


def _bucket_bits(pairs: int) -> int:
    return max(0, min(14, (max(1, pairs) // _BUCKET_PAIRS).bit_length()))


@njit(cache=True, nogil=True)
def _partition(
    hashes: Array,
    column_start: Array,
    indexed: Array,
    bits: int,
    out_hash: Array,
    out_pair: Array,
    out_column: Array,
) -> Array:
    """Sorts the pairs by the top bits of their hash; a column that is not indexed reads _EMPTY."""
    shift = np.uint64(64 - bits)
    n = hashes.shape[0]
    start = np.zeros((1 << bits) + 1, dtype=np.int64)
    for i in range(n):
        start[bucket_of(hashes[i], shift) + 1] += 1
    for b in range(1 << bits):
        start[b + 1] += start[b]
    fill = start[:-1].copy()
    for c in range(column_start.shape[0] - 1):
        column = np.uint32(c) if indexed[c] else _EMPTY
        for i in range(column_start[c], column_start[c + 1]):
            b = bucket_of(hashes[i], shift)
            at = fill[b]
            fill[b] = at + 1
            out_hash[at] = hashes[i]
            out_pair[at] = np.uint32(i)
            out_column[at] = column
    return start


@njit(cache=True, nogil=True)
def _number_tokens(entry_hash: Array, bucket_start: Array, entry_token: Array) -> int:
    """Numbers the tokens by bucket, then by first appearance; returns how many there are."""
    largest = 0
    for b in range(bucket_start.shape[0] - 1):
        largest = max(largest, bucket_start[b + 1] - bucket_start[b])
    size = 4
    while size < 2 * largest:
        size *= 2
    slot_token = np.empty(size, dtype=np.uint32)
    slot_hash = np.empty(size, dtype=np.uint64)
    tokens = 0
    for b in range(bucket_start.shape[0] - 1):
        begin, end = bucket_start[b], bucket_start[b + 1]
        width = 4
        while width < 2 * (end - begin):
            width *= 2
        mask = np.uint64(width - 1)
        slot_token[:width] = _EMPTY
        for e in range(begin, end):
            h = entry_hash[e]
            at = h & mask
            while slot_token[at] != _EMPTY and slot_hash[at] != h:
                at = (at + np.uint64(1)) & mask
            if slot_token[at] == _EMPTY:
                slot_token[at] = np.uint32(tokens)
                slot_hash[at] = h
                tokens += 1
            entry_token[e] = slot_token[at]
    return tokens


@njit(cache=True, nogil=True)
def _describe_tokens(
    entry_token: Array,
    entry_hash: Array,
    entry_pair: Array,
    entry_column: Array,
    first_pair: Array,
    token_hash: Array,
    list_length: Array,
) -> None:
    """Writes each token's first pair and hash, and its list's length one place further on."""
    seen = 0
    for e in range(entry_token.shape[0]):
        t = np.int64(entry_token[e])
        if t == seen:
            first_pair[t] = entry_pair[e]
            token_hash[t] = entry_hash[e]
            seen += 1
        if entry_column[e] != _EMPTY:
            list_length[t + 1] += 1


@njit(cache=True, nogil=True)
def _fill_lists(entry_token: Array, entry_column: Array, fill: Array, lists: Array) -> None:
    for e in range(entry_token.shape[0]):
        if entry_column[e] != _EMPTY:
            t = entry_token[e]
            lists[fill[t]] = entry_column[e]
            fill[t] += 1


@njit(inline="always")
def _same_list(lists: Array, a: int, b: int, length: int) -> bool:
    for i in range(length):  # noqa: SIM110 (compiled code)
        if lists[a + i] != lists[b + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _group_lists(list_start: Array, lists: Array, columns: int, token_group: Array) -> Array:
    """Gives tokens with equal lists one group number; returns the first token of each group."""
    tokens = list_start.shape[0] - 1
    leaders = np.empty(min(tokens, 1024), dtype=np.uint32)
    of_one_column = np.full(columns + 1, _EMPTY, dtype=np.uint32)  # the last one: no column
    width = 1024
    slots = np.full(width, _EMPTY, dtype=np.uint32)
    slot_hash = np.empty(width, dtype=np.uint64)
    hashed = 0
    groups = 0
    for t in range(tokens):
        begin = list_start[t]
        length = list_start[t + 1] - begin
        found = _EMPTY
        place = np.uint64(0)
        h = np.uint64(0)
        if length <= 1:
            single = columns if length == 0 else np.int64(lists[begin])
            found = of_one_column[single]
        else:
            h = np.uint64(length)
            for i in range(begin, begin + length):
                h = mix(h, np.uint64(lists[i]))
            h = finish(h)
            place = h & np.uint64(width - 1)
            while slots[place] != _EMPTY:
                if slot_hash[place] == h:
                    other = list_start[leaders[slots[place]]]
                    other_length = list_start[leaders[slots[place]] + 1] - other
                    if other_length == length and _same_list(lists, begin, other, length):
                        found = slots[place]
                        break
                place = (place + np.uint64(1)) & np.uint64(width - 1)
        if found == _EMPTY:
            found = np.uint32(groups)
            if groups == leaders.shape[0]:
                grown = np.empty(2 * groups, dtype=np.uint32)
                grown[:groups] = leaders
                leaders = grown
            leaders[groups] = np.uint32(t)
            groups += 1
            if length <= 1:
                of_one_column[single] = found
            else:
                slots[place] = found
                slot_hash[place] = h
                hashed += 1
                if 2 * hashed > width:
                    slots, slot_hash = _grow(slots, slot_hash)
                    width = slots.shape[0]
        token_group[t] = found
    return leaders[:groups].copy()


@njit(cache=True, nogil=True)
def _grow(slots: Array, slot_hash: Array) -> tuple[Array, Array]:
    width = 2 * slots.shape[0]
    new_slots = np.full(width, _EMPTY, dtype=np.uint32)
    new_hash = np.empty(width, dtype=np.uint64)
    mask = np.uint64(width - 1)
    for i in range(slots.shape[0]):
        if slots[i] != _EMPTY:
            at = slot_hash[i] & mask
            while new_slots[at] != _EMPTY:
                at = (at + np.uint64(1)) & mask
            new_slots[at] = slots[i]
            new_hash[at] = slot_hash[i]
    return new_slots, new_hash


def _order_groups(leaders: Array, list_start: Array, lists: Array) -> tuple[Array, Array, Array]:
    """Ranks the groups by (list length, list); returns the rank and the lists in that order.

    Lists of equal length are compared by their first three columns; what still ties keeps the
    order of discovery, which depends on the content alone.
    """
    begin = list_start[leaders]
    length = list_start[leaders.astype(np.int64) + 1] - begin
    major = (length.astype(np.uint64) << np.uint64(32)) | _nth_column(begin, length, lists, 0)
    minor = (_nth_column(begin, length, lists, 1) << np.uint64(32)) | _nth_column(
        begin, length, lists, 2
    )
    order = np.lexsort((minor, major))
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    new_start = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(length[order], out=new_start[1:])
    new_lists = np.empty(int(new_start[-1]), dtype=np.uint32)
    _copy_lists(begin[order], new_start, lists, new_lists)
    return rank, new_start, new_lists


def _nth_column(begin: Array, length: Array, lists: Array, n: int) -> Array:
    out = np.zeros(len(begin), dtype=np.uint64)
    has = length > n
    out[has] = lists[begin[has] + n]
    return out


@njit(cache=True, nogil=True)
def _copy_lists(begin: Array, new_start: Array, lists: Array, out: Array) -> None:
    for g in range(begin.shape[0]):
        at = begin[g]
        for i in range(new_start[g], new_start[g + 1]):
            out[i] = lists[at]
            at += 1


@njit(cache=True, nogil=True)
def _number_codes(rank: Array, token_group: Array, token_code: Array) -> Array:
    groups = rank.shape[0]
    start = np.zeros(groups + 1, dtype=np.uint32)
    for t in range(token_group.shape[0]):
        start[rank[token_group[t]] + np.uint32(1)] += np.uint32(1)
    for g in range(groups):
        start[g + 1] += start[g]
    fill = start[:-1].copy()
    for t in range(token_group.shape[0]):
        g = rank[token_group[t]]
        token_code[t] = fill[g]
        fill[g] += np.uint32(1)
    return start


@njit(cache=True, nogil=True)
def _scatter_codes(
    entry_token: Array, entry_pair: Array, token_code: Array, pair_code: Array
) -> None:
    for e in range(entry_token.shape[0]):
        pair_code[entry_pair[e]] = token_code[entry_token[e]]


def _permute(values: Array, place: Array) -> Array:
    out = np.empty_like(values)
    out[place] = values
    return out


@njit(cache=True, nogil=True)
def first_mismatch(offsets: Array, data: Array, pair_code: Array, first_pair: Array) -> int:
    """The first pair whose text differs from its token's text, or -1: the exactness check."""
    for p in range(pair_code.shape[0]):
        q = np.int64(first_pair[pair_code[p]])
        if q == p:
            continue
        a, b = offsets[p], offsets[q]
        length = offsets[p + 1] - a
        if offsets[q + 1] - b != length:
            return p
        for i in range(length):
            if data[a + i] != data[b + i]:
                return p
    return -1


@njit(cache=True, nogil=True)
def group_ordered(list_start: Array, lists: Array) -> tuple[Array, Array, Array]:
    """Groups tokens that already stand in code order: neighbours with equal lists.

    Returns (group_start, list_start by group, lists by group), as `group` does.
    """
    tokens = list_start.shape[0] - 1
    leader = np.empty(tokens, dtype=np.int64)
    groups = 0
    for t in range(tokens):
        length = list_start[t + 1] - list_start[t]
        if groups > 0:
            other = list_start[leader[groups - 1]]
            same = list_start[leader[groups - 1] + 1] - other == length
            if same and _same_list(lists, list_start[t], other, length):
                continue
        leader[groups] = t
        groups += 1
    group_start = np.empty(groups + 1, dtype=np.uint32)
    group_start[groups] = tokens
    new_start = np.zeros(groups + 1, dtype=np.int64)
    begin = np.empty(groups, dtype=np.int64)
    for g in range(groups):
        group_start[g] = np.uint32(leader[g])
        begin[g] = list_start[leader[g]]
        new_start[g + 1] = new_start[g] + list_start[leader[g] + 1] - begin[g]
    out = np.empty(new_start[groups], dtype=np.uint32)
    _copy_lists(begin, new_start, lists, out)
    return group_start, new_start, out
