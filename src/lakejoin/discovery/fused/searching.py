"""One question, one answer: every plausible key of my table is searched for, and tables are ranked.

For each of my columns that may be a key, sketches tell at once which tables may join; then the
exact engine gives the columns of the lake that share most values. Those that look best are compared
with chance, and the best of these row by row (`search/fuse.py` weighs it all). Columns that are a
key together follow, values that meet once rewritten, places that are near, and texts that mean the
same. Several columns of one table are one result.

Time grows with the columns of mine that are searched for, and with how many of their results are
looked at closely, not with the lake beyond what the engines take.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakejoin.discovery.fused.adds import adds_measured, adds_of
from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult
from lakejoin.discovery.fused.beside_equal import almost_equal, beyond_equal
from lakejoin.discovery.fused.composite import by_composite, together, worth_telling
from lakejoin.discovery.fused.lake_names import lake_names
from lakejoin.discovery.fused.near_meanings import by_meaning, has_meaning, unmet_by
from lakejoin.discovery.fused.near_places import by_place
from lakejoin.discovery.fused.rewritten import TABLES, rewritten_ways
from lakejoin.discovery.fused.unique_together import plausible_composites
from lakejoin.discovery.fused.versions import Versions
from lakejoin.discovery.fused.ways import ColumnWays, Way, found_by
from lakejoin.errors import InputError, MissingPart
from lakejoin.model import ColumnType
from lakejoin.search.mine import searched
from lakejoin.search.options import DEFAULT_K, SearchOptions
from lakejoin.search.rewritable import likely_rewritten, without_pieces
from lakejoin.signals.likely_names import CONTAINED

if TYPE_CHECKING:
    from lakejoin.search.choice import Choice
    from lakejoin.search.mine import MyTable
    from lakejoin.search.result import Result
    from lakejoin.search.searcher import Searcher

_KEYS = 10  # columns of mine that are searched for where none is named
_FETCHED = 150  # columns of the lake for each of mine
# Of these so many are compared with chance, and row by row; fewer where many columns are searched.
_AGAINST_CHANCE, _OF_EACH = 40, 28
_BY_ROWS, _ROWS_OF_EACH = 10, 6
_COMPOSITES = 2
_LIKELY = 400  # pairs of columns that share pieces, the best of which are looked at
_NAMED = 50  # columns that are called like one of mine
_FEWEST = 2  # values that must meet
_ALL = 0.95  # of the values
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
        """What sketches tell; of columns that are no numbers, as those meet anything, if any is."""
        begin = time.perf_counter()
        telling = [p for p in self._places if self._mine.profile(p).type is not ColumnType.INTEGER]
        for place in () if self._key else telling or self._places:
            results, _ = self._searcher.results(self._mine, place, _SKETCHED)
            ways = ColumnWays(self._mine, place, self._names).quick(results)
            self._ways += map(self._telling_apart, ways)
        self._took("sketches", begin)
        return bool(self._ways)

    def exact(self) -> Iterator[None]:
        """Takes one stage after the other; after each there is more to be answered."""
        self._ways = []
        if self._key is not None:
            self._timed("composite", self._by_key(self._key))
            yield
            self._timed("places", self._by_place(self._places))
            return
        for place in self._places:
            self._ways += map(self._telling_apart, self._by_column(place))
        yield
        if self._asked.choice is None:
            self._timed("composite", self._by_composites())
            yield
        self._timed("rewritten", self._by_rewriting())
        yield
        if self._asked.choice is None:
            self._timed("places", self._by_place(None))
        self._timed("meaning", self._by_meaning())

    def _timed(self, what: str, ways: Iterable[Way]) -> None:
        """Works out some ways, with what they took."""
        begin = time.perf_counter()
        self._ways += [self._telling_apart(way) for way in ways]
        self._took(what, begin)

    def _telling_apart(self, way: Way) -> Way:
        """The same, knowing how well the columns tell my rows apart, if none were named."""
        found = way.result.found
        if self._asked.choice is not None or found is None:
            return way
        rows = max(1, int(found.query.counts.sum()))
        share = min(1.0, len(found.query) / rows)
        return replace(way, signals=replace(way.signals, tells_apart=share))

    def _by_column(self, place: int) -> list[Way]:
        """The ways to join by one column of mine."""
        begin = time.perf_counter()
        results, said = self._searcher.results(self._mine, place, _EXACT)
        self._notes += said
        if len(results) == _FETCHED:
            results += self._of_the_same_name(place, results)
        begin = self._took("overlap", begin)
        column = ColumnWays(self._mine, place, self._names)
        ways = column.quick([one for one in results if one.matched >= _FEWEST])
        few = self._asked.choice is not None and not self._asked.choice.every
        closely, by_rows = (_AGAINST_CHANCE, _BY_ROWS) if few else (_OF_EACH, _ROWS_OF_EACH)
        ways = [column.against_chance(way) for way in _to_compare(ways, closely)]
        begin = self._took("chance", begin)
        # Also those that looked best before: where every code is taken, only the rows can tell.
        looked_at = {*_best(ways)[:by_rows], *ways[:by_rows]}
        ways = [column.with_agreement(way) if way in looked_at else way for way in ways]
        self._took("rows", begin)
        return ways

    def _of_the_same_name(self, place: int, known: Sequence[Result]) -> tuple[Result, ...]:
        """Where too many columns share values with mine, those that are called alike."""
        found = {(one.found.number, one.found.columns[0]) for one in known if one.found}
        named = self._names.named(self._mine.names[place], _NAMED)
        others = [one for one in named if one not in found]
        return self._searcher.results_of(self._mine, place, others)

    def _by_key(self, key: Choice) -> Iterator[Way]:
        """The ways to join by several columns of mine together, which were named."""
        ways, said = by_composite(self._searcher, self._mine, key, _FETCHED)
        self._notes += said
        yield from ways

    def _by_composites(self) -> Iterator[Way]:
        """The ways to join by columns that are a key together, beyond those by one of them."""
        alone = list(self._ways)
        every = self._searcher.snapshot.manifest.options.all_columns
        for places in plausible_composites(self._mine, every, _COMPOSITES):
            ways, _ = by_composite(self._searcher, self._mine, together(places))
            yield from worth_telling(ways, alone)

    def _by_rewriting(self) -> Iterator[Way]:
        """The ways to join once values are rewritten, where they meet more than equal ones."""
        segments = self._searcher.snapshot.segments
        self._notes += [one for one in [without_pieces(segments)] if one]
        excluded = self._searcher.excluded(self._mine, self._places[0])
        known = _needing_nothing(self._ways)
        likely = likely_rewritten(self._mine, self._places, segments, excluded, _LIKELY, known)
        almost = almost_equal(self._ways)
        tables = TABLES * (3 if self._asked.choice else 1) + len(almost)
        try:
            ways = list(rewritten_ways(self._searcher, self._mine, [*almost, *likely], tables))
        except MissingPart as missing:  # the other ways are worth having without it
            self._notes.append(f"values that must be rewritten were not looked for: {missing}")
            return
        yield from beyond_equal(ways, self._ways)

    def _by_place(self, named: Sequence[int] | None) -> Iterator[Way]:
        yield from by_place(self._searcher, self._mine, named)

    def _by_meaning(self) -> Iterator[Way]:
        """The ways to join by meaning, by the column of words that tells my rows apart best."""
        for place in self._places:
            if has_meaning(self._mine, place):
                name = self._mine.names[place]
                known = [one for one in self._ways if one.columns == (name,)]
                unmet = unmet_by(self._mine.query(place), [w for w in known if w.believed])
                yield from by_meaning(self._searcher, self._mine, place, unmet)
                return

    def _took(self, what: str, begin: float) -> float:
        now = time.perf_counter()
        self._seconds[what] = self._seconds.get(what, 0.0) + now - begin
        return now

    # -- the answer ----------------------------------------------------------------------------

    def answer(self, final: bool = False) -> FusedAnswer:
        """What is known so far."""
        tables = _by_table(self._ways)
        limit = self._asked.k or DEFAULT_K
        joined = [one for one in tables if one[0].believed]
        missed = [one for one in tables if not one[0].believed]
        begin = time.perf_counter()
        # What only meets by accident may be a version of what joins.
        ordered = joined + missed[:limit]
        groups = self._versions.grouped([found_by(one[0]) for one in ordered])
        begin = self._took("versions", begin)
        results = [
            _result(rank, [ordered[place] for place in group], final)
            for rank, group in enumerate(
                [group for group in groups if group[0] < len(joined)][:limit], 1
            )
        ]
        misses = [ordered[group[0]] for group in groups if group[0] >= len(joined)]
        if final:
            self._took("adds", begin)
        return FusedAnswer(
            table=self._mine.name,
            columns=self._columns,
            results=tuple(results),
            misses=tuple(_result(rank, [one]) for rank, one in enumerate(misses, 1)),
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


def _needing_nothing(ways: Sequence[Way]) -> set[tuple[int, int, int]]:
    """My columns with those of the lake of which nearly all values are equal as they are."""
    found = [one.result.found for one in ways if one.signals.share >= _ALL]
    return {
        (place, one.number, column)
        for one in found
        if one is not None
        for place, column in zip(one.places, one.columns, strict=False)
    }


def _to_compare(ways: Sequence[Way], most: int) -> list[Way]:
    """The ways that look best; and those with the best names, as numbers look good in hundreds."""
    named = [way for way in ways if way.signals.names >= CONTAINED]
    named.sort(key=lambda way: -way.signals.names * way.signals.telling)
    return list(dict.fromkeys([*named[: most // 4], *_best(ways)]))[:most]


def _best(ways: Sequence[Way]) -> list[Way]:
    return sorted(ways, key=lambda way: (-way.weighed.score, way.result.rank))


def _by_table(ways: Sequence[Way]) -> list[list[Way]]:
    """The ways of each table, those to be taken first; the tables with the best way first."""
    tables: dict[str, list[Way]] = {}
    for way in ways:
        tables.setdefault(way.result.table, []).append(way)
    ordered = [sorted(one, key=lambda way: way.order) for one in tables.values()]
    return sorted(ordered, key=lambda one: (one[0].order[1:], one[0].result.rank))


def _result(rank: int, tables: Sequence[Sequence[Way]], final: bool = False) -> FusedResult:
    """A table, by its ways, and versions of it; what it adds is measured only in the end."""
    ways, *versions = tables
    adds = adds_measured(ways[0]) if final else adds_of(ways[0])
    names = tuple(one[0].result.table for one in versions)
    return FusedResult(rank, ways[0].result.table, tuple(ways), adds, names)
