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

from lakejoin.model import ColumnType
from lakejoin.search.fuse import Signals
from lakejoin.search.fused.answer import FusedAnswer, FusedResult
from lakejoin.search.fused.ways import ColumnWays, Way
from lakejoin.search.mine import searched
from lakejoin.search.options import SearchOptions
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
_DEFAULT_K = 10


def fused_search(
    searcher: Searcher, mine: MyTable, choice: Choice | None, k: int | None, notes: Sequence[str]
) -> FusedAnswer:
    """The tables that join with mine on the columns of a choice, or on any that may be a key."""
    seconds: dict[str, float] = {}
    if choice is not None and choice.is_key:
        names = tuple(mine.names[place] for place in choice.places)
        columns: tuple[tuple[str, ...], ...] = (names,)
        ways = _by_key(searcher, mine, choice, seconds)
    else:
        places = choice.places if choice else plausible_keys(mine, searcher)
        columns = tuple((mine.names[place],) for place in places)
        ways = [way for place in places for way in _by_column(searcher, mine, place, seconds)]
    tables = _by_table(ways, mine)
    joined = [one for one in tables if not one[0].weighed.accidental]
    missed = [one for one in tables if one[0].weighed.accidental]
    return FusedAnswer(
        mine.name,
        columns,
        tuple(_result(rank, one) for rank, one in enumerate(joined[: k or _DEFAULT_K], 1)),
        tuple(_result(rank, one) for rank, one in enumerate(missed[: k or _DEFAULT_K], 1)),
        seconds,
        tuple(notes),
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
    order = sorted(
        usable,
        key=lambda place: (
            profiles[place].type is not ColumnType.TEXT,
            -profiles[place].key_likeness,
        ),
    )
    return tuple(order[:_KEYS])


def _by_column(
    searcher: Searcher, mine: MyTable, place: int, seconds: dict[str, float]
) -> list[Way]:
    begin = time.perf_counter()
    options = SearchOptions(k=_FETCHED, others=True)
    results = searcher.search(mine, place, options).results
    begin = _took(seconds, "overlap", begin)
    column = ColumnWays(mine, place)
    ways = [column.quick(one) for one in results if one.matched >= _FEWEST]
    ways = [column.against_chance(way) for way in _best(ways)[:_AGAINST_CHANCE]]
    begin = _took(seconds, "chance", begin)
    # Also those that looked best before: where every code is taken, only the rows can tell.
    looked_at = {*_best(ways)[:_BY_ROWS], *ways[:_BY_ROWS]}
    ways = [column.with_agreement(way) if way in looked_at else way for way in ways]
    _took(seconds, "rows", begin)
    return ways


def _by_key(
    searcher: Searcher, mine: MyTable, choice: Choice, seconds: dict[str, float]
) -> list[Way]:
    """Combinations of values meet by chance far less than values: little is taken for it."""
    begin = time.perf_counter()
    options = SearchOptions(k=_FETCHED, others=True)
    results = searcher.search_key(mine, choice, options).results
    columns = tuple(mine.names[place] for place in choice.places)
    ways = [Way(columns, one, _of_key(columns, one)) for one in results if one.matched >= _FEWEST]
    _took(seconds, "composite", begin)
    return ways


def _of_key(columns: Sequence[str], result: Result) -> Signals:
    fewer = max(1, min(result.query_size, result.column_size))
    names = [names_alike(a, b).alike for a, b in zip(columns, result.columns, strict=True)]
    share = min(1.0, result.matched / fewer)
    return Signals(fewer, share, LEAST, result.containment, sum(names) / len(names))


def _best(ways: Sequence[Way]) -> list[Way]:
    return sorted(ways, key=lambda way: (-way.weighed.score, way.result.rank))


def _by_table(ways: Sequence[Way], mine: MyTable) -> list[list[Way]]:
    """The ways of each table, the tables with the best way first."""
    tables: dict[str, list[Way]] = {}
    for way in _best(ways):
        tables.setdefault(way.result.table, []).append(way)
    return list(tables.values())


def _result(rank: int, ways: Sequence[Way]) -> FusedResult:
    found = ways[0].result.found
    assert found is not None, "a result of a search has its place"
    entries = found.segment.catalog.columns_of(found.entry)
    adds = tuple(one.name for one in entries if one.number not in found.columns)
    return FusedResult(rank, ways[0].result.table, tuple(ways), adds)


def _took(seconds: dict[str, float], what: str, begin: float) -> float:
    now = time.perf_counter()
    seconds[what] = seconds.get(what, 0.0) + now - begin
    return now
