"""Compiled: estimate the products of queries with stored vectors from their coordinates.

A leaf is decoded once for all queries; its 64 points are then summed side by side.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.kd_trees import LEAF_SIZE
from lakejoin.model import Array

_FAST = {"reassoc", "contract", "nsz"}


@njit(fastmath=_FAST)
def _multiply(block: Array, points: Array, scaled: Array, products: Array) -> None:
    """The products of all queries with the points of a leaf; `points` is room to decode it."""
    axes = block.shape[0]
    for axis in range(axes):
        for lane in range(LEAF_SIZE):
            points[axis, lane] = np.float32(block[axis, lane])
    for query in range(scaled.shape[0]):
        sums = products[query]
        for lane in range(LEAF_SIZE):
            sums[lane] = np.float32(0)
        for axis in range(axes):
            factor = scaled[query, axis]
            for lane in range(LEAF_SIZE):
                sums[lane] += factor * points[axis, lane]


@kernel
def estimate_at(blocks: Array, scaled: Array, positions: Array, found: Array) -> None:
    """Fill `found` (queries, positions) with the products at some positions, ascending."""
    points = np.empty((blocks.shape[1], LEAF_SIZE), np.float32)
    products = np.empty((scaled.shape[0], LEAF_SIZE), np.float32)
    now = -1
    for i in range(positions.shape[0]):
        leaf, lane = positions[i] // LEAF_SIZE, positions[i] % LEAF_SIZE
        if leaf != now:
            _multiply(blocks[leaf], points, scaled, products)
            now = leaf
        for query in range(scaled.shape[0]):
            found[query, i] = products[query, lane]


@kernel
def find_best(
    blocks: Array,
    rest: Array,
    count: int,
    scaled: Array,
    least: Array,
    best: Array,
    at: Array,
    counts: Array,
) -> None:
    """The positions of the largest products of each query, at least `least` of the query.

    Row q of `best` and `at` is a heap of its `counts[q]` products and positions, the smallest on
    top. Vectors with an infinite rest match nothing.
    """
    points = np.empty((blocks.shape[1], LEAF_SIZE), np.float32)
    products = np.empty((scaled.shape[0], LEAF_SIZE), np.float32)
    room = best.shape[1]
    for leaf in range(blocks.shape[0]):
        _multiply(blocks[leaf], points, scaled, products)
        inside = min(LEAF_SIZE, count - leaf * LEAF_SIZE)
        for query in range(scaled.shape[0]):
            for lane in range(inside):
                product = products[query, lane]
                if product < least[query]:
                    continue
                position = leaf * LEAF_SIZE + lane
                if counts[query] == room and product <= best[query, 0]:
                    continue
                if not rest[position] < np.inf:
                    continue
                if counts[query] < room:
                    _rise(best[query], at[query], counts[query], product, position)
                    counts[query] += 1
                else:
                    _sink(best[query], at[query], product, position)


@njit
def _rise(best: Array, at: Array, last: int, product: float, position: int) -> None:
    """Add to a heap with `last` elements."""
    while last > 0:
        parent = (last - 1) // 2
        if best[parent] <= product:
            break
        best[last], at[last] = best[parent], at[parent]
        last = parent
    best[last], at[last] = product, position


@njit
def _sink(best: Array, at: Array, product: float, position: int) -> None:
    """Replace the smallest of a full heap."""
    size, here = best.shape[0], 0
    while True:
        child = 2 * here + 1
        if child >= size:
            break
        if child + 1 < size and best[child + 1] < best[child]:
            child += 1
        if product <= best[child]:
            break
        best[here], at[here] = best[child], at[child]
        here = child
    best[here], at[here] = product, position
