"""Samples of the rare pieces of a column: those that only one or two of its values hold.

A sample is all rare pieces of the column up to some rank, which is told with it. Pieces are counted
in a table of limited size; when it is full, the upper half of the ranks is given up. So however
large a column is, what it takes is bounded, and what is counted is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.pieces import READ, ROOM, cut, rank_of

Array = np.ndarray[Any, Any]

RARE = 2  # values that may hold a piece
EVERYTHING = np.uint64(0xFFFFFFFFFFFFFFFF)  # the rank of a sample from which nothing is left out
COUNTED = 1 << 15  # pieces that are counted at once

_FEW = 1 << 10
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_SHIFT = np.uint64(20)
_BYTE, _LOW_BYTE = np.uint64(8), np.uint64(255)


@njit(nogil=True)
def _slot(keys: Array, mask: np.uint64, piece: np.uint64) -> np.uint64:
    """Where a piece is in a table, or where it would go."""
    at = (piece >> _SHIFT) & mask
    while keys[at] != _NONE and keys[at] != piece:
        at = (at + _ONE) & mask
    return at


@njit(nogil=True)
def _enter_again(
    keys: Array, counts: Array, held: Array, size: int, new_size: int, limit: np.uint64
) -> int:
    """Enters the pieces up to a rank into a table of another size; returns how many there are."""
    old_keys, old_counts = np.empty(size, np.uint64), np.empty(size, np.uint8)
    old_held = np.empty((size, RARE), np.int32)
    n = 0
    for at in range(size):
        if keys[at] != _NONE and rank_of(keys[at]) <= limit:
            old_keys[n], old_counts[n] = keys[at], counts[at]
            old_held[n, 0], old_held[n, 1] = held[at, 0], held[at, 1]
            n += 1
    keys[:new_size] = _NONE
    mask = np.uint64(new_size - 1)
    for k in range(n):
        slot = _slot(keys, mask, old_keys[k])
        keys[slot], counts[slot] = old_keys[k], old_counts[k]
        held[slot, 0], held[slot, 1] = old_held[k, 0], old_held[k, 1]
    return n


@njit(nogil=True)
def _count(
    offsets: Array,
    data: Array,
    values: Array,
    keys: Array,
    counts: Array,
    held: Array,
    characters: Array,
    cuts: Array,
) -> tuple[int, np.uint64]:
    """Counts how many of the texts `values` hold each piece, up to three; returns the size of the
    table and up to which rank pieces were counted."""
    limit = EVERYTHING
    size = min(_FEW, keys.shape[0])
    keys[:size] = _NONE
    mask = np.uint64(size - 1)
    known = 0
    for v in range(values.shape[0]):
        n = cut(data, offsets[values[v]], offsets[values[v] + 1], characters, cuts)
        for k in range(n):
            piece = cuts[k]
            if piece == _NONE or rank_of(piece) > limit:
                continue
            at = _slot(keys, mask, piece)
            if keys[at] == piece:
                if counts[at] == 1 and held[at, 0] != v:
                    counts[at] = 2
                    held[at, 1] = v
                elif counts[at] == 2 and held[at, 1] != v:
                    counts[at] = 3
                continue
            if 2 * (known + 1) > size:
                if size < keys.shape[0]:
                    known = _enter_again(keys, counts, held, size, 2 * size, limit)
                    size *= 2
                    mask = np.uint64(size - 1)
                while 2 * (known + 1) > size:
                    limit >>= _ONE
                    known = _enter_again(keys, counts, held, size, size, limit)
                if rank_of(piece) > limit:
                    continue
                at = _slot(keys, mask, piece)
            keys[at] = piece
            counts[at] = 1
            held[at, 0] = v
            held[at, 1] = -1
            known += 1
    return size, limit


@njit(nogil=True)
def _lowest(ranks: Array, n: int, most: int) -> np.uint64:
    """The largest of the `most` lowest of the first n ranks: byte by byte, the highest first."""
    counts = np.empty(256, np.int64)
    known = _NONE  # the bytes that are decided
    wanted = most
    for byte in range(8):
        shift = np.uint64(56 - 8 * byte)
        counts[:] = 0
        for i in range(n):
            if byte == 0 or (ranks[i] >> shift) >> _BYTE == known:
                counts[np.int64((ranks[i] >> shift) & _LOW_BYTE)] += 1
        digit = 0
        while wanted > counts[digit]:
            wanted -= counts[digit]
            digit += 1
        known = (known << _BYTE) | np.uint64(digit)
    return known


@njit(nogil=True)
def _choose(
    keys: Array,
    counts: Array,
    held: Array,
    limit: np.uint64,
    most: int,
    pieces: Array,
    holders: Array,
) -> tuple[int, np.uint64]:
    """Writes the rare pieces of lowest rank; returns how many, and up to which rank they go."""
    ranks = np.empty(keys.shape[0], np.uint64)
    rare = 0
    for at in range(keys.shape[0]):
        if keys[at] != _NONE and counts[at] <= RARE:
            ranks[rare] = rank_of(keys[at])
            rare += 1
    if rare > most:
        limit = _lowest(ranks, rare, most)
    n = 0
    for at in range(keys.shape[0]):
        if keys[at] != _NONE and counts[at] <= RARE and rank_of(keys[at]) <= limit:
            pieces[n] = keys[at]
            holders[n, 0] = held[at, 0]
            holders[n, 1] = held[at, 1]
            n += 1
    return n, limit


@kernel
def sample_texts(
    offsets: Array, data: Array, values: Array, most: int, counted: int
) -> tuple[Array, Array, np.uint64]:
    """A sample of at most `most` rare pieces of the texts `values`, the one or two values (by their
    places) that hold each, -1 for none, and the rank that it goes up to."""
    keys, counts = np.empty(2 * counted, np.uint64), np.empty(2 * counted, np.uint8)
    held = np.empty((2 * counted, RARE), np.int32)
    characters, cuts = np.empty(READ, np.uint32), np.empty(ROOM, np.uint64)
    pieces, holders = np.empty(most, np.uint64), np.empty((most, RARE), np.int32)
    size, limit = _count(offsets, data, values, keys, counts, held, characters, cuts)
    n, limit = _choose(keys[:size], counts, held, limit, most, pieces, holders)
    return pieces[:n].copy(), holders[:n].copy(), limit


@kernel
def sample_columns(
    columns: Array,
    set_start: Array,
    groups: Array,
    group_start: Array,
    offsets: Array,
    data: Array,
    most: Array,
    counted: int,
    limits: Array,
    kept: Array,
    pieces: Array,
) -> int:
    """Writes samples of columns whose sets are unions of groups of codes, one after another, at
    most `most[i]` pieces each; `offsets` is by code. Returns how many there are in all."""
    keys, counts = np.empty(2 * counted, np.uint64), np.empty(2 * counted, np.uint8)
    held = np.empty((2 * counted, RARE), np.int32)
    characters, cuts = np.empty(READ, np.uint32), np.empty(ROOM, np.uint64)
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
        slots, limit = _count(offsets, data, values, keys, counts, held, characters, cuts)
        holders = np.empty((most[i], RARE), np.int32)
        room = pieces[total : total + most[i]]
        kept[i], limits[i] = _choose(keys[:slots], counts, held, limit, most[i], room, holders)
        total += kept[i]
    return total


@kernel
def find_holders(
    offsets: Array, data: Array, pieces: Array, limit: np.uint64, counts: Array, holders: Array
) -> None:
    """In how many texts each of some pieces is, up to three, and which the first two are.

    No piece has a rank above `limit`: so most of a text's pieces need not be looked for.
    """
    size = 16
    while size < 4 * pieces.shape[0]:
        size *= 2
    mask = np.uint64(size - 1)
    keys, which = np.zeros(size, np.uint64), np.empty(size, np.int64)
    for k in range(pieces.shape[0]):
        at = _slot(keys, mask, pieces[k])
        keys[at] = pieces[k]
        which[at] = k
    characters, cuts = np.empty(READ, np.uint32), np.empty(ROOM, np.uint64)
    counts[:] = 0
    holders[:] = -1
    for v in range(offsets.shape[0] - 1):
        n = cut(data, offsets[v], offsets[v + 1], characters, cuts)
        for k in range(n):
            if cuts[k] == _NONE or rank_of(cuts[k]) > limit:
                continue
            at = _slot(keys, mask, cuts[k])
            if keys[at] == _NONE:
                continue
            piece = which[at]
            count = counts[piece]
            if count > RARE or (count > 0 and holders[piece, count - 1] == v):
                continue
            if count < RARE:
                holders[piece, count] = v
            counts[piece] = count + 1
