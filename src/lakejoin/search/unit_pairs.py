"""Which of my vectors are near which of some others? All pairs at once, for vectors of length 1.

A search keeps the pairs that it finds for the evidence; where they were too many, those with one
column are found again here, which is less than to search the lake once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.vectors.exact import distances, limit
from lakejoin.search.vectors.hits import Pairs

if TYPE_CHECKING:
    from lakejoin.store.compact import VectorSource

Array = np.ndarray[Any, Any]

_MINE, _THEIRS = 1024, 4096  # vectors of a block
_SLACK = 1e-4  # more than what single precision changes of a squared distance


def unit_pairs(queries: Array, source: VectorSource, ids: Array, radius: float) -> Pairs:
    """The pairs of my vectors and those with some `ids` that are within a radius, as the engine
    gives them. Zero vectors match nothing."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    mine = np.flatnonzero(queries.any(axis=1))
    parts = [np.zeros((0, 3))]
    for begin in range(0, len(ids), _THEIRS):
        some = ids[begin : begin + _THEIRS]
        vectors = source.take(some)
        real = vectors.any(axis=1)
        for first in range(0, len(mine), _MINE):
            block = mine[first : first + _MINE]
            squared = 2.0 - 2.0 * (queries[block] @ vectors.T)
            query, vector = np.nonzero((squared <= radius * radius + _SLACK) & real)
            far = distances(queries, vectors, block[query], vector)
            near = far <= limit(radius)
            parts.append(np.stack([block[query], some[vector], far], axis=1)[near])
    place, found, far = np.concatenate(parts).T
    order = np.lexsort((found, far, place))
    return Pairs(place[order].astype(np.int64), found[order].astype(np.int64), far[order])
