"""Ascending lists packed as byte-wise differences, and counts packed as bytes.

A number is written in groups of seven bits, the lowest first; the top bit of a byte says that
more follow. An ascending list is written as its first number, then each difference less one: a
run of neighbours costs one byte each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

_LOW = np.uint64(0x7F)
_MORE = np.uint64(0x80)
_SEVEN = np.uint64(7)
_ONE = np.uint64(1)


@njit(inline="always")
def _length(value: np.uint64) -> int:
    size = 1
    while value >= _MORE:
        value >>= _SEVEN
        size += 1
    return size


@njit(inline="always")
def _put(out: Array, at: int, value: np.uint64) -> int:
    while value >= _MORE:
        out[at] = np.uint8((value & _LOW) | _MORE)
        value >>= _SEVEN
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@njit(inline="always")
def _get(data: Array, at: int, end: int) -> tuple[np.uint64, int]:
    byte = np.uint64(data[at])
    value = byte & _LOW
    shift = _SEVEN
    at += 1
    while byte >= _MORE and at < end:
        byte = np.uint64(data[at])
        value |= (byte & _LOW) << shift
        shift += _SEVEN
        at += 1
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
        place = at[i]
        before = np.uint64(0)
        for j in range(start[i], start[i + 1]):
            value = np.uint64(values[j])
            place = _put(out, place, value - before)
            before = value + _ONE


def pack_lists(start: Array, values: Array) -> tuple[Array, Array]:
    """Packs the ascending lists `values[start[i]:start[i+1]]`; returns (byte starts, bytes).

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
    """How many numbers the packed bytes hold."""
    count = 0
    for i in range(begin, end):
        if data[i] < 128:
            count += 1
    return count


@kernel
def unpack_into(data: Array, begin: int, end: int, out: Array) -> int:
    """Unpacks one ascending list into `out`; returns its length."""
    n = 0
    value = np.uint64(0)
    at = begin
    while at < end:
        step, at = _get(data, at, end)
        value += step
        out[n] = value
        value += _ONE
        n += 1
    return n


def unpack(data: Array, begin: int, end: int) -> Array:
    """One packed ascending list as numbers."""
    out = np.empty(count_packed(data, begin, end), dtype=np.uint32)
    unpack_into(data, begin, end, out)
    return out


@kernel
def _count_sizes(start: Array, counts: Array, sizes: Array) -> None:
    for i in range(start.shape[0] - 1):
        total = 0
        for j in range(start[i], start[i + 1]):
            total += _length(np.uint64(counts[j] - 1))
        sizes[i + 1] = total


@kernel
def _write_counts(start: Array, counts: Array, at: Array, out: Array) -> None:
    for i in range(start.shape[0] - 1):
        place = at[i]
        for j in range(start[i], start[i + 1]):
            place = _put(out, place, np.uint64(counts[j] - 1))


def pack_counts(start: Array, counts: Array) -> tuple[Array, Array]:
    """Packs lists of counts of one and more, each less one; returns (byte starts, bytes).

    >>> begin, packed = pack_counts(np.array([0, 2]), np.array([1, 129]))
    >>> len(packed), unpack_counts(packed, 0, 3).tolist()
    (3, [1, 129])
    """
    at = np.zeros(len(start), dtype=np.int64)
    _count_sizes(start, counts, at)
    np.cumsum(at, out=at)
    out = np.empty(int(at[-1]), dtype=np.uint8)
    _write_counts(start, counts, at, out)
    return at, out


@kernel
def _unpack_counts(data: Array, begin: int, end: int, out: Array) -> None:
    n = 0
    at = begin
    while at < end:
        value, at = _get(data, at, end)
        out[n] = value + _ONE
        n += 1


def unpack_counts(data: Array, begin: int, end: int) -> Array:
    """One packed list of counts as numbers."""
    out = np.empty(count_packed(data, begin, end), dtype=np.int64)
    _unpack_counts(data, begin, end, out)
    return out


@kernel
def transpose(start: Array, values: Array, width: int) -> tuple[Array, Array]:
    """Turns lists of columns by group into lists of groups by column, both ascending."""
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
