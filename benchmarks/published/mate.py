"""MATE as the paper has it (algorithm 1), and the two baselines it was compared with.

The product reads the posting lists of all key columns for its bounds, and filters rows by super
keys where that pays. Algorithm 1 reads those of the initial column only, and always filters; SCR
(single-column retrieval) verifies every row with a value of the initial column, and MCR
(multi-column retrieval) fetches the rows of every key column and intersects them. All give the same
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from lakejoin.engines.composite.engine import KeySegmentSearch, Mate
from lakejoin.engines.composite.hits import BestTables, KeyCounters, KeyHits
from lakejoin.engines.composite.mapping_kernels import (
    ColumnCoverage,
    MappingGoal,
    find_best_mapping,
    mark_matching_rows,
)
from lakejoin.engines.composite.query import KeyQuery, Trie
from lakejoin.engines.composite.table_reader import (
    AT,
    BEST_COUNT,
    CUT_SHORT,
    ROWS_PASSED,
    ROWS_SEEN,
    ROWS_TRUE,
    STATE,
    STEPS,
    TABLES_READ,
    CandidateTables,
    RowSource,
    bare_source,
    choose_columns,
    least_to_enter,
    number_cells,
)
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.topk import column_key, push_column, rank_of, would_enter
from lakejoin.model import Array
from lakejoin.store.segment import Segment

ROW_FILTERS = ("superkeys", "none", "each")


@dataclass(frozen=True, slots=True)
class PublishedOptions:
    """How to search.

    `row_filter`: "superkeys" are those of the index; "none" verifies every row with a value of the
    initial column (SCR), "each" intersects the rows of all key columns (MCR). Without `bounds`,
    tables are bounded by the initial column alone, and all their columns are tried, as in algorithm
    1; `initial` "items" is then the fewest entries in posting lists. `pairs` as in
    `KeySegmentSearch`.
    """

    row_filter: str = "superkeys"
    bounds: bool = True
    initial: str | int = "items"
    pairs: int = KeySegmentSearch.pairs


@dataclass(frozen=True, slots=True)
class PublishedMate:
    """Finds the k tables that hold most key combinations, like `Mate`."""

    k: int = 10
    options: PublishedOptions = field(default_factory=PublishedOptions)

    def search(
        self, query: KeyQuery, segments: Sequence[Segment], excluded: ExcludedColumns | None = None
    ) -> KeyHits:
        """The best tables of all segments."""
        if self.options.row_filter != "superkeys":
            segments = [_without_super_keys(segment) for segment in segments]
        search = partial(_PublishedSearch, self.options)
        return Mate(self.k, self.options.initial, search).search(query, segments, excluded)


def _without_super_keys(segment: Segment) -> Segment:
    """The same segment, opened, as if it had no super keys."""
    bare = Segment(segment.location, segment.record)
    bare.__dict__.update(segment.__dict__, superkeys=None)
    return bare


class _PublishedSearch(KeySegmentSearch):
    """The search of one segment, by some options."""

    def __init__(self, options: PublishedOptions, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._options = options
        self.pairs = options.pairs
        self.wide = KeySegmentSearch.wide if options.bounds else 0

    def _read_lists(self, out: Array) -> tuple[list[Array], int]:
        if self._options.bounds:
            return super()._read_lists(out)
        first = self._chosen()
        codes, weights = self._numbering.live_codes(first)
        served, items = self._index.weigh(codes, weights, self._number, out[first])
        # The other lists are not read: any column of the tables may serve any combination.
        columns = self._layout.columns_of(np.unique(self._layout.table_of[served]))
        others = columns[self._segment.indexed[columns]]
        for part in set(range(len(out))) - {first}:
            out[part, :, others] = len(self._key.query)
        return [served if part == first else others for part in range(len(out))], items

    def _initial(self, served: ColumnCoverage, bound: Array) -> int:
        return super()._initial(served, bound) if self._options.bounds else self._chosen()

    def _chosen(self) -> int:
        """The key column that algorithm 1 starts with, chosen before any list is read."""
        if self._key.initial != "items":
            # Neither is read unless the choice is by items.
            return super()._initial(None, np.zeros(0))  # type: ignore[arg-type]
        postings = self._index.postings[self._number]
        parts = range(len(self._key.query.columns))
        entries = [postings.spans(self._numbering.live_codes(j)[0])[1].sum() for j in parts]
        return int(np.argmin(entries))

    def _read(self, trie: Trie, best: BestTables, counters: KeyCounters) -> None:
        if self._options.row_filter != "each":
            super()._read(trie, best, counters)
            return
        source, check = self._source(trie, False)
        state = np.zeros(STATE, dtype=np.int64)
        state[BEST_COUNT] = best.count
        read_by_each(self._number, source, self._tables, best.ranks, best.table_ids, state)
        check()
        best.count = int(state[BEST_COUNT])
        counters.tables_read += int(state[TABLES_READ])
        counters.rows_seen += int(state[ROWS_SEEN])
        counters.rows_passed += int(state[ROWS_PASSED])
        counters.rows_true += int(state[ROWS_TRUE])
        counters.cut_short += int(state[CUT_SHORT])


@njit
def _fetch_by_each(
    source: RowSource, first: Array, column: Array, rows: int, least: int, state: Array
) -> Array:
    """The cells that may serve, of the rows with a combination; none if fewer than `least`."""
    none = np.zeros((column.shape[0], 0), dtype=np.int32)
    every = np.zeros(0, dtype=np.int64)
    numbers = np.empty((column.shape[0], rows), dtype=np.int32)
    passed = np.ones(rows, dtype=np.uint8)
    for level in range(source.part.shape[0]):
        number_cells(source, first, column, level, every, numbers)
        for r in range(rows):
            some = np.uint8(0)
            for x in range(first[level], first[level + 1]):
                some |= np.uint8(numbers[x, r] >= 0)
            passed[r] &= some
        if level == 0:
            state[ROWS_SEEN] += passed.sum()
            if passed.sum() < least:
                return none
    chosen = np.flatnonzero(passed)
    if chosen.shape[0] < least:
        return none
    state[ROWS_PASSED] += chosen.shape[0]
    numbers = numbers[:, chosen]
    holds = np.empty(chosen.shape[0], dtype=np.uint8)
    true = mark_matching_rows(numbers, first, column, source.nodes, holds)
    state[ROWS_TRUE] += true
    return numbers[:, np.flatnonzero(holds)] if true >= least else none


@kernel
def read_by_each(
    segment: int,
    source: RowSource,
    tables: CandidateTables,
    rank: Array,
    table_ids: Array,
    state: Array,
) -> None:
    """Read the candidates in their order, like `read_tables`, by all key columns (MCR)."""
    source = bare_source(source)
    best = np.zeros(source.part.shape[0], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    for i in range(tables.order.shape[0]):
        state[AT] = i
        table = tables.order[i]
        rows, own = tables.rows[table], column_key(segment, table)
        bound = rank_of(tables.bound[table], rows)
        if not would_enter(rank, table_ids, state[BEST_COUNT], bound, own):
            return
        least = least_to_enter(rank, table_ids, state[BEST_COUNT], rows, own)
        first, column = choose_columns(tables, source.part, table, least, False)
        if column.shape[0] == 0:
            continue
        state[TABLES_READ] += 1
        numbers = _fetch_by_each(source, first, column, rows, least, state)
        if numbers.shape[1] == 0:
            continue
        goal = MappingGoal(least, tables.bound[table], none, STEPS)
        score, steps = find_best_mapping(numbers, first, column, source.nodes, goal, best)
        state[CUT_SHORT] += steps >= STEPS
        if score > 0:
            state[BEST_COUNT] = push_column(
                rank, table_ids, state[BEST_COUNT], rank_of(score, rows), own
            )
