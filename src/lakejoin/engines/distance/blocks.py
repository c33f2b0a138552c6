"""Decide for each block of a point set whether it is out of reach, within reach, or undecided."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.engines.distance.sphere import box_bounds

Array = np.ndarray[Any, Any]

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
