"""Runs the tasks of the pipeline on Spark, and reports their progress."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lakejoin.locations import Location
from lakejoin.pipeline.job import Job, Outcome
from lakejoin.pipeline.task_kinds import check_outcomes, run_batch
from lakejoin.pipeline.task_progress import Listener, Progress, call_regularly, watch_progress
from lakejoin.spark.session import collect_arrow, job_failure, open_session, parallelism

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakejoin.pipeline.graph_build import GraphReport
    from lakejoin.store.graph_files import GraphOptions


_SCHEMA = "outcome binary"
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to run: the caller's Spark session, or how to start one.

    >>> lakejoin.Cluster(master="local[2]").master
    'local[2]'
    """

    spark: SparkSession | None = None
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    @contextlib.contextmanager
    def open(self, listener: Listener) -> Iterator[SparkSession]:
        """The session; one that was started for this is stopped again."""
        listener(Progress("starting Spark"))
        with open_session(self.spark, self.master, self.conf) as spark:
            yield spark

    @contextlib.contextmanager
    def start(self, listener: Listener, work_bytes: int = 0) -> Iterator[SparkRunner]:
        """A runner for the tasks of the pipeline, in the same way, however much they have to do."""
        del work_bytes
        with self.open(listener) as spark:
            yield SparkRunner(spark)


@dataclass(frozen=True, slots=True)
class SparkRunner:
    """Runs each batch of a job as one task of a Spark job, without a shuffle."""

    spark: SparkSession

    @property
    def engine(self) -> str:
        return "spark"

    @property
    def note(self) -> str:
        return ""

    @property
    def cores(self) -> int:
        return parallelism(self.spark)

    def run(self, job: Job, batches: range, stage: Progress, listener: Listener) -> list[Outcome]:
        with watch_progress(job.scratch, batches, stage, listener):
            try:
                rows = collect_arrow(
                    self.spark.range(batches.start, batches.stop, 1, len(batches)).mapInArrow(
                        partial(_run_partition, job), _SCHEMA
                    )
                )
            except Exception as problem:
                raise job_failure(problem) from problem
        return check_outcomes([pickle.loads(body) for body in rows["outcome"].to_pylist()])

    def dumps(self, value: Any) -> bytes:
        """Pickle a value, also if it is a function of the caller's script."""
        from pyspark import cloudpickle

        body: bytes = cloudpickle.dumps(value)
        return body


def _run_partition(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for rows in batches:
        for batch in rows.column(0).to_pylist():
            outcomes = [pickle.dumps(outcome) for outcome in run_batch(job, batch)]
            yield pa.record_batch({"outcome": pa.array(outcomes, pa.binary())})


def make_graph(
    index: Location | str | os.PathLike[str],
    options: GraphOptions | None = None,
    cluster: Cluster | None = None,
    listener: Listener = lambda progress: None,
    wait: float = 0.0,
    full: bool = False,
) -> GraphReport:
    """Build or update the join graph of an index.

    Without `options`, those of the existing graph or the defaults are used. `wait` is the number of
    seconds to wait for another build of the index. `full` recounts all pairs.

    >>> from lakejoin.spark import Cluster, make_graph
    >>> make_graph("data.index", cluster=Cluster(master="spark://host:7077"))  # doctest: +SKIP
    """
    from lakejoin.pipeline.graph_build import build_graph

    location = index if isinstance(index, Location) else Location.of(index)
    return build_graph(location, options, (cluster or Cluster()).start, listener, wait, full)


@contextlib.contextmanager
def report_job_progress(spark: SparkSession, stage: Progress, listener: Listener) -> Iterator[None]:
    """Report the progress of the running jobs until the block ends; with Spark Connect, which has
    no status tracker, only that the stage has begun."""
    listener(stage)
    tracker = _status_tracker(spark)
    if tracker is None:
        yield
        return

    def report() -> None:
        with contextlib.suppress(Exception):  # the session is ending
            listener(replace(stage, done=min(_count_completed(tracker), stage.total)))

    with call_regularly(report, _POLL_SECONDS):
        yield


def _status_tracker(spark: Any) -> Any:
    with contextlib.suppress(Exception):  # Spark Connect has no context
        return spark.sparkContext.statusTracker()
    return None


def _count_completed(tracker: Any) -> int:
    completed = 0
    for job_id in tracker.getActiveJobsIds():
        job = tracker.getJobInfo(job_id)
        for stage_id in job.stageIds if job else ():
            stage = tracker.getStageInfo(stage_id)
            completed += stage.numCompletedTasks if stage else 0
    return completed
