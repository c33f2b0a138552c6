"""Searches one index with many query tables as a Spark job; answers are DataFrame rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.locations import Location
from lakejoin.pipeline.search_batches import (
    BatchPlan,
    BatchRequest,
    BatchSearch,
    check_batch_options,
)
from lakejoin.pipeline.task_progress import Listener, Progress
from lakejoin.search.options import SearchOptions
from lakejoin.spark.session import collect_arrow, job_failure, parallelism
from lakejoin.spark.task_runner import report_job_progress
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lakejoin.pipeline.search_tasks import QueryOutcome
    from lakejoin.search.query_columns import ColumnSelection


_COLUMNS = ("table", "on", "k", "min")  # columns allowed in a DataFrame of queries


def search(
    queries: DataFrame,
    index: Any,
    on: ColumnSelection = None,
    options: SearchOptions | None = None,
    plan: BatchPlan | None = None,
) -> DataFrame:
    """Search with many query tables; returns a DataFrame with one row per result.

    `queries` has a column `table`: a path that the workers can read, or the name of a table in the
    lake. It may have columns `on` (a name, or an array of names for a composite key), `k` and
    `min`, which override the options if not null. `index` is a path or an opened `Lake`. The
    options and the answers are those of `Lake.search_with`; without options, the search is fused.

    A query without results has one row without a rank, whose `notes` say why; one that failed has
    the reason in `problem`.

    >>> from lakejoin.spark import search
    >>> queries = spark.createDataFrame([("a.csv",), ("b.csv",)], ["table"])  # doctest: +SKIP
    >>> options = lakejoin.SearchOptions("overlap", k=5)
    >>> search(queries, "lake.index", options=options).write.parquet("…")  # doctest: +SKIP
    """
    snapshot, options = _open_snapshot(index), options or SearchOptions("fused")
    check_batch_options(snapshot, options)
    requests = _read_requests(queries, on, options)
    jobs = _Jobs(queries.sparkSession)
    batch = BatchSearch(snapshot, plan or BatchPlan(), jobs.cores, jobs.collect)
    complete, schema = batch.row_task(options.by)
    work = [cell for wave in batch.waves(requests) for cell in batch.find(wave)]
    return jobs.frame(lambda _, cell: complete(cell), work, schema)


def search_batch(
    spark: SparkSession,
    snapshot: Snapshot,
    requests: Iterable[BatchRequest],
    plan: BatchPlan | None = None,
    listener: Listener = lambda progress: None,
) -> Iterator[QueryOutcome]:
    """The answers for many queries, in their order, one wave of queries at a time."""
    jobs = _Jobs(spark, listener)
    return BatchSearch(snapshot, plan or BatchPlan(), jobs.cores, jobs.collect).answer(requests)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Runs a function on items of work in a Spark session, one task for each item."""

    spark: SparkSession
    listener: Listener = lambda progress: None

    @property
    def cores(self) -> int:
        return parallelism(self.spark)

    def collect(
        self, function: Callable[[bytes], bytes], work: Sequence[bytes], stage: str
    ) -> list[bytes]:
        if not work:
            return []
        frame = self.frame(partial(_make_cell, function), work, "position bigint, cell binary")
        progress = Progress(stage, total=len(work), unit="tasks")
        with report_job_progress(self.spark, progress, self.listener):
            try:
                rows = collect_arrow(frame)
            except Exception as problem:
                raise job_failure(problem) from problem
        cells = dict(zip(rows["position"].to_pylist(), rows["cell"].to_pylist(), strict=True))
        return [cells[position] for position in range(len(work))]

    def frame(
        self, function: Callable[[int, bytes], pa.RecordBatch], work: Sequence[bytes], schema: str
    ) -> DataFrame:
        """A lazy DataFrame with the rows that the function makes of each item of work."""
        tasks = max(1, len(work))
        positions = self.spark.range(0, tasks, 1, tasks)
        return positions.mapInArrow(partial(_run_partition, function, tuple(work)), schema)


def _open_snapshot(index: Any) -> Snapshot:
    opened = getattr(index, "snapshot", None)
    if isinstance(opened, Snapshot):
        return opened
    if not isinstance(index, str | os.PathLike):
        raise InputError("index must be a path or an opened Lake")
    return Snapshot(Location.of(index))


def _read_requests(
    queries: DataFrame, on: ColumnSelection, options: SearchOptions
) -> list[BatchRequest]:
    if "table" not in queries.columns:
        raise InputError("the queries need a column 'table': paths, or names of tables in the lake")
    unknown = [name for name in queries.columns if name not in _COLUMNS]
    if unknown:
        raise InputError(
            f"unknown column {unknown[0]!r} in the queries; the columns may be "
            f"{', '.join(_COLUMNS)}"
        )
    requests: list[BatchRequest] = []
    for row in collect_arrow(queries).to_pylist():
        overrides = {name: row[name] for name in ("k", "min") if row.get(name) is not None}
        key = on if row.get("on") is None else row["on"]
        requests.append((row["table"], key, replace(options, **overrides)))
    return requests


# -- in the workers --------------------------------------------------------------------------------


def _run_partition(
    function: Callable[[int, bytes], pa.RecordBatch],
    work: Sequence[bytes],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for rows in batches:
        for position in rows.column(0).to_pylist():
            if position < len(work):
                yield function(position, work[position])


def _make_cell(function: Callable[[bytes], bytes], position: int, work: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    cell = function(work)
    return pa.record_batch(
        {"position": pa.array([position], pa.int64()), "cell": pa.array([cell], pa.binary())}
    )
