"""How many levels should a grid have? By the cost model of section III-E of the paper.

Equation 1: the expected number of distances is the sum, over the queries, of how many vectors are
in the leaves that the query's square touches. More levels give smaller leaves with fewer of them,
and more leaves to read from the inverted index; the best number is where one outweighs the other.

Two things are not as printed. Equation 1 sums over candidate pairs, and so counts the vectors
around a query once for each of its leaves: on clustered vectors of 50 dimensions that is least for
a single level. Here they count once; comparing cells and reading a leaf cost something, too. And
equation 2 bounds their number by one dimension at a time, to save counting; but blocking names the
leaves, and they are counted as quickly. With the bound, levels seem to help long after leaves have
one vector each.

The workload is a sample of the lake's vectors, with radii up to a tenth of the largest distance.
Pairs come from blocking; nothing is verified.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lakejoin.model import Array
from published.grid_blocking import block, scale_of
from published.grid_cells import Cells, Frame, cells_of, ordered

_RADII = 10
_QUERIES = 20  # for each radius
_SHARE = 0.1  # of the largest distance, the largest radius
_READ = 10  # what reading a leaf costs, in vectors or cells that are compared


def best_levels(points: Array, frame: Frame, lake: Callable[[int], Cells], deep: int) -> int:
    """The number of levels, at most `deep`, that costs least for mapped vectors.

    `lake` gives their grid for a number of levels.
    """
    if not len(points):
        return 1
    random = np.random.default_rng(0)
    # With replacement, so that few vectors make a workload as well.
    queries = points[random.integers(len(points), size=(_RADII, _QUERIES))]
    radii = random.uniform(0, _SHARE * float(points.max()), size=_RADII)
    costs: list[float] = []
    for levels in range(1, deep + 1):
        cells = lake(levels)
        costs.append(
            sum(
                _cost(part, float(radius), cells, frame, levels)
                for part, radius in zip(queries, radii, strict=True)
            )
        )
        if costs[-1] > min(costs):
            break  # more levels cost ever more
    return least_at(costs)


def least_at(costs: list[float]) -> int:
    """Where a curve through the costs of 1, 2, … levels is least, rounded up.

    >>> least_at([100.0, 10.0, 20.0]), least_at([90.0, 10.0, 100.0]), least_at([1.0, 2.0])
    (3, 2, 1)
    """
    low = int(np.argmin(costs))
    if low in (0, len(costs) - 1):
        return low + 1
    before, at, after = (math.log(max(cost, 1e-9)) for cost in costs[low - 1 : low + 2])
    bend = before - 2 * at + after
    vertex = low + 1 + (0.5 * (before - after) / bend if bend > 0 else 0.0)
    return min(math.ceil(vertex - 1e-9), len(costs))


def _cost(points: Array, radius: float, lake: Cells, frame: Frame, levels: int) -> float:
    """What queries with one radius cost."""
    places = frame.places(points, levels)
    order, numbers = ordered(places, levels)
    points = points[order]
    cells = cells_of(places[order], numbers, levels, levels, points)
    browsed = np.full(len(cells.begin) - cells.start[levels - 1], -1, dtype=np.int64)
    scale = scale_of(frame.low, frame.widths(levels), radius, radius)
    compared = np.zeros(1, dtype=np.int64)
    _, candidates = block(cells, lake, points, browsed, scale, compared)
    leaves = lake.start[levels - 1] + candidates[:, 1]
    vectors = int(np.sum(lake.end[leaves] - lake.begin[leaves]))
    return float(vectors + compared[0] + _READ * len(leaves))
