"""Pack integers: ascending lists as byte-wise differences, counts in few bits, sets as bits; and
the intersection of a query with a column's groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import intrinsic, kernel, njit
from lakejoin.model import Array

# A number is written in groups of seven bits, the lowest first; the top bit of a byte says that
# more follow. An ascending list is written as its first number, then each difference less one: a
# run of consecutive numbers costs one byte each.

_LOW = np.uint64(0x7F)
_MORE = np.uint64(0x80)
_SEVEN = np.uint64(7)
_ONE = np.uint64(1)


@njit(inline="always")
def _length(value: np.uint64) -> int:
    """Return how many bytes a packed number takes."""
    size = 1
    while value >= _MORE:
        value >>= _SEVEN
        size += 1
    return size


@njit(inline="always")
def _put(out: Array, at: int, value: np.uint64) -> int:
    """Write a packed number; return the offset after it."""
    while value >= _MORE:
        out[at] = np.uint8((value & _LOW) | _MORE)
        value >>= _SEVEN
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@njit(inline="always")
def read_packed(data: Array, at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the packed number at an offset, and the offset after it."""
    byte = np.uint64(data[at])
    at += _ONE
    value = byte & _LOW
    shift = _SEVEN
    while byte >= _MORE and at < end:
        byte = np.uint64(data[at])
        at += _ONE
        value |= (byte & _LOW) << shift
        shift += _SEVEN
    return value, at


@kernel
def _list_sizes(start: Array, values: Array, sizes: Array) -> None:
    for i in range(start.shape[0] - 1):
        total = 0
        before = np.uint64(0)
        for j in range(start[i], start[i + 1]):
            value = np.uint64(values[j])
            total += _length(value - before)
            before = value + _ONE
        sizes[i + 1] = total


@kernel
def _write_lists(start: Array, values: Array, at: Array, out: Array) -> None:
    for i in range(start.shape[0] - 1):
        offset = at[i]
        before = np.uint64(0)
        for j in range(start[i], start[i + 1]):
            value = np.uint64(values[j])
            offset = _put(out, offset, value - before)
            before = value + _ONE


def pack_lists(start: Array, values: Array) -> tuple[Array, Array]:
    """Pack the ascending lists `values[start[i]:start[i+1]]`; return (byte starts, bytes).

    >>> begin, packed = pack_lists(np.array([0, 3, 3, 4]), np.array([5, 6, 300, 7], dtype="u4"))
    >>> begin.tolist(), unpack(packed, int(begin[0]), int(begin[1])).tolist()
    ([0, 4, 4, 5], [5, 6, 300])
    """
    at = np.zeros(len(start), dtype=np.int64)
    _list_sizes(start, values, at)
    np.cumsum(at, out=at)
    out = np.empty(int(at[-1]), dtype=np.uint8)
    _write_lists(start, values, at, out)
    return at, out


@kernel
def count_packed(data: Array, begin: int, end: int) -> int:
    """Count the numbers in packed bytes."""
    count = 0
    for i in range(begin, end):
        if data[i] < 128:
            count += 1
    return count


@kernel
def unpack_into(data: Array, begin: int, end: int, out: Array) -> int:
    """Unpack one ascending list into `out`; return its length."""
    n = 0
    value = np.uint64(0)
    at, stop = np.uint64(begin), np.uint64(end)
    while at < stop:
        step, at = read_packed(data, at, stop)
        value += step
        out[n] = value
        value += _ONE
        n += 1
    return n


def unpack(data: Array, begin: int, end: int) -> Array:
    """Unpack one ascending list."""
    out = np.empty(count_packed(data, begin, end), dtype=np.uint32)
    unpack_into(data, begin, end, out)
    return out


@kernel
def unpack_lists(begin: Array, data: Array) -> tuple[Array, Array]:
    """Unpack all lists that `pack_lists` packed, as (starts, numbers)."""
    start = np.zeros(begin.shape[0], dtype=np.int64)
    for i in range(begin.shape[0] - 1):
        start[i + 1] = start[i] + count_packed(data, begin[i], begin[i + 1])
    out = np.empty(start[-1], dtype=np.uint32)
    for i in range(begin.shape[0] - 1):
        unpack_into(data, begin[i], begin[i + 1], out[start[i] : start[i + 1]])
    return start, out


@kernel
def _counts_size(counts: Array, width: int) -> int:
    """Return how many bytes `pack_counts` takes with `width` bits per count."""
    most = (1 << width) - 1
    size = 1 + (counts.shape[0] * width + 7) // 8
    for i in range(counts.shape[0]):
        if counts[i] - 1 >= most:
            size += _length(np.uint64(counts[i] - 1 - most))
    return size


@kernel
def _write_counts(counts: Array, width: int, out: Array) -> None:
    most = (1 << width) - 1
    out[0] = width
    each = 8 // width
    offset = 1 + (counts.shape[0] * width + 7) // 8
    for i in range(counts.shape[0]):
        rest = counts[i] - 1
        out[1 + i // each] |= np.uint8(min(rest, most) << (width * (i % each)))
        if rest >= most:
            offset = _put(out, offset, np.uint64(rest - most))


def pack_counts(counts: Array) -> Array:
    """Pack counts of at least one in 1, 2, 4 or 8 bits each, whichever takes least in total.

    All bits set means that the count is that large or larger; the excess follows at the end.

    >>> packed = pack_counts(np.array([1, 2, 1, 1, 300, 1, 1, 1]))
    >>> len(packed), unpack_counts(packed, 0, len(packed), 8).tolist()
    (5, [1, 2, 1, 1, 300, 1, 1, 1])
    """
    sizes = {width: _counts_size(counts, width) for width in (1, 2, 4, 8)}
    width = min(sizes, key=lambda w: sizes[w])
    out = np.zeros(sizes[width], dtype=np.uint8)
    _write_counts(counts, width, out)
    return out


@kernel
def _unpack_counts(data: Array, begin: int, end: int, out: Array) -> None:
    width = np.int64(data[begin])
    most = (np.int64(1) << width) - 1
    each = 8 // width
    at = np.uint64(begin + 1 + (out.shape[0] * width + 7) // 8)
    for i in range(out.shape[0]):
        rest = (np.int64(data[begin + 1 + i // each]) >> (width * (i % each))) & most
        if rest == most and at < np.uint64(end):
            beyond, at = read_packed(data, at, np.uint64(end))
            rest += np.int64(beyond)
        out[i] = rest + 1


def unpack_counts(data: Array, begin: int, end: int, count: int) -> Array:
    """Unpack one list of `count` counts."""
    out = np.empty(count, dtype=np.int64)
    _unpack_counts(data, begin, end, out)
    return out


@kernel
def transpose_lists(start: Array, values: Array, width: int) -> tuple[Array, Array]:
    """Turn lists of columns by group into lists of groups by column, both ascending."""
    out_start = np.zeros(width + 1, dtype=np.int64)
    for i in range(values.shape[0]):
        out_start[values[i] + 1] += 1
    for c in range(width):
        out_start[c + 1] += out_start[c]
    fill = out_start[:-1].copy()
    out = np.empty(values.shape[0], dtype=np.uint32)
    for g in range(start.shape[0] - 1):
        for j in range(start[g], start[g + 1]):
            c = values[j]
            out[fill[c]] = np.uint32(g)
            fill[c] += 1
    return out_start, out


_BIT = np.uint64(1)
_IN_WORD = np.uint64(63)
_WORD_SHIFT = np.uint64(6)


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    """Count the bits that are set in a 64-bit number."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(inline="always")
def rank_in_set(words: Array, before: Array, member: int) -> int:
    """Return how many smaller members a set has than this one, or -1 if it is no member.

    `before[w]` is how many members are in the words before word w.
    """
    bit_index = np.uint64(member)
    word = bit_index >> _WORD_SHIFT
    if word >= np.uint64(words.shape[0]):
        return np.int64(-1)
    bits, bit = words[word], _BIT << (bit_index & _IN_WORD)
    if bits & bit == np.uint64(0):
        return np.int64(-1)
    return np.int64(before[word]) + np.int64(count_ones(bits & (bit - _BIT)))


@kernel
def build_bit_set(members: Array, words: Array, before: Array) -> None:
    """Build a set of distinct members; `words` must be zero and have room for the largest.

    >>> words, before = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint32)
    >>> build_bit_set(np.array([3, 70, 64], dtype=np.uint32), words, before)
    >>> words.tolist(), before.tolist()
    ([8, 65], [0, 1])
    """
    for member in members:
        bit_index = np.uint64(member)
        words[bit_index >> _WORD_SHIFT] |= _BIT << (bit_index & _IN_WORD)
    count = np.uint64(0)
    for word in range(words.shape[0]):
        before[word] = count
        count += count_ones(words[word])


@kernel
def _from(codes: Array, at: int, least: np.int64) -> int:
    """The first position from `at` on with a code of at least `least`, by galloping search."""
    end = codes.shape[0]
    step = 1
    low = at
    while at < end and codes[at] < least:
        low = at + 1
        at += step
        step *= 2
    high = min(at, end)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def intersect_groups(
    codes: Array, groups: Array, group_start: Array, query_positions: Array, column_positions: Array
) -> int:
    """Find the codes of a query, ascending, in a column's groups; return how many there are.

    `query_positions` receives their positions among the codes, `column_positions` their positions
    in the column's set.
    """
    n = 0
    at = 0
    before = np.int64(0)
    for i in range(groups.shape[0]):
        begin = np.int64(group_start[groups[i]])
        end = np.int64(group_start[groups[i] + 1])
        at = _from(codes, at, begin)
        while at < codes.shape[0] and codes[at] < end:
            query_positions[n] = at
            column_positions[n] = before + codes[at] - begin
            n += 1
            at += 1
        if at == codes.shape[0]:
            break
        before += end - begin
    return n
