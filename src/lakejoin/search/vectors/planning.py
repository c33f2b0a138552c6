"""Which way to the candidates is the quickest? An estimate of each, from some leaves and queries.

Boxes pay where they leave most leaves behind; bounds of all points where those leave most points
behind; and where little is left behind at all, products of whole vectors settle every pair at once,
if the vectors are at hand. The costs were measured; they decide how long a search takes, and never
what it finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.vectors.descending import Tree, reached_share
from lakejoin.store.compact import LEAF

if TYPE_CHECKING:
    from lakejoin.store.compact import Compact

Array = np.ndarray[Any, Any]

TREE, FLAT, WHOLE = "tree", "flat", "whole"
_SOME = 32  # queries, and leaves, that are looked at
# Nanoseconds: a pair at a leaf of the tree, a pair among all, and a point decoded for all queries.
_AT_LEAF, _AMONG_ALL, _DECODED = 5.0, 2.5, 20.0
# A candidate that is measured, and more for each of its numbers.
_MEASURED, _NUMBER = 100.0, 1.5
# Whole vectors: a number read for all queries, a number multiplied, and a product looked at.
_READ, _MULTIPLIED, _LOOKED = 1.0, 0.02, 1.0
_CLEAR = 0.25  # of what a look at all would take: what is less needs no further look


def cheapest(
    compact: Compact, tree: Tree, queries: Array, rests: Array, reach: float, at_hand: bool
) -> str:
    """`tree`, `flat` or `whole`; the last only where whole vectors are `at_hand`."""
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


def _left(compact: Compact, queries: Array, rests: Array, reach: float, leaves: Array) -> float:
    """The share of pairs, of some queries and all points of some leaves, that bounds leave."""
    compact.check(leaves)
    points = compact.blocks[leaves].transpose(0, 2, 1) * compact.scale.astype(np.float32)
    points = points.reshape(-1, points.shape[2])
    beside = compact.rest.reshape(-1, LEAF)[leaves].reshape(-1)
    points, beside = points[beside < np.inf], beside[beside < np.inf]
    far = (queries * queries).sum(axis=1)[:, None] + (points * points).sum(axis=1)
    far += (rests[:, None] - beside) ** 2 - 2 * queries @ points.T
    error = float(compact.span[compact.leaf_nodes[leaves], 2].max(initial=0.0))
    return float(np.count_nonzero(far <= (reach + error) ** 2)) / max(far.size, 1)
