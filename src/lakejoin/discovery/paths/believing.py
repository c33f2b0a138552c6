"""Decide whether a join of a path is more than a coincidence, as a fused search does: by shared
values against chance, by rows that agree, and by names."""

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
    """Reasons why joins look coincidental; each pair of columns is judged once."""

    searcher: Searcher
    tables: Tables
    _known: dict[tuple[Place, Place], str] = field(default_factory=dict)
    _ways: dict[Place, ColumnWays] = field(default_factory=dict)

    def against(self, hop: Hop) -> str:
        """Why a join looks coincidental; empty if it is believed, as references are."""
        if hop.refers:
            return ""
        one, other = sorted((hop.column, hop.other))
        if (one, other) not in self._known:
            self._known[one, other] = self._against(self._from_query(hop))
        return self._known[one, other]

    def _from_query(self, hop: Hop) -> Hop:
        """The hop seen from the column that is searched with: one outside the lake, else the
        smaller one."""
        if is_own(hop.table) or is_own(hop.other_table):
            return hop if is_own(hop.table) else hop.turned()
        return hop.turned() if hop.size > hop.other_size else hop

    def _against(self, hop: Hop) -> str:
        query_table = self.tables.table(hop.table)
        column = self.tables.place(hop.table, hop.column)
        results = self.searcher.results_of(query_table, column, [hop.other])
        if not results:
            return _COPY
        if hop.column not in self._ways:
            names = lake_names(self.searcher.snapshot)
            self._ways[hop.column] = ColumnWays(query_table, column, names)
        ways = self._ways[hop.column]
        # Rarity compares several results, and there is only one here.
        (way,) = ways.quick(results)
        way = ways.against_chance(replace(way, signals=replace(way.signals, rarity=0.0)))
        if not way.believed:
            way = ways.with_agreement(way)
        return way.weighed.accidental
