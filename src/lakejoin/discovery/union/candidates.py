"""Which tables may have rows to append? Those that share values or names of columns with mine, or
hold texts that mean the same.

A few more are taken whose columns look like mine in the catalog: of the same types, about as long,
and about as often the same. Where every name is another one and no value is shared, nothing else
tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.discovery.union.meanings import near_columns
from lakejoin.model import ColumnType
from lakejoin.search.mine import searched
from lakejoin.search.options import SearchOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.fused.lake_names import LakeNames
    from lakejoin.search.mine import MyTable
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]
Place = tuple[int, int]  # the number of a segment, and of a table in it

COMPARED = 50  # tables that are compared column by column
_SEARCHED = 12  # columns of mine whose values are searched for
_LOOKING_ALIKE = 15  # tables that are compared for their profiles alone
_PROFILED = 50  # columns of mine that are compared so
_LENGTHS, _UNIQUE = 3.0, 2.0  # how much it counts that lengths and repetition differ
_MEANT = 2  # columns of mine that are searched for by meaning
_FETCHED = 100  # columns of the lake for each
_HALF = 0.5  # of as many values as the best has: a column that holds them too
_EVERYWHERE = 0.3  # is what a column counts that every table has
_NAMES: WeakKeyDictionary[Snapshot, _Names] = WeakKeyDictionary()
_OPTIONS = SearchOptions("overlap", k=_FETCHED, others=True)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Tables that may be unionable, the likeliest first, and what each column of mine counts: less
    where many tables of the lake have such a column."""

    tables: tuple[Place, ...]
    weights: Array
    notes: tuple[str, ...]


def candidates(searcher: Searcher, mine: MyTable, names: LakeNames) -> Candidates:
    """The tables to be compared."""
    weights = np.array([weight(names.telling(name)) for name in mine.names])
    of_values: dict[Place, dict[int, float]] = {}
    of_names: dict[Place, dict[int, float]] = {}
    notes: list[str] = []
    for place in _searchable(searcher, mine):
        results, said = searcher.results(mine, place, _OPTIONS)
        notes += [one for one in said if "left out" in one]
        most = max((one.matched for one in results), default=0)
        common = sum(one.matched >= _HALF * most for one in results)
        rare = 1 - math.log(max(1, common)) / math.log(max(2, names.columns))
        weights[place] = min(weights[place], weight(rare))
        for one in results:
            assert one.found is not None, "a result of a search has its place"
            share = one.matched / max(1, min(one.query_size, one.column_size))
            table = one.found.number, one.found.table
            _noted(of_values, table, place, share)
    for place in _with_meaning(searcher, mine):
        for number, column, share in near_columns(searcher, mine, place):
            _noted(of_values, (number, searcher.table_of(number, column)), place, share)
    excluded = searcher.excluded(mine, 0).columns
    for number, of, column, place in _named_alike(searcher.snapshot, mine.names):
        if column not in excluded[number]:
            _noted(of_names, (number, of), place, 1.0)
    worth: dict[Place, float] = {}
    for signs in (of_values, of_names):
        for table, known in signs.items():
            sum_of = sum(float(weights[place]) * share for place, share in known.items())
            worth[table] = worth.get(table, 0.0) + sum_of
    order = sorted(worth, key=lambda table: (-worth[table], table))[:COMPARED]
    order += looking_alike(searcher, mine, excluded, {*order})
    return Candidates(tuple(order), weights, tuple(dict.fromkeys(notes)))


def looking_alike(
    searcher: Searcher, mine: MyTable, excluded: Sequence[Array], known: set[Place]
) -> list[Place]:
    """The tables whose columns have profiles like mine, beside those that are known."""
    found: list[tuple[float, Place]] = []
    profiles = [one for one in mine.profiles() if one.distinct][:_PROFILED]
    for number, segment in enumerate(searcher.snapshot.segments):
        columns = segment.catalog.columns
        first = segment.catalog.tables["first"].to_numpy()
        width = segment.catalog.tables["width"].to_numpy()
        if not len(first) or not profiles:
            continue
        of_table = np.repeat(np.arange(len(first)), width)
        kinds = np.asarray(columns["type"].cast("string").to_pylist(), dtype=object)
        length = np.maximum(columns["mean_length"].to_numpy(), 0.1)
        unique = columns["uniqueness"].to_numpy()
        score = np.zeros(len(first))
        for one in profiles:
            apart = _LENGTHS * np.abs(np.log(length / max(one.mean_length, 0.1)))
            near = np.exp(-apart - _UNIQUE * np.abs(unique - one.uniqueness)) * (kinds == one.type)
            best = np.zeros(len(first))
            np.maximum.at(best, of_table, near)
            score += best
        score /= np.maximum(len(profiles), width)
        score[of_table[excluded[number]]] = 0.0
        tables = np.argsort(-score, kind="stable")[: _LOOKING_ALIKE + len(known)].tolist()
        found += [(-float(score[table]), (number, table)) for table in tables if score[table]]
    return [place for _, place in sorted(found) if place not in known][:_LOOKING_ALIKE]


def weight(rare: float) -> float:
    """What a column counts that is so rare in the lake, 0 to 1."""
    return _EVERYWHERE + (1 - _EVERYWHERE) * max(0.0, rare)


def _noted(signs: dict[Place, dict[int, float]], table: Place, place: int, share: float) -> None:
    """Keeps the best that is known of a table and a column of mine."""
    known = signs.setdefault(table, {})
    known[place] = max(known.get(place, 0.0), share)


def _searchable(searcher: Searcher, mine: MyTable) -> list[int]:
    """The columns of mine whose values are searched for, those of most values first."""
    every = searcher.snapshot.manifest.options.all_columns
    profiles = mine.profiles()
    usable = [
        place
        for place, profile in enumerate(profiles)
        if searched(profile.type, every) and profile.distinct > 1
    ]
    return sorted(usable, key=lambda place: -profiles[place].distinct)[:_SEARCHED]


def _with_meaning(searcher: Searcher, mine: MyTable) -> list[int]:
    """The columns of mine that are searched for by meaning too: texts that tell rows apart."""
    if searcher.snapshot.manifest.options.meaning is None:
        return []
    profiles = mine.profiles()
    texts = [place for place, one in enumerate(profiles) if one.type is ColumnType.TEXT]
    return sorted(texts, key=lambda place: -profiles[place].distinct)[:_MEANT]


class _Names:
    """The names of all columns as they are compared: letters and digits, in lower case."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._segments = snapshot.segments

    @cached_property
    def plain(self) -> list[pa.Array]:
        """By segment."""
        return [_plain(segment.catalog.columns["name"]) for segment in self._segments]

    @cached_property
    def first(self) -> list[Array]:
        """The first column of each table, by segment."""
        return [segment.catalog.tables["first"].to_numpy() for segment in self._segments]


def _plain(names: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.replace_substring_regex(pc.utf8_lower(names), r"[\s_\-.]+", "")


def _named_alike(snapshot: Snapshot, names: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """(segment, table, column, my place) of the columns that are called like one of mine."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if snapshot not in _NAMES:
        _NAMES[snapshot] = _Names(snapshot)
    known = _NAMES[snapshot]
    mine = _plain(pa.array(names, pa.string()))
    found = []
    for number, plain in enumerate(known.plain):
        at = pc.index_in(plain, value_set=mine)
        at = at.combine_chunks() if isinstance(at, pa.ChunkedArray) else at
        columns = np.flatnonzero(np.asarray(at.is_valid()))
        places = np.asarray(at.take(pa.array(columns))).tolist()
        tables = np.searchsorted(known.first[number], columns, side="right") - 1
        found += [
            (number, table, column, place)
            for table, column, place in zip(tables.tolist(), columns.tolist(), places, strict=True)
            if names[place]
        ]
    return found
