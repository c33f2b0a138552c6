"""DataFrames of Spark, and tables of its catalog, as tables of a lake: their rows are encoded by
the executors and never collected."""

from __future__ import annotations

import fnmatch
import pickle
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.model import LogicalTable, Skipped
from lakejoin.pipeline.frame_tasks import encode_partition
from lakejoin.pipeline.job import Job, Outcome
from lakejoin.quoting import quote_backticks
from lakejoin.sources.lake_frames import LakeFrame
from lakejoin.spark.session import collect_arrow, error_line
from lakejoin.values.column_names import unique_names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = "outcome binary"
_SIZE = 1 << 30  # how much there is to read is not known before it is read
_NESTED = ("struct", "array", "map")
UNREADABLE = "Spark cannot read it"


def is_spark_frame(frame: Any) -> bool:
    """Whether a frame is a DataFrame of Spark, found without importing it."""
    return hasattr(frame, "mapInArrow") and hasattr(frame, "sparkSession")


def spark_frame(name: str, frame: Any) -> LakeFrame:
    """A DataFrame under a name; every build reads it, since lakejoin cannot know if it changed."""
    names, _ = unique_names(frame.columns)
    pairs = zip(names, frame.schema.fields, strict=True)
    nested = tuple(n for n, field in pairs if field.dataType.typeName() in _NESTED)
    return LakeFrame(
        name, names, _SIZE, time.time_ns(), encode=partial(_encode_frame, frame), nested=nested
    )


def catalog_frames(session: SparkSession, patterns: Sequence[str]) -> list[LakeFrame]:
    """The tables of the session's catalogs that match globs such as `sales.*`, without views."""
    names: dict[str, None] = {}
    for pattern in patterns:
        found = list(_match_tables(session, pattern))
        if not found:
            raise InputError(f"no table of the Spark catalog matches {pattern!r}")
        names.update(dict.fromkeys(found))
    return [
        spark_frame(
            name, session.table(".".join(quote_backticks(part) for part in name.split(".")))
        )
        for name in names
    ]


def _match_tables(session: SparkSession, pattern: str) -> Iterator[str]:
    *above, last = pattern.split(".")
    if len(above) > 2:
        raise InputError(f"{pattern!r} is not [catalog.]schema.table")
    catalog = quote_backticks(above[0]) + "." if len(above) == 2 else ""
    if above:
        listed = session.sql("show namespaces" + (f" in {catalog[:-1]}" if catalog else ""))
        spaces = [row[0] for row in listed.collect() if fnmatch.fnmatchcase(row[0], above[-1])]
    else:
        spaces = [session.catalog.currentDatabase()]
    for space in spaces:
        where = f"{catalog}{quote_backticks(space)}"
        views = {row["viewName"] for row in session.sql(f"show views in {where}").collect()}
        for row in session.sql(f"show tables in {where}").collect():
            name = row["tableName"]
            if not row["isTemporary"] and name not in views and fnmatch.fnmatchcase(name, last):
                yield ".".join((*above[:-1], space, name))


def _encode_frame(rows: Any, job: Job, frame: LakeFrame, chunk_bytes: int) -> list[Outcome]:
    """Encode the rows of a DataFrame by the executors; returns the chunks that they wrote, or that
    Spark could not read it."""
    try:
        rows = _plain_columns(rows.toDF(*frame.columns))
        schema = _arrow_schema(rows)
        encode = partial(_run_partition, job, frame.source, schema, chunk_bytes)
        found = collect_arrow(rows.mapInArrow(encode, _SCHEMA))
        return [pickle.loads(body) for body in found["outcome"].to_pylist()]
    except Exception as problem:  # noqa: BLE001 (Spark raises errors of many kinds)
        skipped = Skipped(frame.name, UNREADABLE, error_line(problem)[:300])
        return [Outcome(0, "skipped", (frame.name, skipped))]


def _run_partition(
    job: Job,
    table: LogicalTable,
    schema: pa.Schema,
    chunk_bytes: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    partition = context.partitionId() if context is not None else 0
    for outcome in encode_partition(job, table, schema, partition, batches, chunk_bytes):
        yield pa.record_batch({"outcome": pa.array([pickle.dumps(outcome)], pa.binary())})


def _plain_columns(rows: DataFrame) -> DataFrame:
    """The columns, with those of types that Arrow lacks as text."""
    from pyspark.sql.functions import col

    columns = [
        col(quote_backticks(f.name))
        if _has_arrow_type(f)
        else col(quote_backticks(f.name)).cast("string")
        for f in rows.schema.fields
    ]
    return rows.select(*[c.alias(n) for c, n in zip(columns, rows.columns, strict=True)])


def _has_arrow_type(field: Any) -> bool:
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        to_arrow_type(field.dataType)
    except Exception:  # noqa: BLE001 (its errors differ from version to version)
        return False
    return True


def _arrow_schema(rows: DataFrame) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(rows.schema)
