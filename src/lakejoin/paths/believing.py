"""Decide whether a join of a path is more than a coincidence, as a fused search does: by shared
values against chance, by rows that agree, and by names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakejoin.search.lake_names import get_lake_names
from lakejoin.ranking.join_candidates import ColumnCandidates
from lakejoin.paths.path_tables import is_external

if TYPE_CHECKING:
    from lakejoin.paths.path_hops import Hop
    from lakejoin.paths.path_tables import SegmentRef, PathTables
    from lakejoin.search.searcher import Searcher

_COPY = "they are copies of each other"


@dataclass(eq=False)
class JoinBeliefs:
    """Reasons why joins look coincidental; each pair of columns is judged once."""

    searcher: Searcher
    tables: PathTables
    _known: dict[tuple[SegmentRef, SegmentRef], str] = field(default_factory=dict)
    _ways: dict[SegmentRef, ColumnCandidates] = field(default_factory=dict)

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
        if is_external(hop.table) or is_external(hop.other_table):
            return hop if is_external(hop.table) else hop.turned()
        return hop.turned() if hop.size > hop.other_size else hop

    def _against(self, hop: Hop) -> str:
        query_table = self.tables.table(hop.table)
        column = self.tables.place(hop.table, hop.column)
        results = self.searcher.results_of(query_table, column, [hop.other])
        if not results:
            return _COPY
        if hop.column not in self._ways:
            names = get_lake_names(self.searcher.snapshot)
            self._ways[hop.column] = ColumnCandidates(query_table, column, names)
        ways = self._ways[hop.column]
        # Rarity compares several results, and there is only one here.
        (way,) = ways.quick(results)
        way = ways.against_chance(replace(way, signals=replace(way.signals, rarity=0.0)))
        if not way.believed:
            way = ways.with_agreement(way)
        return way.weighed.accidental
