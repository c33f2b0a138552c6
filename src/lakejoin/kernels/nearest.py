"""Find the nearest of many points: a kd-tree that is only an order of the points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel

Array = np.ndarray[Any, Any]

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
    points: Array, order: Array, axes: Array, ranks: Array, targets: Array, found: Array
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
        found[w] = best
