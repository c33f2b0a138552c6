"""Compiled: find candidate pairs by matrix products, of bounds of points or of whole vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from lakejoin.engines.meaning.vector_distances import SMALL, rounding_error
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.kd_trees import LEAF_SIZE
from lakejoin.model import Array

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
