"""Choose the fastest method to find candidates, from estimates on some leaves and queries.

The tree pays if its boxes exclude most leaves; a scan of all bounds if these exclude most points;
and if little is excluded, products of whole vectors decide every pair at once, provided that the
vectors are in memory. The costs were measured; they affect the time of a search, never its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.meaning.tree_kernels import VectorTree, reached_share
from lakejoin.store.compact_vectors import LEAF

if TYPE_CHECKING:
    from lakejoin.store.compact_vectors import CompactVectors

Array = np.ndarray[Any, Any]

TREE, FLAT, WHOLE = "tree", "flat", "whole"
_SOME = 32  # queries and leaves in the sample
# Nanoseconds for a pair at a leaf of the tree, for a pair in a scan, and to decode a point.
_AT_LEAF, _AMONG_ALL, _DECODED = 5.0, 2.5, 20.0
# To measure a candidate, and more per dimension.
_MEASURED, _NUMBER = 100.0, 1.5
# Whole vectors: to read a number, to multiply one, and to check a product.
_READ, _MULTIPLIED, _LOOKED = 1.0, 0.02, 1.0
_CLEAR = 0.25  # share of a scan's cost below which the tree is chosen without further estimates


def choose_method(
    compact: CompactVectors, tree: VectorTree, queries: Array, rests: Array, reach: float, at_hand: bool
) -> str:
    """`tree`, `flat` or `whole`; the last only if whole vectors are in memory (`at_hand`)."""
    nodes = compact.leaf_nodes
    if not len(nodes) or not len(queries):
        return TREE
    leaves = np.arange(0, len(nodes), max(len(nodes) // _SOME, 1))
    some = slice(None, None, max(len(queries) // _SOME, 1))
    mine, beside = queries[some], rests[some]
    many = len(queries)
    boxed = many * _AT_LEAF * reached_share(tree, mine, beside, reach, nodes[leaves])
    flat = _DECODED + many * _AMONG_ALL
    if not at_hand or boxed < _CLEAR * flat:
        return TREE if boxed < flat else FLAT
    left = _left(compact, mine, beside, reach, leaves)
    dimension = compact.dimension
    measured = many * left * (_MEASURED + _NUMBER * dimension)
    whole = dimension * _READ + many * (dimension * _MULTIPLIED + _LOOKED)
    if whole < min(boxed, flat) + measured:
        return WHOLE
    return TREE if boxed < flat else FLAT


def _left(compact: CompactVectors, queries: Array, rests: Array, reach: float, leaves: Array) -> float:
    """The share of pairs, of sampled queries and leaves, that the bounds do not exclude."""
    compact.check(leaves)
    points = compact.blocks[leaves].transpose(0, 2, 1) * compact.scale.astype(np.float32)
    points = points.reshape(-1, points.shape[2])
    beside = compact.rest.reshape(-1, LEAF)[leaves].reshape(-1)
    points, beside = points[beside < np.inf], beside[beside < np.inf]
    far = (queries * queries).sum(axis=1)[:, None] + (points * points).sum(axis=1)
    far += (rests[:, None] - beside) ** 2 - 2 * queries @ points.T
    error = float(compact.span[compact.leaf_nodes[leaves], 2].max(initial=0.0))
    return float(np.count_nonzero(far <= (reach + error) ** 2)) / max(far.size, 1)
