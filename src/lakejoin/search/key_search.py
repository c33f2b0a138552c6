"""Search for tables that join on a composite key: run the engine, name the hits, explain misses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.containment.engine import count_for_share
from lakejoin.engines.query import unsearched_note
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.search.options import INITIAL_RULES
from lakejoin.search.result import Result, ResultLocation
from lakejoin.store.super_keys import SuperKeyComponent
from lakejoin.text_format import format_percent
from lakejoin.values.column_names import find_column

if TYPE_CHECKING:
    from lakejoin.engines.composite.hits import KeyHits, Mapping
    from lakejoin.engines.composite.key_trie import MateOptions
    from lakejoin.engines.composite.query import KeyQuery
    from lakejoin.engines.hits import ExcludedColumns
    from lakejoin.engines.overlap.read_costs import ReadCosts
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.key_evidence import KeyMatches
    from lakejoin.search.options import SearchOptions
    from lakejoin.search.query_columns import ColumnChoice
    from lakejoin.search.table_versions import Copies
    from lakejoin.store.segment import Segment
    from lakejoin.store.segment_tables import SegmentTables
    from lakejoin.store.snapshot import Snapshot

_AT_FIRST = 64  # tables to search for first, if the caller wants all that contain enough
_TIMES = 8
_WEAKEST = 3  # key columns to name in a note if nothing was found


@dataclass(frozen=True, eq=False)
class KeySearch:
    """One search for a composite key."""

    snapshot: Snapshot
    segment_tables: Sequence[SegmentTables]
    query_table: QueryTable
    key: ColumnChoice
    options: SearchOptions
    costs: ReadCosts | None = None

    @cached_property
    def query(self) -> KeyQuery:
        """The combinations of values to search for."""
        from lakejoin.engines.composite.query import key_query

        query = key_query(self.query_table, self.key.column_indexes, self.key.fixed_partners)
        if len(query) == 0:
            raise InputError(
                f"no row of {query.table} has a value in each of {_listed(query.columns)}, so "
                "there is no combination to search for"
            )
        return query

    @cached_property
    def _meetings(self) -> KeyMatches:
        from lakejoin.search.key_evidence import KeyMatches

        return KeyMatches(self.query)

    def hits(self, excluded: ExcludedColumns) -> KeyHits:
        """The tables with the most combinations; the first `count_qualifying` contain enough.

        Without k, search for ever more tables until one of them contains too little.
        """
        from lakejoin.engines.composite.engine import Mate

        k = self.options.k or _AT_FIRST
        while True:
            hits = Mate(k, self._how).search(self.query, self.snapshot.segments, excluded)
            if self.options.k or len(hits) < k or self.count_qualifying(hits) < k:
                return hits
            k *= _TIMES

    @cached_property
    def _how(self) -> MateOptions:
        from lakejoin.engines.composite.key_trie import MateOptions

        return MateOptions(initial=self._initial())

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
        if column_index not in self.key.column_indexes:
            initial = self.query_table.column_names[column_index]
            raise InputError(
                f"the initial column {initial!r} is not part of the key: use "
                f"{_listed(columns, 'or')}"
            )
        return self.key.column_indexes.index(column_index)

    def release(self) -> None:
        """Drop what the evidence cached of a segment."""
        self._meetings.forget()

    def count_qualifying(self, hits: KeyHits) -> int:
        """How many of the hits, from the first on, contain at least `min`."""
        least = max(1, count_for_share(self.query, self.options.min or 0.0))
        return int(np.count_nonzero(hits.matched >= least))

    def results(self, hits: KeyHits, copies: Copies) -> tuple[Result, ...]:
        """The hits that contain enough, as results with names."""
        return tuple(self._result(i, hits, copies) for i in range(self.count_qualifying(hits)))

    def _result(self, i: int, hits: KeyHits, copies: Copies) -> Result:
        from lakejoin.search.key_evidence import count_combinations

        segment_index, table = int(hits.segment[i]), int(hits.table[i])
        segment, places = self.snapshot.segments[segment_index], self.segment_tables[segment_index]
        columns, matched = hits.mapping[i].columns, int(hits.matched[i])
        return Result(
            rank=i + 1,
            table=places.table_name(table),
            columns=tuple(map(places.column_name, columns)),
            matched=matched,
            containment=matched / len(self.query),
            query_size=len(self.query),
            _column_size=None,
            copy=copies.kind(segment_index, table),
            runner_up=_named(hits.runner_up[i], places),
            found=ResultLocation(
                self.query,
                segment,
                segment_index,
                table,
                columns,
                self.query_table,
                self.key.column_indexes,
                self.snapshot.manifest,
                partial(self._meetings.of, segment, columns),
                partial(count_combinations, segment, columns),
            ),
        )

    # -- notes ------------------------------------------------------------------------------------

    def notes(
        self, hits: KeyHits, results: Sequence[Result], excluded: ExcludedColumns
    ) -> list[str]:
        """Notes about the key, and why nothing was found."""
        query, totals = self.query, self.snapshot.manifest.totals
        all_columns = self.snapshot.manifest.options.all_columns
        notes = []
        for column, kind in zip(query.columns, query.types, strict=True):
            notes += unsearched_note(column, kind, all_columns)
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
                *self._by_other_names(excluded, best),
            ]
        return [*notes, *self._why_nothing(excluded)]

    @property
    def _where(self) -> str:
        return "other table of the lake" if self.options.others else "table of the lake"

    def _why_nothing(self, excluded: ExcludedColumns) -> list[str]:
        parts = len(self.query.columns)
        widest = self._widest()
        if widest < parts:
            return [
                f"the key has {parts} columns, but no table of the lake has more than {widest} "
                "searched columns"
            ]
        unknown = [name for name in self.query.fixed if name is not None and not self._has(name)]
        if unknown:
            notes = [f"no table of the lake has a searched column {name!r}" for name in unknown]
            return [*notes, *self._by_other_names(excluded)]
        together = "both parts" if parts == 2 else f"all {parts} parts"
        nowhere = f"no row of any {self._where} has {together} of the key together"
        return [
            nowhere + self._under_names,
            *(self._by_other_names(excluded) or self._alone(excluded)),
        ]

    @property
    def _under_names(self) -> str:
        """The fixed partner columns for a sentence; empty if there are none."""
        pairs = zip(self.query.columns, self.query.fixed, strict=True)
        fixed = [f"{mine!r} in a column {name!r}" for mine, name in pairs if name is not None]
        return f" with {' and '.join(fixed)}" if fixed else ""

    def _by_other_names(self, excluded: ExcludedColumns, more_than: int = 0) -> list[str]:
        """If partners were fixed: the best table without them, if it has more combinations."""
        from lakejoin.engines.composite.engine import Mate

        if not self._under_names:
            return []
        free = replace(self.query, fixed=(None,) * len(self.query.columns))
        hits = Mate(1, self._how).search(free, self.snapshot.segments, excluded)
        if not len(hits) or hits.matched[0] <= more_than:
            return []
        places = self.segment_tables[int(hits.segment[0])]
        columns = list(map(places.column_name, hits.mapping[0].columns))
        return [
            f"ignoring the column names, {places.table_name(int(hits.table[0]))} has "
            f"{int(hits.matched[0]):,} of the {len(free):,} combinations, in {_listed(columns)}"
        ]

    def _alone(self, excluded: ExcludedColumns) -> list[str]:
        """The key columns that match nothing even alone, or else the weakest and their matches."""
        from lakejoin.engines.overlap import Overlap

        missing, found = [], []
        for column_index in self.key.column_indexes:
            query = self.query_table.query(column_index)
            size, name = len(query), repr(query.column)
            hits = Overlap(1, costs=self.costs).search(query, self.snapshot.segments, excluded)
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
    unfiltered = [segment.record for segment in segments if not segment.has_super_keys]
    if not unfiltered:
        return []
    if all(SuperKeyComponent.name in record.components for record in unfiltered):
        lack, remedy = "super keys of a kind that is no longer used", "rebuild"
    else:
        lack, remedy = "no super keys", "add"
    return [f"this index has {lack}, so every row is compared; {remedy} them with: lakejoin index"]


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
