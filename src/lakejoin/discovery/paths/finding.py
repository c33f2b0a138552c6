"""How do I get from one table to another by joins? The paths that most rows survive.

Chains of joins are listed by estimate (`routes.py`). In that order each is looked at: a chain with
a join that is an accident is passed over (`believing.py`), and of the others the rows that survive
are counted exactly (`surviving.py`), for the first `COUNTED`. These are ranked by the rows of the
first table that survive, in whole percents, then by fewer joins. Of several chains through
the same tables, the best is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.discovery.paths.answer import Join, Path, Paths
from lakejoin.discovery.paths.believing import Beliefs
from lakejoin.discovery.paths.hops import Hop, Place, SearchedHops, hops_of
from lakejoin.discovery.paths.routes import MOST_JOINS, Route, routes
from lakejoin.discovery.paths.surviving import Survivors, survivors
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.snapshot import Snapshot

DEFAULT_K = 5
COUNTED = 20  # paths of which rows are counted
_OF_TABLES = 3  # paths through the same tables


@dataclass(frozen=True, slots=True)
class Wanted:
    """From which table to which, by at most how many joins, and how many paths."""

    table: str
    other_table: str
    joins: int = MOST_JOINS
    k: int = DEFAULT_K

    def __post_init__(self) -> None:
        if self.table == self.other_table:
            raise InputError(f"{self.table} is both ends: name two tables")
        if not 1 <= self.joins <= MOST_JOINS:
            raise InputError(f"a path has between 1 and {MOST_JOINS} joins, not {self.joins}")


def find_paths(searcher: Searcher, wanted: Wanted) -> Paths:
    """The paths from one table of the lake to another."""
    begin = time.perf_counter()
    snapshot = searcher.snapshot
    first, last = (_place(snapshot, name) for name in (wanted.table, wanted.other_table))
    hops = hops_of(searcher)
    likely = routes(hops, first, last, wanted.joins)
    beliefs = Beliefs(searcher)
    counted = [(route, survivors(snapshot.segments, route)) for route in _believed(likely, beliefs)]
    counted = [one for one in counted if one[1].rows]
    counted.sort(key=_order)
    paths = tuple(
        _path(snapshot, rank, *one) for rank, one in enumerate(_apart(counted)[: wanted.k], 1)
    )
    none = "" if paths else _nearest(snapshot, wanted, likely, beliefs, hops.of(first))
    searched = isinstance(hops, SearchedHops)
    seconds = time.perf_counter() - begin
    return Paths(wanted.table, wanted.other_table, paths, none, searched, seconds)


def _believed(likely: Sequence[Route], beliefs: Beliefs) -> Iterator[Route]:
    """The first routes of which every join is believed, few through the same tables."""
    through: dict[tuple[Place, ...], int] = {}
    count = 0
    for route in likely:
        tables = tuple(hop.other_table for hop in route)
        if through.get(tables, 0) == _OF_TABLES or any(map(beliefs.against, route)):
            continue
        through[tables] = through.get(tables, 0) + 1
        count += 1
        yield route
        if count == COUNTED:
            return


def _order(one: tuple[Route, Survivors]) -> tuple[int, int, int, int, tuple[Place, ...]]:
    """By whole percents that survive: for less than that, no table is put in between."""
    route, found = one
    return (
        -round(100 * found.share),
        len(route),
        -found.rows,
        found.joined,
        tuple(hop.column for hop in route),
    )


def _apart(counted: Sequence[tuple[Route, Survivors]]) -> list[tuple[Route, Survivors]]:
    """The best path of each row of tables."""
    best: dict[tuple[Place, ...], tuple[Route, Survivors]] = {}
    for one in counted:
        best.setdefault(tuple(hop.other_table for hop in one[0]), one)
    return list(best.values())


def _path(snapshot: Snapshot, rank: int, route: Route, found: Survivors) -> Path:
    return Path(rank, tuple(_join(snapshot, hop) for hop in route), found, snapshot, route)


def _join(snapshot: Snapshot, hop: Hop) -> Join:
    named = [
        _names(snapshot, *one) for one in ((hop.table, hop.column), (hop.other_table, hop.other))
    ]
    return Join(*named[0], *named[1], hop.shared, hop.shared / max(1, hop.size))


def _names(snapshot: Snapshot, table: Place, column: Place) -> tuple[str, str]:
    catalog = snapshot.segments[table[0]].catalog
    return (
        str(catalog.tables["name"][table[1]].as_py()),
        str(catalog.columns["name"][column[1]].as_py()),
    )


def _place(snapshot: Snapshot, name: str) -> Place:
    segment, entry = snapshot.table(name)
    number = next(n for n, one in enumerate(snapshot.segments) if one is segment)
    return number, entry.number


def _nearest(
    snapshot: Snapshot,
    wanted: Wanted,
    likely: Sequence[Route],
    beliefs: Beliefs,
    first: Sequence[Hop],
) -> str:
    """What comes nearest, in a sentence."""
    most = "1 join" if wanted.joins == 1 else f"at most {wanted.joins} joins"
    none = f"no path of {most} leads from {wanted.table} to {wanted.other_table}"
    for route in likely:
        for hop in route:
            if why := beliefs.against(hop):
                join = _join(snapshot, hop)
                pair = f"{join.column} = {join.other_column}"
                told = f"{join.table} with {join.other_table} by {pair}"
                return f"{none}; the nearest would join {told}, but {why}"
    tables = list(dict.fromkeys(_join(snapshot, hop).other_table for hop in first))[:3]
    if tables:
        among = "" if len(tables) < 3 else "among others "
        return f"{none}; {wanted.table} joins with {among}{', '.join(tables)}"
    return f"{none}; no table joins with {wanted.table}"
