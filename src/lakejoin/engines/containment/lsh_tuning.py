"""Choose bands and rows for the lookup of a partition in LSH Ensemble.

A column is found if it agrees with the query in all `rows` slots of one of the `bands` bands. Two
rules choose the pair from the threshold and from the *ratio* of the partition's largest column to
the query:

- `choose_bands_by_error`: the thesis's rule (equations 2.22-2.26) minimises the sum of false
  positives and false negatives, each containment being equally likely.
- `choose_bands_by_recall`: the most rows that still find a column exactly at the threshold with a given
  probability. False positives are cheap to drop afterwards, by the whole signatures.

Results are cached; both sizes are rounded to a grid (1.6 % per step), so that few are computed.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_STEPS = 64  # grid steps per factor of e
_NODES = 64
_MOST_ROWS = 32


def jaccard(containment: float, ratio: float) -> float:
    """The Jaccard similarity of a query and a column `ratio` times as large (equation 2.7).

    >>> jaccard(1.0, 4.0)
    0.25
    """
    return containment / (ratio + 1.0 - containment)


def upper_step(upper: int) -> int:
    """The grid step at or above a partition's largest size.

    >>> round(ratio_at(upper_step(1000) - size_step(50)), 1)  # 20, and at most 3.2 % more
    20.4
    """
    return math.ceil(_STEPS * math.log(upper) - 1e-9)


def size_step(size: int) -> int:
    """The grid step at or below a query size."""
    return math.floor(_STEPS * math.log(size) + 1e-9)


def least_step(threshold: float) -> int:
    """The grid step of the smallest set that can reach the threshold."""
    return math.ceil(_STEPS * math.log(threshold) - 1e-9)


def ratio_at(step: int) -> float:
    """The ratio at a grid step."""
    return math.exp(step / _STEPS)


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
    from lakejoin.kernels.minhash import compute_band_errors

    rows = np.arange(1, min(_MOST_ROWS, length) + 1)
    errors = np.zeros((len(rows), length, 2))
    compute_band_errors(threshold, ratio, length, *_quadrature(), errors)
    errors[rows[:, None] * np.arange(1, length + 1) > length] = np.nan
    return errors


@cache
def _quadrature() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


@lru_cache(maxsize=1 << 16)
def choose_bands_by_recall(threshold: float, step: int, length: int, recall: float) -> tuple[int, int]:
    """(bands, rows): the most rows, then the fewest bands, that reach the recall.

    If nothing does, the column is too large for the query: every slot becomes a band.

    >>> choose_bands_by_recall(0.5, 0, 128, 0.95), choose_bands_by_recall(0.5, 295, 128, 0.95)
    ((26, 2), (128, 1))
    """
    similarity = jaccard(threshold, ratio_at(step))
    for rows in range(min(_MOST_ROWS, length), 0, -1):
        miss = 1.0 - similarity**rows
        if miss <= 0.0:
            return 1, rows
        bands = math.ceil(math.log(1.0 - recall) / math.log(miss)) if miss < 1.0 else length + 1
        if bands * rows <= length:
            return bands, rows
    return length, 1
