"""Search for tables that join on a composite key: run the engine, name the hits, explain misses."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.engines.composite.engine import Mate
from lakejoin.engines.composite.hits import KeyHits, Mapping
from lakejoin.engines.composite.key_cells import KeyLookup, key_ids_of_columns, open_mapped_rows
from lakejoin.engines.composite.mapping_kernels import find_leaves
from lakejoin.engines.composite.query import (
    KeyCodes,
    KeyQuery,
    Trie,
    build_trie,
    key_query,
)
from lakejoin.engines.overlap import Overlap
from lakejoin.engines.query import unsearched_note
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.quoting import lakejoin_command
from lakejoin.search.engine_search import EngineSearch
from lakejoin.search.evidence import SharedValues
from lakejoin.search.options import INITIAL_RULES
from lakejoin.search.result import Result
from lakejoin.store.rows import NULL
from lakejoin.store.super_keys import SuperKeyComponent
from lakejoin.text_format import format_percent
from lakejoin.values.column_names import find_column

if TYPE_CHECKING:
    from lakejoin.engines.overlap.read_costs import ReadCosts
    from lakejoin.search.table_versions import Copies
    from lakejoin.store.segment import Segment
    from lakejoin.store.segment_tables import SegmentTables

_AT_FIRST = 64  # tables to search for first, if the caller wants all that contain enough
_TIMES = 8
_WEAKEST = 3  # key columns to name in a note if nothing was found


@dataclass(eq=False)
class KeySearch(EngineSearch):
    """One search for a composite key."""

    fixed_partners: tuple[str | None, ...]
    costs: ReadCosts | None = None

    @cached_property
    def query(self) -> KeyQuery:
        query = key_query(self.query_table, self.column_indexes, self.fixed_partners)
        if len(query) == 0:
            raise InputError(
                f"no row of {query.table} has a value in each of {_listed(query.columns)}, so "
                "there is no combination to search for"
            )
        return query

    @cached_property
    def _meetings(self) -> KeyMatches:
        return KeyMatches(self.query)

    def hits(self) -> KeyHits:
        """The tables with the most combinations; the first `count_qualifying` contain enough.

        Without k, search for more and more tables until one of them contains too little.
        """
        k = self.options.k or _AT_FIRST
        while True:
            hits = Mate(k, self._initial).search(self.query, self.snapshot.segments, self.excluded)
            if self.options.k or len(hits) < k or self.count_qualifying(hits) < k:
                return hits
            k *= _TIMES

    @cached_property
    def _initial(self) -> str | int:
        """The key column to fetch rows by: its position in the key, or the rule that chooses it."""
        initial, columns = self.options.initial, self.query.columns
        if initial is None:
            return INITIAL_RULES[0]
        if isinstance(initial, str) and initial in INITIAL_RULES and initial not in columns:
            return initial
        if isinstance(initial, bool) or not isinstance(initial, str | Integral):
            raise InputError(
                f"initial must be a column of the key (name or index) or "
                f"{' or '.join(map(repr, INITIAL_RULES))}, not {initial!r}"
            )
        if isinstance(initial, str) and columns.count(initial) == 1:
            return columns.index(initial)
        initial = initial if isinstance(initial, str) else int(initial)
        column_index = find_column(self.query_table.column_names, initial, self.query_table.name)
        if column_index not in self.column_indexes:
            initial = self.query_table.column_names[column_index]
            raise InputError(
                f"the initial column {initial!r} is not part of the key: use "
                f"{_listed(columns, 'or')}"
            )
        return self.column_indexes.index(column_index)

    def release(self) -> None:
        self._meetings.forget()

    def count_qualifying(self, hits: KeyHits) -> int:
        """How many of the hits, from the first on, contain at least `min`."""
        return int(np.count_nonzero(hits.matched >= self.least))

    def results(self, hits: KeyHits, copies: Copies) -> tuple[Result, ...]:
        return tuple(self._result(i, hits, copies) for i in range(self.count_qualifying(hits)))

    def _result(self, i: int, hits: KeyHits, copies: Copies) -> Result:
        segment_index, columns = int(hits.segment[i]), hits.mapping[i].columns
        segment, places = self.snapshot.segments[segment_index], self.segment_tables[segment_index]
        location = self.locate(
            segment_index,
            columns,
            partial(self._meetings.of, segment, columns),
            partial(count_combinations, segment, columns),
        )
        return self.name_hit(
            Result,
            i + 1,
            int(hits.matched[i]),
            location,
            copies,
            _column_size=None,
            runner_up=_named(hits.runner_up[i], places),
        )

    # -- notes ------------------------------------------------------------------------------------

    def notes(self, hits: KeyHits, results: Sequence[Result]) -> list[str]:
        query, totals = self.query, self.snapshot.manifest.totals
        all_columns = self.snapshot.manifest.options.all_columns
        notes = []
        for column, kind in zip(query.columns, query.types, strict=True):
            notes += unsearched_note(column, kind, all_columns, self.snapshot.location.uri)
        notes += _filter_note(self.snapshot.segments)
        if cut := hits.counters.cut_short:
            notes.append(
                f"{cut:,} {'table has' if cut == 1 else 'tables have'} too many ways to map the "
                "columns to try them all; their scores may be too low"
            )
        if results:
            return notes
        if not totals.tables:
            return [*notes, "the index is empty"]
        if len(hits):
            share, best = self.options.min or 0.0, int(hits.matched[0])
            return [
                *notes,
                f"no {self._where} contains {format_percent(share)} of the {len(query):,} "
                f"combinations of {_listed(query.columns)}{self._under_names}; the best "
                f"has {best:,}",
                *self._by_other_names(best),
            ]
        return [*notes, *self._why_nothing()]

    @property
    def _where(self) -> str:
        return "other table in the lake" if self.options.others else "table in the lake"

    def _why_nothing(self) -> list[str]:
        parts = len(self.query.columns)
        widest = self._widest()
        if widest < parts:
            return [
                f"the key has {parts} columns, but no table in the lake has more than {widest} "
                "searched columns"
            ]
        unknown = [name for name in self.query.fixed if name is not None and not self._has(name)]
        if unknown:
            notes = [f"no table in the lake has a searched column {name!r}" for name in unknown]
            return [*notes, *self._by_other_names()]
        together = "both parts" if parts == 2 else f"all {parts} parts"
        nowhere = f"no row of any {self._where} has {together} of the key together"
        return [nowhere + self._under_names, *(self._by_other_names() or self._alone())]

    @property
    def _under_names(self) -> str:
        """The fixed lake columns for a sentence; empty if no columns are fixed."""
        pairs = zip(self.query.columns, self.query.fixed, strict=True)
        fixed = [f"{mine!r} in a column {name!r}" for mine, name in pairs if name is not None]
        return f" with {' and '.join(fixed)}" if fixed else ""

    def _by_other_names(self, more_than: int = 0) -> list[str]:
        """If lake columns were fixed: the best table without them, if it has more combinations."""
        if not self._under_names:
            return []
        free = replace(self.query, fixed=(None,) * len(self.query.columns))
        hits = Mate(1, self._initial).search(free, self.snapshot.segments, self.excluded)
        if not len(hits) or hits.matched[0] <= more_than:
            return []
        places = self.segment_tables[int(hits.segment[0])]
        columns = list(map(places.column_name, hits.mapping[0].columns))
        return [
            f"ignoring the column names, {places.table_name(int(hits.table[0]))} has "
            f"{int(hits.matched[0]):,} of the {len(free):,} combinations, in {_listed(columns)}"
        ]

    def _alone(self) -> list[str]:
        """The key columns that match nothing even alone, or else the weakest and their matches."""
        missing, found = [], []
        for column_index in self.column_indexes:
            query = self.query_table.query(column_index)
            size, name = len(query), repr(query.column)
            hits = Overlap(1, costs=self.costs).search(query, self.snapshot.segments, self.excluded)
            if len(hits):
                places, column = self.segment_tables[int(hits.segment[0])], int(hits.column[0])
                table, matched = places.table_name(places.table_of(column)), int(hits.matched[0])
                sentence = (
                    f"{name} alone: {matched:,} of its {size:,} distinct values are in {table} · "
                    f"{places.column_name(column)}"
                )
                found.append((matched / size, sentence))
            elif size == 1:
                missing.append(f"the only value of {name} is in no searched column")
            else:
                missing.append(f"none of the {size:,} values of {name} is in any searched column")
        least = sorted(found, key=lambda entry: entry[0])[:_WEAKEST]
        return missing or [sentence for _, sentence in least]

    def _widest(self) -> int:
        """The largest number of searched columns of a live table."""
        most = 0
        for searched, places in zip(self._searched(), self.segment_tables, strict=True):
            before = np.concatenate([[0], np.cumsum(searched)])
            widths = before[places.first + places.width] - before[places.first]
            most = max(most, int(widths.max(initial=0)))
        return most

    def _has(self, name: str) -> bool:
        """Whether a live table has a searched column of that name, ignoring case."""
        for searched, segment in zip(self._searched(), self.snapshot.segments, strict=True):
            names = segment.catalog.columns["name"].filter(searched).unique().to_pylist()
            if any(known.lower() == name.lower() for known in names):
                return True
        return False

    def _searched(self) -> Iterator[Array]:
        """By segment, a mask of the searched columns of live tables."""
        for segment, places in zip(self.snapshot.segments, self.segment_tables, strict=True):
            searched = np.array(segment.indexed, dtype=bool)
            searched[places.deleted_columns] = False
            yield searched


def _filter_note(segments: Iterable[Segment]) -> list[str]:
    """Say so if rows were compared without super keys: old indexes lack them, or use others."""
    unfiltered = [segment for segment in segments if not segment.has_super_keys]
    if not unfiltered:
        return []
    if all(SuperKeyComponent.name in segment.record.components for segment in unfiltered):
        lack, remedy = "super keys of a kind that is no longer used", "rebuild"
    else:
        lack, remedy = "no super keys", "add"
    command = lakejoin_command("index", unfiltered[0].index)
    return [f"this index has {lack}, so every row is compared; {remedy} them with: {command}"]


def _named(mapping: Mapping | None, places: SegmentTables) -> dict[str, Any] | None:
    if mapping is None:
        return None
    return {"columns": list(map(places.column_name, mapping.columns)), "matched": mapping.matched}


def _listed(columns: Sequence[str], last_by: str = "and") -> str:
    """List names in a sentence.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ("'a'", "'a', 'b' and 'c'")
    """
    *most, last = map(repr, columns)
    return f"{', '.join(most)} {last_by} {last}" if most else last


class KeyMatches:
    """The matches of one query with tables. The query's codes are kept for the last segment only,
    so results are best requested segment by segment."""

    def __init__(self, query: KeyQuery) -> None:
        self._query = query
        self._lock = threading.Lock()
        self._kept: tuple[Segment, KeyLookup] | None = None

    @cached_property
    def _trie(self) -> Trie:
        values = len(self._query.tokens[0])
        return build_trie(self._query.combinations, range(len(self._query.columns)), values)

    def _known(self, segment: Segment) -> KeyLookup:
        with self._lock:
            if self._kept is None or self._kept[0] is not segment:
                self._kept = segment, KeyCodes(segment, self._query).lookup
            return self._kept[1]

    def forget(self) -> None:
        with self._lock:
            self._kept = None

    def of(self, segment: Segment, mapping: Sequence[int]) -> SharedValues:
        """What the query shares with the columns `mapping` of a table (indexes in the segment)."""
        held = open_mapped_rows(segment, super_keys=False)
        numbers = np.empty((len(mapping), int(segment.column_rows[mapping[0]])), dtype=np.int32)
        pending = held.pending()
        columns = np.array(mapping, dtype=np.int64)
        key_ids_of_columns(
            held.row, pending[0], held.tokens, self._known(segment), columns, numbers
        )
        held.verify(pending)
        leaf = np.empty(numbers.shape[1], dtype=np.int64)
        find_leaves(numbers, self._trie.nodes, leaf)
        rows = np.zeros(len(self._query), dtype=np.int64)
        rows[self._trie.sorted] = np.bincount(leaf[leaf >= 0], minlength=len(self._query))
        positions = np.flatnonzero(rows)
        return SharedValues(positions, rows[positions])


def count_combinations(segment: Segment, mapping: Sequence[int]) -> int:
    """How many distinct combinations without nulls some columns of a table hold."""
    columns = [segment.rows.codes(column, int(segment.column_rows[column])) for column in mapping]
    whole = np.logical_and.reduce([codes != NULL for codes in columns])
    combined = pa.array(columns[0][whole].astype(np.uint64))
    for column, codes in enumerate(columns[1:], 1):
        # Two codes fit into one number; so does a third beside the number of a combination.
        ids = combined if column == 1 else combined.dictionary_encode().indices
        combined = pa.array(ids.to_numpy().astype(np.uint64) << np.uint64(32) | codes[whole])
    return len(combined.unique())
