"""Read the codes of a segment's cells from the arrays of its rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

_NULL = np.uint32(0xFFFFFFFF)


class SegmentCells(NamedTuple):
    """The rows of a segment as value ids: the arrays of its file, see docs/format.md."""

    width: Array
    local_start: Array
    local: Array
    ids_start: Array
    ids: Array
    spelling_code: Array
    tokens: int


@njit(inline="always")
def _local_id(cells: SegmentCells, at: int, width: int) -> np.int64:
    """Return the local id of `width` bytes."""
    cell = np.int64(cells.local[at])
    if width > 1:
        cell |= np.int64(cells.local[at + 1]) << 8
    if width > 2:
        cell |= np.int64(cells.local[at + 2]) << 16 | np.int64(cells.local[at + 3]) << 24
    return cell


@njit(inline="always")
def _code(cells: SegmentCells, value_id: np.uint32) -> np.uint32:
    """Return the code of a value id: that of its canonical value if it is a spelling."""
    if value_id >= cells.tokens and value_id != _NULL:
        return cells.spelling_code[np.int64(value_id) - cells.tokens]
    return value_id


@njit
def read_column_codes(cells: SegmentCells, column: int, begin: int, end: int, codes: Array) -> None:
    """Write the codes of a column's rows [begin, end); nulls have all bits set."""
    first = cells.ids_start[column]
    known = cells.ids_start[column + 1] - first
    width = np.int64(cells.width[column])
    at = cells.local_start[column] + begin * width
    for i in range(end - begin):
        if width == 0:
            value_id = cells.ids[first + begin + i]
        else:
            cell = _local_id(cells, at, width)
            at += width
            value_id = cells.ids[first + cell] if cell < known else _NULL
        codes[i] = _code(cells, value_id)


@kernel
def read_codes(cells: SegmentCells, columns: Array, rows: Array, codes: Array) -> None:
    """Write the codes of some rows of some columns of a table to `codes`, a line for each column;
    nulls have all bits set."""
    for line in range(columns.shape[0]):
        column = columns[line]
        first = cells.ids_start[column]
        known = cells.ids_start[column + 1] - first
        width = np.int64(cells.width[column])
        for i in range(rows.shape[0]):
            if width == 0:
                value_id = cells.ids[first + rows[i]]
            else:
                cell = _local_id(cells, cells.local_start[column] + rows[i] * width, width)
                value_id = cells.ids[first + cell] if cell < known else _NULL
            codes[line, i] = _code(cells, value_id)


@kernel
def find_rows_of_codes(
    cells: SegmentCells, column: int, rows: int, ordered: Array, first_rows: Array
) -> None:
    """Write the first row of a column that holds each of some distinct codes, ascending; -1 if none
    does."""
    first_rows[:] = -1
    missing = ordered.shape[0]
    first = cells.ids_start[column]
    known = cells.ids_start[column + 1] - first
    width = np.int64(cells.width[column])
    which = np.empty(known, np.int32)
    for i in range(known):
        code = _code(cells, cells.ids[first + i])
        at = np.searchsorted(ordered, code)
        which[i] = at if at < ordered.shape[0] and ordered[at] == code else -1
    for row in range(rows):
        if missing == 0:
            break
        cell = row
        if width > 0:
            cell = _local_id(cells, cells.local_start[column] + row * width, width)
        if cell < known and which[cell] >= 0 and first_rows[which[cell]] < 0:
            first_rows[which[cell]] = row
            missing -= 1
