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
from lakejoin.search.options import AUTO, ByMeaning, SearchOptions
from lakejoin.search.query_columns import ColumnChoice, split_searches
from lakejoin.search.searcher import ColumnSearch, Searcher, complete_options, left_out_note

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.answer import Answer
    from lakejoin.search.engine_search import EngineSearch
    from lakejoin.search.table_versions import Copies


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
            "tau auto needs all columns in the lake at once: search with one table to see which "
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
        engine = ContainmentEngine(options.min or 0.0, options.k, options.verified)
        best = engine.merge(contained, segment_indexes)
    else:
        best = merge_ranked_hits(ranked, segment_indexes, options.k)
    left_out = sum(part.left_out for part in parts)
    return PartitionHits(best, left_out, sum(part.seconds for part in parts))


class PartitionSearcher(Searcher):
    """Searches a partition of an index: its snapshot has only some of the segments."""

    def gather(
        self, query_table: QueryTable, choice: ColumnChoice, options: SearchOptions
    ) -> Iterator[PartitionHits]:
        check_partitionable(options)
        for search in split_searches(choice, options.by):
            begin = time.perf_counter()
            copies = self._copies(query_table, search.column_indexes[0])
            tables = copies.all() if options.others else []
            excluded = ExcludedColumns(self._without(tables) if options.others else self._dead)
            complete = complete_options(search, options)
            found = self._gather(self._prepare(query_table, search, complete, excluded))
            yield PartitionHits(found, sum(map(len, tables)), time.perf_counter() - begin)

    def _gather(self, search: EngineSearch) -> RankedHits | ContainmentParts:
        segments, options = self.snapshot.segments, search.options
        if isinstance(search, ColumnSearch) and options.by == "containment":
            search.check_values()
            return search.containment.gather(search.query, segments, search.excluded)
        hits = search.hits()
        score = hits.matched
        if options.near is not None:
            hits = replace(hits, near=())
            score = hits.pairs if options.near.measure == "all" else hits.matched
        if len(search.column_indexes) > 1 and options.near is None:  # the tables of a key
            where = zip(hits.segment.tolist(), hits.table.tolist(), strict=True)
            size = [self._places[segment].rows[table] for segment, table in where]
        elif options.by == "distance":
            where = zip(hits.segment.tolist(), hits.column.tolist(), strict=True)
            size = [segments[segment].points.size(points) for segment, points in where]
        else:
            return RankedHits(hits, read_column_sizes(hits, segments), score)
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
        answers = []
        for search, self._gathered in zip(split_searches(choice, options.by), found, strict=True):
            since = time.perf_counter() - self._gathered.seconds
            answers.append(self.search(query_table, search, options, notes, since))
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

    def _find(self, search: EngineSearch) -> Any:
        if not isinstance(search, ColumnSearch):
            return self._best
        if search.options.by == "containment":
            return search.containment.complete(self._best, search.query, self.snapshot.segments)
        return filter_by_share(self._best, search.query, search.options.min)
