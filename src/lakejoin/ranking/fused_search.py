"""Fused search: search for every plausible key of the query table and rank the tables that join.

For each column that may be a key, sketches give a first answer at once; then the exact engine finds
the lake columns that share the most values. The best are compared with chance, and the best of
these row by row (`join_score` weighs it all). Composite keys follow, then rewritten values, near
coordinates, and texts with the same meaning. Several candidates of one table are one result.

Time grows with the number of query columns and of results compared in detail; with the size of the
lake only as the engines do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from lakejoin.engines.rewritten.engine import find_rewritable_columns, missing_rare_tokens_note
from lakejoin.errors import MissingDependency
from lakejoin.model import ColumnType
from lakejoin.ranking.added_columns import (
    AddedColumn,
    list_added_columns,
    measure_added_columns,
)
from lakejoin.ranking.answer import FusedAnswer, FusedResult
from lakejoin.ranking.column_candidates import (
    ColumnCandidates,
    find_almost_equal,
    keep_beyond_equal,
)
from lakejoin.ranking.composite_candidates import (
    filter_composites,
    find_composite_candidates,
    make_key,
)
from lakejoin.ranking.composite_keys import find_composite_keys
from lakejoin.ranking.coordinate_candidates import find_coordinate_candidates
from lakejoin.ranking.extended_keys import KeyExtender
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.ranking.meaning_candidates import (
    find_meaning_candidates,
    find_unmatched_positions,
    is_meaningful,
)
from lakejoin.ranking.plausible_keys import find_plausible_keys
from lakejoin.ranking.rewritten_candidates import MAX_REWRITTEN_TABLES, find_rewritten_candidates
from lakejoin.ranking.table_results import (
    FileSeries,
    TableCandidates,
    choose_possible,
    find_appended,
    rank_tables,
)
from lakejoin.search.lake_background import get_lake_names
from lakejoin.search.options import DEFAULT_K, SearchOptions
from lakejoin.search.table_versions import TableVersions
from lakejoin.signals.name_similarity import CONTAINED

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.query_columns import ColumnChoice
    from lakejoin.search.result import Result
    from lakejoin.search.searcher import Searcher

_FETCHED = 150  # lake columns for each query column
_AT_ONCE = 50  # the same for the first answer, from sketches
# How many of these are compared with chance, and row by row; fewer if many columns are searched.
_AGAINST_CHANCE, _OF_EACH = 40, 28
_BY_ROWS, _ROWS_OF_EACH = 10, 6
_COMPOSITES = 2
_MORE_TABLES = 5  # beyond those shown whose keys are extended: a longer key may rank higher
_MAX_PAIRS = 400  # pairs of columns that share tokens; only the best are examined
_NAMED = 50  # lake columns with the name of a query column
_MIN_MATCHES = 2  # values that must match
_NEARLY_ALL = 0.95  # share of the values that counts as all of them
_STAGES = {
    "composite": "composite keys",
    "rewritten": "joins on rewritten values",
    "places": "nearby coordinates",
    "meaning": "joins by meaning",
}
_EXACT = SearchOptions("overlap", k=_FETCHED, others=True)
_SKETCHED = SearchOptions("containment", k=_AT_ONCE, min=0.3, others=True, verified=False)


@dataclass(frozen=True, slots=True)
class FusedOptions:
    """Options of a fused search: the columns (None: every one that may be a key) and the number of
    tables. `since` is when the caller began to wait, by `time.perf_counter`."""

    choice: ColumnChoice | None
    k: int | None = None
    notes: tuple[str, ...] = ()
    since: float = 0.0


def search_fused(searcher: Searcher, query_table: QueryTable, options: FusedOptions) -> FusedAnswer:
    """Find the tables that join with the query table."""
    run = _Run(searcher, query_table, options)
    for _ in run.exact():
        pass
    return run.answer(final=True)


def stream_fused_answers(
    searcher: Searcher, query_table: QueryTable, options: FusedOptions
) -> Iterator[FusedAnswer]:
    """Yield ever better answers, the first at once from sketches."""
    run = _Run(searcher, query_table, options)
    if run.sketched():
        yield run.answer()
    for _ in run.exact():
        yield run.answer()
    yield run.answer(final=True)


class _Run:
    """One fused search: the candidates found so far, the time of each stage, and notes."""

    def __init__(self, searcher: Searcher, query_table: QueryTable, options: FusedOptions) -> None:
        self._searcher = searcher
        self._query_table = query_table
        self._options = options
        self._begin = options.since or time.perf_counter()
        self._names = get_lake_names(searcher.snapshot)
        self._key = options.choice if options.choice and options.choice.is_key else None
        self._column_indexes = _column_indexes(searcher, query_table, options.choice)
        self._candidates: list[JoinCandidate] = []
        self._versions = TableVersions()
        self._extender = KeyExtender(query_table)
        self._series = FileSeries()
        self._shown: list[FusedResult] = []  # of the final answer, as far as asked for
        self._seconds: dict[str, float] = {}
        self._notes: list[str] = [*options.notes]

    # -- stages --------------------------------------------------------------------------------

    def sketched(self) -> bool:
        """Run the sketches, skipping integer columns if there are others, as integers match
        anything."""
        begin = time.perf_counter()
        telling = [
            i
            for i in self._column_indexes
            if self._query_table.profile(i).type is not ColumnType.INTEGER
        ]
        for column_index in () if self._key else telling or self._column_indexes:
            results, _ = self._searcher.results(self._query_table, column_index, _SKETCHED)
            candidates = ColumnCandidates(self._query_table, column_index, self._names).quick(
                results
            )
            self._candidates += map(self._with_row_uniqueness, candidates)
        self._add_time("sketches", begin)
        return bool(self._candidates)

    def exact(self) -> Iterator[None]:
        """Run one stage after the other; there is a better answer after each."""
        self._candidates = []
        if self._key is not None:
            self._timed("composite", self._by_key(self._key))
            yield
            self._timed("places", self._by_place(self._column_indexes))
            return
        for column_index in self._column_indexes:
            self._candidates += map(self._with_row_uniqueness, self._by_column(column_index))
        yield
        if self._options.choice is None:
            self._timed("composite", self._by_composites())
            yield
        self._timed("rewritten", self._by_rewriting())
        yield
        if self._options.choice is None:
            self._timed("places", self._by_place(None))
        self._timed("meaning", self._by_meaning())

    def _timed(self, stage: str, candidates: Iterable[JoinCandidate]) -> None:
        """Compute the candidates of a stage and add its time; without a package that it needs, the
        other stages still answer."""
        begin = time.perf_counter()
        try:
            self._candidates += [self._with_row_uniqueness(candidate) for candidate in candidates]
        except MissingDependency as missing:
            self._notes.append(f"{_STAGES[stage]} were not searched: {missing}")
        self._add_time(stage, begin)

    def _with_row_uniqueness(self, candidate: JoinCandidate) -> JoinCandidate:
        """Add how unique the query columns are, if none were named."""
        return candidate if self._options.choice is not None else candidate.with_row_uniqueness()

    def _by_column(self, column_index: int) -> list[JoinCandidate]:
        """The candidates on one query column."""
        begin = time.perf_counter()
        results, notes = self._searcher.results(self._query_table, column_index, _EXACT)
        self._notes += notes
        if len(results) == _FETCHED:
            results += self._of_the_same_name(column_index, results)
        self._series.add(self._query_table.column_names[column_index], results)
        begin = self._add_time("overlap", begin)
        column = ColumnCandidates(self._query_table, column_index, self._names)
        candidates = column.quick([result for result in results if result.matched >= _MIN_MATCHES])
        few = self._options.choice is not None and not self._options.choice.is_every_column
        closely, by_rows = (_AGAINST_CHANCE, _BY_ROWS) if few else (_OF_EACH, _ROWS_OF_EACH)
        candidates = [
            column.against_chance(candidate)
            for candidate in _choose_to_compare(candidates, closely)
        ]
        begin = self._add_time("chance", begin)
        # Also the best before chance: if all codes are in use, only the rows can tell.
        examined = {*_best(candidates)[:by_rows], *candidates[:by_rows]}
        candidates = [
            column.with_agreement(candidate) if candidate in examined else candidate
            for candidate in candidates
        ]
        self._add_time("rows", begin)
        return candidates

    def _of_the_same_name(self, column_index: int, known: Sequence[Result]) -> tuple[Result, ...]:
        """Results of columns with the same name, if too many columns share values."""
        found = {
            (result.found.segment_index, result.found.segment_columns[0])
            for result in known
            if result.found
        }
        named = self._names.find_columns(self._query_table.column_names[column_index], _NAMED)
        others = [result for result in named if result not in found]
        return self._searcher.results_for_columns(self._query_table, column_index, others)

    def _by_key(self, key: ColumnChoice) -> Iterator[JoinCandidate]:
        """The candidates on the composite key that the caller named."""
        candidates, notes = find_composite_candidates(
            self._searcher, self._query_table, key, _FETCHED
        )
        self._notes += notes
        yield from candidates

    def _by_composites(self) -> Iterator[JoinCandidate]:
        """The candidates on composite keys that add something to single columns."""
        alone = list(self._candidates)
        every = self._searcher.snapshot.manifest.options.all_columns
        for column_indexes in find_composite_keys(self._query_table, every, _COMPOSITES):
            candidates, _ = find_composite_candidates(
                self._searcher, self._query_table, make_key(column_indexes)
            )
            yield from filter_composites(candidates, alone)

    def _by_rewriting(self) -> Iterator[JoinCandidate]:
        """The candidates on rewritten values that match more than equal values do."""
        segments = self._searcher.snapshot.segments
        self._notes += [note for note in [missing_rare_tokens_note(segments)] if note]
        excluded = self._searcher.excluded(self._query_table, self._column_indexes[0])
        known = _nearly_equal_columns(self._candidates)
        likely = find_rewritable_columns(
            self._query_table, self._column_indexes, segments, excluded, _MAX_PAIRS, known
        )
        almost = find_almost_equal(self._candidates)
        tables = MAX_REWRITTEN_TABLES * (3 if self._options.choice else 1) + len(almost)
        candidates = list(
            find_rewritten_candidates(self._searcher, self._query_table, [*almost, *likely], tables)
        )
        yield from keep_beyond_equal(candidates, self._candidates)

    def _by_place(self, named: Sequence[int] | None) -> Iterator[JoinCandidate]:
        yield from find_coordinate_candidates(self._searcher, self._query_table, named)

    def _by_meaning(self) -> Iterator[JoinCandidate]:
        """The candidates by meaning, on the most key-like column of words."""
        for column_index in self._column_indexes:
            if is_meaningful(self._query_table, column_index):
                problem = self._searcher.meanings.explain_missing_encoder()
                if problem is not None:
                    self._notes.append(f"{_STAGES['meaning']} were not searched: {problem}")
                    return
                name = self._query_table.column_names[column_index]
                known = [
                    candidate
                    for candidate in self._candidates
                    if candidate.query_columns == (name,)
                ]
                unmet = find_unmatched_positions(
                    self._query_table.query(column_index),
                    [candidate for candidate in known if candidate.believed],
                )
                yield from find_meaning_candidates(
                    self._searcher, self._query_table, column_index, unmet
                )
                return

    def _add_time(self, stage: str, begin: float) -> float:
        now = time.perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - begin
        return now

    # -- the answer ----------------------------------------------------------------------------

    def answer(self, final: bool = False, start: int = 0, k: int | None = None) -> FusedAnswer:
        """The answer so far: the `k` tables after the first `start`."""
        k = k or self._options.k or DEFAULT_K
        limit = start + k
        tables = self._with_longer_keys(rank_tables(self._candidates), limit)
        joined = self._series.fold([table for table in tables if table.first.believed])
        joined += choose_possible(tables) if final else []
        members = {name for table in joined for name in (table.table, *table.members)}
        missed = [table for table in tables if table.table not in members]
        begin = time.perf_counter()
        # An accidental match may be a version of a table that joins.
        ordered = joined + missed[:limit]
        groups = self._versions.group([table.first.location for table in ordered])
        begin = self._add_time("versions", begin)
        believed = [group for group in groups if group[0] < len(joined)]
        shown = self._results([[ordered[at] for at in group] for group in believed], limit, final)
        misses = [ordered[group[0]] for group in groups if group[0] >= len(joined)]
        if final:
            self._add_time("adds", begin)
        return FusedAnswer(
            table=self._query_table.name,
            columns=self._columns,
            results=tuple(shown[start:]),
            misses=tuple(_result(rank, [table]) for rank, table in enumerate(misses, 1)),
            k=k,
            total=len(believed),
            seconds=time.perf_counter() - self._begin,
            seconds_by=dict(self._seconds),
            notes=tuple(dict.fromkeys(self._notes)),
            final=final,
            rest=partial(self.answer, True) if final else None,
        )

    def _results(
        self, groups: Sequence[Sequence[TableCandidates]], limit: int, final: bool
    ) -> list[FusedResult]:
        """The first results. What was shown keeps its rank, even if longer keys change the order;
        of the others, tables that were joined before come last."""
        if not final:
            return [_result(rank, group) for rank, group in enumerate(groups[:limit], 1)]
        shown = self._shown
        ranked = {result.table for result in shown}
        rest = [group for group in groups if group[0].table not in ranked]
        page = [
            _result(0, group, measure_added_columns(group[0].first))
            for group in rest[: max(0, limit - len(shown))]
        ]
        appended = find_appended(page, self._query_table.column_names)
        page.sort(key=lambda result: result.table in appended)
        shown += [replace(result, rank=rank) for rank, result in enumerate(page, len(shown) + 1)]
        return shown[:limit]

    def _with_longer_keys(self, tables: list[TableCandidates], limit: int) -> list[TableCandidates]:
        """Extend the keys that multiply rows, of the tables that may be shown."""
        begin = time.perf_counter()
        shown = tables[: limit + _MORE_TABLES]
        longer = [
            candidate
            for table in shown
            for candidate in self._extender.extend_table(table.candidates)
        ]
        rest = [candidate for table in tables[len(shown) :] for candidate in table.candidates]
        self._add_time("keys", begin)
        return rank_tables([*longer, *rest])

    @property
    def _columns(self) -> tuple[tuple[str, ...], ...]:
        names = tuple(
            self._query_table.column_names[column_index] for column_index in self._column_indexes
        )
        return (names,) if self._key else tuple((name,) for name in names)


def _column_indexes(
    searcher: Searcher, query_table: QueryTable, choice: ColumnChoice | None
) -> tuple[int, ...]:
    return choice.column_indexes if choice else find_plausible_keys(query_table, searcher)


def _nearly_equal_columns(candidates: Sequence[JoinCandidate]) -> set[tuple[int, int, int]]:
    """Pairs of query and lake columns with nearly all values equal."""
    nearly_equal = [candidate for candidate in candidates if candidate.signals.share >= _NEARLY_ALL]
    return {
        (column_index, location.segment_index, column)
        for location in (candidate.location for candidate in nearly_equal)
        for column_index, column in zip(
            location.query_columns, location.segment_columns, strict=False
        )
    }


def _choose_to_compare(candidates: Sequence[JoinCandidate], most: int) -> list[JoinCandidate]:
    """The best candidates, and those with the best names, as hundreds of numbers look good."""
    named = [candidate for candidate in candidates if candidate.signals.names >= CONTAINED]
    named.sort(key=lambda candidate: -candidate.signals.names * candidate.signals.specificity)
    return list(dict.fromkeys([*named[: most // 4], *_best(candidates)]))[:most]


def _best(candidates: Sequence[JoinCandidate]) -> list[JoinCandidate]:
    return sorted(
        candidates, key=lambda candidate: (-candidate.join_score.score, candidate.result.rank)
    )


def _result(
    rank: int,
    tables: Sequence[TableCandidates],
    adds: tuple[AddedColumn, ...] | None = None,
) -> FusedResult:
    """Make the result of a table and its versions; added columns are not measured if not given."""
    table, *versions = tables
    return FusedResult(
        rank,
        table.table,
        table.score,
        table.candidates,
        list_added_columns(table.first) if adds is None else adds,
        tuple(version.table for version in versions),
        table.members,
        table.together,
    )
