"""Run a search over partitions of an index and merge their hits into one answer.

A partition is some of the segments; its hits are merged with the others' in the order that one
search over all segments has. Evidence is gathered afterwards, for the merged answer only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.containment.engine import (
    ContainmentEngine,
    ContainmentParts,
    filter_by_share,
    read_column_sizes,
)
from lakejoin.engines.hits import ExcludedColumns, RankedHits, merge_ranked_hits
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.search.options import AUTO, ByMeaning
from lakejoin.search.query_columns import ColumnChoice
from lakejoin.search.searcher import Searcher, left_out_note
from lakejoin.search.table_versions import Copies

if TYPE_CHECKING:
    from lakejoin.engines.composite.hits import KeyHits
    from lakejoin.engines.hits import Hits
    from lakejoin.engines.meaning.hits import VectorHits
    from lakejoin.engines.query import Query, QueryTable
    from lakejoin.search.answer import Answer
    from lakejoin.search.distance_search import DistanceSearch
    from lakejoin.search.key_search import KeySearch
    from lakejoin.search.meaning_search import MeaningSearch
    from lakejoin.search.options import SearchOptions


@dataclass(frozen=True, slots=True, eq=False)
class PartitionHits:
    """What a search found in a partition; `left_out` counts the copies of the query table there."""

    hits: RankedHits | ContainmentParts
    left_out: int = 0
    seconds: float = 0.0


def check_partitionable(options: SearchOptions) -> None:
    """Raise an error for options that need all segments at once."""
    if isinstance(options.near, ByMeaning) and options.near.tau == AUTO:
        raise InputError(
            "tau auto needs all columns of the lake at once: search with one table to see which "
            "tau it chooses, then pass that"
        )


def merge_partitions(
    parts: Sequence[PartitionHits], segment_indexes: Sequence[Array], options: SearchOptions
) -> PartitionHits:
    """Merge what all partitions found, in the order of the answer; `segment_indexes` are those of
    each partition's segments in the whole index."""
    options = options.with_defaults()
    found = [part.hits for part in parts]
    contained = [hits for hits in found if isinstance(hits, ContainmentParts)]
    ranked = [hits for hits in found if isinstance(hits, RankedHits)]
    if contained:
        best = _containment(options).merge(contained, segment_indexes)
    else:
        best = merge_ranked_hits(ranked, segment_indexes, options.k)
    left_out = sum(part.left_out for part in parts)
    return PartitionHits(best, left_out, sum(part.seconds for part in parts))


def split_searches(choice: ColumnChoice, options: SearchOptions) -> list[ColumnChoice]:
    """Split a choice into searches: one per column, or one for all columns together."""
    if choice.is_key or options.by == "distance":
        return [choice]
    return [ColumnChoice((column_index,)) for column_index in choice.column_indexes]


class PartitionSearcher(Searcher):
    """Searches a partition of an index: its snapshot has only some of the segments."""

    def gather(
        self, query_table: QueryTable, choice: ColumnChoice, options: SearchOptions
    ) -> Iterator[PartitionHits]:
        """Yield what each search of the choice finds."""
        check_partitionable(options)
        for search in split_searches(choice, options):
            begin = time.perf_counter()
            copies = Copies(
                self.snapshot.segments, self._places, query_table, search.column_indexes[0]
            )
            tables = copies.all() if options.others else []
            excluded = ExcludedColumns(self._without(tables) if options.others else self._dead)
            found = self._found(query_table, search, options, excluded)
            yield PartitionHits(found, sum(map(len, tables)), time.perf_counter() - begin)

    def _found(
        self,
        query_table: QueryTable,
        choice: ColumnChoice,
        options: SearchOptions,
        excluded: ExcludedColumns,
    ) -> RankedHits | ContainmentParts:
        if options.by in ("meaning", "distance"):
            return self._found_near(
                query_table, choice, options.check_for_column().with_defaults(), excluded
            )
        if choice.is_key:
            key = self._key(query_table, choice, options.check_for_key().with_defaults())
            tables = key.hits(excluded)
            where = zip(tables.segment.tolist(), tables.table.tolist(), strict=True)
            rows = [self._places[segment].rows[table] for segment, table in where]
            return RankedHits(tables, np.array(rows, dtype=np.int64), tables.matched)
        options = options.check_for_column().with_defaults()
        query = query_table.query(choice.column_indexes[0])
        if len(query) == 0:
            raise InputError(f"column {query.column!r} of {query.table} has no values")
        if options.by == "containment":
            how = _containment(options, self._costs)
            return how.gather(query, self.snapshot.segments, excluded)
        hits = self._hits(query, options, excluded)
        return RankedHits(hits, read_column_sizes(hits, self.snapshot.segments), hits.matched)

    def _found_near(
        self,
        query_table: QueryTable,
        choice: ColumnChoice,
        options: SearchOptions,
        excluded: ExcludedColumns,
    ) -> RankedHits:
        assert options.near is not None
        hits = replace(
            self._near(query_table, choice.column_indexes, options, excluded).hits(), near=()
        )
        score = hits.pairs if options.near.measure == "all" else hits.matched
        if options.by == "meaning":
            return RankedHits(hits, read_column_sizes(hits, self.snapshot.segments), score)
        where = zip(hits.segment.tolist(), hits.column.tolist(), strict=True)
        segments = self.snapshot.segments
        size = [segments[segment_index].points.size(points) for segment_index, points in where]
        return RankedHits(hits, np.array(size, dtype=np.int64), score)


class CompletingSearcher(Searcher):
    """Makes answers from what the partitions of its index found; not thread-safe."""

    _gathered: PartitionHits

    def complete(
        self,
        query_table: QueryTable,
        choice: ColumnChoice,
        options: SearchOptions,
        notes: Sequence[str],
        found: Sequence[PartitionHits],
    ) -> list[Answer]:
        """The answers, one for each search of the choice."""
        answers = []
        for search, self._gathered in zip(split_searches(choice, options), found, strict=True):
            since = time.perf_counter() - self._gathered.seconds
            if options.by == "distance":
                answer = self.search_near(query_table, search.column_indexes, options, notes, since)
            elif search.is_key:
                answer = self.search_key(query_table, search, options, notes, since)
            else:
                answer = self.search(query_table, search.column_indexes[0], options, notes, since)
            answers.append(answer)
        return answers

    @property
    def _best(self) -> Any:
        found = self._gathered.hits
        assert isinstance(found, RankedHits)
        return found.hits

    def _excluded(
        self, copies: Copies, options: SearchOptions
    ) -> tuple[ExcludedColumns, list[str]]:
        # To explain why nothing was found, all segments are searched again.
        if not options.others or not len(self._best) or options.min:
            return super()._excluded(copies, options)
        itself = copies.query_table.home is not None
        return ExcludedColumns(self._dead), left_out_note(self._gathered.left_out, itself)

    def _hits(self, query: Query, options: SearchOptions, excluded: ExcludedColumns) -> Hits:
        hits: Hits = self._best
        if options.by == "containment":
            how = _containment(options, self._costs)
            return how.complete(hits, query, self.snapshot.segments)
        return filter_by_share(hits, query, options.min)

    def _key_hits(self, search: KeySearch, excluded: ExcludedColumns) -> KeyHits:
        hits: KeyHits = self._best
        return hits

    def _near_hits(self, search: MeaningSearch | DistanceSearch) -> VectorHits:
        hits: VectorHits = self._best
        return hits


def _containment(options: SearchOptions, costs: Any = None) -> ContainmentEngine:
    return ContainmentEngine(options.min or 0.0, options.k, options.verified, costs)
