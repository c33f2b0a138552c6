"""Find the chains of joins between two tables, searching from both ends until they meet.

A chain of up to four joins consists of two halves of up to two. The halves that most rows survive
are kept for both ends and joined where they reach the same table. No table is visited twice, and
none is left by the column through which it was entered, which would only be a detour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from lakejoin.paths.path_hops import Hop, Hops
from lakejoin.paths.path_tables import SegmentRef, is_external

Route = tuple[Hop, ...]

MOST_JOINS = 4
_FIRST = 400  # joins of the tables at both ends
_NEXT = 60  # joins of each table after them
_ROUTES = 400  # routes that are examined


def find_routes(hops: Hops, begin: SegmentRef, end: SegmentRef, joins: int = MOST_JOINS) -> list[Route]:
    """Chains of at most `joins` joins, those that most rows survive by estimate first."""
    # An end outside the lake is only found by its own searches: the longer half starts there.
    from_end = is_external(end)
    there = _halves(hops, begin, _longer_half(joins, not from_end))
    back = _halves(hops, end, _longer_half(joins, from_end))
    found: set[Route] = set()
    for length in range(1, joins + 1):
        ahead, behind = _longer_half(length, not from_end), _longer_half(length, from_end)
        met: dict[SegmentRef, list[Route]] = {}
        for route in back[behind]:
            met.setdefault(route[-1].other_table if route else end, []).append(route)
        for route in there[ahead]:
            for other in met.get(route[-1].other_table if route else begin, []):
                whole = (*route, *(hop.turned() for hop in reversed(other)))
                if _is_plain(whole, begin):
                    found.add(whole)
    return sorted(found, key=_order)[:_ROUTES]


def _longer_half(joins: int, longer: bool) -> int:
    return -(-joins // 2) if longer else joins // 2


def estimate_survival(route: Route) -> float:
    """Estimate the share of the first table's rows that survive."""
    return math.prod(hop.survives for hop in route)


def _order(route: Route) -> tuple[float, int, tuple[tuple[SegmentRef, SegmentRef], ...]]:
    return -estimate_survival(route), len(route), tuple((hop.column, hop.other) for hop in route)


def _halves(hops: Hops, begin: SegmentRef, joins: int) -> list[list[Route]]:
    """The routes that start at a table, by length."""
    found: list[list[Route]] = [[()]]
    for length in range(joins):
        longer = sorted(_longer(hops, found[length], begin, length), key=_order)
        found.append(longer if length else longer[:_FIRST])
    return found


def _longer(hops: Hops, known: list[Route], begin: SegmentRef, length: int) -> Iterator[Route]:
    expanded: set[SegmentRef] = set()
    for route in known:
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
