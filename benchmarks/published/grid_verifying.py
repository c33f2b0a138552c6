"""From pairs of queries and cells to counts by column: algorithm 2 of the paper, compiled.

The inverted index lists, for every leaf of the grid, its (column, vector) entries in the order of
columns, so that a cell is read column by column (a document at a time). The vectors of the index
are distinct, each with all its columns: whether a query is near a vector is settled once, for the
first column that needs to know.

Queries are taken one after the other, with all their cells. So no map of mismatches needs to be
kept: of the queries that are done, a column was matched by as many as the match map says, and
mismatched by all others. That settles lemma 7, for columns that were never met as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array
from published.metric import Reach, distance

DONE = 2**31 - 1  # in `passed`: the column is settled
# What is counted, by its place in the tally: comparisons of cells and of mapped vectors, distances,
# pairs found within the radius.
COMPARED, MEASURED, NEAR = range(3)


class Inverted(NamedTuple):
    """The lake in the order of the grid's leaves.

    By position: `points`, the mapped vectors, and `ids`, their rows in `vectors`. By leaf, `start`
    is where its entries begin; an entry is a `column` and a `position`. `size` is how many vectors
    each column has.
    """

    points: Array
    ids: Array
    vectors: Array
    start: Array
    column: Array
    position: Array
    size: Array


class Asked(NamedTuple):
    """Queries with their cells: by query, where its leaves in `cells` begin, its leaves that match
    as a whole (`sure_start`, `sure_cells`: first, last), and the leaf at its own place (-1: none).
    `order` is the order to take them in."""

    order: Array
    vectors: Array
    points: Array
    own: Array
    start: Array
    cells: Array
    sure_start: Array
    sure_cells: Array


class Bar(NamedTuple):
    """When does a column have enough? `ahead` is how many queries are not done yet, with these."""

    least: int
    ahead: int
    pairs: bool
    exact: bool


class Maps(NamedTuple):
    """By column, `matched` counts the matches so far (the match map), and `passed` is the stamp of
    the query that is done with it, or DONE. By position, `known` says what is known of the vector:
    the stamp of the query it was compared with last, and one more if they match."""

    matched: Array
    passed: Array
    known: Array


@njit
def point_far(mine: Array, theirs: Array, far: float) -> bool:
    """Lemma 1: by some pivot, the distances of two mapped vectors differ too much."""
    most = 0.0
    for j in range(mine.shape[0]):
        most = max(most, abs(np.float64(mine[j]) - np.float64(theirs[j])))
    return most > far


@njit
def point_matches(mine: Array, theirs: Array, sure: float) -> bool:
    """Lemma 2: some pivot is so near to both that they are near to each other."""
    least = np.inf
    for j in range(mine.shape[0]):
        least = min(least, np.float64(mine[j]) + np.float64(theirs[j]))
    return least <= sure


@njit
def cannot_reach(count: int, ahead: int, size: int, least: int) -> bool:
    """Lemma 7: even if all queries that are left match (in pairs: all vectors of the column), it
    is not enough."""
    return count + ahead * size < least


@kernel
def verify(
    lake: Inverted, asked: Asked, reach: Reach, bar: Bar, maps: Maps, first: int, tally: Array
) -> None:
    """Algorithm 2: counts, for every column, the queries with a match, or the matching pairs.

    `first` is the number of the first of these queries, among all of them.
    """
    points, ids, vectors = lake.points, lake.ids, lake.vectors
    start, columns, positions, size = lake.start, lake.column, lake.position, lake.size
    count, passed, known = maps.matched, maps.passed, maps.known
    my_points, my_vectors, own = asked.points, asked.vectors, asked.own
    cell_start, cells = asked.start, asked.cells
    sure_start, sure_cells = asked.sure_start, asked.sure_cells
    metric, limit, far, sure = reach.metric, reach.limit, reach.far, reach.sure
    least, pairs, exact = bar.least, bar.pairs, bar.exact
    compared, measured, near = np.int64(0), np.int64(0), np.int64(0)
    for turn in range(asked.order.shape[0]):
        query = asked.order[turn]
        stamp = np.int32(2 * (first + turn) + 2)
        ahead = bar.ahead - turn
        point, vector = my_points[query], my_vectors[query]
        home = np.int64(own[query])
        for i in range(sure_start[query], sure_start[query + 1]):
            if sure_cells[i, 0] <= home < sure_cells[i, 1]:
                home = np.int64(-1)
            for at in range(start[sure_cells[i, 0]], start[sure_cells[i, 1]]):
                column = columns[at]
                if passed[column] < stamp:
                    near += 1
                    _add(count, passed, column, stamp, least, pairs, exact)
        # The query's own cell first, where it most likely has its matches.
        for i in range(cell_start[query] - 1, cell_start[query + 1]):
            leaf = home if i < cell_start[query] else np.int64(cells[i, 0])
            if leaf < 0:
                continue
            for at in range(start[leaf], start[leaf + 1]):
                column = columns[at]
                if passed[column] >= stamp:
                    continue
                if cannot_reach(count[column], ahead, size[column] if pairs else 1, least):
                    passed[column] = DONE
                    continue
                position = positions[at]
                if known[position] < stamp:
                    compared += 1
                    other = points[position]
                    if point_far(point, other, far):
                        match = False
                    elif point_matches(point, other, sure):
                        match = True
                    else:
                        measured += 1
                        match = distance(metric, vector, vectors[ids[position]]) <= limit
                    known[position] = stamp + np.int32(match)
                if known[position] > stamp:
                    near += 1
                    _add(count, passed, column, stamp, least, pairs, exact)
    tally[COMPARED] += compared
    tally[MEASURED] += measured
    tally[NEAR] += near


@njit(inline="always")
def _add(
    count: Array, passed: Array, column: int, stamp: int, least: int, pairs: bool, exact: bool
) -> None:
    """A match: of hits, the query is done with the column; early acceptance settles it."""
    count[column] += 1
    if not exact and count[column] >= least:
        passed[column] = DONE
    elif not pairs:
        passed[column] = stamp


@kernel
def verify_naively(
    lake: Inverted, asked: Asked, reach: Reach, bar: Bar, maps: Maps, first: int, tally: Array
) -> None:
    """PEXESO-H: the distance of a query from every vector in its cells. Of the ways to end early
    only acceptance is left (and what hits need: a query counts once for a column)."""
    ids, vectors = lake.ids, lake.vectors
    start, columns, positions = lake.start, lake.column, lake.position
    count, passed, known = maps.matched, maps.passed, maps.known
    cell_start, cells, own, my_vectors = asked.start, asked.cells, asked.own, asked.vectors
    sure_start, sure_cells = asked.sure_start, asked.sure_cells
    metric, limit, least, pairs, exact = reach.metric, reach.limit, bar.least, bar.pairs, bar.exact
    measured, near = np.int64(0), np.int64(0)
    for turn in range(asked.order.shape[0]):
        query = asked.order[turn]
        stamp = np.int32(2 * (first + turn) + 2)
        vector = my_vectors[query]
        home = np.int64(own[query])
        for i in range(sure_start[query], sure_start[query + 1]):
            if sure_cells[i, 0] <= home < sure_cells[i, 1]:
                home = np.int64(-1)
            for at in range(start[sure_cells[i, 0]], start[sure_cells[i, 1]]):
                if passed[columns[at]] < stamp:
                    near += 1
                    _add(count, passed, columns[at], stamp, least, pairs, exact)
        for i in range(cell_start[query] - 1, cell_start[query + 1]):
            leaf = home if i < cell_start[query] else np.int64(cells[i, 0])
            if leaf < 0:
                continue
            for at in range(start[leaf], start[leaf + 1]):
                column, position = columns[at], positions[at]
                if passed[column] == DONE:
                    continue
                if known[position] < stamp:
                    measured += 1
                    match = distance(metric, vector, vectors[ids[position]]) <= limit
                    known[position] = stamp + np.int32(match)
                if known[position] > stamp and passed[column] < stamp:
                    near += 1
                    _add(count, passed, column, stamp, least, pairs, exact)
    tally[MEASURED] += measured
    tally[NEAR] += near


@kernel
def invert(
    begin: Array, entries: Array, length: Array, leaves: Array, columns: int
) -> tuple[Array, Array, Array, Array]:
    """The inverted index of vectors in the order of leaves: by position, where its columns begin in
    `entries` and how many there are; `leaves` has the first position of each leaf, and the end.

    Counting twice, by column and then by leaf, leaves every leaf's entries in column order.
    """
    total: int = length.sum()
    size = np.zeros(columns + 1, dtype=np.int64)
    for position in range(begin.shape[0]):
        for at in range(begin[position], begin[position] + length[position]):
            size[np.int64(entries[at]) + 1] += 1
    put = np.cumsum(size)[:-1]
    by_column = np.empty(total, dtype=np.uint32)
    start = np.zeros(leaves.shape[0], dtype=np.int64)
    leaf_of = np.empty(begin.shape[0], dtype=np.uint32)
    for leaf in range(leaves.shape[0] - 1):
        for position in range(leaves[leaf], leaves[leaf + 1]):
            leaf_of[position] = leaf
            start[leaf + 1] += length[position]
            for at in range(begin[position], begin[position] + length[position]):
                column = np.int64(entries[at])
                by_column[put[column]] = position
                put[column] += 1
    for leaf in range(leaves.shape[0] - 1):
        start[leaf + 1] += start[leaf]
    place = start.copy()
    column_out, position_out = np.empty(total, np.uint32), np.empty(total, np.uint32)
    first = put - size[1:]  # `put` has come to the end of each column
    for number in range(columns):
        for i in range(first[number], put[number]):
            at_leaf = leaf_of[by_column[i]]
            column_out[place[at_leaf]] = number
            position_out[place[at_leaf]] = by_column[i]
            place[at_leaf] += 1
    return start, column_out, position_out, size[1:]
