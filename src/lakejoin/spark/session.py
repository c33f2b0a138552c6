"""Provides a Spark session, and turns failures of Spark into readable errors."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lakejoin.errors import BuildFailed, InputError, MissingDependency
from lakejoin.own_process import allow_pandas
from lakejoin.pipeline.machine_limits import usable_cores
from lakejoin.spark.java import find_java

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_TASK_TRIES = 4  # local mode does not retry a failed task by default

# Jobs are short: the quick compiler and the serial collector start fastest.
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.level=ERROR"
_CONF = {
    "spark.app.name": "lakejoin",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.adaptive.enabled": "false",
}
_LOCAL_CONF = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": _JVM,
}


def default_master() -> str:
    """The local master with all cores of this machine, and retries.

    >>> default_master().endswith(",4]")
    True
    """
    return f"local[{usable_cores()},{_TASK_TRIES}]"


def add_retries(master: str) -> str:
    """Add task retries to a local master; other masters stay the same.

    >>> add_retries("local[2]"), add_retries("local[2,8]"), add_retries("spark://a:7077")
    ('local[2,4]', 'local[2,8]', 'spark://a:7077')
    """
    if master in ("local", "local[*]"):
        return default_master() if master == "local[*]" else f"local[1,{_TASK_TRIES}]"
    if master.startswith("local[") and "," not in master:
        return master[:-1] + f",{_TASK_TRIES}]"
    return master


@contextlib.contextmanager
def open_session(
    session: SparkSession | None, master: str | None, conf: Mapping[str, str]
) -> Iterator[SparkSession]:
    """The caller's session, or the running one, or a new one; only a new one is stopped."""
    running = session or _running_session()
    if running is not None:
        if session is None and master is not None:
            raise InputError(
                "a Spark session is already running in this process: omit the master to use it, or "
                "stop it first"
            )
        yield running
        return
    started = _start_session(master, conf)
    try:
        yield started
    finally:
        started.stop()


def _running_session() -> SparkSession | None:
    allow_pandas()  # PySpark needs it
    _require_pyspark()
    from pyspark.sql import SparkSession

    # The active session is per thread; without this, another thread's session would be returned as
    # new, and stopped.
    return SparkSession.getActiveSession() or getattr(SparkSession, "_instantiatedSession", None)


def _start_session(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    if master is not None and master.startswith("sc://"):
        return _connect(master, conf)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has set the master
    builder: Any = SparkSession.builder
    settings = dict(_CONF)
    if not submitted:
        url = add_retries(master or default_master())
        os.environ["JAVA_HOME"] = str(find_java().path)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        # Workers inherit it: the threads of numpy's BLAS sleep instead of spinning at the start.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
        if url.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            settings.update(_LOCAL_CONF)
        builder = builder.master(url)
    settings.update(conf)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as problem:  # noqa: BLE001 (any JVM error becomes one sentence)
        raise BuildFailed(f"Spark did not start: {error_line(problem)}") from None


def _connect(master: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    try:
        builder: Any = SparkSession.builder.remote(master)
        for key, value in conf.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except Exception as problem:  # noqa: BLE001 (any client error becomes one sentence)
        raise BuildFailed(f"cannot connect to Spark at {master}: {_first_line(problem)}") from None


def parallelism(spark: SparkSession) -> int:
    """The number of tasks the session runs at once, as far as it is known."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:  # noqa: BLE001 (Spark Connect has no context to ask)
        return int(spark.conf.get("spark.default.parallelism", "8") or 8)


def collect_arrow(frame: Any) -> pa.Table:
    """The rows of a DataFrame as an Arrow table, for PySpark 3.5 too, which has no `toArrow`."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = frame._collect_as_arrow()
    schema = to_arrow_schema(frame.schema)
    return pa.Table.from_batches(batches) if batches else schema.empty_table()


def _require_pyspark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingDependency(
            "Spark is not installed: pip install 'lakejoin[spark]' (and Java 17 or newer), or use "
            "local processes (--engine local)"
        ) from None


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__


_ERROR = re.compile(r"(?:[\w.]+\.)?\w*(?:Error|Exception)\b: ")


def job_failure(problem: BaseException) -> BaseException:
    """The error to raise for a failed Spark job.

    A job ended by Ctrl-C fails too, and PySpark raises that failure instead of the interrupt.
    """
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return KeyboardInterrupt()
        cause = cause.__cause__ or cause.__context__
    return BuildFailed(f"the Spark job failed: {error_line(problem)}")


def error_line(problem: BaseException) -> str:
    """The most useful line of a Spark error: the last that names an error, else the first.

    >>> text = "An error occurred while calling o1.x.\\n: org.apache.SparkException: No such master"
    >>> error_line(RuntimeError(text))
    'org.apache.SparkException: No such master'
    """
    lines = [line.strip().removeprefix(": ") for line in str(problem).splitlines()]
    lines = [line for line in lines if line]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors[-1] if errors else lines[0] if lines else type(problem).__name__)[:500]
