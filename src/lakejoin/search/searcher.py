"""Run an engine over the segments of a snapshot, then gather the evidence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.containment.engine import ContainmentEngine, filter_by_share
from lakejoin.engines.hits import Counters, ExcludedColumns, Hits
from lakejoin.engines.query import Query, unsearched_note
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.search.answer import Answer
from lakejoin.search.evidence import QueryCodes, SearchedValues, find_shared_values
from lakejoin.search.options import DEFAULT_K, SearchOptions
from lakejoin.search.result import NearResult, Result, ResultLocation
from lakejoin.search.table_versions import Copies
from lakejoin.store.segment_tables import SegmentTables
from lakejoin.text_format import format_percent

if TYPE_CHECKING:
    from lakejoin.engines.composite.hits import KeyCounters, KeyHits
    from lakejoin.engines.meaning.hits import VectorCounters, VectorHits
    from lakejoin.engines.overlap.read_costs import ReadCosts
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.distance_search import DistanceSearch
    from lakejoin.search.key_search import KeySearch
    from lakejoin.search.meaning_search import MeaningIndex, MeaningSearch
    from lakejoin.search.query_columns import ColumnChoice
    from lakejoin.store.snapshot import Snapshot

_FEW = 100  # values: sketches miss smaller queries in large columns
_EXACTLY = "search by overlap counts exactly"
EAGER_RESULTS = 100  # results whose evidence is gathered with the search


class Searcher:
    """Searches one snapshot; safe from several threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._places = [SegmentTables(segment) for segment in snapshot.segments]

    @cached_property
    def _costs(self) -> ReadCosts | None:
        """The cost of reading this index, if it was measured on this machine before."""
        from lakejoin.engines.overlap.read_costs import load_costs

        return load_costs(self.snapshot.location)

    def search(
        self,
        query_table: QueryTable,
        column_index: int,
        options: SearchOptions | None = None,
        notes: Sequence[str] = (),
        since: float | None = None,
    ) -> Answer:
        """Search for one column of a query table.

        `since` is when the caller began to wait, by `time.perf_counter`; now by default.
        """
        if options is not None and options.by == "meaning":
            return self.search_near(query_table, (column_index,), options, notes, since)
        begin = time.perf_counter() if since is None else since
        options = (options or SearchOptions()).check_for_column().with_defaults()
        results, all_notes, counters = self._column(query_table, column_index, options)
        all_notes = (*notes, *all_notes)
        return _answer(
            query_table.query(column_index), results, options, counters, all_notes, begin
        )

    def results(
        self, query_table: QueryTable, column_index: int, options: SearchOptions
    ) -> tuple[tuple[Result, ...], tuple[str, ...]]:
        """The results of `search` and their notes; all evidence is gathered on demand."""
        return self._column(query_table, column_index, options.check_for_column().with_defaults())[
            :2
        ]

    def _column(
        self, query_table: QueryTable, column_index: int, options: SearchOptions
    ) -> tuple[tuple[Result, ...], tuple[str, ...], Counters]:
        query = query_table.query(column_index)
        if len(query) == 0:
            raise InputError(f"column {query.column!r} of {query.table} has no values")
        copies = Copies(self.snapshot.segments, self._places, query_table, column_index)
        excluded, left_out = self._excluded(copies, options)
        hits = self._hits(query, options, excluded)
        located = QueryCodes(query, self.snapshot.segments)
        results = tuple(
            self._result(i, hits, located, copies, options.verified) for i in range(len(hits))
        )
        notes = self._notes(query, results, options, hits.estimate is not None)
        return results, (*query_table.notes(), *left_out, *notes), hits.counters

    def search_key(
        self,
        query_table: QueryTable,
        key: ColumnChoice,
        options: SearchOptions | None = None,
        notes: Sequence[str] = (),
        since: float | None = None,
    ) -> Answer:
        """Search for a composite key of a query table; `since` as for `search`."""
        begin = time.perf_counter() if since is None else since
        options = (options or SearchOptions()).check_for_key().with_defaults()
        search = self._key(query_table, key, options)
        copies = Copies(self.snapshot.segments, self._places, query_table, key.column_indexes[0])
        excluded, left_out = self._excluded(copies, options)
        hits = self._key_hits(search, excluded)
        results = search.results(hits, copies)
        all_notes = (
            *notes,
            *query_table.notes(),
            *left_out,
            *search.notes(hits, results, excluded),
        )
        answer = _answer(search.query, results, options, hits.counters, all_notes, begin)
        search.release()
        return answer

    def search_near(
        self,
        query_table: QueryTable,
        column_indexes: Sequence[int],
        options: SearchOptions,
        notes: Sequence[str] = (),
        since: float | None = None,
    ) -> Answer:
        """Search by meaning or distance, for one column or for latitude and longitude."""
        begin = time.perf_counter() if since is None else since
        options = options.check_for_column().with_defaults()
        copies = Copies(self.snapshot.segments, self._places, query_table, column_indexes[0])
        excluded, left_out = self._excluded(copies, options)
        search = self._near(query_table, column_indexes, options, excluded)
        hits = self._near_hits(search)
        results = search.results(hits, copies)
        own_notes = [*search.notes(hits, results), *_unlisted(results, options)]
        all_notes = (*notes, *query_table.notes(), *left_out, *own_notes)
        answer = _answer(search.query, results, options, hits.counters, all_notes, begin)
        search.release()
        return replace(answer, reach=search.reach)

    def prepare_near_search(
        self, query_table: QueryTable, column_indexes: Sequence[int], options: SearchOptions
    ) -> MeaningSearch | DistanceSearch:
        """Prepare a search by meaning or distance without running it."""
        options = options.check_for_column().with_defaults()
        copies = Copies(self.snapshot.segments, self._places, query_table, column_indexes[0])
        return self._near(query_table, column_indexes, options, self._excluded(copies, options)[0])

    def _key(self, query_table: QueryTable, key: ColumnChoice, options: SearchOptions) -> KeySearch:
        from lakejoin.search.key_search import KeySearch

        return KeySearch(self.snapshot, self._places, query_table, key, options, self._costs)

    def _key_hits(self, search: KeySearch, excluded: ExcludedColumns) -> KeyHits:
        return search.hits(excluded)

    def _near_hits(self, search: MeaningSearch | DistanceSearch) -> VectorHits:
        return search.hits()

    def _near(
        self,
        query_table: QueryTable,
        column_indexes: Sequence[int],
        options: SearchOptions,
        excluded: ExcludedColumns,
    ) -> MeaningSearch | DistanceSearch:
        snapshot, tables = self.snapshot, self._places
        if options.by == "meaning":
            from lakejoin.search.meaning_search import MeaningSearch

            (column_index,) = column_indexes
            return MeaningSearch(
                snapshot, tables, self._meanings, query_table, column_index, options, excluded
            )
        from lakejoin.search.distance_search import DistanceSearch

        return DistanceSearch(
            snapshot, tables, query_table, tuple(column_indexes), options, excluded
        )

    @cached_property
    def _meanings(self) -> MeaningIndex:
        from lakejoin.search.meaning_search import MeaningIndex

        return MeaningIndex(self.snapshot)

    def results_for_columns(
        self, query_table: QueryTable, column_index: int, columns: Sequence[tuple[int, int]]
    ) -> tuple[Result, ...]:
        """The results of given lake columns, (segment index, column), for one query column; leaves
        out the query table, its copies, and columns that share nothing."""
        query = query_table.query(column_index)
        copies = Copies(self.snapshot.segments, self._places, query_table, column_index)
        excluded = self._without(copies.all())
        located = QueryCodes(query, self.snapshot.segments)
        kept = [address for address in columns if address[1] not in excluded[address[0]]]
        matched = [len(find_shared_values(located, *address).positions) for address in kept]
        matching = [
            (*address, count) for address, count in zip(kept, matched, strict=True) if count
        ]
        segments, found, counts = np.array(matching, np.int64).reshape(-1, 3).T
        hits = Hits(segments, found, counts, Counters())
        return tuple(self._result(i, hits, located, copies, True) for i in range(len(matching)))

    def table_of(self, segment_index: int, column: int) -> int:
        """The index of the table that a column of a segment belongs to."""
        return self._places[segment_index].table_of(column)

    def locate_result(
        self,
        query_table: QueryTable,
        column_indexes: tuple[int, ...],
        segment_index: int,
        columns: tuple[int, ...],
    ) -> ResultLocation:
        """The location of a result whose values need not be equal to the query's."""
        segments = self.snapshot.segments
        size = partial(self._places[segment_index].size_of, columns[0])
        query = query_table.query(column_indexes[0])
        table = self.table_of(segment_index, columns[0])
        located = QueryCodes(query, segments)
        meeting = partial(find_shared_values, located, segment_index, columns[0])
        manifest, segment = self.snapshot.manifest, segments[segment_index]
        return ResultLocation(
            query,
            segment,
            segment_index,
            table,
            columns,
            query_table,
            column_indexes,
            manifest,
            meeting,
            size,
        )

    def excluded(self, query_table: QueryTable, column_index: int) -> ExcludedColumns:
        """The columns of the query table, of its copies and of deleted tables."""
        copies = Copies(self.snapshot.segments, self._places, query_table, column_index)
        return ExcludedColumns(self._without(copies.all()))

    def note_left_out_tables(self, query_table: QueryTable, column_index: int) -> list[str]:
        """The note about the query table and its copies, which are left out of answers."""
        copies = Copies(self.snapshot.segments, self._places, query_table, column_index)
        return left_out_note(sum(map(len, copies.all())), query_table.home is not None)

    def _excluded(
        self, copies: Copies, options: SearchOptions
    ) -> tuple[ExcludedColumns, list[str]]:
        """The columns to leave out, and notes about them."""
        if not options.others:
            return ExcludedColumns(self._dead), []
        tables = copies.all()
        notes = left_out_note(sum(map(len, tables)), copies.query_table.home is not None)
        return ExcludedColumns(self._without(tables)), notes

    @cached_property
    def _dead(self) -> list[Array]:
        return [places.deleted_columns for places in self._places]

    def _without(self, tables: Sequence[Array]) -> list[Array]:
        """By segment, the columns of deleted tables and of the given ones."""
        return [
            np.union1d(dead, places.columns_of(left_out))
            for dead, places, left_out in zip(self._dead, self._places, tables, strict=True)
        ]

    def _result(
        self, i: int, hits: Hits, located: QueryCodes, copies: Copies, verified: bool
    ) -> Result:
        segment, column = int(hits.segment[i]), int(hits.column[i])
        places = self._places[segment]
        table = places.table_of(column)
        matched, size = int(hits.matched[i]), len(located.query)
        estimate = None if hits.estimate is None else float(hits.estimate[i])
        return Result(
            rank=i + 1,
            table=places.table_name(table),
            columns=(places.column_name(column),),
            matched=matched,
            containment=matched / size if verified or estimate is None else estimate,
            query_size=size,
            _column_size=places.size_of(column),
            copy=copies.kind(segment, table),
            estimate=estimate,
            error=None if hits.error is None else float(hits.error[i]),
            verified=verified,
            found=ResultLocation(
                located.query,
                self.snapshot.segments[segment],
                segment,
                table,
                (column,),
                copies.query_table,
                (copies.column_index,),
                self.snapshot.manifest,
                partial(find_shared_values, located, segment, column),
                partial(places.size_of, column),
            ),
        )

    def _hits(self, query: Query, options: SearchOptions, excluded: ExcludedColumns) -> Hits:
        segments = self.snapshot.segments
        if not segments:
            none = np.zeros(0, dtype=np.int64)
            return Hits(none, none, none, Counters())
        if options.by == "overlap":
            from lakejoin.engines.overlap import Overlap

            found = Overlap(options.k or DEFAULT_K, options.algorithm, self._costs)
            return filter_by_share(found.search(query, segments, excluded), query, options.min)
        contained = ContainmentEngine(options.min or 0.0, options.k, options.verified, self._costs)
        return contained.search(query, segments, excluded)

    def _notes(
        self, query: Query, results: Sequence[Result], options: SearchOptions, sketched: bool
    ) -> list[str]:
        all_columns = self.snapshot.manifest.options.all_columns
        notes = unsearched_note(query.column, query.type, all_columns)
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
        where = "other table of the lake" if options.others else "searched column of the lake"
        if sketched:
            # Sketches can miss a column, so this is not proof that there is none.
            return [*notes, f"sketches found no {where} that contains enough; {_EXACTLY}"]
        if options.min is not None and options.min > 0 and len(query) > 1:
            values = (
                f"{format_percent(options.min)} of the {len(query):,} values of {query.column!r}"
            )
            return [*notes, f"no {where} contains {values}"]
        if len(query) > 1:
            values = f"none of the {len(query):,} values of {query.column!r}"
            return [*notes, f"{values} is in any {where}"]
        return [*notes, f"the only value of {query.column!r} is in no {where}"]


def _answer(
    query: SearchedValues,
    results: Sequence[Result],
    options: SearchOptions,
    counters: Counters | KeyCounters | VectorCounters,
    notes: tuple[str, ...],
    begin: float,
) -> Answer:
    """Make the answer, after gathering the evidence of its first results."""
    _gather(results[:EAGER_RESULTS])
    return Answer(
        query=query,
        results=tuple(results),
        by=options.by,
        k=options.k,
        min=options.min,
        counters=counters,
        seconds=time.perf_counter() - begin,
        notes=notes,
    )


def left_out_note(tables: int, itself: bool) -> list[str]:
    """The note about tables that were left out; `itself` if the query table is one of them."""
    count = tables - itself
    copies = f"{count:,} exact " + ("copy" if count == 1 else "copies")
    if itself:
        return ["the table itself is left out" + (f", and {copies} of it" if count else "")]
    return [f"{copies} of the table " + ("is" if count == 1 else "are") + " left out"] * (count > 0)


def _unlisted(results: Sequence[NearResult], options: SearchOptions) -> list[str]:
    """The note about results with too many pairs to list."""
    from lakejoin.search.evidence import MAX_LISTED_PAIRS

    many = sum(not result.listed for result in results)
    if not many:
        return []
    has = "1 result has" if many == 1 else f"{many:,} results have"
    smaller = "tau" if options.by == "meaning" else "within"
    return [
        f"{has} more than {MAX_LISTED_PAIRS:,} pairs, too many to list: counted only, without "
        f"examples; try a smaller {smaller}"
    ]


def _gather(results: Sequence[Result]) -> None:
    """Gather evidence and sizes by segment, so that the query is looked up once in each."""
    for result in sorted(results, key=lambda r: r.found.segment_index if r.found else 0):
        _ = result.evidence, result.column_size
