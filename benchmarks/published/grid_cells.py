"""Hierarchical grids in the pivot space: the occupied cells of every level, as flat arrays.

The box around the lake's mapped vectors is halved in every dimension once a level: level i has
2^(pivots * i) cells, of which only the occupied ones are kept. Interleaving the bits of a vector's
coordinates gives a number of which the first bits name its cell on each level; so in the order of
these numbers the children of a cell, and the vectors in it, follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

_BITS = 62  # of a cell's number
_DEEP = 12  # levels at most


def most_levels(pivots: int) -> int:
    """How many levels a grid can have.

    >>> most_levels(3), most_levels(16)
    (12, 3)
    """
    return min(_DEEP, _BITS // max(pivots, 1))


class Cells(NamedTuple):
    """A hierarchical grid for compiled code.

    Cells are numbered level by level, from the top: those of level i are start[i-1] to start[i].
    By cell, `place` is its coordinates on its level, and [begin, end) are its children, or its
    vectors at the leaves. `top` is the largest mapped vector in it by dimension, for queries only.
    """

    start: Array
    place: Array
    begin: Array
    end: Array
    top: Array


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The box that is divided: its low corner, and its edges."""

    low: Array
    edge: Array

    @classmethod
    def around(cls, points: Array) -> Frame:
        """The box around mapped vectors."""
        if not len(points):
            return cls(np.zeros(points.shape[1]), np.ones(points.shape[1]))
        low = points.min(axis=0).astype(np.float64)
        edge = points.max(axis=0) - low
        return cls(low, np.where(edge > 0, edge, 1.0))

    def widths(self, levels: int) -> Array:
        """The edges of a cell, by level and dimension."""
        return self.edge / 2.0 ** np.arange(1, levels + 1)[:, None]

    def places(self, points: Array, levels: int) -> Array:
        """The coordinates of each point's cell on the last level; outside, of the nearest cell.

        The box holds all vectors of the lake, so the nearest cell is not farther from any of them
        than a query outside is, in any dimension.
        """
        steps = np.floor((points - self.low) / self.widths(levels)[-1])
        return np.clip(steps, 0, 2**levels - 1).astype(np.uint16)


def ordered(places: Array, levels: int) -> tuple[Array, Array]:
    """The order of points by the numbers of their cells, and these numbers, sorted."""
    numbers = np.empty(len(places), dtype=np.int64)
    interleave(places, levels, numbers)
    order = np.argsort(numbers, kind="stable")
    return order, numbers[order]


@kernel
def interleave(places: Array, levels: int, out: Array) -> None:
    """The number of each cell: the first bit of each coordinate, then the second of each, …"""
    for i in range(places.shape[0]):
        number = np.int64(0)
        for bit in range(levels - 1, -1, -1):
            for j in range(places.shape[1]):
                number = (number << 1) | ((np.int64(places[i, j]) >> bit) & 1)
        out[i] = number


def cells_of(places: Array, numbers: Array, deep: int, levels: int, points: Array) -> Cells:
    """The grid of `levels` levels over places on level `deep` that are sorted by their numbers.

    `points` are the mapped vectors in that order, for `top`, or none.
    """
    pivots = places.shape[1]
    firsts = []
    for level in range(1, levels + 1):
        cell = numbers >> (pivots * (deep - level))
        firsts.append(np.flatnonzero(np.append(len(cell) > 0, cell[1:] != cell[:-1])))
    start = np.append(0, np.cumsum([len(first) for first in firsts]))
    begin, end, place, top = [], [], [], []
    for i, first in enumerate(firsts):
        if i + 1 < levels:
            at = start[i + 1] + np.searchsorted(firsts[i + 1], first)
            last = start[i + 2]
        else:
            at, last = first, len(numbers)
        begin.append(at)
        end.append(np.append(at[1:], last)[: len(at)])
        place.append(places[first] >> (deep - i - 1))
        if len(points) and len(first):
            top.append(np.maximum.reduceat(points, first, axis=0))
    return Cells(
        start,
        np.concatenate(place),
        np.concatenate(begin).astype(np.int64),
        np.concatenate(end).astype(np.int64),
        np.concatenate(top) if top else np.zeros((0, pivots), dtype=np.float32),
    )
