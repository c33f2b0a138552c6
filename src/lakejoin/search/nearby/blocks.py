"""The blocks of a set of places: which are out of reach of a part of mine, and which within it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.search.nearby.sphere import box_bounds

Array = np.ndarray[Any, Any]

BLOCK = 256  # as lakejoin.store.points has it
OUT, WHOLE, OPEN = 0, 1, 2  # out of reach, within reach as a whole, or neither
_SAFE = 1e-9


@njit
def sort_blocks(
    frame: Array, blocks: Array, first: int, size: int, limit: float, state: Array
) -> tuple[int, int]:
    """Tells each block of a set apart; how many places are in whole ones, how many are open."""
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
