"""Search by meaning: open the vectors of an index, encode the query, run the vector engine, name
the hits."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.encoders import Encoder, open_encoder
from lakejoin.encoders.factory import find_named_encoder
from lakejoin.encoders.protocol import describe_difference
from lakejoin.engines.containment.engine import count_for_share
from lakejoin.engines.meaning.match_rule import SURE
from lakejoin.engines.query import Query, locate_codes
from lakejoin.errors import InputError, MissingDependency
from lakejoin.model import Array
from lakejoin.quoting import lakejoin_command
from lakejoin.search.engine_search import NearSearch
from lakejoin.search.evidence import MatchingPairs
from lakejoin.search.meaning_matches import MeaningMatches
from lakejoin.search.options import AUTO, DEFAULT_MIN, ByMeaning
from lakejoin.search.result import NearResult, note_unlisted
from lakejoin.search.tau_choice import (
    LARGEST_DISTANCE,
    TAU_GRID,
    Reach,
    TauCounts,
    choose_tau,
    default_tau,
    sample_positions,
)
from lakejoin.store.index_records import MeaningOptions
from lakejoin.store.meaning_vectors import TEXT_TYPES, MeaningComponent
from lakejoin.store.point_sets import PointsComponent

if TYPE_CHECKING:
    from lakejoin.engines.meaning.engine import VectorSearch
    from lakejoin.engines.meaning.hits import VectorHits
    from lakejoin.engines.meaning.vector_space import Nearness
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


_KEPT = 64 << 20  # bytes of vectors, or of pairs, that an answer may cache for its evidence


@dataclass(eq=False)
class MeaningSearch(NearSearch):
    """One search by meaning; hits are cached for the evidence unless they are large."""

    meanings: MeaningIndex
    _hits: VectorHits | None = field(default=None, init=False)

    @cached_property
    def query(self) -> Query:
        query = self.query_table.query(self.column_index)
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

    def release(self) -> None:
        if self._vectors.nbytes > _KEPT:
            del self.__dict__["_vectors"]
            self.__dict__.pop("_matches", None)
        near = self._hits.near if self._hits is not None else ()
        if sum(pairs.nbytes for pairs in near if pairs is not None) > _KEPT:
            self._hits = None

    # -- the query --------------------------------------------------------------------------------

    @cached_property
    def reach(self) -> Reach:
        identity, taus, sure = self._encoder.identity, self._taus, None
        tau = taus.taken if taus else self._near_options.tau
        if self._near_options.by_rule:
            sure = self._near_options.sure or SURE
            tau = max(self._matches.calibration.limits(sure))
        tau = default_tau(identity) if tau is None else tau
        measure = self._near_options.measure
        return Reach(measure, tau=tau, encoder=identity, unit="%", taus=taus, sure=sure)

    @cached_property
    def radius_tau(self) -> float:
        """The tau of a search within a radius, for callers that count what is near."""
        return default_tau(self._encoder.identity)

    @cached_property
    def _matches(self) -> MeaningMatches:
        judged = self._near_options.judged
        return MeaningMatches(self.query, self._vectors, self._encoder, self._engine, judged)

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
        from lakejoin.engines.meaning.vector_space import Nearness

        assert self.reach.tau is not None
        return Nearness(
            LARGEST_DISTANCE * self.reach.tau, measure=self._near_options.measure, least=least, k=k
        )

    # -- hits -------------------------------------------------------------------------------------

    def hits(self) -> VectorHits:
        if self.reach.sure is not None:
            options = self.options
            return self._matches.search(
                self.reach.sure, options.min or 0.0, options.k, self.excluded
            )
        nearness = self._nearness(self.least, self.options.k)
        self._hits = self._engine.search(self._vectors, nearness, self.excluded)
        return self._hits

    def _columns(self, segment_index: int, found: int) -> tuple[int, ...]:
        return (found,)

    def _size(self, segment_index: int, found: int) -> int:
        return self.segment_tables[segment_index].size_of(found)

    def _partners(self, segment_index: int, found: int) -> MatchingPairs:
        """The matching pairs with a column; lake values are given by their codes."""
        if self.reach.sure is not None:
            return self._judged_pairs(segment_index, found, self.reach.sure)
        segment = self.snapshot.segments[segment_index]
        nearness = self._nearness(1, None)
        pairs = self._engine.pairs(self._vectors, nearness, segment_index, found, self._hits)
        codes = segment.meaning.codes.take(pairs.id)
        at = np.searchsorted(segment.postings.codes_of(found), codes)
        return MatchingPairs(
            pairs.position,
            codes,
            pairs.distance / LARGEST_DISTANCE,
            np.asarray(segment.postings.repeats_of(found), dtype=np.int64)[at],
            locate_codes(self.query, segment_index, segment)[pairs.position] == codes,
            segment.dictionary.texts.take,
            partial(spell_most_frequent, segment, found),
        )

    def _judged_pairs(self, segment_index: int, found: int, sure: float) -> MatchingPairs:
        """The pairs whose chance of being right is at least `sure`."""
        segment = self.snapshot.segments[segment_index]
        matches, codes = self._matches.match(segment_index, found)
        position = np.flatnonzero(matches.chance >= sure)
        at = matches.partner[position]
        ids = segment.meaning.ids_of(codes[at])
        source = self._engine.spaces[segment_index].source
        apart = self._vectors[position].astype(np.float64) - source.take(ids)
        return MatchingPairs(
            position,
            codes[at],
            np.sqrt((apart * apart).sum(axis=1)) / LARGEST_DISTANCE,
            np.asarray(segment.postings.repeats_of(found), dtype=np.int64)[at],
            locate_codes(self.query, segment_index, segment)[position] == codes[at],
            segment.dictionary.texts.take,
            partial(spell_most_frequent, segment, found),
            matches.chance[position],
        )

    # -- notes ------------------------------------------------------------------------------------

    def notes(self, hits: VectorHits, results: Sequence[NearResult]) -> list[str]:
        query, notes = self.query, []
        if query.type not in TEXT_TYPES:
            notes.append(
                f"{query.column!r} has type {query.type}, and search by meaning is for text: "
                "results are texts that look like its values; compare numbers by distance"
            )
        empty = int(np.count_nonzero(~self._vectors.any(axis=1)))
        if empty:
            notes.append(
                f"the encoder has no vector for {empty:,} of the {len(query):,} values; they match "
                "nothing"
            )
        if self._taus is not None:
            notes.append(self._taus.why)
        why = note_unlisted(results, "meaning") if results else [self._why_nothing(hits)]
        return [*notes, *why]

    def _why_nothing(self, hits: VectorHits) -> str:
        if not self.snapshot.manifest.totals.tables:
            return "the index is empty"
        if not hits.counters.values:
            return "the index has no searched text column"
        why = self._why_no_match("text column")
        if self._taus is not None or self.reach.sure is not None:
            return why
        return f"{why}; tau auto shows how many columns would qualify at each tau"


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


_PARTS = {
    "meaning": (MeaningComponent.name, MeaningComponent.version, "vectors"),
    "distance": (PointsComponent.name, PointsComponent.version, "points"),
}


def require_part(snapshot: Snapshot, by: str, index: str | None = None) -> None:
    """Raise an error if the index lacks the part that this search needs; `index` is its location,
    for the command in the message."""
    if by not in _PARTS:
        return
    name, version, noun = _PARTS[by]
    records = [segment.record.components.get(name) for segment in snapshot.segments]
    lacks = by == "meaning" and snapshot.manifest.options.meaning is None
    if lacks or any(record is None or record.version < version for record in records):
        raise InputError(
            f"this index has no {noun} to search by {by}; add them with: "
            f"{add_part_command(by, index)}"
        )


def add_part_command(part: str, index: str | None = None) -> str:
    """The command that adds a part to an index.

    >>> add_part_command("meaning"), add_part_command("distance", "my lake.index")
    ('lakejoin index --with meaning', "lakejoin index --with distance --index 'my lake.index'")
    """
    return lakejoin_command(f"index --with {part}", index or "")


class MeaningIndex:
    """The vectors of one snapshot; encoder and engine are cached and thread-safe. `named` is the
    encoder that the user passed when the index was opened."""

    def __init__(self, snapshot: Snapshot, named: Any = None) -> None:
        self._snapshot = snapshot
        self._named = named
        self._lock = threading.Lock()
        self._own: Encoder | None = None
        self._engine: VectorSearch | None = None

    @property
    def _made(self) -> MeaningOptions:
        require_part(self._snapshot, "meaning")
        made = self._snapshot.manifest.options.meaning
        assert made is not None
        return made

    def encoder(self, given: Any = None) -> Encoder:
        """Open the given encoder, which must be the index's; by default the index's own."""
        made = self._made
        if given is not None:
            return _check_identity(open_encoder(given), made, given, self._index)
        with self._lock:
            if self._own is None:
                self._own = _open_own(made, self._named, self._index)
            return self._own

    @property
    def _index(self) -> str:
        return self._snapshot.location.uri

    def explain_missing_encoder(self) -> str | None:
        """Why the encoder cannot be opened, if the index has vectors and it cannot."""
        if self._snapshot.manifest.options.meaning is None:
            return None
        try:
            self.encoder()
        except (InputError, MissingDependency) as problem:
            return str(problem)
        return None

    def engine(self, encoder: Encoder) -> VectorSearch:
        """The vector engine over this index; `encoder` is the index's."""
        with self._lock:
            if self._engine is None:
                from lakejoin.engines.meaning.engine import VectorSearch
                from lakejoin.engines.meaning.vector_space import open_text_space

                segments = self._snapshot.segments
                self._engine = VectorSearch(
                    [open_text_space(segment, encoder) for segment in segments]
                )
            return self._engine


def _open_own(made: MeaningOptions, named: Any, index: str) -> Encoder:
    if named is not None:
        return _check_identity(open_encoder(named), made, named, index)
    if made.encoder is None:
        raise InputError(
            f"the vectors of this index were made by {_name_and_version(made.identity)}, an "
            "encoder passed in Python: pass it again, as lakejoin.open(..., encoder=...), or make "
            f"other vectors with: {_rebuild_command('default', index)}"
        )
    encoder = open_encoder(find_named_encoder(made.encoder))
    if encoder.identity != made.identity:
        problem = _wrong_encoder(made, encoder, made.encoder)
        raise InputError(f"{problem}: install that version, {_how_to_rebuild(made.encoder, index)}")
    return encoder


def _check_identity(encoder: Encoder, made: MeaningOptions, given: Any, index: str) -> Encoder:
    if encoder.identity == made.identity:
        return encoder
    if made.encoder is None:
        way_out = f"pass {_name_and_version(made.identity)} again"
    else:
        way_out = f"omit the encoder to use the index's own ({made.encoder})"
    problem = _wrong_encoder(made, encoder, _encoder_name(given))
    raise InputError(f"{problem}: {way_out}, {_how_to_rebuild(given, index)}")


def _wrong_encoder(made: MeaningOptions, encoder: Encoder, name: str) -> str:
    differences = describe_difference(made.identity, encoder.identity)
    return f"the encoder {name} did not make the vectors of this index ({differences})"


def _how_to_rebuild(given: Any, index: str) -> str:
    """How to rebuild the vectors with an encoder: a command, or a call if it is a Python object."""
    named = isinstance(given, str | os.PathLike)
    call = 'lakejoin.index(..., parts=["meaning"], encoder=...)'
    how = _rebuild_command(os.fspath(given), index) if named else call
    return f"or rebuild all vectors with: {how}"


def _rebuild_command(encoder: str, index: str) -> str:
    return lakejoin_command(f"index --with meaning --encoder {shlex.quote(encoder)}", index)


def _encoder_name(given: Any) -> str:
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    return str(getattr(given, "name", None) or getattr(given, "__qualname__", None) or given)


def _name_and_version(identity: str) -> str:
    return identity.partition(" {")[0]
