"""Compiled code that the peers share: matches become hits by column, and borderline pairs are
checked twice.

A distance counts if its square is at most `limit_of(radius)`, computed in float64 from the float32
vectors: the rule that lakejoin's own search has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from vectors_data import Array, Lake


def limit_of(radius: float) -> float:
    """The largest squared distance that counts as within the radius."""
    return radius * radius * (1 + 1e-9) + 1e-12


@dataclass(frozen=True, slots=True)
class Counting:
    """Partners of the query's vectors to hits by column, with one stamp a column."""

    start: Array
    columns: Array
    hits: Array
    stamp: Array

    @classmethod
    def of(cls, lake: Lake) -> Counting:
        """Of the lists of a lake."""
        return cls(*lake.lists, *np.zeros((2, lake.columns), np.int32))

    @classmethod
    def of_rows(cls, lake: Lake) -> Counting:
        """Where every occurrence is a vector of its own, in one column."""
        start = np.arange(lake.occurrences + 1)
        return cls(start, lake.column_of, *np.zeros((2, lake.columns), np.int32))

    def reaching(self, place: Array, ids: Array, least: int) -> tuple[Array, Array]:
        """(columns, hits) of those that reach `least`; `place` numbers my vectors, ascending."""
        self.hits[:] = 0
        self.stamp[:] = -1
        _count(
            place.astype(np.int64),
            ids.astype(np.int64),
            self.start,
            self.columns,
            self.hits,
            self.stamp,
        )
        columns = np.flatnonzero(self.hits >= least)
        return columns, self.hits[columns].astype(np.int64)


@njit
def _count(place, ids, start, columns, hits, stamp):  # type: ignore[no-untyped-def]
    for i in range(len(ids)):
        mine = place[i]
        for j in range(start[ids[i]], start[ids[i] + 1]):
            column = columns[j]
            if stamp[column] != mine:
                stamp[column] = mine
                hits[column] += 1


def near_enough(
    queries: Array,
    vectors: Array,
    place: Array,
    ids: Array,
    squared: Array,
    radius: float,
    band: float,
) -> Array:
    """Which pairs are within the radius; those near the border are computed in float64."""
    within: Array = squared <= limit_of(radius) - band
    doubtful = np.flatnonzero(~within)
    for begin in range(0, len(doubtful), 1 << 14):
        piece = doubtful[begin : begin + (1 << 14)]
        apart = queries[place[piece]].astype(np.float64) - vectors[ids[piece]]
        within[piece] = np.einsum("ij,ij->i", apart, apart) <= limit_of(radius)
    return within


@njit
def through_pivots(queries, far, vectors, which, kept, limit):  # type: ignore[no-untyped-def]
    """(place, ids, distances computed) of the pairs that the pivots do not rule out."""
    reach = np.float32(np.sqrt(limit) + 1e-5)
    place, ids, verified = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)], 0
    groups, dimension = which.shape[1], vectors.shape[1]
    for mine in range(len(queries)):
        for other in range(len(vectors)):
            for group in range(groups):
                if abs(far[mine, which[other, group]] - kept[other, group]) > reach:
                    break
            else:
                verified += 1
                total = 0.0
                for d in range(dimension):
                    step = np.float64(queries[mine, d]) - np.float64(vectors[other, d])
                    total += step * step
                    if total > limit:
                        break
                else:
                    place.append(mine)
                    ids.append(other)
    return np.array(place), np.array(ids), verified
