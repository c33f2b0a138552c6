"""Measure points against points where the counts by cell leave it open."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from lakejoin.engines.distance.query_grids import QueryGrids
from lakejoin.engines.distance.sphere import haversine
from lakejoin.engines.distance.squares import first_in_cell

Array = np.ndarray[Any, Any]

_SAFE = 1e-9  # relative margin of a limit
_ROUNDING = 2e-15  # more than half an angle can be off after adding and subtracting degrees
_HALF = np.pi / 360


@njit
def _count_near(
    lat: float, east: float, least: float, most: float, points: Array, begin: int, end: int,
    limit: float,
) -> tuple[int, int]:  # fmt: skip
    """Return (points in a range that are surely near, that may be near), without computing a sine.

    `least` and `most` bound the product of both cosines; x^2 - x^4 / 3 <= sin(x)^2 <= x^2.
    """
    root = math.sqrt(limit)
    low, high = max(0.0, root * (1 - _SAFE) - _ROUNDING), root * (1 + _SAFE) + _ROUNDING
    low, high = low * low, high * high
    sure, may = 0, 0
    norths, easts = points[0, begin:end], points[2, begin:end]
    for i in range(end - begin):
        tall = (lat - norths[i]) * _HALF
        wide = (east - easts[i]) * _HALF
        tall2, wide2 = tall * tall, wide * wide
        sure += int(tall2 + most * wide2 < low)
        may += int(tall2 * (1 - tall2 / 3) + least * wide2 * (1 - wide2 / 3) <= high)
    return sure, may


@njit
def _count_exactly(
    lat: float, lon: float, cosine: float, points: Array, begin: int, end: int, limit: float
) -> int:
    """Count the points in a range that are near by the haversine."""
    near = 0
    for i in range(begin, end):
        near += int(haversine(lat, lon, cosine, points[0, i], points[1, i]) <= limit)
    return near


@njit
def any_near(
    point: tuple[float, float, float, float], least: float, most: float, points: Array, begin: int,
    end: int, limit: float,
) -> bool:  # fmt: skip
    """Whether any point of a range is near a query point.

    The query point is given by its latitude, longitude, degrees east of the grid's west, and
    cosine.
    """
    if begin == end:
        return False
    lat, lon, east, cosine = point
    sure, may = _count_near(lat, east, least, most, points, begin, end, limit)
    if sure > 0 or may == 0:
        return sure > 0
    return _count_exactly(lat, lon, cosine, points, begin, end, limit) > 0


@njit
def measure_cell(
    query: QueryGrids, shape: Array, row: int, column: int, begin: int, end: int, sums: Array,
    points: Array, limit: float, matches: Array,
) -> tuple[int, int]:  # fmt: skip
    """Return (query points in a cell that have a partner, pairs).

    `points` are the set's latitudes, longitudes and degrees east of the grid's west, sorted by
    cell. `matches` has room for a count per query point.
    """
    rows, columns, near = shape[4], shape[5], shape[6]
    spans = shape[8] + row * (2 * near + 1) + near
    my_lat, my_lon, my_east, cosine = query.latitude, query.longitude, query.east, query.cosine
    sures, maybes, cosines = query.sure, query.maybe, query.cosines
    certain = 0
    matches[begin:end] = 0
    for row_step in range(-near, near + 1):
        half, other = maybes[spans + row_step], row + row_step
        if half < 0 or other < 0 or other >= rows:
            continue
        west = first_in_cell(sums, columns, other, max(column - half, 0))
        east = first_in_cell(sums, columns, other, min(column + half + 1, columns))
        if west == east:
            continue
        core = sures[spans + row_step]
        inner_west, inner_east = west, west
        if core >= 0:
            inner_west = first_in_cell(sums, columns, other, max(column - core, 0))
            inner_east = first_in_cell(sums, columns, other, min(column + core + 1, columns))
            certain += inner_east - inner_west
        least, most = cosines[shape[7] + other, 0], cosines[shape[7] + other, 1]
        for side in range(2):
            low = west if side == 0 else inner_east
            high = inner_west if side == 0 else east
            if low == high:
                continue
            for j in range(begin, end):
                sure, may = _count_near(
                    my_lat[j], my_east[j], cosine[j] * least, cosine[j] * most, points, low, high,
                    limit,
                )  # fmt: skip
                if sure != may:
                    sure = _count_exactly(my_lat[j], my_lon[j], cosine[j], points, low, high, limit)
                matches[j] += sure
    hits, pairs = 0, 0
    for j in range(begin, end):
        hits += int(matches[j] + certain > 0)
        pairs += matches[j] + certain
    return hits, pairs
