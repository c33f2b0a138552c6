"""The joins that lead away from a table: from the graph of the lake, or searched for at once.

A join is taken where one column holds at least half of the other's values, one of the two nearly
tells rows apart (else every row would meet many), and, of numbers, the names are those of the same
things: numbers from 1 on are in very many columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lakejoin.discovery.fused.searching import plausible_keys
from lakejoin.discovery.graph.joingraph import JoinGraph
from lakejoin.discovery.paths.naming import same_thing, thing_of
from lakejoin.discovery.paths.tables import Place, Tables, is_own
from lakejoin.errors import InputError
from lakejoin.joins.given import subject
from lakejoin.model import ColumnType
from lakejoin.search.options import SearchOptions
from lakejoin.search.places import Places

if TYPE_CHECKING:
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.pairs import Pairs

_HALF = 0.5  # of the values of one column must be in the other
_ALL, _KEY = 0.95, 0.99  # of the values are in the other; distinct values for each row of a key
_UNIQUE = 0.5  # distinct values for each row, of one of the two
_TEXTS, _OF_NUMBERS = 400, 400  # pairs of a table that are looked at
_NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
# Columns for each key, where they are searched for. Of those with the same numbers, few are called
# after the same things.
_BY_TEXTS = SearchOptions("overlap", k=60, others=True)
_BY_NUMBERS = SearchOptions("overlap", k=1_000, others=True)


@dataclass(frozen=True, slots=True)
class Hop:
    """A join of a table with another: `column` of mine holds `shared` of the values of `other`.

    `refers` says that it is a reference by its names: all values of one are in the other, which is
    a key, and both are called after the same things.
    """

    table: Place
    column: Place
    other_table: Place
    other: Place
    shared: int
    size: int
    other_size: int
    filled: float  # the share of rows that have a value, in mine
    other_filled: float
    refers: bool = False

    @property
    def survives(self) -> float:
        """About which share of my rows find a partner."""
        return self.filled * self.shared / max(1, self.size)

    def turned(self) -> Hop:
        """The same, seen from the other table."""
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
        )


class Hops(Protocol):
    """Tells what a table joins with."""

    widest: int  # tables whose joins are looked at, for each further join

    def of(self, table: Place) -> list[Hop]:
        """The joins of a table, those that most rows survive first."""


class _Known:
    """What is known of tables and columns: of those of the lake, by the catalog."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._segments = tables.snapshot.segments
        self._places = [Places(segment) for segment in self._segments]
        self._texts: dict[tuple[str, int], list[str]] = {}  # names and types, by segment
        self._things: dict[Place, list[str]] = {}

    def hop(self, column: Place, other: Place, shared: int) -> Hop | None:
        """The join of two columns, if it is one to be taken."""
        sizes = [self._figure("distinct", one) for one in (column, other)]
        if column == other or shared < _HALF * min(sizes):
            return None
        if max(self._figure("uniqueness", one) for one in (column, other)) < _UNIQUE:
            return None
        tables = [self.table_of(one) for one in (column, other)]
        if tables[0] == tables[1]:
            return None
        named = self.of_one_thing(column, other)
        numbers = any(self._text("type", one) in _NUMBERS for one in (column, other))
        if numbers and not named:  # texts need not be called the same
            return None
        full, other_full = (
            1 - self._figure("nulls", one) / max(1, self._rows(one)) for one in (column, other)
        )
        size, other_size = map(int, sizes)
        refers = named and self._refers((column, other), sizes, shared)
        figures = (shared, size, other_size, full, other_full, refers)
        return Hop(tables[0], column, tables[1], other, *figures)

    def of_one_thing(self, column: Place, other: Place) -> bool:
        """Whether the names of two columns say that they hold the same things."""
        return same_thing(self._thing(column), self._thing(other))

    def table_of(self, column: Place) -> Place:
        """The table of a column."""
        if is_own(column):
            return column[0], 0
        return column[0], self._places[column[0]].table_of(column[1])

    def _refers(self, columns: Sequence[Place], sizes: Sequence[float], shared: int) -> bool:
        """Whether nearly all values of one column are in the other, and that is a key."""
        return any(
            shared >= _ALL * size and self._figure("uniqueness", key) >= _KEY
            for size, key in zip(sizes, reversed(columns), strict=True)
        )

    def _thing(self, column: Place) -> list[str]:
        if column not in self._things:
            table = self.table_of(column)
            name = (
                self.tables.table(table).name
                if is_own(column)
                else self._places[column[0]].table_name(table[1])
            )
            self._things[column] = thing_of(self._text("name", column), subject(name))
        return self._things[column]

    def _figure(self, name: str, column: Place) -> float:
        if is_own(column):
            return float(getattr(self.tables.table((column[0], 0)).profile(column[1]), name))
        return float(self._places[column[0]].profile(name)[column[1]])

    def _rows(self, column: Place) -> float:
        if is_own(column):
            return float(self.tables.rows((column[0], 0)))
        return float(self._segments[column[0]].column_rows[column[1]])

    def _text(self, name: str, column: Place) -> str:
        if is_own(column):
            table = self.tables.table((column[0], 0))
            is_name = name == "name"
            return table.names[column[1]] if is_name else str(table.profile(column[1]).type)
        if (name, column[0]) not in self._texts:
            columns = self._segments[column[0]].catalog.columns
            self._texts[name, column[0]] = columns[name].cast("string").to_pylist()
        return self._texts[name, column[0]][column[1]]


def _best(hops: Iterable[Hop | None]) -> list[Hop]:
    found = [one for one in hops if one is not None]
    return sorted(found, key=lambda one: (-one.survives, -one.shared, one.other, one.column))


class GraphHops:
    """Joins by the graph that `lakejoin graph` has made."""

    widest = 40

    def __init__(self, searcher: Searcher, tables: Tables, graph: JoinGraph) -> None:
        self._searcher = searcher
        self._graph = graph
        self._known = _Known(tables)
        self._found: dict[Place, list[Hop]] = {}

    def of(self, table: Place) -> list[Hop]:
        """The joins of a table; of one that is not of the lake, they are searched for."""
        if table not in self._found:
            own = is_own(table)
            hops = _searched(self._searcher, self._known, table) if own else self._of(table)
            self._found[table] = _best(hops)
        return self._found[table]

    def _of(self, table: Place) -> Iterable[Hop | None]:
        nodes = self._graph.nodes
        entry = nodes.snapshot.segments[table[0]].catalog.table(table[1])
        columns = np.arange(entry.first, entry.first + entry.width)
        pairs = self._graph.pairs_of(table[0], columns)
        mine = nodes.columns(pairs.segment, pairs.column)
        other = nodes.columns(pairs.other_segment, pairs.other_column)
        unique = np.maximum(nodes.profile("uniqueness", mine), nodes.profile("uniqueness", other))
        pairs, mine = pairs.take(unique >= _UNIQUE), mine[unique >= _UNIQUE]
        # Those that most rows survive; and of them the tightest: a count that is just as long is
        # rather referred to than a longer one.
        numbers = nodes.is_number(mine)
        order = np.lexsort((pairs.other_size, -pairs.shared / pairs.size))
        texts = _ends(pairs.take(order[~numbers[order]][:_TEXTS]))
        # Numbers are in very many columns: most are passed over for their names.
        named = (
            one
            for one in _ends(pairs.take(order[numbers[order]]))
            if self._known.of_one_thing(one[0], one[1])
        )
        for one in chain(texts, islice(named, _OF_NUMBERS)):
            yield self._known.hop(*one)


def _ends(pairs: Pairs) -> Iterable[tuple[Place, Place, int]]:
    """The columns of pairs, and how many values both hold."""
    return zip(
        zip(pairs.segment.tolist(), pairs.column.tolist(), strict=True),
        zip(pairs.other_segment.tolist(), pairs.other_column.tolist(), strict=True),
        pairs.shared.tolist(),
        strict=True,
    )


class SearchedHops:
    """Joins that are searched for when they are asked for, by the columns that may be keys."""

    widest = 6

    def __init__(self, searcher: Searcher, tables: Tables) -> None:
        self._searcher = searcher
        self._known = _Known(tables)
        self._found: dict[Place, list[Hop]] = {}

    def of(self, table: Place) -> list[Hop]:
        """The joins of a table."""
        if table not in self._found:
            self._found[table] = _best(_searched(self._searcher, self._known, table))
        return self._found[table]


def _searched(searcher: Searcher, known: _Known, table: Place) -> Iterable[Hop | None]:
    """The joins of a table by searches for its columns."""
    mine = known.tables.table(table)
    try:
        keys = plausible_keys(mine, searcher)
    except InputError:
        return
    for place in keys:
        if not len(mine.query(place)):
            continue
        is_number = mine.profile(place).type in _NUMBERS
        for one in searcher.results(mine, place, _BY_NUMBERS if is_number else _BY_TEXTS)[0]:
            assert one.found is not None, "a result of a search has its place"
            other = one.found.number, one.found.columns[0]
            yield known.hop(known.tables.column(table, place), other, one.matched)


def hops_of(searcher: Searcher, tables: Tables) -> GraphHops | SearchedHops:
    """By the graph where the index has a whole one, else by searching."""
    snapshot = searcher.snapshot
    if snapshot.manifest.graph is not None:
        graph = JoinGraph(snapshot)
        if graph.knows_all:
            return GraphHops(searcher, tables, graph)
    return SearchedHops(searcher, tables)
