"""Count the query points that have a match, with bitmaps of 64 sets at a time; compiled."""

from __future__ import annotations

import math

import numpy as np

from lakejoin.engines.distance.near_pairs import any_near, measure_without_grid, project_points
from lakejoin.engines.distance.point_pool import (
    GridFrame,
    PointPool,
    decode_numbers,
    find_cells,
    gather_points,
)
from lakejoin.engines.distance.query_grids import QueryGrids
from lakejoin.engines.distance.sphere_bounds import (
    BLOCK,
    COARSE,
    OPEN,
    bound_matches,
    classify_blocks,
    count_coarsely,
)
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.topk import push_score, required_score
from lakejoin.model import Array

# Each cell of a grid has a word with one bit per set: whether that set has a point there. Looking
# once at the words of the cells around a query cell settles it for all 64 sets: a set with a point
# in a cell that is surely near has a match, and one with no point in any cell that may be near
# has none. Only what is left open is measured, in the sets that can still reach the required score.

_SETS = 64
_ONE = np.uint64(1)


@njit(inline="always")
def _union(words: Array, begin: int, end: int) -> np.uint64:
    run = words[begin:end]
    union = np.uint64(0)
    for i in range(end - begin):
        union |= run[i]
    return union


@njit
def _look_around(
    words: Array, shape: Array, sure: Array, maybe: Array, row: int, column: int, there: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return (sets with a point surely near a cell, sets with one that may be near)."""
    rows, columns, near = shape[4], shape[5], shape[6]
    spans = shape[8] + row * (2 * near + 1) + near
    certain, may = np.uint64(0), np.uint64(0)
    for step in range(2 * near + 1):
        row_step = (step + 1) // 2 if step % 2 else -(step // 2)  # the cell's own row first
        half, near_row = sure[spans + row_step], row + row_step
        if half >= 0:
            base = (near_row + 1) * (columns + 1) + 1
            low, high = max(column - half, 0), min(column + half + 1, columns)
            certain |= _union(words, base + low, base + high)
            if certain == there:
                return certain, there
    for row_step in range(-near, near + 1):
        half, near_row = maybe[spans + row_step], row + row_step
        if half >= 0 and 0 <= near_row < rows:
            base = (near_row + 1) * (columns + 1) + 1
            low, high = max(column - half, 0), min(column + half + 1, columns)
            may |= _union(words, base + low, base + high)
    return certain, may


@njit
def _fill(
    pool: PointPool,
    s: int,
    state: Array,
    frame: GridFrame,
    bit: np.uint64,
    cell_of: Array,
    words: Array,
) -> bool:
    """Set a bit in the cells where a set has points; return whether it has any there."""
    size = pool.size[s]
    outside = words[0]
    words[0] = np.uint64(0)
    any_ = False
    for b in range((size + BLOCK - 1) // BLOCK):
        if state[b] == OPEN:
            count = min(size, (b + 1) * BLOCK) - b * BLOCK
            find_cells(pool, s, b * BLOCK, b * BLOCK + count, frame, cell_of)
            for i in range(count):
                cell = np.uint64(cell_of[i])
                words[cell] |= bit
                any_ = any_ or bool(cell > 0)
    words[0] = outside
    return any_


@njit
def _hit_plainly(
    pool: PointPool, blocks: Array, block_start: Array, which: Array, query: QueryGrids, plain: int,
    limit: float, required: int, state: Array, spread: Array, balls: Array, got: Array,
) -> None:  # fmt: skip
    """Count the query points that have a match, of the `plain` ones in parts without a grid."""
    frames, shapes = query.frame, query.shape
    others = query.latitude.shape[0] - plain
    for b in range(which.shape[0]):
        s = which[b]
        size = pool.size[s]
        is_spread = False
        left = plain
        for p in range(shapes.shape[0]):
            shape, frame = shapes[p], frames[p]
            if shape[4] > 0:
                continue
            if got[b] + left + others < required:
                break
            here = shape[1] - shape[0]
            left -= here
            whole, some = classify_blocks(frame, blocks, block_start[s], size, limit, state)
            if whole > 0:
                got[b] += here
            elif some > 0:
                if not is_spread:
                    project_points(pool, s, limit, spread, balls)
                    is_spread = True
                more = measure_without_grid(query, shape, spread, balls, size, state, limit, False)
                got[b] += more[0]


@kernel
def count_near_points(
    pool: PointPool, blocks: Array, block_start: Array, which: Array, query: QueryGrids,
    limit: float, least: int, best: Array, hits: Array, work: Array,
) -> None:  # fmt: skip
    """Count, for the sets `which`, the query points that have a match.

    Counts that do not reach the required score may be too small. `work` counts the query cells
    whose words were checked, once for 64 sets, and those that were measured, once for each set.
    """
    cells, frames, shapes = query.cells, query.frame, query.shape
    sure, maybe = query.sure, query.maybe
    largest, cells_most, queries_most, plain = 1, 1, 1, 0
    for s in which:
        largest = max(largest, pool.size[s])
    for p in range(shapes.shape[0]):
        cells_most = max(cells_most, (shapes[p, 4] + 2) * (shapes[p, 5] + 2))
        queries_most = max(queries_most, shapes[p, 3] - shapes[p, 2])
        plain += shapes[p, 1] - shapes[p, 0] if shapes[p, 4] == 0 else 0
    points = np.empty((3, largest), dtype=np.float64)
    spread, balls = np.empty((5, largest)), np.empty((largest // BLOCK + 1, 5))
    cell_of, order = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    state = np.empty(largest // BLOCK + 1, dtype=np.uint8)
    ranges = np.empty((largest // BLOCK + 1, 3), dtype=np.float64)
    counts, marked = np.empty((COARSE, COARSE), np.int64), np.empty(COARSE, np.uint64)
    words = np.zeros(cells_most, dtype=np.uint64)
    start = np.empty(cells_most + 1, dtype=np.int32)
    needed = np.empty(cells_most, dtype=np.uint8)
    open_ = np.empty(queries_most, dtype=np.uint64)
    got, unsettled = np.empty(_SETS, dtype=np.int64), np.empty(_SETS, dtype=np.int64)

    for first in range(0, which.shape[0], _SETS):
        count = min(_SETS, which.shape[0] - first)
        required = required_score(best, least)
        got[:] = 0
        if plain > 0:
            _hit_plainly(
                pool, blocks, block_start, which[first : first + count], query, plain, limit,
                required, state, spread, balls, got,
            )  # fmt: skip
            work[1] += plain * count
        left = query.latitude.shape[0] - plain
        for p in range(shapes.shape[0]):
            shape, frame = shapes[p], frames[p]
            if shape[4] == 0:
                continue
            here = shape[1] - shape[0]
            grid = GridFrame(frame[4], frame[5], 1.0 / frame[6], 1.0 / frame[7], shape[4], shape[5])
            there = np.uint64(0)
            count_coarsely(cells, shape, counts)
            for b in range(count):
                s = which[first + b]
                size, ahead = pool.size[s], got[b] + left - here
                if ahead + here < required or ahead + bound_matches(
                    shape, frame, blocks, block_start[s], size, limit, counts, marked
                ) < required:  # fmt: skip
                    continue
                whole, some = classify_blocks(frame, blocks, block_start[s], size, limit, state)
                if whole > 0:
                    got[b] += here
                elif some > 0:
                    bit = _ONE << np.uint64(b)
                    if _fill(pool, s, state, grid, bit, cell_of, words):
                        there |= bit
            left -= here
            if there == 0:
                continue
            unsettled[:] = 0
            for c in range(shape[2], shape[3]):
                certain, may = _look_around(
                    words, shape, sure, maybe, cells[c, 0], cells[c, 1], there
                )
                end = cells[c + 1, 2] if c + 1 < shape[3] else shape[1]
                weight = end - cells[c, 2]
                may &= ~certain
                open_[c - shape[2]] = may
                for b in range(count):
                    got[b] += weight * np.int64((certain >> np.uint64(b)) & _ONE)
                    unsettled[b] += weight * np.int64((may >> np.uint64(b)) & _ONE)
            words[: (shape[4] + 1) * (shape[5] + 1)] = 0
            work[0] += shape[3] - shape[2]
            for b in range(count):
                s, bit = which[first + b], _ONE << np.uint64(b)
                if unsettled[b] == 0 or got[b] + unsettled[b] + left < required:
                    continue
                progress = got[b], unsettled[b], left, required
                if unsettled[b] <= FEW:
                    got[b], looked = measure_few(
                        pool, s, blocks, block_start[s], query, shape, frame, open_, bit, limit,
                        ranges, points, progress,
                    )  # fmt: skip
                else:
                    got[b], looked = measure_many(
                        pool, s, query, shape, frame, open_, bit, limit, needed, cell_of, start,
                        order, points, progress,
                    )  # fmt: skip
                work[1] += looked
        for b in range(count):
            hits[first + b] = got[b]
            if got[b] >= required:
                push_score(best, got[b])


# For many open cells the set's points are sorted by cell first. For few it is faster to look
# through the blocks of the set that come near: neighbours in the file are neighbours on the map.

FEW = 32  # query points
_WIDER = 1e-9  # relative margin of an angle, and in degrees


@njit
def _sort_coarsely(
    pool: PointPool,
    s: int,
    frame: GridFrame,
    needed: Array,
    cell_of: Array,
    start: Array,
    order: Array,
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
    pool: PointPool, s: int, query: QueryGrids, shape: Array, frame: Array, open_: Array,
    bit: np.uint64, limit: float, needed: Array, cell_of: Array, start: Array, order: Array,
    points: Array, progress: tuple[int, int, int, int],
) -> tuple[int, int]:  # fmt: skip
    """Measure the open cells of one set; return (query points with a match so far, cells
    measured).

    The set's points are sorted by cell of a coarse grid first. `progress` has the query points with
    a match so far, those that are open here, those of parts to come, and the required score.
    """
    got, unsettled, left, required = progress
    near, widest = shape[6], shape[9]
    down, across = near + 2, widest + 2  # fine cells per coarse one: near ones are adjacent
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
    pool: PointPool, s: int, blocks: Array, first_block: int, query: QueryGrids, shape: Array,
    frame: Array, open_: Array, bit: np.uint64, limit: float, ranges: Array, points: Array,
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
