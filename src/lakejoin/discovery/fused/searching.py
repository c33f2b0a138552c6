"""One question, one answer: every plausible key of my table is searched for, and tables are ranked.

For each of my columns that may be a key the exact engine gives the columns of the lake that share
most values; for several columns together, the engine for composite keys does. Those that look best
are then compared with chance, and the best of these row by row (`search/fuse.py` weighs it all).
Several columns of one table are one result.

Time grows with the columns of mine that are searched for, and with `_AGAINST_CHANCE` and `_BY_ROWS`
of their results, not with the lake beyond what the engines take.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult, score_of
from lakejoin.discovery.fused.ways import ColumnWays, Way
from lakejoin.errors import InputError
from lakejoin.model import ColumnType
from lakejoin.search.fuse import Signals
from lakejoin.search.mine import searched
from lakejoin.search.options import DEFAULT_K, SearchOptions
from lakejoin.signals.chance import LEAST
from lakejoin.signals.likely_names import names_alike

if TYPE_CHECKING:
    from lakejoin.search.choice import Choice
    from lakejoin.search.mine import MyTable
    from lakejoin.search.result import Result
    from lakejoin.search.searcher import Searcher

_KEYS = 4  # columns of mine that are searched for where none is named
_FETCHED = 150  # columns of the lake for each of mine
_AGAINST_CHANCE = 60
_BY_ROWS = 20
_FEWEST = 2  # values that must meet
_NO_KEY = (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL)
_OPTIONS = SearchOptions(k=_FETCHED, others=True)


def fused_search(
    searcher: Searcher,
    mine: MyTable,
    choice: Choice | None,
    k: int | None = None,
    notes: Sequence[str] = (),
    since: float | None = None,
) -> FusedAnswer:
    """The tables that join with mine on the columns of a choice, or on any that may be a key.

    `since` is when the caller began to wait, by `time.perf_counter`: now, if left out.
    """
    begin = time.perf_counter() if since is None else since
    run = _Run(searcher, mine)
    if choice is not None and choice.is_key:
        columns: tuple[tuple[str, ...], ...] = (tuple(mine.names[i] for i in choice.places),)
        ways = run.by_key(choice)
    else:
        places = choice.places if choice else plausible_keys(mine, searcher)
        columns = tuple((mine.names[place],) for place in places)
        ways = [way for place in places for way in run.by_column(place)]
    tables = _by_table(ways)
    limit = k or DEFAULT_K
    joined = [one for one in tables if not one[0].weighed.accidental][:limit]
    missed = [one for one in tables if one[0].weighed.accidental][:limit]
    return FusedAnswer(
        table=mine.name,
        columns=columns,
        results=tuple(_result(rank, one) for rank, one in enumerate(joined, 1)),
        misses=tuple(_result(rank, one) for rank, one in enumerate(missed, 1)),
        k=limit,
        seconds=time.perf_counter() - begin,
        seconds_by=run.seconds,
        notes=tuple(dict.fromkeys((*notes, *run.notes))),
    )


def plausible_keys(mine: MyTable, searcher: Searcher) -> tuple[int, ...]:
    """The places of the columns that may be keys, the most key-like first, texts before others."""
    every = searcher.snapshot.manifest.options.all_columns
    profiles = mine.profiles()
    usable = [
        place
        for place, profile in enumerate(profiles)
        if searched(profile.type, every) and profile.type not in _NO_KEY
    ]
    if not usable:
        raise InputError(f"{mine.name} has no column that looks like a key: name one to search for")
    order = sorted(
        usable,
        key=lambda place: (
            profiles[place].type is not ColumnType.TEXT,
            -profiles[place].key_likeness,
        ),
    )
    return tuple(order[:_KEYS])


class _Run:
    """The searches for one question, with the time of each part and what was said."""

    def __init__(self, searcher: Searcher, mine: MyTable) -> None:
        self._searcher = searcher
        self._mine = mine
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def by_column(self, place: int) -> list[Way]:
        """The ways to join by one column of mine."""
        begin = time.perf_counter()
        answer = self._searcher.search(self._mine, place, _OPTIONS)
        self.notes += answer.notes
        begin = self._took("overlap", begin)
        column = ColumnWays(self._mine, place)
        ways = [column.quick(one) for one in answer if one.matched >= _FEWEST]
        ways = [column.against_chance(way) for way in _best(ways)[:_AGAINST_CHANCE]]
        begin = self._took("chance", begin)
        # Also those that looked best before: where every code is taken, only the rows can tell.
        looked_at = {*_best(ways)[:_BY_ROWS], *ways[:_BY_ROWS]}
        ways = [column.with_agreement(way) if way in looked_at else way for way in ways]
        self._took("rows", begin)
        return ways

    def by_key(self, choice: Choice) -> list[Way]:
        """The ways to join by several columns of mine together.

        Combinations of values meet by chance far less than values: little is taken for it.
        """
        begin = time.perf_counter()
        answer = self._searcher.search_key(self._mine, choice, _OPTIONS)
        self.notes += answer.notes
        columns = tuple(self._mine.names[place] for place in choice.places)
        ways = [
            Way(columns, one, _of_key(columns, one)) for one in answer if one.matched >= _FEWEST
        ]
        self._took("composite", begin)
        return ways

    def _took(self, what: str, begin: float) -> float:
        now = time.perf_counter()
        self.seconds[what] = self.seconds.get(what, 0.0) + now - begin
        return now


def _of_key(columns: Sequence[str], result: Result) -> Signals:
    fewer = max(1, min(result.query_size, result.column_size))
    names = [names_alike(a, b).alike for a, b in zip(columns, result.columns, strict=True)]
    share = min(1.0, result.matched / fewer)
    return Signals(fewer, share, LEAST, result.containment, sum(names) / len(names))


def _best(ways: Sequence[Way]) -> list[Way]:
    return sorted(ways, key=lambda way: (-way.weighed.score, way.result.rank))


def _by_table(ways: Sequence[Way]) -> list[list[Way]]:
    """The ways of each table, those to be taken first; the tables with the best way first."""
    tables: dict[str, list[Way]] = {}
    for way in sorted(ways, key=lambda way: bool(way.weighed.accidental)):
        tables.setdefault(way.result.table, []).append(way)
    ordered = [
        sorted(one, key=lambda way: way.worth_first, reverse=True) for one in tables.values()
    ]
    return sorted(ordered, key=lambda one: (-score_of(one), one[0].result.rank))


def _result(rank: int, ways: Sequence[Way]) -> FusedResult:
    found = ways[0].result.found
    assert found is not None, "a result of a search has its place"
    entries = found.segment.catalog.columns_of(found.entry)
    adds = tuple(one.name for one in entries if one.number not in found.columns)
    return FusedResult(rank, ways[0].result.table, tuple(ways), adds)
