"""Find the chains of joins between two tables, and count the rows that survive each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.model import Array
from lakejoin.paths.path_hops import Hop, Hops
from lakejoin.paths.path_tables import SegmentRef, is_external
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakejoin.paths.path_tables import PathTables


Route = tuple[Hop, ...]

MOST_JOINS = 4
_FIRST = 400  # joins of the tables at both ends
_NEXT = 60  # joins of each table after them
_ROUTES = 400  # routes that are examined


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
    return sorted(routes, key=_order)[:_ROUTES]


def _longer_half(joins: int, longer: bool) -> int:
    return -(-joins // 2) if longer else joins // 2


def estimate_survival(route: Route) -> float:
    """Estimate the share of the first table's rows that survive."""
    return math.prod(hop.survives for hop in route)


def _order(route: Route) -> tuple[float, int, tuple[tuple[SegmentRef, SegmentRef], ...]]:
    return -estimate_survival(route), len(route), tuple((hop.column, hop.other) for hop in route)


def _halves(hops: Hops, begin: SegmentRef, joins: int) -> list[list[Route]]:
    """The routes that start at a table, by length."""
    routes: list[list[Route]] = [[()]]
    for length in range(joins):
        longer = sorted(_lengthen(hops, routes[length], begin, length), key=_order)
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


@dataclass(frozen=True, slots=True)
class Survivors:
    """Of the `total` rows of the first table, `rows` reach the last; the join has `joined` rows."""

    rows: int
    total: int
    joined: int

    @property
    def share(self) -> float:
        """The share of the first table's rows that survive."""
        return self.rows / max(1, self.total)


def count_survivors(tables: PathTables, route: Sequence[Hop]) -> Survivors:
    """Count the rows that survive a chain of joins."""
    leads_to = np.ones(tables.table(route[-1].other_table).rows())
    for hop in reversed(route):
        leads_to = _before(tables, hop, leads_to)
    return Survivors(int(np.count_nonzero(leads_to)), len(leads_to), round(float(leads_to.sum())))


def _before(tables: PathTables, hop: Hop, leads_to: Array) -> Array:
    """How many joined rows each row leads to, given the same for the rows of the next table."""
    left = tables.cells(hop.table, hop.column)
    right = tables.cells(hop.other_table, hop.other)
    codes = right.codes
    alive = (codes != NULL) & (leads_to > 0)
    values, positions = np.unique(codes[alive], return_inverse=True)
    sums = np.bincount(positions, leads_to[alive], len(values))
    if left.segment != right.segment:
        values = left.find(right.texts(values))
        known = np.flatnonzero(values != NOT_FOUND)
        order = known[np.argsort(values[known])]
        values, sums = values[order], sums[order]
    codes = left.codes
    if not len(values):
        return np.zeros(len(codes))
    at = np.minimum(np.searchsorted(values, codes), len(values) - 1)
    return np.where((values[at] == codes) & (codes != NULL), sums[at], 0.0)
