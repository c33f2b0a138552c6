"""Check the joins of a path: is a join believed, and which further columns does its key need?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lakejoin.paths.path_hops import Hop
from lakejoin.paths.path_tables import PathTables, SegmentRef, is_external
from lakejoin.ranking.column_candidates import ColumnCandidates
from lakejoin.ranking.extended_keys import KeyExtender
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.search.lake_background import get_lake_names
from lakejoin.search.searcher import Searcher

_COPY = "they are copies of each other"
_REPEATED = "its values repeat in both tables"

Ends = tuple[SegmentRef, SegmentRef]


@dataclass(eq=False)
class HopChecks:
    """Judges and extends joins; each pair of columns once."""

    searcher: Searcher
    tables: PathTables
    _reasons: dict[Ends, str] = field(default_factory=dict)
    _further: dict[Ends, tuple[Ends, ...]] = field(default_factory=dict)
    _candidates: dict[SegmentRef, ColumnCandidates] = field(default_factory=dict)
    _extenders: dict[SegmentRef, KeyExtender] = field(default_factory=dict)

    def reason_against(self, hop: Hop) -> str:
        """Why a join looks coincidental; empty if it is believed, as references are."""
        if hop.refers:
            return ""
        ends = (hop.column, hop.other) if hop.column < hop.other else (hop.other, hop.column)
        if ends not in self._reasons:
            self._reasons[ends] = self._against(self._from_query(hop))
        return self._reasons[ends]

    def extend(self, hop: Hop) -> Hop:
        """The join with the further columns that keep it from multiplying rows."""
        seen = self._from_query(hop)
        ends = seen.column, seen.other
        if ends not in self._further:
            self._further[ends] = self._find_further(seen)
        extended = replace(seen, further=self._further[ends])
        return extended if seen is hop else extended.reversed()

    def _from_query(self, hop: Hop) -> Hop:
        """The hop seen from the column that is searched with: one outside the lake, else the
        smaller one."""
        if is_external(hop.table) or is_external(hop.other_table):
            return hop if is_external(hop.table) else hop.reversed()
        return hop.reversed() if hop.size > hop.other_size else hop

    def _against(self, hop: Hop) -> str:
        quick = self._candidate(hop)
        if quick is None:
            return _COPY
        if hop.repeats and not self.extend(hop).further:
            return _REPEATED
        candidates = self._candidates[hop.column]
        # Rarity compares several results, and there is only one here.
        alone = replace(quick, signals=replace(quick.signals, rarity=0.0))
        candidate = candidates.against_chance(alone)
        if not candidate.believed:
            candidate = candidates.with_agreement(candidate)
        return candidate.join_score.accidental

    def _candidate(self, hop: Hop) -> JoinCandidate | None:
        """The join as a candidate of a search; None if the tables are copies of each other."""
        query_table = self.tables.table(hop.table)
        column = self.tables.column_index(hop.table, hop.column)
        results = self.searcher.results_for_columns(query_table, column, [hop.other])
        if not results:
            return None
        if hop.column not in self._candidates:
            names = get_lake_names(self.searcher.snapshot)
            self._candidates[hop.column] = ColumnCandidates(query_table, column, names)
        (candidate,) = self._candidates[hop.column].quick(results)
        return candidate

    def _find_further(self, hop: Hop) -> tuple[Ends, ...]:
        """The further columns that make the key of a join unique in one table."""
        candidate = self._candidate(hop)
        if candidate is None:
            return ()
        if hop.table not in self._extenders:
            self._extenders[hop.table] = KeyExtender(self.tables.table(hop.table))
        longer = self._extenders[hop.table].extend(candidate)
        if longer is None or longer.repeats:
            return ()
        location = longer.location
        mine = [self.tables.column_ref(hop.table, index) for index in location.query_columns[1:]]
        theirs = [(hop.other[0], column) for column in location.segment_columns[1:]]
        return tuple(zip(mine, theirs, strict=True))
