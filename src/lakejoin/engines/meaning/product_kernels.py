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
    for leaf in range(blocks.shape[0]):
        _multiply(blocks[leaf], points, scaled, products)
        for query in range(scaled.shape[0]):
            counts[query] = _offer(
                products[query], leaf, rest, count, least[query], best[query], at[query],
                counts[query],
            )  # fmt: skip


@kernel
def find_best_among(
    blocks: Array,
    rest: Array,
    count: int,
    scaled: Array,
    leaves: Array,
    least: Array,
    best: Array,
    at: Array,
    counts: Array,
) -> None:
    """The same among the points of some leaves, which are given for each query."""
    points = np.empty((blocks.shape[1], LEAF_SIZE), np.float32)
    products = np.empty((1, LEAF_SIZE), np.float32)
    for query in range(scaled.shape[0]):
        for leaf in leaves[query]:
            _multiply(blocks[leaf], points, scaled[query : query + 1], products)
            counts[query] = _offer(
                products[0], leaf, rest, count, least[query], best[query], at[query], counts[query]
            )


@njit
def _offer(
    products: Array, leaf: int, rest: Array, count: int, least: float, best: Array, at: Array,
    full: int,
) -> int:  # fmt: skip
    """Offer the points of a leaf to the heap of a query, which has `full` elements; returns how
    many it has then."""
    room = best.shape[0]
    for lane in range(min(LEAF_SIZE, count - leaf * LEAF_SIZE)):
        product = products[lane]
        if product < least or (full == room and product <= best[0]):
            continue
        position = leaf * LEAF_SIZE + lane
        if not rest[position] < np.inf:
            continue
        if full < room:
            _rise(best, at, full, product, position)
            full += 1
        else:
            _sink(best, at, product, position)
    return full


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
