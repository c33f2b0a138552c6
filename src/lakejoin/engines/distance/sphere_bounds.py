"""Distances on the sphere, and bounds from boxes that leave most sets unread; compiled."""

from __future__ import annotations

import math

import numpy as np

from lakejoin.kernels.jit import njit
from lakejoin.model import Array

# A grid is seen as at most 64 x 64 coarse cells, each with the number of query points in it. A box
# of a set, widened by the reach, marks the coarse cells that it touches: query points in others
# have no match there. So a set that lies elsewhere is never read.

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
    """Bound the points of a part with a match in a set; `marked` has room for a word per row."""
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


# Distances are compared as sin(angle / 2) ** 2, which rises with the distance.

_HALF = math.pi / 360
_DEGREE = math.pi / 180
_ROUNDING = 1e-12  # degrees: more than longitudes can be off after adding and subtracting


@njit(inline="always")
def haversine(lat: float, lon: float, cosine: float, lat2: float, lon2: float) -> float:
    """Return sin(angle / 2) ** 2 of two points in degrees; `cosine` is that of `lat`."""
    tall = math.sin((lat - lat2) * _HALF)
    wide = math.sin((lon - lon2) * _HALF)
    return tall * tall + cosine * math.cos(lat2 * _DEGREE) * wide * wide


@njit
def box_bounds(
    south: float, north: float, west: float, wide: float, box: Array
) -> tuple[float, float]:
    """Bound the distance of any point in the first box and any in the second (south, north, west,
    east).

    The first box begins in the west and is `wide` degrees wide: it may cross the antimeridian.
    """
    closest = max(0.0, south - box[1], box[0] - north)
    farthest = max(north, box[1]) - min(south, box[0])
    begin = (box[2] - west) % 360.0
    width = box[3] - box[2]
    if begin <= wide or begin + width >= 360.0:
        gap = 0.0
    else:
        gap = max(0.0, min(begin - wide, 360.0 - begin - width) - _ROUNDING)
    most_wide = min(180.0, max(begin + width, wide - begin) + _ROUNDING)
    first_cosine = math.cos(max(abs(south), abs(north)) * _DEGREE)
    second_cosine = math.cos(max(abs(box[0]), abs(box[1])) * _DEGREE)
    along_sine, across_sine = math.sin(closest * _HALF), math.sin(gap * _HALF)
    least = (
        along_sine * along_sine
        + max(0.0, first_cosine) * max(0.0, second_cosine) * across_sine * across_sine
    )
    first_cosine = 1.0 if south <= 0.0 <= north else math.cos(min(abs(south), abs(north)) * _DEGREE)
    second_cosine = (
        1.0 if box[0] <= 0.0 <= box[1] else math.cos(min(abs(box[0]), abs(box[1])) * _DEGREE)
    )
    along_sine, across_sine = math.sin(farthest * _HALF), math.sin(most_wide * _HALF)
    return least, along_sine * along_sine + first_cosine * second_cosine * across_sine * across_sine


BLOCK = 256  # as lakejoin.store.point_sets has it
OUT, WHOLE, OPEN = 0, 1, 2  # out of reach, all points within reach, or undecided
_SAFE = 1e-9  # relative margin for rounding


@njit
def classify_blocks(
    frame: Array, blocks: Array, first: int, size: int, limit: float, state: Array
) -> tuple[int, int]:
    """Decide the state of each block of a set, as seen from one grid of the query.

    Returns how many points are in whole blocks, and how many blocks are open.
    """
    whole, open_ = 0, 0
    for b in range((size + BLOCK - 1) // BLOCK):
        least, most = box_bounds(frame[0], frame[1], frame[2], frame[3], blocks[first + b])
        if least > limit * (1 + _SAFE):
            state[b] = OUT
        elif most <= limit * (1 - _SAFE):
            state[b] = WHOLE
            whole += min(size, (b + 1) * BLOCK) - b * BLOCK
        else:
            state[b] = OPEN
            open_ += 1
    return whole, open_
