"""Extend the candidates of a search by further columns, so that they do not multiply rows.

A candidate whose key repeats in both tables is extended (`joins/key_extension`) before it is shown:
a team by the year, a county that must be rewritten by its state. The figures of the longer key are
counted on all rows; its evidence is that of the shorter one and how well the further columns agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.codegen.programs import glue, identity
from lakejoin.engines.composite.query import KeyQuery, key_query
from lakejoin.engines.query import NO_CELL, Query
from lakejoin.joins.key_extension import (
    NO_CODE,
    KeyExtension,
    MatchedRows,
    choose_keys,
    extend_key,
    sample_matched_rows,
)
from lakejoin.joins.row_keys import Keys, combine_keys, count_rows
from lakejoin.model import Array
from lakejoin.ranking.coded_rows import LakeRows, QueryRows
from lakejoin.ranking.join_candidates import JoinCandidate, measure_reference, measure_uniqueness
from lakejoin.ranking.rewritten_candidates import RewrittenMatch
from lakejoin.ranking.row_agreement import find_cell_ids, find_rows
from lakejoin.search.key_search import KeyMatches, count_combinations
from lakejoin.search.result import Result, ResultLocation
from lakejoin.signals.column_roles import is_measure
from lakejoin.signals.name_similarity import CONTAINED

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.joins.learned.program_finder import LearnedJoin
    from lakejoin.store.catalog import ColumnEntry

_EXTENDED = 3  # keys of a table to extend
_FEWEST = 2  # combinations that must match
_MOST_EVIDENCE = 100.0
_NEARLY_ALL, _ONCE = 0.99, 1.02  # rows, and matches per row, of a column that suffices


class KeyExtender:
    """Extends the candidates of one query table; every candidate once."""

    def __init__(self, query_table: QueryTable) -> None:
        self._query_table = query_table
        self._extended: dict[JoinCandidate, JoinCandidate | None] = {}
        self._queries: dict[tuple[int, ...], KeyQuery] = {}

    def extend_table(self, candidates: Sequence[JoinCandidate]) -> list[JoinCandidate]:
        """The candidates of a table, and longer keys that multiply rows less.

        Measures are not extended, and superseded by identifiers, as attendances are by the team and
        the year.
        """
        measures = {candidate for candidate in candidates if self._is_measure(candidate)}
        by_columns: dict[frozenset[tuple[str, str]], JoinCandidate] = {}
        longer_keys: dict[JoinCandidate, JoinCandidate] = {}
        for candidate in sorted(candidates, key=_same_names_first):
            if candidate in measures or not _may_be_key_part(candidate):
                continue
            longer = self.extend(candidate) if len(longer_keys) < _EXTENDED else None
            if longer is not None:
                longer = longer.with_row_uniqueness()
                longer = _find_sufficient(longer, candidate, candidates) or longer
                longer_keys[candidate] = longer
        identifiers = [candidate for candidate in candidates if candidate not in measures]
        if not any(candidate.believed for candidate in (*longer_keys.values(), *identifiers)):
            measures = set()
        for candidate in (*longer_keys.values(), *candidates):
            superseded = candidate in longer_keys or candidate in measures
            marked, columns = replace(candidate, superseded=superseded), _column_pairs(candidate)
            by_columns[columns] = min(marked, by_columns.get(columns, marked), key=_best_first)
        return list(by_columns.values())

    def _is_measure(self, candidate: JoinCandidate) -> bool:
        """Whether a candidate compares measures, such as prices, in one of its pairs of columns."""
        if candidate.kind != "equal":
            return False
        location = candidate.location
        lake_columns = LakeRows(location.segment, location.entry).columns
        theirs = [
            lake_columns[column - location.entry.first] for column in location.segment_columns
        ]
        return any(
            self._compares_measures(own, column)
            for own, column in zip(location.query_columns, theirs, strict=False)
        )

    def _compares_measures(self, own: int, column: ColumnEntry) -> bool:
        """Whether both columns hold measures; of the same name, a few values of one may not show
        it."""
        name = self._query_table.column_names[own]
        measures = (
            is_measure(column.name, column.profile),
            is_measure(name, self._query_table.profile(own)),
        )
        return any(measures) if name.casefold() == column.name.casefold() else all(measures)

    def extend(self, candidate: JoinCandidate) -> JoinCandidate | None:
        """The candidate with further columns; None if it needs none, or there are none."""
        if candidate not in self._extended:
            self._extended[candidate] = self._extend(candidate)
        return self._extended[candidate]

    def _extend(self, candidate: JoinCandidate) -> JoinCandidate | None:
        if isinstance(candidate.result, RewrittenMatch):
            return self._extend_rewritten(candidate, candidate.result)
        if candidate.kind == "equal" and isinstance(candidate.result, Result):
            return self._extend_equal(candidate, candidate.result)
        return None

    def _find(self, location: ResultLocation, rows: MatchedRows) -> KeyExtension | None:
        mine = QueryRows(self._query_table, location.segment)
        theirs = LakeRows(location.segment, location.entry)
        used = [column - location.entry.first for column in location.segment_columns]
        return extend_key(mine, theirs, rows, (location.query_columns, used))

    # -- equal values ----------------------------------------------------------------------------

    def _extend_equal(self, candidate: JoinCandidate, result: Result) -> JoinCandidate | None:
        location = candidate.location
        if not result.verified or not isinstance(location.query, Query | KeyQuery):
            return None
        shared = location.find_shared_values()
        mine, theirs = location.query.counts[shared.positions], shared.lake_rows
        if (mine * theirs).sum() <= mine.sum():
            return None  # no row has several matches
        rows = _matched_rows(location, shared.positions[choose_keys(mine, theirs)])
        extension = self._find(location, rows)
        if extension is None:
            return None
        longer = self._count_equal(location, result, extension)
        if longer.matched < _FEWEST:
            return None
        columns = tuple(self._query_table.column_names[i] for i in _query_columns(longer))
        return _with_result(replace(candidate, query_columns=columns), longer, extension)

    def _count_equal(
        self, location: ResultLocation, result: Result, extension: KeyExtension
    ) -> Result:
        """The figures of the longer key."""
        first = location.entry.first
        query_columns = (*location.query_columns, *(mine for mine, _ in extension.pairs))
        lake_columns = (
            *location.segment_columns,
            *(first + theirs for _, theirs in extension.pairs),
        )
        if query_columns not in self._queries:
            self._queries[query_columns] = key_query(self._query_table, query_columns)
        query = self._queries[query_columns]
        matches = KeyMatches(query)
        found = replace(
            location,
            query=query,
            segment_columns=lake_columns,
            query_columns=query_columns,
            find_shared_values=partial(matches.of, location.segment, lake_columns),
            count_values=partial(count_combinations, location.segment, lake_columns),
        )
        names = LakeRows(location.segment, location.entry).names
        matched = len(found.find_shared_values().positions)
        return Result(
            rank=result.rank,
            table=result.table,
            columns=tuple(names[column - first] for column in lake_columns),
            matched=matched,
            containment=matched / max(1, len(query)),
            query_size=len(query),
            _column_size=None,
            copy=result.copy,
            found=found,
        )

    # -- rewritten values ------------------------------------------------------------------------

    def _extend_rewritten(
        self, candidate: JoinCandidate, result: RewrittenMatch
    ) -> JoinCandidate | None:
        keys = result.meeting.row_keys
        counts = count_rows(keys.left, keys.count), count_rows(keys.right, keys.count)
        if (counts[0] * counts[1]).sum() <= max(
            counts[0][counts[1] > 0].sum(), counts[1][counts[0] > 0].sum()
        ):
            return None
        extension = self._find(candidate.location, sample_matched_rows(keys))
        if extension is None:
            return None
        longer = self._count_rewritten(keys, result, extension)
        if longer.matched < _FEWEST:
            return None
        names = self._query_table.column_names
        further = [names[mine] for mine, _ in extension.pairs]
        assert candidate.rewriting is not None, "values were rewritten"
        candidate = replace(
            candidate,
            query_columns=(*candidate.query_columns, *further),
            rewriting=_glue_columns(candidate.rewriting, further, longer.columns[-len(further) :]),
            also_equal=len(further),
        )
        return _with_result(candidate, longer, extension)

    def _count_rewritten(
        self, keys: Keys, result: RewrittenMatch, extension: KeyExtension
    ) -> RewrittenMatch:
        """The figures of the longer key, counted row by row."""
        location = result.found
        lake = LakeRows(location.segment, location.entry)
        own = QueryRows(self._query_table, location.segment)
        rows = np.arange(len(keys.left)), np.arange(len(keys.right))
        cells = [result.meeting.left.entries]
        complete = cells[0] >= 0
        for mine, theirs in extension.pairs:
            own_codes = np.maximum(own.codes_at([mine], rows[0])[0], NO_CODE)
            codes = own_codes, lake.codes_at([theirs], rows[1])[0]
            distinct, dense = np.unique(np.concatenate(codes), return_inverse=True)
            dense = dense - int(bool(len(distinct)) and distinct[0] == NO_CODE)
            pair = Keys(dense[: len(rows[0])], dense[len(rows[0]) :], len(distinct))
            keys = combine_keys(keys, pair)
            cells.append(self._query_table.cells(mine)[1])
            complete &= cells[-1] != NO_CELL
        theirs_of = count_rows(keys.right, keys.count)
        matched = np.append(theirs_of, 0)[keys.left]
        first = location.entry.first
        found = replace(
            location,
            query_columns=(*location.query_columns, *(mine for mine, _ in extension.pairs)),
            segment_columns=(
                *location.segment_columns,
                *(first + theirs for _, theirs in extension.pairs),
            ),
        )
        total = max(1, self._query_table.rows())
        return replace(
            result,
            columns=(*result.columns, *(lake.names[theirs] for _, theirs in extension.pairs)),
            matched=_count_distinct(cells, complete & (matched > 0)),
            query_size=_count_distinct(cells, complete),
            column_size=int(np.count_nonzero(theirs_of)),
            row_coverage=float(np.count_nonzero(matched) / total),
            fan_out=float(matched.sum() / total),
            found=found,
        )


def _best_first(candidate: JoinCandidate) -> Any:
    return candidate.order


def _same_names_first(candidate: JoinCandidate) -> tuple[bool, Any]:
    """The order in which candidates are extended, as only a few of a table are: those whose columns
    have the same names first."""
    same = _same_names(candidate.query_columns, candidate.lake_columns) == 1.0
    return not same, candidate.order


def _may_be_key_part(candidate: JoinCandidate) -> bool:
    """Whether a candidate is worth extending: it is believed, or its columns have the same name."""
    return candidate.believed or (
        candidate.kind == "equal" and candidate.signals.names >= CONTAINED
    )


def _column_pairs(candidate: JoinCandidate) -> frozenset[tuple[str, str]]:
    """The joined columns, in any order, with how they join."""
    kind = (candidate.kind, candidate.how)
    columns = zip_longest(candidate.query_columns, candidate.lake_columns, fillvalue="")
    return frozenset([kind, *columns])


def _find_sufficient(
    longer: JoinCandidate, base: JoinCandidate, candidates: Sequence[JoinCandidate]
) -> JoinCandidate | None:
    """The candidate on one further column that is a key without the base: a county's number does
    not need its name. The base agrees in its rows, and is evidence for it."""
    further = _name_pairs(longer) - _name_pairs(base)
    covered = longer.result.row_coverage or 0.0
    for other in candidates:
        if other.kind == "equal" and _name_pairs(other) == further and _is_once(other, covered):
            return other.with_rows(max(other.signals.rows, longer.signals.rows))
    return None


def _name_pairs(candidate: JoinCandidate) -> set[tuple[str, str]]:
    return set(zip(candidate.query_columns, candidate.lake_columns, strict=False))


def _is_once(candidate: JoinCandidate, covered: float) -> bool:
    """Whether nearly all of the covered rows have a match, and only one."""
    rows, matches = candidate.result.row_coverage or 0.0, candidate.result.fan_out or 0.0
    return rows >= _NEARLY_ALL * covered and matches <= _ONCE * rows


def _matched_rows(location: ResultLocation, positions: Array) -> MatchedRows:
    """The rows of both tables that hold some of the query's values."""
    ids = find_cell_ids(location, positions)
    cells = [location.query_table.cells(column) for column in location.query_columns]
    left, left_keys = find_rows([own for _, own in cells], ids)
    find, codes = location.segment.dictionary.find, location.segment.rows.codes
    right, right_keys = find_rows(
        [codes(column, location.entry.rows) for column in location.segment_columns],
        [find(tokens.take(own)) for (tokens, _), own in zip(cells, ids, strict=True)],
    )
    return MatchedRows(left, left_keys, right, right_keys)


def _query_columns(result: Result) -> tuple[int, ...]:
    assert result.found is not None, "a search result has a location"
    return result.found.query_columns


def _count_distinct(columns: Sequence[Array], rows: Array) -> int:
    """The number of distinct combinations in some rows."""
    codes = np.zeros(int(rows.sum()), np.int64)
    for column in columns:
        ranks = np.unique(column[rows], return_inverse=True)[1]
        codes = np.unique(codes * (1 + int(ranks.max(initial=0))) + ranks, return_inverse=True)[1]
    return int(codes.max(initial=-1)) + 1


def _glue_columns(learned: LearnedJoin, mine: Sequence[str], theirs: Sequence[str]) -> LearnedJoin:
    """The programs of a longer key, which write the further columns too."""
    assert learned.target is not None, "programs lead to a key"
    sources, targets = (mine, theirs) if learned.source_side == "left" else (theirs, mine)
    programs = tuple(
        replace(supported, program=glue([supported.program, *map(identity, sources)]))
        for supported in learned.programs
    )
    return replace(
        learned, programs=programs, target=glue([learned.target, *map(identity, targets)])
    )


def _with_result(
    candidate: JoinCandidate, longer: Result | RewrittenMatch, extension: KeyExtension
) -> JoinCandidate:
    """The candidate with the figures of the longer key, and its evidence."""
    signals = replace(
        candidate.signals,
        containment=longer.containment,
        rows=min(_MOST_EVIDENCE, max(candidate.signals.rows, extension.nats)),
        unique=measure_uniqueness(longer),
        reference=measure_reference(longer),
        same_names=_same_names(candidate.query_columns, longer.columns),
    )
    if extension.is_unique and signals.same_names == 1.0:
        signals = replace(signals, named_key=True, names=1.0, specificity=1.0)
    return replace(candidate, result=longer, signals=signals)


def _same_names(mine: Sequence[str], theirs: Sequence[str]) -> float:
    """The share of the columns that have the same name in both tables."""
    pairs = list(zip(mine, theirs, strict=False))
    return sum(own.casefold() == other.casefold() for own, other in pairs) / max(1, len(pairs))
