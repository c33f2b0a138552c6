"""From hashed (column, value) pairs to codes, groups and posting lists.

| symbol | meaning |
| --- | --- |
| pair | one distinct value of one column; the pairs of a column are adjacent, columns ascend |
| token | one distinct value of the segment: all pairs with the same hash |
| list | a token's posting list: the *indexed* columns that contain it, ascending |
| group | all tokens with exactly the same list |
| code | a token's number: groups by rising list length, then by list; inside a group by hash |

The pairs are first partitioned by the top bits of their hash into buckets that fit the cache; then
each bucket's tokens are numbered, and their lists are built and looked up among the groups while
the bucket is in the cache. Only one list per group is kept. Time is linear in the pairs; the peak
is about 36 bytes per pair if all values differ, less if they recur.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.kernels.hashes import bucket_of, finish, mix, same_bytes
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

_BUCKET_PAIRS = 12_288
_EMPTY = np.uint32(0xFFFFFFFF)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@dataclass(frozen=True, slots=True)
class TokenGroups:
    """The result of `group_pairs`: tokens by code, groups by rank, and the code of every pair.

    `first_pair[code]` is a pair that has the token's text; `group_start` (groups + 1) splits the
    codes; `list_start` (groups + 1) splits `list_columns`, the posting lists.
    """

    pair_code: Array
    token_hash: Array
    first_pair: Array
    group_start: Array
    list_start: Array
    list_columns: Array


def group_pairs(
    make_hashes: Callable[[], Array], column_start: Array, indexed: Array
) -> TokenGroups:
    """Group pairs by hash into tokens, and tokens by posting list into groups.

    The hashes are made here and freed as soon as they are partitioned. Two different texts with one
    hash would become one token: see `find_first_mismatch`.

    >>> h = np.array([5, 9, 5, 9, 7], dtype=np.uint64)
    >>> g = group_pairs(lambda: h, np.array([0, 2, 5]), np.array([True, True]))
    >>> g.pair_code.tolist(), g.group_start.tolist(), g.list_columns.tolist()
    ([1, 2, 1, 2, 0], [0, 1, 3], [1, 0, 1])
    """
    # The large arrays are allocated here, not in compiled code: numpy asks for huge pages. Those of
    # the tokens have room for one per pair; what stays untouched takes no memory.
    hashes = make_hashes()
    pairs = len(hashes)
    entries = np.empty((pairs, 2), dtype=np.uint64)
    bucket_start = _partition(hashes, column_start, indexed, _bucket_bits(pairs), entries)
    del hashes
    first_pair = np.empty(pairs, dtype=np.uint32)
    token_hash = np.empty(pairs, dtype=np.uint64)
    token_group = np.empty(pairs, dtype=np.uint32)
    tokens, list_start, lists = _group_entries(
        entries, bucket_start, len(indexed), first_pair, token_hash, token_group
    )
    rank, list_start, lists = _order_groups(list_start, lists)
    token_code = np.empty(tokens, dtype=np.uint32)
    group_start = _number_codes(rank, token_group[:tokens], token_code)
    del token_group
    pair_code = np.empty(pairs, dtype=np.uint32)
    _scatter_codes(entries, token_code, pair_code)
    del entries
    return TokenGroups(
        pair_code,
        _permute(token_hash[:tokens], token_code),
        _permute(first_pair[:tokens], token_code),
        group_start,
        list_start,
        lists,
    )


def _bucket_bits(pairs: int) -> int:
    return max(0, min(14, (max(1, pairs) // _BUCKET_PAIRS).bit_length()))


@kernel
def _partition(
    hashes: Array, column_start: Array, indexed: Array, bits: int, entries: Array
) -> Array:
    """Sort the pairs by the top bits of their hash into entries of (hash, column and pair).

    A column that is not indexed reads _EMPTY.
    """
    shift = np.uint64(64 - bits)
    start = np.zeros((1 << bits) + 1, dtype=np.int64)
    for i in range(hashes.shape[0]):
        start[bucket_of(hashes[i], shift) + 1] += 1
    for b in range(1 << bits):
        start[b + 1] += start[b]
    fill = start[:-1].copy()
    for c in range(column_start.shape[0] - 1):
        column = np.uint64(c if indexed[c] else _EMPTY) << _HALF
        for i in range(column_start[c], column_start[c + 1]):
            b = bucket_of(hashes[i], shift)
            at = fill[b]
            fill[b] = at + 1
            entries[at, 0] = hashes[i]
            entries[at, 1] = column | np.uint64(i)
    return start


@kernel
def _group_entries(
    entries: Array,
    bucket_start: Array,
    columns: int,
    first_pair: Array,
    token_hash: Array,
    token_group: Array,
) -> tuple[int, Array, Array]:
    """Number the tokens bucket by bucket and find the group of each.

    Each entry's hash is replaced by its token. Returns the number of tokens, and the groups' lists
    (starts and columns) in the order of discovery.
    """
    largest = 0
    for b in range(bucket_start.shape[0] - 1):
        largest = max(largest, bucket_start[b + 1] - bucket_start[b])
    slots = np.empty(_power_above(2 * largest), dtype=np.uint32)
    start = np.empty(largest + 1, dtype=np.int64)
    members = np.empty(largest, dtype=np.uint32)
    table, table_hash = _new_table(1 << 12)
    of_one_column = np.full(columns + 1, _EMPTY, dtype=np.uint32)  # the last: tokens in no column
    list_start = np.zeros(1 << 10, dtype=np.int64)
    lists = np.empty(1 << 12, dtype=np.uint32)
    tokens = groups = hashed = 0
    for b in range(bucket_start.shape[0] - 1):
        begin, end = bucket_start[b], bucket_start[b + 1]
        bucket_tokens = _number_bucket(
            entries, begin, end, tokens, slots, start, first_pair, token_hash
        )
        _collect_lists(entries, begin, end, tokens, bucket_tokens, start, members)
        for local in range(bucket_tokens):
            first = start[local - 1] if local > 0 else 0
            length = start[local] - first
            # Make room for one more group and its list, in case this token begins one.
            if groups + 2 > list_start.shape[0]:
                list_start = _doubled(list_start, groups + 1)
            while list_start[groups] + length > lists.shape[0]:
                lists = _doubled(lists, list_start[groups])
            if 2 * hashed >= table.shape[0]:
                table, table_hash = _grown_table(table, table_hash)
            if length <= 1:
                column = columns if length == 0 else np.int64(members[first])
                group_index = of_one_column[column]
                if group_index == _EMPTY:
                    group_index = np.uint32(groups)
                    of_one_column[column] = group_index
            else:
                group_index = _find_list(
                    members, first, length, lists, list_start, groups, table, table_hash
                )
                hashed += group_index == groups
            if group_index == groups:
                for i in range(length):
                    lists[list_start[groups] + i] = members[first + i]
                list_start[groups + 1] = list_start[groups] + length
                groups += 1
            token_group[tokens + local] = group_index
        tokens += bucket_tokens
    return tokens, list_start[: groups + 1].copy(), lists[: list_start[groups]].copy()


@njit(inline="always")
def _power_above(n: int) -> int:
    width = 4
    while width < n:
        width *= 2
    return width


@kernel
def _number_bucket(
    entries: Array,
    begin: int,
    end: int,
    tokens: int,
    slots: Array,
    lengths: Array,
    first_pair: Array,
    token_hash: Array,
) -> int:
    """Number the tokens of a bucket from `tokens` on, and count the lengths of their lists."""
    mask = np.uint64(_power_above(2 * (end - begin)) - 1)
    slots[: np.int64(mask) + 1] = _EMPTY
    bucket_tokens = 0
    for e in range(begin, end):
        h = entries[e, 0]
        at = h & mask
        while slots[at] != _EMPTY and token_hash[tokens + slots[at]] != h:
            at = (at + _ONE) & mask
        local: Any = np.int64(slots[at])
        if slots[at] == _EMPTY:
            local = bucket_tokens
            slots[at] = np.uint32(bucket_tokens)
            token_hash[tokens + bucket_tokens] = h
            first_pair[tokens + bucket_tokens] = np.uint32(entries[e, 1] & _LOW)
            lengths[bucket_tokens] = 0
            bucket_tokens += 1
        entries[e, 0] = np.uint64(tokens + local)
        lengths[local] += entries[e, 1] >> _HALF != np.uint64(_EMPTY)
    return bucket_tokens


@kernel
def _collect_lists(
    entries: Array,
    begin: int,
    end: int,
    tokens: int,
    bucket_tokens: int,
    start: Array,
    members: Array,
) -> None:
    """Turn lengths into list ends, and collect the columns of each token of a bucket."""
    total = 0
    for local in range(bucket_tokens):
        length = start[local]
        start[local] = total
        total += length
    for e in range(begin, end):
        column = entries[e, 1] >> _HALF
        if column != np.uint64(_EMPTY):
            local_token = np.int64(entries[e, 0]) - tokens
            members[start[local_token]] = np.uint32(column)
            start[local_token] += 1


@kernel
def _find_list(
    members: Array,
    first: int,
    length: int,
    lists: Array,
    list_start: Array,
    groups: int,
    table: Array,
    table_hash: Array,
) -> np.uint32:
    """Return the group with exactly this list; if there is none, enter a new one into the table."""
    h = np.uint64(length)
    for i in range(first, first + length):
        h = mix(h, np.uint64(members[i]))
    h = finish(h)
    mask = np.uint64(table.shape[0] - 1)
    at = h & mask
    while table[at] != _EMPTY:
        if table_hash[at] == h:
            other = list_start[table[at]]
            same = list_start[table[at] + np.uint32(1)] - other == length
            if same and _same_list(members, first, lists, other, length):
                return table[at]
        at = (at + _ONE) & mask
    table[at] = np.uint32(groups)
    table_hash[at] = h
    return np.uint32(groups)


@kernel
def _new_table(width: int) -> tuple[Array, Array]:
    return np.full(width, _EMPTY, dtype=np.uint32), np.empty(width, dtype=np.uint64)


@kernel
def _grown_table(table: Array, table_hash: Array) -> tuple[Array, Array]:
    new_table, new_hash = _new_table(2 * table.shape[0])
    mask = np.uint64(new_table.shape[0] - 1)
    for i in range(table.shape[0]):
        if table[i] != _EMPTY:
            at = table_hash[i] & mask
            while new_table[at] != _EMPTY:
                at = (at + _ONE) & mask
            new_table[at] = table[i]
            new_hash[at] = table_hash[i]
    return new_table, new_hash


@kernel
def _doubled(values: Array, used: int) -> Array:
    grown = np.empty(2 * values.shape[0], dtype=values.dtype)
    grown[:used] = values[:used]
    return grown


def _order_groups(list_start: Array, lists: Array) -> tuple[Array, Array, Array]:
    """Rank the groups by (list length, list); return the ranks and the lists in that order.

    Lists of equal length are compared by their first three columns; remaining ties keep the order
    of discovery, which depends on the content alone.
    """
    begin = list_start[:-1]
    length = np.diff(list_start)
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


@kernel
def _copy_lists(begin: Array, new_start: Array, lists: Array, out: Array) -> None:
    for g in range(begin.shape[0]):
        at = begin[g]
        for i in range(new_start[g], new_start[g + 1]):
            out[i] = lists[at]
            at += 1


@kernel
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


@kernel
def _scatter_codes(entries: Array, token_code: Array, pair_code: Array) -> None:
    for e in range(entries.shape[0]):
        pair_code[entries[e, 1] & _LOW] = token_code[entries[e, 0]]


def _permute(values: Array, position: Array) -> Array:
    out = np.empty_like(values)
    out[position] = values
    return out


@kernel
def find_first_mismatch(offsets: Array, data: Array, pair_code: Array, first_pair: Array) -> int:
    """Return the first pair whose text differs from its token's, or -1: the exactness check."""
    for p in range(pair_code.shape[0]):
        q = np.int64(first_pair[pair_code[p]])
        if q == p:
            continue
        a, b = offsets[p], offsets[q]
        length = offsets[p + 1] - a
        if offsets[q + 1] - b != length or not same_bytes(data, a, data, b, length):
            return p
    return -1


@njit(inline="always")
def _same_list(left: Array, a: int, right: Array, b: int, length: int) -> bool:
    for i in range(length):  # noqa: SIM110 (compiled code)
        if left[a + i] != right[b + i]:
            return False
    return True


@kernel
def group_sorted_tokens(list_start: Array, lists: Array) -> tuple[Array, Array, Array]:
    """Group tokens that are already in code order: neighbours with equal lists.

    Returns (group_start, list_start by group, lists by group), as `group_pairs` does.
    """
    tokens = list_start.shape[0] - 1
    leader = np.empty(tokens, dtype=np.int64)
    groups = 0
    for t in range(tokens):
        length = list_start[t + 1] - list_start[t]
        if groups > 0:
            other = list_start[leader[groups - 1]]
            same = list_start[leader[groups - 1] + 1] - other == length
            if same and _same_list(lists, list_start[t], lists, other, length):
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
