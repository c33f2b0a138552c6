"""What Spark jobs tell: how far they are, and why they failed."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from lakejoin.errors import BuildFailed
from lakejoin.spark import task_runner
from lakejoin.spark.session import job_failure
from lakejoin.spark.task_runner import Progress


class Tracker:
    """What Spark tells of jobs: one, of two stages, that ends soon."""

    def getActiveJobsIds(self) -> list[int]:  # noqa: N802 (Spark's name)
        return [3]

    def getJobInfo(self, job: int) -> Any:  # noqa: N802
        return SimpleNamespace(stageIds=[job, job + 1])

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802
        return SimpleNamespace(numCompletedTasks=5) if stage == 3 else None


def test_spark_is_asked_how_far_a_job_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "_SECONDS", 0.001)
    told = threading.Event()
    seen: list[Progress] = []

    def listener(progress: Progress) -> None:
        seen.append(progress)
        if progress.done:
            told.set()

    spark = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=Tracker))
    with task_runner.report_job_progress(spark, Progress("searching", total=9), listener):  # type: ignore[arg-type]
        assert told.wait(60)
    assert seen[0].done == 0
    assert seen[-1].done == 5


def test_a_job_ended_by_ctrl_c_is_no_failure() -> None:
    """PySpark asks for the result of a job that was cancelled, and so another error is raised."""

    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("calling o67.getResult")

    with pytest.raises(RuntimeError) as caught:
        interrupted()
    assert isinstance(job_failure(caught.value), KeyboardInterrupt)
    assert isinstance(job_failure(RuntimeError("calling o67.getResult")), BuildFailed)
