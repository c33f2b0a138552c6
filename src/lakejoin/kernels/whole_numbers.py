"""Whole numbers that are written as texts."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

MOST_DIGITS = 15
_MINUS, _ZERO, _NINE = np.uint8(45), np.uint8(48), np.uint8(57)


@kernel
def find_number_range(data: Array, spans: Array) -> tuple[bool, int, int]:
    """Return whether all texts `data[begin:end]` are whole numbers of at most 15 digits, and the
    smallest and the largest."""
    low, high = np.int64(0), np.int64(0)
    for i in range(spans.shape[0]):
        at, end = spans[i, 0], spans[i, 1]
        negative = at < end and data[at] == _MINUS
        if negative:
            at += 1
        if at >= end or end - at > MOST_DIGITS:
            return False, 0, 0
        number = np.int64(0)
        for p in range(at, end):
            if data[p] < _ZERO or data[p] > _NINE:
                return False, 0, 0
            number = 10 * number + np.int64(data[p] - _ZERO)
        if negative:
            number = -number
        if i == 0 or number < low:
            low = number
        if i == 0 or number > high:
            high = number
    return spans.shape[0] > 0, low, high
