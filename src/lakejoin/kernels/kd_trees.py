"""kd-trees that are only an order of points: nearest points, and boxes of quantised vectors."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# The tree has no pointers. Leaves are blocks of LEAF points, and a node stands for the leaves [low,
# high): its children are the two halves. Nodes are numbered in preorder, so the left child of node
# i is i + 1, and the right one follows the left one's 2 * leaves - 1 nodes.

LEAF_SIZE = 64  # points per leaf


@njit
def split_leaves(low: int, high: int) -> int:
    """Return where the leaves [low, high) of a node are split."""
    return (low + high + 1) // 2


@njit
def _widest(points: Array, order: Array, begin: int, end: int, wide: int) -> int:
    """Return the dimension in which some points vary most."""
    best, most = 0, -1.0
    for j in range(wide):
        total, squares = np.int64(0), np.int64(0)
        for i in range(begin, end):
            x = np.int64(points[order[i], j])
            total += x
            squares += x * x
        count = end - begin
        spread = squares / count - (total / count) ** 2
        if spread > most:
            best, most = j, spread
    return best


@njit
def _partition_at(points: Array, order: Array, begin: int, end: int, at: int, j: int) -> None:
    """Move points so that in dimension j none before `at` is larger than any after it."""
    # Coordinates are bytes: counting finds the cut, and one pass moves every point to its side.
    counts = np.zeros(256, dtype=np.int64)
    for i in range(begin, end):
        counts[np.int64(points[order[i], j]) + 128] += 1
    below, cut = np.int64(0), np.int64(0)
    while below + counts[cut] <= at - begin:
        below += counts[cut]
        cut += 1
    level = at - begin - below  # how many of the points on the cut go to the left
    left, right = begin, end - 1
    while left <= right:
        x = np.int64(points[order[left], j]) + 128
        if x < cut:
            left += 1
        elif x == cut and level > 0:
            level -= 1
            left += 1
        else:
            order[left], order[right] = order[right], order[left]
            right -= 1


@kernel
def order_points(points: Array, wide: int, order: Array) -> None:
    """Sort `order`, the indices of all points, into the order of the tree's leaves.

    Nodes are split at the median of the dimension, of the first `wide`, that varies most.
    """
    count = order.shape[0]
    leaves = (count + LEAF_SIZE - 1) // LEAF_SIZE
    stack = np.empty((128, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, leaves
    top = 1 if leaves > 1 else 0
    while top > 0:
        top -= 1
        low, high = stack[top, 0], stack[top, 1]
        mid = split_leaves(low, high)
        begin, end, at = low * LEAF_SIZE, min(high * LEAF_SIZE, count), mid * LEAF_SIZE
        _partition_at(points, order, begin, end, at, _widest(points, order, begin, end, wide))
        if mid - low > 1:
            stack[top, 0], stack[top, 1] = low, mid
            top += 1
        if high - mid > 1:
            stack[top, 0], stack[top, 1] = mid, high
            top += 1


@kernel
def fill_blocks(points: Array, order: Array, blocks: Array) -> None:
    """Store the points leaf by leaf, dimension by dimension, so that leaves are read as vectors."""
    wide = points.shape[1]
    for i in range(order.shape[0]):
        leaf, slot = i // LEAF_SIZE, i % LEAF_SIZE
        for j in range(wide):
            blocks[leaf, j, slot] = points[order[i], j]


@njit
def _box_leaf(blocks: Array, leaf: int, filled: int, low: Array, high: Array) -> None:
    """Compute the box of a leaf."""
    for j in range(low.shape[0]):
        least, most = np.int64(127), np.int64(-128)
        for slot in range(filled):
            x = np.int64(blocks[leaf, j, slot])
            least = min(least, x)
            most = max(most, x)
        low[j], high[j] = least, most


@kernel
def box_nodes(
    blocks: Array, rest: Array, error: Array, count: int, low: Array, high: Array, span: Array
) -> None:
    """Compute the box of every node: per dimension the least and the largest coordinate.

    `span` gets the least and the largest rest and the largest error of its points. `rest` and
    `error` are by position; a point with an infinite rest is in no box.
    """
    leaves = blocks.shape[0]
    stack = np.empty((160, 3), dtype=np.int64)  # node, low, high
    seen = np.zeros(160, dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, leaves
    top = 1 if leaves > 0 else 0
    while top > 0:
        node, first, last = stack[top - 1]
        mid = split_leaves(first, last)
        left, right = node + 1, node + 2 * (mid - first)
        if last - first == 1:
            filled = min(LEAF_SIZE, count - first * LEAF_SIZE)
            _box_leaf(blocks, first, filled, low[node], high[node])
            span[node, 0], span[node, 1], span[node, 2] = np.inf, -np.inf, 0.0
            for i in range(first * LEAF_SIZE, first * LEAF_SIZE + filled):
                if rest[i] < np.inf:
                    span[node, 0] = min(span[node, 0], rest[i])
                    span[node, 1] = max(span[node, 1], rest[i])
                    span[node, 2] = max(span[node, 2], error[i])
            top -= 1
        elif seen[top - 1] == 0:
            seen[top - 1] = 1
            seen[top] = seen[top + 1] = 0
            stack[top, 0], stack[top, 1], stack[top, 2] = left, first, mid
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = right, mid, last
            top += 2
        else:
            for j in range(low.shape[1]):
                low[node, j] = min(low[left, j], low[right, j])
                high[node, j] = max(high[left, j], high[right, j])
            span[node, 0] = min(span[left, 0], span[right, 0])
            span[node, 1] = max(span[left, 1], span[right, 1])
            span[node, 2] = max(span[left, 2], span[right, 2])
            top -= 1


@kernel
def leaf_nodes(leaves: int) -> Array:
    """Return the node of every leaf."""
    nodes = np.empty(leaves, dtype=np.int64)
    stack = np.empty((128, 3), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, leaves
    top = 1 if leaves > 0 else 0
    while top > 0:
        top -= 1
        node, first, last = stack[top]
        if last - first == 1:
            nodes[first] = node
            continue
        mid = split_leaves(first, last)
        stack[top, 0], stack[top, 1], stack[top, 2] = node + 1, first, mid
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2] = node + 2 * (mid - first), mid, last
        top += 1
    return nodes


# A range of the order is a node: its middle point splits it along the axis in which it is longest;
# smaller points are before the middle and larger ones after it. Of equally near points the one with
# the smallest rank wins.

_LEAF_POINTS = 12
_DEEP = 128  # open ranges: halving never needs more


@njit
def _longest_axis(points: Array, order: Array, begin: int, end: int) -> int:
    """Return the axis along which the points of a range extend farthest."""
    best, longest = 0, -1.0
    for axis in range(points.shape[1]):
        low = high = points[order[begin], axis]
        for i in range(begin + 1, end):
            value = points[order[i], axis]
            low = min(low, value)
            high = max(high, value)
        if high - low > longest:
            best, longest = axis, high - low
    return best


@njit
def _select_middle(
    points: Array, order: Array, begin: int, end: int, middle: int, axis: int
) -> None:
    """Move the middle point into place: none before it is larger, none after it is smaller."""
    first, last = begin, end - 1
    while first < last:
        pivot = points[order[(first + last) // 2], axis]
        i, j = first, last
        while i <= j:
            while points[order[i], axis] < pivot:
                i += 1
            while points[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


NEAR_POINTS = 32  # points per leaf of `order_leaves`


@kernel
def order_leaves(points: Array, order: Array) -> None:
    """Order the points so that the leaves of a tree, of 32 points each, are near each other.

    Nodes are split as by `split_leaves`, along the axis in which they are longest.
    """
    count = order.shape[0]
    stack = np.empty((_DEEP, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, (count + NEAR_POINTS - 1) // NEAR_POINTS
    top = 1
    while top > 0:
        top -= 1
        low, high = stack[top, 0], stack[top, 1]
        if high - low < 2:
            continue
        mid = split_leaves(low, high)
        begin, end = low * NEAR_POINTS, min(high * NEAR_POINTS, count)
        axis = _longest_axis(points, order, begin, end)
        _select_middle(points, order, begin, end, mid * NEAR_POINTS, axis)
        stack[top, 0], stack[top, 1] = low, mid
        stack[top + 1, 0], stack[top + 1, 1] = mid, high
        top += 2


@kernel
def build_point_tree(points: Array, order: Array, axes: Array) -> None:
    """Order the points; `axes` gets the axis of each range at the position of its middle."""
    begins, ends = np.empty(_DEEP, np.int64), np.empty(_DEEP, np.int64)
    begins[0], ends[0] = 0, order.shape[0]
    depth = 1
    while depth:
        depth -= 1
        begin, end = begins[depth], ends[depth]
        if end - begin <= _LEAF_POINTS:
            continue
        middle = (begin + end) // 2
        axis = _longest_axis(points, order, begin, end)
        _select_middle(points, order, begin, end, middle, axis)
        axes[middle] = axis
        begins[depth], ends[depth] = begin, middle
        begins[depth + 1], ends[depth + 1] = middle + 1, end
        depth += 2


@kernel
def find_nearest_points(
    points: Array, order: Array, axes: Array, ranks: Array, targets: Array, nearest_points: Array
) -> None:
    """Find the index in `points` of the one nearest to each target; there must be one."""
    begins, ends = np.empty(_DEEP, np.int64), np.empty(_DEEP, np.int64)
    bounds = np.empty(_DEEP, np.float64)
    for w in range(targets.shape[0]):
        best, nearest = -1, np.inf
        begins[0], ends[0], bounds[0] = 0, order.shape[0], 0.0
        depth = 1
        while depth:
            depth -= 1
            begin, end, bound = begins[depth], ends[depth], bounds[depth]
            if bound > nearest:
                continue
            leaf = end - begin <= _LEAF_POINTS
            middle = (begin + end) // 2
            for i in range(begin if leaf else middle, end if leaf else middle + 1):
                point = order[i]
                distance = 0.0
                for axis in range(points.shape[1]):
                    difference = points[point, axis] - targets[w, axis]
                    distance += difference * difference
                closer = distance < nearest or best < 0
                if closer or (distance == nearest and ranks[point] < ranks[best]):
                    best, nearest = point, distance
            if leaf:
                continue
            axis = axes[middle]
            offset = targets[w, axis] - points[order[middle], axis]
            near = (begin, middle) if offset < 0 else (middle + 1, end)
            far = (middle + 1, end) if offset < 0 else (begin, middle)
            begins[depth], ends[depth], bounds[depth] = far[0], far[1], offset * offset
            begins[depth + 1], ends[depth + 1], bounds[depth + 1] = near[0], near[1], bound
            depth += 2
        nearest_points[w] = best
