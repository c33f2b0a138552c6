"""Which points may lie within a distance of which queries? Down the tree: compiled.

Many queries go down together. At a node, those whose distance from its box is too large stay
behind; at a leaf, the bound of each of its 64 points is summed up over ever more coordinates, until
it is too large for all of them.

What comes out are candidates: every pair within the distance is among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.vectors.ordering import LEAF, middle

Array = np.ndarray[Any, Any]

_STEP = 16  # coordinates from one look at the bounds to the next
DEPTH = 64
_SUMMED = 1e-5  # of a sum in float32 that may be lost
# Sums may be reordered and fused: the slack of the limits is far larger than what that changes.
_FAST = {"reassoc", "contract", "nsz"}  # infinite rests must stay so


class Tree(NamedTuple):
    """The arrays of a `lakejoin.store.compact.Compact`; `scale` in float32."""

    scale: Array
    blocks: Array
    rest: Array
    low: Array
    high: Array
    span: Array


class Descent(NamedTuple):
    """Where a descent stands, so that it can go on when its candidates have been taken away.

    `stack` has, by level, a node, its leaves and the place of its queries in `active`; `top[0]` is
    how many levels are used. `leaves` marks those that were read. `tally[0]` counts the bounds that
    were computed.
    """

    stack: Array
    top: Array
    active: Array
    leaves: Array
    tally: Array


def new_descent(queries: int, leaves: int) -> Descent:
    """A descent at the root."""
    stack = np.zeros((DEPTH, 5), dtype=np.int64)
    stack[0] = 0, 0, leaves, 0, queries
    active = np.zeros((DEPTH + 1) * max(queries, 1), dtype=np.int32)
    active[:queries] = np.arange(queries)
    top = np.array([leaves > 0 and queries > 0], dtype=np.int64)
    return Descent(stack, top, active, np.zeros(leaves, np.uint8), np.zeros(1, np.int64))


@njit(fastmath=_FAST)
def _gap(low: Array, high: Array, scale: Array, query: Array) -> float:
    """The squared distance of a query from a box."""
    total = np.float32(0)
    for j in range(low.shape[0]):
        at = query[j]
        least, most = np.float32(low[j]) * scale[j], np.float32(high[j]) * scale[j]
        out = max(least - at, at - most, np.float32(0))
        total += out * out
    return total


@njit
def _limit(reach: float, error: float) -> float:
    """The largest squared bound that a point within reach can have."""
    return np.float32((reach + error) * (reach + error) * 1.00002)


@njit
def stays(tree_low: Array, tree_high: Array, span: Array, scale: Array, node: int,
          query: Array, rest: float, reach: float) -> bool:  # fmt: skip
    """Whether no point of a node can be within reach of a query."""
    out = max(span[node, 0] - rest, rest - span[node, 1], np.float32(0))
    limit = _limit(reach, span[node, 2])
    if out * out > limit:
        return True
    return _gap(tree_low[node], tree_high[node], scale, query) + out * out > limit


@kernel
def reached_share(tree: Tree, queries: Array, rests: Array, reach: float, nodes: Array) -> float:
    """The share of (query, node) pairs whose box is within reach."""
    low, high, span, scale = tree.low, tree.high, tree.span, tree.scale
    within = 0
    for i in range(nodes.shape[0]):
        for one in range(queries.shape[0]):
            if not stays(low, high, span, scale, nodes[i], queries[one], rests[one], reach):
                within += 1
    return within / max(nodes.shape[0] * queries.shape[0], 1)


@njit(fastmath=_FAST)
def _add(decoded: Array, query: Array, begin: int, end: int, sums: Array, limit: float) -> bool:
    """Adds to the bound of each point what some coordinates give; whether any is in the limit."""
    for j in range(begin, end):
        at = query[j]
        for slot in range(LEAF):
            off = at - decoded[j, slot]
            sums[slot] += off * off
    some = np.int32(0)
    for slot in range(LEAF):
        some |= np.int32(sums[slot] <= limit)
    return some != 0


@njit
def _decode(block: Array, scale: Array, begin: int, end: int, decoded: Array) -> None:
    for j in range(begin, end):
        step = scale[j]
        for slot in range(LEAF):
            decoded[j, slot] = np.float32(block[j, slot]) * step


@njit(fastmath=_FAST)
def _begin(rest: Array, first: int, query_rest: float, sums: Array) -> None:
    for slot in range(LEAF):
        off = rest[first + slot] - query_rest
        sums[slot] = off * off


@kernel
def descend(
    tree: Tree,
    queries: Array,
    rests: Array,
    reach: float,
    sure: float,
    state: Descent,
    out: Array,
) -> int:
    """Writes candidates as (query, position, whether it is surely within) until `out` is full.

    `queries` and `rests` are coordinates in float32. `reach` is the radius and what rounding may
    have added to a distance, `sure` is it less that. Returns how many there are; `state.top[0]` is
    0 once the whole tree was seen. `out` must have room for 64 candidates of every query.
    """
    scale, blocks, rest = tree.scale, tree.blocks, tree.rest
    low, high, span = tree.low, tree.high, tree.span
    stack, active, leaves = state.stack, state.active, state.leaves
    kept = blocks.shape[1]
    decoded = np.empty((kept, LEAF), dtype=np.float32)
    sums = np.empty(LEAF, dtype=np.float32)
    found = np.int64(0)
    bounds = np.int64(0)
    top = state.top[0]
    room = out.shape[0]
    while top > 0:
        node, first, last, begin, end = stack[top - 1]
        if last - first == 1 and room - found < LEAF * (end - begin):
            break
        top -= 1
        upto = end
        for i in range(begin, end):
            one = active[i]
            if not stays(low, high, span, scale, node, queries[one], rests[one], reach):
                active[upto] = one
                upto += 1
        begin, end = end, upto
        if begin == end:
            continue
        if last - first > 1:
            mid = middle(first, last)
            stack[top] = node + 2 * (mid - first), mid, last, begin, end
            stack[top + 1] = node + 1, first, mid, begin, end
            top += 2
            continue
        leaves[first] = 1
        block = blocks[first]
        error = span[node, 2]
        limit = _limit(reach, error)
        ready = np.int64(0)
        for i in range(begin, end):
            one = active[i]
            query = queries[one]
            _begin(rest, first * LEAF, rests[one], sums)
            at = np.int64(0)
            some = True
            while at < kept:
                until = min(at + _STEP, kept)
                if ready < until:
                    _decode(block, scale, ready, until, decoded)
                    ready = until
                some = _add(decoded, query, at, until, sums, limit)
                at = until
                if not some:
                    break
            bounds += LEAF
            if some:
                for slot in range(LEAF):
                    if sums[slot] <= limit:
                        place = first * LEAF + slot
                        out[found, 0] = one
                        out[found, 1] = place
                        out[found, 2] = _surely(sums[slot], rest[place], rests[one], error, sure)
                        found += 1
    state.top[0] = top
    state.tally[0] += bounds
    return found


@njit
def _surely(bound: float, rest: float, other: float, error: float, sure: float) -> int:
    """Whether a point is within the radius, wherever it was rounded from and points its rest."""
    between = np.float64(other) - np.float64(rest)
    # The bound was summed up in float32, from the square of `between` on. What is left of the
    # slack at the end is more than axes in single precision are too short.
    beside = np.sqrt(max(bound - between * between, 0.0) + _SUMMED * bound) + error
    both = np.float64(rest) + np.float64(other)
    return 1 if sure > 0 and beside * beside + both * both <= sure * sure * 0.99998 else 0
