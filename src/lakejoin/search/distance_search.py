"""Search by distance: read the query's columns as points, run the engine, name the hits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.engines.distance.distance_methods import resolve_metric
from lakejoin.engines.distance.engine import PointSetSearch
from lakejoin.model import Array
from lakejoin.search.engine_search import NearSearch
from lakejoin.search.evidence import MatchingPairs
from lakejoin.search.options import ByDistance
from lakejoin.search.point_query import COORDINATE_SEPARATOR, PointQuery, read_points
from lakejoin.search.result import NearResult, note_unlisted
from lakejoin.search.tau_choice import Reach, limit_unit
from lakejoin.store.distance_limits import DistanceLimit, parse_distance
from lakejoin.store.point_detection import COORDINATES, NUMBER
from lakejoin.store.point_sets import PointSets

if TYPE_CHECKING:
    from lakejoin.engines.meaning.hits import NearPairs, VectorHits

_NOUNS = {
    "number": "column of numbers",
    "place": "table with coordinates",
    "vector": "column of vectors",
}


class DistanceSearch(NearSearch):
    """One search by distance."""

    @cached_property
    def query(self) -> PointQuery:
        as_vectors = self._near_options.metric == "haversine"
        on_globe = self._within.unit == "m" or as_vectors
        return read_points(self.query_table, self.column_indexes, on_globe, as_vectors)

    @property
    def _near_options(self) -> ByDistance:
        assert isinstance(self.options.near, ByDistance)
        return self.options.near

    @cached_property
    def _within(self) -> DistanceLimit:
        return parse_distance(self._near_options.within)

    @cached_property
    def _metric(self) -> str:
        return resolve_metric(self.query.kind, self._within, self._near_options.metric)

    @cached_property
    def reach(self) -> Reach:
        unit = " rad" if self._metric == "angular" else limit_unit(self._within)
        within = str(self._near_options.within).strip()
        return Reach(self._near_options.measure, within=within, metric=self._metric, unit=unit)

    @cached_property
    def _sets(self) -> list[PointSets]:
        return [segment.points for segment in self.snapshot.segments]

    @cached_property
    def _engine(self) -> PointSetSearch:
        return PointSetSearch(self._sets)

    # -- hits -------------------------------------------------------------------------------------

    def hits(self) -> VectorHits:
        query = self.query
        return self._engine.search(
            query.points,
            query.kind,
            self._within,
            self._metric,
            measure=self._near_options.measure,
            k=self.options.k,
            least=self.least,
            excluded=self.excluded,
        )

    def _columns(self, segment_index: int, found: int) -> tuple[int, ...]:
        return self._sets[segment_index].columns(found)

    def _size(self, segment_index: int, found: int) -> int:
        return self._sets[segment_index].size(found)

    def _partners(self, segment_index: int, found: int) -> MatchingPairs:
        """The matching pairs with a point set; lake values are given by their position in it."""
        query, sets = self.query, self._sets[segment_index]
        pairs = self._engine.pairs(
            query.points, query.kind, self._within, self._metric, segment_index, found
        )
        written = partial(_point_texts, sets, found)
        rows = sets.repeats(found)[pairs.id]
        same = _equal(query.points, sets.points(found), pairs)
        return MatchingPairs(
            pairs.position, pairs.id, self._displayed_distance(pairs), rows, same, written, written
        )

    def _displayed_distance(self, pairs: NearPairs) -> Array:
        """Distances in the unit of `within`: as a share of the query's number if it is one."""
        if self._within.unit != "share":
            return pairs.distance
        mine = np.abs(self.query.points[pairs.position, 0])
        return np.asarray(pairs.distance / np.where(mine > 0, mine, 1.0))

    def notes(self, hits: VectorHits, results: Sequence[NearResult]) -> list[str]:
        why = note_unlisted(results, "distance") if results else [self._why_nothing()]
        return [*self.query.notes, *why]

    def _why_nothing(self) -> str:
        if not self.snapshot.manifest.totals.tables:
            return "the index is empty"
        kind, noun = self.query.kind, _NOUNS[self.query.kind]
        kinds = {sets.kind(points) for sets in self._sets for points in range(sets.count)}
        if kind not in kinds and not (self._metric == "haversine" and COORDINATES in kinds):
            return f"the lake has no {noun}"
        return self._why_no_match(noun)


def _equal(mine: Array, theirs: Array, pairs: NearPairs) -> Array:
    """Which pairs are equal points: vectors at angle 0 may differ in length."""
    same = np.asarray(pairs.distance == 0)
    near = np.flatnonzero(same)
    position, partner = pairs.position[near], pairs.id[near]
    for axis in range(mine.shape[1]):
        same[near] &= mine[position, axis] == theirs[partner, axis]
    return same


def _point_texts(sets: PointSets, points: int, chosen: Array) -> pa.LargeStringArray:
    kind, rows = sets.kind(points), sets.points(points)[chosen]
    texts = [COORDINATE_SEPARATOR.join(map(format_number, row)) for row in rows.tolist()]
    if kind not in (NUMBER, COORDINATES):
        texts = [f"[{text}]" for text in texts]
    return pa.array(texts, pa.large_string())


def format_number(number: float) -> str:
    """The shortest text of a number that parses back to it.

    >>> format_number(7.0), format_number(46.949), format_number(1e-9)
    ('7', '46.949', '1e-09')
    """
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
