"""Brute force for search among vectors: all distances, in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lakejoin.model import Array

ROUNDING = 1e-9


def all_distances(queries: Array, vectors: Array, metric: str = "l2") -> Array:
    """The distance of every query from every vector."""
    apart = queries.astype(np.float64)[:, None, :] - vectors.astype(np.float64)[None, :, :]
    if metric == "l1":
        return np.abs(apart).sum(axis=2)
    straight = np.sqrt((apart**2).sum(axis=2))
    if metric == "angular":
        return 2 * np.arcsin(np.minimum(straight / 2, 1.0))
    return straight


def near(
    queries: Array, vectors: Array, radius: float, metric: str = "l2", zeros: bool = False
) -> Array:
    """Whether every query is within the radius of every vector."""
    found = all_distances(queries, vectors, metric) <= radius * (1 + ROUNDING)
    if not zeros:
        found &= queries.any(axis=1)[:, None] & vectors.any(axis=1)[None, :]
    return found


def scores(matches: Array, columns: Sequence[Array]) -> tuple[list[int], list[int]]:
    """(hits, pairs) of every column, each the numbers of its vectors."""
    hits = [int(matches[:, ids].any(axis=1).sum()) for ids in columns]
    return hits, [int(matches[:, ids].sum()) for ids in columns]
