"""The super keys of rows, and the Bloom filter that hashes a text to bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.hashes import finish
from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

# A Bloom filter of `hashes` hash functions derives all of them from the text's 64-bit hash h, that
# of the dictionary with seed 0. With draw(j) = finish(h + (j + 1) * K1), function i takes six bits
# of draw(i // 10), the lowest first, which choose a bit of a word; the word is (s + i) % words,
# where the top four bits of draw(0) give s. So every word gets its share of the bits, and the first
# word of a row refuses as many keys as any part of a filter of that size could.
#
# (Double hashing, one number plus multiples of another, would be as fast, but in 128 bits it has
# only 8,192 patterns: any two values would collide with a chance of 1 in 8,192, far more than the
# filter otherwise lets through.)

_STEP = np.uint64(0x9E3779B97F4A7C15)
_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U6 = np.uint64(6)
_U60 = np.uint64(60)
_U63 = np.uint64(63)
_DRAWN = 10  # bit indices per draw


@njit(inline="always")
def draw_word(h: np.uint64, draw_index: int) -> np.uint64:
    """Return the random word of a hash for one draw."""
    return finish(h + np.uint64(draw_index + 1) * _STEP)


@njit(inline="always")
def add_bits(h: np.uint64, hashes: int, row: Array) -> None:
    """Set the bits of a hash in a row of words."""
    last = row.shape[0] - 1
    word = draw_word(h, 0)
    w = np.int64(word >> _U60) & last
    done = 0
    turn = 0
    while True:
        stop = min(hashes, done + _DRAWN)
        while done < stop:
            row[w] |= _U1 << (word & _U63)
            word >>= _U6
            w = (w + 1) & last
            done += 1
        if done == hashes:
            return
        turn += 1
        word = draw_word(h, turn)


@kernel
def write_hash_bits(values: Array, hashes: int, out: Array) -> None:
    """Write the bits of each hash to the words `out[i]`."""
    if out.shape[1] == 2:
        _two_words(values, hashes, out)
        return
    for i in range(out.shape[0]):
        out[i] = _U0
        add_bits(values[i], hashes, out[i])


@njit
def _two_words(values: Array, hashes: int, out: Array) -> None:
    """As `add_bits`, but both words stay in registers."""
    for i in range(out.shape[0]):
        word = draw_word(values[i], 0)
        swapped = np.int64(word >> _U60) & 1
        even, odd = _U0, _U0
        left = hashes
        turn = 0
        while True:
            taken = min(left, _DRAWN)
            for _ in range(taken >> 1):
                even |= _U1 << (word & _U63)
                odd |= _U1 << ((word >> _U6) & _U63)
                word >>= _U6 + _U6
            if taken & 1:  # only in the last turn: a draw has an even number of bit indices
                even |= _U1 << (word & _U63)
            left -= taken
            if left == 0:
                break
            turn += 1
            word = draw_word(values[i], turn)
        out[i, swapped] = even
        out[i, 1 - swapped] = odd


_NULL = np.uint32(0xFFFFFFFF)
_RUN = 2048  # rows whose keys stay in the cache while column after column is added


class SegmentCells(NamedTuple):
    """The rows of a segment as value ids: the arrays of its file, see docs/format.md."""

    width: Array
    local_start: Array
    local: Array
    ids_start: Array
    ids: Array
    spelling_code: Array
    tokens: int


class SegmentTableRows(NamedTuple):
    """The tables of a segment: table t has the columns [first[t], first[t + 1]).

    Only the `searched` columns count. Its rows are [row_start[t], row_start[t + 1]) of the
    segment's.
    """

    first: Array
    row_start: Array
    searched: Array


class ValueBits(NamedTuple):
    """What the codes from `first` on add to a row: the row of words in `keys`.

    Or, if `hashes` has for every table how many bits a value sets in it, the bits of the 64-bit
    hash in `values`.
    """

    first: int
    keys: Array
    values: Array
    hashes: Array


@njit
def _codes(cells: SegmentCells, column: int, begin: int, end: int, codes: Array) -> None:
    """Write the codes of a column's rows [begin, end); nulls have all bits set."""
    first = cells.ids_start[column]
    known = cells.ids_start[column + 1] - first
    width = np.int64(cells.width[column])
    at = cells.local_start[column] + begin * width
    for i in range(end - begin):
        if width == 0:
            code = cells.ids[first + begin + i]
        else:
            cell = np.int64(cells.local[at])
            if width > 1:
                cell |= np.int64(cells.local[at + 1]) << 8
            if width > 2:
                cell |= np.int64(cells.local[at + 2]) << 16 | np.int64(cells.local[at + 3]) << 24
            at += width
            code = cells.ids[first + cell] if cell < known else _NULL
        if code >= cells.tokens and code != _NULL:
            code = cells.spelling_code[np.int64(code) - cells.tokens]
        codes[i] = code


@njit
def _or_keys(codes: Array, keys: Array, first: int, out: Array) -> None:
    """OR the words of codes into rows."""
    words = out.shape[1]
    for i in range(out.shape[0]):
        if codes[i] != _NULL:
            code = np.int64(codes[i]) - first
            if words == 2:
                out[i, 0] |= keys[code, 0]
                out[i, 1] |= keys[code, 1]
            else:
                for w in range(words):
                    out[i, w] |= keys[code, w]


@njit
def _or_bits(codes: Array, values: Array, first: int, hashes: int, out: Array) -> None:
    """OR the bits of codes' hashes into rows."""
    for i in range(out.shape[0]):
        if codes[i] != _NULL:
            add_bits(values[np.int64(codes[i]) - first], hashes, out[i])


@kernel
def build_row_keys(
    cells: SegmentCells, tables: SegmentTableRows, value_bits: ValueBits, begin: int, out: Array
) -> None:
    """Write the super keys of the segment's rows from row `begin` on, as many as `out` has."""
    codes = np.empty(_RUN, dtype=np.uint32)
    end = begin + out.shape[0]
    table = np.searchsorted(tables.row_start, begin, side="right") - 1
    row = begin
    while row < end:
        while tables.row_start[table + 1] <= row:
            table += 1
        stop = min(end, tables.row_start[table + 1], row + _RUN)
        table_row = row - tables.row_start[table]
        run = out[row - begin : stop - begin]
        run[:] = np.uint64(0)
        for column in range(tables.first[table], tables.first[table + 1]):
            if tables.searched[column]:
                _codes(cells, column, table_row, table_row + stop - row, codes)
                if value_bits.hashes.shape[0] == 0:
                    _or_keys(codes, value_bits.keys, value_bits.first, run)
                else:
                    _or_bits(
                        codes, value_bits.values, value_bits.first, value_bits.hashes[table], run
                    )
        row = stop
