"""Places on the sphere, for compiled code: how far apart, and how far at least and at most.

Distances are compared as sin(angle / 2) ** 2, which rises with the distance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

_HALF = math.pi / 360
_DEGREE = math.pi / 180
_ROUNDING = 1e-12  # degrees: more than adding and subtracting longitudes can be off


@njit(inline="always")
def haversine(lat: float, lon: float, cosine: float, lat2: float, lon2: float) -> float:
    """Of two places in degrees; `cosine` is that of the first latitude."""
    tall = math.sin((lat - lat2) * _HALF)
    wide = math.sin((lon - lon2) * _HALF)
    return tall * tall + cosine * math.cos(lat2 * _DEGREE) * wide * wide


@njit
def box_bounds(
    south: float, north: float, west: float, wide: float, box: Array
) -> tuple[float, float]:
    """(least, most) of any place in the first box and any in the second (south, north, west, east).

    The first may reach over the antimeridian: it begins in the west and is so wide.
    """
    apart = max(0.0, south - box[1], box[0] - north)
    across = max(north, box[1]) - min(south, box[0])
    begin = (box[2] - west) % 360.0
    width = box[3] - box[2]
    if begin <= wide or begin + width >= 360.0:
        gap = 0.0
    else:
        gap = max(0.0, min(begin - wide, 360.0 - begin - width) - _ROUNDING)
    most_wide = min(180.0, max(begin + width, wide - begin) + _ROUNDING)
    one = math.cos(max(abs(south), abs(north)) * _DEGREE)
    two = math.cos(max(abs(box[0]), abs(box[1])) * _DEGREE)
    tall, long = math.sin(apart * _HALF), math.sin(gap * _HALF)
    least = tall * tall + max(0.0, one) * max(0.0, two) * long * long
    one = 1.0 if south <= 0.0 <= north else math.cos(min(abs(south), abs(north)) * _DEGREE)
    two = 1.0 if box[0] <= 0.0 <= box[1] else math.cos(min(abs(box[0]), abs(box[1])) * _DEGREE)
    tall, long = math.sin(across * _HALF), math.sin(most_wide * _HALF)
    return least, tall * tall + one * two * long * long
