"""Divide the query's points into parts that each fit a grid of cells.

A grid covers the points of a part and everything within reach of them. From the rows of two cells
and the columns between them follows whether points in them are surely near, may be near, or are not
near; that is computed once per row, before any set is read. The bounds hold on the sphere:
sin(d/2)^2 = sin(dlat/2)^2 + cos(lat1) cos(lat2) sin(dlon/2)^2 rises with the differences and with
the cosines.

A part whose grid would close around a pole or the globe has no grid. Such parts are kept small, and
each of their points is measured against the blocks of a set that are not ruled out as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lakejoin.model import Array

FEWEST, MOST = 1 << 12, 1 << 17  # cells of a grid, however many points there are
CROWD = 32  # query points allowed in a cell that is coarser than the fineness asks for
SMALL = 32  # query points in a part without a grid
SAFE = 1e-9  # relative margin of a bound: more than rounding can be off
_EDGE = 1e-6  # in cells: more than the computed cell of a point can be off
_LEAST = 1e-6  # degrees: the smallest cell for which _EDGE holds
_DEGREE = math.pi / 180


class QueryGrids(NamedTuple):
    """The query's points, part by part and cell by cell, as compiled code reads them.

    | array | per | columns |
    | --- | --- | --- |
    | `latitude`, `longitude`, `cosine` | point | the cosine is that of the latitude |
    | `east` | point | degrees east of the west of its grid |
    | `bounds` | point | of its cosine times that of any point within reach: 0 least, 1 most |
    | `cells` | cell | 0 row, 1 column, 2 first point |
    | `frame` | part | of its points: 0 south, 1 north, 2 west, 3 width in degrees; |
    | | | of its grid: 4 south, 5 west, 6 height of a cell, 7 width of a cell |
    | `shape` | part | 0 first point, 1 end of points, 2 first cell, 3 end of cells, |
    | | | 4 rows of the grid (0: it has none), 5 columns, |
    | | | 6 most rows between two near cells, 7 first row, 8 first span, |
    | | | 9 most columns between two near cells |
    | `cosines` | row | 0 least cosine, 1 largest cosine |
    | `sure`, `maybe` | span | a row and one near it: up to how many columns to both sides points |
    | | | are surely near, or may be near (-1: none) |
    | `boxes` | row | the widest `maybe` of its spans |
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
    height: float  # of a cell, as is `width`
    width: float
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class GridFineness:
    """How fine grids are: `reach` cells per reach, but at most `each` cells per query point."""

    reach: float
    each: int


def build_query_grids(points: Array, limit: float, fineness: GridFineness) -> QueryGrids:
    """Divide points of (latitude, longitude) in degrees, none of them NaN, into gridded parts."""
    builder = _GridBuilder(limit, fineness)
    if len(points):
        longitude = points[:, 1] % 360.0
        origin = _behind_largest_gap(longitude)
        builder.cut(points[:, 0], (longitude - origin) % 360.0, origin, np.arange(len(points)))
    return builder.made(points)


def _behind_largest_gap(longitude: Array) -> float:
    """Find where to cut the globe so that points around the antimeridian stay together."""
    ordered = np.sort(longitude)
    gaps = np.diff(np.append(ordered, ordered[0] + 360.0))
    return float(ordered[(int(gaps.argmax()) + 1) % len(ordered)])


class _GridBuilder:
    def __init__(self, limit: float, fineness: GridFineness) -> None:
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
        """Make a part of these points, or divide them in two; `east` is relative to `origin`."""
        grid = self._grid(latitude, east, origin)
        if grid is not None and not self._crowded(grid, latitude, east, origin):
            self._add(latitude, east, origin, which, grid)
            return
        tall, wide = np.ptp(latitude), np.ptp(east)
        if len(which) <= SMALL or (tall == 0 and wide == 0):
            for begin in range(0, len(which), SMALL):
                chunk = slice(begin, begin + SMALL)
                self._add(latitude[chunk], east[chunk], origin, which[chunk], None)
            return
        along = latitude if tall >= wide else east
        low = along < (float(along.min()) + float(along.max())) / 2
        for side in (low, ~low):
            if side.any():
                self.cut(latitude[side], east[side], origin, which[side])

    def _grid(self, latitude: Array, east: Array, origin: float) -> _Grid | None:
        """Return the finest allowed grid of a part; None if it would close around the globe."""
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
        # A margin of one cell on all sides: rounding puts no point within reach outside the grid.
        rows, columns = int(tall / cell) + 3, int(wide / across) + 3
        west = (west - across + 180.0) % 360.0 - 180.0
        return _Grid(south - cell, west, cell, across, rows, columns)

    def _crowded(self, grid: _Grid, latitude: Array, east: Array, origin: float) -> bool:
        """Whether a grid coarser than asked for has too many query points in a cell."""
        if grid.height <= 1.01 * self._angle / self._fineness.reach or len(latitude) <= CROWD:
            return False
        row, column = _cells_of(grid, latitude, origin + east)
        most = int(np.unique(row * grid.columns + column, return_counts=True)[1].max())
        same = np.ptp(latitude) == 0 and np.ptp(east) == 0
        return most > CROWD and not same

    def _add(
        self, latitude: Array, east: Array, origin: float, which: Array, grid: _Grid | None
    ) -> None:
        """Add a part with its grid, or without one."""
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
            # Shuffle the cells: a set that cannot reach the required score then shows it early.
            shuffled = np.random.default_rng(len(first)).permutation(len(first))
            rank = np.empty_like(shuffled)
            rank[shuffled] = np.arange(len(first))
            order = np.argsort(rank[inverse], kind="stable")
            begin = np.searchsorted(rank[inverse][order], np.arange(len(first)))
            cell_rows = row[first][shuffled], column[first][shuffled], begin + self._at
            self._cells.append(np.stack(cell_rows, axis=1))
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
        """Add the spans of all rows; return (rows, columns) between cells that can be near."""
        near = min(grid.rows - 1, int(self._angle / grid.height) + 2)
        edges = grid.south + grid.height * np.arange(grid.rows + 1)
        edges = np.clip(edges, -90.0, 90.0) * _DEGREE
        ends = np.cos(edges)
        least = np.minimum(ends[:-1], ends[1:])
        largest = np.where(edges[:-1] * edges[1:] < 0, 1.0, np.maximum(ends[:-1], ends[1:]))
        row = np.arange(grid.rows)[:, None]
        row_step = np.arange(-near, near + 1)[None, :]
        other = row + row_step
        inside = (other >= 0) & (other < grid.rows)
        other = np.clip(other, 0, grid.rows - 1)
        closest = np.maximum(np.abs(row_step) - 1 - _EDGE, 0.0)
        farthest = np.abs(row_step) + 1 + _EDGE
        maybe = self._columns(
            closest * grid.height, least[row] * least[other], grid, self._limit * (1 + SAFE)
        )
        sure = self._columns(
            farthest * grid.height, largest[row] * largest[other], grid, self._limit * (1 - SAFE)
        )
        maybe = np.where(inside & (maybe >= 0), np.floor(maybe + 1 + _EDGE), -1)
        sure = np.where(inside, np.floor(sure - 1 - _EDGE), -1)
        sure, maybe = np.clip(sure, -1, grid.columns), np.clip(maybe, -1, grid.columns)
        self._boxes.append(maybe.max(axis=1))
        self._maybe.append(maybe.reshape(-1))
        self._sure.append(sure.reshape(-1))
        self._cosines.append(np.stack([least, largest], axis=1) * [1 - SAFE, 1 + SAFE])
        return near, int(maybe.max())

    @staticmethod
    def _columns(tall: Array, cosines: Array, grid: _Grid, limit: float) -> Array:
        """How many columns may lie between points `tall` degrees of latitude apart; -1: none."""
        left = (limit - np.sin(tall * _DEGREE / 2) ** 2) / cosines
        wide = 2 * np.arcsin(np.sqrt(np.clip(left, 0.0, 1.0))) / _DEGREE
        return np.where(left < 0, -1.0, wide / grid.width)

    def made(self, points: Array) -> QueryGrids:
        """Return all parts as arrays."""

        def concatenate(arrays: list[Array], dtype: Any, *shape: int) -> Array:
            return np.concatenate([np.zeros((0, *shape)), *arrays]).astype(dtype)

        order = concatenate(self._order, np.int64)
        ordered = points[order]
        cosine = np.cos(ordered[:, 0] * _DEGREE)
        ends = np.clip(ordered[:, :1] + [-self._angle, self._angle], -90.0, 90.0)
        cosines = np.cos(ends * _DEGREE)
        most = np.where(ends[:, 0] * ends[:, 1] < 0, 1.0, cosines.max(axis=1))
        bounds = np.stack([cosines.min(axis=1) * (1 - SAFE), most * (1 + SAFE)], axis=1)
        return QueryGrids(
            np.ascontiguousarray(ordered[:, 0]),
            np.ascontiguousarray(ordered[:, 1]),
            concatenate(self._east, np.float64),
            cosine,
            bounds * cosine[:, None],
            concatenate(self._cells, np.int64, 3),
            np.array(self._frames, dtype=np.float64).reshape(-1, 8),
            np.array(self._shapes, dtype=np.int64).reshape(-1, 10),
            concatenate(self._cosines, np.float64, 2),
            concatenate(self._sure, np.int32),
            concatenate(self._maybe, np.int32),
            concatenate(self._boxes, np.int32),
        )


def _cells_of(grid: _Grid, latitude: Array, longitude: Array) -> tuple[Array, Array]:
    """Return the row and column of each point."""
    row = ((latitude - grid.south) / grid.height).astype(np.int64)
    column = (((longitude - grid.west) % 360.0) / grid.width).astype(np.int64)
    return np.minimum(row, grid.rows - 1), np.minimum(column, grid.columns - 1)
