"""Read Parquet, Arrow (Feather), Arrow stream, ORC and Avro files as typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.types as t

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.table_stream import Blob, TableStream, wrap_library_errors
from lakejoin.model import ReadLimits
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses, repair_batch, to_json_text


@contextmanager
def _parquet_file(blob: Blob) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with (
        wrap_library_errors(blob, "damaged Parquet file"),
        blob.random_access() as where,
        pq.ParquetFile(where) as file,
    ):
        yield file


def open_parquet(
    blob: Blob, limits: ReadLimits, row_groups: tuple[int, ...] | None = None
) -> TableStream:
    with _parquet_file(blob) as file:
        raw, rows = file.schema_arrow.names, file.metadata.num_rows
        size = sum(_row_group_sizes(file))
    names, notes = _names(blob, raw, limits)
    batch_rows = _batch_rows(rows, size, limits)

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        with _parquet_file(blob) as file:
            chosen = None if row_groups is None else list(row_groups)
            batches = file.iter_batches(batch_rows, row_groups=chosen, use_threads=False)
            for batch in batches:
                yield repair_batch(batch.rename_columns(list(names)), losses)

    return TableStream(blob.name, "parquet", names, reading, None, notes, limits)


def parquet_row_groups(blob: Blob) -> list[int]:
    """The unpacked size of each row group, in bytes."""
    with _parquet_file(blob) as file:
        return _row_group_sizes(file)


def _row_group_sizes(file: Any) -> list[int]:
    groups = range(file.metadata.num_row_groups)
    return [file.metadata.row_group(i).total_byte_size for i in groups]


# The column names of a file, and its batches as they are stored.
_Stored = tuple[list[str], "Iterator[pa.RecordBatch]"]


def open_arrow(blob: Blob, limits: ReadLimits) -> TableStream:
    """Open an Arrow IPC file (Feather version 2)."""
    return _open_stored(blob, limits, "arrow", _arrow_file)


def open_arrow_stream(blob: Blob, limits: ReadLimits) -> TableStream:
    return _open_stored(blob, limits, "arrow", _arrow_stream)


def open_orc(blob: Blob, limits: ReadLimits) -> TableStream:
    return _open_stored(blob, limits, "orc", _orc_file)


def _open_stored(
    blob: Blob,
    limits: ReadLimits,
    kind: str,
    opened: Callable[[Blob], AbstractContextManager[_Stored]],
) -> TableStream:
    with opened(blob) as (raw, _batches):
        names, notes = _names(blob, raw, limits)

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        with opened(blob) as (_columns, batches):
            for batch in batches:
                for rows in _slices(batch, names, limits):
                    yield repair_batch(rows, losses)

    return TableStream(blob.name, kind, names, reading, None, notes, limits)


@contextmanager
def _arrow_file(blob: Blob) -> Iterator[_Stored]:
    with wrap_library_errors(blob, "damaged Arrow file"), blob.random_access() as where:
        source = pa.memory_map(where) if isinstance(where, str) else where
        with pa.ipc.open_file(source) as file:
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
            yield file.schema.names, map(_validated, batches)


@contextmanager
def _arrow_stream(blob: Blob) -> Iterator[_Stored]:
    with (
        wrap_library_errors(blob, "damaged Arrow stream"),
        blob.open() as source,
        pa.ipc.open_stream(source) as stream,
    ):
        yield stream.schema.names, map(_validated, stream)


@contextmanager
def _orc_file(blob: Blob) -> Iterator[_Stored]:
    from pyarrow import orc

    with wrap_library_errors(blob, "damaged ORC file"), blob.random_access() as where:
        file = orc.ORCFile(where)
        yield file.schema.names, map(file.read_stripe, range(file.nstripes))


def _names(
    blob: Blob, raw: list[str], limits: ReadLimits
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(raw) > limits.columns:
        detail = f"{len(raw)}, the limit is {limits.columns}"
        raise UnreadableFile(blob.name, "too many columns", detail)
    if not raw:
        raise UnreadableFile(blob.name, "no columns")
    return unique_names(raw)


def _validated(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Check that all offsets lie within the batch: Arrow trusts a file, and a bad offset would read
    or write foreign memory. Texts that are not UTF-8 pass, since they are repaired later."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for column in batch.columns:
            kind = column.type
            if t.is_string(kind):
                column.view(pa.binary()).validate(full=True)
            elif t.is_large_string(kind):
                column.view(pa.large_binary()).validate(full=True)
            elif t.is_dictionary(kind) and t.is_string(kind.value_type):
                texts = column.dictionary.view(pa.binary())
                texts.validate(full=True)
                pa.DictionaryArray.from_arrays(column.indices, texts).validate(full=True)
            else:
                column.validate(full=True)
    return batch


def _batch_rows(rows: int, size: int, limits: ReadLimits) -> int:
    per_row = max(1, size // max(1, rows))
    return int(min(100_000, max(256, limits.batch_bytes // per_row)))


def _slices(
    batch: pa.RecordBatch, names: tuple[str, ...], limits: ReadLimits
) -> Iterator[pa.RecordBatch]:
    """Split a stored batch into slices of bounded size."""
    renamed = batch.rename_columns(list(names))
    step = _batch_rows(batch.num_rows, batch.get_total_buffer_size(), limits)
    for start in range(0, batch.num_rows, step):
        yield renamed.slice(start, step)


_ROWS = 20_000


def open_avro(blob: Blob, limits: ReadLimits) -> TableStream:
    """Open an Avro container file; needs fastavro."""
    try:
        import fastavro
    except ImportError:
        raise MissingDependency(
            f"reading {blob.name} needs fastavro: pip install 'lakejoin[formats]'"
        ) from None
    with wrap_library_errors(blob, "damaged Avro file"), blob.open() as file:
        schema = fastavro.reader(file).writer_schema
    fields = _fields(schema)
    if len(fields) > limits.columns:
        raise UnreadableFile(blob.name, "too many columns", f"the limit is {limits.columns}")
    names, notes = unique_names([name for name, _ in fields])

    def reading(_: Losses) -> Iterator[pa.RecordBatch]:
        with wrap_library_errors(blob, "damaged Avro file"), blob.open() as file:
            records = iter(fastavro.reader(file))
            while rows := list(islice(records, _ROWS)):
                yield _batch(rows, fields, names)

    return TableStream(blob.name, "avro", names, reading, None, notes, limits)


def _fields(schema: Any) -> list[tuple[str, pa.DataType | None]]:
    """Each field with its Arrow type; None means JSON text."""
    if isinstance(schema, dict) and schema.get("type") == "record":
        return [(field["name"], _arrow_type(field["type"])) for field in schema["fields"]]
    return [("value", _arrow_type(schema))]


def _arrow_type(kind: Any) -> pa.DataType | None:
    if isinstance(kind, list):
        others = [k for k in kind if k != "null"]
        return _arrow_type(others[0]) if len(others) == 1 else None
    if isinstance(kind, dict):
        if "logicalType" in kind:
            return _logical_type(kind)
        if kind.get("type") == "enum":
            return pa.string()
        inner = kind.get("type")
        return _arrow_type(inner) if isinstance(inner, str) else None
    plain = {
        "int": pa.int64(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "bytes": pa.binary(),
        "null": pa.null(),
    }
    return plain.get(kind)


def _logical_type(kind: dict[str, Any]) -> pa.DataType | None:
    known = {
        "date": pa.date32(),
        "timestamp-millis": pa.timestamp("ms", "UTC"),
        "timestamp-micros": pa.timestamp("us", "UTC"),
        "local-timestamp-millis": pa.timestamp("ms"),
        "local-timestamp-micros": pa.timestamp("us"),
    }
    name = kind["logicalType"]
    if name == "decimal":
        return pa.decimal128(min(38, int(kind["precision"])), int(kind.get("scale", 0)))
    return known.get(name)


def _batch(
    rows: list[Any], fields: list[tuple[str, pa.DataType | None]], names: tuple[str, ...]
) -> pa.RecordBatch:
    records = rows if isinstance(rows[0], dict) else [{"value": row} for row in rows]
    columns = []
    for name, kind in fields:
        values = [record.get(name) for record in records]
        if kind is None:
            columns.append(pa.array([to_json_text(v) for v in values], pa.string()))
        else:
            columns.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(columns, names=list(names))
