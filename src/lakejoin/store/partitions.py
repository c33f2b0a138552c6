"""Sets by size: where to cut their sizes so that few columns are found in vain.

LSH Ensemble takes the largest size of a partition for that of all its sets; the further a set is
below it, the more often it is found in vain. Equation 2.14 of the thesis bounds how often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def optimal_uppers(sizes: Array, partitions: int) -> Array:
    """The largest size of each partition, such that the bound on false positives is smallest.

    The exact optimum of section 2.4.6, at most `partitions` of them; each distinct size has a
    partition of its own where there are fewer sizes than that.

    >>> optimal_uppers(np.array([3, 3, 3, 3, 4, 4, 4, 4, 99, 99, 99, 100, 100, 100]), 2).tolist()
    [4, 100]
    """
    from lakejoin.kernels.ensemble import optimal_ends

    distinct, counts = np.unique(sizes, return_counts=True)
    if len(distinct) <= partitions:
        return distinct
    ends = np.full(partitions, -1, dtype=np.int64)
    optimal_ends(distinct.astype(np.int64), counts.astype(np.int64), partitions, ends)
    return distinct[np.sort(ends[ends >= 0])]


def equal_depth_uppers(sizes: Array, partitions: int) -> Array:
    """The largest size of each partition, such that all hold about as many sets.

    >>> equal_depth_uppers(np.array([1, 1, 2, 2, 5, 6]), 3).tolist()
    [1, 2, 6]
    """
    ordered = np.sort(sizes)
    places = np.arange(1, partitions + 1) * len(ordered) // partitions - 1
    return np.unique(ordered[places[places >= 0]])


def cost(sizes: Array, uppers: Array) -> float:
    """The bound on false positives (equation 2.16) of partitions with these largest sizes.

    >>> cost(np.array([3, 4, 4]), np.array([4]))
    0.25
    """
    upper = uppers[np.searchsorted(uppers, sizes)]
    return float((1.0 - sizes / upper).sum())
