"""The ways to join by several columns together: what chance would give, and whether rows agree.

Two kinds of wrong combinations tell it. Mixed ones have each part from another row: the first name
of one person with the last name of another. Neighbours have one part from the value next to the
right one in its column: the number after it, the name after it in the alphabet; so numbers that
rise together with years do so in any two tables, and are met by neighbours as well. Both are made
of the smaller side and looked up in the other one, and the kind that meets most is taken.

Where every country has every year, wrong combinations meet as well as right ones, and nothing is
learnt from them. Such a way is as good as its parts: each must be believed by itself, by its values
or by its name, and what is taken is the one that says most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.fused.agreeing import RowWords, agreeing, their_words, words_of
from lakejoin.discovery.fused.chances import Chances, held_in
from lakejoin.discovery.fused.holding import Columns, first_rows
from lakejoin.discovery.fused.ways import Way, unique_of
from lakejoin.search.choice import Choice
from lakejoin.search.fuse import BELIEVED, Signals, weigh
from lakejoin.search.mate.query import KeyQuery, distinct_rows, key_query
from lakejoin.search.options import SearchOptions
from lakejoin.signals.chance import LEAST, evidence
from lakejoin.signals.likely_names import CONTAINED, names_alike

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.fused.ways import Met
    from lakejoin.search.mine import MyTable
    from lakejoin.search.result import Found
    from lakejoin.search.searcher import Searcher

Array = np.ndarray[Any, Any]
Texts = Callable[[Array], "pa.LargeStringArray"]

_FETCHED = 20  # tables
_AGAINST_CHANCE = 40
_BY_ROWS = 6
_FEWEST = 2  # combinations that must meet
_WRONG = 250  # combinations of each kind
_WHOLE = r"^-?\d{1,15}$"
_ROWS = 64
_DENSE = 0.5  # of the combinations meet, of those that could
_KEY = 0.99  # distinct values for each row: one of theirs for each of mine
_ALL = 0.95  # of the rows that meet by one column


def by_composite(
    searcher: Searcher, mine: MyTable, key: Choice, most: int = _FETCHED
) -> tuple[list[Way], tuple[str, ...]]:
    """The ways to join by some columns of mine together, and what is said.

    The best by what meets are compared with chance, and the best of these row by row. The others
    are left out: combinations of small numbers meet anywhere.
    """
    answer = searcher.search_key(mine, key, SearchOptions("overlap", k=most, others=True))
    ways = KeyWays(mine, key.places)
    found = _best([ways.quick(one) for one in answer if one.matched >= _FEWEST])
    found = [ways.against_chance(way) for way in found[:_AGAINST_CHANCE]]
    looked_at = _best(found)[:_BY_ROWS]
    found = [ways.with_agreement(way) if way in looked_at else way for way in found]
    return found, answer.notes


def together(places: Sequence[int]) -> Choice:
    """Some columns of mine as a key, whatever theirs are."""
    return Choice(tuple(places), (None,) * len(places))


def worth_telling(together: Sequence[Way], alone: Sequence[Way]) -> list[Way]:
    """The ways by several columns that say more than those by one column of the same table.

    Left out are those that meet by accident where one column does not; and those of which one
    column finds as many rows by itself, and in theirs each value once.
    """
    by_table: dict[str, list[Way]] = {}
    for way in alone:
        if not way.weighed.accidental:
            by_table.setdefault(way.result.table, []).append(way)
    return [way for way in together if _says_more(way, by_table.get(way.result.table, ()))]


def _says_more(way: Way, alone: Sequence[Way]) -> bool:
    if way.weighed.accidental:
        return not alone
    pairs = set(zip(way.columns, way.result.columns, strict=True))
    covered = way.result.row_coverage or 0.0
    return not any(
        (one.columns[0], one.result.columns[0]) in pairs
        and unique_of(one.result) >= _KEY
        and covered >= _ALL * (one.result.row_coverage or 0.0)
        for one in alone
    )


class KeyWays:
    """The ways by which several columns of mine join tables of the lake."""

    def __init__(self, mine: MyTable, places: Sequence[int]) -> None:
        self._mine = mine
        self._places = tuple(places)
        self._known: dict[int, list[Array]] = {}
        self._parts: dict[int, Chances] = {}

    @cached_property
    def query(self) -> KeyQuery:
        """The combinations that are searched for."""
        return key_query(self._mine, self._places)

    def quick(self, result: Met) -> Way:
        """What is known without looking at their values: as if chance gave little."""
        query = self.query
        fewer = max(1, min(result.query_size, result.column_size))
        pairs = zip(query.columns, result.columns, strict=True)
        names = [names_alike(one, other).alike for one, other in pairs]
        share = min(1.0, result.matched / fewer)
        # The name of one part says nothing of another.
        alike, unique = min(names), unique_of(result)
        signals = Signals(fewer, share, LEAST, result.containment, alike, unique=unique)
        return Way(query.columns, result, signals)

    def against_chance(self, way: Way) -> Way:
        """The same, knowing what chance would give."""
        chance = max(LEAST, self._chance(_found(way), way.result.column_size))
        signals = replace(way.signals, chance=chance)
        if weigh(replace(signals, names=0.0)).accidental:
            signals = self._by_parts(signals, way) or signals
        return replace(way, signals=signals)

    def with_agreement(self, way: Way) -> Way:
        """The same, knowing whether other columns agree in the rows that meet.

        They must agree more than rows do that share a part: texts in one language have words in
        common, whatever they are about.
        """
        found = _found(way)
        met = found.meeting().places
        if len(met) > _ROWS:
            met = met[np.linspace(0, len(met) - 1, _ROWS).astype(np.int64)]
        if len(met) < 2:
            return way
        numbers = list(self.query.combinations[met].T)
        codes = [codes[own] for codes, own in zip(self._codes(found), numbers, strict=True)]
        values = [
            one.take(own).to_pylist() for one, own in zip(self.query.tokens, numbers, strict=True)
        ]
        joined = [frozenset[str]().union(*map(words_of, one)) for one in zip(*values, strict=True)]
        mine = self._words.at(first_rows(self._cells, numbers))
        rows = first_rows(_codes_of(found), codes)
        theirs = their_words(found.segment, found.entry, found.columns, rows)
        pairs = [(a - own, b - own) for a, b, own in zip(mine, theirs, joined, strict=True)]
        # Beside the rows that do meet stand those that follow them: here, with an equal part.
        orders = [np.argsort(own, kind="stable").tolist() for own in numbers]
        return way.with_rows(
            min(agreeing(*zip(*(pairs[i] for i in order), strict=True)) for order in orders)
        )

    # -- wrong combinations -----------------------------------------------------------------------

    def _chance(self, found: Found, size: int) -> float:
        """The share of wrong combinations of the smaller side that the other one holds."""
        theirs = _codes_of(found)
        if len(self.query) <= size:
            numbers = zip(self._codes(found), self._wrong.columns, strict=True)
            wrong = replace(self._wrong, columns=[codes[own] for codes, own in numbers])
            return wrong.most_held_by(theirs)
        combinations = distinct_rows(theirs)[0].T
        wrong = wrong_combinations(combinations, found.segment.dictionary.texts.take)
        return wrong.most_held_by(self._located(found))

    @cached_property
    def _wrong(self) -> WrongCombinations:
        """Those of mine, as numbers of my values."""
        tokens = self.query.tokens
        return wrong_combinations(self.query.combinations.T, *(one.take for one in tokens))

    def _by_parts(self, signals: Signals, way: Way) -> Signals | None:
        """The signals of a way of which wrong combinations meet as well, if its parts are believed;
        none if they are not, or if few meet of the combinations that could."""
        found = _found(way)
        held = [self._held(part, found) for part in range(len(way.columns))]
        parts = zip(held, self.query.combinations.T, strict=True)
        possible = np.logical_and.reduce([own[numbers] for own, numbers in parts])
        met = way.result.matched / max(1, int(possible.sum()))
        if max(signals.share, met) < _DENSE:
            return None
        best, most = None, BELIEVED
        for part, theirs in enumerate(way.result.columns):
            size, share, chance = self._part(part, found, int(held[part].sum()))
            believed = evidence(size, share, chance) >= BELIEVED
            if not believed and not _named_alike(way.columns[part], theirs):
                return None
            nats = evidence(size, signals.share, chance)
            if believed and nats >= most:
                best, most = replace(signals, values=size, chance=chance), nats
        return best

    def _held(self, part: int, found: Found) -> Array:
        """Which values of a part their column holds."""
        return held_in(
            self._codes(found)[part], found.segment.postings.codes_of(found.columns[part])
        )

    def _part(self, part: int, found: Found, matched: int) -> tuple[int, float, float]:
        """Of a column alone: how many values the smaller one has, the share that is in both, and
        that of wrong ones."""
        if part not in self._parts:
            self._parts[part] = Chances(self._mine.query(self._places[part]))
        column, mine = found.columns[part], len(self.query.tokens[part])
        theirs = len(found.segment.postings.codes_of(column))
        fewer = max(1, min(mine, theirs))
        chance = self._parts[part].of(found.number, found.segment, column, theirs)
        return fewer, min(1.0, matched / fewer), chance

    # -- my columns -------------------------------------------------------------------------------

    @cached_property
    def _cells(self) -> list[Array]:
        return [self._mine.cells(place)[1] for place in self._places]

    @cached_property
    def _words(self) -> RowWords:
        return RowWords(self._mine, self._places)

    def _codes(self, found: Found) -> list[Array]:
        """The codes of my values in a segment, by part."""
        if found.number not in self._known:
            find = found.segment.dictionary.find
            self._known[found.number] = [find(tokens) for tokens in self.query.tokens]
        return self._known[found.number]

    def _located(self, found: Found) -> list[Array]:
        """My combinations as codes of a segment, by part."""
        numbers = zip(self._codes(found), self.query.combinations.T, strict=True)
        return [codes[own] for codes, own in numbers]


@dataclass(frozen=True, slots=True)
class WrongCombinations:
    """Combinations that are wrong, by column, and the `kind` of each."""

    columns: Columns
    kind: Array

    def most_held_by(self, columns: Columns) -> float:
        """The share of a kind that some columns hold, of the kind where it is the largest."""
        if not len(self.kind):
            return 0.0
        held = np.bincount(self.kind, first_rows(columns, self.columns) >= 0)
        return float((held / np.bincount(self.kind)).max())


def wrong_combinations(columns: Columns, *texts: Texts, most: int = _WRONG) -> WrongCombinations:
    """Mixed combinations (kind 0), and neighbours in each part (1, 2 …).

    `columns` have distinct combinations of numbers; by them, `texts` gives the values of each part,
    or one function those of all.

    >>> import pyarrow as pa
    >>> names = pa.array(["ada", "bob", "cid"], pa.large_string()).take
    >>> wrong = wrong_combinations(np.array([[0, 1, 2], [2, 0, 1]]), names, most=3)
    >>> [column[wrong.kind == 1].tolist() for column in wrong.columns]
    [[1, 2, 1], [2, 0, 1]]
    >>> [column[wrong.kind == 2].tolist() for column in wrong.columns]
    [[0, 1, 2], [1, 1, 2]]
    """
    rows, parts = len(columns[0]), len(columns)
    if not rows:
        return WrongCombinations(columns, np.zeros(0, np.int64))
    random = np.random.default_rng(0)
    drawn = np.arange(rows) if rows <= most else np.sort(random.choice(rows, most, replace=False))
    made = []
    for part, column in enumerate(columns):
        mixed, right = column[random.integers(0, rows, len(drawn))], column[drawn]
        beside = _neighbours(column, texts[part % len(texts)])[drawn]
        kinds = [beside if other == part else right for other in range(parts)]
        made.append(np.concatenate([mixed, *kinds]))
    return WrongCombinations(made, np.repeat(np.arange(parts + 1), len(drawn)))


def _neighbours(column: Array, texts: Texts) -> Array:
    """For each cell, the value next to its own among those of the column; of the last, the one
    before it."""
    distinct, numbers = np.unique(column, return_inverse=True)
    order = _in_order(texts(distinct))
    beside = np.append(order[1:], order[-2:-1] if len(order) > 1 else order)
    following = np.empty(len(order), np.int64)
    following[order] = beside
    return np.asarray(distinct[following[numbers]])


def _in_order(values: pa.LargeStringArray) -> Array:
    """The places of values in their order: of numbers, or else of the alphabet."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(values, _WHOLE)).as_py():
        values = values.cast(pa.int64())
    return np.asarray(pc.sort_indices(values)).astype(np.int64)


def _named_alike(mine: str, theirs: str) -> bool:
    return mine.lower() == theirs.lower() or names_alike(mine, theirs).alike >= CONTAINED


def _codes_of(found: Found) -> list[Array]:
    """The codes of the joined columns of theirs, row by row."""
    return [found.segment.rows.codes(column, found.entry.rows) for column in found.columns]


def _best(ways: Sequence[Way]) -> list[Way]:
    return sorted(ways, key=lambda way: (-way.weighed.score, way.result.rank))


def _found(way: Way) -> Found:
    assert way.result.found is not None, "a result of a search has its place"
    return way.result.found
