"""LSH Ensemble as Zhu's thesis has it (chapter 2): bands by the least error, nothing dropped.

The product chooses bands for a recall, and drops columns whose signatures make it unlikely that
they reach the threshold. Here are also one partition for all sizes (plain MinHash LSH), and
partitions of equal depth, which the optimal ones are compared with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from lakejoin.engines.containment.engine import (
    MOST_ROWS,
    LshEnsemble,
    choose_bands_by_recall,
    least_step,
    ratio_at,
    size_step,
    upper_step,
)
from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

_NODES = 64


@dataclass(frozen=True, slots=True)
class PublishedEnsemble(LshEnsemble):
    """Find the columns that contain at least the share `min` of the query, or the best `k`.

    `recall` is the probability of finding a column exactly at the threshold; None is the thesis's
    choice of bands. `doubt` drops a column whose signature is more than that many standard
    deviations worse than that of a column at the threshold; None drops none. `single_partition`
    treats all columns as one partition.
    """

    recall: float | None = None
    doubt: float | None = None
    single_partition: bool = False

    def choose_bands(
        self, uppers: tuple[int, ...], threshold: float, size: int, length: int
    ) -> Array:
        """Bands and rows by partition."""
        chosen = []
        for upper in uppers:
            largest = upper_step(uppers[-1] if self.single_partition else upper)
            step = max(largest - size_step(size), least_step(threshold))
            if self.recall is None:
                chosen.append(choose_bands_by_error(threshold, step, length))
            else:
                chosen.append(choose_bands_by_recall(threshold, step, length, self.recall))
        return np.ascontiguousarray(np.array(chosen, dtype=np.int64).T)

    def least_evidence(self, threshold: float, size: int) -> tuple[float, float]:
        """How many values a column must have, and how far below its signature may be."""
        if self.doubt is None:
            return 0.0, math.inf
        return float(math.ceil(threshold * size - 1e-9)), self.doubt


@lru_cache(maxsize=1 << 16)
def choose_bands_by_error(threshold: float, step: int, length: int) -> tuple[int, int]:
    """(bands, rows) with the smallest sum of false positives and false negatives.

    >>> choose_bands_by_error(0.5, 0, 128)
    (32, 4)
    """
    errors = band_errors(threshold, ratio_at(step), length).sum(axis=2)
    row, band = np.unravel_index(np.nanargmin(errors), errors.shape)
    return int(band) + 1, int(row) + 1


def band_errors(threshold: float, ratio: float, length: int) -> Array:
    """(false positives, false negatives) at [rows - 1, bands - 1]; NaN if the signature is too
    short.

    >>> errors = band_errors(0.5, 2.0, 128)
    >>> errors.shape, bool(errors[0, 127, 0] > errors[3, 31, 0])
    ((32, 128, 2), True)
    """
    rows = np.arange(1, min(MOST_ROWS, length) + 1)
    errors = np.zeros((len(rows), length, 2))
    compute_band_errors(threshold, ratio, length, *_quadrature(), errors)
    errors[rows[:, None] * np.arange(1, length + 1) > length] = np.nan
    return errors


@kernel
def compute_band_errors(
    threshold: float, ratio: float, positions: int, nodes: Array, weights: Array, out: Array
) -> None:
    """Equations 2.22 to 2.24 for all (b, r): out[r - 1, b - 1] is (false positive, false negative).

    `positions` is the length of a signature; `nodes` and `weights` integrate over [-1, 1].
    """
    upper = min(1.0, ratio)
    for side in range(2):
        low = 0.0 if side == 0 else min(threshold, upper)
        high = min(threshold, upper) if side == 0 else upper
        half = 0.5 * (high - low)
        for k in range(nodes.shape[0]):
            t = low + half * (1.0 + nodes[k])
            weight = half * weights[k]
            s = t / (ratio + 1.0 - t)
            power = 1.0
            for r in range(1, out.shape[0] + 1):
                power *= s
                miss = 1.0
                for b in range(1, positions // r + 1):
                    miss *= 1.0 - power
                    out[r - 1, b - 1, side] += weight * (miss if side else 1.0 - miss)


@cache
def _quadrature() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def equal_depth_uppers(sizes: Array, partitions: int) -> Array:
    """The largest size of each partition, with about equally many sets in each.

    >>> equal_depth_uppers(np.array([1, 1, 2, 2, 5, 6]), 3).tolist()
    [1, 2, 6]
    """
    ordered = np.sort(sizes)
    ends = np.arange(1, partitions + 1) * len(ordered) // partitions - 1
    return np.unique(ordered[ends[ends >= 0]])
