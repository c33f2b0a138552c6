"""Compare the query table with lake tables: how alike their columns are, and the best alignment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import QueryTable, is_searched, locate_codes
from lakejoin.model import Array
from lakejoin.search.lake_background import ChanceEstimator, LakeNames, is_among
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.union.column_likeness import (
    NOT_ALIKE,
    SAMPLE,
    ColumnSample,
    Likeness,
    NameContext,
    ValueOverlap,
    compatible_types,
    plain_name,
    score_likeness,
)
from lakejoin.union.union_candidates import column_weight

if TYPE_CHECKING:
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.union.union_meanings import ColumnMeanings


COLUMNS = 100  # columns of a table that are compared
QUERY_WEIGHT = 0.5  # weight of covering the query table's columns; the rest is for the lake table's
_FEW = 0.05  # share of values below which an overlap is not tested against chance


@dataclass(frozen=True, slots=True, eq=False)
class ComparedTable:
    """A lake table compared with the query table: the aligned columns (indexes in both tables), how
    alike each pair is, and the score of the alignment."""

    segment_index: int
    segment: Segment
    entry: TableEntry
    columns: tuple[ColumnEntry, ...]
    pairs: Alignment
    likenesses: tuple[Likeness, ...]
    score: float


class TableComparer:
    """Compares lake tables with the query table; facts about its columns are computed once."""

    def __init__(
        self, searcher: Searcher, query_table: QueryTable, names: LakeNames, weights: Array
    ) -> None:
        self._segments = searcher.snapshot.segments
        self._every = searcher.snapshot.manifest.options.all_columns
        self._query_table = query_table
        self._names = names
        self._weights = weights[:COLUMNS]
        self._chances: dict[int, ChanceEstimator] = {}
        self._codes: dict[tuple[int, int], Array] = {}
        self._tables: dict[tuple[int, int], _LakeTable] = {}

    @cached_property
    def samples(self) -> list[ColumnSample]:
        names, profiles = self._query_table.column_names, self._query_table.profiles()
        return [
            ColumnSample(names[query_column], profiles[query_column], self._some(query_column))
            for query_column in range(min(len(names), COLUMNS))
        ]

    def _some(self, query_column: int) -> Sequence[str]:
        tokens = self._query_table.query(query_column).tokens
        texts: Sequence[str] = tokens.take(_spread(len(tokens))).to_pylist()
        return texts

    def compare(
        self, segment_index: int, table: int, meanings: ColumnMeanings | None = None
    ) -> ComparedTable:
        """Compare a lake table; with `meanings`, by the meaning of texts too."""
        lake = self._table(segment_index, table)
        named = lake.compare_headers(self._query_table.column_names)
        likenesses = [
            [
                self._likeness(query_column, column, lake, named, meanings)
                for column in range(lake.width)
            ]
            for query_column in range(len(self.samples))
        ]
        scores = np.array([[like.score for like in row] for row in likenesses])
        weights = np.array(
            [column_weight(self._names.specificity(entry.name)) for entry in lake.columns]
        )
        pairs, score = choose_alignment(scores, lambda some: self._worth(scores, weights, some))
        alike = tuple(likenesses[query_column][column] for query_column, column in pairs)
        return ComparedTable(
            segment_index, lake.segment, lake.entry, lake.columns, pairs, alike, score
        )

    def _table(self, segment_index: int, table: int) -> _LakeTable:
        if (segment_index, table) not in self._tables:
            segment = self._segments[segment_index]
            self._tables[segment_index, table] = _LakeTable(segment_index, segment, table)
        return self._tables[segment_index, table]

    def _worth(self, scores: Array, weights: Array, pairs: Alignment) -> float:
        """How alike the aligned columns are, times how much of both tables they cover."""
        query_columns, lake_columns = (np.array(indexes) for indexes in zip(*pairs, strict=True))
        count = self._weights[query_columns]
        aligned = scores[query_columns, lake_columns]
        goodness = float(np.exp((count * np.log(aligned)).sum() / count.sum()))
        covered = count.sum() / self._weights.sum()
        lake_covered = weights[lake_columns].sum() / weights.sum()
        return goodness * float(covered**QUERY_WEIGHT * lake_covered ** (1 - QUERY_WEIGHT))

    def _likeness(
        self,
        query_column: int,
        column: int,
        lake_table: _LakeTable,
        named: NameContext,
        meanings: ColumnMeanings | None,
    ) -> Likeness:
        query, lake = self.samples[query_column], lake_table.samples[column]
        if not compatible_types(query.type, lake.type):
            return NOT_ALIKE
        if (query_column, column) not in lake_table.shared:
            lake_table.shared[query_column, column] = self._count_shared(
                query_column, lake_table, column
            )
        shared = lake_table.shared[query_column, column]
        meaning = 0.0
        if meanings and not shared.both:
            meaning = meanings.similarity(query_column, query, lake)
        named = replace(named, telling=self._names.specificity(lake.name))
        return score_likeness(query, lake, shared, named, meaning)

    def _count_shared(self, query_column: int, lake_table: _LakeTable, column: int) -> ValueOverlap:
        """The values that both columns hold, if both are searched."""
        query, entry = self.samples[query_column].profile, lake_table.columns[column]
        size = entry.profile.distinct
        if not (entry.indexed and size and is_searched(query.type, self._every) and query.distinct):
            return ValueOverlap()
        codes = self._locate_codes(query_column, lake_table.segment_index), lake_table.codes[column]
        smaller, larger = codes if len(codes[0]) < len(codes[1]) else codes[::-1]
        both = int(is_among(smaller, larger).sum())
        fewer = min(query.distinct, size)
        if both < max(2, _FEW * fewer):
            return ValueOverlap(both, fewer, 1.0)
        if query_column not in self._chances:
            self._chances[query_column] = ChanceEstimator(self._query_table.query(query_column))
        chance = self._chances[query_column].of(
            lake_table.segment_index, lake_table.segment, entry.column_id, size
        )
        return ValueOverlap(both, fewer, chance)

    def _locate_codes(self, query_column: int, segment_index: int) -> Array:
        """The codes of a column's values in a segment, ascending."""
        if (query_column, segment_index) not in self._codes:
            query, segment = self._query_table.query(query_column), self._segments[segment_index]
            codes = locate_codes(query, segment_index, segment)
            self._codes[query_column, segment_index] = np.sort(codes[codes != NOT_FOUND])
        return self._codes[query_column, segment_index]


class _LakeTable:
    """A lake table that is compared; facts about its columns are computed once."""

    def __init__(self, segment_index: int, segment: Segment, table: int) -> None:
        self.segment_index = segment_index
        self.segment = segment
        self.entry = segment.catalog.table(table)
        self.columns = segment.catalog.columns_of(self.entry)[:COLUMNS]
        self.width = len(self.columns)
        # By column of the query table and of this one.
        self.shared: dict[tuple[int, int], ValueOverlap] = {}

    @cached_property
    def codes(self) -> list[Array]:
        """The distinct values of each column, ascending."""
        rows, postings = self.segment.rows, self.segment.postings
        return [
            np.asarray(postings.codes_of(entry.column_id))
            if entry.indexed
            else rows.set_with_counts(entry.column_id, self.entry.rows)[0]
            for entry in self.columns
        ]

    @cached_property
    def samples(self) -> list[ColumnSample]:
        """The columns with some of their texts, which are looked up together."""
        some = [np.sort(codes[_spread(len(codes))]) for codes in self.codes]
        texts = self.segment.dictionary.texts.take(np.concatenate(some)).to_pylist()
        ends = np.cumsum([len(codes) for codes in some]).tolist()
        return [
            ColumnSample(entry.name, entry.profile, texts[end - len(codes) : end])
            for entry, codes, end in zip(self.columns, some, ends, strict=True)
        ]

    def compare_headers(self, names: Sequence[str]) -> NameContext:
        """How much of both headers is the same: of the whole, if more than one name is, and of the
        shorter one."""
        query_names = {plain_name(name) for name in names[:COLUMNS]} - {""}
        lake_names = {plain_name(entry.name) for entry in self.columns} - {""}
        both = len(query_names & lake_names)
        whole = 2 * both / max(1, len(query_names) + len(lake_names)) if both > 1 else 0.0
        return NameContext(1.0, whole, both / max(1, min(len(query_names), len(lake_names))))


def _spread(size: int) -> Array:
    """Evenly spread positions, at most `SAMPLE` of `size`."""
    return np.linspace(0, size - 1, min(size, SAMPLE)).astype(np.int64)


# (Column of the query table, column of the lake table), by the first.
Alignment = tuple[tuple[int, int], ...]

_NOTHING = 1e-12  # rounding error of sums


def best_alignments(likeness: Array) -> Iterator[Alignment]:
    """Yield the best 1-alignment, 2-alignment, and so on, of pairs with a likeness above 0.

    >>> likeness = np.array([[0.9, 0.8], [0.8, 0.0]])
    >>> list(best_alignments(likeness))
    [((0, 0),), ((0, 1), (1, 0))]
    """
    with np.errstate(divide="ignore"):
        cost = np.where(likeness > 0, -np.log(likeness), np.inf)
    partner = np.full(len(cost), -1)  # of each row
    while (path := _shortest_path(cost, partner)) is not None:
        for row, column in path:
            partner[row] = column
        yield tuple((row, int(partner[row])) for row in np.flatnonzero(partner >= 0).tolist())


def _shortest_path(cost: Array, partner: Array) -> list[tuple[int, int]] | None:
    """The cheapest augmenting path: (row, new column) along it; None if no pair can be added."""
    if not cost.size:
        return None
    taken = np.flatnonzero(partner >= 0)
    free_column = np.ones(cost.shape[1], dtype=bool)
    free_column[partner[taken]] = False
    # The cost of reaching each row: 0 if it has no column yet, else the cost of its column for
    # another row, less that of the pair that is given up.
    at_row = np.where(partner < 0, 0.0, np.inf)
    at_column = np.full(cost.shape[1], np.inf)
    before = np.full(cost.shape[1], -1)
    every = np.arange(cost.shape[1])
    while True:
        to_column = at_row[:, None] + cost
        nearest = to_column.argmin(axis=0)
        reached = to_column[nearest, every]
        # Only improvements count, so that a path never contains a cycle.
        better = reached < at_column - _NOTHING
        if not better.any():
            break
        at_column[better], before[better] = reached[better], nearest[better]
        at_row[taken] = at_column[partner[taken]] - cost[taken, partner[taken]]
    ends = np.flatnonzero(free_column & np.isfinite(at_column))
    if not len(ends):
        return None
    column = int(ends[at_column[ends].argmin()])
    path = []
    while True:
        row = int(before[column])
        path.append((row, column))
        if partner[row] < 0:
            return path
        column = int(partner[row])


def choose_alignment(
    likeness: Array, worth: Callable[[Alignment], float]
) -> tuple[Alignment, float]:
    """The alignment with the highest `worth` among the best c-alignments, and its worth; empty if
    no columns are alike.

    >>> likeness = np.array([[0.9, 0.1], [0.1, 0.05]])
    >>> choose_alignment(likeness, lambda pairs: float(min(likeness[p] for p in pairs)))
    (((0, 0),), 0.9)
    """
    best: Alignment = ()
    most = 0.0
    for pairs in best_alignments(likeness):
        value = worth(pairs)
        if value > most:
            best, most = pairs, value
    return best, most
