"""One question, one answer: every plausible key of my table is searched for, and tables are ranked.

For each of my columns that may be a key, sketches tell at once which tables may join; then the
exact engine gives the columns of the lake that share most values. Those that look best are compared
with chance, and the best of these row by row (`search/fuse.py` weighs it all). Several columns of
one table are one result.

Time grows with the columns of mine that are searched for, and with how many of their results are
looked at closely, not with the lake beyond what the engines take.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.discovery.fused.adds import adds_measured, adds_of
from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult
from lakejoin.discovery.fused.lake_names import lake_names
from lakejoin.discovery.fused.versions import Versions
from lakejoin.discovery.fused.ways import ColumnWays, Way, found_by
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

_KEYS = 10  # columns of mine that are searched for where none is named
_FETCHED = 150  # columns of the lake for each of mine
_AGAINST_CHANCE = 40
_BY_ROWS = 10
_FEWEST = 2  # values that must meet
_NO_KEY = (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL)
_EXACT = SearchOptions("overlap", k=_FETCHED, others=True)
_SKETCHED = SearchOptions("containment", min=0.3, others=True, verified=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked beside the table: the columns (None: every one that may be a key), and how many
    tables. `since` is when the caller began to wait, by `time.perf_counter`."""

    choice: Choice | None
    k: int | None = None
    notes: tuple[str, ...] = ()
    since: float = 0.0


def fused_search(searcher: Searcher, mine: MyTable, asked: Asked) -> FusedAnswer:
    """The tables that join with mine."""
    run = _Run(searcher, mine, asked)
    for _ in run.exact():
        pass
    return run.answer(final=True)


def fused_answers(searcher: Searcher, mine: MyTable, asked: Asked) -> Iterator[FusedAnswer]:
    """The same, the first answer at once from sketches, each better than the one before."""
    run = _Run(searcher, mine, asked)
    if run.sketched():
        yield run.answer()
    for _ in run.exact():
        yield run.answer()
    yield run.answer(final=True)


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
    # Texts tell most; but a reference is often a number, and must not stand behind all of them.
    usable.sort(key=lambda place: -profiles[place].key_likeness)
    texts = [place for place in usable if profiles[place].type is ColumnType.TEXT]
    others = [place for place in usable if profiles[place].type is not ColumnType.TEXT]
    few = max(_KEYS // 2, _KEYS - len(others))
    return tuple([*texts[:few], *others, *texts[few:]][:_KEYS])


class _Run:
    """The searches for one question: the ways that were found so far, the time of each part, and
    what was said."""

    def __init__(self, searcher: Searcher, mine: MyTable, asked: Asked) -> None:
        self._searcher = searcher
        self._mine = mine
        self._asked = asked
        self._begin = asked.since or time.perf_counter()
        self._names = lake_names(searcher.snapshot)
        self._key = asked.choice if asked.choice and asked.choice.is_key else None
        self._places = _places(searcher, mine, asked.choice)
        self._ways: list[Way] = []
        self._versions = Versions()
        self._seconds: dict[str, float] = {}
        self._notes: list[str] = [*asked.notes]

    # -- stages --------------------------------------------------------------------------------

    def sketched(self) -> bool:
        """What sketches tell of columns that are no numbers: those meet anything."""
        begin = time.perf_counter()
        named = self._asked.choice is not None
        for place in () if self._key else self._places:
            if named or self._mine.profile(place).type is not ColumnType.INTEGER:
                results, _ = self._searcher.results(self._mine, place, _SKETCHED)
                self._ways += ColumnWays(self._mine, place, self._names).quick(results)
        self._took("sketches", begin)
        return bool(self._ways)

    def exact(self) -> Iterator[None]:
        """Takes one stage after the other; after each there is more to be answered."""
        self._ways = []
        if self._key is not None:
            self._ways = self._by_key(self._key)
            yield
            return
        for place in self._places:
            self._ways += self._by_column(place)
        yield

    def _by_column(self, place: int) -> list[Way]:
        """The ways to join by one column of mine."""
        begin = time.perf_counter()
        results, said = self._searcher.results(self._mine, place, _EXACT)
        self._notes += said
        begin = self._took("overlap", begin)
        column = ColumnWays(self._mine, place, self._names)
        ways = column.quick([one for one in results if one.matched >= _FEWEST])
        ways = [column.against_chance(way) for way in _best(ways)[:_AGAINST_CHANCE]]
        begin = self._took("chance", begin)
        # Also those that looked best before: where every code is taken, only the rows can tell.
        looked_at = {*_best(ways)[:_BY_ROWS], *ways[:_BY_ROWS]}
        ways = [column.with_agreement(way) if way in looked_at else way for way in ways]
        self._took("rows", begin)
        return ways

    def _by_key(self, choice: Choice) -> list[Way]:
        """The ways to join by several columns of mine together.

        Combinations of values meet by chance far less than values: little is taken for it.
        """
        begin = time.perf_counter()
        answer = self._searcher.search_key(self._mine, choice, _EXACT)
        self._notes += answer.notes
        columns = tuple(self._mine.names[place] for place in choice.places)
        ways = [
            Way(columns, one, _of_key(columns, one)) for one in answer if one.matched >= _FEWEST
        ]
        self._took("composite", begin)
        return ways

    def _took(self, what: str, begin: float) -> float:
        now = time.perf_counter()
        self._seconds[what] = self._seconds.get(what, 0.0) + now - begin
        return now

    # -- the answer ----------------------------------------------------------------------------

    def answer(self, final: bool = False) -> FusedAnswer:
        """What is known so far."""
        tables = _by_table(self._ways)
        limit = self._asked.k or DEFAULT_K
        joined = [one for one in tables if not one[0].weighed.accidental]
        missed = [one for one in tables if one[0].weighed.accidental][:limit]
        begin = time.perf_counter()
        groups = self._versions.grouped([found_by(one[0]) for one in joined])[:limit]
        begin = self._took("versions", begin)
        results = tuple(
            _result(rank, [joined[place] for place in group], final)
            for rank, group in enumerate(groups, 1)
        )
        if final:
            self._took("adds", begin)
        return FusedAnswer(
            table=self._mine.name,
            columns=self._columns,
            results=results,
            misses=tuple(_result(rank, [one]) for rank, one in enumerate(missed, 1)),
            k=limit,
            seconds=time.perf_counter() - self._begin,
            seconds_by=dict(self._seconds),
            notes=tuple(dict.fromkeys(self._notes)),
            final=final,
        )

    @property
    def _columns(self) -> tuple[tuple[str, ...], ...]:
        names = tuple(self._mine.names[place] for place in self._places)
        return (names,) if self._key else tuple((name,) for name in names)


def _places(searcher: Searcher, mine: MyTable, choice: Choice | None) -> tuple[int, ...]:
    return choice.places if choice else plausible_keys(mine, searcher)


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
    for way in ways:
        tables.setdefault(way.result.table, []).append(way)
    ordered = [
        sorted(one, key=lambda way: (bool(way.weighed.accidental), -way.weighed.score))
        for one in tables.values()
    ]
    return sorted(ordered, key=lambda one: (-one[0].weighed.score, one[0].result.rank))


def _result(rank: int, tables: Sequence[Sequence[Way]], final: bool = False) -> FusedResult:
    """A table, by its ways, and versions of it; what it adds is measured only in the end."""
    ways, *versions = tables
    adds = adds_measured(ways[0]) if final else adds_of(ways[0])
    names = tuple(one[0].result.table for one in versions)
    return FusedResult(rank, ways[0].result.table, tuple(ways), adds, names)
