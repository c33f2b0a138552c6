"""Measure, point by point in one set, the query's cells that bitmaps leave open; compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from lakejoin.engines.distance.blocks import BLOCK
from lakejoin.engines.distance.near_pairs import any_near
from lakejoin.engines.distance.query_grids import QueryGrids
from lakejoin.engines.distance.point_pool import (
    GridFrame,
    PointPool,
    decode_numbers,
    find_cells,
    gather_points,
)

Array = np.ndarray[Any, Any]

# For many open cells the set's points are sorted by cell first. For few it is faster to look
# through the blocks of the set that come near: neighbours in the file are neighbours on the map.

FEW = 32  # query points
_WIDER = 1e-9  # relative margin of an angle, and in degrees


@njit
def _sort_coarsely(
    pool: PointPool, s: int, frame: GridFrame, needed: Array, cell_of: Array, start: Array, order: Array
) -> int:
    """Sort a set's points by cell of a coarse grid; `start` has where each cell's points begin.

    Points in cells that are not `needed` are left out. Returns how many were sorted.
    """
    size = pool.size[s]
    cells = (frame.rows + 1) * (frame.columns + 1)
    find_cells(pool, s, 0, size, frame, cell_of)
    start[: cells + 1] = 0
    for i in range(size):
        cell = cell_of[i] * np.int32(needed[np.uint64(cell_of[i])])
        cell_of[i] = cell
        start[np.uint64(cell + 1)] += 1
    outside = start[1]
    start[1] = 0
    for cell in range(cells):
        start[cell + 1] += start[cell]
    for i in range(size):
        cell = cell_of[i]
        if cell > 0:
            order[start[cell]] = i
            start[cell] += 1
    for cell in range(cells, 0, -1):  # each begins where the previous one ended
        start[cell] = start[cell - 1]
    start[0] = 0
    return size - outside


@njit
def _mark_needed(
    cells: Array, shape: Array, open_: Array, bit: np.uint64, down: int, across: int, rows: int,
    columns: int, needed: Array,
) -> None:  # fmt: skip
    """Mark the coarse cells around open ones: a set has few points in most of them."""
    needed[: (rows + 1) * (columns + 1)] = 0
    for c in range(shape[2], shape[3]):
        if open_[c - shape[2]] & bit != 0:
            row, column = cells[c, 0] // down, cells[c, 1] // across
            for near_row in range(max(row - 1, 0), min(row + 2, rows)):
                for near_column in range(max(column - 1, 0), min(column + 2, columns)):
                    needed[(near_row + 1) * (columns + 1) + 1 + near_column] = 1


@njit
def measure_many(
    pool: PointPool, s: int, query: QueryGrids, shape: Array, frame: Array, open_: Array, bit: np.uint64,
    limit: float, needed: Array, cell_of: Array, start: Array, order: Array, points: Array,
    progress: tuple[int, int, int, int],
) -> tuple[int, int]:  # fmt: skip
    """Measure the open cells of one set; return (query points with a partner so far, cells
    measured).

    The set's points are sorted by cell of a coarse grid first. `progress` has the query points with
    a partner so far, those that are open here, those of parts to come, and the required score.
    """
    got, unsettled, left, required = progress
    near, widest = shape[6], shape[9]
    down, across = (
        near + 2,
        widest + 2,
    )  # fine cells per coarse one: near points are in adjacent ones
    rows, columns = shape[4] // down + 1, shape[5] // across + 1
    coarse = GridFrame(
        frame[4], frame[5], 1.0 / (frame[6] * down), 1.0 / (frame[7] * across), rows, columns
    )
    _mark_needed(query.cells, shape, open_, bit, down, across, rows, columns, needed)
    inside = _sort_coarsely(pool, s, coarse, needed, cell_of, start, order)
    gather_points(pool, s, order, inside, frame[5], points)
    cells, bounds, cosine = query.cells, query.bounds, query.cosine
    my_lat, my_lon, my_east = query.latitude, query.longitude, query.east
    looked = 0
    for c in range(shape[2], shape[3]):
        if open_[c - shape[2]] & bit == 0:
            continue
        begin = cells[c, 2]
        end = cells[c + 1, 2] if c + 1 < shape[3] else shape[1]
        row, column = cells[c, 0] // down, cells[c, 1] // across
        west, east = max(column - 1, 0), min(column + 2, columns)
        unsettled -= end - begin
        looked += 1
        for j in range(begin, end):
            point = my_lat[j], my_lon[j], my_east[j], cosine[j]
            least, most = bounds[j, 0], bounds[j, 1]
            for near_row in range(max(row - 1, 0), min(row + 2, rows)):
                base = (near_row + 1) * (columns + 1) + 1
                first, last = start[base + west], start[base + east]
                if any_near(point, least, most, points, first, last, limit):
                    got += 1
                    break
        if got + unsettled + left < required:
            break
    return got, looked


@njit
def measure_few(
    pool: PointPool, s: int, blocks: Array, first_block: int, query: QueryGrids, shape: Array, frame: Array,
    open_: Array, bit: np.uint64, limit: float, ranges: Array, points: Array,
    progress: tuple[int, int, int, int],
) -> tuple[int, int]:  # fmt: skip
    """As `measure_many`, block by block of the set; each is decoded when it is first needed."""
    got, unsettled, left, required = progress
    west, count = frame[5], (pool.size[s] + BLOCK - 1) // BLOCK
    reach = math.degrees(2 * math.asin(math.sqrt(limit))) * (1 + _WIDER) + _WIDER
    aside = (shape[9] + 1) * frame[7]  # points more columns apart are not near
    for b in range(count):
        box = blocks[first_block + b]
        begin = (box[2] - west) % 360.0
        end = begin + (box[3] - box[2])
        ranges[b, 0], ranges[b, 1], ranges[b, 2] = begin, end, 0.0
        if end >= 360.0:  # it crosses the grid's west, so it may be anywhere
            ranges[b, 0] = -math.inf
    cells, bounds, cosine = query.cells, query.bounds, query.cosine
    my_lat, my_lon, my_east = query.latitude, query.longitude, query.east
    looked = 0
    for c in range(shape[2], shape[3]):
        if open_[c - shape[2]] & bit == 0:
            continue
        first = cells[c, 2]
        last = cells[c + 1, 2] if c + 1 < shape[3] else shape[1]
        unsettled -= last - first
        looked += 1
        for j in range(first, last):
            lat, east = my_lat[j], my_east[j]
            point = lat, my_lon[j], east, cosine[j]
            for b in range(count):
                box = blocks[first_block + b]
                if lat + reach < box[0] or lat - reach > box[1]:
                    continue
                if east + aside < ranges[b, 0] or east - aside > ranges[b, 1]:
                    continue
                begin, end = b * BLOCK, min(pool.size[s], (b + 1) * BLOCK)
                if ranges[b, 2] == 0.0:
                    _unpack(pool, s, begin, end, west, points)
                    ranges[b, 2] = 1.0
                if any_near(point, bounds[j, 0], bounds[j, 1], points, begin, end, limit):
                    got += 1
                    break
        if got + unsettled + left < required:
            break
    return got, looked


@njit
def _unpack(pool: PointPool, s: int, begin: int, end: int, west: float, points: Array) -> None:
    """Decode latitude, longitude and degrees east of the west of a set's points [begin, end)."""
    decode_numbers(pool, s, begin, end - begin, points[0, begin:end])
    decode_numbers(pool, s, pool.size[s] + begin, end - begin, points[1, begin:end])
    for i in range(begin, end):
        east = points[1, i] - west
        points[2, i] = east + 360.0 if east < 0.0 else east
