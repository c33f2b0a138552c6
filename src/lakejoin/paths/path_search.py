"""Find the paths of joins from one table to another that most rows survive."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lakejoin.codegen.file_join import ColumnPair, EqualColumns, FileTable, write_equality_joins
from lakejoin.engines.query import QueryTable
from lakejoin.errors import InputError
from lakejoin.joins.row_keys import NO_KEY, Keys, combine_keys
from lakejoin.model import Array
from lakejoin.paths.answer import Path, PathJoin, Paths
from lakejoin.paths.path_hops import Hop, HopChecks, Hops, SearchedHops, open_hops
from lakejoin.paths.path_tables import PathTables, SegmentRef, is_external
from lakejoin.quoting import lakejoin_command
from lakejoin.search.searcher import Searcher
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL

Route = tuple[Hop, ...]

DEFAULT_K = 5
COUNTED = 20  # paths whose rows are counted
_OF_TABLES = 3  # paths through the same tables
MOST_JOINS = 4
_FIRST = 400  # joins of the tables at both ends
_NEXT = 60  # joins of each table after them
_ROUTES = 400  # routes that are examined


class Survivors(NamedTuple):
    """Of the `total` rows of the first table, `rows` reach the last; the join has `joined` rows."""

    rows: int
    total: int
    joined: int


def find_paths(
    searcher: Searcher,
    ends: tuple[QueryTable, QueryTable],
    joins: int = MOST_JOINS,
    k: int = DEFAULT_K,
    notes: tuple[str, ...] = (),
) -> Paths:
    """The `k` best paths of at most `joins` joins between two tables; either may be a table of the
    lake, or a file or frame of the caller."""
    begin = time.perf_counter()
    if not 1 <= joins <= MOST_JOINS:
        raise InputError(f"a path has between 1 and {MOST_JOINS} joins, not {joins}")
    tables = PathTables(searcher.snapshot, ends)
    first, last = tables.ends
    if first == last:
        raise InputError(f"{ends[0].name} is both the start and the end: name two different tables")
    hops = open_hops(searcher, tables)
    likely = find_routes(hops, first, last, joins)
    checks = HopChecks(searcher, tables)
    believed = (tuple(map(checks.extend, route)) for route in _choose_believed(likely, checks))
    counted = [(route, count_survivors(tables, route)) for route in believed]
    counted = [(route, count) for route, count in counted if count.rows]
    counted.sort(key=_order)
    best = _best_of_tables(counted)[:k]
    paths = tuple(_path(tables, rank, *chosen) for rank, chosen in enumerate(best, 1))
    none = "" if paths else _nearest(tables, joins, likely, checks, hops.of(first))
    searched = isinstance(hops, SearchedHops)
    update = lakejoin_command("graph", searcher.snapshot.location.uri)
    return Paths(
        ends[0].name,
        ends[1].name,
        paths,
        none,
        searched,
        time.perf_counter() - begin,
        tuple(dict.fromkeys([*notes, *ends[0].notes(), *ends[1].notes()])),
        update if searched else "",
    )


def _choose_believed(likely: Sequence[Route], checks: HopChecks) -> Iterator[Route]:
    """The first routes whose joins are all believed, few through the same tables."""
    through: dict[tuple[SegmentRef, ...], int] = {}
    count = 0
    for route in likely:
        tables = tuple(hop.other_table for hop in route)
        if through.get(tables, 0) == _OF_TABLES or any(map(checks.reason_against, route)):
            continue
        through[tables] = through.get(tables, 0) + 1
        count += 1
        yield route
        if count == COUNTED:
            return


def _order(counted: tuple[Route, Survivors]) -> tuple[int, int, int, int, tuple[SegmentRef, ...]]:
    """By whole percents that survive, so that a smaller gain never adds a table to the path."""
    route, survive = counted
    return (
        -round(100 * survive.rows / max(1, survive.total)),
        len(route),
        -survive.rows,
        survive.joined,
        tuple(hop.column for hop in route),
    )


def _best_of_tables(counted: Sequence[tuple[Route, Survivors]]) -> list[tuple[Route, Survivors]]:
    """The best path of each sequence of tables."""
    best: dict[tuple[SegmentRef, ...], tuple[Route, Survivors]] = {}
    for route, survive in counted:
        best.setdefault(tuple(hop.other_table for hop in route), (route, survive))
    return list(best.values())


def _path(tables: PathTables, rank: int, route: Route, survive: Survivors) -> Path:
    joins = tuple(_join(tables, hop) for hop in route)
    return Path(rank, joins, *survive, lambda: _write_sql(tables, route))


def _join(tables: PathTables, hop: Hop) -> PathJoin:
    left = tables.names(hop.table, hop.column)
    right = tables.names(hop.other_table, hop.other)
    further = tuple(
        (tables.names(hop.table, column)[1], tables.names(hop.other_table, other)[1])
        for column, other in hop.further
    )
    return PathJoin(*left, *right, hop.shared, hop.shared / max(1, hop.size), further)


def _nearest(
    tables: PathTables,
    joins: int,
    likely: Sequence[Route],
    checks: HopChecks,
    first: Sequence[Hop],
) -> str:
    """A sentence on what comes closest to a path."""
    begin, end = (tables.table(end).name for end in tables.ends)
    most = "1 join" if joins == 1 else f"at most {joins} joins"
    none = f"no path of {most} leads from {begin} to {end}"
    for route in likely:
        for hop in route:
            if why := checks.reason_against(hop):
                join = _join(tables, hop)
                nearest = f"{join.table} with {join.other_table} on {join.pairs}"
                return f"{none}; the closest would join {nearest}, but {why}"
    if all(map(is_external, tables.ends)):
        none += " through tables in the lake (to join two files directly, use lakejoin join)"
    names = list(dict.fromkeys(tables.table(hop.other_table).name for hop in first))[:3]
    if names:
        others = "" if len(names) < 3 else " and others"
        return f"{none}; {begin} joins with {', '.join(names)}{others}"
    return f"{none}; no table joins with {begin}"


# -- the chains of joins between two tables -------------------------------------------------------


def find_routes(
    hops: Hops, begin: SegmentRef, end: SegmentRef, joins: int = MOST_JOINS
) -> list[Route]:
    """Chains of at most `joins` joins, those that most rows survive by estimate first."""
    # An end outside the lake is only found by its own searches: the longer half starts there.
    from_end = is_external(end)
    there = _halves(hops, begin, _longer_half(joins, not from_end))
    back = _halves(hops, end, _longer_half(joins, from_end))
    routes: set[Route] = set()
    for length in range(1, joins + 1):
        ahead, behind = _longer_half(length, not from_end), _longer_half(length, from_end)
        met: dict[SegmentRef, list[Route]] = {}
        for route in back[behind]:
            met.setdefault(route[-1].other_table if route else end, []).append(route)
        for route in there[ahead]:
            for other in met.get(route[-1].other_table if route else begin, []):
                whole = (*route, *(hop.reversed() for hop in reversed(other)))
                if _is_plain(whole, begin):
                    routes.add(whole)
    return sorted(routes, key=_estimated_order)[:_ROUTES]


def _longer_half(joins: int, longer: bool) -> int:
    return -(-joins // 2) if longer else joins // 2


def _estimated_order(
    route: Route,
) -> tuple[int, float, int, tuple[tuple[SegmentRef, SegmentRef], ...]]:
    """Keys before columns that repeat, unless these join both ends directly."""
    surviving = math.prod(hop.survives for hop in route)
    repeated = len(route) > 1 and sum(hop.repeats for hop in route)
    return repeated, -surviving, len(route), tuple((hop.column, hop.other) for hop in route)


def _halves(hops: Hops, begin: SegmentRef, joins: int) -> list[list[Route]]:
    """The routes that start at a table, by length."""
    routes: list[list[Route]] = [[()]]
    for length in range(joins):
        longer = sorted(_lengthen(hops, routes[length], begin, length), key=_estimated_order)
        routes.append(longer if length else longer[:_FIRST])
    return routes


def _lengthen(hops: Hops, routes: list[Route], begin: SegmentRef, length: int) -> Iterator[Route]:
    expanded: set[SegmentRef] = set()
    for route in routes:
        last = route[-1].other_table if route else begin
        if last not in expanded:
            if len(expanded) == hops.widest:
                return
            expanded.add(last)
        for hop in hops.of(last)[: _NEXT if length else _FIRST]:
            longer = (*route, hop)
            if _is_plain(longer, begin):
                yield longer


def _is_plain(route: Route, begin: SegmentRef) -> bool:
    """Whether no table is visited twice or left by the column it was entered by."""
    tables = [begin, *(hop.other_table for hop in route)]
    return len({*tables}) == len(tables) and all(
        entered.other != left.column for entered, left in pairwise(route)
    )


def count_survivors(tables: PathTables, route: Sequence[Hop]) -> Survivors:
    leads_to = np.ones(tables.table(route[-1].other_table).rows())
    for hop in reversed(route):
        leads_to = _before(tables, hop, leads_to)
    return Survivors(int(np.count_nonzero(leads_to)), len(leads_to), round(float(leads_to.sum())))


def _before(tables: PathTables, hop: Hop, leads_to: Array) -> Array:
    """How many joined rows each row leads to, given the same for the rows of the next table."""
    keys = reduce(combine_keys, (_keys(tables, hop, pair) for pair in hop.pairs))
    alive = keys.right >= 0
    sums = np.bincount(keys.right[alive], leads_to[alive], keys.count)
    return np.asarray(np.append(sums, 0.0)[keys.left])  # the last one is for rows without a key


def _keys(tables: PathTables, hop: Hop, pair: tuple[SegmentRef, SegmentRef]) -> Keys:
    """The values of two columns as keys of their rows."""
    left = tables.cells(hop.table, pair[0])
    right = tables.cells(hop.other_table, pair[1])
    values, codes = np.unique(left.codes, return_inverse=True)
    codes = np.where(left.codes == NULL, NO_KEY, codes)
    theirs, positions = np.unique(right.codes, return_inverse=True)
    found = theirs
    if left.segment != right.segment:
        found = np.full(len(theirs), NOT_FOUND)
        known = theirs != NULL
        found[known] = left.find(right.texts(theirs[known]))
    at = np.minimum(np.searchsorted(values, found), max(0, len(values) - 1))
    shared = (values[at] == found) & (theirs != NULL) if len(values) else np.zeros(len(found), bool)
    return Keys(codes, np.where(shared, at, NO_KEY)[positions], len(values))


def _write_sql(tables: PathTables, route: Sequence[Hop]) -> str:
    """DuckDB SQL for a chain of joins, with all columns of all tables."""
    refs = [route[0].table, *(hop.other_table for hop in route)]
    sources = [
        FileTable.of(f"t{number}", f"table_{number}", tables.table(ref))
        for number, ref in enumerate(refs, 1)
    ]
    comments = [
        f"{source.alias} is {source.name}"
        + (f"; first: {source.register}" if source.register else "")
        for source in sources
    ]
    rules = tables.snapshot.manifest.options.rules
    return write_equality_joins(sources, _joins(tables, route), rules, comments)


def _joins(tables: PathTables, route: Sequence[Hop]) -> Iterator[list[EqualColumns]]:
    for hop in route:
        mine, theirs = tables.table(hop.table), tables.table(hop.other_table)
        indexes = [
            (
                tables.column_index(hop.table, column),
                tables.column_index(hop.other_table, other),
            )
            for column, other in hop.pairs
        ]
        yield [
            EqualColumns(left, right, ColumnPair(mine.spellings(left), theirs.spellings(right)))
            for left, right in indexes
        ]
