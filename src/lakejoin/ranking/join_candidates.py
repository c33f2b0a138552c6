"""Join candidates: how a lake table may join with the query table, with signals and score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lakejoin.codegen.programs import unglue
from lakejoin.ranking.join_score import JoinScore, Reason, Signals, score_join
from lakejoin.render.answer_base import Detachable
from lakejoin.render.candidate_text import (
    FigureFields,
    describe_evidence,
    describe_match,
    describe_reason,
    describe_verdict,
    format_pairs,
)
from lakejoin.signals.name_similarity import CONTAINED, compare_names
from lakejoin.signals.sureness import UNDECIDED, KeyQuality, Verdict, estimate_sureness, judge

if TYPE_CHECKING:
    from lakejoin.joins.learned.program_finder import LearnedJoin
    from lakejoin.search.result import ResultLocation
    from lakejoin.store.distance_limits import DistanceLimit

COINCIDENCE = 0.1  # at most the chance that coincidental overlap is the right join
_OF_ROWS, _FEWEST_ROWS = 0.1, 0.01  # the weight of covered rows in the order of candidates
_UNIQUE = 0.98  # distinct values per row of a key, as a few rows are repeated by mistake
Kind = Literal["equal", "rewritten", "meaning", "near"]


class MatchFigures(FigureFields, Protocol):
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
    def column_size(self) -> int:
        """The number of values of the lake columns."""

    @property
    def found(self) -> ResultLocation | None:
        """Where the columns are in the index."""

    def sql(self) -> str:
        """DuckDB SQL for the join."""


@dataclass(frozen=True, eq=False)
class JoinCandidate(Detachable):
    """One way to join: query columns with lake columns, their figures and signals.

    `kind` says whether values are equal, equal once rewritten, equal in meaning, or near. Rewritten
    values have a `rewriting`, with `beside_equal` if some values of the same columns are equal
    without it; the last `also_equal` pairs of columns are equal as they are. Values of the same
    meaning are each other's nearest, or in answers of older servers at most `tau` apart; their
    figures are estimated from `sampled` values if these are too many to count. Near points are
    within a `radius`. A candidate is `superseded` if another one has its columns and more, and
    multiplies rows less.

    >>> candidate = lake.search("mine.csv", on="city")[0].candidates[0]
    >>> candidate.kind, candidate.pairs
    ('equal', 'city = name')
    """

    query_columns: tuple[str, ...]
    result: MatchFigures
    signals: Signals
    kind: Kind = "equal"
    rewriting: LearnedJoin | None = None
    beside_equal: bool = False
    also_equal: int = 0
    superseded: bool = False
    tau: float | None = None
    sampled: int | None = None
    radius: DistanceLimit | None = None

    @property
    def lake_columns(self) -> tuple[str, ...]:
        """The columns of the lake table, in the order of the query columns."""
        return self.result.columns

    @property
    def location(self) -> ResultLocation:
        """Where the lake columns are in the index."""
        assert self.result.found is not None, "a search result has a location"
        return self.result.found

    @property
    def programs(self) -> tuple[object, ...]:
        """The programs that rewrite values, the one of the query side first."""
        if self.rewriting is None or self.rewriting.target is None:
            return ()
        source, target = self.rewriting.programs[0].program, self.rewriting.target
        if self.also_equal:
            source, target = unglue(source)[0], unglue(target)[0]
        ordered = (source, target) if self.rewriting.source_side == "left" else (target, source)
        return tuple(program for program in ordered if not program.is_identity)

    @cached_property
    def join_score(self) -> JoinScore:
        """The score with its reasons."""
        unchanged = self.kind == "equal" or self.beside_equal
        if unchanged == self.signals.unchanged:
            return score_join(self.signals)
        return score_join(replace(self.signals, unchanged=unchanged))

    @property
    def order(self) -> tuple[int, bool, float, float, float, float]:
        """The sort key: the best candidate has the smallest. One that covers fewer rows than
        values, such as a code that most rows lack, comes later; of about equal ones, that with more
        rows first."""
        score, class_ = self.join_score, 0 if self.believed else 1 if self.possible else 2
        covered = self.result.row_coverage or 0.0
        share = min(1.0, covered / max(self.result.containment, _FEWEST_ROWS))
        about = -round(score.score * max(share, _FEWEST_ROWS) ** _OF_ROWS, 2)
        return class_, self.superseded, about, -round(covered, 2), -score.score, -score.nats

    @property
    def accidental(self) -> str:
        """Why this is no real join, in words; empty if it is one."""
        return self.join_score.accidental

    @property
    def believed(self) -> bool:
        """Whether this is more than coincidental overlap."""
        return self.join_score.coincidence is None

    @property
    def possible(self) -> bool:
        """Whether it may be a real join that values alone cannot prove."""
        coincidence = self.join_score.coincidence
        return coincidence is not None and coincidence.kind == "dense"

    @property
    def sure(self) -> float:
        """The chance that this is the right join, 0 to 1."""
        if self.possible:
            return UNDECIDED
        pairs = zip(self.query_columns, self.lake_columns, strict=False)
        key = KeyQuality(
            repeated=self.repeats,
            rewritten=self.kind != "equal",
            named=all(compare_names(*pair).similarity >= CONTAINED for pair in pairs),
            reach=max(self.result.row_coverage or 0.0, self.signals.share),
        )
        sure = estimate_sureness(self.join_score.nats, key)
        return sure if self.believed else min(sure, COINCIDENCE)

    @property
    def repeats(self) -> bool:
        """Whether the key repeats in both tables, so that the join multiplies rows."""
        return is_repeated(self.result)

    @property
    def chance(self) -> float:
        """The share of random values that would match."""
        return self.signals.chance

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The evidence for the join."""
        return self.join_score.reasons

    @property
    def verdict(self) -> Verdict:
        """Whether the join is strong, should be checked, or is a coincidence."""
        return judge(self.sure)

    @property
    def pairs(self) -> str:
        """The pairs of joined columns, and how they join, in words."""
        return format_pairs(self)

    @property
    def how(self) -> str:
        """The programs, or how near values are, in words; empty for equal values."""
        return describe_match(self)

    @property
    def why(self) -> str:
        """The evidence for the join, or why it is accidental, in words."""
        return describe_evidence(self.join_score.reasons, self.accidental)

    @property
    def words(self) -> str:
        """The verdict with its main figures, in one sentence."""
        return describe_verdict(self)

    def with_rows(self, nats: float) -> JoinCandidate:
        """Add how much other columns agree, in nats."""
        return replace(self, signals=replace(self.signals, rows=nats))

    def with_row_uniqueness(self) -> JoinCandidate:
        """Add how unique the query columns are."""
        query = self.location.query
        share = min(1.0, len(query) / max(1, int(query.counts.sum())))
        return replace(self, signals=replace(self.signals, row_uniqueness=share))

    def to_dict(self) -> dict[str, Any]:
        """The candidate as a JSON object."""
        return {
            "kind": self.kind,
            "how": self.how,
            "program": " = ".join(map(str, self.programs)) or None,
            "tau": self.tau,
            "radius": None if self.radius is None else self.radius.amount,
            "mine": list(self.query_columns),
            "theirs": list(self.lake_columns),
            "also_equal": self.also_equal,
            "repeats": self.repeats,
            "superseded": self.superseded,
            "matched": self.result.matched,
            "containment": self.result.containment,
            "row_coverage": self.result.row_coverage,
            "fan_out": self.result.fan_out,
            "chance": self.signals.chance,
            "score": self.join_score.score,
            "sure": self.sure,
            "verdict": self.verdict,
            "words": self.words,
            "reasons": [
                {"what": reason.kind, "nats": reason.nats, "words": describe_reason(reason)}
                for reason in self.join_score.reasons
            ],
            "accidental": self.accidental,
        }


def measure_uniqueness(result: MatchFigures) -> float:
    """Distinct values per non-null row, of the side where it is larger."""
    return min(1.0, max(_unique_sides(result)))


def measure_reference(result: MatchFigures) -> float:
    """Closeness to a foreign key: how much of one side is in the other, times how near that is to a
    key. 1 if all values of one side are in a key of the other."""
    mine, theirs = _unique_sides(result)
    of_theirs = result.matched / max(1, result.column_size)
    return min(1.0, max(mine * of_theirs, theirs * result.containment))


def is_repeated(result: MatchFigures) -> bool:
    """Whether the key repeats in both tables, so that the join multiplies rows."""
    if result.found is None or result.fan_out is None:
        return False
    once = result.fan_out <= (result.row_coverage or 0.0) / _UNIQUE
    return not once and max(_unique_sides(result)) < _UNIQUE


def _unique_sides(result: MatchFigures) -> tuple[float, float]:
    """Distinct values per non-null row, of the query and of the lake columns."""
    location = result.found
    assert location is not None, "a search result has a location"
    mine = len(location.query) / max(1, int(location.query.counts.sum()))
    if len(location.segment_columns) == 1:
        theirs = location.segment.uniqueness[location.segment_columns[0]]
    else:
        theirs = result.column_size / max(1, location.entry.rows)
    return mine, float(theirs)
