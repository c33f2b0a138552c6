"""Bound how many query points a set can match, from the boxes of its blocks alone; compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from lakejoin.engines.distance.blocks import BLOCK

Array = np.ndarray[Any, Any]

# A grid is seen as at most 64 x 64 coarse cells, each with the number of query points in it. A box
# of a set, widened by the reach, marks the coarse cells that it touches: query points in others
# have no partner there. So a set that lies elsewhere is never read.

COARSE = 64
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_WIDER = 1e-9  # relative margin of an angle, and in degrees


@njit(inline="always")
def _fine_in_coarse(rows: int) -> int:
    return (rows + COARSE - 1) // COARSE


@njit
def count_coarsely(cells: Array, shape: Array, counts: Array) -> None:
    """Count the query points of a part by coarse cell."""
    down, across = _fine_in_coarse(shape[4]), _fine_in_coarse(shape[5])
    counts[:] = 0
    for c in range(shape[2], shape[3]):
        end = cells[c + 1, 2] if c + 1 < shape[3] else shape[1]
        counts[cells[c, 0] // down, cells[c, 1] // across] += end - cells[c, 2]


@njit
def bound_matches(
    shape: Array, frame: Array, blocks: Array, first: int, size: int, limit: float, counts: Array,
    marked: Array,
) -> int:  # fmt: skip
    """Bound the points of a part that may have a partner in a set; `marked` has room for a word per
    row.
    """
    south, west, height, width = frame[4], frame[5], frame[6], frame[7]
    down, across = _fine_in_coarse(shape[4]), _fine_in_coarse(shape[5])
    rows, columns = (shape[4] - 1) // down + 1, (shape[5] - 1) // across + 1
    # One more cell on all sides, so that rounding leaves out nothing that is near.
    reach = math.degrees(2 * math.asin(math.sqrt(limit))) * (1 + _WIDER) + _WIDER + height
    aside = (shape[9] + 2) * width
    marked[:rows] = 0
    for b in range((size + BLOCK - 1) // BLOCK):
        box = blocks[first + b]
        low = max(math.floor((box[0] - reach - south) / (height * down)), 0)
        high = min(math.floor((box[1] + reach - south) / (height * down)), rows - 1)
        begin = (box[2] - west) % 360.0
        end = begin + (box[3] - box[2])
        left = max(math.floor((begin - aside) / (width * across)), 0)
        right = min(math.floor((end + aside) / (width * across)), columns - 1)
        if end >= 360.0:  # it crosses the grid's west
            left, right = 0, columns - 1
        if left > right:
            continue
        mask = (_ALL >> np.uint64(COARSE - 1 - (right - left))) << np.uint64(left)
        for row in range(low, high + 1):
            marked[row] |= mask
    most = 0
    for row in range(rows):
        word, here = marked[row], counts[row]
        for column in range(columns):
            most += here[column] * np.int64((word >> np.uint64(column)) & np.uint64(1))
    return most
