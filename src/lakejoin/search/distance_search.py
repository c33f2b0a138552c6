"""Search by distance: read the query's columns as points, run the engine, name the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.containment.engine import count_for_share
from lakejoin.model import Array
from lakejoin.search.options import ByDistance
from lakejoin.search.point_query import COORDINATE_SEPARATOR, PointQuery, read_points
from lakejoin.search.result import NearResult, ResultLocation
from lakejoin.search.tau_choice import Reach, limit_unit
from lakejoin.store.point_sets import COORDINATES, NUMBER
from lakejoin.text_format import format_percent

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.distance.distance_metrics import DistanceLimit
    from lakejoin.engines.distance.engine import PointSetSearch
    from lakejoin.engines.hits import ExcludedColumns
    from lakejoin.engines.meaning.hits import NearPairs, VectorHits
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.evidence import MatchingPairs, SharedValues
    from lakejoin.search.options import SearchOptions
    from lakejoin.search.table_versions import Copies
    from lakejoin.store.point_sets import PointSets
    from lakejoin.store.segment_tables import SegmentTables
    from lakejoin.store.snapshot import Snapshot

_NOUNS = {
    "number": "column of numbers",
    "place": "table with coordinates",
    "vector": "column of vectors",
}


@dataclass(eq=False)
class DistanceSearch:
    """One search by distance."""

    snapshot: Snapshot
    segment_tables: Sequence[SegmentTables]
    query_table: QueryTable
    column_indexes: tuple[int, ...]
    options: SearchOptions
    excluded: ExcludedColumns

    @cached_property
    def query(self) -> PointQuery:
        """The points to search for."""
        as_vectors = self._near_options.metric == "haversine"
        on_globe = self._within.unit == "m" or as_vectors
        return read_points(self.query_table, self.column_indexes, on_globe, as_vectors)

    @property
    def _near_options(self) -> ByDistance:
        assert isinstance(self.options.near, ByDistance)
        return self.options.near

    @cached_property
    def _within(self) -> DistanceLimit:
        from lakejoin.engines.distance.distance_metrics import parse_distance

        return parse_distance(self._near_options.within)

    @cached_property
    def _metric(self) -> str:
        from lakejoin.engines.distance.distance_metrics import resolve_metric

        return resolve_metric(self.query.kind, self._within, self._near_options.metric)

    @cached_property
    def reach(self) -> Reach:
        """How near a match must be."""
        unit = " rad" if self._metric == "angular" else limit_unit(self._within)
        within = str(self._near_options.within).strip()
        return Reach(self._near_options.measure, within=within, metric=self._metric, unit=unit)

    @cached_property
    def _sets(self) -> list[PointSets]:
        return [segment.points for segment in self.snapshot.segments]

    @cached_property
    def _engine(self) -> PointSetSearch:
        from lakejoin.engines.distance.engine import PointSetSearch

        return PointSetSearch(self._sets)

    # -- hits -------------------------------------------------------------------------------------

    def hits(self) -> VectorHits:
        """The point sets with matches for the most query points, or with the most pairs."""
        sets, query = self._engine, self.query
        return sets.search(
            query.points,
            query.kind,
            self._within,
            self._metric,
            measure=self._near_options.measure,
            k=self.options.k,
            least=max(1, count_for_share(query, self.options.min or 0.0)),
            excluded=self.excluded,
        )

    def results(self, hits: VectorHits, copies: Copies) -> tuple[NearResult, ...]:
        """The hits as results with names."""
        return tuple(self._result(i, hits, copies) for i in range(len(hits)))

    def _result(self, i: int, hits: VectorHits, copies: Copies) -> NearResult:
        segment_index, points = int(hits.segment[i]), int(hits.column[i])
        places, sets = self.segment_tables[segment_index], self._sets[segment_index]
        columns = sets.columns(points)
        table, matched = places.table_of(columns[0]), int(hits.matched[i])
        return NearResult(
            rank=i + 1,
            table=places.table_name(table),
            columns=tuple(map(places.column_name, columns)),
            matched=matched,
            containment=matched / len(self.query),
            query_size=len(self.query),
            _column_size=sets.size(points),
            copy=copies.kind(segment_index, table),
            pairs=int(hits.pairs[i]),
            partners=partial(self._partners, segment_index, points),
            found=ResultLocation(
                self.query,
                self.snapshot.segments[segment_index],
                segment_index,
                table,
                columns,
                self.query_table,
                self.column_indexes,
                self.snapshot.manifest,
                partial(self._meeting, segment_index, points),
                partial(sets.size, points),
            ),
        )

    def _partners(self, segment_index: int, points: int) -> MatchingPairs:
        """The matching pairs with a point set; partners are given by their position in it."""
        from lakejoin.search.evidence import MatchingPairs

        query, sets = self.query, self._sets[segment_index]
        pairs = self._engine.pairs(
            query.points, query.kind, self._within, self._metric, segment_index, points
        )
        written = partial(_point_texts, sets, points)
        rows = sets.repeats(points)[pairs.id]
        same = _equal(query.points, sets.points(points), pairs)
        return MatchingPairs(
            pairs.position, pairs.id, self._displayed_distance(pairs), rows, same, written, written
        )

    def _displayed_distance(self, pairs: NearPairs) -> Array:
        """Distances in the unit of `within`: as a share of the query's number if it is one."""
        if self._within.unit != "share":
            return pairs.distance
        mine = np.abs(self.query.points[pairs.position, 0])
        return np.asarray(pairs.distance / np.where(mine > 0, mine, 1.0))

    def _meeting(self, segment_index: int, points: int) -> SharedValues:
        return self._partners(segment_index, points).shared_values

    def release(self) -> None:
        """Do nothing: nothing large is cached."""

    # -- notes ------------------------------------------------------------------------------------

    def notes(self, hits: VectorHits, results: Sequence[NearResult]) -> list[str]:
        """Notes about how the points were read, and why nothing was found."""
        notes = list(self.query.notes)
        return notes if results else [*notes, self._why_nothing()]

    def _why_nothing(self) -> str:
        query, near = self.query, self.reach.text
        if not self.snapshot.manifest.totals.tables:
            return "the index is empty"
        kinds = {sets.kind(points) for sets in self._sets for points in range(sets.count)}
        noun = _NOUNS[query.kind]
        if query.kind not in kinds and not (self._metric == "haversine" and COORDINATES in kinds):
            return f"the lake has no {noun}"
        where = f"{'other ' if self.options.others else ''}{noun} of the lake"
        names = " and ".join(map(repr, query.columns))
        if len(query) == 1:
            return f"the only value of {names} has no match {near} in any {where}"
        if self.options.min:
            share = f"{format_percent(self.options.min)} of the {len(query):,} values of {names}"
            return f"no {where} has matches {near} for {share}"
        return f"none of the {len(query):,} values of {names} has a match {near} in any {where}"


def _equal(mine: Array, theirs: Array, pairs: NearPairs) -> Array:
    """Which pairs are equal points: vectors at angle 0 may differ in length."""
    same = np.asarray(pairs.distance == 0)
    near = np.flatnonzero(same)
    position, partner = pairs.position[near], pairs.id[near]
    for axis in range(mine.shape[1]):
        same[near] &= mine[position, axis] == theirs[partner, axis]
    return same


def _point_texts(sets: PointSets, points: int, chosen: Array) -> pa.LargeStringArray:
    """Points of a set as texts."""
    import pyarrow as pa

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
