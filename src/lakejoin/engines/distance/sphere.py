"""Distances of points on the sphere, and bounds of distances between boxes; compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

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
