"""Polls Spark for the number of completed tasks of the running jobs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakejoin.spark.task_runner import Listener, Progress

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
                listener(replace(stage, files=min(_ended(tracker), stage.total)))

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
