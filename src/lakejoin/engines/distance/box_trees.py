"""Compiled: find the near vectors of one set with a tree of boxes over their stored order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.kd_trees import NEAR_POINTS, split_leaves
from lakejoin.model import Array

# Nodes are numbered in preorder, as in `kernels/kd_trees.py`. The boxes are computed in one pass
# when a set is searched, so any order of the points gives right answers; points that are stored
# near each other give quick ones.

_FAST = {"reassoc", "contract", "nsz"}
_STEP = 16  # elements between two looks whether a distance is too large already
_DEEP = 96
_CLEAR = 1e-9  # relative margin for rounding


class BoxTree(NamedTuple):
    """Vectors of a set, also by leaf (dimension by dimension, filled up with infinity); and
    by node the first and last leaf and the box."""

    points: Array
    blocks: Array
    first: Array
    last: Array
    low: Array
    high: Array


def open_box_tree(points: Array) -> BoxTree:
    """Compute the boxes of all nodes."""
    leaves = -(-len(points) // NEAR_POINTS)
    nodes = max(2 * leaves - 1, 0)
    first, last = np.empty((2, nodes), dtype=np.int64)
    low, high = np.empty((2, nodes, points.shape[1]))
    padded = np.full((leaves * NEAR_POINTS, points.shape[1]), np.inf)
    padded[: len(points)] = points
    blocks = padded.reshape(leaves, NEAR_POINTS, points.shape[1]).transpose(0, 2, 1)
    tree = BoxTree(
        np.ascontiguousarray(points), np.ascontiguousarray(blocks), first, last, low, high
    )
    if nodes:
        _fill_boxes(tree)
    return tree


@kernel
def _fill_boxes(tree: BoxTree) -> None:
    points, _, first, last, low, high = tree
    count, nodes = points.shape[0], first.shape[0]
    first[0], last[0] = 0, (nodes + 1) // 2
    for node in range(nodes):
        if last[node] - first[node] > 1:
            mid = split_leaves(first[node], last[node])
            right = node + 2 * (mid - first[node])
            first[node + 1], last[node + 1] = first[node], mid
            first[right], last[right] = mid, last[node]
    for node in range(nodes - 1, -1, -1):
        if last[node] - first[node] > 1:
            right = node + 2 * (split_leaves(first[node], last[node]) - first[node])
            for j in range(points.shape[1]):
                low[node, j] = min(low[node + 1, j], low[right, j])
                high[node, j] = max(high[node + 1, j], high[right, j])
        else:
            begin = first[node] * NEAR_POINTS
            low[node], high[node] = points[begin], points[begin]
            for i in range(begin + 1, min(begin + NEAR_POINTS, count)):
                for j in range(points.shape[1]):
                    low[node, j] = min(low[node, j], points[i, j])
                    high[node, j] = max(high[node, j], points[i, j])


@njit(fastmath=_FAST)
def _is_near(a: Array, b: Array, inverse: float, sums: bool) -> bool:
    """Whether the distance, divided by the limit, is at most 1."""
    total = 0.0
    dimension = a.shape[0]
    for begin in range(0, dimension, _STEP):
        end = min(begin + _STEP, dimension)
        if sums:
            for j in range(begin, end):
                total += abs(a[j] - b[j]) * inverse
        else:
            for j in range(begin, end):
                off = (a[j] - b[j]) * inverse
                total += off * off
        if total > 1.0:
            return False
    return total <= 1.0


@njit
def _bounds(
    tree: BoxTree, node: int, low: Array, high: Array, inverse: float, sums: bool
) -> tuple[float, float]:
    """The smallest and largest distance of a node's box and another, divided by the limit; squared
    unless `sums`."""
    least, most = 0.0, 0.0
    for j in range(low.shape[0]):
        below = (tree.low[node, j] - high[j]) * inverse
        above = (low[j] - tree.high[node, j]) * inverse
        out = max(below, above, 0.0)
        far = max((tree.high[node, j] - low[j]) * inverse, (high[j] - tree.low[node, j]) * inverse)
        least += out if sums else out * out
        most += far if sums else far * far
    return least, most


@njit(fastmath=_FAST)
def _count_block(block: Array, query: Array, inverse: float, sums: bool, total: Array) -> int:
    """Count the points of a leaf that are near a query."""
    total[:] = 0.0
    for j in range(query.shape[0]):
        at, row = query[j], block[j]
        if sums:
            for i in range(NEAR_POINTS):
                total[i] += abs(row[i] - at) * inverse
        else:
            for i in range(NEAR_POINTS):
                off = (row[i] - at) * inverse
                total[i] += off * off
    count = 0
    for i in range(NEAR_POINTS):
        count += 1 if total[i] <= 1.0 else 0
    return count


@njit
def _count_leaf(
    tree: BoxTree, node: int, queries: Array, near: Array, inverse: float, sums: bool, every: bool,
    total: Array,
) -> int:  # fmt: skip
    """Compare a group of queries with the points of a leaf: mark those that are near one, and count
    the near pairs; unless `every`, only of queries that are not marked."""
    leaf, pairs = tree.first[node], 0
    size = min(NEAR_POINTS, tree.points.shape[0] - leaf * NEAR_POINTS)
    for q in range(queries.shape[0]):
        if near[q] and not every:
            continue
        query = queries[q]
        least, most = _bounds(tree, node, query, query, inverse, sums)
        if least > 1.0 + _CLEAR:
            continue
        if most <= 1.0 - _CLEAR:
            count = size
        else:
            count = _count_block(tree.blocks[leaf], query, inverse, sums, total)
        pairs += count
        near[q] |= count > 0
    return pairs


@njit
def _count_group(
    tree: BoxTree, queries: Array, group: Array, near: Array, inverse: float, sums: bool,
    every: bool, total: Array,
) -> int:  # fmt: skip
    """Compare a group of queries, in a box, with all points; marks and counts as a leaf does."""
    first, last = tree.first, tree.last
    count, pairs = tree.points.shape[0], 0
    stack = np.empty(_DEEP, dtype=np.int64)
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        least, most = _bounds(tree, node, group[0], group[1], inverse, sums)
        if least > 1.0 + _CLEAR:
            continue
        if most <= 1.0 - _CLEAR:
            near[:] = True
            size = min(last[node] * NEAR_POINTS, count) - first[node] * NEAR_POINTS
            pairs += size * queries.shape[0]
        elif last[node] - first[node] > 1:
            left = node + 1
            right = node + 2 * (split_leaves(first[node], last[node]) - first[node])
            # The nearer half first: where a near point is enough, the other may not be needed.
            if _bounds(tree, right, group[0], group[1], inverse, sums) < _bounds(
                tree, left, group[0], group[1], inverse, sums
            ):
                left, right = right, left
            stack[top], stack[top + 1] = right, left
            top += 2
        else:
            pairs += _count_leaf(tree, node, queries, near, inverse, sums, every, total)
        if not every and near.all():
            break
    return pairs


@kernel
def count_near_vectors(
    tree: BoxTree,
    queries: BoxTree,
    order: Array,
    inverse: float,
    sums: bool,
    count_pairs: bool,
    required: int,
) -> tuple[int, int]:
    """Count the queries with a near vector, and the near pairs if `count_pairs`.

    Queries are compared in groups: the leaves of their tree, in this order. `inverse` is 1 / the
    limit. Stops once `required` is out of reach: then the counts are too low.
    """
    count, left = tree.points.shape[0], queries.points.shape[0]
    hits, pairs = 0, 0
    marks = np.empty(NEAR_POINTS, dtype=np.bool_)
    group = np.empty((2, tree.points.shape[1]))
    total = np.empty(NEAR_POINTS)
    for leaf in order:
        if (pairs + left * count if count_pairs else hits + left) < required:
            break
        begin = queries.first[leaf] * NEAR_POINTS
        some = queries.points[begin : begin + NEAR_POINTS]
        group[0], group[1] = queries.low[leaf], queries.high[leaf]
        near = marks[: some.shape[0]]
        near[:] = False
        pairs += _count_group(tree, some, group, near, inverse, sums, count_pairs, total)
        hits += near.sum()
        left -= some.shape[0]
    return hits, pairs


@njit
def _visit_near(tree: BoxTree, query: Array, inverse: float, out: Array) -> int:
    """Write the points near a query, as long as there is room; returns how many are near."""
    points, _, first, last, _, _ = tree
    stack = np.empty(_DEEP, dtype=np.int64)
    stack[0] = 0
    top, near = 1, 0
    while top > 0:
        top -= 1
        node = stack[top]
        if _bounds(tree, node, query, query, inverse, False)[0] > 1.0 + _CLEAR:
            continue
        if last[node] - first[node] > 1:
            right = node + 2 * (split_leaves(first[node], last[node]) - first[node])
            stack[top], stack[top + 1] = right, node + 1
            top += 2
            continue
        begin = first[node] * NEAR_POINTS
        for i in range(begin, min(begin + NEAR_POINTS, points.shape[0])):
            if _is_near(query, points[i], inverse, False):
                if near < out.shape[0]:
                    out[near] = i
                near += 1
    return near


@kernel
def count_near(tree: BoxTree, queries: Array, inverse: float, out: Array) -> None:
    """Count the points near each query."""
    nothing = np.empty(0, dtype=np.int64)
    for q in range(queries.shape[0]):
        out[q] = _visit_near(tree, queries[q], inverse, nothing)


@kernel
def list_near(tree: BoxTree, queries: Array, inverse: float, out: Array) -> None:
    """List the points near each query, one query after another; there is room for all."""
    begin = 0
    for q in range(queries.shape[0]):
        begin += _visit_near(tree, queries[q], inverse, out[begin:])


@kernel
def pick_near_pairs(
    queries: Array, vectors: Array, query: Array, vector: Array, inverse: float, sums: bool,
    out: Array,
) -> None:  # fmt: skip
    """Decide which pairs of a query and a vector are near."""
    for i in range(query.shape[0]):
        out[i] = _is_near(queries[query[i]], vectors[vector[i]], inverse, sums)


@kernel
def mark_near_pairs(queries: Array, vectors: Array, inverse: float, sums: bool, out: Array) -> None:
    """Decide for all pairs, as a matrix."""
    for q in range(queries.shape[0]):
        for v in range(vectors.shape[0]):
            out[q, v] = _is_near(queries[q], vectors[v], inverse, sums)
