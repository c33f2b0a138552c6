"""Find the paths of joins from one table to another that most rows survive."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.paths.answer import Path, PathJoin, Paths
from lakejoin.paths.path_hops import Hop, SearchedHops, open_hops
from lakejoin.paths.path_routes import MOST_JOINS, Route, Survivors, count_survivors, find_routes
from lakejoin.paths.path_sql import write_path_sql
from lakejoin.paths.path_tables import PathTables, SegmentRef, is_external
from lakejoin.ranking.column_candidates import ColumnCandidates
from lakejoin.search.lake_background import get_lake_names

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.searcher import Searcher


DEFAULT_K = 5
COUNTED = 20  # paths whose rows are counted
_OF_TABLES = 3  # paths through the same tables


def check_joins(joins: int) -> None:
    """Raise unless a path may have this many joins."""
    if not 1 <= joins <= MOST_JOINS:
        raise InputError(f"a path has between 1 and {MOST_JOINS} joins, not {joins}")


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
    check_joins(joins)
    tables = PathTables(searcher.snapshot, ends)
    first, last = tables.ends
    if first == last:
        raise InputError(f"{ends[0].name} is both the start and the end: name two different tables")
    hops = open_hops(searcher, tables)
    likely = find_routes(hops, first, last, joins)
    beliefs = JoinBeliefs(searcher, tables)
    counted = [
        (route, count_survivors(tables, route)) for route in _choose_believed(likely, beliefs)
    ]
    counted = [(route, count) for route, count in counted if count.rows]
    counted.sort(key=_order)
    best = _best_of_tables(counted)[:k]
    paths = tuple(_path(tables, rank, *chosen) for rank, chosen in enumerate(best, 1))
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


def _choose_believed(likely: Sequence[Route], beliefs: JoinBeliefs) -> Iterator[Route]:
    """The first routes whose joins are all believed, few through the same tables."""
    through: dict[tuple[SegmentRef, ...], int] = {}
    count = 0
    for route in likely:
        tables = tuple(hop.other_table for hop in route)
        if through.get(tables, 0) == _OF_TABLES or any(map(beliefs.reason_against, route)):
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
        -round(100 * survive.share),
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
    return Path(rank, joins, survive, lambda: write_path_sql(tables, route))


def _join(tables: PathTables, hop: Hop) -> PathJoin:
    left = tables.names(hop.table, hop.column)
    right = tables.names(hop.other_table, hop.other)
    return PathJoin(*left, *right, hop.shared, hop.shared / max(1, hop.size))


def _nearest(
    tables: PathTables,
    joins: int,
    likely: Sequence[Route],
    beliefs: JoinBeliefs,
    first: Sequence[Hop],
) -> str:
    """A sentence on what comes closest to a path."""
    begin, end = (tables.table(end).name for end in tables.ends)
    most = "1 join" if joins == 1 else f"at most {joins} joins"
    none = f"no path of {most} leads from {begin} to {end}"
    for route in likely:
        for hop in route:
            if why := beliefs.reason_against(hop):
                join = _join(tables, hop)
                pair = f"{join.column} = {join.other_column}"
                nearest = f"{join.table} with {join.other_table} by {pair}"
                return f"{none}; the closest would join {nearest}, but {why}"
    if all(map(is_external, tables.ends)):
        none += " through tables of the lake (to join two files directly, use lakejoin join)"
    names = list(dict.fromkeys(tables.table(hop.other_table).name for hop in first))[:3]
    if names:
        others = "" if len(names) < 3 else " and others"
        return f"{none}; {begin} joins with {', '.join(names)}{others}"
    return f"{none}; no table joins with {begin}"


_COPY = "they are copies of each other"


@dataclass(eq=False)
class JoinBeliefs:
    """Reasons why joins look coincidental; each pair of columns is judged once."""

    searcher: Searcher
    tables: PathTables
    _reasons: dict[tuple[SegmentRef, SegmentRef], str] = field(default_factory=dict)
    _candidates: dict[SegmentRef, ColumnCandidates] = field(default_factory=dict)

    def reason_against(self, hop: Hop) -> str:
        """Why a join looks coincidental; empty if it is believed, as references are."""
        if hop.refers:
            return ""
        left, right = sorted((hop.column, hop.other))
        if (left, right) not in self._reasons:
            self._reasons[left, right] = self._against(self._from_query(hop))
        return self._reasons[left, right]

    def _from_query(self, hop: Hop) -> Hop:
        """The hop seen from the column that is searched with: one outside the lake, else the
        smaller one."""
        if is_external(hop.table) or is_external(hop.other_table):
            return hop if is_external(hop.table) else hop.reversed()
        return hop.reversed() if hop.size > hop.other_size else hop

    def _against(self, hop: Hop) -> str:
        query_table = self.tables.table(hop.table)
        column = self.tables.column_index(hop.table, hop.column)
        results = self.searcher.results_for_columns(query_table, column, [hop.other])
        if not results:
            return _COPY
        if hop.column not in self._candidates:
            names = get_lake_names(self.searcher.snapshot)
            self._candidates[hop.column] = ColumnCandidates(query_table, column, names)
        candidates = self._candidates[hop.column]
        # Rarity compares several results, and there is only one here.
        (quick,) = candidates.quick(results)
        alone = replace(quick, signals=replace(quick.signals, rarity=0.0))
        candidate = candidates.against_chance(alone)
        if not candidate.believed:
            candidate = candidates.with_agreement(candidate)
        return candidate.join_score.accidental
