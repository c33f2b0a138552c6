"""The tasks of a batch search; this module and everything it imports is free of Spark.

First every group of segments is searched for a chunk of queries and returns column ids with their
scores. The driver merges them for each query, and a second task collects the evidence for the best
ones from the few segments that have it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.errors import LakejoinError
from lakejoin.formats.file_reader import split_part
from lakejoin.inputs import resolve_table
from lakejoin.locations import Location
from lakejoin.search.answer import Answer
from lakejoin.search.partitioned_search import (
    CompletingSearcher,
    PartitionHits,
    PartitionSearcher,
    merge_partitions,
)
from lakejoin.search.query_columns import choose_columns
from lakejoin.search.query_tables import (
    ForeignIndexedTable,
    IndexedTable,
    ambiguous_name_note,
    open_file_table,
)
from lakejoin.search.searcher import Searcher
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.ranking.answer import FusedAnswer
    from lakejoin.search.options import SearchOptions
    from lakejoin.search.query_columns import ColumnSelection
    from lakejoin.store.manifest import Manifest


@dataclass(frozen=True, slots=True)
class BatchQuery:
    """A query table: a file at `path`, or a table in the lake, given by `home` (segment and table
    index); a `problem` if it is neither. `name` is what the caller wrote."""

    name: str
    on: ColumnSelection
    options: SearchOptions
    path: str = ""
    home: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    problem: LakejoinError | None = None

    @property
    def is_partitioned(self) -> bool:
        """Whether groups of segments are searched separately."""
        return self.options.by != "fused" and self.problem is None


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """The version of the index that all tasks of a batch search."""

    index: str
    manifest: Manifest


# The hits of a query in one group of segments, or why it cannot be answered.
GroupHits = list[PartitionHits] | LakejoinError


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The outcome of a query: its detached answers, or the JSON and text of a fused answer; or why
    it failed."""

    answers: tuple[Answer, ...] = ()
    fused: tuple[dict[str, Any], str] | None = None
    error: LakejoinError | None = None


def locate_queries(
    requests: Sequence[tuple[str, ColumnSelection, SearchOptions]], snapshot: Snapshot
) -> list[BatchQuery]:
    homes = _homes([name for name, _, _ in requests], snapshot)
    queries: list[BatchQuery] = []
    for name, on, options in requests:
        path, part = split_part(name)
        home = homes.get(name)
        if path:
            uri = Location.of(path).uri + (f"#{part}" if part else "")
            notes = (ambiguous_name_note(name),) if home else ()
            queries.append(BatchQuery(name, on, options, path=uri, notes=notes))
        elif home:
            queries.append(BatchQuery(name, on, options, home=home))
        else:
            problem = _explain_missing(name, snapshot)
            queries.append(BatchQuery(name, on, options, problem=problem))
    return queries


def _homes(names: Sequence[str], snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """The (segment index, table index) of the live tables with these names, like `find_table`."""
    homes: dict[str, tuple[int, int]] = {}
    left = pa.array(dict.fromkeys(names), pa.string())
    for segment_index in reversed(range(len(snapshot.segments))):
        segment = snapshot.segments[segment_index]
        tables = pc.index_in(left, value_set=segment.catalog.tables["name"].combine_chunks())
        tables = np.asarray(tables.fill_null(-1))
        tables = np.where(np.isin(tables, segment.record.dead), -1, tables)
        for at in np.flatnonzero(tables >= 0).tolist():
            homes[left[at].as_py()] = (segment_index, int(tables[at]))
        left = left.filter(pa.array(tables < 0))
    return homes


def _explain_missing(name: str, snapshot: Snapshot) -> LakejoinError:
    try:
        resolve_table(name, snapshot)
    except LakejoinError as problem:
        return problem
    return LakejoinError(f"{name} appeared during the search; search again")


# -- what a task does ------------------------------------------------------------------------------


def find_hits(
    version: IndexVersion, segment_indexes: tuple[int, ...], query: BatchQuery
) -> GroupHits:
    searcher = _opened(version, segment_indexes).part
    try:
        table = _query_table(version, segment_indexes, query)
        choice = choose_columns(
            table, query.on, version.manifest.options.all_columns, query.options.by
        )
        return list(searcher.gather(table, choice, query.options))
    except LakejoinError as problem:
        return problem


def merge_hits(
    query: BatchQuery, by_group: Sequence[GroupHits], segment_groups: Sequence[Sequence[int]]
) -> GroupHits:
    for hits in by_group:
        if isinstance(hits, LakejoinError):
            return hits
    groups = [np.array(group, dtype=np.int64) for group in segment_groups]
    by_search = zip(*[hits for hits in by_group if isinstance(hits, list)], strict=True)
    return [merge_partitions(parts, groups, query.options) for parts in by_search]


def complete_answers(
    version: IndexVersion, queries: Sequence[tuple[BatchQuery, GroupHits]]
) -> Iterator[QueryOutcome]:
    for query, hits in queries:
        if isinstance(hits, LakejoinError):
            yield QueryOutcome(error=hits)
            continue
        try:
            table = _query_table(version, None, query)
            yield _complete_query(version, query, hits, table)
        except LakejoinError as problem:
            yield QueryOutcome(error=problem)


def _complete_query(
    version: IndexVersion, query: BatchQuery, hits: Any, table: QueryTable
) -> QueryOutcome:
    opened = _opened(version)
    if not query.is_partitioned:
        answer = _fused(opened.plain, query, table)
        return QueryOutcome(fused=(answer.to_dict(), repr(answer)))
    choice = choose_columns(table, query.on, version.manifest.options.all_columns, query.options.by)
    notes = (*query.notes, *([choice.note] if choice.note else []))
    answers = opened.whole.complete(table, choice, query.options, notes, hits)
    return QueryOutcome(tuple(Answer.from_dict(answer.to_dict()) for answer in answers))


def _fused(searcher: Searcher, query: BatchQuery, table: QueryTable) -> FusedAnswer:
    from lakejoin.ranking.fused_search import FusedOptions, search_fused

    all_columns = searcher.snapshot.manifest.options.all_columns
    choice = None if query.on is None else choose_columns(table, query.on, all_columns)
    options = FusedOptions(choice, query.options.k, query.notes, time.perf_counter())
    return search_fused(searcher, table, options)


def _query_table(
    version: IndexVersion, segment_indexes: tuple[int, ...] | None, query: BatchQuery
) -> QueryTable:
    """The table of a query, for a search in the segments with these indexes, or in all."""
    if query.home is None:
        return open_file_table(query.path, version.manifest.options.rules, query.name)
    segment, table = query.home
    if segment_indexes is not None and segment not in segment_indexes:
        elsewhere = _opened(version, (segment,)).snapshot
        return ForeignIndexedTable(elsewhere, 0, elsewhere.segments[0].catalog.table(table))
    snapshot = _opened(version, segment_indexes).snapshot
    at = segment if segment_indexes is None else segment_indexes.index(segment)
    return IndexedTable(snapshot, at, snapshot.segments[at].catalog.table(table))


class _Opened:
    """Some segments of an index, with the searchers for them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @cached_property
    def part(self) -> PartitionSearcher:
        return PartitionSearcher(self.snapshot)

    @cached_property
    def whole(self) -> CompletingSearcher:
        return CompletingSearcher(self.snapshot)

    @cached_property
    def plain(self) -> Searcher:
        return Searcher(self.snapshot)


# A worker process runs many tasks, mostly on the same segments.
_KEPT = 8
_OPENED: dict[tuple[Any, ...], _Opened] = {}


def _opened(version: IndexVersion, segment_indexes: tuple[int, ...] | None = None) -> _Opened:
    """Open the segments with these indexes, or all; recently opened ones are reused."""
    manifest = version.manifest
    key = (version.index, manifest.version, manifest.created, segment_indexes)
    if key not in _OPENED:
        if segment_indexes is not None:
            records = tuple(manifest.segments[index] for index in segment_indexes)
            manifest = replace(manifest, segments=records)
        while len(_OPENED) >= _KEPT:
            _OPENED.pop(next(iter(_OPENED)))
        _OPENED[key] = _Opened(Snapshot(Location.of(version.index), manifest))
    return _OPENED[key]
