"""PEXESO for text: hierarchical grids in a pivot space (Dong and others, ICDE 2021).

Vectors are mapped to their distances from a few pivots, and the lake's and the query's are put into
grids of the same cells. Blocking (`grid_blocking`) pairs queries with the leaves of the lake's grid
that may, or surely do, hold matches; verifying (`grid_verifying`) reads the columns of these leaves
from an inverted index. Algorithm 3 puts them together, with quick browsing: a query's own leaf is
looked up without blocking, and read first.

The paper appends columns to the grid and deletes them from it. Here a segment of the index is never
changed: new columns are a new segment with a grid of its own, and deleted ones are masked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from lakejoin.engines.meaning.hits import VectorCounters
from lakejoin.errors import InputError
from lakejoin.model import Array
from published.grid_blocking import Scale, block, by_query, scale_of
from published.grid_cells import Cells, Frame, cells_of, most_levels, ordered
from published.grid_cost import best_levels
from published.grid_verifying import (
    COMPARED,
    DONE,
    MEASURED,
    NEAR,
    Asked,
    Bar,
    Inverted,
    Maps,
    invert,
    verify,
    verify_naively,
)
from published.loaded import Loaded, live, load
from published.metric import number_of, reach_of
from published.pivots import choose_pivots, mapped, usual_pivots

if TYPE_CHECKING:
    from lakejoin.engines.meaning.engine import VectorSpace

_SAMPLE = 16_384  # vectors to choose pivots from
_BATCH = 512  # queries that are blocked together, or fewer, so that there are not more than
_PAIRS = 1 << 24  # pairs with leaves


@dataclass(frozen=True, slots=True)
class GridOptions:
    """How the grid method works.

    `pivots` (by default 3, and 5 beyond 100 dimensions) are chosen `by` "pca" or "hf"; `levels` by
    the paper's cost model unless given. With `exact` columns are counted to the end, as all our
    methods do; else a count stops when it is enough, as in the paper. `naive` is the paper's
    PEXESO-H: the same blocking, and then the distance of everything in the cells.
    """

    pivots: int | None = None
    levels: int | None = None
    by: str = "pca"
    exact: bool = True
    naive: bool = False


class GridMethod:
    """Counts by column with hierarchical grids. `counters` are those of the last call."""

    def __init__(self, loaded: Loaded, metric: str = "l2", options: GridOptions | None = None):
        self.options = options or GridOptions()
        self.counters = VectorCounters()
        self._metric = number_of(metric)
        self._zeros = loaded.zeros
        count = self.options.pivots
        if count is None:
            count = usual_pivots(loaded.vectors.shape[1])
        self.pivots = choose_pivots(loaded.sample(_SAMPLE), count, self._metric, self.options.by)
        points = mapped_rows(loaded.vectors, loaded.ids, self.pivots, self._metric)
        self._largest = float(points.max(initial=0.0))
        self._frame = Frame.around(points)
        deep = most_levels(len(self.pivots))
        places = self._frame.places(points, deep)
        order, numbers = ordered(places, deep)
        places, points = places[order], points[order]

        def cells(levels: int) -> Cells:
            return cells_of(places, numbers, deep, levels, points[:0])

        self.levels = self._levels(deep) or best_levels(points, self._frame, cells, deep)
        self._cells = cells(self.levels)
        leaf = self._cells.start[self.levels - 1]
        leaves = np.append(self._cells.begin[leaf:], len(points))
        self._leaf_number = numbers[leaves[:-1]] >> (len(self.pivots) * (deep - self.levels))
        start, column, position, size = invert(
            loaded.begin[order], loaded.entries, loaded.length[order], leaves, loaded.columns
        )
        self._lake = Inverted(
            points, loaded.ids[order], loaded.vectors, start, column, position, size
        )

    @classmethod
    def of(cls, space: VectorSpace, metric: str = "l2", options: GridOptions | None = None) -> Self:
        """The grid of a segment's vectors."""
        return cls(load(space), metric, options)

    def _levels(self, deep: int) -> int | None:
        levels = self.options.levels
        if levels is not None and levels < 1:
            raise InputError(f"a grid has at least one level, not {levels}")
        return None if levels is None else min(levels, deep)

    def counts(
        self, queries: Array, radius: float, measure: str, least: int, allowed: Array
    ) -> Array:
        """By column, how many queries have a match ("hit") or how many pairs match ("all").

        Exact for columns that reach `least`, others have some number below it.
        """
        columns, vectors = len(self._lake.size), live(queries, self._zeros)
        self.counters = VectorCounters(1, len(self._lake.ids))
        maps = Maps(
            np.zeros(columns, dtype=np.int64),
            np.where(allowed, 0, DONE).astype(np.int32),
            np.zeros(len(self._lake.ids), dtype=np.int32),
        )
        if not len(self._lake.ids) or not len(vectors):
            return maps.matched
        points = mapped(vectors, self.pivots, self._metric)
        largest = max(self._largest, float(points.max()))
        reach = reach_of(radius, self._metric, largest)
        width = self._frame.widths(self.levels)
        scale = scale_of(self._frame.low, width, reach.far, reach.sure)
        tally = np.zeros(3, dtype=np.int64)
        tally[MEASURED] = points.size
        run = verify_naively if self.options.naive else verify
        batch = max(min(_BATCH, _PAIRS // len(self._leaf_number)), 1)
        for first in range(0, len(vectors), batch):
            part = slice(first, first + batch)
            asked = self._blocked(vectors[part], points[part], scale, tally)
            bar = Bar(least, len(vectors) - first, measure == "all", self.options.exact)
            run(self._lake, asked, reach, bar, maps, first, tally)
        bounded, verified, near = (int(tally[i]) for i in (COMPARED, MEASURED, NEAR))
        self.counters = VectorCounters(1, len(self._lake.ids), bounded, verified, near)
        return maps.matched

    def _blocked(self, vectors: Array, points: Array, scale: Scale, tally: Array) -> Asked:
        """The query's grid, quick browsing and algorithm 1."""
        levels = self.levels
        places = self._frame.places(points, levels)
        order, numbers = ordered(places, levels)
        vectors, points = np.ascontiguousarray(vectors[order]), points[order]
        mine = cells_of(places[order], numbers, levels, levels, points)
        my_leaves = mine.begin[mine.start[levels - 1] :]
        own = self._browsed(numbers[my_leaves])
        matching, candidates = block(mine, self._cells, points, own, scale, tally)
        start, cells = by_query(candidates, len(points))
        sure_start, sure_cells = by_query(matching, len(points))
        own = np.repeat(own, np.diff(my_leaves, append=len(points)))
        # Queries with little to read first: by when it is the turn of the others, fewer columns
        # can still reach enough.
        weight = np.diff(self._lake.start)
        read = np.append(0, np.cumsum(weight[cells[:, 0]]))
        work = read[start[1:]] - read[start[:-1]] + np.where(own >= 0, weight[own], 0)
        return Asked(
            np.argsort(work, kind="stable"),
            vectors, points, own, start, cells, sure_start, sure_cells,
        )  # fmt: skip

    def _browsed(self, numbers: Array) -> Array:
        """Quick browsing: the leaves of the lake at the places of the query's, or -1."""
        at = np.searchsorted(self._leaf_number, numbers)
        found = self._leaf_number[np.minimum(at, len(self._leaf_number) - 1)] == numbers
        return np.where(found, at, -1)


def mapped_rows(vectors: Array, ids: Array, pivots: Array, metric: int) -> Array:
    """The pivot mapping of some rows, without a copy of all of them."""
    out = np.empty((len(ids), len(pivots)), dtype=np.float32)
    step = 65_536
    for begin in range(0, len(ids), step):
        out[begin : begin + step] = mapped(vectors[ids[begin : begin + step]], pivots, metric)
    return out
