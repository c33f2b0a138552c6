"""Partitions sets by size so that a search has few false positives.

LSH Ensemble uses the largest set size of a partition for all its sets; the smaller a set, the more
often it is a false positive. Equation 2.14 of the thesis bounds how often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def optimal_uppers(sizes: Array, partitions: int) -> Array:
    """The largest size of each partition that minimizes the bound on false positives.

    The exact optimum of section 2.4.6, with at most `partitions` partitions; each distinct size
    gets its own partition if there are fewer sizes.

    >>> optimal_uppers(np.array([3, 3, 3, 3, 4, 4, 4, 4, 99, 99, 99, 100, 100, 100]), 2).tolist()
    [4, 100]
    """
    from lakejoin.kernels.minhash import find_partition_ends

    distinct, counts = np.unique(sizes, return_counts=True)
    if len(distinct) <= partitions:
        return distinct
    ends = np.full(partitions, -1, dtype=np.int64)
    find_partition_ends(distinct.astype(np.int64), counts.astype(np.int64), partitions, ends)
    return distinct[np.sort(ends[ends >= 0])]


def equal_depth_uppers(sizes: Array, partitions: int) -> Array:
    """The largest size of each partition, with about equally many sets in each.

    >>> equal_depth_uppers(np.array([1, 1, 2, 2, 5, 6]), 3).tolist()
    [1, 2, 6]
    """
    ordered = np.sort(sizes)
    ends = np.arange(1, partitions + 1) * len(ordered) // partitions - 1
    return np.unique(ordered[ends[ends >= 0]])
