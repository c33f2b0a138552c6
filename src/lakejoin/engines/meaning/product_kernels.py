"""Compiled: find pairs within a radius by products of whole vectors.

If the radius is so large that bounds exclude little, measuring the rest takes longer than the
product of all query vectors with all others, provided that these are in memory. It is computed in
single precision, and the error of

    |q - v|^2  =  |q|^2 + |v|^2 - 2 q v

is at most 2^-24 (|q|^2 + |v|^2) per dimension and for a few more steps: pairs closer to the radius
than twice that remain open, the others are decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.engines.meaning.vector_distances import SMALL, rounding_error

Array = np.ndarray[Any, Any]

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
            found = _pick(products, squares, own, low.astype(np.float32), reach, off, first, out)
            if found:
                yield out[:found]


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
    found = 0
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
                out[found, 0] = q
                out[found, 1] = first + i
                out[found, 2] = np.int32(sure)
                found += 1
    return found
