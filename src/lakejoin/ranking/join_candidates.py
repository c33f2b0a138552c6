"""Join candidates: how a lake table may join with the query table, with signals and score; and
where rewriting adds matches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from lakejoin.engines.query import locate_codes
from lakejoin.engines.rewritten.engine import LikelyColumn, pair_by_rare_tokens
from lakejoin.joins.join_inputs import table_subject
from lakejoin.model import Array, ColumnType
from lakejoin.ranking.join_score import (
    Ends,
    JoinScore,
    Signals,
    compare_ends,
    find_ends,
    score_join,
)
from lakejoin.ranking.row_agreement import QueryWords, measure_agreement
from lakejoin.search.lake_background import ChanceEstimator
from lakejoin.signals.chance import LEAST_CHANCE
from lakejoin.signals.name_similarity import compare_names, is_identifier_name

if TYPE_CHECKING:
    from lakejoin.engines.query import Query, QueryTable
    from lakejoin.search.lake_background import LakeNames
    from lakejoin.search.result import ResultLocation


_SOME = 8  # values that must match for their rarity to count in full
_DENSE = 0.5  # chance, as a share of the matches, from which on numbers are compared by their ends

Kind = Literal["equal", "rewritten", "meaning", "near"]


class MatchFigures(Protocol):
    """The figures of a match that a join candidate needs; engine results provide them."""

    @property
    def rank(self) -> int:
        """Rank among the results for the same query columns."""

    @property
    def table(self) -> str:
        """The lake table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The lake columns, in the order of the query columns."""

    @property
    def matched(self) -> int:
        """The number of query values with a match."""

    @property
    def containment(self) -> float:
        """The share of query values with a match."""

    @property
    def query_size(self) -> int:
        """The number of query values."""

    @property
    def column_size(self) -> int:
        """The number of values of the lake columns."""

    @property
    def row_coverage(self) -> float | None:
        """The share of query rows with a match."""

    @property
    def fan_out(self) -> float | None:
        """The rows of the join per query row."""

    @property
    def found(self) -> ResultLocation | None:
        """Where the columns are in the index."""

    def sql(self) -> str:
        """DuckDB SQL for the join."""


@dataclass(frozen=True, eq=False)
class JoinCandidate:
    """One way to join: query columns with lake columns, their figures and signals.

    `kind` says whether values are equal, equal once rewritten, equal in meaning, or near; `how` is
    the program or the distance in words, empty for equal values. `beside_equal` if some values of
    the same columns are equal without rewriting.
    """

    columns: tuple[str, ...]
    result: MatchFigures
    signals: Signals
    kind: Kind = "equal"
    how: str = ""
    beside_equal: bool = False

    @cached_property
    def join_score(self) -> JoinScore:
        """The score with its reasons."""
        return score_join(
            replace(self.signals, unchanged=self.kind == "equal" or self.beside_equal)
        )

    @property
    def order(self) -> tuple[bool, float, float]:
        """The sort key: the best candidate has the smallest."""
        return not self.believed, -self.join_score.score, -self.join_score.nats

    @property
    def believed(self) -> bool:
        """Whether this is more than coincidental overlap."""
        return not self.join_score.accidental

    @property
    def pairs(self) -> str:
        """The pairs of joined columns, and how they join."""
        mine, theirs = self.columns, self.result.columns
        sign = "=" if self.kind == "equal" else "~"
        if len(mine) == len(theirs):
            both = zip(mine, theirs, strict=True)
            text = " and ".join(f"{own} {sign} {partner}" for own, partner in both)
        else:  # coordinates may be one column or two
            text = f"{', '.join(mine)} {sign} {', '.join(theirs)}"
        return f"{text} ({self.how})" if self.how else text

    @property
    def why(self) -> str:
        """The evidence for the join, or why it is accidental, in words."""
        reasons = "; ".join(reason.text for reason in self.join_score.reasons)
        return self.join_score.accidental or reasons

    def with_rows(self, nats: float) -> JoinCandidate:
        """Add how much other columns agree, in nats."""
        return replace(self, signals=replace(self.signals, rows=nats))

    def to_dict(self) -> dict[str, Any]:
        """The candidate as a JSON object."""
        return {
            "kind": self.kind,
            "how": self.how,
            "mine": list(self.columns),
            "theirs": list(self.result.columns),
            "matched": self.result.matched,
            "containment": self.result.containment,
            "row_coverage": self.result.row_coverage,
            "fan_out": self.result.fan_out,
            "chance": self.signals.chance,
            "score": self.join_score.score,
            "reasons": [
                {"what": reason.kind, "nats": reason.nats, "words": reason.text}
                for reason in self.join_score.reasons
            ],
            "accidental": self.join_score.accidental,
        }


def get_location(candidate: JoinCandidate) -> ResultLocation:
    """The location of a candidate's columns in the index."""
    assert candidate.result.found is not None, "a search result has a location"
    return candidate.result.found


def measure_uniqueness(result: MatchFigures) -> float:
    """Distinct values per non-null row, of the side where it is larger."""
    return min(1.0, max(_unique_sides(result)))


def measure_reference(result: MatchFigures) -> float:
    """Closeness to a foreign key: how much of one side is in the other, times how near that is to a
    key. 1 if all values of one side are in a key of the other."""
    mine, theirs = _unique_sides(result)
    of_theirs = result.matched / max(1, result.column_size)
    return min(1.0, max(mine * of_theirs, theirs * result.containment))


def _unique_sides(result: MatchFigures) -> tuple[float, float]:
    """Distinct values per non-null row, of the query and of the lake columns."""
    location = result.found
    assert location is not None, "a search result has a location"
    mine = len(location.query) / max(1, int(location.query.counts.sum()))
    if len(location.segment_columns) == 1:
        theirs = location.segment.catalog.columns["uniqueness"][location.segment_columns[0]].as_py()
    else:
        theirs = result.column_size / max(1, location.entry.rows)
    return mine, float(theirs)


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
        matched = np.sort([result.matched for result in results])
        return [self._quick(result, matched) for result in results]

    def _quick(self, result: MatchFigures, matched: Array) -> JoinCandidate:
        fewer = max(1, min(result.query_size, result.column_size))
        theirs = result.columns[0]
        tables = table_subject(self.query.table), table_subject(result.table)
        alike = compare_names(self.query.column, theirs, *tables)
        as_many = len(matched) - int(np.searchsorted(matched, result.matched / 2))
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
        location = candidate.result.found
        assert location is not None, "a search result has a location"
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
            )
        return replace(candidate, signals=signals)

    def _named(self, candidate: JoinCandidate, dense: bool, years: bool) -> float:
        """How much the names of numbers count: nothing for years, half for dense numbers whose name
        does not say identifier."""
        if years:
            return 0.0
        return 0.5 if dense and not is_identifier_name(candidate.result.columns[0]) else 1.0

    def _their_ends(self, location: ResultLocation) -> Ends | None:
        if self._ends is None:
            return None
        codes = location.segment.postings.codes_of(location.segment_columns[0])
        return find_ends(location.segment.dictionary.texts.take(codes))

    def with_agreement(self, candidate: JoinCandidate) -> JoinCandidate:
        """Add whether other columns agree in matching rows."""
        location = candidate.result.found
        assert location is not None, "a search result has a location"
        if location.segment_index not in self._codes:
            self._codes[location.segment_index] = locate_codes(
                self.query, location.segment_index, location.segment
            )
        codes = self._codes[location.segment_index]
        entry, column = location.entry, location.segment_columns[0]
        return candidate.with_rows(
            measure_agreement(self._words, self.query, codes, location.segment, entry, column)
        )


_FEWEST = 2
_MORE = 0.02  # of the query values
_ALMOST = 2  # tables that join by equal values and may do better
_NEARLY_ALL = 0.98  # of the query values
_UNMET, _LOOKED_UP = 500, 50_000  # unmatched query values, and lake values to compare them with
_MANY = 0.3  # of the unmatched values


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
        and len(candidate.columns) == 1
        and candidate.result.containment < _NEARLY_ALL
    ]
    likely = []
    for candidate in sorted(some, key=lambda candidate: candidate.order)[:most]:
        location = candidate.result.found
        assert location is not None, "a search result has a location"
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
    """The candidates that match clearly more query values than equal values of the same table do.

    They take over what is known about the same columns from equal values.
    """
    by_table: dict[str, list[JoinCandidate]] = {}
    for known in equal:
        by_table.setdefault(known.result.table, []).append(known)
    kept = []
    for candidate in candidates:
        beside = by_table.get(candidate.result.table, [])
        best = max((known.result.containment for known in beside if known.believed), default=0.0)
        if candidate.result.containment >= best + _MORE:
            kept.append(_with_equal(candidate, beside))
    return kept


def _with_equal(candidate: JoinCandidate, equal: Sequence[JoinCandidate]) -> JoinCandidate:
    columns = candidate.columns, candidate.result.columns
    same = next(
        (known for known in equal if (known.columns, known.result.columns) == columns), None
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
