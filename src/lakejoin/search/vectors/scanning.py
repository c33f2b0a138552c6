"""Which points may lie within a distance of which queries? Looking at all of them: compiled.

Where boxes leave hardly anything behind, the bounds of all points are computed as products of
matrices, since nothing is as quick as the library that a machine has for these:

    |a - b|^2 + (r - s)^2  =  (|a|^2 + r^2)  +  (|b|^2 + s^2)  -  2 (a b + r s)

A query has the row (-2 a, -2 r, 1), a point the column (b, s, |b|^2 + s^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.vectors.ordering import LEAF

Array = np.ndarray[Any, Any]

QUERIES = 256  # that are looked at together
# With so many leaves: an odd number, because rows that are a power of two apart share their places
# in a processor's cache; few enough that all of it stays there.
LEAVES = 11
_NEVER = np.float32(1e30)  # the bound of a point that matches nothing
# What single precision may change of a squared bound, as a share of the numbers it is summed from.
SINGLE = 1e-5


def rows_of(queries: Array, rests: Array) -> tuple[Array, Array]:
    """The row of every query, and |a|^2 + r^2."""
    rows = np.empty((len(queries), queries.shape[1] + 2), dtype=np.float32)
    rows[:, :-2] = -2 * queries
    rows[:, -2] = -2 * rests
    rows[:, -1] = 1
    return rows, np.einsum("ij,ij->i", queries, queries) + rests * rests


@kernel
def decode(
    blocks: Array, rest: Array, scale: Array, first: int, last: int, columns: Array
) -> float:
    """The columns of the points of some leaves; the largest |b|^2 + s^2."""
    kept = blocks.shape[1]
    most = np.float32(0)
    total = np.empty(LEAF, dtype=np.float32)
    for leaf in range(first, last):
        at = (leaf - first) * LEAF
        block = blocks[leaf]
        total[:] = 0
        for j in range(kept):
            step, rounded, column = scale[j], block[j], columns[j, at : at + LEAF]
            for slot in range(LEAF):  # from 0 on, so that several are decoded at once
                x = np.float32(rounded[slot]) * step
                column[slot] = x
                total[slot] += x * x
        for slot in range(LEAF):
            beside = rest[leaf * LEAF + slot]
            if beside < np.inf:
                columns[kept, at + slot] = beside
                columns[kept + 1, at + slot] = total[slot] + beside * beside
                most = max(most, columns[kept + 1, at + slot])
            else:
                columns[kept, at + slot] = 0
                columns[kept + 1, at + slot] = _NEVER
    return most


@kernel
def pick(
    products: Array, limits: Array, own: Array, first_query: int, first_leaf: int, out: Array
) -> int:
    """Writes, as (query, position, 0), the pairs whose bound is within the limit of the leaf.

    `own` is |a|^2 + r^2 by query; `out` has room for all pairs.
    """
    found = 0
    for i in range(products.shape[0]):
        row = products[i]
        for leaf in range(limits.shape[0]):
            most = np.float32(limits[leaf] - own[i])
            part = row[leaf * LEAF : leaf * LEAF + LEAF]
            some = np.int32(0)
            for slot in range(LEAF):
                some |= np.int32(part[slot] <= most)
            if some != 0:
                for slot in range(LEAF):
                    if part[slot] <= most:
                        out[found, 0] = first_query + i
                        out[found, 1] = (first_leaf + leaf) * LEAF + slot
                        out[found, 2] = 0
                        found += 1
    return found
