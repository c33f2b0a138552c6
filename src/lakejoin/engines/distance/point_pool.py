"""The mapped points of a segment for compiled code: by cell of a grid, and near numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lakejoin.engines.distance.sphere_bounds import BLOCK, OPEN
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.topk import push_score, required_score
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


def by_form(read: Any) -> Any:
    """A compiled function (pool, form, ...) that reads numbers of any form by `read(raw, ...)`."""

    @njit
    def read_form(pool: PointPool, form: int, *rest: Any) -> Any:
        if form == 0:
            return read(pool.bytes_, *rest)
        if form == 1:
            return read(pool.shorts, *rest)
        if form == 2:
            return read(pool.words, *rest)
        if form == 3:
            return read(pool.floats, *rest)
        return read(pool.doubles, *rest)

    return read_form


_decode_form, _cells_form, _gather_form = by_form(_decode), by_form(_cells), by_form(_gather)


@njit
def decode_numbers(pool: PointPool, s: int, begin: int, count: int, out: Array) -> None:
    """Write the numbers [begin, begin + count) of a set, as float64."""
    _decode_form(pool, pool.form[s], pool.begin[s] + begin, count, pool.divisor[s], out)


@njit
def find_cells(pool: PointPool, s: int, begin: int, end: int, frame: GridFrame, out: Array) -> None:
    """Find the cells of the points [begin, end) of a set.

    A cell is (row + 1) * (columns + 1) + column + 1; 0 is outside. A point at the edge of a cell
    may be found in the next one.
    """
    lat, form, divisor = pool.begin[s] + begin, pool.form[s], pool.divisor[s]
    _cells_form(pool, form, lat, lat + pool.size[s], end - begin, divisor, frame, out)


@njit
def gather_points(
    pool: PointPool, s: int, order: Array, count: int, west: float, out: Array
) -> None:
    """Write latitude, longitude, and degrees east of the west, of the points in `order`."""
    lat, form, divisor = pool.begin[s], pool.form[s], pool.divisor[s]
    _gather_form(pool, form, lat, lat + pool.size[s], order, count, divisor, west, out)


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


# Numbers near the query's: two sorted lists are walked together, over all sets of a segment.


@njit(inline="always")
def _first_above(raw: Array, at: int, end: int, divisor: float, bound: float, equal: bool) -> int:
    """Return the first index from `at` on with a number above `bound` (or `equal`), else `end`.

    Gallops, because both lists ascend and most numbers are close by.
    """
    step = 1
    while at + step <= end and _below(raw[at + step - 1], divisor, bound, equal):
        at += step
        step *= 2
    high = min(at + step - 1, end)
    while at < high:
        middle = (at + high) >> 1
        if _below(raw[middle], divisor, bound, equal):
            at = middle + 1
        else:
            high = middle
    return at


@njit(inline="always")
def _below(raw_number: float, divisor: float, bound: float, equal: bool) -> bool:
    number = np.float64(raw_number) / divisor
    return number < bound if equal else number <= bound


@njit
def _count_set(
    raw: Array,
    begin: int,
    size: int,
    divisor: float,
    low: Array,
    high: Array,
    rising: bool,
    all_: bool,
    required: int,
) -> tuple[int, int]:
    """Return (query numbers with a match, pairs); stops once the score is out of reach."""
    end = begin + size
    first, last = begin, begin
    hits, pairs = 0, 0
    count = low.shape[0]
    for i in range(count):
        if not rising:  # 100% or more: the interval of a larger number may begin earlier
            first = last = begin
        first = _first_above(raw, first, end, divisor, low[i], True)
        if first == end and rising:
            break
        last = _first_above(raw, max(first, last), end, divisor, high[i], False)
        pairs += last - first
        hits += last > first
        left = count - 1 - i
        if (pairs + left * size if all_ else hits + left) < required:
            break
    return hits, pairs


_count_form = by_form(_count_set)


@kernel
def count_near_numbers(
    pool: PointPool,
    which: Array,
    begin: Array,
    end: Array,
    low: Array,
    high: Array,
    rising: bool,
    all_: bool,
    least: int,
    best: Array,
    hits: Array,
    pairs: Array,
) -> None:
    """Count, for the sets `which`, the query numbers that have a match, and the pairs.

    Query number i matches what is in [low[i], high[i]]; only those in [begin, end) can match a set.
    Counts that do not reach the required score may be too small.
    """
    for i in range(which.shape[0]):
        s = which[i]
        required = required_score(best, least)
        able = end[i] - begin[i]
        size = pool.size[s]
        if (able * size if all_ else able) < required:
            continue
        lows, highs = low[begin[i] : end[i]], high[begin[i] : end[i]]
        at, divisor, form = pool.begin[s], pool.divisor[s], pool.form[s]
        counts = _count_form(pool, form, at, size, divisor, lows, highs, rising, all_, required)
        hits[i], pairs[i] = counts
        score = counts[1] if all_ else counts[0]
        if score >= required:
            push_score(best, score)
