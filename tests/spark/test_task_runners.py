"""Who runs the tasks: this process without Spark; and what Spark jobs say of themselves."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lakejoin
from lakejoin.errors import BuildFailed
from lakejoin.pipeline.task_progress import Progress
from lakejoin.spark import task_runner
from lakejoin.spark.session import job_failure


class Tracker:
    """What Spark tells of jobs: one, of two stages, that ends soon."""

    def getActiveJobsIds(self) -> list[int]:  # noqa: N802 (Spark's name)
        return [3]

    def getJobInfo(self, job: int) -> Any:  # noqa: N802
        return SimpleNamespace(stageIds=[job, job + 1])

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802
        return SimpleNamespace(numCompletedTasks=5) if stage == 3 else None


def test_spark_is_asked_how_far_a_job_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "_POLL_SECONDS", 0.001)
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


WITHOUT_SPARK = """
import sys
from contextlib import nullcontext

sys.modules["pyspark"] = sys.modules["lakejoin.spark"] = None  # importing either fails
from lakejoin.locations import Location
from lakejoin.pipeline.build import build_index
from lakejoin.pipeline.compaction import compact_index
from lakejoin.pipeline.graph_build import build_graph
from lakejoin.pipeline.options import BuildOptions
from lakejoin.pipeline.task_kinds import InlineRunner
from lakejoin.store.graph_files import GraphOptions

def start(listener, work_bytes):
    return nullcontext(InlineRunner())

lake, index = sys.argv[1], Location.of(sys.argv[2])
stages = []
def listen(progress):
    stages.append(progress.stage)
options = BuildOptions(memory=1, parts=("meaning",), chunk_bytes=2_000)
report = build_index([lake], index, options, start, listen)
graph = build_graph(index, GraphOptions(0.5, 1), start, listen)
compacted = compact_index(index, start, listen)
print(report.totals.tables, report.segments, graph.pairs, compacted.segments, sep=",")
print(*dict.fromkeys(stages), sep=",")
"""


def test_the_pipeline_runs_without_spark(tmp_path: Path) -> None:
    """A build, a graph and a compaction in one process that cannot import Spark."""
    lake = tmp_path / "lake"
    lake.mkdir()
    cities = [f"city number {n}" for n in range(400)]
    rows = "".join(f"{city},9{n}\n" for n, city in enumerate(cities))
    (lake / "cities.csv").write_text(f"city,people\n{rows}")
    rows = "".join(f"{city},x{n}\n" for n, city in enumerate(cities[:40]))
    (lake / "some.csv").write_text(f"town,code\n{rows}")
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, str(lake), str(tmp_path / "index")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.splitlines() == [
        "2,2,1,1",
        "listing files,reading and encoding,committing,finding shared values,counting pairs,"
        "choosing the best pairs,reversing pairs,merging segments",
    ], ran.stderr
    opened = lakejoin.open(tmp_path / "index")
    assert not [checked for checked in opened.snapshot.check() if checked.problem]
    assert sorted(table.name for table in opened.tables()) == ["cities.csv", "some.csv"]
    assert opened.table("cities.csv").to_arrow().column("city").to_pylist() == cities
