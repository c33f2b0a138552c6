"""The joins that start at a table: from the lake's join graph, or searched for on the spot.

A join must be believed, and its key may need further columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from lakejoin.errors import InputError
from lakejoin.graph.join_graph import JoinGraph
from lakejoin.joins.join_inputs import table_subject
from lakejoin.model import ColumnType
from lakejoin.paths.path_tables import PathTables, SegmentRef, is_external
from lakejoin.ranking.column_candidates import ColumnCandidates
from lakejoin.ranking.extended_keys import KeyExtender
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.ranking.plausible_keys import find_plausible_keys
from lakejoin.search.lake_background import get_lake_names
from lakejoin.search.options import SearchOptions
from lakejoin.search.searcher import Searcher
from lakejoin.store.graph_files import ColumnPairs
from lakejoin.store.segment_tables import SegmentTables

_HALF = 0.5  # share of the smaller column's values that must be in the other
_ALL, _KEY = 0.95, 0.99  # share of values in the other column; distinct values per row of a key
_UNIQUE = 0.5  # distinct values per row, in one of the two
_TEXTS, _OF_NUMBERS = 400, 400  # pairs of a table that are considered
_NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
# Columns fetched per key. Of those with the same numbers, few have a matching name.
_BY_TEXTS = SearchOptions("overlap", k=60, others=True)
_BY_NUMBERS = SearchOptions("overlap", k=1_000, others=True)


@dataclass(frozen=True, slots=True)
class Hop:
    """A join of a table with another: `column` holds `shared` of the values of `other`.

    `refers` is true for a reference by name: all values of one column are in the other, which is a
    key, and both names refer to the same entity. A key that `repeats` in both tables only counts if
    `further` pairs of columns make it unique in one of them.
    """

    table: SegmentRef
    column: SegmentRef
    other_table: SegmentRef
    other: SegmentRef
    shared: int
    size: int
    other_size: int
    filled: float  # share of the first table's rows that have a value
    other_filled: float
    refers: bool = False
    repeats: bool = False
    further: tuple[tuple[SegmentRef, SegmentRef], ...] = ()

    @property
    def pairs(self) -> tuple[tuple[SegmentRef, SegmentRef], ...]:
        """All pairs of columns that must be equal."""
        return ((self.column, self.other), *self.further)

    @property
    def survives(self) -> float:
        """Estimate the share of the first table's rows that find a match."""
        return self.filled * self.shared / max(1, self.size)

    def reversed(self) -> Hop:
        """The same join, seen from the other table."""
        return Hop(
            self.other_table,
            self.other,
            self.table,
            self.column,
            self.shared,
            self.other_size,
            self.size,
            self.other_filled,
            self.filled,
            self.refers,
            self.repeats,
            tuple((other, column) for column, other in self.further),
        )


class _TableFacts:
    """Facts about tables and columns; for tables in the lake, from the catalog."""

    def __init__(self, tables: PathTables) -> None:
        self.tables = tables
        self._segments = tables.snapshot.segments
        self._segment_tables = [SegmentTables(segment) for segment in self._segments]
        self._texts: dict[tuple[str, int], list[str]] = {}  # names and types, by segment
        self._entities: dict[SegmentRef, list[str]] = {}

    def hop(self, column: SegmentRef, other: SegmentRef, shared: int) -> Hop | None:
        """The join of two columns, or None if it does not count."""
        ends = (column, other)
        sizes = [self._figure("distinct", end) for end in ends]
        if column == other or shared < _HALF * min(sizes):
            return None
        tables = [self.table_of(end) for end in ends]
        if tables[0] == tables[1]:
            return None
        named = self.name_same_entity(column, other)
        repeats = max(self._figure("uniqueness", end) for end in ends) < _UNIQUE
        if repeats and not named:
            return None
        numbers = any(self._text("type", end) in _NUMBERS for end in ends)
        if numbers and not named:  # texts need no matching name
            return None
        full, other_full = (
            1 - self._figure("nulls", end) / max(1, self._rows(end)) for end in ends
        )
        size, other_size = map(int, sizes)
        refers = named and self._refers(ends, sizes, shared)
        figures = (shared, size, other_size, full, other_full, refers, repeats)
        return Hop(tables[0], column, tables[1], other, *figures)

    def name_same_entity(self, column: SegmentRef, other: SegmentRef) -> bool:
        return same_entity(self._entity(column), self._entity(other))

    def table_of(self, column: SegmentRef) -> SegmentRef:
        if is_external(column):
            return column[0], 0
        return column[0], self._segment_tables[column[0]].table_of(column[1])

    def _refers(self, columns: Sequence[SegmentRef], sizes: Sequence[float], shared: int) -> bool:
        """Whether nearly all values of one column are in the other, which is a key."""
        return any(
            shared >= _ALL * size and self._figure("uniqueness", key) >= _KEY
            for size, key in zip(sizes, reversed(columns), strict=True)
        )

    def _entity(self, column: SegmentRef) -> list[str]:
        if column not in self._entities:
            table = self.table_of(column)
            name = (
                self.tables.table(table).name
                if is_external(column)
                else self._segment_tables[column[0]].table_name(table[1])
            )
            self._entities[column] = entity_of(self._text("name", column), table_subject(name))
        return self._entities[column]

    def _figure(self, name: str, column: SegmentRef) -> float:
        if is_external(column):
            return float(getattr(self.tables.table((column[0], 0)).profile(column[1]), name))
        return float(self._segment_tables[column[0]].profile(name)[column[1]])

    def _rows(self, column: SegmentRef) -> float:
        if is_external(column):
            return float(self.tables.table((column[0], 0)).rows())
        return float(self._segments[column[0]].column_rows[column[1]])

    def _text(self, name: str, column: SegmentRef) -> str:
        if is_external(column):
            table = self.tables.table((column[0], 0))
            is_name = name == "name"
            return table.column_names[column[1]] if is_name else str(table.profile(column[1]).type)
        if (name, column[0]) not in self._texts:
            columns = self._segments[column[0]].catalog.columns
            self._texts[name, column[0]] = columns[name].cast("string").to_pylist()
        return self._texts[name, column[0]][column[1]]


def _best(hops: Iterable[Hop | None]) -> list[Hop]:
    joins = [hop for hop in hops if hop is not None]
    return sorted(
        joins, key=lambda hop: (hop.repeats, -hop.survives, -hop.shared, hop.other, hop.column)
    )


class Hops:
    """What tables join with; every table is looked up once."""

    widest: int  # tables that are followed up, for each further join

    def __init__(self, searcher: Searcher, tables: PathTables) -> None:
        self._searcher = searcher
        self._facts = _TableFacts(tables)
        self._hops: dict[SegmentRef, list[Hop]] = {}

    def of(self, table: SegmentRef) -> list[Hop]:
        """The joins of a table, those that most rows survive first."""
        if table not in self._hops:
            self._hops[table] = _best(self._find(table))
        return self._hops[table]

    def _find(self, table: SegmentRef) -> Iterable[Hop | None]:
        """Search with the columns of a table that may be keys."""
        tables = self._facts.tables
        query_table = tables.table(table)
        try:
            keys = find_plausible_keys(query_table, self._searcher)
        except InputError:
            return
        for key in keys:
            if not len(query_table.query(key)):
                continue
            is_number = query_table.profile(key).type in _NUMBERS
            options = _BY_NUMBERS if is_number else _BY_TEXTS
            for result in self._searcher.results(query_table, key, options)[0]:
                assert result.found is not None, "a result of a search has a location"
                other = result.found.segment_index, result.found.segment_columns[0]
                yield self._facts.hop(tables.column_ref(table, key), other, result.matched)


class SearchedHops(Hops):
    """Joins that are searched for on demand."""

    widest = 6


class GraphHops(Hops):
    """Joins from the graph that `lakejoin graph` built; outside the lake, searched for."""

    widest = 40

    def __init__(self, searcher: Searcher, tables: PathTables, graph: JoinGraph) -> None:
        super().__init__(searcher, tables)
        self._graph = graph

    def _find(self, table: SegmentRef) -> Iterable[Hop | None]:
        if is_external(table):
            yield from super()._find(table)
            return
        nodes = self._graph.nodes
        entry = nodes.snapshot.segments[table[0]].catalog.table(table[1])
        columns = np.arange(entry.first, entry.first + entry.width)
        pairs = self._graph.pairs_of(table[0], columns)
        column = nodes.columns(pairs.segment, pairs.column)
        other = nodes.columns(pairs.other_segment, pairs.other_column)
        unique = np.maximum(nodes.profile("uniqueness", column), nodes.profile("uniqueness", other))
        # Keys before columns that repeat, then those that most rows survive, then the tightest: of
        # two columns that hold all values, the smaller is more likely the one referred to.
        numbers = nodes.is_number(column)
        order = np.lexsort((pairs.other_size, -pairs.shared / pairs.size, unique < _UNIQUE))
        texts = _ends(pairs.take(order[~numbers[order]][:_TEXTS]))
        # Very many columns hold the same numbers: most are skipped because of their names.
        named = (
            pair
            for pair in _ends(pairs.take(order[numbers[order]]))
            if self._facts.name_same_entity(pair[0], pair[1])
        )
        for pair in chain(texts, islice(named, _OF_NUMBERS)):
            yield self._facts.hop(*pair)


def _ends(pairs: ColumnPairs) -> Iterable[tuple[SegmentRef, SegmentRef, int]]:
    """The columns of each pair, and how many values both hold."""
    return zip(
        zip(pairs.segment.tolist(), pairs.column.tolist(), strict=True),
        zip(pairs.other_segment.tolist(), pairs.other_column.tolist(), strict=True),
        pairs.shared.tolist(),
        strict=True,
    )


def open_hops(searcher: Searcher, tables: PathTables) -> GraphHops | SearchedHops:
    """Joins from the graph if it covers all tables of the index, else by searching."""
    snapshot = searcher.snapshot
    if snapshot.manifest.graph is not None:
        graph = JoinGraph(snapshot)
        if graph.knows_all:
            return GraphHops(searcher, tables, graph)
    return SearchedHops(searcher, tables)


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_IDENTIFIERS = frozenset(("id", "key", "no", "nr", "number", "num", "code", "ref", "pk", "fk"))
# A column with such a name numbers the rows of its own table.
_ROWS = frozenset(("row", "rowname", "rownum", "rowid", "rowno", "index", "idx", "unnamed"))
_IN_ES = ("ches", "shes", "sses", "xes", "zes")


def same_entity(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two entities have the same name, one of them perhaps with more words.

    >>> same_entity(entity_of("type_id", "cars"), entity_of("id", "types"))
    True
    >>> same_entity(entity_of("home_team_id", ""), entity_of("team", ""))
    True
    >>> same_entity(entity_of("type_id", "cars"), entity_of("car_id", "owners"))
    False
    """
    if not left or not right or left[-1] != right[-1]:
        return False
    return {*left} <= {*right} or {*right} <= {*left}


def entity_of(column: str, table: str) -> list[str]:
    """The entity that a column identifies: the words of its name; of its table's name if its own
    says only that it is an identifier, or that it numbers rows.

    >>> entity_of("city_id", "shops"), entity_of("id", "cities"), entity_of("id", "boxes")
    (['city'], ['city'], ['box'])
    >>> entity_of("row names", "cars"), entity_of("", "dog")
    (['car'], ['dog'])
    """
    words = [word for word in _words(column) if word not in _IDENTIFIERS]
    of_rows = _ROWS.issuperset(words) or "".join(words) in _ROWS
    return _words(table) if of_rows else words


def _words(name: str) -> list[str]:
    return [_singular(word.lower()) for word in _WORDS.findall(name)]


def _singular(word: str) -> str:
    """A rough singular; singular and plural only have to become the same word."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_IN_ES):
        return word[:-2]
    return word if word.endswith("ss") else word.removesuffix("s")


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
