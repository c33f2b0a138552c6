"""Distances of vectors: exact, and by products.

Sums in single precision decide nearly all pairs. All terms of such a sum are positive, so its
relative error is at most 2^-24 per term, and a little more. Only pairs closer to the radius than
that are summed in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.kd_trees import LEAF_SIZE
from lakejoin.kernels.packing import transpose_lists
from lakejoin.model import Array
from lakejoin.store.compact_vectors import can_match

if TYPE_CHECKING:
    from lakejoin.engines.meaning.vector_space import Nearness, VectorSpace
    from lakejoin.store.compact_vectors import VectorSource


_ROUNDING = 1e-9
# Twice the relative error per term of a sum in single precision, and extra terms for safety.
_TERM, _MORE = 2.0**-23, 8
SMALL = 1e-30  # squares below this may underflow
# Error of a squared bound in single precision, as a share of the numbers it is summed from.
SINGLE_ERROR = 1e-5


def limit(radius: float) -> float:
    """The largest distance that counts as within a radius.

    A little more than the radius, so that a distance equal to it counts whatever the order of
    summation. Only equal vectors are within a radius of zero.
    """
    return radius * (1.0 + _ROUNDING)


def rounding_error(dimension: int) -> float:
    """Twice the relative error of a sum over `dimension` numbers in single precision."""
    return _TERM * (dimension + _MORE)


@njit(fastmath={"reassoc", "contract"})
def squared_l2(a: Array, b: Array) -> float:
    total = 0.0
    for j in range(a.shape[0]):
        off = np.float64(a[j]) - np.float64(b[j])
        total += off * off
    return total


@njit(fastmath={"reassoc", "contract"})
def _single(a: Array, b: Array) -> float:
    """The squared L2 distance in single precision."""
    total = np.float32(0)
    for j in range(a.shape[0]):
        off = a[j] - b[j]
        total += off * off
    return total


@kernel
def _measure(queries: Array, vectors: Array, query: Array, vector: Array, out: Array) -> None:
    for i in range(query.shape[0]):
        out[i] = np.sqrt(squared_l2(queries[query[i]], vectors[vector[i]]))


@kernel
def _decide(
    queries: Array,
    vectors: Array,
    query: Array,
    vector: Array,
    sure: float,
    never: float,
    most: float,
    out: Array,
) -> None:
    for i in range(query.shape[0]):
        a, b = queries[query[i]], vectors[vector[i]]
        far = np.float64(_single(a, b))
        out[i] = far < sure or (far <= never and np.sqrt(squared_l2(a, b)) <= most)


def distances(queries: Array, vectors: Array, query: Array, vector: Array) -> Array:
    """The L2 distances of queries[query[i]] and vectors[vector[i]], all in float32.

    >>> rows = np.eye(2, dtype=np.float32)
    >>> distances(rows, 2 * rows, np.array([0, 0]), np.array([0, 1])).round(3).tolist()
    [1.0, 2.236]
    """
    out = np.empty(len(query), dtype=np.float64)
    _measure(queries, vectors, query, vector, out)
    return out


def within(queries: Array, vectors: Array, query: Array, vector: Array, radius: float) -> Array:
    """Whether the distances of queries[query[i]] and vectors[vector[i]] are within a radius.

    The same as with `distances` and `limit`, but faster.

    >>> rows = np.eye(2, dtype=np.float32)
    >>> within(rows, rows, np.array([0, 0]), np.array([0, 1]), 1.4).tolist()
    [True, False]
    """
    most = limit(radius)
    reach = most**2
    off = rounding_error(queries.shape[1])
    sure, never = reach * (1.0 - off), reach * (1.0 + off)
    if reach < SMALL:
        sure, never = -1.0, np.inf
    out = np.empty(len(query), dtype=np.bool_)
    _decide(queries, vectors, query, vector, sure, never, most, out)
    return out


# A search keeps its near pairs for the evidence; if there were too many, the pairs of one column
# are found again here, which is cheaper than searching the lake again.

TAKEN = 1 << 16  # vectors read at once
_QUERY_BATCH, _VECTOR_BATCH = 1024, 4096  # query vectors and lake vectors per block


def distances_of_pairs(
    source: VectorSource, queries: Array, query: Array, unique: Array, which: Array
) -> Array:
    """The distances of queries[query[i]] and the vectors with the ids unique[which[i]]."""
    out = np.empty(len(query), dtype=np.float64)
    for some, vectors, rows in _by_vector(source, unique, which):
        out[some] = distances(queries, vectors, query[some], rows)
    return out


def pairs_within(
    source: VectorSource, queries: Array, query: Array, unique: Array, which: Array, radius: float
) -> Array:
    """Whether queries[query[i]] and the vectors with ids unique[which[i]] are within the radius."""
    out = np.empty(len(query), dtype=np.bool_)
    for some, vectors, rows in _by_vector(source, unique, which):
        out[some] = within(queries, vectors, query[some], rows, radius)
    return out


def _by_vector(
    source: VectorSource, unique: Array, which: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield (positions of pairs, a matrix, the rows of their vectors in it) for all pairs.

    Vector by vector, so that each is read from memory once; the query's are few and stay cached.
    """
    start, order = transpose_lists(np.arange(len(which) + 1), which, len(unique))
    for begin in range(0, len(unique), TAKEN):
        part = unique[begin : begin + TAKEN]
        some = order[start[begin] : start[begin + len(part)]]
        vectors, rows = source.rows(part)
        yield some, vectors, rows[which[some] - begin]


def measure_pairs(source: VectorSource, queries: Array, query: Array, ids: Array) -> Array:
    """The distances of queries[query[i]] and the vectors with the ids[i]."""
    unique, which = np.unique(ids, return_inverse=True)
    return distances_of_pairs(source, queries, query, unique, which)


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
            far = distances(queries, vectors, query, vector)
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
    reach = limit(nearness.radius)
    return np.nonzero(squared <= reach * reach + SINGLE_ERROR * (own + other))


_VECTORS = 512  # vectors per block
_LOST = np.float32(1e-33)  # more than products can lose by underflow


@dataclass(frozen=True, slots=True, eq=False)
class WholeVectors:
    """All vectors, and their squared lengths (NaN for a vector that matches nothing)."""

    vectors: Array
    squares: Array

    @classmethod
    def of(cls, vectors: Array, zeros: bool) -> Self:
        """From vectors in float32; zero vectors match nothing unless `zeros`."""
        squares = np.empty(len(vectors), dtype=np.float32)
        _squares(vectors, zeros, squares)
        return cls(vectors, squares)

    def pairs(self, queries: Array, radius: float) -> Iterator[Array]:
        """Yield batches of pairs within an L2 distance, as (query, vector id, whether it is sure).

        All queries must be finite.
        """
        own = np.empty(len(queries), dtype=np.float32)
        _squares(queries, True, own)
        room = np.empty((_VECTORS, len(queries)), dtype=np.float32)
        out = np.empty((room.size, 3), dtype=np.int32)
        off, reach = rounding_error(queries.shape[1]), radius * radius
        low: Array = ((1 - off) * own.astype(np.float64) - (1 + off) * reach) / 2
        for first in range(0, len(self.vectors), _VECTORS):
            some = self.vectors[first : first + _VECTORS]
            products = np.matmul(some, queries.T, out=room[: len(some)])
            squares = self.squares[first : first + _VECTORS]
            pair_count = _pick(
                products, squares, own, low.astype(np.float32), reach, off, first, out
            )
            if pair_count:
                yield out[:pair_count]


@njit(fastmath={"reassoc", "contract"})
def _square(vector: Array) -> float:
    total = 0.0
    for j in range(vector.shape[0]):
        x = np.float64(vector[j])
        total += x * x
    return total


@kernel
def _squares(vectors: Array, zeros: bool, out: Array) -> None:
    """The squared length of every vector; NaN if it is not finite, or zero and not `zeros`."""
    for i in range(vectors.shape[0]):
        total = _square(vectors[i])  # in double precision 0 only for zero vectors
        out[i] = total if total < np.inf and (zeros or total > 0.0) else np.nan


@kernel
def _pick(
    products: Array, squares: Array, own: Array, low: Array, reach: float, off: float, first: int,
    out: Array,
) -> int:  # fmt: skip
    """Write, as (query, vector id, whether it is sure), the pairs that may be within reach.

    These have a product of at least `low` of the query plus half the square of the vector.
    """
    pair_count = 0
    half = np.float32((1.0 - off) / 2)
    for i in range(products.shape[0]):
        row = products[i]
        least = squares[i] * half - _LOST
        some = np.int32(0)
        for q in range(row.shape[0]):
            some |= np.int32(row[q] >= low[q] + least)
        if some == 0:
            continue
        for q in range(row.shape[0]):
            if row[q] >= low[q] + least:
                both = np.float64(own[q]) + np.float64(squares[i])
                far = both - 2.0 * np.float64(row[q])
                sure = reach > SMALL and far < reach - off * (both + reach) - 2 * _LOST
                out[pair_count, 0] = q
                out[pair_count, 1] = first + i
                out[pair_count, 2] = np.int32(sure)
                pair_count += 1
    return pair_count


BLOCK_QUERIES = 256  # queries per block
# Leaves per block: an odd number, because rows a power of two apart collide in the processor's
# cache; few enough that a block fits into it.
BLOCK_LEAVES = 11
_NEVER = np.float32(1e30)  # the bound of a point that matches nothing


def query_rows(queries: Array, rests: Array) -> tuple[Array, Array]:
    """The row of every query, and |a|^2 + r^2."""
    rows = np.empty((len(queries), queries.shape[1] + 2), dtype=np.float32)
    rows[:, :-2] = -2 * queries
    rows[:, -2] = -2 * rests
    rows[:, -1] = 1
    return rows, np.einsum("ij,ij->i", queries, queries) + rests * rests


@kernel
def decode_leaves(
    blocks: Array, rest: Array, scale: Array, first: int, last: int, columns: Array
) -> float:
    """Decode the columns of the points of some leaves; returns the largest |b|^2 + s^2."""
    axis_count = blocks.shape[1]
    most = np.float32(0)
    total = np.empty(LEAF_SIZE, dtype=np.float32)
    for leaf in range(first, last):
        at = (leaf - first) * LEAF_SIZE
        block = blocks[leaf]
        total[:] = 0
        for j in range(axis_count):
            step, rounded, column = scale[j], block[j], columns[j, at : at + LEAF_SIZE]
            for slot in range(LEAF_SIZE):  # from 0 on, so that it is vectorized
                x = np.float32(rounded[slot]) * step
                column[slot] = x
                total[slot] += x * x
        for slot in range(LEAF_SIZE):
            beside = rest[leaf * LEAF_SIZE + slot]
            if beside < np.inf:
                columns[axis_count, at + slot] = beside
                columns[axis_count + 1, at + slot] = total[slot] + beside * beside
                most = max(most, columns[axis_count + 1, at + slot])
            else:
                columns[axis_count, at + slot] = 0
                columns[axis_count + 1, at + slot] = _NEVER
    return most


@kernel
def pick_pairs(
    products: Array, limits: Array, own: Array, first_query: int, first_leaf: int, out: Array
) -> int:
    """Write, as (query, position, 0), the pairs whose bound is within the limit of the leaf.

    `own` is |a|^2 + r^2 by query; `out` has room for all pairs.
    """
    pair_count = 0
    for i in range(products.shape[0]):
        row = products[i]
        for leaf in range(limits.shape[0]):
            most = np.float32(limits[leaf] - own[i])
            part = row[leaf * LEAF_SIZE : leaf * LEAF_SIZE + LEAF_SIZE]
            some = np.int32(0)
            for slot in range(LEAF_SIZE):
                some |= np.int32(part[slot] <= most)
            if some != 0:
                for slot in range(LEAF_SIZE):
                    if part[slot] <= most:
                        out[pair_count, 0] = first_query + i
                        out[pair_count, 1] = (first_leaf + leaf) * LEAF_SIZE + slot
                        out[pair_count, 2] = 0
                        pair_count += 1
    return pair_count
