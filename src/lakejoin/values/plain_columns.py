"""Convert columns of any Arrow type to plain types with cells of bounded size."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from lakejoin.model import ReadLimits

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.values.losses import Losses


_WHOLE = 1 << 26


def plain_batch(batch: pa.RecordBatch, limits: ReadLimits, losses: Losses) -> pa.RecordBatch:
    """Write nested values as compact JSON text, and replace cells over the limit by nulls.

    >>> import pyarrow as pa
    >>> from lakejoin.values.losses import Losses
    >>> batch = pa.record_batch({"a": [[1, 2], None]})
    >>> plain_batch(batch, ReadLimits(), Losses()).column(0).to_pylist()
    ['[1,2]', None]
    """
    import pyarrow as pa

    most = limits.cell_bytes
    columns = [
        _bounded(_plain_column(column, most, losses), most, losses) for column in batch.columns
    ]
    if all(new is old for new, old in zip(columns, batch.columns, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain_column(column: pa.Array, most: int, losses: Losses) -> pa.Array:
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    if t.is_string(kind) or t.is_primitive(kind) or t.is_large_string(kind):
        return column
    if isinstance(kind, pa.ExtensionType | pa.BaseExtensionType):
        return _plain_column(column.storage, most, losses)
    if t.is_dictionary(kind):
        return _plain_column(column.dictionary_decode(), most, losses)
    if t.is_run_end_encoded(kind):
        return _plain_column(pa.compute.run_end_decode(column), most, losses)
    if t.is_string_view(kind):
        return column.cast(pa.string())
    if t.is_nested(kind):
        return pa.array(_nested_texts(column, most, losses), pa.string())
    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind):
        return _bytes_text(column)
    if t.is_binary_view(kind):
        return _bytes_text(column.cast(pa.binary()))
    return column


def _nested_texts(column: pa.Array, most: int, losses: Losses) -> list[str | None]:
    try:
        if column.nbytes <= _WHOLE:
            return [to_json_text(value) for value in column.to_pylist()]
    except (OverflowError, ValueError):
        pass  # a date that Python cannot represent: the other cells are still written
    texts: list[str | None] = []
    for row in range(len(column)):
        texts.append(None)
        if column.slice(row, 1).nbytes > 4 * most:
            losses.add("cell over the size limit", 1, f"the limit is {most} bytes")
            continue
        try:
            texts[-1] = to_json_text(column[row].as_py())
        except (OverflowError, ValueError):
            losses.add("nested value that cannot be written", 1)
    return texts


def _bytes_text(column: pa.Array) -> pa.Array:
    """Bytes as text if they are UTF-8, otherwise in base64."""
    import pyarrow as pa

    kind = pa.large_string() if pa.types.is_large_binary(column.type) else pa.string()
    try:
        if pa.types.is_fixed_size_binary(column.type):
            column = column.cast(pa.binary())
        return column.cast(kind)
    except pa.ArrowInvalid:
        texts = [None if v is None else _one_bytes_text(v) for v in column.to_pylist()]
        return pa.array(texts, kind)


def _one_bytes_text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(value).decode("ascii")


def to_json_text(value: Any) -> str | None:
    """A value as text: texts unchanged, others as compact JSON.

    >>> to_json_text({"a": [1, None]}), to_json_text("x"), to_json_text(None)
    ('{"a":[1,null]}', 'x', None)
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_default)


def _json_default(value: Any) -> str:
    return _one_bytes_text(value) if isinstance(value, bytes) else str(value)


def _bounded(column: pa.Array, most: int, losses: Losses) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    if column.nbytes <= most:
        return column
    too_long = pc.greater(pc.binary_length(column), most)
    count = pc.sum(too_long).as_py() or 0
    if not count:
        return column
    losses.add("cell over the size limit", count, f"the limit is {most} bytes")
    return pc.if_else(too_long, pa.scalar(None, kind), column)
