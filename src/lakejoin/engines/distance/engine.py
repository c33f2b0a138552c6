"""Find the columns of numbers, coordinates or vectors near the query's, exactly, over all segments.

Sets whose bounding box shows that they cannot reach the required score are not read; all others are
counted in one compiled call per segment. With k, the required score rises to the k-th best so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.distance.distance_methods import (
    CountRequest,
    DistanceMethod,
    NumberDistance,
    PointDistance,
    resolve_metric,
)
from lakejoin.engines.distance.vector_distance import VectorDistance
from lakejoin.engines.meaning.hits import NearPairs, VectorHits
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.store.distance_limits import DistanceLimit

if TYPE_CHECKING:
    from lakejoin.engines.hits import ExcludedColumns
    from lakejoin.store.point_sets import PointSets


class PointSetSearch:
    """Search by distance over the point sets of an index, one `PointSets` per segment."""

    def __init__(self, segments: Sequence[PointSets]) -> None:
        self._segments = tuple(segments)

    def search(
        self,
        points: Array,
        kind: str,
        within: DistanceLimit,
        metric: str | None = None,
        *,
        measure: str = "hit",
        k: int | None = None,
        least: int = 1,
        excluded: ExcludedColumns | None = None,
        counted: bool = True,
    ) -> VectorHits:
        """Return the point sets that score at least `least`, best first; with `k`, the best k of
        them.

        `points` are the distinct query points, one per row; those with NaN match nothing. The score
        is how many of them have a match, or, with measure "all", how many pairs there are. Sets
        with equal scores are ordered by size, smallest first, then by their order in the index. The
        `column` of a hit is the index of the point set in its segment. Counting the pairs of the
        results takes longer for coordinates: without `counted` they are -1.
        """
        if measure not in ("hit", "all"):
            raise InputError(f"measure must be hit or all, not {measure}")
        method = _choose_method(points, kind, within, metric)
        best = np.zeros(1 + (k or 0), dtype=np.int64)
        rows: list[Array] = []
        for segment_index, sets in enumerate(self._segments):
            allowed = method.accepts(sets)
            if excluded is not None:
                allowed = allowed & ~np.isin(
                    sets.column_pairs, excluded.columns[segment_index]
                ).any(1)
            which = np.flatnonzero(allowed)
            method.counters.segments += 1
            method.counters.values += int(sets.sizes[which].sum())
            request = CountRequest(which, max(1, least), best, measure == "all")
            counts = method.count_matches(sets, request)
            score = counts.pairs if request.count_pairs else counts.hits
            figures = counts.sets, score, sets.sizes[counts.sets], counts.hits, counts.pairs
            found = np.stack([np.full(len(score), segment_index), *figures])
            rows.append(found[:, score >= max(1, least)])
        table = np.concatenate([np.zeros((6, 0), dtype=np.int64), *rows], axis=1)
        order = np.lexsort((table[1], table[0], table[3], -table[2]))[:k]
        segment, column, _, _, hits, pairs = table[:, order]
        if measure == "hit" and not method.counts_pairs:
            pairs = np.full(len(pairs), -1)
        if measure == "hit" and not method.counts_pairs and counted:
            hits, pairs = self._counted(method, segment, column)
        return VectorHits(segment, column, hits, pairs, method.counters)

    def _counted(
        self, method: DistanceMethod, segment: Array, column: Array
    ) -> tuple[Array, Array]:
        """Count hits and pairs of the results: a search for hits does not count all pairs."""
        hits = np.zeros(len(segment), dtype=np.int64)
        pairs = np.zeros(len(segment), dtype=np.int64)
        for segment_index in np.unique(segment).tolist():
            here = np.flatnonzero(segment == segment_index)
            here = here[np.argsort(column[here], kind="stable")]
            request = CountRequest(column[here], 0, np.zeros(1, dtype=np.int64), True)
            counts = method.count_matches(self._segments[segment_index], request)
            at = np.searchsorted(column[here], counts.sets)
            hits[here[at]], pairs[here[at]] = counts.hits, counts.pairs
        return hits, pairs

    def pairs(
        self,
        points: Array,
        kind: str,
        within: DistanceLimit,
        metric: str | None,
        segment: int,
        point_set: int,
    ) -> NearPairs:
        """Return the near pairs of query points and points of one set, with their distances."""
        method = _choose_method(points, kind, within, metric)
        query_points, set_points, distance = method.pairs(self._segments[segment], point_set)
        order = np.lexsort((set_points, distance, query_points))
        return NearPairs(query_points[order], set_points[order], distance[order])


def _choose_method(
    points: Array, kind: str, within: DistanceLimit, metric: str | None
) -> DistanceMethod:
    metric = resolve_metric(kind, within, metric)
    points = np.asarray(points, dtype=np.float64)
    if points.ndim == 1:
        points = points[:, None]
    if metric == "difference":
        return NumberDistance(points, within)
    if metric == "haversine":
        return PointDistance(points, within, vectors=kind == "vector")
    return VectorDistance(points, within, metric)
