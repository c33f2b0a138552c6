"""Is a join of a path more than an accident? As a fused search weighs it: values against chance,
rows that agree, and names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakejoin.discovery.fused.lake_names import lake_names
from lakejoin.discovery.fused.ways import ColumnWays
from lakejoin.discovery.paths.tables import is_own

if TYPE_CHECKING:
    from lakejoin.discovery.paths.hops import Hop
    from lakejoin.discovery.paths.tables import Place, Tables
    from lakejoin.search.searcher import Searcher

_COPY = "they are copies of each other"


@dataclass(eq=False)
class Beliefs:
    """Why joins are accidents, or nothing where they are none; what was found is kept."""

    searcher: Searcher
    tables: Tables
    _known: dict[tuple[Place, Place], str] = field(default_factory=dict)
    _ways: dict[Place, ColumnWays] = field(default_factory=dict)

    def against(self, hop: Hop) -> str:
        """Why a join is an accident; empty where it is believed, as references by name are."""
        if hop.refers:
            return ""
        one, other = sorted((hop.column, hop.other))
        if (one, other) not in self._known:
            self._known[one, other] = self._against(self._asked(hop))
        return self._known[one, other]

    def _asked(self, hop: Hop) -> Hop:
        """Seen from the side that asks the lake: the smaller column, or the one not in it."""
        if is_own(hop.table) or is_own(hop.other_table):
            return hop if is_own(hop.table) else hop.turned()
        return hop.turned() if hop.size > hop.other_size else hop

    def _against(self, hop: Hop) -> str:
        mine, place = self.tables.table(hop.table), self.tables.place(hop.table, hop.column)
        results = self.searcher.results_of(mine, place, [hop.other])
        if not results:
            return _COPY
        if hop.column not in self._ways:
            names = lake_names(self.searcher.snapshot)
            self._ways[hop.column] = ColumnWays(mine, place, names)
        ways = self._ways[hop.column]
        # How rare a partner is cannot be told of one alone.
        (way,) = ways.quick(results)
        way = ways.against_chance(replace(way, signals=replace(way.signals, rarity=0.0)))
        if not way.believed:
            way = ways.with_agreement(way)
        return way.weighed.accidental
