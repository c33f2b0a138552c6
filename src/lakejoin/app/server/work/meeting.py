"""How two columns meet that are known already, without a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.app.server.tables import OfLake, OpenTable

if TYPE_CHECKING:
    from lakejoin.search.mine import MyTable
    from lakejoin.search.result import Result
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.snapshot import Snapshot


def met(
    snapshot: Snapshot, mine: OpenTable, column: str, table: str, other_column: str
) -> Result | None:
    """How a column of mine meets one of a table of the lake, as a search would tell it; None if
    they share nothing, or the table is a copy of mine."""
    from lakejoin.lake.names import find_column
    from lakejoin.search.searcher import Searcher

    own = _own(snapshot, mine)
    number, entry = _placed(snapshot, table)
    names = [one.name for one in snapshot.segments[number].catalog.columns_of(entry)]
    theirs = entry.first + find_column(names, other_column, table)
    place = find_column(own.names, column, own.name)
    found = Searcher(snapshot).results_of(own, place, [(number, theirs)])
    return found[0] if found else None


def _own(snapshot: Snapshot, mine: OpenTable) -> MyTable:
    from lakejoin.search.known_table import KnownTable
    from lakejoin.search.meant import table_of

    if isinstance(mine, OfLake):
        return KnownTable(snapshot, *_placed(snapshot, mine.name))
    return table_of(mine.given(), snapshot)[0]


def _placed(snapshot: Snapshot, name: str) -> tuple[int, TableEntry]:
    """The number of the segment in which a table of the lake lies, and what it is there."""
    segment, entry = snapshot.table(name)
    return next(n for n, one in enumerate(snapshot.segments) if one is segment), entry
