"""Read Parquet, Arrow (Feather), Arrow stream, ORC and Avro files as typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.types as t

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.json_files import JsonValues
from lakejoin.formats.nested_arrow import (
    ArrowValues,
    open_nested,
    pick_columns,
    plan_arrow,
    renamed_schema,
)
from lakejoin.formats.nested_shapes import NestedTable, Shape, plan_tables
from lakejoin.formats.nested_tables import NestedRecords
from lakejoin.formats.table_stream import Blob, TableStream, wrap_library_errors
from lakejoin.model import ReadLimits
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses


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
    blob: Blob,
    limits: ReadLimits,
    row_groups: tuple[int, ...] | None = None,
    plan: NestedTable | None = None,
) -> TableStream:
    """Open a Parquet file, or some row groups of it, whose tables are then known: `plan`."""
    records, notes = _parquet_records(blob, limits, row_groups, plan)
    return records.stream(notes)


def plan_parquet(blob: Blob, limits: ReadLimits) -> NestedTable:
    """The tables that a Parquet file becomes, for reading it in parts."""
    return _parquet_records(blob, limits, None, None)[0].plan


def _parquet_records(
    blob: Blob, limits: ReadLimits, row_groups: tuple[int, ...] | None, plan: NestedTable | None
) -> tuple[NestedRecords, tuple[str, ...]]:
    with _parquet_file(blob) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
        size = sum(_row_group_sizes(file))
        before = range(row_groups[0] if row_groups else 0)
        first_row = sum(file.metadata.row_group(i).num_rows for i in before)
    names, notes = _names(blob, schema.names, limits)
    batch_rows = _batch_rows(rows, size, limits)
    repeats = len(set(schema.names)) < len(names)

    def read(_: Losses, needed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        chosen = None if row_groups is None else list(row_groups)
        stored = [schema.names[names.index(name)] for name in needed]
        with _parquet_file(blob) as file:
            if repeats or not needed:
                for batch in file.iter_batches(batch_rows, row_groups=chosen, use_threads=False):
                    yield pick_columns(batch, names, needed)
                return
            for batch in file.iter_batches(
                batch_rows, row_groups=chosen, columns=stored, use_threads=False
            ):
                yield batch.select(stored).rename_columns(list(needed))

    plan = plan or plan_arrow(blob.name, renamed_schema(schema, names), read, limits)
    records = NestedRecords(blob.name, "parquet", plan, ArrowValues(), read, limits, first_row)
    return records, notes


def parquet_row_groups(blob: Blob) -> list[int]:
    """The unpacked size of each row group, in bytes."""
    with _parquet_file(blob) as file:
        return _row_group_sizes(file)


def _row_group_sizes(file: Any) -> list[int]:
    groups = range(file.metadata.num_row_groups)
    return [file.metadata.row_group(i).total_byte_size for i in groups]


# The schema of a file, and its batches as they are stored.
_Stored = tuple[pa.Schema, "Iterator[pa.RecordBatch]"]


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
    with opened(blob) as (schema, _batches):
        names, notes = _names(blob, schema.names, limits)

    def read(_: Losses, needed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with opened(blob) as (_schema, batches):
            for batch in batches:
                yield from _slices(pick_columns(batch, names, needed), limits)

    return open_nested(blob.name, kind, renamed_schema(schema, names), read, limits, notes)


@contextmanager
def _arrow_file(blob: Blob) -> Iterator[_Stored]:
    with wrap_library_errors(blob, "damaged Arrow file"), blob.random_access() as where:
        source = pa.memory_map(where) if isinstance(where, str) else where
        with pa.ipc.open_file(source) as file:
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
            yield file.schema, map(_validated, batches)


@contextmanager
def _arrow_stream(blob: Blob) -> Iterator[_Stored]:
    with (
        wrap_library_errors(blob, "damaged Arrow stream"),
        blob.open() as source,
        pa.ipc.open_stream(source) as stream,
    ):
        yield stream.schema, map(_validated, stream)


@contextmanager
def _orc_file(blob: Blob) -> Iterator[_Stored]:
    from pyarrow import orc

    with wrap_library_errors(blob, "damaged ORC file"), blob.random_access() as where:
        file = orc.ORCFile(where)
        yield file.schema, map(file.read_stripe, range(file.nstripes))


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


def _slices(batch: pa.RecordBatch, limits: ReadLimits) -> Iterator[pa.RecordBatch]:
    """Split a stored batch into slices of bounded size."""
    step = _batch_rows(batch.num_rows, batch.get_total_buffer_size(), limits)
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


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

    def read(_: Losses, _needed: tuple[str, ...]) -> Iterator[list[dict[str, Any]]]:
        with wrap_library_errors(blob, "damaged Avro file"), blob.open() as file:
            records = iter(fastavro.reader(file))
            while rows := list(islice(records, _ROWS)):
                yield rows if isinstance(rows[0], dict) else [{"value": row} for row in rows]

    shape = Shape(1, objects=1, keys={name: Shape() for name, _ in fields})
    nested = {name for name, kind in fields if kind is None}
    for rows in read(Losses(), ()) if nested else ():
        shape.add([{k: v for k, v in r.items() if k in nested} for r in rows], limits.nesting)
    plan = plan_tables(blob.name, shape, limits)
    kinds = {name: kind for name, kind in fields if kind is not None}
    return NestedRecords(blob.name, "avro", plan, JsonValues(kinds), read, limits).stream()


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
