"""Which cells of the lake may hold, or surely hold, partners of which queries? Compiled.

Lemmas 3 to 6 of the paper, and its algorithm 1: cells of the query's grid against cells of the
lake's on the same level, children against children where nothing is settled, down to queries
against leaves.

`far` is the radius and more than rounding can be off, so that what is left out is surely farther;
`sure` is the radius less that, so that what is let in is surely near.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array
from published.grid_cells import Cells


class Scale(NamedTuple):
    """Where cells lie and how near is near: the box's low corner; by level and dimension the edge
    of a cell (`width`) and how many cells apart is too far (`steps`)."""

    low: Array
    width: Array
    steps: Array
    far: float
    sure: float


def scale_of(low: Array, width: Array, far: float, sure: float) -> Scale:
    """The scale of a grid for a radius."""
    # Two cells that are `a` places apart have a - 1 cells between them.
    steps = np.minimum(np.floor(far / width) + 1, 2.0**30).astype(np.int64)
    return Scale(low, width, steps, far, sure)


@njit
def cell_far_from_cell(mine: Array, theirs: Array, steps: Array) -> bool:
    """Lemma 4: no vector of one cell is near one of the other, by the cells' places."""
    for j in range(steps.shape[0]):
        if abs(np.int64(mine[j]) - np.int64(theirs[j])) > steps[j]:
            return True
    return False


@njit
def cell_matches_cell(top: Array, theirs: Array, low: Array, width: Array, sure: float) -> bool:
    """Lemma 6: all queries of a cell match all vectors of a cell, by some pivot that is near to
    both. `top` is the largest distance of the queries from each pivot."""
    for j in range(width.shape[0]):
        if top[j] + (low[j] + (np.float64(theirs[j]) + 1.0) * width[j]) <= sure:
            return True
    return False


@njit
def vector_far_from_cell(point: Array, theirs: Array, low: Array, width: Array, far: float) -> bool:
    """Lemma 3: a mapped query's square does not meet the cell."""
    for j in range(width.shape[0]):
        begin = low[j] + theirs[j] * width[j]
        if point[j] < begin - far or point[j] > begin + width[j] + far:
            return True
    return False


@njit
def vector_matches_cell(point: Array, theirs: Array, low: Array, width: Array, sure: float) -> bool:
    """Lemma 5: a query matches all vectors of a cell. The same with the query as its own cell."""
    return cell_matches_cell(point, theirs, low, width, sure)


@njit
def _grown(rows: Array, used: int, more: int) -> Array:
    """Room for some more rows."""
    if used + more <= rows.shape[0]:
        return rows
    larger = np.empty((2 * (used + more), rows.shape[1]), dtype=rows.dtype)
    larger[:used] = rows[:used]
    return larger


@kernel
def block(
    mine: Cells, theirs: Cells, points: Array, browsed: Array, scale: Scale, tally: Array
) -> tuple[Array, Array]:
    """Algorithm 1: the matching pairs (query, first leaf, last leaf) and the candidates (query,
    leaf), leaves of the lake numbered from 0.

    `points` are the mapped queries in the order of their cells. `browsed` is, by leaf of the
    query's grid, the leaf of the lake at the same place (-1 for none): quick browsing has taken
    these pairs already. `tally[0]` counts the comparisons.
    """
    my_place, my_begin, my_end, my_top = mine.place, mine.begin, mine.end, mine.top
    their_place, their_begin, their_end = theirs.place, theirs.begin, theirs.end
    low, width, steps, far, sure = scale.low, scale.width, scale.steps, scale.far, scale.sure
    levels = width.shape[0]
    my_leaves, their_leaves = mine.start[levels - 1], theirs.start[levels - 1]
    matching, candidate = np.empty((64, 3), np.int32), np.empty((1024, 2), np.int32)
    matches, candidates, compared = np.int64(0), np.int64(0), np.int64(0)
    # Pairs of ranges of siblings, on one level: the roots have all cells of the first.
    stack = np.empty((64, 5), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, mine.start[1]
    stack[0, 3], stack[0, 4] = 0, theirs.start[1]
    top = np.int64(1)
    while top > 0:
        top -= 1
        level, a_begin, a_end, b_begin, b_end = stack[top]
        for a in range(a_begin, a_end):
            for b in range(b_begin, b_end):
                compared += 1
                if cell_far_from_cell(my_place[a], their_place[b], steps[level]):
                    continue
                if level + 1 < levels:
                    if cell_matches_cell(my_top[a], their_place[b], low, width[level], sure):
                        first, last = _leaves(their_begin, their_end, b, levels - 1 - level)
                        begin, end = _leaves(my_begin, my_end, a, levels - 1 - level)
                        for query in range(my_begin[begin], my_end[end - 1]):
                            matching = _grown(matching, matches, 1)
                            matching[matches, 0] = query
                            matching[matches, 1] = first - their_leaves
                            matching[matches, 2] = last - their_leaves
                            matches += 1
                    else:
                        stack = _grown(stack, top, 1)
                        stack[top, 0] = level + 1
                        stack[top, 1], stack[top, 2] = my_begin[a], my_end[a]
                        stack[top, 3], stack[top, 4] = their_begin[b], their_end[b]
                        top += 1
                    continue
                leaf = b - their_leaves
                if browsed[a - my_leaves] == leaf:
                    continue
                for query in range(my_begin[a], my_end[a]):
                    compared += 1
                    point = points[query]
                    if vector_matches_cell(point, their_place[b], low, width[level], sure):
                        matching = _grown(matching, matches, 1)
                        matching[matches, 0] = query
                        matching[matches, 1], matching[matches, 2] = leaf, leaf + 1
                        matches += 1
                    elif not vector_far_from_cell(point, their_place[b], low, width[level], far):
                        candidate = _grown(candidate, candidates, 1)
                        candidate[candidates, 0], candidate[candidates, 1] = query, leaf
                        candidates += 1
    tally[0] += compared
    return matching[:matches], candidate[:candidates]


@njit
def _leaves(begin: Array, end: Array, cell: int, below: int) -> tuple[int, int]:
    """The leaves under a cell that is so many levels above them."""
    first, last = cell, cell + 1
    for _ in range(below):
        first, last = begin[first], end[last - 1]
    return first, last


@kernel
def by_query(pairs: Array, queries: int) -> tuple[Array, Array]:
    """Pairs in the order of their queries: where each query's begin, and what each is paired
    with."""
    start = np.zeros(queries + 1, dtype=np.int64)
    for i in range(pairs.shape[0]):
        start[pairs[i, 0] + 1] += 1
    for query in range(queries):
        start[query + 1] += start[query]
    out = np.empty((pairs.shape[0], pairs.shape[1] - 1), dtype=np.int32)
    put = start.copy()
    for i in range(pairs.shape[0]):
        at = put[pairs[i, 0]]
        put[pairs[i, 0]] += 1
        for j in range(1, pairs.shape[1]):
            out[at, j - 1] = pairs[i, j]
    return start, out
