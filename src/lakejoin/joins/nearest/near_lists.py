"""List, for each left row, all right rows within a distance: by number, time or coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lakejoin.engines.distance.box_trees import count_near, list_near, open_box_tree
from lakejoin.joins.nearest.nearest_rows import (
    DAY,
    POINT,
    TIME,
    on_sphere,
    read_compared,
    row_haversines,
)
from lakejoin.joins.row_keys import RowLists
from lakejoin.kernels.kd_trees import order_leaves
from lakejoin.model import Array
from lakejoin.store.distance_limits import DistanceLimit, haversine_limit, number_ranges

_WIDER = 1e-9  # more than rounding can move a point of the unit sphere
_FOREVER = 1 << 61  # microseconds: longer than all times, and a sum with one fits 64 bits
_TOGETHER = 4096  # left rows whose candidates are listed at once


def list_near_rows(
    left: pa.Table, right: pa.Table, on: Sequence[tuple[str, str]], within: str | float
) -> RowLists:
    """The rows within a distance, given as for the nearest row.

    >>> days, sales = pa.table({"day": [3, 9]}), pa.table({"at": [4.5, 1, None, 2]})
    >>> near = list_near_rows(days, sales, [("day", "at")], 2)
    >>> near.order[near.first[0] : near.first[0] + near.count[0]].tolist(), near.count.tolist()
    ([1, 3, 0], [3, 0])
    """
    compared = read_compared(left, right, on, within)
    assert compared.limit is not None
    if compared.kind == POINT:
        return _near_points(compared.left, compared.right, compared.limit)
    numbers, others = compared.left, compared.right
    order = np.flatnonzero(np.isfinite(others))
    order = order[np.argsort(others[order], kind="stable")]
    if compared.kind == TIME:
        limit = np.timedelta64(min(round(compared.limit.amount * DAY), _FOREVER), "us")
        low, high = numbers - limit, numbers + limit
    else:
        low, high = number_ranges(numbers, compared.limit)
    first = np.searchsorted(others[order], low, side="left")
    last = np.searchsorted(others[order], high, side="right")
    return RowLists(order, first, np.where(np.isfinite(numbers), last - first, 0))


def _near_points(left: Array, right: Array, limit: DistanceLimit) -> RowLists:
    rows, targets = (np.flatnonzero(np.isfinite(side).all(axis=1)) for side in (left, right))
    first, count = np.zeros((2, len(left)), np.int64)
    farthest = haversine_limit(limit)
    if not np.isfinite(farthest):  # everywhere
        count[rows] = len(targets)
        return RowLists(targets, first, count)
    points = on_sphere(right[targets])
    order_leaves(points, along := np.arange(len(points)))
    tree, targets = open_box_tree(points[along]), targets[along]
    inverse = 1 / (2 * np.sqrt(farthest) * (1 + _WIDER) + _WIDER)
    listed = [np.zeros(0, np.int64)]
    for begin in range(0, len(rows), _TOGETHER):
        some = rows[begin : begin + _TOGETHER]
        queries = on_sphere(left[some])
        counts = np.zeros(len(some), np.int64)
        if len(targets):
            count_near(tree, queries, inverse, counts)
        found = np.empty(int(counts.sum()), np.int64)
        if len(found):
            list_near(tree, queries, inverse, found)
        mine = np.repeat(np.arange(len(some)), counts)
        near = row_haversines(left[some[mine]], right[targets[found]]) <= farthest
        count[some] = np.bincount(mine[near], minlength=len(some))
        listed.append(targets[found[near]])
    first[rows] = np.cumsum(count[rows]) - count[rows]
    return RowLists(np.concatenate(listed), first, count)
