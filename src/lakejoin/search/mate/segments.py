"""Search one segment for a composite key: bounds from posting lists, then its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.mate.best import Best
from lakejoin.search.mate.filtering import SuperKeyFilter
from lakejoin.search.mate.hits import KeyCounters, Mapping
from lakejoin.search.mate.key import Key
from lakejoin.search.mate.layout import layout_of
from lakejoin.search.mate.numbering import Numbering
from lakejoin.search.mate.trie import Trie
from lakejoin.search.overlap.engine import OverlapIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.mate.bounds import Served
    from lakejoin.search.mate.reading import Filter, Source, Tables
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

# Combinations beyond which there is no row filter: their super keys would take more memory than the
# skipped rows are worth.
MOST_FILTERED = 200_000


class SegmentSearch:
    """The search of one segment; `hidden` columns are excluded."""

    def __init__(
        self,
        key: Key,
        index: OverlapIndex,
        number: int,
        segment: Segment,
        numbering: Numbering,
        hidden: Array | None,
    ) -> None:
        self._key = key
        self._index = index
        self._number = number
        self._segment = segment
        self._numbering = numbering
        self._hidden = hidden
        self._layout = layout_of(segment)

    def run(self, best: Best, counters: KeyCounters) -> None:
        """Add the tables of the segment that are among the best."""
        from lakejoin.search.mate.bounds import bound_tables

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

    def _read(self, trie: Trie, best: Best, counters: KeyCounters) -> None:
        """Read the candidate tables in compiled code, which returns for keys and now and then."""
        from lakejoin.search.mate import reading

        kind = self._key.options.row_filter
        if kind == "superkeys" and np.count_nonzero(self._numbering.live) > MOST_FILTERED:
            kind = "none"
        source, check = self._source(trie, kind == "superkeys")
        row_filter = _unfiltered(reading.EACH if kind == "each" else reading.NONE)
        if kind == "superkeys":
            live, kept = self._numbering.live, self._segment.superkeys
            keys = SuperKeyFilter(self._key.query, trie, live, kept, self._key.options)
            row_filter = keys.compiled()
        state = np.zeros(reading.STATE, dtype=np.int64)
        state[reading.FOUND] = best.found
        over = False
        while not over:
            over = reading.read_tables(
                self._number, source, self._tables, row_filter, best.rank, best.place, state
            )
            check()
            if not over and kind == "superkeys":
                table = int(self._tables.order[state[reading.AT]])
                if row_filter.keys[row_filter.group[table]] == 0:
                    keys.make(row_filter, table)
        best.found = int(state[reading.FOUND])
        counters.tables_read += int(state[reading.TABLES_READ])
        counters.rows_seen += int(state[reading.ROWS_SEEN])
        counters.rows_passed += int(state[reading.ROWS_PASSED])
        counters.rows_true += int(state[reading.ROWS_TRUE])
        counters.cut_short += int(state[reading.CUT_SHORT])

    def settle(self, table: int, score: int) -> tuple[Mapping, Mapping | None]:
        """The best mapping of a table that is among the best, and the runner-up if it is close."""
        from lakejoin.search.mate import reading

        none = _unfiltered(reading.NONE)
        for canonical in (True, False):
            # If there are too many mappings to try them in the canonical order, the order that
            # found the score finds it again.
            trie = self._key.trie(None if canonical else self._initial_part)
            source, check = self._source(trie, False)
            best = np.zeros((2, len(trie.order) + 1), dtype=np.int64)
            args = source, self._tables, none, table, score, canonical, best
            number = reading.settle_table(*args)
            check()
            if number:
                break
        by_part = np.argsort(trie.order)
        first, *rest = (
            Mapping(tuple(row[1:][by_part].tolist()), int(row[0])) for row in best[:number]
        )
        return first, rest[0] if rest else None

    def _source(self, trie: Trie, super_keys: bool) -> tuple[Source, Callable[[], None]]:
        """What compiled code reads from, and a function that verifies what it has read."""
        from lakejoin.search.mate.held import held_of
        from lakejoin.search.mate.reading import Source

        held = held_of(self._segment, super_keys)
        pending = held.pending()
        parts = np.array(trie.order, dtype=np.int64)
        known = self._numbering.known
        notes = pending[0], pending[1]
        source = Source(held.row, *notes, held.tokens, known, trie.nodes, parts)
        return source, lambda: held.verify(pending)

    def _weigh(self) -> tuple[Served, int]:
        """What each column can serve, and how many posting list entries were read."""
        from lakejoin.search.mate.bounds import Served

        parts = range(len(self._key.query.columns))
        # Two rows per key column: what a column can serve, and how many values it holds.
        out = np.zeros((len(parts), 2, self._segment.column_count), dtype=np.int64)
        read = list(parts) if self._key.options.bounds else [self._chosen()]
        touched: list[Array] = [np.zeros(0, dtype=np.int64)] * len(parts)
        items = 0
        for part in read:
            codes, each = self._numbering.used(part)
            touched[part], entries = self._index.weigh(codes, each, self._number, out[part])
            items += entries
        for part in set(parts) - set(read):
            # Its lists are not read: any column of the tables may serve any combination.
            tables = np.unique(self._layout.table_of[touched[read[0]]])
            columns = self._layout.columns_of(tables)
            touched[part] = columns[self._segment.indexed[columns]]
            out[part, :, touched[part]] = len(self._key.query)
        for part, fixed in enumerate(self._key.query.fixed):
            if fixed is not None:
                out[part, 0, touched[part]] *= self._named(fixed, touched[part])
        if self._hidden is not None:
            out[:, 0, self._hidden] = 0
        start = np.cumsum([0, *map(len, touched)])
        return Served(out[:, 0], out[:, 1], np.concatenate(touched), start), items

    def _initial(self, served: Served, bound: Array) -> int:
        """The key column by which fetching rows is cheapest (6.1)."""
        from lakejoin.search.mate.bounds import fetching_costs

        if not self._key.options.bounds or self._key.options.initial != "items":
            return self._chosen()
        costs = np.zeros(len(self._key.query.columns))
        fetching_costs(self._layout, served, bound, costs)
        return int(np.argmin(costs))

    def _chosen(self) -> int:
        """The key column that algorithm 1 starts with, chosen before the others are read."""
        wanted, query = self._key.options.initial, self._key.query
        parts = range(len(query.columns))
        if isinstance(wanted, int):
            return wanted
        if wanted == "items":
            used = [self._numbering.used(j)[0] for j in parts]
            return min(parts, key=lambda j: self._index.entries(used[j], self._number))
        if wanted == "cardinality":
            return min(parts, key=lambda j: len(query.tokens[j]))
        return query.columns.index(wanted)

    def _named(self, name: str, columns: Array) -> Array:
        """Which columns have a name; in tables without one, those that differ only in case."""
        import pyarrow.compute as pc

        tables = self._layout.table_of[columns]
        all_columns = self._layout.columns_of(np.unique(tables))
        exact = all_columns[np.asarray(pc.equal(self._names(all_columns), name))]
        alike = np.asarray(pc.equal(pc.utf8_lower(self._names(columns)), name.lower()))
        has_one = np.isin(tables, self._layout.table_of[exact])
        return np.asarray(np.isin(columns, exact) | (alike & ~has_one))

    def _candidates(self, tables: Array, bound: Array, serves: Array) -> Tables:
        """The tables by falling bound, ties in the order of answers."""
        from lakejoin.search.mate.reading import Tables

        layout = self._layout
        order = tables[np.lexsort((tables, layout.rows[tables], -bound[tables]))]
        geometry = layout.first, layout.width, layout.rows
        return Tables(order, bound, *geometry, serves, self._alike(tables))

    def _alike(self, tables: Array) -> Array:
        """How the names of columns compare, by key column: equal (2), equal to another key column's
        (0), or to none (1)."""
        import pyarrow.compute as pc

        mine = self._key.query.columns
        alike = np.ones((len(mine), self._segment.column_count), dtype=np.uint8)
        columns = self._layout.columns_of(tables)
        names = pc.utf8_lower(self._names(columns))
        same = [columns[np.asarray(pc.equal(names, own.lower()))] for own in mine]
        for named in same:
            alike[:, named] = 0
        for part, named in enumerate(same):
            alike[part, named] = 2
        return alike

    def _names(self, columns: Array) -> pa.ChunkedArray:
        return self._segment.catalog.columns["name"].take(columns)


def _unfiltered(kind: int) -> Filter:
    from lakejoin.search.mate.reading import Filter

    none = np.zeros(0, dtype=np.int64)
    return Filter(kind, 0, 0, 0, none, none, none, none)
