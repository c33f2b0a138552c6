"""A multi-vantage-point tree over the centres of groups, and its descent: algorithm 2's outer part.

On level i the centres of a node are parted at the median of their distances from pivot i. The
centres are the same for all columns, and so is the tree: every node knows the largest radius of any
column's group around its centres. If a query's group is too far for that (theorem 3), it is too far
for all smaller radii there (lemma 6), in all columns at once.

Nodes are numbered in preorder, and `skip` is the node after a subtree: a descent needs no stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array
from published.groups_lemmas import subtree_far
from published.metric import bounding

_LEAF = 4  # centres that are not parted any more


class CentreTree(NamedTuple):
    """By node: the pivot whose distances its centres were parted by (-1 at the root), the least and
    the largest of these, the largest radius, its range of `order`, whether it is a leaf, and
    `skip`. `to_pivots` has the distances of centres from pivots."""

    pivot: Array
    low: Array
    high: Array
    widest: Array
    begin: Array
    end: Array
    leaf: Array
    skip: Array
    order: Array
    to_pivots: Array


def build_tree(to_pivots: Array, widest: Array) -> CentreTree:
    """The tree of centres by their distances from pivots; `widest` is, by centre, the largest
    radius of a group, -1 where there is none."""
    order = np.flatnonzero(widest >= 0)
    rows: list[list[float]] = []

    def add(begin: int, end: int, level: int) -> None:
        part = order[begin:end]
        row = [level - 1, 0.0, 0.0, float(widest[part].max()), begin, end, 1, 0]
        if level:
            away = to_pivots[part, level - 1]
            row[1:3] = float(away.min()), float(away.max())
        rows.append(row)
        if level < to_pivots.shape[1] and end - begin > _LEAF:
            row[6] = 0
            order[begin:end] = part[np.argsort(to_pivots[part, level], kind="stable")]
            middle = (begin + end) // 2
            add(begin, middle, level + 1)
            add(middle, end, level + 1)
        row[7] = len(rows)

    if len(order):
        add(0, len(order), 0)
    made = np.array(rows, dtype=np.float64).reshape(-1, 8).T.copy()
    pivot, begin, end, leaf, skip = made[[0, 4, 5, 6, 7]].astype(np.int64)
    low, high, most = made[1:4]
    return CentreTree(pivot, low, high, most, begin, end, leaf, skip, order, to_pivots)


@njit
def _apart(
    tree: CentreTree, mine: int, radius: float, centres: Array, metric: int, far: float, out: Array
) -> int:
    pivot, low, high, widest = tree.pivot, tree.low, tree.high, tree.widest
    begin, end, leaf, skip, order = tree.begin, tree.end, tree.leaf, tree.skip, tree.order
    to_pivots = tree.to_pivots[mine]
    measured, node = np.int64(0), np.int64(0)
    while node < skip.shape[0]:
        if pivot[node] >= 0 and subtree_far(
            to_pivots[pivot[node]], low[node], high[node], radius, widest[node], far
        ):
            node = skip[node]
            continue
        if leaf[node]:
            for i in range(begin[node], end[node]):
                out[order[i]] = bounding(metric, centres[mine], centres[order[i]])
            measured += end[node] - begin[node]
        node += 1
    return measured


@kernel
def apart(
    tree: CentreTree, mine: Array, radii: Array, centres: Array, metric: int, far: float, out: Array
) -> int:
    """The distances of the centres of query groups from all centres that are not surely too far;
    infinite where they are. Returns how many distances were computed."""
    measured = np.int64(0)
    for group in range(mine.shape[0]):
        measured += _apart(tree, mine[group], radii[group], centres, metric, far, out[group])
    return measured
