"""Read Avro files as typed columns, with JSON text for types that Arrow lacks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.blob import Blob, wrap_library_errors
from lakejoin.values.plain_columns import to_json_text
from lakejoin.values.losses import Losses
from lakejoin.values.column_names import unique_names
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import ReadLimits

if TYPE_CHECKING:
    import pyarrow as pa

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
    import pyarrow as pa

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
    import pyarrow as pa

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
    import pyarrow as pa

    records = rows if isinstance(rows[0], dict) else [{"value": row} for row in rows]
    columns = []
    for name, kind in fields:
        values = [record.get(name) for record in records]
        if kind is None:
            columns.append(pa.array([to_json_text(v) for v in values], pa.string()))
        else:
            columns.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(columns, names=list(names))
