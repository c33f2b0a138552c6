"""Count the pairs of near points: counts by cell settle most, the rest is measured; compiled."""

from __future__ import annotations

import math

import numpy as np

from lakejoin.engines.distance.point_pool import (
    GridFrame,
    PointPool,
    count_cells,
    count_in_cells,
    decode_numbers,
    first_in_cell,
    gather_points,
    sort_by_cell,
)
from lakejoin.engines.distance.query_grids import QueryGrids
from lakejoin.engines.distance.sphere_bounds import BLOCK, OPEN, classify_blocks, haversine
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.topk import push_score, required_score
from lakejoin.model import Array

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
    """Return (query points in a cell that have a match, pairs).

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


# Points are unit vectors here, whose product is the cosine of the angle between them. Every block
# of a set lies in a ball: most balls are out of reach of a point, or entirely within it. Products
# are off by about 10^-16, which is much for small angles; where that leaves a doubt the haversine
# decides.

_OFF = 1e-12  # more than a product can be off
_WIDER = 1e-7  # more than the angle of an arc cosine can be off
_DEGREE = math.pi / 180


@njit
def project_points(pool: PointPool, s: int, limit: float, points: Array, balls: Array) -> None:
    """Write a set's latitudes, longitudes and unit vectors (five rows), and the ball of every
    block.

    A ball is its centre, the least product that is not out of reach, and the least one within
    reach.
    """
    size = pool.size[s]
    decode_numbers(pool, s, 0, size, points[0])
    decode_numbers(pool, s, size, size, points[1])
    for i in range(size):
        lat, lon = points[0, i] * _DEGREE, points[1, i] * _DEGREE
        cosine = math.cos(lat)
        points[2, i], points[3, i] = cosine * math.cos(lon), cosine * math.sin(lon)
        points[4, i] = math.sin(lat)
    reach = 2 * math.asin(math.sqrt(min(limit, 1.0)))
    for b in range((size + BLOCK - 1) // BLOCK):
        begin, end = b * BLOCK, min(size, (b + 1) * BLOCK)
        x, y, z = points[2, begin:end].sum(), points[3, begin:end].sum(), points[4, begin:end].sum()
        long = math.sqrt(x * x + y * y + z * z)
        if long < 1e-6:  # spread all around the globe: any centre will do
            x, y, z, long = 0.0, 0.0, 1.0, 1.0
        x, y, z = x / long, y / long, z / long
        least = 1.0
        for i in range(begin, end):
            least = min(least, x * points[2, i] + y * points[3, i] + z * points[4, i])
        radius = math.acos(max(-1.0, least)) + _WIDER
        balls[b, 0], balls[b, 1], balls[b, 2] = x, y, z
        far, near = reach + radius + _WIDER, reach - radius - _WIDER
        balls[b, 3] = math.cos(far) - _OFF if far < math.pi else -2.0
        balls[b, 4] = math.cos(near) + _OFF if near > 0.0 else 2.0


@njit
def measure_without_grid(
    query: QueryGrids, shape: Array, points: Array, balls: Array, size: int, state: Array,
    limit: float, all_: bool,
) -> tuple[int, int]:  # fmt: skip
    """Return (points of a query part that have a match, pairs), in the open blocks of a set."""
    cosine = math.cos(2 * math.asin(math.sqrt(min(limit, 1.0))))
    low, high = cosine - _OFF, cosine + _OFF
    my_lat, my_lon, cosines = query.latitude, query.longitude, query.cosine
    hits, pairs = 0, 0
    for j in range(shape[0], shape[1]):
        lat, lon, cosine_lat = my_lat[j], my_lon[j], cosines[j]
        x, y = cosine_lat * math.cos(lon * _DEGREE), cosine_lat * math.sin(lon * _DEGREE)
        z = math.sin(lat * _DEGREE)
        near = 0
        for b in range((size + BLOCK - 1) // BLOCK):
            if state[b] != OPEN:
                continue
            product = x * balls[b, 0] + y * balls[b, 1] + z * balls[b, 2]
            if product < balls[b, 3]:
                continue
            begin, end = b * BLOCK, min(size, (b + 1) * BLOCK)
            if product > balls[b, 4]:
                near += end - begin
            else:
                sure, may = 0, 0
                for i in range(begin, end):
                    product = x * points[2, i] + y * points[3, i] + z * points[4, i]
                    sure += int(product > high)
                    may += int(product >= low)
                if sure != may and (all_ or sure == 0):
                    sure = 0
                    for i in range(begin, end):
                        distance = haversine(lat, lon, cosine_lat, points[0, i], points[1, i])
                        sure += int(distance <= limit)
                near += sure
            if near and not all_:
                break
        pairs += near
        hits += int(near > 0)
    return hits, pairs


# For each part of the query, blocks of a set that are out of reach are skipped, and those entirely
# within reach are counted as a whole. The points of the others are counted by cell of the part's
# grid, and the counts summed over rows and columns, so that four look-ups give the number of points
# in any rectangle of cells: points in cells that are surely near are counted, and those in cells
# that may be near are measured.


@kernel
def count_near_pairs(
    pool: PointPool, blocks: Array, block_start: Array, which: Array, query: QueryGrids,
    limit: float, least: int, best: Array, hits: Array, pairs: Array, work: Array,
) -> None:  # fmt: skip
    """Count, for the sets `which`, the query points that have a match, and the pairs.

    The pairs are the score; counts of a set that does not reach the required score may be too
    small. `work` counts the query cells that were checked, and those that were measured.
    """
    cells, frames, shapes, boxes = query.cells, query.frame, query.shape, query.boxes
    largest, cells_most = 1, 1
    for s in which:
        largest = max(largest, pool.size[s])
    for p in range(shapes.shape[0]):
        cells_most = max(cells_most, (shapes[p, 4] + 1) * (shapes[p, 5] + 1))
    points = np.empty((3, largest), dtype=np.float64)
    spread, balls = np.empty((5, largest)), np.empty((largest // BLOCK + 1, 5))
    cell_of, order = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    state = np.empty(largest // BLOCK + 1, dtype=np.uint8)
    matches = np.empty(query.latitude.shape[0], dtype=np.int64)
    sums, cursor = np.empty(cells_most, dtype=np.int32), np.empty(cells_most, dtype=np.int32)

    for w in range(which.shape[0]):
        s = which[w]
        required = required_score(best, least)
        size = pool.size[s]
        got_hits, got_pairs = 0, 0
        left = query.latitude.shape[0]
        is_spread = False
        for p in range(shapes.shape[0]):
            if got_pairs + left * size < required:
                break
            shape, frame = shapes[p], frames[p]
            here = shape[1] - shape[0]
            left -= here
            whole, undecided = classify_blocks(frame, blocks, block_start[s], size, limit, state)
            got_pairs += here * whole
            got_hits += here if whole > 0 else 0
            if undecided == 0:
                continue
            if shape[4] == 0:
                if not is_spread:
                    project_points(pool, s, limit, spread, balls)
                    is_spread = True
                more = measure_without_grid(query, shape, spread, balls, size, state, limit, True)
                got_hits += more[0] if whole == 0 else 0
                got_pairs += more[1]
                work[1] += here
                continue
            rows, columns = shape[4], shape[5]
            grid = GridFrame(frame[4], frame[5], 1.0 / frame[6], 1.0 / frame[7], rows, columns)
            inside = count_cells(pool, s, state, grid, cell_of, sums)
            if inside == 0:
                continue
            sort_by_cell(grid, size, cell_of, sums, cursor, order)
            gather_points(pool, s, order, inside, grid.west, points)
            ahead = here + left
            for c in range(shape[2], shape[3]):
                row, column, begin = cells[c, 0], cells[c, 1], cells[c, 2]
                end = cells[c + 1, 2] if c + 1 < shape[3] else shape[1]
                ahead -= end - begin
                widest = boxes[shape[7] + row]
                if count_in_cells(sums, rows, columns, row, shape[6], column, widest) > 0:
                    work[1] += 1
                    more = measure_cell(
                        query, shape, row, column, begin, end, sums, points, limit, matches
                    )
                    got_hits += more[0] if whole == 0 else 0
                    got_pairs += more[1]
                if got_pairs + ahead * size < required:
                    break
            work[0] += shape[3] - shape[2]
        hits[w], pairs[w] = got_hits, got_pairs
        if got_pairs >= required:
            push_score(best, got_pairs)
