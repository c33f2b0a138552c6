"""The super keys of rows: the bits of every indexed cell, OR-ed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.superkey_rows import add_bits

Array = np.ndarray[Any, Any]

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

    Only the `is_searched` columns count. Its rows are [row_start[t], row_start[t + 1]) of the
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
def build_row_keys(cells: SegmentCells, tables: SegmentTableRows, marks: ValueBits, begin: int, out: Array) -> None:
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
                if marks.hashes.shape[0] == 0:
                    _or_keys(codes, marks.keys, marks.first, run)
                else:
                    _or_bits(codes, marks.values, marks.first, marks.hashes[table], run)
        row = stop
