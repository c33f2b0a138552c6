"""Count points by cell of a grid, as running sums: four look-ups count any rectangle of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.engines.distance.blocks import BLOCK, OPEN
from lakejoin.engines.distance.point_pool import GridFrame, PointPool, find_cells

Array = np.ndarray[Any, Any]


@njit
def count_cells(pool: PointPool, s: int, state: Array, frame: GridFrame, cell_of: Array, sums: Array) -> int:
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
