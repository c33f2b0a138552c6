"""Exact search for the columns with the most vectors within a radius of the query's vectors.

A segment is searched in four steps.

1. Candidates: pairs whose lower bound is within the radius, from the compact form alone.
2. Counting them by column gives an upper bound of each column's score. Columns whose bound is too
   small are dropped unmeasured (lemma 7 of PEXESO, for all of a column's values at once).
3. The candidates of the remaining columns are measured, in float64, on whole vectors. For the best
   k, the columns with the largest bounds are measured first, and their scores are the least that
   the others need.
4. Counting the pairs that are within the radius gives the scores.

Memory is bounded: if there are too many candidates to keep, all are measured and counted in
batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.meaning.hits import NearPairs, VectorCounters, VectorHits
from lakejoin.engines.meaning.segment_scores import ColumnScores, VectorSegmentSearch
from lakejoin.engines.meaning.vector_distances import find_near_pairs, measure_pairs
from lakejoin.engines.meaning.vector_space import Nearness, PostingLists, VectorSpace
from lakejoin.model import Array

__all__ = ["Nearness", "VectorSearch", "VectorSpace"]

_NEAR = 1 << 22  # pairs kept for the evidence
_SEGMENT, _COLUMN, _MATCHED, _PAIRS, _SCORE, _SIZE = range(6)  # rows of a segment's results


class VectorSearch:
    """Searches the vectors of some segments; thread-safe."""

    def __init__(self, spaces: Sequence[VectorSpace]) -> None:
        self.spaces = spaces

    def search(
        self, queries: Array, nearness: Nearness, excluded: ExcludedColumns | None = None
    ) -> VectorHits:
        """The columns with the highest scores, best first.

        Ties are broken by fewer vectors, then by segment, then by column index.
        """
        counters = VectorCounters()
        rows = np.zeros((6, 0), dtype=np.int64)
        near: list[Array | None] = []
        room = _NEAR
        least = max(nearness.least, 1)
        for number in range(len(self.spaces)):
            search = self._search_of(number, queries, nearness, excluded)
            scores = search.scores(least, rows[_SCORE])
            segment_rows = _rows(number, search.space.lists, scores, nearness.measure)
            rows = np.concatenate([rows, segment_rows], axis=1)
            room -= 0 if search.near is None else search.near.shape[1]
            near.append(search.near if room >= 0 else None)
            counters.add(search.counters)
            k = nearness.k
            if k is not None and rows.shape[1] >= k:
                least = max(least, int(np.sort(rows[_SCORE])[-k]))
        order = np.lexsort((rows[_COLUMN], rows[_SEGMENT], rows[_SIZE], -rows[_SCORE]))
        rows = rows[:, order[: nearness.k]]
        return VectorHits(
            rows[_SEGMENT], rows[_COLUMN], rows[_MATCHED], rows[_PAIRS], counters, tuple(near)
        )

    def reached(
        self, queries: Array, radii: Array, least: int, excluded: ExcludedColumns | None = None
    ) -> Array:
        """By ascending radius, how many columns match at least `least` of the query's vectors."""
        radii = np.asarray(radii, dtype=np.float64)
        nearness = Nearness(float(radii[-1]), least=max(least, 1))
        total = np.zeros(len(radii), dtype=np.int64)
        for number in range(len(self.spaces)):
            search = self._search_of(number, queries, nearness, excluded)
            total += search.reached(radii, nearness.least)
        return total

    def pairs(
        self,
        queries: Array,
        nearness: Nearness,
        segment: int,
        column: int,
        hits: VectorHits | None = None,
    ) -> NearPairs:
        """The pairs of query vectors and vectors of a column within the radius.

        With the `hits` of the search that found the column, little is recomputed.
        """
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        space = self.spaces[segment]
        ids = space.lists.ids_of(column)
        near = None if hits is None else hits.near[segment]
        if near is None:
            query, ids, far = find_near_pairs(space, queries, ids, nearness)
        else:
            query, ids = near[:, np.isin(near[1], ids)]
            far = measure_pairs(space.source, queries, query, ids)
        order = np.lexsort((ids, far, query))
        return NearPairs(query[order], ids[order], far[order])

    def _search_of(
        self, number: int, queries: Array, nearness: Nearness, excluded: ExcludedColumns | None
    ) -> VectorSegmentSearch:
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        without = None if excluded is None else excluded.columns[number]
        return VectorSegmentSearch(self.spaces[number], queries, nearness, without)


def _rows(number: int, lists: PostingLists, scores: ColumnScores, measure: str) -> Array:
    """The results of a segment as a matrix with one column per lake column."""
    return np.stack(
        [
            np.full(len(scores.size_ranks), number, dtype=np.int64),
            lists.numbers(scores.size_ranks).astype(np.int64),
            scores.hits,
            scores.pairs,
            scores.by(measure),
            lists.sizes(scores.size_ranks).astype(np.int64),
        ]
    )
