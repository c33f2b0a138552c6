"""Convert columns of any Arrow type to plain types or canonical text, and count what is lost."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from lakejoin.model import Loss, ReadLimits, ValueRules
from lakejoin.values.text_arrays import text_buffers

_WHOLE = 1 << 26


def plain_batch(batch: pa.RecordBatch, limits: ReadLimits, losses: Losses) -> pa.RecordBatch:
    """Write nested values as compact JSON text, and replace cells over the limit by nulls.

    >>> import pyarrow as pa
    >>> from lakejoin.values.plain_columns import Losses
    >>> batch = pa.record_batch({"a": [[1, 2], None]})
    >>> plain_batch(batch, ReadLimits(), Losses()).column(0).to_pylist()
    ['[1,2]', None]
    """
    most = limits.cell_bytes
    columns = [
        _bounded(_plain_column(column, most, losses), most, losses) for column in batch.columns
    ]
    if all(new is old for new, old in zip(columns, batch.columns, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain_column(column: pa.Array, most: int, losses: Losses) -> pa.Array:
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
            losses.add("nested value that has no JSON form", 1)
    return texts


def _bytes_text(column: pa.Array) -> pa.Array:
    """Bytes as text if they are UTF-8, otherwise in base64."""
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


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text that the kernels read directly."""
    return bool(t.is_string(kind) or t.is_large_string(kind))


def print_array(array: pa.Array) -> pa.Array:
    """Print an array as text; NaN becomes null.

    >>> import pyarrow as pa
    >>> print_array(pa.array([7.0, 1e20, 0.5, float("nan")])).to_pylist()
    ['7', '100000000000000000000', '0.5', None]
    >>> print_array(pa.array([0, 90], pa.timestamp("s", "UTC"))).to_pylist()
    ['1970-01-01', '1970-01-01 00:01:30Z']
    """
    kind = array.type
    if is_text(kind):
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return print_array(array.storage)
    if t.is_dictionary(kind):
        return print_array(array.dictionary).take(array.indices)
    if t.is_integer(kind) or t.is_boolean(kind) or t.is_date32(kind) or t.is_null(kind):
        return array.cast(pa.large_string())
    if t.is_floating(kind):
        if t.is_float16(kind):
            array = array.cast(pa.float32())
        text = array.cast(pa.large_string())
        return _rewritten(pc.if_else(pc.is_nan(array), pa.scalar(None, text.type), text))
    if t.is_timestamp(kind):
        if kind.tz is None:
            return _rewritten(array.cast(pa.large_string()))
        # The values are in UTC already, so no time-zone database is needed.
        wall = array.cast(pa.timestamp(kind.unit)).cast(pa.large_string())
        utc, nothing = (pa.scalar(text, pa.large_string()) for text in ("Z", ""))
        return _rewritten(pc.binary_join_element_wise(wall, utc, nothing))
    if t.is_date64(kind):
        return array.cast(pa.date32()).cast(pa.large_string())
    if t.is_time(kind):
        text = array.cast(pa.large_string())
        return text if kind.unit == "s" else pc.replace_substring_regex(text, r"\.?0+$", "")
    if t.is_decimal(kind):
        return _rewritten(array.cast(pa.large_string()))
    if t.is_duration(kind):
        return array.cast(pa.int64()).cast(pa.large_string())
    if t.is_interval(kind):
        return _print_intervals(array)
    return _plain_text(array)


_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])


def _print_intervals(array: pa.Array) -> pa.Array:
    """Months, days and seconds as ISO 8601 writes durations.

    >>> spans = [pa.MonthDayNano([7, 0, 0]), pa.MonthDayNano([1, -2, 3_500_000_000]), None]
    >>> _print_intervals(pa.array(spans)[1:]).to_pylist()
    ['P1M-2DT3.5S', None]
    """
    raw = np.frombuffer(
        array.buffers()[1], _INTERVAL, len(array), array.offset * _INTERVAL.itemsize
    )
    numbers = [raw["months"], raw["days"], raw["nanoseconds"] / 1e9]
    texts = [print_array(pa.array(number)) for number in numbers]
    marks = [pa.scalar(mark, pa.large_string()) for mark in ("P", "M", "DT", "S", "")]
    parts = [part for pair in zip(marks, texts, strict=False) for part in pair]
    text = pc.binary_join_element_wise(*parts, *marks[3:])
    return pc.if_else(array.is_valid(), text, pa.scalar(None, text.type))


def _rewritten(text: pa.Array) -> pa.Array:
    """Rewrite numbers and dates to their canonical form; nulls stay."""
    from lakejoin.values.canonical_values import fold_column

    folded = fold_column(text.fill_null("") if text.null_count else text, ValueRules()).text
    if not text.null_count:
        return folded
    return pc.if_else(text.is_valid(), folded, pa.scalar(None, folded.type))


def _plain_text(array: pa.Array) -> pa.Array:
    """Nested values as compact JSON and bytes as text, as the readers write them."""
    unbounded = ReadLimits(cell_bytes=1 << 62)
    batch = pa.RecordBatch.from_arrays([array], names=["value"])
    return plain_batch(batch, unbounded, Losses()).column(0)


class Losses:
    """What was lost while reading: a count per reason, with the first occurrence.

    >>> seen = Losses(); seen.add("row too long", 2, "line 7"); seen.add("row too long", 1)
    >>> seen.to_list()
    [Loss(reason='row too long', count=3, detail='line 7')]
    """

    def __init__(self) -> None:
        self._seen: dict[str, Loss] = {}

    def add(self, reason: str, count: int = 1, detail: str = "") -> None:
        """Add `count` losses for `reason`; the first detail is kept."""
        if count <= 0:
            return
        known = self._seen.get(reason)
        if known is None:
            self._seen[reason] = Loss(reason, count, detail)
        else:
            self._seen[reason] = Loss(reason, known.count + count, known.detail or detail)

    def to_list(self) -> list[Loss]:
        return list(self._seen.values())


_NOT_UTF8 = "text is not UTF-8 and was read with replacement characters"


def repair_text(text: pa.Array) -> pa.Array:
    """Replace bytes that are not UTF-8, which Parquet files may contain."""
    offsets, data, _, _ = text_buffers(text)
    if not len(data) or not (data[offsets[0] : offsets[-1]] >= 128).any():
        return text
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raw = text.view(pa.large_binary() if pa.types.is_large_string(text.type) else pa.binary())
        repaired = [v if v is None else v.decode("utf-8", "replace") for v in raw.to_pylist()]
        return pa.array(repaired, pa.large_string())
    return text


def repair_batch(batch: pa.RecordBatch, losses: Losses) -> pa.RecordBatch:
    """Repair the texts of all columns, and count those that were repaired as losses."""
    for index, field in enumerate(batch.schema):
        column = batch.column(index)
        coded = isinstance(column, pa.DictionaryArray)
        text = column.dictionary if coded else column
        if not (pa.types.is_string(text.type) or pa.types.is_large_string(text.type)):
            continue
        repaired = repair_text(text)
        if repaired is text:
            continue
        changed = pc.not_equal(repaired.cast(pa.large_binary()), text.cast(pa.large_binary()))
        losses.add(_NOT_UTF8, changed.true_count, f"in column {field.name!r}")
        column = repaired.cast(text.type)
        if coded:
            indices = batch.column(index).indices
            column = pa.DictionaryArray.from_arrays(indices, column)
        batch = batch.set_column(index, field, column)
    return batch
