"""Count the query points that have a partner, with occupancy bitmaps of 64 sets at a time;
compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.bar import required_score, push_score
from lakejoin.engines.distance.blocks import BLOCK, OPEN, classify_blocks
from lakejoin.engines.distance.globe import measure_without_grid, project_points
from lakejoin.engines.distance.open_cells import FEW, measure_few, measure_many
from lakejoin.engines.distance.sphere_bounds import COARSE, count_coarsely, bound_matches
from lakejoin.engines.distance.query_grids import QueryGrids
from lakejoin.engines.distance.point_pool import GridFrame, PointPool, find_cells

Array = np.ndarray[Any, Any]

# Each cell of a grid has a word with one bit per set: whether that set has a point there. Looking
# once at the words of the cells around a query cell settles it for all 64 sets: a set with a point
# in a cell that is surely near has a partner, and one with no point in any cell that may be near
# has none. Only what is left open is measured, in the sets that can still reach the required score.

_SETS = 64
_ONE = np.uint64(1)


@njit(inline="always")
def _union(words: Array, begin: int, end: int) -> np.uint64:
    """OR the words [begin, end)."""
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
    pool: PointPool, s: int, state: Array, frame: GridFrame, bit: np.uint64, cell_of: Array, words: Array
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
    """Count the query points that have a partner, of the `plain` ones in parts without a grid."""
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
    pool: PointPool, blocks: Array, block_start: Array, which: Array, query: QueryGrids, limit: float,
    least: int, best: Array, hits: Array, work: Array,
) -> None:  # fmt: skip
    """Count, for the sets `which`, the query points that have a partner.

    Counts that do not reach the required score may be too small. `work` counts the query cells
    whose words were checked, once for 64 sets, and those that were measured, once for each set.
    """
    cells, frames, shapes, sure, maybe = (
        query.cells,
        query.frame,
        query.shape,
        query.sure,
        query.maybe,
    )
    largest, cells_most, mine_most, plain = 1, 1, 1, 0
    for s in which:
        largest = max(largest, pool.size[s])
    for p in range(shapes.shape[0]):
        cells_most = max(cells_most, (shapes[p, 4] + 2) * (shapes[p, 5] + 2))
        mine_most = max(mine_most, shapes[p, 3] - shapes[p, 2])
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
    open_ = np.empty(mine_most, dtype=np.uint64)
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
