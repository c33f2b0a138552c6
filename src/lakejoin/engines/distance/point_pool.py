"""The mapped points of a segment for compiled code, and counts of points by cell of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from lakejoin.engines.distance.sphere_bounds import BLOCK, OPEN
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.store.point_sets import PointSets


_WIDTH = np.array([1, 2, 4, 4, 8], dtype=np.int64)


class PointPool(NamedTuple):
    """The bytes as numbers of each form (`store/point_sets.py`), and where every set is in them.

    `begin` is counted in numbers of the set's form; `size` is its number of points.
    """

    bytes_: Array
    shorts: Array
    words: Array
    floats: Array
    doubles: Array
    begin: Array
    form: Array
    divisor: Array
    size: Array


def open_point_pool(sets: PointSets, which: Array) -> PointPool:
    """Open the points of some sets and verify their blocks."""
    width = _WIDTH[sets.forms]
    begin = sets.starts[which]
    raw = sets.pool.touch(begin, begin + (sets.sizes * sets.dimensions * width)[which])
    return PointPool(
        raw.view(np.int8),
        raw.view(np.int16),
        raw.view(np.int32),
        raw.view(np.float32),
        raw.view(np.float64),
        sets.starts // width,
        sets.forms,
        10.0**sets.powers,
        sets.sizes,
    )


class GridFrame(NamedTuple):
    """A grid over the map: its south and west, rows and columns per degree, and their numbers."""

    south: float
    west: float
    down: float
    across: float
    rows: int
    columns: int


@njit
def _decode(raw: Array, at: int, count: int, divisor: float, out: Array) -> None:
    """Write `count` numbers as float64."""
    run = raw[at : at + count]  # a slice indexed from 0 needs no test for negative indices
    for i in range(count):
        out[i] = np.float64(run[i]) / divisor


@njit
def _cells(
    raw: Array, lat: int, lon: int, count: int, divisor: float, frame: GridFrame, out: Array
) -> None:
    """Find the cells of points; without branches, so that it is vectorised."""
    scale = 1.0 / divisor
    south, west, down, across = frame.south, frame.west, frame.down, frame.across
    rows, columns = np.float64(frame.rows), np.float64(frame.columns)
    stride = np.int32(frame.columns + 1)
    norths, easts = raw[lat : lat + count], raw[lon : lon + count]
    for i in range(count):
        up = (np.float64(norths[i]) * scale - south) * down
        right = np.float64(easts[i]) * scale - west
        right = (right + 360.0 if right < 0.0 else right) * across
        inside = (up >= 0.0) & (up < rows) & (right < columns)
        cell = (np.int32(up) + np.int32(1)) * stride + np.int32(right) + np.int32(1)
        out[i] = cell if inside else np.int32(0)


@njit
def _gather(
    raw: Array, lat: int, lon: int, order: Array, count: int, divisor: float, west: float,
    out: Array,
) -> None:  # fmt: skip
    """Write latitude, longitude and degrees east of the west of the points in `order`."""
    for at in range(count):
        i = order[at]
        longitude = np.float64(raw[lon + i]) / divisor
        east = longitude - west
        out[0, at] = np.float64(raw[lat + i]) / divisor
        out[1, at] = longitude
        out[2, at] = east + 360.0 if east < 0.0 else east


@njit
def decode_numbers(pool: PointPool, s: int, begin: int, count: int, out: Array) -> None:
    """Write the numbers [begin, begin + count) of a set, as float64."""
    at, form, divisor = pool.begin[s] + begin, pool.form[s], pool.divisor[s]
    if form == 0:
        _decode(pool.bytes_, at, count, divisor, out)
    elif form == 1:
        _decode(pool.shorts, at, count, divisor, out)
    elif form == 2:
        _decode(pool.words, at, count, divisor, out)
    elif form == 3:
        _decode(pool.floats, at, count, divisor, out)
    else:
        _decode(pool.doubles, at, count, divisor, out)


@njit
def find_cells(pool: PointPool, s: int, begin: int, end: int, frame: GridFrame, out: Array) -> None:
    """Find the cells of the points [begin, end) of a set.

    A cell is (row + 1) * (columns + 1) + column + 1; 0 is outside. A point at the edge of a cell
    may be found in the next one.
    """
    lat, form, divisor = pool.begin[s] + begin, pool.form[s], pool.divisor[s]
    lon, count = lat + pool.size[s], end - begin
    if form == 0:
        _cells(pool.bytes_, lat, lon, count, divisor, frame, out)
    elif form == 1:
        _cells(pool.shorts, lat, lon, count, divisor, frame, out)
    elif form == 2:
        _cells(pool.words, lat, lon, count, divisor, frame, out)
    elif form == 3:
        _cells(pool.floats, lat, lon, count, divisor, frame, out)
    else:
        _cells(pool.doubles, lat, lon, count, divisor, frame, out)


@njit
def gather_points(
    pool: PointPool, s: int, order: Array, count: int, west: float, out: Array
) -> None:
    """Write latitude, longitude, and degrees east of the west, of the points in `order`."""
    lat, form, divisor = pool.begin[s], pool.form[s], pool.divisor[s]
    lon = lat + pool.size[s]
    if form == 0:
        _gather(pool.bytes_, lat, lon, order, count, divisor, west, out)
    elif form == 1:
        _gather(pool.shorts, lat, lon, order, count, divisor, west, out)
    elif form == 2:
        _gather(pool.words, lat, lon, order, count, divisor, west, out)
    elif form == 3:
        _gather(pool.floats, lat, lon, order, count, divisor, west, out)
    else:
        _gather(pool.doubles, lat, lon, order, count, divisor, west, out)


@njit
def count_cells(
    pool: PointPool, s: int, state: Array, frame: GridFrame, cell_of: Array, sums: Array
) -> int:
    """Count the points of a set's open blocks by cell; return how many are in the grid.

    `cell_of` gets the cell of each point, numbered as by `find_cells`, and `sums` at such a number
    the count of all cells up to that one, in both directions.
    """
    size = pool.size[s]
    stride = frame.columns + 1
    sums[: (frame.rows + 1) * stride] = 0
    checked = 0
    for b in range((size + BLOCK - 1) // BLOCK):
        begin, end = b * BLOCK, min(size, (b + 1) * BLOCK)
        if state[b] != OPEN:
            cell_of[begin:end] = 0
            continue
        block_cells = cell_of[begin:end]
        find_cells(pool, s, begin, end, frame, block_cells)
        for i in range(end - begin):
            sums[np.uint64(block_cells[i])] += 1
        checked += end - begin
    inside = checked - sums[0]
    sums[0] = 0
    if inside > 0:
        for row in range(1, frame.rows + 1):
            below = sums[(row - 1) * stride : row * stride]
            here = sums[row * stride : (row + 1) * stride]
            along = np.int32(0)
            for column in range(stride):
                along += here[column]
                here[column] = along + below[column]
    return inside


@njit(inline="always")
def count_in_cells(
    sums: Array, rows: int, columns: int, row: int, tall: int, column: int, wide: int
) -> int:
    """Count the points in the cells around one: `tall` rows and `wide` columns to both sides."""
    stride = columns + 1
    low, high = max(row - tall, 0) * stride, min(row + tall + 1, rows) * stride
    west, east = max(column - wide, 0), min(column + wide + 1, columns)
    return sums[high + east] - sums[high + west] - sums[low + east] + sums[low + west]


@njit(inline="always")
def first_in_cell(sums: Array, columns: int, row: int, column: int) -> int:
    """Return where the points from a cell on begin, once they are sorted by cell."""
    at = row * (columns + 1)
    below = sums[at + columns]
    return below + sums[at + columns + 1 + column] - sums[at + column]


@njit
def sort_by_cell(
    frame: GridFrame, size: int, cell_of: Array, sums: Array, cursor: Array, order: Array
) -> None:
    """Order the points by their cells, row by row."""
    stride = frame.columns + 1
    for row in range(1, frame.rows + 1):
        below = sums[row * stride - 1]
        for cell in range(row * stride + 1, row * stride + stride):
            cursor[cell] = below + sums[cell - 1] - sums[cell - 1 - stride]
    for i in range(size):
        cell = cell_of[i]
        if cell > 0:
            order[cursor[cell]] = i
            cursor[cell] += 1
