"""The joins that lead away from a table: from the graph of the lake, or searched for at once.

A join is taken where one column holds at least half of the other's values, one of the two nearly
tells rows apart (else every row would meet many), and, of numbers, the names are those of the same
things: numbers from 1 on are in very many columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lakejoin.discovery.fused.searching import plausible_keys
from lakejoin.discovery.graph.joingraph import JoinGraph
from lakejoin.errors import InputError
from lakejoin.joins.given import subject
from lakejoin.model import ColumnType
from lakejoin.search.known_table import KnownTable
from lakejoin.search.options import SearchOptions
from lakejoin.search.places import Places

if TYPE_CHECKING:
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.snapshot import Snapshot

Place = tuple[int, int]  # the number of a segment, and of a table or a column in it

_HALF = 0.5  # of the values of one column must be in the other
_ALL, _KEY = 0.95, 0.99  # of the values are in the other; distinct values for each row of a key
_UNIQUE = 0.5  # distinct values for each row, of one of the two
_TEXTS, _OF_NUMBERS = 400, 400  # pairs of a table that are looked at
_FETCHED = 60  # columns for each key, where they are searched for
_NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_IDENTIFIERS = frozenset(("id", "key", "no", "nr", "number", "num", "code", "ref", "pk", "fk"))
_OPTIONS = SearchOptions("overlap", k=_FETCHED, others=True)


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
    """What the catalog says of tables and columns."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._places = [Places(segment) for segment in snapshot.segments]
        self._snapshot = snapshot
        self._texts: dict[tuple[str, int], list[str]] = {}  # names and types, by segment

    def hop(self, column: Place, other: Place, shared: int) -> Hop | None:
        """The join of two columns, if it is one to be taken."""
        sizes = [self._figure("distinct", one) for one in (column, other)]
        if column == other or shared < _HALF * min(sizes):
            return None
        if max(self._figure("uniqueness", one) for one in (column, other)) < _UNIQUE:
            return None
        tables = [(one[0], self._places[one[0]].table_of(one[1])) for one in (column, other)]
        if tables[0] == tables[1]:
            return None
        named = self._of_one_thing(column, other)
        numbers = any(self._cell("type", one) in _NUMBERS for one in (column, other))
        if numbers and not named:  # texts need not be called the same
            return None
        full, other_full = (
            1 - self._figure("nulls", one) / max(1, self._rows(one)) for one in (column, other)
        )
        size, other_size = map(int, sizes)
        refers = named and self._refers((column, other), sizes, shared)
        figures = (shared, size, other_size, full, other_full, refers)
        return Hop(tables[0], column, tables[1], other, *figures)

    def _refers(self, columns: Sequence[Place], sizes: Sequence[float], shared: int) -> bool:
        """Whether nearly all values of one column are in the other, and that is a key."""
        return any(
            shared >= _ALL * size and self._figure("uniqueness", key) >= _KEY
            for size, key in zip(sizes, reversed(columns), strict=True)
        )

    def _of_one_thing(self, column: Place, other: Place) -> bool:
        names = [self._cell("name", one) for one in (column, other)]
        tables = [
            subject(self._places[one[0]].table_name(self._places[one[0]].table_of(one[1])))
            for one in (column, other)
        ]
        return of_one_thing(names[0], tables[0], names[1], tables[1])

    def _figure(self, name: str, column: Place) -> float:
        return float(self._places[column[0]].profile(name)[column[1]])

    def _rows(self, column: Place) -> float:
        return float(self._snapshot.segments[column[0]].column_rows[column[1]])

    def _cell(self, name: str, column: Place) -> str:
        if (name, column[0]) not in self._texts:
            columns = self._snapshot.segments[column[0]].catalog.columns
            self._texts[name, column[0]] = columns[name].cast("string").to_pylist()
        return self._texts[name, column[0]][column[1]]


def of_one_thing(column: str, table: str, other: str, other_table: str) -> bool:
    """Whether the names of two columns of numbers say that they number the same things.

    >>> of_one_thing("type_id", "cars", "id", "types"), of_one_thing("home_team_id", "", "team", "")
    (True, True)
    >>> of_one_thing("type_id", "cars", "car_id", "owners"), of_one_thing("id", "car", "id", "dog")
    (False, False)
    """
    mine, theirs = _thing(column, table), _thing(other, other_table)
    if not mine or not theirs or mine[-1] != theirs[-1]:
        return False
    return {*mine} <= {*theirs} or {*theirs} <= {*mine}


def _thing(column: str, table: str) -> list[str]:
    """What a column numbers: the words of its name, or of its table's where it says only that."""
    words = [word for word in _words(column) if word not in _IDENTIFIERS]
    return words or _words(table)


def _words(name: str) -> list[str]:
    return [word.lower().removesuffix("s") for word in _WORDS.findall(name)]


def _best(hops: Iterable[Hop | None]) -> list[Hop]:
    found = [one for one in hops if one is not None]
    return sorted(found, key=lambda one: (-one.survives, -one.shared, one.other, one.column))


class GraphHops:
    """Joins by the graph that `lakejoin graph` has made."""

    widest = 40

    def __init__(self, graph: JoinGraph) -> None:
        self._graph = graph
        self._known = _Known(graph.nodes.snapshot)
        self._found: dict[Place, list[Hop]] = {}

    def of(self, table: Place) -> list[Hop]:
        """The joins of a table."""
        if table not in self._found:
            self._found[table] = _best(self._of(table))
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
        for some, most in ((order[~numbers[order]], _TEXTS), (order[numbers[order]], _OF_NUMBERS)):
            best = pairs.take(some[:most])
            ends = zip(
                zip(best.segment.tolist(), best.column.tolist(), strict=True),
                zip(best.other_segment.tolist(), best.other_column.tolist(), strict=True),
                best.shared.tolist(),
                strict=True,
            )
            for one in ends:
                yield self._known.hop(*one)


class SearchedHops:
    """Joins that are searched for when they are asked for, by the columns that may be keys."""

    widest = 6

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._known = _Known(searcher.snapshot)
        self._found: dict[Place, list[Hop]] = {}

    def of(self, table: Place) -> list[Hop]:
        """The joins of a table."""
        if table not in self._found:
            self._found[table] = _best(self._of(table))
        return self._found[table]

    def _of(self, table: Place) -> Iterable[Hop | None]:
        snapshot = self._searcher.snapshot
        entry = snapshot.segments[table[0]].catalog.table(table[1])
        mine = KnownTable(snapshot, table[0], entry)
        try:
            keys = plausible_keys(mine, self._searcher)
        except InputError:
            return
        for place in keys:
            if not len(mine.query(place)):
                continue
            for one in self._searcher.results(mine, place, _OPTIONS)[0]:
                assert one.found is not None, "a result of a search has its place"
                other = one.found.number, one.found.columns[0]
                yield self._known.hop((table[0], entry.first + place), other, one.matched)


def hops_of(searcher: Searcher) -> GraphHops | SearchedHops:
    """By the graph where the index has a whole one, else by searching."""
    snapshot = searcher.snapshot
    if snapshot.manifest.graph is not None:
        graph = JoinGraph(snapshot)
        if graph.knows_all:
            return GraphHops(graph)
    return SearchedHops(searcher)
