"""Search by meaning: encode the query's values, run the vector engine, name the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.engines.containment.engine import count_for_share
from lakejoin.search.answer_display import format_percent
from lakejoin.search.options import AUTO, ByMeaning
from lakejoin.search.options_more import DEFAULT_MIN
from lakejoin.engines.query import Query, locate_codes
from lakejoin.search.reach import Reach
from lakejoin.search.result import ResultLocation, NearResult
from lakejoin.search.tau_choice import (
    TAU_GRID,
    LARGEST_DISTANCE,
    TauCounts,
    choose_tau,
    default_tau,
    sample_positions,
)
from lakejoin.store.meaning_vectors import TEXT_TYPES

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.encoders import Encoder
    from lakejoin.search.copies import Copies
    from lakejoin.search.evidence import SharedValues
    from lakejoin.engines.hits import ExcludedColumns
    from lakejoin.search.meanings import MeaningIndex
    from lakejoin.engines.mine import QueryTable
    from lakejoin.search.near_evidence import MatchingPairs
    from lakejoin.search.options_more import SearchOptions
    from lakejoin.store.segment_tables import SegmentTables
    from lakejoin.engines.meaning.engine import VectorSearch
    from lakejoin.engines.meaning.hits import NearPairs, VectorHits
    from lakejoin.engines.meaning.space import Nearness
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

_KEPT = 64 << 20  # bytes of vectors, or of pairs, that an answer may cache for its evidence


@dataclass(eq=False)
class MeaningSearch:
    """One search by meaning; hits are cached for the evidence unless they are large."""

    snapshot: Snapshot
    places: Sequence[SegmentTables]
    meanings: MeaningIndex
    mine: QueryTable
    place: int
    options: SearchOptions
    excluded: ExcludedColumns
    _hits: VectorHits | None = field(default=None, init=False)

    @cached_property
    def query(self) -> Query:
        """The values to search for."""
        query = self.mine.query(self.place)
        if len(query) == 0:
            raise InputError(f"column {query.column!r} of {query.table} has no values")
        return query

    @property
    def _near_options(self) -> ByMeaning:
        assert isinstance(self.options.near, ByMeaning)
        return self.options.near

    @cached_property
    def _encoder(self) -> Encoder:
        return self.meanings.encoder(self._near_options.encoder)

    @cached_property
    def _vectors(self) -> Array:
        return self._encoder.encode(self.query.tokens)

    def forget(self) -> None:
        """Drop what is large; it is recomputed when the evidence needs it."""
        if self._vectors.nbytes > _KEPT:
            del self.__dict__["_vectors"]
        near = self._hits.near if self._hits is not None else ()
        if sum(pairs.nbytes for pairs in near if pairs is not None) > _KEPT:
            self._hits = None

    # -- the query --------------------------------------------------------------------------------

    @cached_property
    def reach(self) -> Reach:
        """How near a match must be."""
        identity, taus = self._encoder.identity, self._taus
        tau = taus.taken if taus else self._near_options.tau
        tau = default_tau(identity) if tau is None else tau
        return Reach(self._near_options.measure, tau=tau, encoder=identity, unit="%", taus=taus)

    @cached_property
    def _taus(self) -> TauCounts | None:
        if self._near_options.tau != AUTO:
            return None
        share = DEFAULT_MIN if self.options.min is None else self.options.min
        some = sample_positions(len(self.query))
        least = max(1, count_for_share(some, share))
        radii = LARGEST_DISTANCE * np.array(TAU_GRID)
        columns = self._engine.reached(self._vectors[some], radii, least, self.excluded)
        usual = default_tau(self._encoder.identity)
        return choose_tau(columns.tolist(), least, len(some), usual, len(self.query))

    @property
    def _engine(self) -> VectorSearch:
        return self.meanings.engine(self._encoder)

    def _nearness(self, least: int, k: int | None) -> Nearness:
        from lakejoin.engines.meaning.space import Nearness

        assert self.reach.tau is not None
        return Nearness(
            LARGEST_DISTANCE * self.reach.tau, measure=self._near_options.measure, least=least, k=k
        )

    # -- hits -------------------------------------------------------------------------------------

    def hits(self) -> VectorHits:
        """The columns with matches for the most values, or with the most pairs."""
        least = max(1, count_for_share(self.query, self.options.min or 0.0))
        nearness = self._nearness(least, self.options.k)
        self._hits = self._engine.search(self._vectors, nearness, self.excluded)
        return self._hits

    def results(self, hits: VectorHits, copies: Copies) -> tuple[NearResult, ...]:
        """The hits as results with names."""
        return tuple(self._result(i, hits, copies) for i in range(len(hits)))

    def _result(self, i: int, hits: VectorHits, copies: Copies) -> NearResult:
        segment_index, column = int(hits.segment[i]), int(hits.column[i])
        places, segment = self.places[segment_index], self.snapshot.segments[segment_index]
        table, matched = places.table_of(column), int(hits.matched[i])
        return NearResult(
            rank=i + 1,
            table=places.table_name(table),
            columns=(places.column_name(column),),
            matched=matched,
            containment=matched / len(self.query),
            query_size=len(self.query),
            _column_size=places.size_of(column),
            copy=copies.kind(segment_index, table),
            pairs=int(hits.pairs[i]),
            partners=partial(self._partners, segment_index, column),
            found=ResultLocation(
                self.query,
                segment,
                segment_index,
                table,
                (column,),
                self.mine,
                (self.place,),
                self.snapshot.manifest,
                partial(self._meeting, segment_index, column),
                partial(places.size_of, column),
            ),
        )

    def _partners(self, segment_index: int, column: int) -> MatchingPairs:
        """The matching pairs with a column; partners are given by their codes."""
        from lakejoin.search.near_evidence import MatchingPairs

        segment = self.snapshot.segments[segment_index]
        pairs = self._pairs(segment_index, column)
        codes = segment.meaning.codes.take(pairs.id)
        at = np.searchsorted(segment.postings.codes_of(column), codes)
        return MatchingPairs(
            pairs.place,
            codes,
            pairs.distance / LARGEST_DISTANCE,
            np.asarray(segment.postings.repeats_of(column), dtype=np.int64)[at],
            locate_codes(self.query, segment_index, segment)[pairs.place] == codes,
            segment.dictionary.texts.take,
            partial(spell_most_frequent, segment, column),
        )

    def _pairs(self, segment_index: int, column: int) -> NearPairs:
        nearness = self._nearness(1, None)
        return self._engine.pairs(self._vectors, nearness, segment_index, column, self._hits)

    def _meeting(self, segment_index: int, column: int) -> SharedValues:
        return self._partners(segment_index, column).meeting

    # -- notes ------------------------------------------------------------------------------------

    def notes(self, hits: VectorHits, results: Sequence[NearResult]) -> list[str]:
        """Notes about the query, and why nothing was found."""
        query, notes = self.query, []
        if query.type not in TEXT_TYPES:
            notes.append(
                f"{query.column!r} has type {query.type}, and search by meaning is for text: "
                "results are texts that look like its values; compare numbers by distance"
            )
        empty = int(np.count_nonzero(~self._vectors.any(axis=1)))
        if empty:
            notes.append(
                f"the encoder knows nothing of {empty:,} of the {len(query):,} values; they match "
                "nothing"
            )
        if self._taus is not None:
            notes.append(self._taus.why)
        return notes if results else [*notes, *self._why_nothing(hits)]

    def _why_nothing(self, hits: VectorHits) -> list[str]:
        if not self.snapshot.manifest.totals.tables:
            return ["the index is empty"]
        if not hits.counters.values:
            return ["the index has no searched text column"]
        others = "other " if self.options.others else ""
        where, size = f"{others}text column of the lake", len(self.query)
        near = self.reach.said
        if size == 1:
            sentence = f"the only value of {self.query.column!r} has no match {near} in any {where}"
        elif self.options.min:
            share = f"{format_percent(self.options.min)} of the {size:,} values of {self.query.column!r}"
            sentence = f"no {where} has matches {near} for {share}"
        else:
            sentence = f"none of the {size:,} values of {self.query.column!r} has a match {near}"
            sentence += f" in any {where}"
        if self._taus is not None:
            return [sentence]
        return [sentence + "; tau auto shows how many columns would qualify at each tau"]


def spell_most_frequent(segment: Segment, column: int, codes: Array) -> pa.LargeStringArray:
    """The most frequent spelling of some values of a column, given by their codes."""
    cells, ids = segment.rows.local(column, int(segment.column_rows[column]))
    if cells is None:  # one value id per row
        ids, rows = np.unique(ids, return_counts=True)
    else:
        rows = np.bincount(np.minimum(cells, len(ids)), minlength=len(ids) + 1)[: len(ids)]
    spelled = segment.rows.codes_of(ids)
    order = np.lexsort((-rows, spelled))
    at = order[np.searchsorted(spelled[order], codes)]
    return segment.rows.texts(ids[at], segment.dictionary.texts)
