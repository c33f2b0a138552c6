"""Compiled intersection of a query with a column, over the groups of the column."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.model import Array


@kernel
def _from(codes: Array, at: int, least: np.int64) -> int:
    """The first position from `at` on with a code of at least `least`, by galloping search."""
    end = codes.shape[0]
    step = 1
    low = at
    while at < end and codes[at] < least:
        low = at + 1
        at += step
        step *= 2
    high = min(at, end)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def intersect_groups(
    codes: Array, groups: Array, group_start: Array, query_positions: Array, column_positions: Array
) -> int:
    """Find the codes of a query, ascending, in a column's groups; return how many there are.

    `query_positions` receives their positions among the codes, `column_positions` their positions
    in the column's set.
    """
    n = 0
    at = 0
    before = np.int64(0)
    for i in range(groups.shape[0]):
        begin = np.int64(group_start[groups[i]])
        end = np.int64(group_start[groups[i] + 1])
        at = _from(codes, at, begin)
        while at < codes.shape[0] and codes[at] < end:
            query_positions[n] = at
            column_positions[n] = before + codes[at] - begin
            n += 1
            at += 1
        if at == codes.shape[0]:
            break
        before += end - begin
    return n
