"""Places of parts without a grid: around a pole, or with a reach around the globe; compiled.

Places are unit vectors here, whose product is the cosine of the angle between them. Every block of
a set lies in a ball: most are out of reach of a place, or within it as a whole. Products are off by
some 10^-16, which is much for small angles; where that leaves a doubt the haversine decides.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from lakejoin.search.nearby.blocks import BLOCK, OPEN
from lakejoin.search.nearby.parts import MyParts
from lakejoin.search.nearby.pool import Pool, decode
from lakejoin.search.nearby.sphere import haversine

Array = np.ndarray[Any, Any]

_OFF = 1e-12  # of a product
_WIDER = 1e-7  # of an angle: more than an arc cosine can be off
_DEGREE = math.pi / 180


@njit
def spread_out(pool: Pool, s: int, limit: float, theirs: Array, balls: Array) -> None:
    """Writes the latitudes, longitudes and unit vectors of a set (five rows), and the ball of every
    block: its centre, the least product that is not out of reach, and the least that is within."""
    size = pool.size[s]
    decode(pool, s, 0, size, theirs[0])
    decode(pool, s, size, size, theirs[1])
    for i in range(size):
        lat, lon = theirs[0, i] * _DEGREE, theirs[1, i] * _DEGREE
        flat = math.cos(lat)
        theirs[2, i], theirs[3, i], theirs[4, i] = (
            flat * math.cos(lon),
            flat * math.sin(lon),
            math.sin(lat),
        )
    reach = 2 * math.asin(math.sqrt(min(limit, 1.0)))
    for b in range((size + BLOCK - 1) // BLOCK):
        begin, end = b * BLOCK, min(size, (b + 1) * BLOCK)
        x, y, z = theirs[2, begin:end].sum(), theirs[3, begin:end].sum(), theirs[4, begin:end].sum()
        long = math.sqrt(x * x + y * y + z * z)
        if long < 1e-6:  # all around the globe: any centre will do
            x, y, z, long = 0.0, 0.0, 1.0, 1.0
        x, y, z = x / long, y / long, z / long
        least = 1.0
        for i in range(begin, end):
            least = min(least, x * theirs[2, i] + y * theirs[3, i] + z * theirs[4, i])
        radius = math.acos(max(-1.0, least)) + _WIDER
        balls[b, 0], balls[b, 1], balls[b, 2] = x, y, z
        far, near = reach + radius + _WIDER, reach - radius - _WIDER
        balls[b, 3] = math.cos(far) - _OFF if far < math.pi else -2.0
        balls[b, 4] = math.cos(near) + _OFF if near > 0.0 else 2.0


@njit
def measure_plainly(
    mine: MyParts, shape: Array, theirs: Array, balls: Array, size: int, state: Array,
    limit: float, all_: bool,
) -> tuple[int, int]:  # fmt: skip
    """(places of a part of mine that have a partner, pairs), in the open blocks of a set."""
    cosine = math.cos(2 * math.asin(math.sqrt(min(limit, 1.0))))
    low, high = cosine - _OFF, cosine + _OFF
    my_lat, my_lon, cosines = mine.latitude, mine.longitude, mine.cosine
    hits, pairs = 0, 0
    for j in range(shape[0], shape[1]):
        lat, lon, flat = my_lat[j], my_lon[j], cosines[j]
        x, y = flat * math.cos(lon * _DEGREE), flat * math.sin(lon * _DEGREE)
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
                    product = x * theirs[2, i] + y * theirs[3, i] + z * theirs[4, i]
                    sure += int(product > high)
                    may += int(product >= low)
                if sure != may and (all_ or sure == 0):
                    sure = 0
                    for i in range(begin, end):
                        far = haversine(lat, lon, flat, theirs[0, i], theirs[1, i])
                        sure += int(far <= limit)
                near += sure
            if near and not all_:
                break
        pairs += near
        hits += int(near > 0)
    return hits, pairs
