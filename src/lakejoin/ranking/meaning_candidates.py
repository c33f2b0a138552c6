"""Join candidates by meaning.

Search by meaning is slow, so it runs for a sample of the query's values, first those without an
equal match. A column is a candidate if, by the match rule, clearly more of the sample are expected
to have a right match than it has equal values.

Chance is measured with texts that are certainly wrong: some are combined from the halves of two
query values; others are values of other lake columns of about the same length. The kind that
matches more counts. For Ohio, Ohio State and Ohio Northern the rule itself sees that meaning cannot
tell the schools apart: none leads over the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import Query, locate_codes
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.ranking.join_candidates import JoinCandidate, measure_uniqueness
from lakejoin.ranking.join_score import Signals
from lakejoin.ranking.row_agreement import compare_words, find_first_rows
from lakejoin.ranking.row_words import RowWords, leave_out, read_lake_words
from lakejoin.search.lake_background import draw_lake_texts, is_among, look_like_words, mix_texts
from lakejoin.search.meaning_matches import CandidateLimits, ColumnJudge, find_candidates
from lakejoin.search.options import ByMeaning, SearchOptions
from lakejoin.signals.chance import LEAST_CHANCE
from lakejoin.signals.name_similarity import compare_names
from lakejoin.store.meaning_vectors import TEXT_TYPES

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.search.meaning_search import MeaningSearch
    from lakejoin.search.result import NearResult, ResultLocation
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.segment import Segment

_SAMPLE = 24  # query values to search with
_FEWEST = 8  # values that make a search worthwhile
_LEAST_NEAR = 0.25  # share of the sample that must have a value that is clearly near
_LIKELY = 0.5  # chance of pairs whose rows are compared
_FOUND = 20  # columns to judge, by words and by characters
_CLOSELY = 6  # columns to compare with chance
_MOST = 4  # candidates to return
_TEXTS = 20_000  # texts to read for the comparison
_MORE = 0.2  # of the sample must match without an equal value, and this much more than wrong texts
_EXACTLY = 1_000_000  # pairs of a query and a lake value to count; beyond, the sample decides


def find_meaning_candidates(
    searcher: Searcher, query_table: QueryTable, column_index: int, unmet: Array | None = None
) -> list[JoinCandidate]:
    """The candidates for a join by meaning on one query column; none if the index has no vectors or
    the column no texts of some length.

    `unmet` are the positions of the values without an equal match in earlier candidates: these are
    searched for first, and nothing is if there are few.
    """
    if not is_meaningful(query_table, column_index):
        return []
    query = query_table.query(column_index)
    if unmet is not None and len(unmet) < max(_FEWEST, len(query) // 10):
        return []
    probe = _make_probe(searcher, query_table, column_index, query, unmet)
    if probe is None:
        return []
    compared = (replace(gain, chance=probe.chance(gain)) for gain in _most_promising(probe.gains()))
    kept = [gain for gain in compared if gain.share - gain.chance >= _MORE]
    best: dict[tuple[int, int], _Gain] = {}
    for gain in kept:  # one column per table
        best.setdefault((gain.segment, probe.table_of(gain)), gain)
    candidates = probe.candidates(list(best.values())[:_MOST])
    return [candidate for candidate in candidates if candidate.believed]


def is_meaningful(query_table: QueryTable, column_index: int) -> bool:
    """Whether a query column has words, not codes or dates."""
    if query_table.profile(column_index).type not in TEXT_TYPES:
        return False
    tokens = query_table.query(column_index).tokens
    return len(tokens) >= _FEWEST and look_like_words(tokens)


def _most_promising(gains: Iterable[_Gain]) -> Iterator[_Gain]:
    """The gains that add most, as many as can be compared quickly; at least the first."""
    texts = 0
    for rank, gain in enumerate(sorted(gains, key=lambda gain: -gain.more)):
        texts += gain.size
        if rank and (rank >= _CLOSELY or texts > _TEXTS):
            return
        yield gain


def find_unmatched_positions(query: Query, candidates: Sequence[JoinCandidate]) -> Array:
    """The positions of the values that match in none of the candidates."""
    matched = np.zeros(len(query), dtype=bool)
    for candidate in candidates:
        if candidate.kind == "equal":
            matched[candidate.location.find_shared_values().positions] = True
    return np.flatnonzero(~matched)


@dataclass(frozen=True, slots=True)
class _Gain:
    """A lake column with the likely pairs of the sample: positions in it, and codes.

    `more` is the share of the sample that is expected to have a match but no equal value. Of the
    `differing` values without an equal one, a `share` is; a share `chance` of deliberately wrong
    texts would match too.
    """

    segment: int
    column: int
    size: int
    positions: Array
    codes: Array
    more: float
    differing: int
    share: float
    chance: float = 0.0


@dataclass(frozen=True, eq=False)
class EstimatedMatch:
    """A result with figures estimated from a sample of values; implements `MatchFigures`."""

    result: NearResult
    matched: int
    rank: int
    table: str
    columns: tuple[str, ...]
    query_size: int
    column_size: int
    found: ResultLocation | None
    row_coverage: None = None
    fan_out: None = None

    @classmethod
    def of(cls, result: NearResult, matched: int) -> EstimatedMatch:
        """Estimate a result from the number of values with a match."""
        known = result.rank, result.table, result.columns, result.query_size, result.column_size
        return cls(result, matched, *known, result.found)

    @property
    def containment(self) -> float:
        """The estimated share of query values with a match."""
        return self.matched / self.query_size

    def sql(self) -> str:
        """DuckDB SQL for the join; computes all pairs."""
        return self.result.sql()


@dataclass(frozen=True, eq=False)
class _MeaningProbe:
    """A sample of query values with wrong texts, and the engine to search for them."""

    search: MeaningSearch
    query: Query
    judge: ColumnJudge
    chosen: Array
    wrong: pa.LargeStringArray  # mixed texts before those of the lake
    mixed: int

    def gains(self) -> Iterator[_Gain]:
        """Yield the columns with matches for clearly more of the values than are equal there."""
        judge, limits = self.judge, CandidateLimits(_LEAST_NEAR, columns=_FOUND)
        vectors, excluded = judge.vectors, self.search.excluded
        found, _ = find_candidates(judge.engine, judge.calibration, vectors, excluded, limits)
        judge.compare(found)
        for segment, column in found:
            gain = self._gain(segment, column)
            if gain.more >= _MORE:
                yield gain

    def _gain(self, segment: int, column: int) -> _Gain:
        matches = self.judge.match(segment, column)
        differing = ~self._held(segment, column)[self.chosen]
        expected = float(matches.chance[differing].sum())
        codes = self.judge.codes(segment, column)
        number = int(np.count_nonzero(differing))
        more, share = expected / len(self.chosen), expected / max(1, number)
        position = np.flatnonzero(matches.chance >= _LIKELY)
        partners = codes[matches.partner[position]]
        return _Gain(segment, column, len(codes), position, partners, more, number, share)

    def _held(self, segment: int, column: int) -> Array:
        """Which of all query values a column holds."""
        opened = self._segment(segment)
        return is_among(locate_codes(self.query, segment, opened), opened.postings.codes_of(column))

    def chance(self, gain: _Gain) -> float:
        """The share of wrong texts that would match in a column if they stood among mine, of the
        kind that has more."""
        segment = self._segment(gain.segment)
        theirs = segment.postings.codes_of(gain.column)
        # Lake texts that the column holds itself are not wrong there.
        wrong = ~is_among(segment.dictionary.find(self.wrong), theirs)
        shares = []
        for kind in (slice(0, self.mixed), slice(self.mixed, len(self.wrong))):
            texts = self.wrong[kind].filter(wrong[kind])
            chances = self.judge.match_others(texts, gain.segment, gain.column)
            shares.append(float(chances.mean()) if len(texts) else 0.0)
        return max(shares)

    def table_of(self, gain: _Gain) -> int:
        """The table of a column."""
        return self.search.segment_tables[gain.segment].table_of(gain.column)

    def candidates(self, gains: Sequence[_Gain]) -> Iterator[JoinCandidate]:
        """Yield the candidates for some columns."""
        for gain, result in zip(gains, self._results(gains), strict=True):
            candidate = self._make_candidate(gain, result)
            yield candidate.with_rows(self._agreement(gain, result))

    def _results(self, gains: Sequence[_Gain]) -> Sequence[NearResult]:
        from lakejoin.engines.meaning.hits import VectorCounters, VectorHits
        from lakejoin.search.table_versions import Copies

        search = self.search
        segment, column = (
            np.array([(g.segment, g.column) for g in gains], np.int64).reshape(-1, 2)
        ).T
        matched = np.array([self._estimated(gain) for gain in gains], np.int64)
        none = [None] * len(search.snapshot.segments)
        hits = VectorHits(segment, column, matched, matched, VectorCounters(), none)
        copies = Copies(
            search.snapshot.segments, search.segment_tables, search.query_table, search.column_index
        )
        return search.results(hits, copies)

    def _estimated(self, gain: _Gain) -> int:
        """The estimated number of query values with a match: the equal ones, and the sampled share
        of the others."""
        held = self._held(gain.segment, gain.column)
        equal = int(held.sum())
        return equal + round(gain.share * (len(held) - equal))

    def _make_candidate(self, gain: _Gain, result: NearResult) -> JoinCandidate:
        estimate: NearResult | EstimatedMatch
        sampled = None
        if len(self.query) * result.column_size <= _EXACTLY and result.partners is not None:
            pairs = result.partners()
            matched = len(pairs.first)
            share = matched / len(self.query)
            estimate = replace(result, matched=matched, containment=share, pairs=len(pairs))
        else:
            estimate = EstimatedMatch.of(result, result.matched)
            sampled = len(self.chosen)
        signals = Signals(
            gain.differing,
            gain.share,
            max(LEAST_CHANCE, gain.chance),
            estimate.containment,
            compare_names(self.query.column, result.columns[0]).similarity,
            unique=measure_uniqueness(estimate),
        )
        return JoinCandidate((self.query.column,), estimate, signals, "meaning", sampled=sampled)

    def _agreement(self, gain: _Gain, result: NearResult) -> float:
        """How much other columns agree in rows of values and their nearest match."""
        location = result.found
        assert location is not None, "a search result has a location"
        segment, codes = location.segment, gain.codes
        values = self.query.tokens.take(self.chosen[gain.positions])
        own, cells = location.query_table.cells(location.query_columns[0])
        mine = find_first_rows([cells], [_positions_in(own, values)])
        theirs = find_first_rows([segment.rows.codes(gain.column, location.entry.rows)], [codes])
        if len(codes) < 2 or (mine < 0).any() or (theirs < 0).any():
            return 0.0
        joined = leave_out([values, segment.dictionary.texts.take(codes)])
        return compare_words(
            RowWords(location.query_table, location.query_columns).at(mine, joined),
            read_lake_words(segment, location.entry, location.segment_columns, theirs, joined),
        )

    def _segment(self, segment_index: int) -> Segment:
        return self.search.snapshot.segments[segment_index]


def _make_probe(
    searcher: Searcher,
    query_table: QueryTable,
    column_index: int,
    query: Query,
    unmet: Array | None,
) -> _MeaningProbe | None:
    """Sample the query and make wrong texts; None if the index has no vectors or no encoder."""
    import pyarrow as pa

    from lakejoin.search.meaning_search import MeaningSearch

    options = SearchOptions("meaning", k=_FOUND, others=True, near=ByMeaning())
    search = searcher.prepare_near_search(query_table, (column_index,), options)
    assert isinstance(search, MeaningSearch)
    try:
        encoder = search.meanings.encoder()
    except InputError:
        return None
    chosen = sample_query_positions(len(query), unmet)
    some = query.tokens.take(chosen)
    mixed = mix_texts(some.to_pylist(), frozenset(query.tokens.to_pylist()))
    drawn = draw_lake_texts(search.snapshot.segments, some)
    wrong = pa.array([*mixed, *drawn], pa.large_string())
    engine = search.meanings.engine(encoder)
    judge = ColumnJudge(query, chosen, encoder, engine, stored=True)
    return _MeaningProbe(search, query, judge, chosen, wrong, len(mixed))


def _positions_in(tokens: pa.LargeStringArray, values: pa.LargeStringArray) -> Array:
    import pyarrow.compute as pc

    return np.asarray(pc.index_in(values, value_set=tokens).to_numpy())


def sample_query_positions(size: int, first: Array | None = None, most: int = _SAMPLE) -> Array:
    """A sample of `size` positions, ascending, taken from `first` as far as possible.

    >>> sample_query_positions(3).tolist(), sample_query_positions(9, np.array([4, 5]), 2).tolist()
    ([0, 1, 2], [4, 5])
    """
    random = np.random.default_rng(0)
    before = np.zeros(0, np.int64) if first is None else random.permutation(first)[:most]
    rest = np.setdiff1d(np.arange(size), before)
    more = random.permutation(rest)[: most - len(before)]
    return np.sort(np.concatenate([before, more]))
