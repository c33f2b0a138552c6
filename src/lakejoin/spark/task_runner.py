"""Runs tasks on Spark and reports their progress."""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lakejoin.errors import BuildFailed
from lakejoin.pipeline.job import Job, Outcome, read_notes
from lakejoin.pipeline.task_kinds import run_batch
from lakejoin.spark.session import job_failure

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_POLL_SECONDS = 0.25
_REMOTE_POLL_SECONDS = 5.0
_SCHEMA = "outcome binary"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a build: `files` of `total`, or whatever `unit` says. Listeners must be
    quick."""

    stage: str
    done: int = 0
    total: int = 0
    cells: int = 0
    skipped: int = 0
    seconds: float = 0.0
    unit: str = "files"


Listener = Callable[[Progress], None]


def run_tasks(
    spark: SparkSession, job: Job, batches: range, stage: Progress, listener: Listener
) -> list[Outcome]:
    """Run a range of batches, one task each, without a shuffle; returns all outcomes."""
    if not batches:
        return []
    with _watching(job, batches, stage, listener):
        try:
            rows = (
                spark.range(batches.start, batches.stop, 1, len(batches))
                .mapInArrow(partial(_run_partition, job), _SCHEMA)
                .toArrow()
            )
        except Exception as problem:
            raise job_failure(problem) from problem
    return _checked([pickle.loads(body) for body in rows["outcome"].to_pylist()])


def run_locally(job: Job, batches: range, stage: Progress, listener: Listener) -> list[Outcome]:
    """Run batches in this process, for work too small to start Spark."""
    with _watching(job, batches, stage, listener):
        return _checked([outcome for number in batches for outcome in run_batch(job, number)])


def _checked(outcomes: list[Outcome]) -> list[Outcome]:
    failed = [o.value for o in outcomes if o.kind == "failed"]
    if failed:
        raise BuildFailed(f"{failed[0]}; the previous index is untouched")
    return sorted(outcomes, key=lambda o: o.batch)


def _run_partition(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            outcomes = [pickle.dumps(outcome) for outcome in run_batch(job, number)]
            yield pa.record_batch({"outcome": pa.array(outcomes, pa.binary())})


class _watching:  # noqa: N801 (used as a function, in a with statement)
    """Reads the tasks' notes in a thread and informs the listener, until the block ends."""

    def __init__(self, job: Job, batches: range, stage: Progress, listener: Listener) -> None:
        self._job = job
        # Rounds of reading continue the count of files; other stages start at zero.
        self._batches = range(batches.stop) if stage.unit == "files" else batches
        self._stage = stage
        self._listener = listener
        self._stop = threading.Event()
        self._begin = time.monotonic()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._listener(self._stage)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        with contextlib.suppress(OSError):  # must not hide an error from inside the block
            self._report()

    def _watch(self) -> None:
        pause = _POLL_SECONDS if self._job.scratch.local else _REMOTE_POLL_SECONDS
        while not self._stop.wait(pause):
            self._report()

    def _report(self) -> None:
        best: dict[int, tuple[int, int, int]] = {}
        for note in read_notes(self._job.scratch):
            if note.batch not in self._batches:
                continue
            best[note.batch] = max(
                best.get(note.batch, (0, 0, 0)), (note.files, note.cells, note.skipped)
            )
        files, cells, skipped = (sum(n[i] for n in best.values()) for i in range(3))
        self._listener(
            Progress(
                self._stage.stage,
                min(files, self._stage.total),
                self._stage.total,
                cells,
                skipped,
                time.monotonic() - self._begin,
                self._stage.unit,
            )
        )


_SECONDS = 0.5


@contextlib.contextmanager
def report_job_progress(spark: SparkSession, stage: Progress, listener: Listener) -> Iterator[None]:
    """Report the progress of the running jobs until the block ends; with Spark Connect, which has
    no status tracker, only that the stage has begun."""
    listener(stage)
    tracker = _tracker(spark)
    if tracker is None:
        yield
        return
    stop = threading.Event()

    def poll() -> None:
        while not stop.wait(_SECONDS):
            with contextlib.suppress(Exception):  # the session is ending
                listener(replace(stage, done=min(_ended(tracker), stage.total)))

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _tracker(spark: Any) -> Any:
    with contextlib.suppress(Exception):  # Spark Connect has no context
        return spark.sparkContext.statusTracker()
    return None


def _ended(tracker: Any) -> int:
    ended = 0
    for job in tracker.getActiveJobsIds():
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            about = tracker.getStageInfo(stage)
            ended += about.numCompletedTasks if about else 0
    return ended
