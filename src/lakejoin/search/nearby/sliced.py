"""Which of my places have a partner? Occupancy bitmaps of 64 sets at a time; compiled.

A word for each cell of a part's grid has one bit for each of 64 sets: whether it has a place there.
Looking once at the words of the cells around one of mine so settles it for all of them: a set with
a place in a cell that is near for sure has a partner, and one with none in any cell that may be
near has not. Only what is open then is measured, in the sets that can still reach the bar.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.search.nearby.bar import bar_of, push
from lakejoin.search.nearby.blocks import BLOCK, OPEN, sort_blocks
from lakejoin.search.nearby.globe import measure_plainly, spread_out
from lakejoin.search.nearby.measuring import any_near
from lakejoin.search.nearby.parts import MyParts
from lakejoin.search.nearby.pool import Frame, Pool, find_cells, gather

Array = np.ndarray[Any, Any]

_SETS = 64
_ONE = np.uint64(1)


@njit(inline="always")
def _union(words: Array, begin: int, end: int) -> np.uint64:
    part = words[begin:end]
    found = np.uint64(0)
    for i in range(end - begin):
        found |= part[i]
    return found


@njit
def _look_around(
    words: Array, shape: Array, sure: Array, maybe: Array, row: int, column: int, there: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """(sets with a place near a cell for sure, sets with one that may be near)."""
    rows, columns, near = shape[4], shape[5], shape[6]
    spans = shape[8] + row * (2 * near + 1) + near
    certain, may = np.uint64(0), np.uint64(0)
    for step in range(2 * near + 1):
        apart = (step + 1) // 2 if step % 2 else -(step // 2)  # the own row first
        half, other = sure[spans + apart], row + apart
        if half >= 0:
            base = (other + 1) * (columns + 1) + 1
            low, high = max(column - half, 0), min(column + half + 1, columns)
            certain |= _union(words, base + low, base + high)
            if certain == there:
                return certain, there
    for apart in range(-near, near + 1):
        half, other = maybe[spans + apart], row + apart
        if half >= 0 and 0 <= other < rows:
            base = (other + 1) * (columns + 1) + 1
            low, high = max(column - half, 0), min(column + half + 1, columns)
            may |= _union(words, base + low, base + high)
    return certain, may


@njit
def _fill(
    pool: Pool, s: int, state: Array, frame: Frame, bit: np.uint64, cell_of: Array, words: Array
) -> bool:
    """Sets a bit in the cells where a set has places; whether it has any."""
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
def _sort_coarsely(
    pool: Pool, s: int, frame: Frame, cell_of: Array, start: Array, order: Array
) -> int:
    """Sorts a set's places by cell of a coarse grid; `start` is where each cell's begin."""
    size = pool.size[s]
    cells = (frame.rows + 1) * (frame.columns + 1)
    find_cells(pool, s, 0, size, frame, cell_of)
    start[: cells + 1] = 0
    for i in range(size):
        start[np.uint64(cell_of[i] + 1)] += 1
    outside = start[1]
    start[1] = 0
    for cell in range(cells):
        start[cell + 1] += start[cell]
    for i in range(size):
        cell = cell_of[i]
        if cell > 0:
            order[start[cell]] = i
            start[cell] += 1
    for cell in range(cells, 0, -1):  # each begins where the one before it ended
        start[cell] = start[cell - 1]
    start[0] = 0
    return size - outside


@njit
def _measure_open(
    pool: Pool, s: int, mine: MyParts, shape: Array, frame: Array, open_: Array, bit: np.uint64,
    limit: float, cell_of: Array, start: Array, order: Array, theirs: Array, bar: int, got: int,
    unsettled: int, left: int,
) -> tuple[int, int]:  # fmt: skip
    """(my places with a partner so far, cells measured), after the open cells of one set."""
    near, widest = shape[6], shape[9]
    down, across = near + 2, widest + 2  # fine cells in a coarse one: what is near is next to it
    rows, columns = shape[4] // down + 1, shape[5] // across + 1
    coarse = Frame(
        frame[4], frame[5], 1.0 / (frame[6] * down), 1.0 / (frame[7] * across), rows, columns
    )
    inside = _sort_coarsely(pool, s, coarse, cell_of, start, order)
    gather(pool, s, order, inside, frame[5], theirs)
    cells, bounds, cosine = mine.cells, mine.bounds, mine.cosine
    my_lat, my_lon, my_east = mine.latitude, mine.longitude, mine.east
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
            place = my_lat[j], my_lon[j], my_east[j], cosine[j]
            least, most = bounds[j, 0], bounds[j, 1]
            for other in range(max(row - 1, 0), min(row + 2, rows)):
                base = (other + 1) * (columns + 1) + 1
                first, last = start[base + west], start[base + east]
                if any_near(place, least, most, theirs, first, last, limit):
                    got += 1
                    break
        if got + unsettled + left < bar:
            break
    return got, looked


@njit
def _hit_plainly(
    pool: Pool, blocks: Array, block_start: Array, which: Array, mine: MyParts, plain: int,
    limit: float, bar: int, state: Array, spread: Array, balls: Array, got: Array,
) -> None:  # fmt: skip
    """Counts my places that have a partner, of the `plain` ones in parts without a grid."""
    frames, shapes = mine.frame, mine.shape
    others = mine.latitude.shape[0] - plain
    for b in range(which.shape[0]):
        s = which[b]
        size = pool.size[s]
        is_spread = False
        left = plain
        for p in range(shapes.shape[0]):
            shape, frame = shapes[p], frames[p]
            if shape[4] > 0:
                continue
            if got[b] + left + others < bar:
                break
            here = shape[1] - shape[0]
            left -= here
            whole, some = sort_blocks(frame, blocks, block_start[s], size, limit, state)
            if whole > 0:
                got[b] += here
            elif some > 0:
                if not is_spread:
                    spread_out(pool, s, limit, spread, balls)
                    is_spread = True
                more = measure_plainly(mine, shape, spread, balls, size, state, limit, False)
                got[b] += more[0]


@kernel
def hit_places(
    pool: Pool, blocks: Array, block_start: Array, which: Array, mine: MyParts, limit: float,
    least: int, best: Array, hits: Array, work: Array,
) -> None:  # fmt: skip
    """Counts, for the sets `which`, my places that have a partner.

    Counts that do not reach the bar may be too small. `work` counts the cells of mine that words
    were looked at for, once for 64 sets, and those that were measured, once for each set.
    """
    cells, frames, shapes, sure, maybe = mine.cells, mine.frame, mine.shape, mine.sure, mine.maybe
    largest, cells_most, mine_most, plain = 1, 1, 1, 0
    for s in which:
        largest = max(largest, pool.size[s])
    for p in range(shapes.shape[0]):
        cells_most = max(cells_most, (shapes[p, 4] + 2) * (shapes[p, 5] + 2))
        mine_most = max(mine_most, shapes[p, 3] - shapes[p, 2])
        plain += shapes[p, 1] - shapes[p, 0] if shapes[p, 4] == 0 else 0
    theirs = np.empty((3, largest), dtype=np.float64)
    spread, balls = np.empty((5, largest)), np.empty((largest // BLOCK + 1, 5))
    cell_of, order = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    state = np.empty(largest // BLOCK + 1, dtype=np.uint8)
    words = np.zeros(cells_most, dtype=np.uint64)
    start = np.empty(cells_most + 1, dtype=np.int32)
    open_ = np.empty(mine_most, dtype=np.uint64)
    got, unsettled = np.empty(_SETS, dtype=np.int64), np.empty(_SETS, dtype=np.int64)

    for first in range(0, which.shape[0], _SETS):
        count = min(_SETS, which.shape[0] - first)
        bar = bar_of(best, least)
        got[:] = 0
        if plain > 0:
            _hit_plainly(
                pool, blocks, block_start, which[first : first + count], mine, plain, limit, bar,
                state, spread, balls, got,
            )  # fmt: skip
            work[1] += plain * count
        left = mine.latitude.shape[0] - plain
        for p in range(shapes.shape[0]):
            shape, frame = shapes[p], frames[p]
            if shape[4] == 0:
                continue
            here = shape[1] - shape[0]
            grid = Frame(frame[4], frame[5], 1.0 / frame[6], 1.0 / frame[7], shape[4], shape[5])
            there = np.uint64(0)
            for b in range(count):
                s = which[first + b]
                if got[b] + left < bar:
                    continue
                size = pool.size[s]
                whole, some = sort_blocks(frame, blocks, block_start[s], size, limit, state)
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
                if unsettled[b] > 0 and got[b] + unsettled[b] + left >= bar:
                    got[b], looked = _measure_open(
                        pool, which[first + b], mine, shape, frame, open_, _ONE << np.uint64(b),
                        limit, cell_of, start, order, theirs, bar, got[b], unsettled[b], left,
                    )  # fmt: skip
                    work[1] += looked
        for b in range(count):
            hits[first + b] = got[b]
            if got[b] >= bar:
                push(best, got[b])
