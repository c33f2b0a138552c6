"""Measure pairs of query vectors and lake vectors, and find all near pairs of one column.

A search keeps its near pairs for the evidence; if there were too many, the pairs of one column are
found again here, which is cheaper than searching the lake again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.meaning.column_counts import counting_sort
from lakejoin.engines.meaning.product_kernels import SINGLE_ERROR
from lakejoin.engines.meaning.vector_distances import distances, l2_radius, limit, within
from lakejoin.model import Array
from lakejoin.store.compact_vectors import can_match

if TYPE_CHECKING:
    from lakejoin.engines.meaning.vector_space import Nearness, VectorSpace
    from lakejoin.store.compact_vectors import VectorSource

TAKEN = 1 << 16  # vectors read at once
_QUERY_BATCH, _VECTOR_BATCH = 1024, 4096  # query vectors and lake vectors per block


def distances_of_pairs(
    source: VectorSource, queries: Array, query: Array, unique: Array, which: Array, metric: str
) -> Array:
    """The distances of queries[query[i]] and the vectors with the ids unique[which[i]]."""
    out = np.empty(len(query), dtype=np.float64)
    for some, vectors, rows in _by_vector(source, unique, which):
        out[some] = distances(queries, vectors, query[some], rows, metric)
    return out


def pairs_within(
    source: VectorSource, queries: Array, query: Array, unique: Array, which: Array,
    metric: str, radius: float,
) -> Array:  # fmt: skip
    """Whether queries[query[i]] and the vectors with ids unique[which[i]] are within the radius."""
    out = np.empty(len(query), dtype=np.bool_)
    for some, vectors, rows in _by_vector(source, unique, which):
        out[some] = within(queries, vectors, query[some], rows, metric, radius)
    return out


def _by_vector(
    source: VectorSource, unique: Array, which: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield (positions of pairs, a matrix, the rows of their vectors in it) for all pairs.

    Vector by vector, so that each is read from memory once; the query's are few and stay cached.
    """
    order, start = counting_sort(which, len(unique))
    for begin in range(0, len(unique), TAKEN):
        part = unique[begin : begin + TAKEN]
        some = order[start[begin] : start[begin + len(part)]]
        vectors, rows = source.rows(part)
        yield some, vectors, rows[which[some] - begin]


def measure_pairs(
    source: VectorSource, queries: Array, query: Array, ids: Array, metric: str
) -> Array:
    """The distances of queries[query[i]] and the vectors with the ids[i]."""
    unique, which = np.unique(ids, return_inverse=True)
    return distances_of_pairs(source, queries, query, unique, which, metric)


def find_near_pairs(
    space: VectorSpace, queries: Array, ids: Array, nearness: Nearness
) -> tuple[Array, Array, Array]:
    """(query, id, distance) of all pairs of query vectors and vectors `ids` within the radius."""
    parts: list[tuple[Array, Array, Array]] = []
    query_ids = np.flatnonzero(can_match(queries, space.compact.zeros))
    for begin in range(0, len(ids), _VECTOR_BATCH):
        batch_ids = ids[begin : begin + _VECTOR_BATCH]
        vectors = space.source.take(batch_ids)
        usable = np.flatnonzero(can_match(vectors, space.compact.zeros))
        for first in range(0, len(query_ids), _QUERY_BATCH):
            block = query_ids[first : first + _QUERY_BATCH]
            query, vector = _maybe(queries[block], vectors[usable], nearness)
            query, vector = block[query], usable[vector]
            far = distances(queries, vectors, query, vector, nearness.metric)
            near = far <= limit(nearness.radius)
            parts.append((query[near], batch_ids[vector[near]], far[near]))
    none = np.zeros(0, dtype=np.int64)
    query, near_ids, far = (
        np.concatenate(arrays) for arrays in zip((none, none, np.zeros(0)), *parts, strict=True)
    )
    return query, near_ids, far


def _maybe(query_vectors: Array, vectors: Array, nearness: Nearness) -> tuple[Array, Array]:
    """The pairs that may be near by their L2 distance in single precision."""
    own = np.einsum("ij,ij->i", query_vectors, query_vectors)[:, None]
    other = np.einsum("ij,ij->i", vectors, vectors)[None, :]
    squared = own + other - 2.0 * (query_vectors @ vectors.T)
    reach = limit(l2_radius(nearness.radius, nearness.metric))
    return np.nonzero(squared <= reach * reach + SINGLE_ERROR * (own + other))
