"""Which columns of numbers, places or vectors lie near mine? Exactly, over all segments.

The sets of a segment that cannot reach the bar by their bounding box alone are left unread; the
others go through one compiled call. With k, the bar rises to the k-th best score so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.near_options import MEASURES
from lakejoin.search.nearby.wanted import Method, Wanted
from lakejoin.search.nearby.within import Within, settled_metric
from lakejoin.search.vectors.hits import Pairs, VectorHits

if TYPE_CHECKING:
    from lakejoin.search.hits import Excluded
    from lakejoin.store.points import PointSets

Array = np.ndarray[Any, Any]


class NearbySearch:
    """Search by distance over the point sets of an index, one `PointSets` a segment."""

    def __init__(self, segments: Sequence[PointSets]) -> None:
        self._segments = tuple(segments)

    def search(
        self,
        points: Array,
        kind: str,
        within: Within,
        metric: str | None = None,
        *,
        measure: str = "hit",
        k: int | None = None,
        least: int = 1,
        excluded: Excluded | None = None,
        counted: bool = True,
    ) -> VectorHits:
        """The point sets that score at least `least`, best first; the best `k` of them.

        `points` are my distinct points, one a row; those with NaN meet nothing. The score is how
        many of them have a partner, or by `measure` all how many pairs there are. Of equal scores,
        the smaller set comes first, then the order of the index. The `column` of a hit numbers the
        point set in its segment. A search for hits can do without the pairs of what it found,
        which for places take longer to count: where they are not `counted` they are -1.
        """
        if measure not in MEASURES:
            raise InputError(f"measure must be hit or all, not {measure}")
        method = method_of(points, kind, within, metric)
        best = np.zeros(1 + (k or 0), dtype=np.int64)
        rows: list[Array] = []
        for number, sets in enumerate(self._segments):
            allowed = method.fits(sets)
            if excluded is not None:
                allowed = allowed & ~np.isin(sets.column_pairs, excluded.columns[number]).any(1)
            which = np.flatnonzero(allowed)
            method.counters.segments += 1
            method.counters.values += int(sets.sizes[which].sum())
            wanted = Wanted(which, max(1, least), best, measure == "all")
            found = method.meet(sets, wanted)
            score = found.pairs if wanted.all_ else found.hits
            kept = score >= max(1, least)
            rows.append(
                np.stack(
                    [
                        np.full(kept.sum(), number),
                        found.sets[kept],
                        score[kept],
                        sets.sizes[found.sets[kept]],
                        found.hits[kept],
                        found.pairs[kept],
                    ]
                )
            )
        table = np.concatenate([np.zeros((6, 0), dtype=np.int64), *rows], axis=1)
        order = np.lexsort((table[1], table[0], table[3], -table[2]))[:k]
        segment, column, _, _, hits, pairs = table[:, order]
        if measure == "hit" and not method.both:
            pairs = np.full(len(pairs), -1)
        if measure == "hit" and not method.both and counted:
            hits, pairs = self._counted(method, segment, column)
        return VectorHits(segment, column, hits, pairs, method.counters)

    def _counted(self, method: Method, segment: Array, column: Array) -> tuple[Array, Array]:
        """Both counts of what was found: a search for hits need not know all the pairs."""
        hits = np.zeros(len(segment), dtype=np.int64)
        pairs = np.zeros(len(segment), dtype=np.int64)
        for number in np.unique(segment).tolist():
            here = np.flatnonzero(segment == number)
            here = here[np.argsort(column[here], kind="stable")]
            wanted = Wanted(column[here], 0, np.zeros(1, dtype=np.int64), True)
            found = method.meet(self._segments[number], wanted)
            at = np.searchsorted(column[here], found.sets)
            hits[here[at]], pairs[here[at]] = found.hits, found.pairs
        return hits, pairs

    def pairs(
        self,
        points: Array,
        kind: str,
        within: Within,
        metric: str | None,
        segment: int,
        point_set: int,
    ) -> Pairs:
        """The pairs of my points and a set's that are near enough, with their distances."""
        method = method_of(points, kind, within, metric)
        mine, theirs, distance = method.pairs(self._segments[segment], point_set)
        order = np.lexsort((theirs, distance, mine))
        return Pairs(mine[order], theirs[order], distance[order])


def method_of(points: Array, kind: str, within: Within, metric: str | None) -> Method:
    """How points of a kind are met under a metric."""
    metric = settled_metric(kind, within, metric)
    points = np.asarray(points, dtype=np.float64)
    if points.ndim == 1:
        points = points[:, None]
    if metric == "difference":
        from lakejoin.search.nearby.of_numbers import NumbersNearby

        return NumbersNearby(points, within)
    if metric == "haversine":
        from lakejoin.search.nearby.of_places import PlacesNearby

        return PlacesNearby(points, within, vectors=kind == "vector")
    from lakejoin.search.nearby.of_vectors import VectorsNearby

    return VectorsNearby(points, within, metric)
