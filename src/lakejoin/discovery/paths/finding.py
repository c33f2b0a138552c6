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
from typing import TYPE_CHECKING

from lakejoin.discovery.paths.answer import Join, Path, Paths
from lakejoin.discovery.paths.believing import Beliefs
from lakejoin.discovery.paths.hops import Hop, SearchedHops, hops_of
from lakejoin.discovery.paths.routes import MOST_JOINS, Route, routes
from lakejoin.discovery.paths.surviving import Survivors, survivors
from lakejoin.discovery.paths.tables import Place, Tables, is_own
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.search.mine import MyTable
    from lakejoin.search.searcher import Searcher

DEFAULT_K = 5
COUNTED = 20  # paths of which rows are counted
_OF_TABLES = 3  # paths through the same tables


def check_joins(joins: int) -> None:
    """Refuses what is no number of joins."""
    if not 1 <= joins <= MOST_JOINS:
        raise InputError(f"a path has between 1 and {MOST_JOINS} joins, not {joins}")


def find_paths(
    searcher: Searcher,
    ends: tuple[MyTable, MyTable],
    joins: int = MOST_JOINS,
    k: int = DEFAULT_K,
    notes: tuple[str, ...] = (),
) -> Paths:
    """The `k` best paths of at most so many `joins` from one table to another; each is one of the
    lake, or a file or frame of the caller's."""
    begin = time.perf_counter()
    check_joins(joins)
    tables = Tables(searcher.snapshot, ends)
    first, last = tables.ends
    if first == last:
        raise InputError(f"{ends[0].name} is both ends: name two tables")
    hops = hops_of(searcher, tables)
    likely = routes(hops, first, last, joins)
    beliefs = Beliefs(searcher, tables)
    counted = [(route, survivors(tables, route)) for route in _believed(likely, beliefs)]
    counted = [one for one in counted if one[1].rows]
    counted.sort(key=_order)
    paths = tuple(_path(tables, rank, *one) for rank, one in enumerate(_apart(counted)[:k], 1))
    none = "" if paths else _nearest(tables, joins, likely, beliefs, hops.of(first))
    return Paths(
        ends[0].name,
        ends[1].name,
        paths,
        none,
        isinstance(hops, SearchedHops),
        time.perf_counter() - begin,
        tuple(dict.fromkeys([*notes, *ends[0].notes(), *ends[1].notes()])),
    )


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


def _path(tables: Tables, rank: int, route: Route, found: Survivors) -> Path:
    return Path(rank, tuple(_join(tables, hop) for hop in route), found, tables, route)


def _join(tables: Tables, hop: Hop) -> Join:
    mine, theirs = (
        tables.names(*one) for one in ((hop.table, hop.column), (hop.other_table, hop.other))
    )
    return Join(*mine, *theirs, hop.shared, hop.shared / max(1, hop.size))


def _nearest(
    tables: Tables, joins: int, likely: Sequence[Route], beliefs: Beliefs, first: Sequence[Hop]
) -> str:
    """What comes nearest, in a sentence."""
    begin, end = (tables.table(place).name for place in tables.ends)
    most = "1 join" if joins == 1 else f"at most {joins} joins"
    none = f"no path of {most} leads from {begin} to {end}"
    for route in likely:
        for hop in route:
            if why := beliefs.against(hop):
                join = _join(tables, hop)
                pair = f"{join.column} = {join.other_column}"
                told = f"{join.table} with {join.other_table} by {pair}"
                return f"{none}; the nearest would join {told}, but {why}"
    if all(map(is_own, tables.ends)):
        none += " through tables of the lake (lakejoin join joins two files with each other)"
    names = list(dict.fromkeys(tables.table(hop.other_table).name for hop in first))[:3]
    if names:
        among = "" if len(names) < 3 else "among others "
        return f"{none}; {begin} joins with {among}{', '.join(names)}"
    return f"{none}; no table joins with {begin}"
