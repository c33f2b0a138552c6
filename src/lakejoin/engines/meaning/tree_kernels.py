"""Compiled: find candidate pairs within a distance by descending the tree.

Many queries descend together. At a node, queries too far from its box are dropped; at a leaf, the
bounds of its 64 points are summed over more and more coordinates until they are too large for all
points. Every pair within the distance is among the candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.kd_trees import LEAF_SIZE, split_leaves
from lakejoin.model import Array

_STEP = 16  # coordinates between two checks of the bounds
DEPTH = 64
_SUMMED = 1e-5  # relative error of a sum in float32
# Sums may be reordered and fused: the slack of the limits is far larger than that error.
_FAST = {"reassoc", "contract", "nsz"}  # infinite rests must stay so


class VectorTree(NamedTuple):
    """The arrays of a `lakejoin.store.compact_vectors.CompactVectors`; `scale` in float32."""

    scale: Array
    blocks: Array
    rest: Array
    low: Array
    high: Array
    span: Array


class TreeDescent(NamedTuple):
    """The state of a descent, so that it can continue after its candidates have been taken.

    `stack` has, by level, a node, its leaves and the range of its queries in `active`; `top[0]` is
    the number of levels in use. `leaves` marks those that were read. `tally[0]` counts the computed
    bounds.
    """

    stack: Array
    top: Array
    active: Array
    leaves: Array
    tally: Array


def new_descent(queries: int, leaves: int) -> TreeDescent:
    stack = np.zeros((DEPTH, 5), dtype=np.int64)
    stack[0] = 0, 0, leaves, 0, queries
    active = np.zeros((DEPTH + 1) * max(queries, 1), dtype=np.int32)
    active[:queries] = np.arange(queries)
    top = np.array([leaves > 0 and queries > 0], dtype=np.int64)
    return TreeDescent(stack, top, active, np.zeros(leaves, np.uint8), np.zeros(1, np.int64))


@njit(fastmath=_FAST)
def _gap(low: Array, high: Array, scale: Array, query: Array) -> float:
    """The squared distance between a query and a box."""
    total = np.float32(0)
    for j in range(low.shape[0]):
        at = query[j]
        least, most = np.float32(low[j]) * scale[j], np.float32(high[j]) * scale[j]
        out = max(least - at, at - most, np.float32(0))
        total += out * out
    return total


@njit(fastmath=_FAST)
def _summed_gap(low: Array, high: Array, scale: Array, query: Array) -> float:
    """The sum of differences between a query and a box."""
    total = np.float32(0)
    for j in range(low.shape[0]):
        at = query[j]
        least, most = np.float32(low[j]) * scale[j], np.float32(high[j]) * scale[j]
        total += max(least - at, at - most, np.float32(0))
    return total


@njit
def _limit(reach: float, error: float, sums: bool) -> float:
    """The largest bound that a point within reach can have; squared unless bounds are `sums`."""
    if sums:
        return np.float32((reach + error) * 1.00005)
    return np.float32((reach + error) * (reach + error) * 1.00002)


@njit
def is_out_of_reach(tree_low: Array, tree_high: Array, span: Array, scale: Array, node: int,
          query: Array, rest: float, reach: float, sums: bool) -> bool:  # fmt: skip
    """Whether no point below a node can be within reach of a query."""
    out = max(span[node, 0] - rest, rest - span[node, 1], np.float32(0))
    limit = _limit(reach, span[node, 2], sums)
    if sums:
        return _summed_gap(tree_low[node], tree_high[node], scale, query) + out > limit
    if out * out > limit:
        return True
    return _gap(tree_low[node], tree_high[node], scale, query) + out * out > limit


@kernel
def reached_share(
    tree: VectorTree, queries: Array, rests: Array, reach: float, nodes: Array, sums: bool
) -> float:
    """The share of (query, node) pairs whose box is within reach."""
    low, high, span, scale = tree.low, tree.high, tree.span, tree.scale
    within = 0
    for i in range(nodes.shape[0]):
        for q in range(queries.shape[0]):
            if not is_out_of_reach(
                low, high, span, scale, nodes[i], queries[q], rests[q], reach, sums
            ):
                within += 1
    return within / max(nodes.shape[0] * queries.shape[0], 1)


@njit(fastmath=_FAST)
def _add(decoded: Array, query: Array, begin: int, end: int, sums: Array, limit: float) -> bool:
    """Add some coordinates to the bound of each point; whether any is within the limit."""
    for j in range(begin, end):
        at = query[j]
        for slot in range(LEAF_SIZE):
            off = at - decoded[j, slot]
            sums[slot] += off * off
    some = np.int32(0)
    for slot in range(LEAF_SIZE):
        some |= np.int32(sums[slot] <= limit)
    return some != 0


@njit(fastmath=_FAST)
def _add_differences(
    decoded: Array, query: Array, begin: int, end: int, sums: Array, limit: float
) -> bool:
    """The same for bounds that are sums of differences."""
    for j in range(begin, end):
        at = query[j]
        for slot in range(LEAF_SIZE):
            sums[slot] += abs(at - decoded[j, slot])
    some = np.int32(0)
    for slot in range(LEAF_SIZE):
        some |= np.int32(sums[slot] <= limit)
    return some != 0


@njit
def _decode(block: Array, scale: Array, begin: int, end: int, decoded: Array) -> None:
    for j in range(begin, end):
        step = scale[j]
        for slot in range(LEAF_SIZE):
            decoded[j, slot] = np.float32(block[j, slot]) * step


@njit(fastmath=_FAST)
def _begin(rest: Array, first: int, query_rest: float, sums: Array, squared: bool) -> None:
    for slot in range(LEAF_SIZE):
        off = rest[first + slot] - query_rest
        sums[slot] = off * off if squared else abs(off)


@kernel
def descend(
    tree: VectorTree,
    queries: Array,
    rests: Array,
    reach: float,
    sure: float,
    state: TreeDescent,
    out: Array,
    summed: bool,
) -> int:
    """Write candidates as (query, position, whether it is surely within) until `out` is full.

    `queries` and `rests` are coordinates in float32. `reach` is the radius plus the possible
    rounding error of a distance, `sure` the radius minus it. Returns their number; `state.top[0]`
    is 0 once the whole tree was searched. `out` must have room for 64 candidates per query.
    Distances are sums of differences if `summed`, else lengths.
    """
    scale, blocks, rest = tree.scale, tree.blocks, tree.rest
    low, high, span = tree.low, tree.high, tree.span
    stack, active, leaves = state.stack, state.active, state.leaves
    axis_count = blocks.shape[1]
    decoded = np.empty((axis_count, LEAF_SIZE), dtype=np.float32)
    sums = np.empty(LEAF_SIZE, dtype=np.float32)
    pair_count = np.int64(0)
    bounds = np.int64(0)
    top = state.top[0]
    room = out.shape[0]
    while top > 0:
        node, first, last, begin, end = stack[top - 1]
        if last - first == 1 and room - pair_count < LEAF_SIZE * (end - begin):
            break
        top -= 1
        upto = end
        for i in range(begin, end):
            q = active[i]
            if not is_out_of_reach(
                low, high, span, scale, node, queries[q], rests[q], reach, summed
            ):
                active[upto] = q
                upto += 1
        begin, end = end, upto
        if begin == end:
            continue
        if last - first > 1:
            mid = split_leaves(first, last)
            stack[top] = node + 2 * (mid - first), mid, last, begin, end
            stack[top + 1] = node + 1, first, mid, begin, end
            top += 2
            continue
        leaves[first] = 1
        block = blocks[first]
        error = span[node, 2]
        limit = _limit(reach, error, summed)
        ready = np.int64(0)
        for i in range(begin, end):
            q = active[i]
            query = queries[q]
            _begin(rest, first * LEAF_SIZE, rests[q], sums, not summed)
            at = np.int64(0)
            some = True
            while at < axis_count:
                until = min(at + _STEP, axis_count)
                if ready < until:
                    _decode(block, scale, ready, until, decoded)
                    ready = until
                if summed:
                    some = _add_differences(decoded, query, at, until, sums, limit)
                else:
                    some = _add(decoded, query, at, until, sums, limit)
                at = until
                if not some:
                    break
            bounds += LEAF_SIZE
            if some:
                for slot in range(LEAF_SIZE):
                    if sums[slot] <= limit:
                        position = first * LEAF_SIZE + slot
                        out[pair_count, 0] = q
                        out[pair_count, 1] = position
                        out[pair_count, 2] = _surely(
                            sums[slot], rest[position], rests[q], error, sure, summed
                        )
                        pair_count += 1
    state.top[0] = top
    state.tally[0] += bounds
    return pair_count


@njit
def _surely(
    bound: float, rest: float, other: float, error: float, sure: float, summed: bool
) -> int:
    """Whether a point is within the radius, whatever its rounding and its rest's direction."""
    if summed:
        most = np.float64(bound) + 2 * min(np.float64(rest), np.float64(other)) + error
        return 1 if sure > 0 and most <= sure * 0.9999 else 0
    between = np.float64(other) - np.float64(rest)
    # The bound was summed in float32, starting from the square of `between`. The slack that remains
    # is larger than the error of axes in single precision.
    beside = np.sqrt(max(bound - between * between, 0.0) + _SUMMED * bound) + error
    both = np.float64(rest) + np.float64(other)
    return 1 if sure > 0 and beside * beside + both * both <= sure * sure * 0.99998 else 0
