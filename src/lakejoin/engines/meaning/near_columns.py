"""The columns that hold most of the lake values nearest to a query's, from the compact form alone.

For every query the values with the largest products are taken, as far as the stored coordinates
tell; no vector is read or computed. The columns are then counted through the posting lists. So the
result is an estimate, for callers who look closely at each column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.engines.meaning.column_counts import CountBoard, ListedPairs, count_columns
from lakejoin.engines.meaning.vector_space import VectorSpace
from lakejoin.model import Array
from lakejoin.store.compact_vectors import LEAF, CompactVectors

NEAREST = 128  # values taken for each query
_LEAVES = 256  # leaves decoded at once


class NearColumns(NamedTuple):
    """Columns of a segment, with how many queries have a near value in them, and their sizes."""

    columns: Array
    hits: Array
    sizes: Array


def find_near_columns(
    space: VectorSpace, queries: Array, least: float, excluded: Array | None
) -> NearColumns:
    """Count, by column, the queries that have one of their nearest values in it; products below
    `least` do not count."""
    query, ids = find_near_values(space.compact, queries, least)
    lists = space.lists
    begin, length = lists.spans(ids)
    board = CountBoard.of(lists.columns)
    listed = ListedPairs(query.astype(np.int32), begin, length, lists.entries(begin, length))
    touched = count_columns(listed, lists.allowed(excluded), board)
    size_ranks = board.touched[:touched].astype(np.int64)
    return NearColumns(
        lists.numbers(size_ranks).astype(np.int64),
        board.hits[size_ranks].astype(np.int64),
        lists.sizes(size_ranks).astype(np.int64),
    )


def find_near_values(compact: CompactVectors, queries: Array, least: float) -> tuple[Array, Array]:
    """The pairs (query, id) of each query's `NEAREST` values by estimated product, at least
    `least`; by ascending query."""
    if not compact.count:
        return np.zeros((2, 0), np.int64)[0], np.zeros(0, np.int64)
    axes = queries.astype(np.float64) @ compact.axes.T.astype(np.float64)
    scaled = (axes * compact.scale).astype(np.float32)
    constant = queries.astype(np.float64) @ compact.mean.astype(np.float64)
    floor = np.full(len(queries), least)
    kept = np.zeros((3, 0))
    compact.check(np.arange(len(compact.blocks)))
    rests = compact.rest.reshape(-1, LEAF)
    for first in range(0, len(compact.blocks), _LEAVES):
        block = compact.blocks[first : first + _LEAVES]
        points = block.transpose(1, 0, 2).reshape(block.shape[1], -1).astype(np.float32)
        products = scaled @ points + constant[:, None]
        products[:, ~(rests[first : first + _LEAVES].reshape(-1) < np.inf)] = -np.inf
        query, at = np.nonzero(products >= floor[:, None])
        inside = first * LEAF + at < compact.count
        query, at = query[inside], at[inside]
        found = np.stack([query, first * LEAF + at, products[query, at]])
        kept, floor = _keep_best(np.concatenate([kept, found], axis=1), floor)
    order = np.argsort(kept[0], kind="stable")
    return kept[0, order].astype(np.int64), compact.order[kept[1, order].astype(np.int64)]


def _keep_best(kept: Array, floor: Array) -> tuple[Array, Array]:
    """The best of every query, and the product that further ones must have."""
    order = np.lexsort((-kept[2], kept[0]))
    kept = kept[:, order]
    counts = np.bincount(kept[0].astype(np.int64), minlength=len(floor))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.arange(kept.shape[1]) - np.repeat(starts, counts)
    floor = floor.copy()
    full = counts >= NEAREST
    floor[full] = kept[2, starts[full] + NEAREST - 1]
    return kept[:, rank < NEAREST], floor
