"""Count the points near the query's points; counts by cell settle most of them; compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.bar import required_score, push_score
from lakejoin.engines.distance.blocks import BLOCK, classify_blocks
from lakejoin.engines.distance.globe import measure_without_grid, project_points
from lakejoin.engines.distance.near_pairs import measure_cell
from lakejoin.engines.distance.query_grids import QueryGrids
from lakejoin.engines.distance.point_pool import GridFrame, PointPool, gather_points
from lakejoin.engines.distance.squares import count_cells, count_in_cells, sort_by_cell

Array = np.ndarray[Any, Any]

# For each part of the query, blocks of a set that are out of reach are skipped, and those entirely
# within reach are counted as a whole. The points of the others are counted by cell of the part's
# grid, and the counts summed over rows and columns, so that four look-ups give the number of points
# in any rectangle of cells: points in cells that are surely near are counted, and those in cells
# that may be near are measured.


@kernel
def count_near_pairs(
    pool: PointPool, blocks: Array, block_start: Array, which: Array, query: QueryGrids, limit: float,
    least: int, best: Array, hits: Array, pairs: Array, work: Array,
) -> None:  # fmt: skip
    """Count, for the sets `which`, the query points that have a partner, and the pairs.

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
