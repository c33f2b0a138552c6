"""Join candidates on several columns together, compared with chance and by agreement of rows.

Chance is measured with two kinds of wrong combinations. Mixed ones take each value from another
row: the first name of one person with the last name of another. Neighbours replace one value by the
next one in its column: the next number, the next name in the alphabet; this catches numbers that
rise with the years in any two tables. Both are made from the smaller side and looked up in the
other, and the kind that matches most counts.

If every country has every year, wrong combinations match as well as right ones and say nothing.
Such a candidate is as good as its columns: each must be believed by itself, by its values or its
name, and the strongest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.composite.query import KeyQuery, distinct_rows, key_query
from lakejoin.model import Array
from lakejoin.ranking.join_candidates import JoinCandidate, measure_uniqueness
from lakejoin.ranking.join_score import BELIEVED, Signals, score_join
from lakejoin.ranking.row_agreement import IdColumns, compare_words, find_first_rows
from lakejoin.ranking.row_words import RowWords, leave_out, read_lake_words
from lakejoin.search.lake_background import ChanceEstimator, is_among
from lakejoin.search.options import SearchOptions
from lakejoin.search.query_columns import ColumnChoice
from lakejoin.signals.chance import LEAST_CHANCE, evidence
from lakejoin.signals.column_roles import is_time
from lakejoin.signals.name_similarity import CONTAINED, compare_names, is_time_name

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.ranking.join_candidates import MatchFigures
    from lakejoin.search.result import ResultLocation
    from lakejoin.search.searcher import Searcher

Texts = Callable[[Array], "pa.LargeStringArray"]

_FETCHED = 20  # tables per key
_AGAINST_CHANCE = 40
_BY_ROWS = 6
_FEWEST = 2  # combinations that must match
_WRONG = 250  # wrong combinations of each kind, to measure chance
_WHOLE = r"^-?\d{1,15}$"
_ROWS = 64
_DENSE = 0.5  # share of the possible combinations that must match
_KEY = 0.99  # distinct values per row of a key
_ALL = 0.95  # share of the rows matched on one column that makes the key redundant


def find_composite_candidates(
    searcher: Searcher, query_table: QueryTable, key: ColumnChoice, most: int = _FETCHED
) -> tuple[list[JoinCandidate], tuple[str, ...]]:
    """The candidates for a join on a composite key, and notes.

    Those that match most are compared with chance, and the best of these row by row. The others are
    dropped: combinations of small numbers match anywhere.
    """
    answer = searcher.search(query_table, key, SearchOptions("overlap", k=most, others=True))
    key_candidates = KeyCandidates(query_table, key.column_indexes)
    candidates = _best(
        [key_candidates.quick(result) for result in answer if result.matched >= _FEWEST]
    )
    candidates = [
        key_candidates.against_chance(candidate) for candidate in candidates[:_AGAINST_CHANCE]
    ]
    best = _best(candidates)[:_BY_ROWS]
    candidates = [
        key_candidates.with_agreement(candidate) if candidate in best else candidate
        for candidate in candidates
    ]
    return candidates, answer.notes


def make_key(column_indexes: Sequence[int]) -> ColumnChoice:
    """Some query columns as a composite key that any lake columns may match."""
    return ColumnChoice(tuple(column_indexes), (None,) * len(column_indexes))


def filter_composites(
    composite: Sequence[JoinCandidate], alone: Sequence[JoinCandidate]
) -> list[JoinCandidate]:
    """The composite candidates that add something to those on one column of the same table.

    Drops accidental ones if a single column joins, and those where a single column matches as many
    rows and is unique in the lake table.
    """
    by_table: dict[str, list[JoinCandidate]] = {}
    for candidate in alone:
        if candidate.believed:
            by_table.setdefault(candidate.result.table, []).append(candidate)
    return [
        candidate
        for candidate in composite
        if _says_more(candidate, by_table.get(candidate.result.table, ()))
    ]


def _says_more(candidate: JoinCandidate, alone: Sequence[JoinCandidate]) -> bool:
    if not candidate.believed:
        return not alone
    pairs = set(zip(candidate.query_columns, candidate.lake_columns, strict=True))
    covered = candidate.result.row_coverage or 0.0
    return not any(
        (single.query_columns[0], single.lake_columns[0]) in pairs
        and measure_uniqueness(single.result) >= _KEY
        and covered >= _ALL * (single.result.row_coverage or 0.0)
        for single in alone
    )


class KeyCandidates:
    """The candidates for joins on several query columns together."""

    def __init__(self, query_table: QueryTable, column_indexes: Sequence[int]) -> None:
        self._query_table = query_table
        self._column_indexes = tuple(column_indexes)
        self._codes_by_segment: dict[int, list[Array]] = {}
        self._part_chances: dict[int, ChanceEstimator] = {}

    @cached_property
    def query(self) -> KeyQuery:
        """The combinations to search for."""
        return key_query(self._query_table, self._column_indexes)

    def quick(self, result: MatchFigures) -> JoinCandidate:
        """A candidate from the figures of a result alone, assuming low chance."""
        query = self.query
        fewer = max(1, min(result.query_size, result.column_size))
        pairs = zip(query.columns, result.columns, strict=True)
        names = [compare_names(own, their_name).similarity for own, their_name in pairs]
        share = min(1.0, result.matched / fewer)
        # A similar name of one column says nothing about the others.
        alike, unique = min(names), measure_uniqueness(result)
        signals = Signals(fewer, share, LEAST_CHANCE, result.containment, alike, unique=unique)
        return JoinCandidate(query.columns, result, signals)

    def against_chance(self, candidate: JoinCandidate) -> JoinCandidate:
        """Add what chance would match."""
        chance = max(LEAST_CHANCE, self._chance(candidate.location, candidate.result.column_size))
        signals = replace(candidate.signals, chance=chance)
        if score_join(replace(signals, names=0.0)).coincidence is not None:
            signals = self._by_parts(signals, candidate) or signals
        return replace(candidate, signals=signals)

    def with_agreement(self, candidate: JoinCandidate) -> JoinCandidate:
        """Add whether other columns agree in matching rows.

        They must agree more than rows that share only one key column, as texts of one language
        always have words in common.
        """
        location = candidate.location
        matched = location.find_shared_values().positions
        if len(matched) > _ROWS:
            matched = matched[np.linspace(0, len(matched) - 1, _ROWS).astype(np.int64)]
        if len(matched) < 2:
            return candidate
        token_ids = list(self.query.combinations[matched].T)
        codes = [codes[own] for codes, own in zip(self._codes(location), token_ids, strict=True)]
        joined = leave_out(
            [tokens.take(own) for tokens, own in zip(self.query.tokens, token_ids, strict=True)]
        )
        mine = self._words.at(find_first_rows(self._cells, token_ids), joined)
        rows = find_first_rows(_codes_of(location), codes)
        theirs = read_lake_words(
            location.segment, location.entry, location.segment_columns, rows, joined
        )
        # `compare_words` compares with the rows that follow; sorted, those share a key column.
        orders = [np.argsort(own, kind="stable") for own in token_ids]
        return candidate.with_rows(
            min(compare_words(mine.take(order), theirs.take(order)) for order in orders)
        )

    # -- wrong combinations -----------------------------------------------------------------------

    def _chance(self, location: ResultLocation, size: int) -> float:
        """The share of wrong combinations of the smaller side that the other side holds."""
        theirs = _codes_of(location)
        if len(self.query) <= size:
            pairs = zip(self._codes(location), self._wrong.columns, strict=True)
            wrong = replace(self._wrong, columns=[codes[own] for codes, own in pairs])
            return wrong.most_held_by(theirs)
        combinations = distinct_rows(theirs)[0].T
        wrong = wrong_combinations(combinations, location.segment.dictionary.texts.take)
        return wrong.most_held_by(self._located(location))

    @cached_property
    def _wrong(self) -> WrongCombinations:
        """Wrong combinations of the query, as token ids."""
        tokens = self.query.tokens
        return wrong_combinations(self.query.combinations.T, *(values.take for values in tokens))

    def _by_parts(self, signals: Signals, candidate: JoinCandidate) -> Signals | None:
        """The signals if wrong combinations match too but each column is believed by itself; None
        if one is not, or if few of the possible combinations match."""
        location = candidate.location
        held = [self._held(part, location) for part in range(len(candidate.query_columns))]
        parts = zip(held, self.query.combinations.T, strict=True)
        possible = np.logical_and.reduce([own[token_ids] for own, token_ids in parts])
        share_of_possible = candidate.result.matched / max(1, int(possible.sum()))
        if max(signals.share, share_of_possible) < _DENSE:
            return None
        best, most = None, BELIEVED
        for part, theirs in enumerate(candidate.result.columns):
            size, share, chance = self._part(part, location, int(held[part].sum()))
            believed = evidence(size, share, chance) >= BELIEVED
            alike = _named_alike(candidate.query_columns[part], theirs)
            if not believed and not alike and not self._is_time(part, location):
                return None
            nats = evidence(size, signals.share, chance)
            if believed and nats >= most:
                best, most = replace(signals, values=size, chance=chance), nats
        return best

    def _is_time(self, part: int, location: ResultLocation) -> bool:
        """Whether a key column and its lake column both hold dates or years, and say so."""
        lake_columns = list(location.segment.catalog.columns_of(location.entry))
        theirs = lake_columns[location.segment_columns[part] - location.entry.first]
        own = self._column_indexes[part]
        named = is_time_name(self._query_table.column_names[own]) and is_time_name(theirs.name)
        return named and is_time(self._query_table.profile(own)) and is_time(theirs.profile)

    def _held(self, part: int, location: ResultLocation) -> Array:
        """Which values of a key column the lake column holds."""
        return is_among(
            self._codes(location)[part],
            location.segment.postings.codes_of(location.segment_columns[part]),
        )

    def _part(self, part: int, location: ResultLocation, matched: int) -> tuple[int, float, float]:
        """For one key column: the values of the smaller column, the share that matches, and the
        share of wrong values that would."""
        if part not in self._part_chances:
            self._part_chances[part] = ChanceEstimator(
                self._query_table.query(self._column_indexes[part])
            )
        column, mine = location.segment_columns[part], len(self.query.tokens[part])
        theirs = len(location.segment.postings.codes_of(column))
        fewer = max(1, min(mine, theirs))
        chance = self._part_chances[part].of(
            location.segment_index, location.segment, column, theirs
        )
        return fewer, min(1.0, matched / fewer), chance

    # -- query columns ----------------------------------------------------------------------------

    @cached_property
    def _cells(self) -> list[Array]:
        return [self._query_table.cells(column_index)[1] for column_index in self._column_indexes]

    @cached_property
    def _words(self) -> RowWords:
        return RowWords(self._query_table, self._column_indexes)

    def _codes(self, location: ResultLocation) -> list[Array]:
        """The codes of the query's tokens in a segment, by key column."""
        if location.segment_index not in self._codes_by_segment:
            find = location.segment.dictionary.find
            self._codes_by_segment[location.segment_index] = [
                find(tokens) for tokens in self.query.tokens
            ]
        return self._codes_by_segment[location.segment_index]

    def _located(self, location: ResultLocation) -> list[Array]:
        """The query's combinations as codes of a segment, by key column."""
        pairs = zip(self._codes(location), self.query.combinations.T, strict=True)
        return [codes[own] for codes, own in pairs]


@dataclass(frozen=True, slots=True)
class WrongCombinations:
    """Wrong combinations, by column, and the `kind` of each."""

    columns: IdColumns
    kind: Array

    def most_held_by(self, columns: IdColumns) -> float:
        """The share of wrong combinations that some columns hold, of the kind they hold most."""
        if not len(self.kind):
            return 0.0
        held = np.bincount(self.kind, find_first_rows(columns, self.columns) >= 0)
        return float((held / np.bincount(self.kind)).max())


def wrong_combinations(columns: IdColumns, *texts: Texts, most: int = _WRONG) -> WrongCombinations:
    """Mixed combinations (kind 0), and neighbours in each column (1, 2 …).

    `columns` have distinct combinations of ids; `texts` maps the ids of each column to values, or a
    single function those of all columns.

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
    """For each cell, the next value of the column in order; the previous one for the last."""
    distinct, numbers = np.unique(column, return_inverse=True)
    order = _in_order(texts(distinct))
    beside = np.append(order[1:], order[-2:-1] if len(order) > 1 else order)
    following = np.empty(len(order), np.int64)
    following[order] = beside
    return np.asarray(distinct[following[numbers]])


def _in_order(values: pa.LargeStringArray) -> Array:
    """The sort order of values: numeric if all are whole numbers, otherwise alphabetical."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(values, _WHOLE)).as_py():
        values = values.cast(pa.int64())
    return np.asarray(pc.sort_indices(values)).astype(np.int64)


def _named_alike(mine: str, theirs: str) -> bool:
    return mine.lower() == theirs.lower() or compare_names(mine, theirs).similarity >= CONTAINED


def _codes_of(location: ResultLocation) -> list[Array]:
    """The codes of the joined lake columns, row by row."""
    return [
        location.segment.rows.codes(column, location.entry.rows)
        for column in location.segment_columns
    ]


def _best(candidates: Sequence[JoinCandidate]) -> list[JoinCandidate]:
    return sorted(
        candidates, key=lambda candidate: (-candidate.join_score.score, candidate.result.rank)
    )
