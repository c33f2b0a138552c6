"""Find the k tables that hold most key combinations (MATE: Esmailoghli et al., VLDB 2022).

Algorithm 1 of the paper, on an index whose posting lists name columns and whose rows are codes:

1. *Table filter* (6.2). The posting lists tell, by column, how many combinations have their value
   there; no mapping to that column matches more. A table is bounded by its best column for each key
   column. Tables come by falling bound; the search ends when the bound cannot enter the k best
   (rule 1), and a table is left when the remaining rows cannot lift it there (rule 2).
2. *Initial column* (6.1). The key column by which fetching rows is cheapest.
3. *Row filter* (6.3). Rows with a value of the initial column pass if their super key covers that
   of a combination.
4. *Verification*, on codes: rows that hold a whole combination, each value in its own column.
5. *Mapping* (equation 2). The one-to-one mapping with the most distinct combinations, by branch and
   bound over the remaining rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.engines.composite.hits import BestTables, KeyCounters, KeyHits, Mapping
from lakejoin.engines.composite.key_cells import table_layout_of
from lakejoin.engines.composite.query import KeyCodes, KeyQuery, PreparedKey, Trie
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.limits import check_k
from lakejoin.engines.overlap.engine import OverlapIndex, index_of
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.engines.composite.mapping_kernels import ColumnCoverage
    from lakejoin.engines.composite.table_reader import CandidateTables, KeyRowFilter, RowSource
    from lakejoin.store.segment import Segment
    from lakejoin.store.super_keys import SuperKeys


# Combinations beyond which there is no row filter: their super keys would take more memory than the
# skipped rows are worth.
MOST_FILTERED = 200_000


class KeySegmentSearch:
    """The search of one segment; `hidden` columns are excluded.

    A row is tested against the super keys of all combinations of its initial value if these are at
    most `pairs`, because testing more takes as long as verifying the row; otherwise only their
    common bits are tested. Tables are filtered from `wide` columns on, where that saves more than
    it costs (measured).
    """

    pairs = 16
    wide = 6

    def __init__(
        self,
        key: PreparedKey,
        index: OverlapIndex,
        number: int,
        segment: Segment,
        numbering: KeyCodes,
        hidden: Array | None,
    ) -> None:
        self._key = key
        self._index = index
        self._number = number
        self._segment = segment
        self._numbering = numbering
        self._hidden = hidden
        self._layout = table_layout_of(segment)

    def run(self, best: BestTables, counters: KeyCounters) -> None:
        """Add the tables of the segment that are among the best."""
        from lakejoin.engines.composite.mapping_kernels import bound_tables

        served, items = self._weigh()
        bound = np.zeros(len(self._layout.rows), dtype=np.int64)
        tables = np.empty(len(bound), dtype=np.int64)
        tables = tables[: bound_tables(self._layout, served, bound, tables)]
        initial = self._initial(served, bound)
        name = self._key.query.columns[initial]
        counters.initial[name] = counters.initial.get(name, 0) + 1
        counters.segments += 1
        counters.tables += len(tables)
        counters.items += items
        self._initial_part = initial
        self._tables = self._candidates(tables, bound, served.serves)
        self._read(self._key.trie(initial), best, counters)

    def _read(self, trie: Trie, best: BestTables, counters: KeyCounters) -> None:
        """Read the candidate tables in compiled code, which returns for keys and now and then."""
        from lakejoin.engines.composite import table_reader

        live = self._numbering.live
        stored = self._segment.superkeys if np.count_nonzero(live) <= MOST_FILTERED else None
        source, check = self._source(trie, stored is not None)
        keys, row_filter = None, _unfiltered()
        if stored is not None:
            keys = SuperKeyFilter(self._key.query, trie, live, stored)
            row_filter = keys.compiled(self.pairs, self.wide)
        state = np.zeros(table_reader.STATE, dtype=np.int64)
        state[table_reader.BEST_COUNT] = best.count
        over = False
        while not over:
            over = table_reader.read_tables(
                self._number, source, self._tables, row_filter, best.ranks, best.table_ids, state
            )
            check()
            if not over and keys is not None:
                table = int(self._tables.order[state[table_reader.AT]])
                if row_filter.keys[row_filter.group[table]] == 0:
                    keys.make(row_filter, table)
        best.count = int(state[table_reader.BEST_COUNT])
        counters.tables_read += int(state[table_reader.TABLES_READ])
        counters.rows_seen += int(state[table_reader.ROWS_SEEN])
        counters.rows_passed += int(state[table_reader.ROWS_PASSED])
        counters.rows_true += int(state[table_reader.ROWS_TRUE])
        counters.cut_short += int(state[table_reader.CUT_SHORT])

    def best_mappings(self, table: int, score: int) -> tuple[Mapping, Mapping | None]:
        """The best mapping of a table that is among the best, and the runner-up if it is close."""
        from lakejoin.engines.composite import table_reader

        none = _unfiltered()
        for canonical in (True, False):
            # If there are too many mappings to try them in the canonical order, the order that
            # found the score finds it again.
            trie = self._key.trie(None if canonical else self._initial_part)
            source, check = self._source(trie, False)
            best = np.zeros((2, len(trie.order) + 1), dtype=np.int64)
            args = source, self._tables, none, table, score, canonical, best
            number = table_reader.settle_table(*args)
            check()
            if number:
                break
        by_part = np.argsort(trie.order)
        first, *rest = (
            Mapping(tuple(row[1:][by_part].tolist()), int(row[0])) for row in best[:number]
        )
        return first, rest[0] if rest else None

    def _source(self, trie: Trie, super_keys: bool) -> tuple[RowSource, Callable[[], None]]:
        """What compiled code reads from, and a function that verifies what it has read."""
        from lakejoin.engines.composite.key_cells import CellSource, open_mapped_rows
        from lakejoin.engines.composite.table_reader import RowSource

        mapped = open_mapped_rows(self._segment, super_keys)
        pending = mapped.pending()
        parts = np.array(trie.order, dtype=np.int64)
        cells = CellSource(mapped.row, pending[0], mapped.tokens, self._numbering.lookup)
        source = RowSource(cells, pending[1], trie.nodes, parts)
        return source, lambda: mapped.verify(pending)

    def _weigh(self) -> tuple[ColumnCoverage, int]:
        """What each column can serve, and how many posting list entries were read."""
        from lakejoin.engines.composite.mapping_kernels import ColumnCoverage

        parts = len(self._key.query.columns)
        # Two rows per key column: what a column can serve, and how many values it holds.
        out = np.zeros((parts, 2, self._segment.column_count), dtype=np.int64)
        touched, items = self._read_lists(out)
        for part, fixed in enumerate(self._key.query.fixed):
            if fixed is not None:
                out[part, 0, touched[part]] *= self._named(fixed, touched[part])
        if self._hidden is not None:
            out[:, 0, self._hidden] = 0
        start = np.cumsum([0, *map(len, touched)])
        return ColumnCoverage(out[:, 0], out[:, 1], np.concatenate(touched), start), items

    def _read_lists(self, out: Array) -> tuple[list[Array], int]:
        """Read the posting lists of every key column into `out`; the columns that serve each, and
        how many entries were read."""
        weighed = [
            self._index.weigh(*self._numbering.live_codes(part), self._number, served)
            for part, served in enumerate(out)
        ]
        return [touched for touched, _ in weighed], sum(entries for _, entries in weighed)

    def _initial(self, served: ColumnCoverage, bound: Array) -> int:
        """The key column by which fetching rows is cheapest (6.1), or the one asked for."""
        from lakejoin.engines.composite.mapping_kernels import fetching_costs

        initial, query = self._key.initial, self._key.query
        if isinstance(initial, int):
            return initial
        if initial == "cardinality":
            return int(np.argmin([len(tokens) for tokens in query.tokens]))
        if initial != "items":
            return query.columns.index(initial)
        costs = np.zeros(len(query.columns))
        fetching_costs(self._layout, served, bound, costs)
        return int(np.argmin(costs))

    def _named(self, name: str, columns: Array) -> Array:
        """Which columns have a name; in tables without one, those that differ only in case."""
        tables = self._layout.table_of[columns]
        all_columns = self._layout.columns_of(np.unique(tables))
        exact = all_columns[np.asarray(pc.equal(self._names(all_columns), name))]
        alike = np.asarray(pc.equal(pc.utf8_lower(self._names(columns)), name.lower()))
        has_one = np.isin(tables, self._layout.table_of[exact])
        return np.asarray(np.isin(columns, exact) | (alike & ~has_one))

    def _candidates(self, tables: Array, bound: Array, serves: Array) -> CandidateTables:
        """The tables by falling bound, ties in the order of answers."""
        from lakejoin.engines.composite.table_reader import CandidateTables

        layout = self._layout
        order = tables[np.lexsort((tables, layout.rows[tables], -bound[tables]))]
        geometry = layout.first, layout.width, layout.rows
        return CandidateTables(order, bound, *geometry, serves, self._alike(tables))

    def _alike(self, tables: Array) -> Array:
        """By key column: whether a column has its name (2), no key column's (1), another's (0)."""
        key_columns = self._key.query.columns
        alike = np.ones((len(key_columns), self._segment.column_count), dtype=np.uint8)
        columns = self._layout.columns_of(tables)
        names = pc.utf8_lower(self._names(columns))
        same = [columns[np.asarray(pc.equal(names, own.lower()))] for own in key_columns]
        for named in same:
            alike[:, named] = 0
        for part, named in enumerate(same):
            alike[part, named] = 2
        return alike

    def _names(self, columns: Array) -> pa.ChunkedArray:
        return self._segment.catalog.columns["name"].take(columns)


def _unfiltered() -> KeyRowFilter:
    from lakejoin.engines.composite.table_reader import KeyRowFilter

    none = np.zeros(0, dtype=np.int64)
    return KeyRowFilter(0, 0, 0, none, none, none, none)


class SuperKeyFilter:
    """Passes the rows whose super key covers that of a combination of the row's initial value.

    `live` says which combinations the segment can hold at all. Keys are computed once for all
    tables that hash alike.
    """

    def __init__(self, query: KeyQuery, trie: Trie, live: Array, stored: SuperKeys) -> None:
        self._query = query
        self._stored = stored
        self._combinations = query.combinations[trie.sorted[live[trie.sorted]]]
        initial = self._combinations[:, trie.order[0]]
        values = len(query.tokens[trie.order[0]])
        self._start = np.searchsorted(initial, np.arange(values + 1)).astype(np.int64)
        self._made: list[tuple[Array, Array]] = []

    def compiled(self, pairs: int, wide: int) -> KeyRowFilter:
        """For compiled code; without keys yet."""
        from lakejoin.engines.composite.table_reader import KeyRowFilter

        group = self._stored.groups()
        keys, common = np.zeros((2, int(group.max(initial=0)) + 1), dtype=np.int64)
        return KeyRowFilter(self._stored.words, pairs, wide, group, self._start, keys, common)

    def make(self, row_filter: KeyRowFilter, table: int) -> None:
        """Compute the keys for tables that hash alike: of combinations, and common to a value."""
        keys = np.zeros((len(self._combinations), self._stored.words), dtype=np.uint64)
        for j, tokens in enumerate(self._query.tokens):
            keys |= self._stored.of_texts(tokens, table)[self._combinations[:, j]]
        common = np.zeros((len(self._start) - 1, self._stored.words), dtype=np.uint64)
        some = np.flatnonzero(np.diff(self._start))
        if len(some):
            common[some] = np.bitwise_and.reduceat(keys, self._start[some], axis=0)
        self._made.append((keys, common))  # compiled code holds only their addresses
        group = row_filter.group[table]
        row_filter.keys[group], row_filter.common[group] = keys.ctypes.data, common.ctypes.data


@dataclass(frozen=True, slots=True)
class Mate:
    """Finds the k tables that hold most key combinations, exactly.

    Ties are broken by fewer rows, then by the order of the index. `initial` is the key column by
    which rows are fetched: its name or index, "items" for the cheapest in each segment, or
    "cardinality" for the fewest distinct values; the answer is the same. Benchmarks search segments
    by another `segment_search`.
    """

    k: int = 10
    initial: str | int = "items"
    segment_search: Callable[..., KeySegmentSearch] = KeySegmentSearch

    def __post_init__(self) -> None:
        check_k(self.k)

    def search(
        self, query: KeyQuery, segments: Sequence[Segment], excluded: ExcludedColumns | None = None
    ) -> KeyHits:
        key = PreparedKey(query, self.initial)
        index = index_of(segments)
        best = BestTables(max(1, min(self.k, sum(segment.record.tables for segment in segments))))
        opened = {number: KeyCodes(segment, query) for number, segment in enumerate(segments)}
        live = [int(numbering.live.sum()) for numbering in opened.values()]
        searches: dict[int, KeySegmentSearch] = {}
        # Start with the segment that can hold most: it sets a high k-th score.
        for number in np.argsort(np.negative(live), kind="stable").tolist():
            numbering = opened.pop(number)  # freed with its segment's search
            if not best.hopeless(live[number]):
                hidden = excluded.columns[number] if excluded else None
                search = self.segment_search(
                    key, index, number, segments[number], numbering, hidden
                )
                search.run(best, key.counters)
                searches = {
                    n: run
                    for n, run in (searches | {number: search}).items()
                    if n in best.segments()
                }
        tables = best.ordered()
        settled = [
            searches[s].best_mappings(t, score)
            for s, t, score in zip(*map(np.ndarray.tolist, tables), strict=True)
        ]
        mappings, runners_up = zip(*settled, strict=True) if settled else ((), ())
        return KeyHits(*tables, tuple(mappings), tuple(runners_up), key.counters)
