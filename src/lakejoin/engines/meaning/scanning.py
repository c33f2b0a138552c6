"""Compiled: find candidate pairs within a distance by scanning the bounds of all points.

If boxes exclude hardly anything, the bounds of all points are computed as matrix products, for
which BLAS libraries are the fastest:

    |a - b|^2 + (r - s)^2  =  (|a|^2 + r^2)  +  (|b|^2 + s^2)  -  2 (a b + r s)

A query has the row (-2 a, -2 r, 1), a point the column (b, s, |b|^2 + s^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.kd_trees import LEAF_SIZE

Array = np.ndarray[Any, Any]

BLOCK_QUERIES = 256  # queries per block
# Leaves per block: an odd number, because rows a power of two apart collide in the processor's
# cache; few enough that a block fits into it.
BLOCK_LEAVES = 11
_NEVER = np.float32(1e30)  # the bound of a point that matches nothing
# Error of a squared bound in single precision, as a share of the numbers it is summed from.
SINGLE_ERROR = 1e-5


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
    kept = blocks.shape[1]
    most = np.float32(0)
    total = np.empty(LEAF_SIZE, dtype=np.float32)
    for leaf in range(first, last):
        at = (leaf - first) * LEAF_SIZE
        block = blocks[leaf]
        total[:] = 0
        for j in range(kept):
            step, rounded, column = scale[j], block[j], columns[j, at : at + LEAF_SIZE]
            for slot in range(LEAF_SIZE):  # from 0 on, so that it is vectorized
                x = np.float32(rounded[slot]) * step
                column[slot] = x
                total[slot] += x * x
        for slot in range(LEAF_SIZE):
            beside = rest[leaf * LEAF_SIZE + slot]
            if beside < np.inf:
                columns[kept, at + slot] = beside
                columns[kept + 1, at + slot] = total[slot] + beside * beside
                most = max(most, columns[kept + 1, at + slot])
            else:
                columns[kept, at + slot] = 0
                columns[kept + 1, at + slot] = _NEVER
    return most


@kernel
def pick_pairs(
    products: Array, limits: Array, own: Array, first_query: int, first_leaf: int, out: Array
) -> int:
    """Write, as (query, position, 0), the pairs whose bound is within the limit of the leaf.

    `own` is |a|^2 + r^2 by query; `out` has room for all pairs.
    """
    found = 0
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
                        out[found, 0] = first_query + i
                        out[found, 1] = (first_leaf + leaf) * LEAF_SIZE + slot
                        out[found, 2] = 0
                        found += 1
    return found
