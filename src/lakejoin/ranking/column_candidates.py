"""Join candidates on one query column by equal values, and which of them rewriting may improve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.engines.query import locate_codes
from lakejoin.engines.rewritten.engine import LikelyColumn, pair_by_rare_tokens
from lakejoin.joins.join_inputs import table_subject
from lakejoin.kernels.whole_numbers import find_number_range
from lakejoin.model import Array, ColumnType
from lakejoin.ranking.join_candidates import (
    JoinCandidate,
    MatchFigures,
    measure_reference,
    measure_uniqueness,
)
from lakejoin.ranking.join_score import Ends, Signals, compare_ends, find_ends
from lakejoin.ranking.row_agreement import measure_agreement
from lakejoin.ranking.row_words import QueryWords
from lakejoin.search.lake_background import ChanceEstimator
from lakejoin.signals.chance import LEAST_CHANCE
from lakejoin.signals.name_similarity import compare_names, is_identifier_name

if TYPE_CHECKING:
    from lakejoin.engines.query import Query, QueryTable
    from lakejoin.search.lake_background import LakeNames
    from lakejoin.search.result import ResultLocation
    from lakejoin.store.segment import Segment

_SOME = 8  # values that must match for their rarity to count in full
_DENSE = 0.5  # chance, as a share of the matches, from which on numbers are compared by their ends
_FEWEST = 2
_KEY = 0.99  # distinct values per row of a key, and the share of values that refer to it
_SEVERAL = 10  # values a reference needs; fewer may be any counts or ratings
_MORE = 0.02  # share of the query values that must match beyond equality
_ALMOST = 2  # tables that join on equal values and may do better rewritten
_NEARLY_ALL = 0.98  # share of the query values from which on rewriting adds nothing
_UNMET, _LOOKED_UP = 500, 50_000  # unmatched query values, and lake values to compare them with
_MANY = 0.3  # share of the unmatched values that must share tokens


class ColumnCandidates:
    """The candidates for joins on one query column."""

    def __init__(self, query_table: QueryTable, column_index: int, lake: LakeNames) -> None:
        self._query_table = query_table
        self._column_index = column_index
        self._lake = lake
        self.query: Query = query_table.query(column_index)
        self._chances = ChanceEstimator(self.query)
        self._codes: dict[int, Array] = {}  # of the query, by segment index

    @cached_property
    def _words(self) -> QueryWords:
        return QueryWords(self._query_table, self._column_index, self.query)

    @cached_property
    def _ends(self) -> Ends | None:
        return find_ends(self.query.tokens)

    def quick(self, results: Sequence[MatchFigures]) -> list[JoinCandidate]:
        """Candidates from the figures of results alone, assuming low chance."""
        matched = np.array([result.matched for result in results])
        as_many = len(matched) - np.searchsorted(np.sort(matched), matched / 2)
        return [self._quick(*pair) for pair in zip(results, as_many.tolist(), strict=True)]

    def _quick(self, result: MatchFigures, as_many: int) -> JoinCandidate:
        """A candidate; so many results match at least half as many values."""
        fewer = max(1, min(result.query_size, result.column_size))
        theirs = result.columns[0]
        tables = table_subject(self.query.table), table_subject(result.table)
        alike = compare_names(self.query.column, theirs, *tables)
        signals = Signals(
            fewer,
            min(1.0, result.matched / fewer),
            LEAST_CHANCE,
            result.containment,
            alike.similarity,
            rarity=self._rarity(result.matched, as_many),
            specificity=self._telling(theirs),
            identify=alike.same_identifier,
            unique=measure_uniqueness(result),
            reference=measure_reference(result),
        )
        return JoinCandidate((self.query.column,), result, signals)

    def _telling(self, theirs: str) -> float:
        """How specific the more specific of the two names is, as of `film_id` and `id`."""
        if self.query.type is ColumnType.DATE:
            return 0.0
        return max(map(self._lake.specificity, (self.query.column, theirs)))

    def _rarity(self, matched: int, as_many: int) -> float:
        """The rarity in nats: less if few values match, none for dates, which are everywhere."""
        if self.query.type is ColumnType.DATE:
            return 0.0
        nats = max(0.0, math.log(self._lake.columns / max(1, as_many)))
        return nats * min(1.0, matched / _SOME)

    def against_chance(self, candidate: JoinCandidate) -> JoinCandidate:
        """Add what chance would match."""
        location = candidate.location
        size = candidate.result.column_size
        chance = self._chances.of(
            location.segment_index, location.segment, location.segment_columns[0], size
        )
        signals = replace(candidate.signals, chance=chance)
        # Ends and rarity count only if nearly all values of the smaller column match.
        theirs = self._their_ends(location) if signals.nearly_all else None
        if self._ends and theirs:
            dense = chance >= _DENSE * signals.share
            named = signals.specificity * self._named(candidate, dense, self._ends.are_years)
            signals = replace(
                signals,
                ends=compare_ends(self._ends, theirs) if dense else 0.0,
                # That few columns hold a long count only means that few are as long.
                rarity=0.0 if self._ends.are_common or theirs.are_common else signals.rarity,
                specificity=named,
                dense=dense and self._may_refer(candidate),
            )
        return replace(candidate, signals=signals)

    def _named(self, candidate: JoinCandidate, dense: bool, years: bool) -> float:
        """How much the names of numbers count: nothing for years, half for dense numbers whose name
        does not say identifier."""
        if years:
            return 0.0
        return 0.5 if dense and not is_identifier_name(candidate.result.columns[0]) else 1.0

    def _may_refer(self, candidate: JoinCandidate) -> bool:
        """Whether whole numbers may refer to a key, though any numbers match: they are all in a
        unique identifier, and do not just count the query's rows."""
        assert self._ends is not None, "whole numbers have ends"
        counts_rows = self._query_table.profile(self._column_index).uniqueness >= _KEY and len(
            self.query
        ) >= _KEY * (self._ends.high - self._ends.low + 1)
        location = candidate.location
        unique = float(location.segment.uniqueness[location.segment_columns[0]])
        return (
            not counts_rows
            and not self._ends.are_years
            and len(self.query) >= _SEVERAL
            and candidate.result.containment >= _KEY
            and unique >= _KEY
            and is_identifier_name(candidate.result.columns[0])
        )

    def _their_ends(self, location: ResultLocation) -> Ends | None:
        if self._ends is None:
            return None
        return _find_lake_ends(location.segment, location.segment_columns[0])

    def with_agreement(self, candidate: JoinCandidate) -> JoinCandidate:
        """Add whether other columns agree in matching rows."""
        location = candidate.location
        if location.segment_index not in self._codes:
            self._codes[location.segment_index] = locate_codes(
                self.query, location.segment_index, location.segment
            )
        codes = self._codes[location.segment_index]
        entry, column = location.entry, location.segment_columns[0]
        return candidate.with_rows(
            measure_agreement(self._words, self.query, codes, location.segment, entry, column)
        )


# By segment and column: the same long columns of numbers are candidates for many query columns.
_lake_ends: WeakKeyDictionary[Segment, dict[int, Ends | None]] = WeakKeyDictionary()


def _find_lake_ends(segment: Segment, column: int) -> Ends | None:
    known = _lake_ends.setdefault(segment, {})
    if column not in known:
        codes, texts = segment.postings.codes_of(column), segment.dictionary.texts
        spans = texts.spans(codes)
        are_numbers, low, high = find_number_range(texts.bytes_at(spans), spans)
        known[column] = Ends(low, high) if are_numbers else find_ends(texts.take(codes))
    return known[column]


def find_almost_equal(
    candidates: Sequence[JoinCandidate], most: int = _ALMOST
) -> list[LikelyColumn]:
    """Columns with many equal values whose other values share pieces: 10001 and 10001, but 01001
    and 1001."""
    some = [
        candidate
        for candidate in candidates
        if candidate.kind == "equal"
        and candidate.believed
        and len(candidate.query_columns) == 1
        and candidate.result.containment < _NEARLY_ALL
    ]
    likely = []
    for candidate in sorted(some, key=lambda candidate: candidate.order)[:most]:
        location = candidate.location
        unmet = np.setdiff1d(
            np.arange(len(location.query)), location.find_shared_values().positions
        )
        mine = location.query_table.query(location.query_columns[0]).tokens.take(unmet[:_UNMET])
        codes = location.segment.postings.codes_of(location.segment_columns[0])
        theirs = location.segment.dictionary.texts.take(codes[:_LOOKED_UP])
        met = len(np.unique(pair_by_rare_tokens(mine, theirs)[0]))
        if met >= max(_FEWEST, _MANY * len(mine)):
            likely.append(
                LikelyColumn(
                    location.query_columns[0],
                    location.segment_index,
                    location.segment_columns[0],
                    len(mine),
                    met,
                    0.0,
                    0,
                )
            )
    return likely


def keep_beyond_equal(
    candidates: Sequence[JoinCandidate], equal: Sequence[JoinCandidate]
) -> list[JoinCandidate]:
    """The candidates that match clearly more query values than equal values of the same table do,
    in the same column or in one that multiplies no rows: a state is no key of counties.

    They take over what is known about the same columns from equal values.
    """
    by_table: dict[str, list[JoinCandidate]] = {}
    for known in equal:
        by_table.setdefault(known.result.table, []).append(known)
    kept = []
    for candidate in candidates:
        beside = by_table.get(candidate.result.table, [])
        rivals = [
            known
            for known in beside
            if known.believed
            and (known.query_columns == candidate.query_columns or not known.repeats)
        ]
        best = max((known.result.containment for known in rivals), default=0.0)
        if candidate.result.containment >= best + _MORE:
            kept.append(_with_equal(candidate, beside))
    return kept


def _with_equal(candidate: JoinCandidate, equal: Sequence[JoinCandidate]) -> JoinCandidate:
    columns = candidate.query_columns, candidate.lake_columns
    same = next(
        (known for known in equal if (known.query_columns, known.lake_columns) == columns), None
    )
    if same is None:
        return candidate
    equal_signals, signals = same.signals, candidate.signals
    signals = replace(
        signals,
        names=max(signals.names, equal_signals.names),
        rows=max(signals.rows, equal_signals.rows),
        rarity=equal_signals.rarity,
        ends=max(signals.ends, equal_signals.ends),
    )
    return replace(candidate, signals=signals, beside_equal=True)
