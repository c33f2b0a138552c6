"""Divides a batch search into tasks, merges the hits of its groups and makes rows of the answers.

A task runs a function on packed work (bytes) and returns packed results; who runs it is the
caller's business.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakejoin.pipeline.search_tasks import (
    BatchQuery,
    GroupHits,
    IndexVersion,
    QueryOutcome,
    complete_answers,
    find_hits,
    locate_queries,
    merge_hits,
)
from lakejoin.search.meaning_search import require_part
from lakejoin.search.options import SearchOptions
from lakejoin.search.partitioned_search import check_partitionable

if TYPE_CHECKING:
    from lakejoin.search.query_columns import ColumnSelection
    from lakejoin.store.index_records import SegmentRecord
    from lakejoin.store.snapshot import Snapshot


BatchRequest = tuple[str, "ColumnSelection", SearchOptions]

# Runs a function on items of work, one task each, under the name of a stage; returns the results in
# the order of the work.
Collect = Callable[[Callable[[bytes], bytes], Sequence[bytes], str], list[bytes]]

_HITS = 40_000  # queries times groups whose hits are collected at a time


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How a batch is divided: a group of segments has about `group_bytes` of files, a task at most
    `chunk` queries, and a wave at most `wave` queries (fewer with many groups, since each returns
    hits for every query). There are `rounds` tasks per core, so that a slow task does not delay the
    others."""

    group_bytes: int = 2 << 30
    chunk: int = 200
    wave: int = 20_000
    rounds: int = 3


def check_batch_options(snapshot: Snapshot, options: SearchOptions) -> None:
    """Raise if the index lacks what the search needs, or the search cannot be divided."""
    require_part(snapshot, options.by)
    check_partitionable(options)


@dataclass(frozen=True, slots=True)
class BatchSearch:
    """A batch search of one version of an index by tasks on `cores` cores."""

    snapshot: Snapshot
    plan: BatchPlan
    cores: int
    collect: Collect

    @property
    def version(self) -> IndexVersion:
        return IndexVersion(self.snapshot.location.uri, self.snapshot.manifest)

    def answer(self, requests: Iterable[BatchRequest]) -> Iterator[QueryOutcome]:
        """The outcomes of the queries, in their order."""
        complete = partial(_complete_packed, self.version)
        for wave in self.waves(requests):
            for cell in self.collect(complete, self.find(wave), "gathering evidence"):
                yield from pickle.loads(cell)

    def row_task(self, by: str) -> tuple[Callable[[bytes], pa.RecordBatch], str]:
        """The second stage as a function that returns rows, and their schema."""
        rows, schema = (fused_rows, FUSED_SCHEMA) if by == "fused" else (answer_rows, ANSWER_SCHEMA)
        return partial(_complete_rows, self.version, rows), schema

    def waves(self, requests: Iterable[BatchRequest]) -> Iterator[list[BatchRequest]]:
        """The queries in waves, whose hits fit into the memory of the driver."""
        size = sum(record.bytes for record in self.snapshot.manifest.segments)
        groups = max(1, size // self.plan.group_bytes)
        queries = max(1, min(self.plan.wave, _HITS // groups))
        rest = iter(requests)
        while wave := list(islice(rest, queries)):
            yield wave

    def find(self, wave: Sequence[BatchRequest]) -> list[bytes]:
        """Search a wave of queries; returns the work of the second stage, chunk by chunk."""
        queries = locate_queries(wave, self.snapshot)
        partitioned = [query for query in queries if query.is_partitioned]
        groups, chunks = self._divide(partitioned)
        work = [pickle.dumps((group, chunk)) for group in groups for chunk in chunks]
        cells = self.collect(partial(_find_packed, self.version), work, "searching")
        hits: dict[int, list[GroupHits]] = {id(query): [] for query in partitioned}
        for n, cell in enumerate(cells):  # in the order of the work: group by group
            for query, group_hits in zip(chunks[n % len(chunks)], pickle.loads(cell), strict=True):
                hits[id(query)].append(group_hits)
        merged: list[tuple[BatchQuery, GroupHits]] = []
        for query in queries:
            if query.is_partitioned:
                merged.append((query, merge_hits(query, hits.pop(id(query)), groups)))
            else:
                merged.append((query, query.problem or []))
        size = self._chunk_size(len(merged))
        return [pickle.dumps(merged[i : i + size]) for i in range(0, len(merged), size)]

    def _divide(
        self, queries: Sequence[BatchQuery]
    ) -> tuple[list[list[int]], list[Sequence[BatchQuery]]]:
        """Groups of segments and chunks of queries, enough to keep every core busy."""
        size = self._chunk_size(len(queries))
        chunks = [queries[i : i + size] for i in range(0, len(queries), size)]
        records = self.snapshot.manifest.segments
        least = -(-self.plan.rounds * self.cores // max(1, len(chunks)))
        return group_segments(records, self.plan.group_bytes, least), chunks

    def _chunk_size(self, queries: int) -> int:
        """The number of queries in a chunk, so that there are enough chunks for all tasks."""
        tasks = max(1, self.plan.rounds * self.cores)
        return max(1, min(self.plan.chunk, -(-queries // tasks)))


def group_segments(
    records: Sequence[SegmentRecord], group_bytes: int, least: int
) -> list[list[int]]:
    """Group segment indexes to about equal sizes: at least `least` groups if there are as many
    segments, and none much larger than `group_bytes`.

    >>> from lakejoin.store.index_records import SegmentRecord
    >>> group_segments([SegmentRecord(name, 1, 1, 1, 1, 1, 1, {}) for name in "abc"], 1 << 30, 2)
    [[0, 2], [1]]
    """
    count = max(1, least, -(-sum(record.bytes for record in records) // group_bytes))
    groups: list[list[int]] = [[] for _ in range(max(1, min(count, len(records))))]
    sizes = [0] * len(groups)
    for segment in sorted(range(len(records)), key=lambda n: -records[n].bytes):
        smallest = min(range(len(groups)), key=lambda g: (sizes[g], len(groups[g])))
        groups[smallest].append(segment)
        sizes[smallest] += records[segment].bytes
    return [sorted(group) for group in groups]


# -- in the tasks ----------------------------------------------------------------------------------


def _find_packed(version: IndexVersion, work: bytes) -> bytes:
    segment_indexes, queries = pickle.loads(work)
    hits = [find_hits(version, tuple(segment_indexes), query) for query in queries]
    return pickle.dumps(hits)


def _complete_packed(version: IndexVersion, work: bytes) -> bytes:
    return pickle.dumps(list(complete_answers(version, pickle.loads(work))))


def _complete_rows(
    version: IndexVersion, make: Callable[[str, QueryOutcome], pa.RecordBatch], work: bytes
) -> pa.RecordBatch:
    queries = pickle.loads(work)
    names = [query.name for query, _ in queries]
    outcomes = complete_answers(version, queries)
    rows = [make(name, outcome) for name, outcome in zip(names, outcomes, strict=True)]
    (batch,) = pa.Table.from_batches(rows).combine_chunks().to_batches()
    return batch


# -- answers as rows -------------------------------------------------------------------------------

ANSWER_SCHEMA = (
    "query string, mine array<string>, rank bigint, `table` string, columns array<string>, "
    "matched bigint, containment double, query_size bigint, column_size bigint, "
    "row_coverage double, fan_out double, matched_examples array<string>, "
    "unmatched_examples array<string>, copy string, estimate double, error double, pairs bigint, "
    "distance double, notes array<string>, problem string"
)
FUSED_SCHEMA = (
    "query string, rank bigint, `table` string, score double, reason string, result string, "
    "notes array<string>, problem string"
)


def answer_rows(name: str, outcome: QueryOutcome) -> pa.RecordBatch:
    """One row per result of a query; a row without a rank if there are none."""
    rows = []
    for answer in outcome.answers:
        about = {"query": name, "mine": list(answer.query.columns), "notes": list(answer.notes)}
        rows += [{**about, **_flatten(result.to_dict())} for result in answer] or [about]
    if outcome.error is not None:
        rows.append({"query": name, "problem": str(outcome.error)})
    return _to_arrow(rows, ANSWER_SCHEMA)


def fused_rows(name: str, outcome: QueryOutcome) -> pa.RecordBatch:
    """The same for a fused search; `result` is the JSON of each result."""
    rows: list[dict[str, Any]] = []
    if outcome.fused is not None:
        answer = outcome.fused[0]
        about = {"query": name, "notes": answer["notes"]}
        keys = ("rank", "table", "score", "reason")
        results = [
            {
                **about,
                **{key: result[key] for key in keys},
                "result": json.dumps(result, default=str),
            }
            for result in answer["results"]
        ]
        rows += results or [about]
    if outcome.error is not None:
        rows.append({"query": name, "problem": str(outcome.error)})
    return _to_arrow(rows, FUSED_SCHEMA)


def _flatten(result: dict[str, Any]) -> dict[str, Any]:
    examples = result.pop("examples")
    return {**result, **{f"{kind}_examples": texts for kind, texts in examples.items()}}


def _to_arrow(rows: list[dict[str, Any]], schema: str) -> pa.RecordBatch:
    types = {
        "string": pa.string(),
        "array<string>": pa.list_(pa.string()),
        "bigint": pa.int64(),
        "double": pa.float64(),
    }
    columns = [column.split(" ") for column in schema.split(", ")]
    return pa.RecordBatch.from_pylist(
        rows, pa.schema([(name.strip("`"), types[kind]) for name, kind in columns])
    )
