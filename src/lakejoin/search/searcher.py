"""Run an engine over the segments of a snapshot, then gather the evidence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.engines.containment.engine import ContainmentEngine, filter_by_share
from lakejoin.engines.hits import Counters, ExcludedColumns, Hits
from lakejoin.engines.overlap import Overlap
from lakejoin.engines.overlap.read_costs import ReadCosts, load_costs
from lakejoin.engines.query import Query, QueryTable, unsearched_note
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.search.answer import Answer
from lakejoin.search.engine_search import EngineSearch
from lakejoin.search.evidence import QueryCodes, find_shared_values
from lakejoin.search.options import DEFAULT_K, SearchOptions
from lakejoin.search.query_columns import ColumnChoice
from lakejoin.search.result import Result, ResultLocation
from lakejoin.search.table_versions import Copies
from lakejoin.store.segment_tables import SegmentTables
from lakejoin.text_format import format_percent

if TYPE_CHECKING:
    from lakejoin.search.meaning_search import MeaningIndex
    from lakejoin.store.snapshot import Snapshot

_FEW = 100  # values: sketches miss smaller queries in large columns
_EXACTLY = "search by overlap counts exactly"
EAGER_RESULTS = 100  # results whose evidence is gathered with the search


@dataclass(eq=False)
class ColumnSearch(EngineSearch):
    """One search for the values of a column, by overlap or containment."""

    costs: ReadCosts | None = None

    @cached_property
    def query(self) -> Query:
        return self.query_table.query(self.column_index)

    @cached_property
    def _codes(self) -> QueryCodes:
        return QueryCodes(self.query, self.snapshot.segments)

    @property
    def containment(self) -> ContainmentEngine:
        options = self.options
        return ContainmentEngine(options.min or 0.0, options.k, options.verified, self.costs)

    def check_values(self) -> None:
        if len(self.query) == 0:
            raise InputError(f"column {self.query.column!r} of {self.query.table} has no values")

    def hits(self) -> Hits:
        self.check_values()
        segments, options = self.snapshot.segments, self.options
        if not segments:
            none = np.zeros(0, dtype=np.int64)
            return Hits(none, none, none, Counters())
        if options.by == "overlap":
            found = Overlap(options.k or DEFAULT_K, options.algorithm, self.costs)
            hits = found.search(self.query, segments, self.excluded)
            return filter_by_share(hits, self.query, options.min)
        return self.containment.search(self.query, segments, self.excluded)

    def results(self, hits: Hits, copies: Copies) -> tuple[Result, ...]:
        return tuple(self._result(i, hits, copies) for i in range(len(hits)))

    def _result(self, i: int, hits: Hits, copies: Copies) -> Result:
        segment_index, column = int(hits.segment[i]), int(hits.column[i])
        figures: dict[str, Any] = {}
        if hits.estimate is not None:
            figures["estimate"] = float(hits.estimate[i])
            if not self.options.verified:
                figures["containment"] = figures["estimate"]
        if hits.error is not None:
            figures["error"] = float(hits.error[i])
        return self.name_hit(
            Result,
            i + 1,
            int(hits.matched[i]),
            self.locate_columns(segment_index, (column,)),
            copies,
            _column_size=self.segment_tables[segment_index].size_of(column),
            verified=self.options.verified,
            **figures,
        )

    def locate_columns(self, segment_index: int, columns: tuple[int, ...]) -> ResultLocation:
        """Where columns of a segment are; the evidence is about the first."""
        return self.locate(
            segment_index,
            columns,
            partial(find_shared_values, self._codes, segment_index, columns[0]),
            partial(self.segment_tables[segment_index].size_of, columns[0]),
        )

    def count_shared(self, segment_index: int, column: int) -> int:
        return len(find_shared_values(self._codes, segment_index, column).positions)

    def notes(self, hits: Hits, results: Sequence[Result]) -> list[str]:
        query, options, sketched = self.query, self.options, hits.estimate is not None
        all_columns = self.snapshot.manifest.options.all_columns
        index = self.snapshot.location.uri
        notes = unsearched_note(query.column, query.type, all_columns, index)
        if results and options.by == "containment" and not sketched:
            notes.append("few columns share these values: counted exactly, without sketches")
        if results and sketched and len(query) < _FEW:
            notes.append(
                f"with so few values, sketches miss columns that are much larger; {_EXACTLY}"
            )
        if results and not options.verified:
            notes.append("these are estimates: some columns contain less than the minimum")
        if results:
            return notes
        if not self.snapshot.manifest.totals.tables:
            return [*notes, "the index is empty"]
        where = "other table in the lake" if options.others else "searched column in the lake"
        if sketched:
            # Sketches can miss a column, so this is not proof that there is none.
            return [*notes, f"sketches found no {where} that contains enough; {_EXACTLY}"]
        if options.min is not None and options.min > 0 and len(query) > 1:
            share = f"{format_percent(options.min)} of the {len(query):,} values"
            return [*notes, f"no {where} contains {share} of {query.column!r}"]
        if len(query) > 1:
            values = f"none of the {len(query):,} values of {query.column!r}"
            return [*notes, f"{values} is in any {where}"]
        return [*notes, f"the only value of {query.column!r} is in no {where}"]


class Searcher:
    """Searches one snapshot; safe from several threads."""

    def __init__(self, snapshot: Snapshot, encoder: Any = None) -> None:
        self.snapshot = snapshot
        self._encoder = encoder
        self._places = [SegmentTables(segment) for segment in snapshot.segments]
        # Of query tables: itself and its copies, by segment, and their columns with deleted ones.
        self._itself: WeakKeyDictionary[QueryTable, tuple[list[Array], list[Array]]] = (
            WeakKeyDictionary()
        )

    @cached_property
    def _costs(self) -> ReadCosts | None:
        """The cost of reading this index, if it was measured on this machine before."""
        return load_costs(self.snapshot.location)

    @cached_property
    def meanings(self) -> MeaningIndex:
        from lakejoin.search.meaning_search import MeaningIndex

        return MeaningIndex(self.snapshot, self._encoder)

    def search(
        self,
        query_table: QueryTable,
        choice: ColumnChoice,
        options: SearchOptions | None = None,
        notes: Sequence[str] = (),
        since: float | None = None,
    ) -> Answer:
        """Search for the chosen columns of a query table: one, a composite key, or coordinates.

        `since` is when the caller began to wait, by `time.perf_counter`; now by default.
        """
        begin = time.perf_counter() if since is None else since
        search, hits, results, own_notes = self._run(
            query_table, choice, options or SearchOptions()
        )
        _gather(results[:EAGER_RESULTS])
        answer = Answer(
            query=search.query,
            results=tuple(results),
            by=search.options.by,
            k=search.options.k,
            min=search.options.min,
            counters=hits.counters,
            seconds=time.perf_counter() - begin,
            notes=(*notes, *own_notes),
            reach=search.reach,
        )
        search.release()
        return answer

    def results(
        self, query_table: QueryTable, column_index: int, options: SearchOptions
    ) -> tuple[tuple[Result, ...], tuple[str, ...]]:
        """The results of `search` and their notes; all evidence is gathered on demand."""
        _, _, results, notes = self._run(query_table, ColumnChoice((column_index,)), options)
        return tuple(results), notes

    def _run(
        self, query_table: QueryTable, choice: ColumnChoice, options: SearchOptions
    ) -> tuple[EngineSearch, Any, Sequence[Result], tuple[str, ...]]:
        """Run a search: what it was, its hits, its results, and notes."""
        copies = self._copies(query_table, choice.column_indexes[0])
        options = complete_options(choice, options)
        excluded, left_out = self._excluded(copies, options)
        search = self._prepare(query_table, choice, options, excluded)
        hits = self._find(search)
        results = search.results(hits, copies)
        notes = (*query_table.notes(), *left_out, *search.notes(hits, results))
        return search, hits, results, notes

    def _prepare(
        self,
        query_table: QueryTable,
        choice: ColumnChoice,
        options: SearchOptions,
        excluded: ExcludedColumns,
    ) -> EngineSearch:
        columns = choice.column_indexes
        shared = (self.snapshot, self._places, query_table, columns, options, excluded)
        if choice.is_key:
            from lakejoin.search.key_search import KeySearch

            return KeySearch(*shared, choice.fixed_partners, self._costs)
        if options.by == "meaning":
            from lakejoin.search.meaning_search import MeaningSearch

            return MeaningSearch(*shared, self.meanings)
        if options.by == "distance":
            from lakejoin.search.distance_search import DistanceSearch

            return DistanceSearch(*shared)
        return ColumnSearch(*shared, self._costs)

    def _find(self, search: EngineSearch) -> Any:
        return search.hits()

    def prepare_near_search(
        self, query_table: QueryTable, column_indexes: Sequence[int], options: SearchOptions
    ) -> EngineSearch:
        """Prepare a search by meaning or distance without running it."""
        choice = ColumnChoice(tuple(column_indexes))
        options = complete_options(choice, options)
        excluded, _ = self._excluded(self._copies(query_table, column_indexes[0]), options)
        return self._prepare(query_table, choice, options, excluded)

    def results_for_columns(
        self, query_table: QueryTable, column_index: int, columns: Sequence[tuple[int, int]]
    ) -> tuple[Result, ...]:
        """The results of given lake columns, (segment index, column), for one query column; leaves
        out the query table, its copies, and columns that share nothing."""
        copies = self._copies(query_table, column_index)
        excluded = self._find_itself(copies)[1]
        search = self._column_search(query_table, (column_index,))
        kept = [address for address in columns if address[1] not in excluded[address[0]]]
        matching = [
            (*address, count) for address in kept if (count := search.count_shared(*address))
        ]
        segments, found, counts = np.array(matching, np.int64).reshape(-1, 3).T
        return search.results(Hits(segments, found, counts, Counters()), copies)

    def table_of(self, segment_index: int, column: int) -> int:
        return self._places[segment_index].table_of(column)

    def locate_result(
        self,
        query_table: QueryTable,
        column_indexes: tuple[int, ...],
        segment_index: int,
        columns: tuple[int, ...],
    ) -> ResultLocation:
        """The location of a result whose values need not be equal to the query's."""
        search = self._column_search(query_table, column_indexes)
        return search.locate_columns(segment_index, columns)

    def _column_search(
        self, query_table: QueryTable, column_indexes: tuple[int, ...]
    ) -> ColumnSearch:
        dead = ExcludedColumns(self._dead)
        options = SearchOptions()
        return ColumnSearch(self.snapshot, self._places, query_table, column_indexes, options, dead)

    def excluded(self, query_table: QueryTable, column_index: int) -> ExcludedColumns:
        return ExcludedColumns(self._find_itself(self._copies(query_table, column_index))[1])

    def note_left_out_tables(self, query_table: QueryTable, column_index: int) -> list[str]:
        """The note about the query table and its copies, which are left out of answers."""
        copies = self._find_itself(self._copies(query_table, column_index))[0]
        return left_out_note(sum(map(len, copies)), query_table.home is not None)

    def _copies(self, query_table: QueryTable, column_index: int) -> Copies:
        return Copies(self.snapshot.segments, self._places, query_table, column_index)

    def _excluded(
        self, copies: Copies, options: SearchOptions
    ) -> tuple[ExcludedColumns, list[str]]:
        if not options.others:
            return ExcludedColumns(self._dead), []
        tables, columns = self._find_itself(copies)
        notes = left_out_note(sum(map(len, tables)), copies.query_table.home is not None)
        return ExcludedColumns(columns), notes

    def _find_itself(self, copies: Copies) -> tuple[list[Array], list[Array]]:
        """By segment, the query table and its copies, and the columns of these and of deleted
        tables; found once for a table."""
        known = self._itself.get(copies.query_table)
        if known is None:
            tables = copies.all()
            known = self._itself[copies.query_table] = tables, self._without(tables)
        return known

    @cached_property
    def _dead(self) -> list[Array]:
        return [places.deleted_columns for places in self._places]

    def _without(self, tables: Sequence[Array]) -> list[Array]:
        """By segment, the columns of deleted tables and of the given ones."""
        return [
            np.union1d(dead, places.columns_of(left_out)) if len(left_out) else dead
            for dead, places, left_out in zip(self._dead, self._places, tables, strict=True)
        ]


def complete_options(choice: ColumnChoice, options: SearchOptions) -> SearchOptions:
    """Check that the options apply to a key or a column, and fill in the defaults."""
    checked = options.check_for_key() if choice.is_key else options.check_for_column()
    return checked.with_defaults()


def left_out_note(tables: int, itself: bool) -> list[str]:
    """The note about tables that were left out; `itself` if the query table is one of them."""
    count = tables - itself
    copies = f"{count:,} exact " + ("copy" if count == 1 else "copies")
    if itself:
        return ["the table itself is left out" + (f", and {copies} of it" if count else "")]
    return [f"{copies} of the table " + ("is" if count == 1 else "are") + " left out"] * (count > 0)


def _gather(results: Sequence[Result]) -> None:
    """Gather evidence and sizes by segment, so that the query is looked up once in each."""
    for result in sorted(results, key=lambda r: r.found.segment_index if r.found else 0):
        _ = result.evidence, result.column_size
