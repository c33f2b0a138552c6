"""From join candidates to ranked tables: one result for each table, series of files, or version.

A table is as good as its best candidate, and better if other columns join independently of it.
Files of a series (`sales_2024_01.csv`, `sales_2024_02.csv`, …) with the same columns are one result
with its members, ranked by the values that they match together. Tables that were joined before come
last among those shown: the query table ends with their columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.ranking.join_candidates import JoinCandidate

if TYPE_CHECKING:
    from lakejoin.ranking.answer import FusedResult
    from lakejoin.search.result import Result, ResultLocation

_OF_SECOND = 0.3  # of what the best candidate lacks, a second one of score 1 adds
# What files of a series differ in: numbers, and the long hexadecimal ids of part files.
_VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{16,}\b|\d+")
_POSSIBLE = 4  # tables to show that values can neither prove nor rule out
_AS_LIKELY = 0.9  # as the likeliest of these
_ALL = 0.95  # of the values

Series = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class TableCandidates:
    """The candidates for joining one table, best first.

    `members` are the other files of its series, best first; together they match `together` values
    of the query column.
    """

    candidates: tuple[JoinCandidate, ...]
    members: tuple[str, ...] = ()
    together: int | None = None

    @property
    def first(self) -> JoinCandidate:
        """The best candidate."""
        return self.candidates[0]

    @property
    def table(self) -> str:
        """The lake table."""
        return self.first.result.table

    @cached_property
    def score(self) -> float:
        """The score of the best candidate, raised by the best of those on other columns."""
        return combine_scores(self._best_score, self._independent)

    @property
    def order(self) -> tuple[bool, float, float, float, float, int]:
        """The sort key: the best table has the smallest. Of about equal scores, the one that covers
        more rows comes first."""
        first, covered = self.first, self.first.result.row_coverage or 0.0
        nats = first.join_score.nats
        about = -round(self.score, 2)
        return first.superseded, about, -round(covered, 2), -self.score, -nats, first.result.rank

    @cached_property
    def _best_score(self) -> float:
        if self.together is None:
            return self.first.join_score.score
        share = self.together / max(1, self.first.result.query_size)
        signals = replace(self.first.signals, containment=share)
        return replace(self.first, signals=signals).join_score.score

    @property
    def _independent(self) -> float:
        """The best score of a believed candidate that shares no column with the first."""
        mine, theirs = set(self.first.query_columns), set(self.first.lake_columns)
        return max(
            (
                other.join_score.score
                for other in self.candidates[1:]
                if other.believed
                and not other.superseded
                and not mine & set(other.query_columns)
                and not theirs & set(other.lake_columns)
            ),
            default=0.0,
        )


def combine_scores(best: float, second: float) -> float:
    """The score of a table that joins on two independent keys.

    >>> combine_scores(0.8, 0.0), round(combine_scores(0.8, 0.5), 2)
    (0.8, 0.83)
    """
    return best + (1 - best) * _OF_SECOND * second


def rank_tables(candidates: Sequence[JoinCandidate]) -> list[TableCandidates]:
    """The candidates of each table, best first; tables by their score."""
    tables: dict[str, list[JoinCandidate]] = {}
    for candidate in candidates:
        tables.setdefault(candidate.result.table, []).append(candidate)
    ordered = (
        TableCandidates(tuple(sorted(group, key=lambda candidate: candidate.order)))
        for group in tables.values()
    )
    return sorted(ordered, key=lambda table: table.order)


def choose_possible(tables: Sequence[TableCandidates]) -> list[TableCandidates]:
    """The tables that may join though values cannot tell: for query columns that refer to no key
    yet, those that are not much less likely than the first."""
    refer = {
        table.first.query_columns
        for table in tables
        if table.first.believed and table.first.signals.reference >= _ALL
    }
    chosen: list[TableCandidates] = []
    best: dict[tuple[str, ...], float] = {}
    for table in tables:
        first = table.first
        if first.possible and first.query_columns not in refer and len(chosen) < _POSSIBLE:
            most = best.setdefault(first.query_columns, first.join_score.score)
            if first.join_score.score >= _AS_LIKELY * most:
                chosen.append(table)
    return chosen


@dataclass(eq=False)
class FileSeries:
    """The results of a search by the series of their tables; only the best of a series are compared
    in detail, so that the others are known from here."""

    _results: dict[tuple[Series, tuple[str, ...], str], dict[str, Result]] = field(
        default_factory=dict
    )
    _together: dict[JoinCandidate, int] = field(default_factory=dict)

    def add(self, query_column: str, results: Sequence[Result]) -> None:
        """Remember the results for a query column."""
        for result in results:
            series = _series_of(result.found)
            if series is not None:
                key = series, (query_column,), result.columns[0]
                self._results.setdefault(key, {}).setdefault(result.table, result)

    def fold(self, tables: Sequence[TableCandidates]) -> list[TableCandidates]:
        """One result for each series, of its best table."""
        folded: list[TableCandidates] = []
        by_series: dict[Series, list[TableCandidates]] = {}
        for table in tables:
            series = _series_of(table.first.location)
            if series is None:
                folded.append(table)
            else:
                by_series.setdefault(series, []).append(table)
        folded += (self._with_members(files, series) for series, files in by_series.items())
        return sorted(folded, key=lambda table: table.order)

    def _with_members(self, files: Sequence[TableCandidates], series: Series) -> TableCandidates:
        """The best of some files of a series, with the names of the others."""
        best, first = files[0], files[0].first
        known = self._results.get((series, first.query_columns, first.lake_columns[0]), {})
        names = dict.fromkeys([*(file.table for file in files), *known])
        members = tuple(name for name in names if name != best.table)
        if not members or first.kind != "equal" or len(first.query_columns) > 1:
            return replace(best, members=members)
        if first not in self._together:  # an answer is made after each stage of a search
            self._together[first] = _count_together(first, known.values())
        return replace(best, members=members, together=self._together[first])


def find_appended(results: Sequence[FusedResult], column_names: Sequence[str]) -> set[str]:
    """The tables that were joined before: apart from the key, their columns are the last ones of
    the query table, or stand before those of another such table, as joins append them."""
    appended: set[str] = set()
    end, left = len(column_names), [result for result in results if result.already_joined]
    for _ in results:
        for result in left:
            length = _count_appended(result, column_names[:end])
            if length:
                appended.add(result.table)
                left.remove(result)
                end -= length
                break
    return appended


def _count_appended(result: FusedResult, column_names: Sequence[str]) -> int:
    """How many of the last columns are those of a table; 0 if some of them stand elsewhere."""
    key = result.candidates[0].query_columns
    own = {*key, *(column.known_as for column in result.adds)}
    others = (at for at, name in enumerate(reversed(column_names)) if name not in own)
    length = next(others, len(column_names))
    return length if length >= max(1, len(own) - len(key)) else 0


def _count_together(first: JoinCandidate, results: Iterable[Result]) -> int:
    """How many query values a candidate and some results for the same query column match."""
    found = [first.location, *(result.found for result in results if result.found is not None)]
    positions = [location.find_shared_values().positions for location in found]
    return len(np.unique(np.concatenate(positions)))


def _series_of(location: ResultLocation | None) -> Series | None:
    """The series that a table belongs to: its name without what varies, and its columns; None if
    nothing varies."""
    if location is None:
        return None
    entry = location.entry
    name = _VARYING.sub("#", entry.name)
    if "#" not in name:
        return None
    return name, location.segment.catalog.column_names(entry)
