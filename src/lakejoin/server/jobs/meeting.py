"""Compare two known columns, without a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.server.workspace import ServedLakeTable, ServedTable

if TYPE_CHECKING:
    from lakejoin.engines.mine import QueryTable
    from lakejoin.search.result import Result
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.snapshot import Snapshot


def match_columns(
    snapshot: Snapshot, mine: ServedTable, column: str, table: str, other_column: str
) -> Result | None:
    """Compare a column of the query table with one of a lake table, as a search would; None if they
    share nothing or the tables are copies."""
    from lakejoin.values.column_names import find_column
    from lakejoin.search.searcher import Searcher

    query_table = _query_table(snapshot, mine)
    segment_index, entry = _locate_table(snapshot, table)
    columns = snapshot.segments[segment_index].catalog.columns_of(entry)
    names = [column.name for column in columns]
    lake_column = entry.first + find_column(names, other_column, table)
    column_index = find_column(query_table.names, column, query_table.name)
    results = Searcher(snapshot).results_of(
        query_table, column_index, [(segment_index, lake_column)]
    )
    return results[0] if results else None


def _query_table(snapshot: Snapshot, mine: ServedTable) -> QueryTable:
    from lakejoin.search.table_lookup import IndexedTable
    from lakejoin.search.meant import resolve_table

    if isinstance(mine, ServedLakeTable):
        return IndexedTable(snapshot, *_locate_table(snapshot, mine.name))
    return resolve_table(mine.given(), snapshot)[0]


def _locate_table(snapshot: Snapshot, name: str) -> tuple[int, TableEntry]:
    """The index of the segment of a lake table, and its entry there."""
    segment, entry = snapshot.table(name)
    return next(i for i, other in enumerate(snapshot.segments) if other is segment), entry
