"""The columns that hold most of the lake values nearest to a query's, from the compact form alone.

For every query the values with the largest products are taken, as far as the stored coordinates
tell; no vector is read or computed. The columns are then counted through the posting lists. So the
result is an estimate, for callers who look closely at each column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.engines.meaning.column_counts import CountBoard, ListedPairs, count_columns
from lakejoin.engines.meaning.product_kernels import estimate_at, find_best, find_best_among
from lakejoin.engines.meaning.vector_space import VectorSpace
from lakejoin.model import Array
from lakejoin.store.compact_vectors import LEAF, CompactVectors

NEAREST = 128  # values taken for each query
# Leaves per query, for the root of their number: a seventh of 15,000, a fortieth of 470,000.
_PROBED = 17.0
_WORTH = 4  # one leaf in four takes as long as all, which are decoded once for all queries
_TOGETHER = 16  # queries whose leaves are chosen at once


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
    `least`; by ascending query. Among many values, only those in the likeliest leaves are looked at
    (`choose_leaves`)."""
    if not compact.count:
        return np.zeros((2, 0), np.int64)[0], np.zeros(0, np.int64)
    scaled, constant = _scale(compact, queries)
    leaves = choose_leaves(compact.centres, scaled)
    compact.check(np.arange(len(compact.blocks)) if leaves is None else np.unique(leaves))
    best = np.empty((len(queries), NEAREST), np.float32)
    at = np.empty(best.shape, np.int64)
    counts = np.zeros(len(queries), np.int64)
    floors = (least - constant).astype(np.float32)
    points = compact.blocks, compact.rest, compact.count, scaled
    if leaves is None:
        find_best(*points, floors, best, at, counts)
    else:
        find_best_among(*points, leaves, floors, best, at, counts)
    query = np.repeat(np.arange(len(queries)), counts)
    found = at[np.arange(NEAREST) < counts[:, None]]
    return query, compact.order[found]


def choose_leaves(centres: Array, scaled: Array) -> Array | None:
    """For each query the leaves whose centres have the largest products; None if all leaves
    are read as quickly.

    Leaves are small clusters, as in a search by inverted lists. Values near a query in other leaves
    are missed: `benchmarks/meaning_scale.py` measures how much.
    """
    probed = int(_PROBED * np.sqrt(len(centres)))
    if probed * _WORTH > len(centres):
        return None
    chosen = np.empty((len(scaled), probed), np.int64)
    wide = np.ascontiguousarray(centres.T, np.float32)
    for begin in range(0, len(scaled), _TOGETHER):
        products = scaled[begin : begin + _TOGETHER] @ wide
        chosen[begin : begin + _TOGETHER] = np.argpartition(-products, probed, axis=1)[:, :probed]
    return chosen


def estimate_products(compact: CompactVectors, queries: Array, ids: Array) -> Array:
    """The products of queries with some vectors, estimated from the stored coordinates: a row for
    each query."""
    scaled, constant = _scale(compact, queries)
    positions = compact.positions[ids]
    order = np.argsort(positions)
    compact.check(np.flatnonzero(np.bincount(positions // LEAF)))
    found = np.empty((len(queries), len(ids)), np.float32)
    estimate_at(compact.blocks, scaled, positions[order], found)
    back = np.empty(len(ids), np.int64)
    back[order] = np.arange(len(ids))
    return found[:, back] + constant[:, None].astype(np.float32)


def _scale(compact: CompactVectors, queries: Array) -> tuple[Array, Array]:
    """What queries are multiplied with and added to estimate products from coordinates."""
    axes = queries.astype(np.float64) @ compact.axes.T.astype(np.float64)
    constant = queries.astype(np.float64) @ compact.mean.astype(np.float64)
    return (axes * compact.scale).astype(np.float32), constant
