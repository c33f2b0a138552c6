"""Search for tables whose rows could be appended to the query table.

Tables that share values or column names with the query table are compared with it column by column;
the score is that of the best alignment. Tables with a good alignment that should not be appended
are then separated:

- the query table itself, another version of it, or a table without new rows;
- a table about the same things with other columns: rows match by the columns that both have, and
  each has columns that the other lacks. That is a join.

Several versions of one table are one result.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.search.lake_background import get_lake_names
from lakejoin.search.options import DEFAULT_K
from lakejoin.search.table_versions import TableVersions
from lakejoin.text_format import format_percent
from lakejoin.union.answer import AlignedColumn, NewRows, UnionAnswer, UnionResult
from lakejoin.union.union_alignment import ComparedTable, TableComparer
from lakejoin.union.union_candidates import find_candidates
from lakejoin.union.union_meanings import note_missing_encoder, open_meanings
from lakejoin.union.union_rows import RowComparison, compare_rows

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.result import ResultLocation
    from lakejoin.search.searcher import Searcher
    from lakejoin.union.column_likeness import Likeness

BELIEVED = 0.3  # lowest score of a result
_BY_MEANING = 25  # tables whose texts are compared by meaning
_LIKELY, _PAIRS = 0.3, 2  # likeness and number of pairs needed: one pair alone is a join at most
_SURE = 0.5  # likeness from which a pair of columns is certain
_SAME_ROWS = 0.5  # share of common rows from which tables are versions, or about the same things
_WHOLE = 0.8  # share of aligned columns from which a table may be a version
_TRIED = 6  # columns tried as a key
_IDENTIFY = 0.95  # distinct combinations per row from which columns are a key


@dataclass(eq=False)
class _Run:
    """One search."""

    searcher: Searcher
    query_table: QueryTable
    k: int
    results: list[UnionResult] = field(default_factory=list)
    misses: list[UnionResult] = field(default_factory=list)
    locations: list[ResultLocation] = field(default_factory=list)

    def take(self, table: ComparedTable, is_version: bool) -> None:
        """Add a table to the results or to the misses."""
        columns = [(query, table.columns[lake].column_id) for query, lake in table.pairs]
        rows = compare_rows(self.query_table, table.segment, table.entry, columns)
        reason = self._reason_against(table, rows, is_version)
        result = self._result(table, rows, reason)
        if reason:
            self.misses.append(result)
        else:
            self.results.append(result)
            self.locations.append(_locate(self.searcher, self.query_table, table))

    def _reason_against(self, table: ComparedTable, rows: RowComparison, is_version: bool) -> str:
        """Why a table should not be appended; empty if it can be."""
        query_width, lake_width = len(self.query_table.column_names), len(table.columns)
        whole = len(table.pairs) >= _WHOLE * max(query_width, lake_width)
        sure = all(like.score >= _SURE for like in table.likenesses)
        # The same columns about the same things are a later state; other columns are joined.
        joins = "" if whole and sure else self._joins(table)
        if joins or len(rows.new):
            is_version = is_version or (whole and rows.known_share >= _SAME_ROWS)
            new = f"{len(rows.new):,} of its {rows.total:,} rows are not in yours"
            return f"a version of your table: {new}" if is_version else joins
        return "your table already has all its rows"

    def _joins(self, table: ComparedTable) -> str:
        """Why tables should rather be joined: aligned columns identify the same things in both, and
        each table has other columns as well. Empty if they do not."""
        sure = sorted(
            (-_of_values(like) * table.columns[pair[1]].profile.uniqueness, pair)
            for pair, like in zip(table.pairs, table.likenesses, strict=True)
            if like.score >= _SURE
        )
        key: list[tuple[int, int]] = []
        for _, (query_column, lake_column) in sure[:_TRIED]:
            longer = [*key, (query_column, table.columns[lake_column].column_id)]
            common = compare_rows(self.query_table, table.segment, table.entry, longer)
            share = max(common.known_share, common.matched_share)
            if share < _SAME_ROWS:
                continue  # other columns, or other things
            if common.uniqueness >= _IDENTIFY:
                whose = "its" if common.known_share >= common.matched_share else "your"
                about = f"{format_percent(share)} of {whose} rows are about things in both tables"
                return f"better joined: {about}, with other columns"
            key = longer
        return ""

    def _result(self, table: ComparedTable, rows: RowComparison, reason: str) -> UnionResult:
        alignment = list(map(AlignedColumn, self.query_table.column_names))
        for (query_column, lake_column), like in zip(table.pairs, table.likenesses, strict=True):
            mine, column = alignment[query_column].mine, table.columns[lake_column]
            alignment[query_column] = AlignedColumn(mine, column.name, column.column_id, like)
        used = {lake_column for _, lake_column in table.pairs}
        extra = tuple(c.name for i, c in enumerate(table.columns) if i not in used)
        return UnionResult(
            0,
            table.entry.name,
            table.score,
            tuple(alignment),
            extra,
            len(rows.new),
            table.entry.rows,
            reason,
            (),
            NewRows(table.segment, rows.new),
        )

    def group_versions(self) -> list[UnionResult]:
        """The results, with versions of one table merged."""
        groups = TableVersions().group(self.locations)
        return [
            replace(
                self.results[group[0]],
                rank=rank,
                versions=tuple(self.results[index].table for index in group[1:]),
            )
            for rank, group in enumerate(groups[: self.k], 1)
        ]


def search_unions(
    searcher: Searcher,
    query_table: QueryTable,
    k: int | None = None,
    notes: tuple[str, ...] = (),
    since: float | None = None,
) -> UnionAnswer:
    """Find the tables whose rows could be appended to a table, the best first."""
    begin = time.perf_counter() if since is None else since
    if not query_table.rows():
        raise InputError(f"{query_table.name} has no rows, so there is nothing to compare")
    names = get_lake_names(searcher.snapshot)
    likely = find_candidates(searcher, query_table, names)
    comparison = TableComparer(searcher, query_table, names, likely.weights)
    compared = [comparison.compare(*table) for table in likely.tables]
    compared.sort(key=_order)
    meanings = open_meanings(searcher)
    if meanings is not None:
        compared[:_BY_MEANING] = [
            comparison.compare(table.segment_index, table.entry.table_id, meanings)
            for table in compared[:_BY_MEANING]
        ]
        compared.sort(key=_order)
    run = _Run(searcher, query_table, k or DEFAULT_K)
    versions = _find_query_versions(searcher, query_table, compared)
    for table in compared:
        if table.score < BELIEVED or len(run.results) >= 2 * run.k:
            break
        if sum(like.score >= _LIKELY for like in table.likenesses) < min(
            _PAIRS, len(query_table.column_names)
        ):
            continue
        run.take(table, (table.segment_index, table.entry.table_id) in versions)
    return UnionAnswer(
        query_table.name,
        tuple(query_table.column_names),
        tuple(run.group_versions()),
        tuple(replace(miss, rank=rank) for rank, miss in enumerate(run.misses[: run.k], 1)),
        run.k,
        time.perf_counter() - begin,
        tuple(
            dict.fromkeys(
                [*notes, *query_table.notes(), *likely.notes, *note_missing_encoder(searcher)]
            )
        ),
        query_table,
    )


def _locate(searcher: Searcher, query_table: QueryTable, table: ComparedTable) -> ResultLocation:
    return searcher.locate_result(query_table, (0,), table.segment_index, (table.entry.first,))


def _of_values(like: Likeness) -> float:
    return next((sign.says for sign in like.signs if sign.what == "values"), 0.0)


def _order(table: ComparedTable) -> tuple[float, str]:
    return -table.score, table.entry.name


def _find_query_versions(
    searcher: Searcher, query_table: QueryTable, compared: list[ComparedTable]
) -> set[tuple[int, int]]:
    """The tables that are versions of the query table, if that is in the lake."""
    if query_table.home is None or not compared:
        return set()
    segment_index, table = query_table.home
    first = searcher.snapshot.segments[segment_index].catalog.table(table).first
    tables = [searcher.locate_result(query_table, (0,), segment_index, (first,))]
    tables += [_locate(searcher, query_table, table) for table in compared]
    group = TableVersions().group(tables)[0]
    return {(tables[index].segment_index, tables[index].table_index) for index in group[1:]}
