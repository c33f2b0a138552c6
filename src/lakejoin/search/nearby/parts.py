"""My places, cut into parts that each fit a grid of cells.

A grid lies over the places of a part and what is within reach of them. From the rows of two cells
and the columns between them follows whether places in them are near enough for sure, perhaps, or
not at all; that is worked out once, by row, before any set is looked at. The bounds hold on the
sphere: for angles, sin(d/2)^2 = sin(dlat/2)^2 + cos(lat1) cos(lat2) sin(dlon/2)^2 rises with the
differences and with the cosines.

Parts whose grid would close around a pole or the globe have none; they are kept small instead, and
every place of theirs is measured against the blocks of a set that are not ruled out as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

FEWEST, MOST = 1 << 12, 1 << 17  # cells of a grid, whatever the places
CROWD = 32  # of my places in a cell that is coarser than that
SMALL = 32  # my places in a part without a grid
SAFE = 1e-9  # of a bound: more than rounding can be off, in units of the limit
_EDGE = 1e-6  # of a cell: more than finding a place's cell can be off
_LEAST = 1e-6  # degrees: no cell is smaller, so that this holds
_DEGREE = math.pi / 180


class MyParts(NamedTuple):
    """My places, part by part and cell by cell, as compiled code reads them.

    `east` is how far east a place is of its grid's west; `bounds` are those of the product of its
    cosine and that of any place within reach. A cell is a row, a column and its first
    place. `frame` has for each part: the south, north, west of its places, how wide they are
    (degrees); the south and west of its grid, and the height and width of a cell. `shape` has: the
    first and the end of its places, of its cells, the rows and columns of its grid (no rows: no
    grid), how many rows apart two cells can be near, where its rows and where its spans begin, and
    how many columns apart two cells can be near.

    `cosines` has the least and the largest of each row. A span is for a row and one near it: to how
    many columns on both sides places are near for `sure`, or `maybe` (-1: none). `boxes` has the
    widest of these for each row.
    """

    latitude: Array
    longitude: Array
    east: Array
    cosine: Array
    bounds: Array
    cells: Array
    frame: Array
    shape: Array
    cosines: Array
    sure: Array
    maybe: Array
    boxes: Array


@dataclass(frozen=True, slots=True)
class _Grid:
    south: float
    west: float
    height: float  # of a cell
    width: float
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Fineness:
    """How fine grids are: so many cells to the reach, unless that is more for each place."""

    reach: float
    each: int


def parts_of(places: Array, limit: float, fineness: Fineness) -> MyParts:
    """The parts of (latitude, longitude) in degrees, none of them NaN."""
    making = _Making(limit, fineness)
    if len(places):
        longitude = places[:, 1] % 360.0
        origin = _behind_largest_gap(longitude)
        making.cut(places[:, 0], (longitude - origin) % 360.0, origin, np.arange(len(places)))
    return making.made(places)


def _behind_largest_gap(longitude: Array) -> float:
    """Where to cut the globe so that nothing is cut: places around the antimeridian stay whole."""
    ordered = np.sort(longitude)
    gaps = np.diff(np.append(ordered, ordered[0] + 360.0))
    return float(ordered[(int(gaps.argmax()) + 1) % len(ordered)])


class _Making:
    def __init__(self, limit: float, fineness: Fineness) -> None:
        self._limit = limit
        self._fineness = fineness
        self._angle = math.degrees(2 * math.asin(math.sqrt(min(limit, 1.0))))
        self._order: list[Array] = []
        self._cells: list[Array] = []
        self._frames: list[tuple[float, ...]] = []
        self._shapes: list[tuple[int, ...]] = []
        self._cosines: list[Array] = []
        self._sure: list[Array] = []
        self._maybe: list[Array] = []
        self._boxes: list[Array] = []
        self._east: list[Array] = []
        self._at = self._cell_at = self._row_at = self._span_at = 0

    def cut(self, latitude: Array, east: Array, origin: float, which: Array) -> None:
        """Makes a part of these places, or cuts them in two; `east` of `origin`, which may wrap."""
        grid = self._grid(latitude, east, origin)
        if grid is not None and not self._crowded(grid, latitude, east, origin):
            self._add(latitude, east, origin, which, grid)
            return
        tall, wide = np.ptp(latitude), np.ptp(east)
        if len(which) <= SMALL or (tall == 0 and wide == 0):
            for begin in range(0, len(which), SMALL):
                part = slice(begin, begin + SMALL)
                self._add(latitude[part], east[part], origin, which[part], None)
            return
        along = latitude if tall >= wide else east
        low = along < (float(along.min()) + float(along.max())) / 2
        for side in (low, ~low):
            if side.any():
                self.cut(latitude[side], east[side], origin, which[side])

    def _grid(self, latitude: Array, east: Array, origin: float) -> _Grid | None:
        """The grid of a part, as fine as is allowed; None where it would close around the globe."""
        if not 0 < self._limit < 1:
            return None
        south, north = float(latitude.min()) - self._angle, float(latitude.max()) + self._angle
        if south <= -89.9 or north >= 89.9 or self._angle >= 60:
            return None
        highest = max(abs(float(latitude.min())), abs(float(latitude.max())))
        ratio = math.sin(self._angle * _DEGREE) / math.cos(highest * _DEGREE)
        if ratio >= 0.9:
            return None
        aside = math.degrees(math.asin(ratio))
        west, wide = origin + float(east.min()) - aside, float(np.ptp(east)) + 2 * aside
        if wide >= 300:
            return None
        narrowing = math.cos((south + north) / 2 * _DEGREE)
        tall = north - south
        cell = max(self._angle / self._fineness.reach, _LEAST)
        cells = min(MOST, max(FEWEST, self._fineness.each * len(latitude)))
        cell = max(cell, math.sqrt(tall * wide * narrowing / cells))
        cell = max(cell, 4 * tall / cells, 4 * wide * narrowing / cells)
        across = cell / narrowing
        # A margin of a cell all around: no place within reach is outside, whatever the rounding.
        rows, columns = int(tall / cell) + 3, int(wide / across) + 3
        west = (west - across + 180.0) % 360.0 - 180.0
        return _Grid(south - cell, west, cell, across, rows, columns)

    def _crowded(self, grid: _Grid, latitude: Array, east: Array, origin: float) -> bool:
        if grid.height <= 1.01 * self._angle / self._fineness.reach or len(latitude) <= CROWD:
            return False
        row, column = _cells_of(grid, latitude, origin + east)
        most = int(np.unique(row * grid.columns + column, return_counts=True)[1].max())
        same = np.ptp(latitude) == 0 and np.ptp(east) == 0
        return most > CROWD and not same

    def _add(
        self, latitude: Array, east: Array, origin: float, which: Array, grid: _Grid | None
    ) -> None:
        frame = (
            float(latitude.min()),
            float(latitude.max()),
            origin + float(east.min()),
            float(np.ptp(east)),
        )
        cells, rows, near, columns, widest = 0, 0, 0, 0, 0
        if grid is None:
            self._frames.append((*frame, 0.0, 0.0, 1.0, 1.0))
            self._east.append(east)
        else:
            row, column = _cells_of(grid, latitude, origin + east)
            _, first, inverse = np.unique(
                row * grid.columns + column, return_index=True, return_inverse=True
            )
            # The cells in no order of theirs: a set that cannot reach the bar shows it early.
            mixed = np.random.default_rng(len(first)).permutation(len(first))
            rank = np.empty_like(mixed)
            rank[mixed] = np.arange(len(first))
            order = np.argsort(rank[inverse], kind="stable")
            begin = np.searchsorted(rank[inverse][order], np.arange(len(first)))
            where = row[first][mixed], column[first][mixed], begin + self._at
            self._cells.append(np.stack(where, axis=1))
            which = which[order]
            self._east.append((origin + east[order] - grid.west) % 360.0)
            cells, rows, columns = len(first), grid.rows, grid.columns
            near, widest = self._add_spans(grid)
            self._frames.append((*frame, grid.south, grid.west, grid.height, grid.width))
        self._order.append(which)
        self._shapes.append(
            (
                self._at, self._at + len(which), self._cell_at, self._cell_at + cells,
                rows, columns, near, self._row_at, self._span_at, widest,
            )
        )  # fmt: skip
        self._at += len(which)
        self._cell_at += cells
        self._row_at += rows
        self._span_at += rows * (2 * near + 1)

    def _add_spans(self, grid: _Grid) -> tuple[int, int]:
        """The spans of all rows of a grid; (rows, columns apart that can be near)."""
        near = min(grid.rows - 1, int(self._angle / grid.height) + 2)
        edges = grid.south + grid.height * np.arange(grid.rows + 1)
        edges = np.clip(edges, -90.0, 90.0) * _DEGREE
        ends = np.cos(edges)
        least = np.minimum(ends[:-1], ends[1:])
        largest = np.where(edges[:-1] * edges[1:] < 0, 1.0, np.maximum(ends[:-1], ends[1:]))
        row = np.arange(grid.rows)[:, None]
        apart = np.arange(-near, near + 1)[None, :]
        other = row + apart
        there = (other >= 0) & (other < grid.rows)
        other = np.clip(other, 0, grid.rows - 1)
        closest = np.maximum(np.abs(apart) - 1 - _EDGE, 0.0)
        farthest = np.abs(apart) + 1 + _EDGE
        maybe = self._columns(
            closest * grid.height, least[row] * least[other], grid, self._limit * (1 + SAFE)
        )
        sure = self._columns(
            farthest * grid.height, largest[row] * largest[other], grid, self._limit * (1 - SAFE)
        )
        maybe = np.where(there & (maybe >= 0), np.floor(maybe + 1 + _EDGE), -1)
        sure = np.where(there, np.floor(sure - 1 - _EDGE), -1)
        sure, maybe = np.clip(sure, -1, grid.columns), np.clip(maybe, -1, grid.columns)
        self._boxes.append(maybe.max(axis=1))
        self._maybe.append(maybe.reshape(-1))
        self._sure.append(sure.reshape(-1))
        self._cosines.append(np.stack([least, largest], axis=1) * [1 - SAFE, 1 + SAFE])
        return near, int(maybe.max())

    @staticmethod
    def _columns(tall: Array, cosines: Array, grid: _Grid, limit: float) -> Array:
        """How many columns may lie between places that are so much apart in latitude; -1: none."""
        left = (limit - np.sin(tall * _DEGREE / 2) ** 2) / cosines
        wide = 2 * np.arcsin(np.sqrt(np.clip(left, 0.0, 1.0))) / _DEGREE
        return np.where(left < 0, -1.0, wide / grid.width)

    def made(self, places: Array) -> MyParts:
        def together(arrays: list[Array], kind: Any, *shape: int) -> Array:
            return np.concatenate([np.zeros((0, *shape)), *arrays]).astype(kind)

        order = together(self._order, np.int64)
        mine = places[order]
        cosine = np.cos(mine[:, 0] * _DEGREE)
        ends = np.clip(mine[:, :1] + [-self._angle, self._angle], -90.0, 90.0)
        sides = np.cos(ends * _DEGREE)
        most = np.where(ends[:, 0] * ends[:, 1] < 0, 1.0, sides.max(axis=1))
        bounds = np.stack([sides.min(axis=1) * (1 - SAFE), most * (1 + SAFE)], axis=1)
        return MyParts(
            np.ascontiguousarray(mine[:, 0]),
            np.ascontiguousarray(mine[:, 1]),
            together(self._east, np.float64),
            cosine,
            bounds * cosine[:, None],
            together(self._cells, np.int64, 3),
            np.array(self._frames, dtype=np.float64).reshape(-1, 8),
            np.array(self._shapes, dtype=np.int64).reshape(-1, 10),
            together(self._cosines, np.float64, 2),
            together(self._sure, np.int32),
            together(self._maybe, np.int32),
            together(self._boxes, np.int32),
        )


def _cells_of(grid: _Grid, latitude: Array, longitude: Array) -> tuple[Array, Array]:
    row = ((latitude - grid.south) / grid.height).astype(np.int64)
    column = (((longitude - grid.west) % 360.0) / grid.width).astype(np.int64)
    return np.minimum(row, grid.rows - 1), np.minimum(column, grid.columns - 1)
