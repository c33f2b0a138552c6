"""Which engine runs the tasks of the pipeline: Spark, or processes of this machine.

Unless the caller chooses, work on a small lake, or on few changes of a large one, runs in local
processes, which start at once; so does all work where Spark or Java is missing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.kernels.compiled_library import require_kernels
from lakejoin.pipeline.job import StartRunner, TaskRunner
from lakejoin.pipeline.machine_limits import LOCAL_BYTES
from lakejoin.pipeline.process_runner import start_processes
from lakejoin.pipeline.task_progress import Listener
from lakejoin.spark.java import describe_missing_spark
from lakejoin.spark.task_runner import Cluster

if TYPE_CHECKING:
    from lakejoin.sources.lake_frames import LakeFrame


def choose_engine(engine: str | None = None, cluster: Cluster | None = None) -> StartRunner:
    """How to start the engine of this name, or the one that suits the work.

    A `cluster` means Spark, and so does a session that runs in this process, unless the engine is
    named.
    """
    require_kernels()
    if engine == "local" and cluster is not None:
        raise InputError(
            "the engine local uses no Spark: leave out the engine, or the session, master and "
            "settings of Spark"
        )
    if engine == "local":
        return _start_local
    if engine == "spark" or cluster is not None or _runs_in_spark():
        return (cluster or Cluster()).start

    def start(listener: Listener, work_bytes: int) -> AbstractContextManager[TaskRunner]:
        if work_bytes <= LOCAL_BYTES:
            limit = f"{LOCAL_BYTES >> 20} MB"
            note = f"done by local processes, being at most {limit}; --engine spark uses Spark"
            return start_processes(work_bytes, note)
        missing = describe_missing_spark()
        if missing:
            return start_processes(work_bytes, f"done by local processes: {missing}")
        return Cluster().start(listener)

    return start


@contextmanager
def open_lake_frames(
    frames: Sequence[tuple[Any, Any]],
    patterns: Sequence[str],
    cluster: Cluster | None,
    listener: Listener,
) -> Iterator[tuple[list[LakeFrame], list[str], Cluster | None]]:
    """The frames to index, with the tables of the Spark catalog that match the patterns; the names
    that stand for them among the lakes; and where to run: in their session if any is of Spark."""
    if not frames and not patterns:
        yield [], [], cluster
        return
    from lakejoin.sources.lake_files import FRAMES, SPARK_TABLES
    from lakejoin.sources.lake_frames import name_frames
    from lakejoin.spark.spark_frames import catalog_frames, is_spark_frame, spark_frame

    local = [(str(name), frame) for name, frame in frames if not is_spark_frame(frame)]
    remote = [(str(name), frame) for name, frame in frames if is_spark_frame(frame)]
    found = name_frames(local) + [spark_frame(name, frame) for name, frame in remote]
    names = ([FRAMES] if frames else []) + [SPARK_TABLES + pattern for pattern in patterns]
    if remote and cluster is None:
        cluster = Cluster(remote[0][1].sparkSession)
    if not patterns:
        yield found, names, cluster
        return
    with (cluster or Cluster()).open(listener) as session:
        yield found + catalog_frames(session, patterns), names, Cluster(session)


def _start_local(listener: Listener, work_bytes: int) -> AbstractContextManager[TaskRunner]:
    del listener  # they start at once
    return start_processes(work_bytes)


def _runs_in_spark() -> bool:
    """Whether this process has a Spark session, or spark-submit has started it."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    sessions: Any = sys.modules.get("pyspark.sql")
    if sessions is None:
        return False
    found = sessions.SparkSession
    return bool(found.getActiveSession() or getattr(found, "_instantiatedSession", None))
