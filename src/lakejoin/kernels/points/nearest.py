"""The nearest of many points in space: a kd-tree that is nothing but an order of the points.

A stretch of the order is a node: its middle point parts it by the axis along which it is longest,
what is less lies before the middle and what is more behind. Of points that are equally near, the
one with the smallest rank is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

_LEAF = 12
_DEEP = 128  # open stretches: halving never gets there


@njit
def _longest(points: Array, order: Array, begin: int, end: int) -> int:
    """The axis along which the points of a stretch are farthest apart."""
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
def _part(points: Array, order: Array, begin: int, end: int, middle: int, axis: int) -> None:
    """Puts the middle one in its place: none before it is more, none behind it is less."""
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
def build_tree(points: Array, order: Array, axes: Array) -> None:
    """Orders the points; `axes` gets the axis of each stretch at the place of its middle."""
    begins, ends = np.empty(_DEEP, np.int64), np.empty(_DEEP, np.int64)
    begins[0], ends[0] = 0, order.shape[0]
    open_ = 1
    while open_:
        open_ -= 1
        begin, end = begins[open_], ends[open_]
        if end - begin <= _LEAF:
            continue
        middle = (begin + end) // 2
        axis = _longest(points, order, begin, end)
        _part(points, order, begin, end, middle, axis)
        axes[middle] = axis
        begins[open_], ends[open_] = begin, middle
        begins[open_ + 1], ends[open_ + 1] = middle + 1, end
        open_ += 2


@kernel
def nearest_points(
    points: Array, order: Array, axes: Array, ranks: Array, wanted: Array, found: Array
) -> None:
    """The place in `points` of the one nearest to each wanted point; there must be one."""
    begins, ends = np.empty(_DEEP, np.int64), np.empty(_DEEP, np.int64)
    bounds = np.empty(_DEEP, np.float64)
    for w in range(wanted.shape[0]):
        best, nearest = -1, np.inf
        begins[0], ends[0], bounds[0] = 0, order.shape[0], 0.0
        open_ = 1
        while open_:
            open_ -= 1
            begin, end, bound = begins[open_], ends[open_], bounds[open_]
            if bound > nearest:
                continue
            leaf = end - begin <= _LEAF
            middle = (begin + end) // 2
            for i in range(begin if leaf else middle, end if leaf else middle + 1):
                point = order[i]
                distance = 0.0
                for axis in range(points.shape[1]):
                    apart = points[point, axis] - wanted[w, axis]
                    distance += apart * apart
                closer = distance < nearest or best < 0
                if closer or (distance == nearest and ranks[point] < ranks[best]):
                    best, nearest = point, distance
            if leaf:
                continue
            axis = axes[middle]
            over = wanted[w, axis] - points[order[middle], axis]
            near = (begin, middle) if over < 0 else (middle + 1, end)
            far = (middle + 1, end) if over < 0 else (begin, middle)
            begins[open_], ends[open_], bounds[open_] = far[0], far[1], over * over
            begins[open_ + 1], ends[open_ + 1], bounds[open_ + 1] = near[0], near[1], bound
            open_ += 2
        found[w] = best
