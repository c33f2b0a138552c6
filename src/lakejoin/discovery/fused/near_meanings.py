"""The ways to join by meaning: which columns have texts that mean the same as mine?

A search by meaning takes long, so it is done for some of my values, those first that have no equal
partner: where values are equal, a meaning is not needed. Told are columns that hold a partner for
clearly more of these than they hold equal ones.

What chance would give is measured with texts that are certainly wrong. Some are put together from
the words of two of my values, or of their halves; others are values of other columns of the lake,
of about the same length; and each value of the column itself is wrong for all others: of schools
that are called Ohio, Ohio State and Ohio Northern, a meaning cannot tell which one is meant. The
kind that has the most partners is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.fused.agreeing import RowWords, agreeing, their_words, words_of
from lakejoin.discovery.fused.chances import held_in
from lakejoin.discovery.fused.holding import first_rows
from lakejoin.discovery.fused.ways import Way, unique_of
from lakejoin.discovery.fused.wrong_texts import are_words, mixed_texts, texts_of_lake
from lakejoin.errors import InputError
from lakejoin.search.fuse import Signals
from lakejoin.search.near_options import ByMeaning
from lakejoin.search.options import SearchOptions
from lakejoin.search.query import Query, locate
from lakejoin.search.reach import tau_text
from lakejoin.search.tau import LARGEST
from lakejoin.signals.chance import LEAST
from lakejoin.signals.likely_names import names_alike
from lakejoin.store.meaning import TYPES

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.encoders import Encoder
    from lakejoin.search.meaning import MeaningSearch
    from lakejoin.search.mine import MyTable
    from lakejoin.search.result import Found, NearResult
    from lakejoin.search.searcher import Searcher
    from lakejoin.search.vectors.engine import VectorSearch
    from lakejoin.search.vectors.hits import Pairs, VectorHits
    from lakejoin.search.vectors.space import Nearness
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_SAMPLE = 24  # values of mine
_FEWEST = 8  # values that make it worth while
_HALF = 0.5  # of the sample must have a partner
_FOUND = 40  # columns
_CLOSELY = 6  # of them are compared with chance
_MOST = 4  # ways
_TEXTS = 20_000  # that are read for it
_MORE = 0.2  # of the sample must have a partner and no equal one; and more than of wrong texts
_EXACTLY = 1_000_000  # pairs of a value of mine and theirs: where there are more, it is a sample


def by_meaning(
    searcher: Searcher, mine: MyTable, place: int, unmet: Array | None = None
) -> list[Way]:
    """The ways to join by the meaning of one column of mine; none where the index has no vectors,
    or the column no texts of some length.

    `unmet` are the places, among the values of the column, of those that found no equal partner in
    the tables that were found before: these are asked for first, and nothing where they are few.
    """
    if not has_meaning(mine, place):
        return []
    query = mine.query(place)
    if unmet is not None and len(unmet) < max(_FEWEST, len(query) // 10):
        return []
    asked = _asked(searcher, mine, place, query, unmet)
    if asked is None:
        return []
    compared = (replace(one, chance=asked.chance(one)) for one in _first(asked.gains()))
    kept = [one for one in compared if one.share - one.chance >= _MORE]
    best: dict[tuple[int, int], _Gain] = {}
    for one in kept:  # of a table, one column
        best.setdefault((one.segment, asked.table_of(one)), one)
    ways = asked.ways(list(best.values())[:_MOST])
    return [way for way in ways if not way.weighed.accidental]


def has_meaning(mine: MyTable, place: int) -> bool:
    """Whether a column of mine has some texts, and not codes or dates."""
    if mine.profile(place).type not in TYPES:
        return False
    tokens = mine.query(place).tokens
    return len(tokens) >= _FEWEST and are_words(tokens)


def _first(gains: Iterable[_Gain]) -> Iterator[_Gain]:
    """Those that add most, as many as are quickly compared: the first in any case."""
    texts = 0
    for number, one in enumerate(sorted(gains, key=lambda one: -one.more)):
        texts += one.size
        if number and (number >= _CLOSELY or texts > _TEXTS):
            return
        yield one


def unmet_by(query: Query, ways: Sequence[Way]) -> Array:
    """The places of the values of a column that meet in none of some ways."""
    met = np.zeros(len(query), dtype=bool)
    for way in ways:
        if way.result.found is not None and way.kind == "equal":
            met[way.result.found.meeting().places] = True
    return np.flatnonzero(~met)


@dataclass(frozen=True, slots=True)
class _Gain:
    """A column of theirs, with the `pairs` of partners of the sample.

    `more` is the share of the sample that has a partner and no equal one. Of the `differing` values
    without an equal one a `share` has a partner, and a part `chance` of wrong texts has.
    """

    segment: int
    column: int
    size: int
    pairs: Pairs
    more: float
    differing: int
    share: float
    chance: float = 0.0


@dataclass(frozen=True, eq=False)
class Estimated:
    """A result of which some values were looked at: what `Met` asks for, as far as it is known."""

    result: NearResult
    matched: int
    rank: int
    table: str
    columns: tuple[str, ...]
    query_size: int
    column_size: int
    found: Found | None
    row_coverage: None = None
    fan_out: None = None

    @classmethod
    def of(cls, result: NearResult, matched: int) -> Estimated:
        """What is known of a result, if so many values have a partner."""
        known = result.rank, result.table, result.columns, result.query_size, result.column_size
        return cls(result, matched, *known, result.found)

    @property
    def containment(self) -> float:
        """The share of my values that have a partner, about."""
        return self.matched / self.query_size

    def sql(self) -> str:
        """DuckDB SQL that makes the join, for which all pairs are looked at."""
        return self.result.sql()


@dataclass(frozen=True, eq=False)
class _Asked:
    """Some values of mine, and what is near them."""

    search: MeaningSearch
    query: Query
    encoder: Encoder
    engine: VectorSearch
    nearness: Nearness
    chosen: Array
    vectors: Array
    wrong: Array  # vectors: mixed texts before those of the lake
    wrong_texts: pa.LargeStringArray
    mixed: int

    def gains(self) -> Iterator[_Gain]:
        """The columns with partners for clearly more of the values than are equal there."""
        least = max(1, int(np.ceil(_HALF * len(self.chosen))))
        nearness = replace(self.nearness, least=least, k=_FOUND)
        hits = self.engine.search(self.vectors, nearness, self.search.excluded)
        for segment, column in zip(hits.segment.tolist(), hits.column.tolist(), strict=True):
            gain = self._gain(segment, column, hits)
            if gain.more >= _MORE:
                yield gain

    def _gain(self, segment: int, column: int, hits: VectorHits) -> _Gain:
        pairs = self.engine.pairs(self.vectors, self.nearness, segment, column, hits)
        differing = np.flatnonzero(~self._held(segment, column)[self.chosen])
        near = len(np.intersect1d(pairs.place, differing))
        size = self.search.places[segment].size_of(column)
        more, share = near / len(self.chosen), near / max(1, len(differing))
        return _Gain(segment, column, size, pairs, more, len(differing), share)

    def _held(self, segment: int, column: int) -> Array:
        """Which of all my values a column holds."""
        opened = self._segment(segment)
        return held_in(locate(self.query, segment, opened), opened.postings.codes_of(column))

    def chance(self, gain: _Gain) -> float:
        """The share of wrong texts that have a partner in a column, of the kind that has most."""
        segment = self._segment(gain.segment)
        theirs = segment.postings.codes_of(gain.column)
        own = theirs[sample(len(theirs))]
        codes = np.concatenate([segment.dictionary.find(self.wrong_texts), own])
        vectors = self.encoder.encode(segment.dictionary.texts.take(own))
        vectors = np.concatenate([self.wrong, vectors])
        pairs = self.engine.pairs(vectors, self.nearness, gain.segment, gain.column)
        others = segment.meaning.codes.take(pairs.id) != codes[pairs.place]
        met = np.zeros(len(codes), dtype=bool)
        met[pairs.place[others]] = True
        kind = np.repeat([0, 1, 2], [self.mixed, len(self.wrong) - self.mixed, len(own)])
        # Texts of the lake that it holds itself are not wrong there.
        asked = (kind == 2) | ~held_in(codes, theirs)
        shares = np.bincount(kind[asked & met], minlength=3) / np.bincount(
            kind[asked], minlength=3
        ).clip(1)
        return float(shares.max())

    def table_of(self, gain: _Gain) -> int:
        """The table of a column."""
        return self.search.places[gain.segment].table_of(gain.column)

    def ways(self, gains: Sequence[_Gain]) -> Iterator[Way]:
        """The ways by some columns."""
        for gain, result in zip(gains, self._results(gains), strict=True):
            way = self._way(gain, result)
            yield way.with_rows(self._agreement(gain, result))

    def _results(self, gains: Sequence[_Gain]) -> Sequence[NearResult]:
        from lakejoin.search.copies import Copies
        from lakejoin.search.vectors.hits import VectorCounters, VectorHits

        search = self.search
        segment, column = (
            np.array([(g.segment, g.column) for g in gains], np.int64).reshape(-1, 2)
        ).T
        matched = np.array([self._estimated(gain) for gain in gains], np.int64)
        none = [None] * len(search.snapshot.segments)
        hits = VectorHits(segment, column, matched, matched, VectorCounters(), none)
        copies = Copies(search.snapshot.segments, search.places, search.mine, search.place)
        return search.results(hits, copies)

    def _estimated(self, gain: _Gain) -> int:
        """How many of my values have a partner: those that are equal, and of the others as many as
        of those that were looked at."""
        held = self._held(gain.segment, gain.column)
        equal = int(held.sum())
        return equal + round(gain.share * (len(held) - equal))

    def _way(self, gain: _Gain, result: NearResult) -> Way:
        assert self.search.reach.tau is not None
        how = f"by meaning, within {tau_text(self.search.reach.tau)}"
        told: NearResult | Estimated
        if len(self.query) * result.column_size <= _EXACTLY and result.partners is not None:
            pairs = result.partners()
            matched = len(pairs.first)
            share = matched / len(self.query)
            told = replace(result, matched=matched, containment=share, pairs=len(pairs))
        else:
            told = Estimated.of(result, result.matched)
            how += f"; from {len(self.chosen)} values"
        signals = Signals(
            gain.differing,
            gain.share,
            max(LEAST, gain.chance),
            told.containment,
            names_alike(self.query.column, result.columns[0]).alike,
            unique=unique_of(told),
        )
        return Way((self.query.column,), told, signals, "meaning", how)

    def _agreement(self, gain: _Gain, result: NearResult) -> float:
        """Whether other columns agree in rows of values and their nearest partners."""
        found, pairs = result.found, gain.pairs
        assert found is not None, "a result of a search has its place"
        first = np.flatnonzero(np.diff(pairs.place, prepend=-1))
        segment, tokens = found.segment, self.query.tokens
        codes = segment.meaning.codes.take(pairs.id[first])
        values = tokens.take(self.chosen[pairs.place[first]])
        own, cells = found.mine.cells(found.places[0])
        mine = first_rows([cells], [_places_in(own, values)])
        theirs = first_rows([segment.rows.codes(gain.column, found.entry.rows)], [codes])
        if len(first) < 2 or (mine < 0).any() or (theirs < 0).any():
            return 0.0
        partners = segment.dictionary.texts.take(codes).to_pylist()
        joined = [
            words_of(a) | words_of(b) for a, b in zip(values.to_pylist(), partners, strict=True)
        ]
        ours = RowWords(found.mine, found.places).at(mine)
        others = their_words(segment, found.entry, found.columns, theirs)
        return agreeing(
            [one - both for one, both in zip(ours, joined, strict=True)],
            [one - both for one, both in zip(others, joined, strict=True)],
        )

    def _segment(self, number: int) -> Segment:
        return self.search.snapshot.segments[number]


def _asked(
    searcher: Searcher, mine: MyTable, place: int, query: Query, unmet: Array | None
) -> _Asked | None:
    """What is asked for; none where the index has no vectors, or no encoder to make such."""
    import pyarrow as pa

    from lakejoin.search.meaning import MeaningSearch
    from lakejoin.search.vectors.space import Nearness

    options = SearchOptions("meaning", k=_FOUND, others=True, near=ByMeaning())
    search = searcher.near(mine, (place,), options)
    assert isinstance(search, MeaningSearch)
    try:
        encoder = search.meanings.encoder()
    except InputError:
        return None
    chosen = sample(len(query), unmet)
    some = query.tokens.take(chosen)
    mixed = mixed_texts(some.to_pylist(), frozenset(query.tokens.to_pylist()))
    drawn = texts_of_lake(search.snapshot.segments, some)
    wrong = pa.array([*mixed, *drawn], pa.large_string())
    assert search.reach.tau is not None
    nearness = Nearness(LARGEST * search.reach.tau)
    vectors, others = encoder.encode(some), encoder.encode(wrong)
    engine = search.meanings.engine(encoder)
    return _Asked(
        search, query, encoder, engine, nearness, chosen, vectors, others, wrong, len(mixed)
    )


def _places_in(tokens: pa.LargeStringArray, values: pa.LargeStringArray) -> Array:
    import pyarrow.compute as pc

    return np.asarray(pc.index_in(values, value_set=tokens).to_numpy())


def sample(size: int, first: Array | None = None, most: int = _SAMPLE) -> Array:
    """Some of so many places, ascending: of the `first` ones if these are enough.

    >>> sample(3).tolist(), sample(9, np.array([4, 5]), 2).tolist()
    ([0, 1, 2], [4, 5])
    """
    random = np.random.default_rng(0)
    before = np.zeros(0, np.int64) if first is None else random.permutation(first)[:most]
    rest = np.setdiff1d(np.arange(size), before)
    more = random.permutation(rest)[: most - len(before)]
    return np.sort(np.concatenate([before, more]))
