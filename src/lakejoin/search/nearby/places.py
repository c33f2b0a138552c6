"""Places near mine: an occupancy bitmap for each set, and a look at what it leaves open; compiled.

For each part of mine, the blocks of a set that are out of reach are passed over, and those within
reach as a whole are counted as a whole. The places of the others go into the cells of the part's
grid: one bit says whether a cell has any. A cell of mine is then settled by a few looks at spans of
bits: a place in a cell that is near for sure settles it, and so do no places in any cell that may
be near; what is left is measured, place by place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.search.nearby.bar import bar_of, push
from lakejoin.search.nearby.parts import MyParts
from lakejoin.search.nearby.pool import Pool, decode
from lakejoin.search.nearby.sphere import box_bounds, haversine

Array = np.ndarray[Any, Any]

_BLOCK = 256  # as lakejoin.store.points has it
_SAFE = 1e-9
_FLAT = 0.05  # half an angle, below which a sine is bounded by a polynomial
_HALF = np.pi / 360
_OUT, _WHOLE, _OPEN = 0, 1, 2


@njit(inline="always")
def _bit(words: Array, bit: int) -> None:
    words[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@njit(inline="always")
def _next_bit(words: Array, begin: int, end: int) -> int:
    """The first bit that is set in [begin, end); `end` if none is."""
    at = begin >> 6
    word = words[at] & (np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(begin & 63))
    last = (end - 1) >> 6
    while word == 0:
        at += 1
        if at > last:
            return end
        word = words[at]
    low = word & (~word + np.uint64(1))
    found = at << 6
    # The number of zeros below the lowest bit that is set.
    if low & np.uint64(0xFFFFFFFF00000000):
        found += 32
    if low & np.uint64(0xFFFF0000FFFF0000):
        found += 16
    if low & np.uint64(0xFF00FF00FF00FF00):
        found += 8
    if low & np.uint64(0xF0F0F0F0F0F0F0F0):
        found += 4
    if low & np.uint64(0xCCCCCCCCCCCCCCCC):
        found += 2
    if low & np.uint64(0xAAAAAAAAAAAAAAAA):
        found += 1
    return min(found, end)


@njit(inline="always")
def _near(
    lat: float, lon: float, cosine: float, lat2: float, lon2: float,
    least: float, most: float, limit: float,
) -> bool:  # fmt: skip
    """Whether two places are near enough; `least` and `most` bound the second's cosine."""
    tall = (lat - lat2) * _HALF
    wide = (lon - lon2) * _HALF
    if abs(tall) < _FLAT and abs(wide) < _FLAT:
        tall2, wide2 = tall * tall, wide * wide
        if tall2 + cosine * most * wide2 <= limit * (1 - _SAFE):
            return True
        low = tall2 * (1 - tall2 / 3) + cosine * least * wide2 * (1 - wide2 / 3)
        if low > limit * (1 + _SAFE):
            return False
    return haversine(lat, lon, cosine, lat2, lon2) <= limit


@njit
def _sort_blocks(
    frame: Array, blocks: Array, first: int, count: int, limit: float, state: Array
) -> tuple[int, int]:
    """Tells each block of a set apart: out of reach, within as a whole, or open; how many of the
    last two."""
    whole, open_ = 0, 0
    for b in range(count):
        least, most = box_bounds(frame[0], frame[1], frame[2], frame[3], blocks[first + b])
        if least > limit * (1 + _SAFE):
            state[b] = _OUT
        elif most <= limit * (1 - _SAFE):
            state[b] = _WHOLE
            whole += 1
        else:
            state[b] = _OPEN
            open_ += 1
    return whole, open_


@njit
def _fill(
    frame: Array, shape: Array, lat: Array, lon: Array, size: int, state: Array,
    words: Array, heads: Array, counts: Array, cells: Array, links: Array,
) -> int:  # fmt: skip
    """Puts the places of a set's open blocks into the cells of a grid; returns how many are there.

    `cells` lists the cell of each place that is in one (-1: none), `links` the next place in it.
    """
    south, west, height, width = frame[4], frame[5], frame[6], frame[7]
    rows, columns = shape[4], shape[5]
    inside = 0
    for b in range((size + _BLOCK - 1) // _BLOCK):
        end = min(size, (b + 1) * _BLOCK)
        if state[b] != _OPEN:
            for i in range(b * _BLOCK, end):
                cells[i] = -1
            continue
        for i in range(b * _BLOCK, end):
            east = lon[i] - west
            if east < 0.0:
                east += 360.0
            elif east >= 360.0:
                east -= 360.0
            row, column = int((lat[i] - south) / height), int(east / width)
            if lat[i] < south or row >= rows or column >= columns:
                cells[i] = -1
                continue
            cell = row * columns + column
            cells[i] = cell
            inside += 1
            _bit(words, cell)
            links[i] = heads[cell]
            heads[cell] = i
            counts[cell] += 1
    return inside


@njit
def _empty(size: int, words: Array, heads: Array, counts: Array, cells: Array) -> None:
    for i in range(size):
        cell = cells[i]
        if cell >= 0:
            words[cell >> 6] = np.uint64(0)
            heads[cell] = -1
            counts[cell] = 0


@njit
def _any_sure(words: Array, row: int, column: int, shape: Array, sure: Array) -> bool:
    """Whether a cell has a place in a cell that is near for sure; the same row is tried first."""
    rows, columns, near = shape[4], shape[5], shape[6]
    spans = shape[8] + row * (2 * near + 1) + near
    for step in range(near + 1):
        nothing = True
        for side in range(2):
            apart = step if side == 0 else -step
            half = sure[spans + apart]
            if half < 0 or row + apart < 0 or row + apart >= rows:
                continue
            nothing = False
            base = (row + apart) * columns
            end = base + min(column + half, columns - 1) + 1
            if _next_bit(words, base + max(column - half, 0), end) < end:
                return True
            if step == 0:
                break
        if nothing:
            break
    return False


@njit
def _measure_cell(
    row: int, column: int, shape: Array, maybe: Array, sure: Array, cosines: Array,
    words: Array, heads: Array, counts: Array, links: Array, lat: Array, lon: Array,
    my_lat: Array, my_lon: Array, my_cosine: Array, begin: int, end: int,
    limit: float, all_: bool, found: Array,
) -> tuple[int, int]:  # fmt: skip
    """(places in a cell of mine that have a partner, pairs), measured where need be.

    Unless all pairs are wanted, no cell near for sure has a place, and one partner is enough.
    """
    rows, columns, near = shape[4], shape[5], shape[6]
    spans = shape[8] + row * (2 * near + 1) + near
    pairs, hits = 0, 0
    for j in range(begin, end):
        found[j] = 0
    for apart in range(-near, near + 1):
        half = maybe[spans + apart]
        other = row + apart
        if half < 0 or other < 0 or other >= rows:
            continue
        core = sure[spans + apart]
        base = other * columns
        stop = base + min(column + half, columns - 1) + 1
        least, most = cosines[shape[7] + other, 0], cosines[shape[7] + other, 1]
        cell = _next_bit(words, base + max(column - half, 0), stop)
        while cell < stop:
            if abs(cell - base - column) <= core:
                pairs += counts[cell] * (end - begin)
                for j in range(begin, end):
                    hits += found[j] == 0
                    found[j] = 1
            else:
                for j in range(begin, end):
                    if found[j] != 0 and not all_:
                        continue
                    i = heads[cell]
                    while i >= 0:
                        if _near(
                            my_lat[j], my_lon[j], my_cosine[j], lat[i], lon[i], least, most, limit
                        ):
                            pairs += 1
                            hits += found[j] == 0
                            found[j] = 1
                            if not all_:
                                break
                        i = links[i]
                if hits == end - begin and not all_:
                    return hits, pairs
            cell = _next_bit(words, cell + 1, stop) if cell + 1 < stop else stop
    return hits, pairs


@njit
def _measure_plainly(
    shape: Array, lat: Array, lon: Array, size: int, state: Array, blocks: Array, first: int,
    my_lat: Array, my_lon: Array, my_cosine: Array, limit: float, all_: bool,
) -> tuple[int, int]:  # fmt: skip
    """(my places of a part without a grid that have a partner, pairs), by open blocks."""
    hits, pairs = 0, 0
    for j in range(shape[0], shape[1]):
        near = 0
        for b in range((size + _BLOCK - 1) // _BLOCK):
            if state[b] != _OPEN:
                continue
            least, most = box_bounds(my_lat[j], my_lat[j], my_lon[j], 0.0, blocks[first + b])
            if least > limit * (1 + _SAFE):
                continue
            end = min(size, (b + 1) * _BLOCK)
            if most <= limit * (1 - _SAFE):
                near += end - b * _BLOCK
            else:
                for i in range(b * _BLOCK, end):
                    if haversine(my_lat[j], my_lon[j], my_cosine[j], lat[i], lon[i]) <= limit:
                        near += 1
                        if not all_:
                            break
            if near and not all_:
                break
        pairs += near
        hits += near > 0
    return hits, pairs


@kernel
def meet_places(
    pool: Pool, blocks: Array, block_start: Array, which: Array, mine: MyParts, limit: float,
    all_: bool, least: int, best: Array, hits: Array, pairs: Array, work: Array,
) -> None:  # fmt: skip
    """Counts, for the sets `which`, my places that have a partner, and with `all_` the pairs.

    Counts that do not reach the bar may be too small. `work` counts the parts that were looked at
    and the cells of mine that were measured.
    """
    my_lat, my_lon, my_cosine = mine.latitude, mine.longitude, mine.cosine
    cell_row, cell_column, cell_begin = mine.cell_row, mine.cell_column, mine.cell_begin
    frames, shapes = mine.frame, mine.shape
    cosines, sure, maybe = mine.cosines, mine.sure, mine.maybe
    largest, cells_most = 0, 0
    for s in which:
        largest = max(largest, pool.size[s])
    for p in range(shapes.shape[0]):
        cells_most = max(cells_most, shapes[p, 4] * shapes[p, 5])
    lat, lon = np.empty(largest, dtype=np.float64), np.empty(largest, dtype=np.float64)
    cells, links = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    state = np.empty(largest // _BLOCK + 1, dtype=np.uint8)
    words = np.zeros(cells_most // 64 + 2, dtype=np.uint64)
    heads = np.full(cells_most, -1, dtype=np.int32)
    counts = np.zeros(cells_most, dtype=np.int32)
    found = np.zeros(my_lat.shape[0], dtype=np.uint8)
    total = my_lat.shape[0]

    for w in range(which.shape[0]):
        s = which[w]
        bar = bar_of(best, least)
        size = pool.size[s]
        first = block_start[s]
        count = block_start[s + 1] - first
        got_hits, got_pairs = 0, 0
        left = total
        decoded = False
        for p in range(shapes.shape[0]):
            if (got_pairs + left * size if all_ else got_hits + left) < bar:
                break
            shape, frame = shapes[p], frames[p]
            here = shape[1] - shape[0]
            left -= here
            whole, open_ = _sort_blocks(frame, blocks, first, count, limit, state)
            if whole > 0:
                got_hits += here
                for b in range(count):
                    if state[b] == _WHOLE:
                        got_pairs += here * (min(size, (b + 1) * _BLOCK) - b * _BLOCK)
                if not all_:
                    continue
            if open_ == 0:
                continue
            if not decoded:
                decode(pool, s, 0, size, lat)
                decode(pool, s, size, size, lon)
                decoded = True
            work[0] += 1
            if shape[4] == 0:
                more = _measure_plainly(
                    shape, lat, lon, size, state, blocks, first, my_lat, my_lon, my_cosine,
                    limit, all_,
                )  # fmt: skip
                got_hits += more[0] if whole == 0 else 0
                got_pairs += more[1]
                continue
            inside = _fill(frame, shape, lat, lon, size, state, words, heads, counts, cells, links)
            if inside > 0:
                ahead = here
                for c in range(shape[2], shape[3]):
                    begin = cell_begin[c]
                    end = cell_begin[c + 1] if c + 1 < shape[3] else shape[1]
                    ahead -= end - begin
                    if not all_ and _any_sure(words, cell_row[c], cell_column[c], shape, sure):
                        got_hits += end - begin
                        continue
                    work[1] += 1
                    more = _measure_cell(
                        cell_row[c], cell_column[c], shape, maybe, sure, cosines,
                        words, heads, counts, links, lat, lon,
                        my_lat, my_lon, my_cosine, begin, end, limit, all_, found,
                    )  # fmt: skip
                    got_hits += more[0] if whole == 0 else 0
                    got_pairs += more[1]
                    ahead_of = ahead + left
                    if (got_pairs + ahead_of * size if all_ else got_hits + ahead_of) < bar:
                        break
            _empty(size, words, heads, counts, cells)
        hits[w], pairs[w] = got_hits, got_pairs
        score = got_pairs if all_ else got_hits
        if score >= bar:
            push(best, score)
