"""Measure points without a grid: around a pole, or with a reach around the globe; compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from lakejoin.engines.distance.blocks import BLOCK, OPEN
from lakejoin.engines.distance.query_grids import QueryGrids
from lakejoin.engines.distance.point_pool import PointPool, decode_numbers
from lakejoin.engines.distance.sphere import haversine

Array = np.ndarray[Any, Any]

# Points are unit vectors here, whose product is the cosine of the angle between them. Every block
# of a set lies in a ball: most balls are out of reach of a point, or entirely within it. Products
# are off by about 10^-16, which is much for small angles; where that leaves a doubt the haversine
# decides.

_OFF = 1e-12  # more than a product can be off
_WIDER = 1e-7  # more than the angle of an arc cosine can be off
_DEGREE = math.pi / 180


@njit
def project_points(pool: PointPool, s: int, limit: float, points: Array, balls: Array) -> None:
    """Write a set's latitudes, longitudes and unit vectors (five rows), and the ball of every
    block.

    A ball is its centre, the least product that is not out of reach, and the least one within
    reach.
    """
    size = pool.size[s]
    decode_numbers(pool, s, 0, size, points[0])
    decode_numbers(pool, s, size, size, points[1])
    for i in range(size):
        lat, lon = points[0, i] * _DEGREE, points[1, i] * _DEGREE
        cosine = math.cos(lat)
        points[2, i], points[3, i], points[4, i] = (
            cosine * math.cos(lon),
            cosine * math.sin(lon),
            math.sin(lat),
        )
    reach = 2 * math.asin(math.sqrt(min(limit, 1.0)))
    for b in range((size + BLOCK - 1) // BLOCK):
        begin, end = b * BLOCK, min(size, (b + 1) * BLOCK)
        x, y, z = points[2, begin:end].sum(), points[3, begin:end].sum(), points[4, begin:end].sum()
        long = math.sqrt(x * x + y * y + z * z)
        if long < 1e-6:  # spread all around the globe: any centre will do
            x, y, z, long = 0.0, 0.0, 1.0, 1.0
        x, y, z = x / long, y / long, z / long
        least = 1.0
        for i in range(begin, end):
            least = min(least, x * points[2, i] + y * points[3, i] + z * points[4, i])
        radius = math.acos(max(-1.0, least)) + _WIDER
        balls[b, 0], balls[b, 1], balls[b, 2] = x, y, z
        far, near = reach + radius + _WIDER, reach - radius - _WIDER
        balls[b, 3] = math.cos(far) - _OFF if far < math.pi else -2.0
        balls[b, 4] = math.cos(near) + _OFF if near > 0.0 else 2.0


@njit
def measure_without_grid(
    query: QueryGrids, shape: Array, points: Array, balls: Array, size: int, state: Array,
    limit: float, all_: bool,
) -> tuple[int, int]:  # fmt: skip
    """Return (points of a query part that have a partner, pairs), in the open blocks of a set."""
    cosine = math.cos(2 * math.asin(math.sqrt(min(limit, 1.0))))
    low, high = cosine - _OFF, cosine + _OFF
    my_lat, my_lon, cosines = query.latitude, query.longitude, query.cosine
    hits, pairs = 0, 0
    for j in range(shape[0], shape[1]):
        lat, lon, cosine_lat = my_lat[j], my_lon[j], cosines[j]
        x, y = cosine_lat * math.cos(lon * _DEGREE), cosine_lat * math.sin(lon * _DEGREE)
        z = math.sin(lat * _DEGREE)
        near = 0
        for b in range((size + BLOCK - 1) // BLOCK):
            if state[b] != OPEN:
                continue
            product = x * balls[b, 0] + y * balls[b, 1] + z * balls[b, 2]
            if product < balls[b, 3]:
                continue
            begin, end = b * BLOCK, min(size, (b + 1) * BLOCK)
            if product > balls[b, 4]:
                near += end - begin
            else:
                sure, may = 0, 0
                for i in range(begin, end):
                    product = x * points[2, i] + y * points[3, i] + z * points[4, i]
                    sure += int(product > high)
                    may += int(product >= low)
                if sure != may and (all_ or sure == 0):
                    sure = 0
                    for i in range(begin, end):
                        distance = haversine(lat, lon, cosine_lat, points[0, i], points[1, i])
                        sure += int(distance <= limit)
                near += sure
            if near and not all_:
                break
        pairs += near
        hits += int(near > 0)
    return hits, pairs
