"""Searches one index with many query tables as a Spark job; answers are DataFrame rows."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.locations import Location
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
from lakejoin.search.options import NearArguments, SearchOptions
from lakejoin.search.partitioned_search import check_partitionable
from lakejoin.spark.session import job_failure, parallelism
from lakejoin.spark.task_runner import Listener, Progress, report_job_progress
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lakejoin.search.query_columns import ColumnSelection
    from lakejoin.store.segment import SegmentRecord


BatchRequest = tuple[str, "ColumnSelection", SearchOptions]

_HITS = 40_000  # queries times groups whose hits are collected at a time
_NAMES = ("table", "on", "k", "min")  # columns allowed in a DataFrame of queries


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How a batch is divided: a group of segments has about `group_bytes` of files, a task at most
    `chunk` queries, and a Spark job at most `wave` queries (fewer with many groups, since each
    returns hits for every query). There are `rounds` tasks per core, so that a slow task does not
    delay the others."""

    group_bytes: int = 2 << 30
    chunk: int = 200
    wave: int = 20_000
    rounds: int = 3


def search(
    queries: DataFrame,
    index: Any,
    on: ColumnSelection = None,
    *,
    plan: BatchPlan | None = None,
    **options: Any,
) -> DataFrame:
    """Search with many query tables; returns a DataFrame with one row per result.

    `queries` has a column `table`: a path that the workers can read, or the name of a table in the
    lake. It may have columns `on` (a name, or an array of names for a composite key), `k` and
    `min`, which override the arguments if not null. `index` is a path or an opened `Lake`. Options
    and answers are those of `Lake.search`.

    A query without results has one row without a rank, whose `notes` say why; one that failed has
    the reason in `problem`.

    >>> from lakejoin.spark import search
    >>> queries = spark.createDataFrame([("a.csv",), ("b.csv",)], ["table"])  # doctest: +SKIP
    >>> search(queries, "lake.index", by="overlap", k=5).write.parquet("…")  # doctest: +SKIP
    """
    snapshot, how = _snapshot(index), batch_search_options(**options)
    require_part(snapshot, how.by)
    check_partitionable(how)
    spark = queries.sparkSession
    asked = _asked(queries, on, how)
    run = _Run(spark, IndexVersion(snapshot.location.uri, snapshot.manifest), plan or BatchPlan())
    work = [cell for wave in _waves(asked, run.wave) for cell in run.found(wave, snapshot)]
    make, schema = (fused_answer_rows, FUSED_SCHEMA) if how.by == "fused" else (answer_rows, SCHEMA)
    task = partial(_complete_rows, run.searched, make)
    return run.frame(task, work, schema)


def batch_search_options(
    by: str = "fused",
    k: int | None = None,
    min: float | None = None,
    others: bool = False,
    verified: bool = True,
    algorithm: str = "auto",
    initial: str | int | None = None,
    **near: Any,
) -> SearchOptions:
    """The options of `Lake.search` as a `SearchOptions`."""
    unknown = near.keys() - {field.name for field in fields(NearArguments)}
    if unknown:
        raise InputError(f"unknown search option {sorted(unknown)[0]!r}")
    how = NearArguments(**near).to_options(by)
    return SearchOptions(by, k, min, others, verified, algorithm, initial, how)


def search_batch(
    spark: SparkSession,
    snapshot: Snapshot,
    requests: Iterable[BatchRequest],
    plan: BatchPlan | None = None,
    listener: Listener = lambda progress: None,
) -> Iterator[QueryOutcome]:
    """The answers for many queries, in their order, one wave of queries at a time."""
    searched = IndexVersion(snapshot.location.uri, snapshot.manifest)
    run = _Run(spark, searched, plan or BatchPlan(), listener)
    for wave in _waves(requests, run.wave):
        work = run.found(wave, snapshot)
        task = partial(_complete_packed, run.searched)
        for cell in run.collect(task, work, "gathering evidence"):
            yield from pickle.loads(cell)


@dataclass(frozen=True, slots=True)
class _Run:
    """A batch search of one index in one Spark session."""

    spark: SparkSession
    searched: IndexVersion
    plan: BatchPlan
    listener: Listener = lambda progress: None

    @property
    def wave(self) -> int:
        """The number of queries in one job; Spark collects at most a gigabyte of results."""
        size = sum(record.bytes for record in self.searched.manifest.segments)
        groups = max(1, size // self.plan.group_bytes)
        return max(1, min(self.plan.wave, _HITS // groups))

    def found(self, wave: Sequence[BatchRequest], snapshot: Snapshot) -> list[bytes]:
        """Search a wave of queries; returns the work of the second stage, chunk by chunk."""
        queries = locate_queries(wave, snapshot)
        parted = [query for query in queries if query.is_partitioned]
        cores = parallelism(self.spark)
        groups, chunks = self._cut(parted, cores)
        work = [pickle.dumps((group, chunk)) for group in groups for chunk in chunks]
        cells = self.collect(partial(_find_packed, self.searched), work, "searching")
        hits: dict[int, list[GroupHits]] = {id(query): [] for query in parted}
        for n, cell in enumerate(cells):  # in the order of the work: group by group
            for query, part in zip(chunks[n % len(chunks)], pickle.loads(cell), strict=True):
                hits[id(query)].append(part)
        merged: list[tuple[BatchQuery, GroupHits]] = []
        for query in queries:
            if query.is_partitioned:
                merged.append((query, merge_hits(query, hits.pop(id(query)), groups)))
            else:
                merged.append((query, query.problem or []))
        size = _chunk_size(len(merged), self.plan.rounds * cores, self.plan.chunk)
        return [pickle.dumps(merged[i : i + size]) for i in range(0, len(merged), size)]

    def _cut(
        self, queries: Sequence[BatchQuery], cores: int
    ) -> tuple[list[list[int]], list[Sequence[BatchQuery]]]:
        """Cut groups of segments and chunks of queries, enough to keep every core busy."""
        tasks = self.plan.rounds * cores
        size = _chunk_size(len(queries), tasks, self.plan.chunk)
        chunks = [queries[i : i + size] for i in range(0, len(queries), size)]
        records = self.searched.manifest.segments
        least = -(-tasks // max(1, len(chunks)))
        return group_segments(records, self.plan.group_bytes, least), chunks

    def collect(
        self, task: Callable[[bytes], bytes], work: Sequence[bytes], name: str
    ) -> list[bytes]:
        """Run the task for each item of work; returns the results in order."""
        if not work:
            return []
        frame = self.frame(partial(_one_cell, task), work, "number bigint, cell binary")
        stage = Progress(name, total=len(work), unit="tasks")
        with report_job_progress(self.spark, stage, self.listener):
            try:
                rows = frame.toArrow()
            except Exception as problem:
                raise job_failure(problem) from problem
        cells = dict(zip(rows["number"].to_pylist(), rows["cell"].to_pylist(), strict=True))
        return [cells[number] for number in range(len(work))]

    def frame(self, task: Callable[..., Any], work: Sequence[bytes], schema: str) -> DataFrame:
        """A lazy DataFrame with the results of one task per item of work."""
        tasks = max(1, len(work))
        numbers = self.spark.range(0, tasks, 1, tasks)
        return numbers.mapInArrow(partial(_run_partition, task, tuple(work)), schema)


def group_segments(
    records: Sequence[SegmentRecord], group_bytes: int, least: int
) -> list[list[int]]:
    """Group segment indexes to about equal sizes: at least `least` groups if there are as many
    segments, and none much larger than `group_bytes`.

    >>> from lakejoin.store.segment import SegmentRecord
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


def _chunk_size(count: int, chunks: int, most: int) -> int:
    """The number of items in each of about `chunks` chunks."""
    return max(1, min(most, -(-count // max(1, chunks))))


def _waves(asked: Iterable[BatchRequest], size: int) -> Iterator[list[BatchRequest]]:
    rest = iter(asked)
    while wave := list(islice(rest, size)):
        yield wave


def _snapshot(index: Any) -> Snapshot:
    opened = getattr(index, "snapshot", None)
    if isinstance(opened, Snapshot):
        return opened
    if not isinstance(index, str | os.PathLike):
        raise InputError("index must be a path or an opened Lake")
    return Snapshot(Location.of(index))


def _asked(queries: DataFrame, on: ColumnSelection, options: SearchOptions) -> list[BatchRequest]:
    """Read the queries from a DataFrame."""
    if "table" not in queries.columns:
        raise InputError("the queries need a column 'table': paths, or names of tables in the lake")
    unknown = [name for name in queries.columns if name not in _NAMES]
    if unknown:
        raise InputError(
            f"unknown column {unknown[0]!r} in the queries; the columns may be {', '.join(_NAMES)}"
        )
    asked: list[BatchRequest] = []
    for row in queries.toArrow().to_pylist():
        overrides = {name: row[name] for name in ("k", "min") if row.get(name) is not None}
        key = on if row.get("on") is None else row["on"]
        asked.append((row["table"], key, replace(options, **overrides)))
    return asked


# -- in the workers --------------------------------------------------------------------------------


def _run_partition(
    task: Callable[[int, bytes], pa.RecordBatch],
    work: Sequence[bytes],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            if number < len(work):
                yield task(number, work[number])


def _one_cell(task: Callable[[bytes], bytes], number: int, work: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    cell = task(work)
    return pa.record_batch(
        {"number": pa.array([number], pa.int64()), "cell": pa.array([cell], pa.binary())}
    )


def _find_packed(searched: IndexVersion, work: bytes) -> bytes:
    numbers, queries = pickle.loads(work)
    return pickle.dumps(find_hits(searched, numbers, queries))


def _complete_packed(searched: IndexVersion, work: bytes) -> bytes:
    return pickle.dumps(list(_done(searched, work)))


def _complete_rows(
    searched: IndexVersion,
    make: Callable[[str, QueryOutcome], pa.RecordBatch],
    number: int,
    work: bytes,
) -> pa.RecordBatch:
    import pyarrow as pa

    del number
    names = [query.name for query, _ in pickle.loads(work)]
    rows = [make(name, done) for name, done in zip(names, _done(searched, work), strict=True)]
    (batch,) = pa.Table.from_batches(rows).combine_chunks().to_batches()
    return batch


def _done(searched: IndexVersion, work: bytes) -> Iterator[QueryOutcome]:
    yield from complete_answers(searched, pickle.loads(work))


SCHEMA = (
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


def answer_rows(name: str, done: QueryOutcome) -> pa.RecordBatch:
    """One row per result of a query; a row without a rank if there are none."""
    rows = []
    for answer in done.answers:
        about = {"query": name, "mine": list(answer.query.columns), "notes": list(answer.notes)}
        rows += [{**about, **_flat(result.to_dict())} for result in answer] or [about]
    if done.error is not None:
        rows.append({"query": name, "problem": str(done.error)})
    return _batch(rows, SCHEMA)


def fused_answer_rows(name: str, done: QueryOutcome) -> pa.RecordBatch:
    """The same for a fused search; `result` is the JSON of each result."""
    rows: list[dict[str, Any]] = []
    if done.fused is not None:
        answer = done.fused[0]
        about = {"query": name, "notes": answer["notes"]}
        keys = ("rank", "table", "score", "reason")
        results = [
            {**about, **{key: found[key] for key in keys}, "result": json.dumps(found, default=str)}
            for found in answer["results"]
        ]
        rows += results or [about]
    if done.error is not None:
        rows.append({"query": name, "problem": str(done.error)})
    return _batch(rows, FUSED_SCHEMA)


def _flat(result: dict[str, Any]) -> dict[str, Any]:
    examples = result.pop("examples")
    return {**result, **{f"{kind}_examples": texts for kind, texts in examples.items()}}


def _batch(rows: list[dict[str, Any]], schema: str) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "array<string>": pa.list_(pa.string()),
        "bigint": pa.int64(),
        "double": pa.float64(),
    }
    fields = [field.split(" ") for field in schema.split(", ")]
    return pa.RecordBatch.from_pylist(
        rows, pa.schema([(name.strip("`"), kinds[kind]) for name, kind in fields])
    )
