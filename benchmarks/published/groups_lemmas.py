"""The lemmas and theorems of PEXESO for numeric vectors, as conditions on distances and radii.

`far` and `sure` are the radius of the search with room for rounding (see `metric`). Lemmas 6 and 7
need no condition of their own: the conditions of 3 and 5 hold for a radius if they do for a larger
one, so a centre's groups, sorted by radius, are filtered or matched up to some place.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import njit
from lakejoin.model import Array


@njit
def object_far(away: float, radius: float, far: float) -> bool:
    """Lemma 2: no member of a group matches a query that is so far from its centre."""
    return np.float64(away) > np.float64(radius) + far


@njit
def groups_far(apart: float, mine: float, theirs: float, far: float) -> bool:
    """Lemma 3: no members of two groups match, by their centres' distance and their radii."""
    return np.float64(apart) > np.float64(mine) + np.float64(theirs) + far


@njit
def object_matches(away: float, radius: float, sure: float) -> bool:
    """Lemma 4: all members of a group match a query that is so near to its centre."""
    return np.float64(away) + np.float64(radius) <= sure


@njit
def groups_match(apart: float, mine: float, theirs: float, sure: float) -> bool:
    """Lemma 5: all members of two groups match."""
    return np.float64(apart) + np.float64(mine) + np.float64(theirs) <= sure


@njit
def subtree_far(
    away: float, low: float, high: float, mine: float, widest: float, far: float
) -> bool:
    """Theorem 3: a query's group matches nothing around centres whose distances from a pivot are
    from `low` to `high`, with radii up to `widest`; its own centre's is `away`."""
    reach = np.float64(mine) + widest + far
    return away + reach < low or away - reach > high


@njit
def within(away: Array, begin: int, end: int, most: float) -> int:
    """Where the sorted distances in [begin, end) exceed `most`."""
    while begin < end:
        middle = (begin + end) >> 1
        if away[middle] <= most:
            begin = middle + 1
        else:
            end = middle
    return begin
