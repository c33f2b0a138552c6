"""Sample the rare tokens of a column, and look up which columns have some tokens."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.text_tokens import MAX_CHARACTERS, MAX_TOKENS, cut_tokens, token_rank
from lakejoin.model import Array

# A sample is all rare tokens of the column up to some rank, which comes with it. Tokens are counted
# in a table of limited size; when it is full, the upper half of the ranks is dropped. So memory is
# bounded however large a column is, and the counts are exact.

MAX_HOLDERS = 2  # the most values that may have a rare token
WHOLE_RANGE = np.uint64(0xFFFFFFFFFFFFFFFF)  # the rank of a sample that leaves nothing out
MAX_COUNTED = 1 << 15  # tokens counted at a time

_FEW = 1 << 10
_NO_TOKEN = np.uint64(0)
_ONE = np.uint64(1)
_SHIFT = np.uint64(20)
_BYTE, _LOW_BYTE = np.uint64(8), np.uint64(255)


@njit(nogil=True)
def _slot(keys: Array, mask: np.uint64, token: np.uint64) -> np.uint64:
    """Return where a token is in a table, or where it would go."""
    at = (token >> _SHIFT) & mask
    while keys[at] != _NO_TOKEN and keys[at] != token:
        at = (at + _ONE) & mask
    return at


@njit(nogil=True)
def _enter_again(
    keys: Array, counts: Array, holders: Array, size: int, new_size: int, limit: np.uint64
) -> int:
    """Re-enter the tokens up to a rank into a table of another size; return how many there are."""
    old_keys, old_counts = np.empty(size, np.uint64), np.empty(size, np.uint8)
    old_holders = np.empty((size, MAX_HOLDERS), np.int32)
    n = 0
    for at in range(size):
        if keys[at] != _NO_TOKEN and token_rank(keys[at]) <= limit:
            old_keys[n], old_counts[n] = keys[at], counts[at]
            old_holders[n, 0], old_holders[n, 1] = holders[at, 0], holders[at, 1]
            n += 1
    keys[:new_size] = _NO_TOKEN
    mask = np.uint64(new_size - 1)
    for k in range(n):
        slot = _slot(keys, mask, old_keys[k])
        keys[slot], counts[slot] = old_keys[k], old_counts[k]
        holders[slot, 0], holders[slot, 1] = old_holders[k, 0], old_holders[k, 1]
    return n


@njit(nogil=True)
def _count(
    offsets: Array,
    data: Array,
    values: Array,
    keys: Array,
    counts: Array,
    holders: Array,
    characters: Array,
    text_tokens: Array,
) -> tuple[int, np.uint64]:
    """Count how many of the texts `values` have each token, up to three.

    Returns the size of the table and the rank up to which tokens were counted.
    """
    limit = WHOLE_RANGE
    size = min(_FEW, keys.shape[0])
    keys[:size] = _NO_TOKEN
    mask = np.uint64(size - 1)
    known = 0
    for v in range(values.shape[0]):
        n = cut_tokens(data, offsets[values[v]], offsets[values[v] + 1], characters, text_tokens)
        for k in range(n):
            token = text_tokens[k]
            if token == _NO_TOKEN or token_rank(token) > limit:
                continue
            at = _slot(keys, mask, token)
            if keys[at] == token:
                if counts[at] == 1 and holders[at, 0] != v:
                    counts[at] = 2
                    holders[at, 1] = v
                elif counts[at] == 2 and holders[at, 1] != v:
                    counts[at] = 3
                continue
            if 2 * (known + 1) > size:
                if size < keys.shape[0]:
                    known = _enter_again(keys, counts, holders, size, 2 * size, limit)
                    size *= 2
                    mask = np.uint64(size - 1)
                while 2 * (known + 1) > size:
                    limit >>= _ONE
                    known = _enter_again(keys, counts, holders, size, size, limit)
                if token_rank(token) > limit:
                    continue
                at = _slot(keys, mask, token)
            keys[at] = token
            counts[at] = 1
            holders[at, 0] = v
            holders[at, 1] = -1
            known += 1
    return size, limit


@njit(nogil=True)
def _lowest(ranks: Array, n: int, most: int) -> np.uint64:
    """Return the largest of the `most` lowest of the first n ranks: byte by byte, highest first."""
    counts = np.empty(256, np.int64)
    prefix = _NO_TOKEN  # the bytes decided so far
    remaining = most
    for byte in range(8):
        shift = np.uint64(56 - 8 * byte)
        counts[:] = 0
        for i in range(n):
            if byte == 0 or (ranks[i] >> shift) >> _BYTE == prefix:
                counts[np.int64((ranks[i] >> shift) & _LOW_BYTE)] += 1
        digit = 0
        while remaining > counts[digit]:
            remaining -= counts[digit]
            digit += 1
        prefix = (prefix << _BYTE) | np.uint64(digit)
    return prefix


@njit(nogil=True)
def _choose(
    keys: Array,
    counts: Array,
    token_holders: Array,
    limit: np.uint64,
    most: int,
    tokens: Array,
    holders: Array,
) -> tuple[int, np.uint64]:
    """Write the rare tokens of lowest rank; return how many, and up to which rank they go."""
    ranks = np.empty(keys.shape[0], np.uint64)
    rare = 0
    for at in range(keys.shape[0]):
        if keys[at] != _NO_TOKEN and counts[at] <= MAX_HOLDERS:
            ranks[rare] = token_rank(keys[at])
            rare += 1
    if rare > most:
        limit = _lowest(ranks, rare, most)
    n = 0
    for at in range(keys.shape[0]):
        if keys[at] != _NO_TOKEN and counts[at] <= MAX_HOLDERS and token_rank(keys[at]) <= limit:
            tokens[n] = keys[at]
            holders[n, 0] = token_holders[at, 0]
            holders[n, 1] = token_holders[at, 1]
            n += 1
    return n, limit


@kernel
def sample_text_tokens(
    offsets: Array, data: Array, values: Array, most: int, counted: int
) -> tuple[Array, Array, np.uint64]:
    """Sample at most `most` rare tokens of the texts `values`.

    Returns the tokens, the one or two values (by index) that have each, -1 if none, and the rank up
    to which the sample goes.
    """
    keys, counts = np.empty(2 * counted, np.uint64), np.empty(2 * counted, np.uint8)
    token_holders = np.empty((2 * counted, MAX_HOLDERS), np.int32)
    characters, text_tokens = np.empty(MAX_CHARACTERS, np.uint32), np.empty(MAX_TOKENS, np.uint64)
    tokens, holders = np.empty(most, np.uint64), np.empty((most, MAX_HOLDERS), np.int32)
    size, limit = _count(
        offsets, data, values, keys, counts, token_holders, characters, text_tokens
    )
    n, limit = _choose(keys[:size], counts, token_holders, limit, most, tokens, holders)
    return tokens[:n].copy(), holders[:n].copy(), limit


@kernel
def sample_column_tokens(
    columns: Array,
    set_start: Array,
    groups: Array,
    group_start: Array,
    offsets: Array,
    data: Array,
    most: Array,
    counted: int,
    limits: Array,
    token_counts: Array,
    tokens: Array,
) -> int:
    """Write samples of columns whose sets are unions of groups of codes, one after another.

    Each has at most `most[i]` tokens; `offsets` is by code. Returns how many there are in total.
    """
    keys, counts = np.empty(2 * counted, np.uint64), np.empty(2 * counted, np.uint8)
    token_holders = np.empty((2 * counted, MAX_HOLDERS), np.int32)
    characters, text_tokens = np.empty(MAX_CHARACTERS, np.uint32), np.empty(MAX_TOKENS, np.uint64)
    total = 0
    for i in range(columns.shape[0]):
        begin, end = set_start[columns[i]], set_start[columns[i] + 1]
        size = 0
        for j in range(begin, end):
            size += group_start[groups[j] + 1] - group_start[groups[j]]
        values = np.empty(size, np.int64)
        size = 0
        for j in range(begin, end):
            for code in range(group_start[groups[j]], group_start[groups[j] + 1]):
                values[size] = code
                size += 1
        slots, limit = _count(
            offsets, data, values, keys, counts, token_holders, characters, text_tokens
        )
        holders = np.empty((most[i], MAX_HOLDERS), np.int32)
        room = tokens[total : total + most[i]]
        token_counts[i], limits[i] = _choose(
            keys[:slots], counts, token_holders, limit, most[i], room, holders
        )
        total += token_counts[i]
    return total


@kernel
def find_token_holders(
    offsets: Array, data: Array, tokens: Array, limit: np.uint64, counts: Array, holders: Array
) -> None:
    """Count the texts that have each of some tokens, up to three, and find the first two of them.

    No token has a rank above `limit`, so most tokens of a text need not be looked up.
    """
    size = 16
    while size < 4 * tokens.shape[0]:
        size *= 2
    mask = np.uint64(size - 1)
    keys, which = np.zeros(size, np.uint64), np.empty(size, np.int64)
    for k in range(tokens.shape[0]):
        at = _slot(keys, mask, tokens[k])
        keys[at] = tokens[k]
        which[at] = k
    characters, text_tokens = np.empty(MAX_CHARACTERS, np.uint32), np.empty(MAX_TOKENS, np.uint64)
    counts[:] = 0
    holders[:] = -1
    for v in range(offsets.shape[0] - 1):
        n = cut_tokens(data, offsets[v], offsets[v + 1], characters, text_tokens)
        for k in range(n):
            if text_tokens[k] == _NO_TOKEN or token_rank(text_tokens[k]) > limit:
                continue
            at = _slot(keys, mask, text_tokens[k])
            if keys[at] == _NO_TOKEN:
                continue
            index = which[at]
            count = counts[index]
            if count > MAX_HOLDERS or (count > 0 and holders[index, count - 1] == v):
                continue
            if count < MAX_HOLDERS:
                holders[index, count] = v
            counts[index] = count + 1


_TAG_BITS = np.uint64(0xFFFFFFFF)


@kernel
def find_tag_spans(span: Array, tags: Array, hashes: Array, out: Array) -> None:
    """Narrow each hash's bucket, `span`, to the entries with its tag; tags ascend in a bucket."""
    for k in range(hashes.shape[0]):
        tag = np.uint32(hashes[k] & _TAG_BITS)
        low, high = span[k, 0], span[k, 1]
        while low < high:
            middle = (low + high) // 2
            if tags[middle] < tag:
                low = middle + 1
            else:
                high = middle
        out[k, 0] = low
        while high < span[k, 1] and tags[high] == tag:
            high += 1
        out[k, 1] = high


@kernel
def count_holding_columns(span: Array, columns: Array, left_out: Array, counts: Array) -> None:
    """Add to each token's count how many columns have it, except those left out."""
    for k in range(span.shape[0]):
        for e in range(span[k, 0], span[k, 1]):
            if not left_out[columns[e]]:
                counts[k] += 1


@kernel
def add_matches(
    values: Array,
    tokens: Array,
    weights: Array,
    span: Array,
    columns: Array,
    matches: Array,
    nats: Array,
) -> None:
    """Add to each column how many values match it, and per value the largest weight of a shared
    token.

    `values`, ascending, have the tokens `tokens`.
    """
    last = np.full(matches.shape[0], -1, np.int64)
    best = np.zeros(matches.shape[0], np.float64)
    for i in range(values.shape[0]):
        value, token = np.int64(values[i]), tokens[i]
        weight = weights[token]
        for e in range(span[token, 0], span[token, 1]):
            column = columns[e]
            if last[column] != value:
                last[column] = value
                best[column] = weight
                matches[column] += 1
                nats[column] += weight
            elif weight > best[column]:
                nats[column] += weight - best[column]
                best[column] = weight
