"""Read JSON documents and JSON Lines as tables of text columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from lakejoin.errors import UnreadableFile
from lakejoin.formats.charsets import decode_text, detect_charset, text_stream
from lakejoin.formats.json_records import Records, find_records
from lakejoin.formats.nested_shapes import NestedColumn, NestedTable, Shape, plan_tables
from lakejoin.formats.nested_tables import NestedRecords
from lakejoin.formats.table_stream import Blob, TableStream
from lakejoin.model import Array, ReadLimits
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses, to_json_text

_HEAD = 1 << 16
_WIDE = 1000
_LINES = 5000  # parsed at once


def open_json(blob: Blob, limits: ReadLimits) -> TableStream:
    charset = detect_charset(blob.head(_HEAD), whole=False).name
    if is_json_lines(blob, charset):
        return _open_lines(blob, charset, limits)
    return _open_document(blob, charset, limits)


def is_json_lines(blob: Blob, charset: str = "utf-8") -> bool:
    """Whether the first line is a complete value that more text follows."""
    with text_stream(blob.open(), charset, Losses()) as lines:
        first = ""
        for line in lines:
            if line.strip():
                if first:
                    return True
                first = line
                try:
                    value = json.loads(first)
                except (ValueError, RecursionError):
                    return False
                if not isinstance(value, dict | list):
                    return False
    return bool(first) and blob.label.lower().endswith((".jsonl", ".ndjson"))


# -- documents --------------------------------------------------------------------------------


def _open_document(blob: Blob, charset: str, limits: ReadLimits) -> TableStream:
    records = _document(blob, charset, limits)
    main = _rows_stream(blob, blob.name, records.rows, limits, records)
    others = [
        replace(_rows_stream(blob, f"{blob.name}#{path}", rows, limits), part=path)
        for path, rows in records.others.items()
    ]
    children = [*main.children, *(stream for other in others for stream in _below(other))]
    parts, _ = unique_names([child.part for child in children])
    for at, part in enumerate(parts):
        if part != children[at].part:
            children[at] = replace(children[at], name=f"{blob.name}#{part}", part=part)
    return replace(main, children=tuple(children))


def _below(stream: TableStream) -> Iterator[TableStream]:
    """A table beside the first one, and the tables nested in it."""
    yield replace(stream, children=())
    for child in stream.children:
        yield replace(child, part=f"{stream.part}.{child.part}")


def _rows_stream(
    blob: Blob, name: str, rows: list[Any], limits: ReadLimits, records: Records | None = None
) -> TableStream:
    shape = Shape()
    for start in range(0, len(rows), _LINES):
        shape.add(rows[start : start + _LINES], limits.nesting, limits.columns)
    plan = _plan(blob, shape, len(rows), limits)

    def read(losses: Losses, _needed: tuple[str, ...]) -> Iterator[list[Any]]:
        if records is not None:
            records.count_losses(losses)
        step = _rows_at_once(len(plan.names))
        for start in range(0, len(rows), step):
            yield rows[start : start + step]

    notes = () if records is None else records.notes
    return NestedRecords(name, "json", plan, JsonValues(), read, limits).stream(notes)


def _document(blob: Blob, charset: str, limits: ReadLimits) -> Records:
    most = min(limits.expanded_bytes, 32 * limits.batch_bytes)
    with blob.open() as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UnreadableFile(blob.name, "JSON document too large", f"over {most} bytes")
    try:
        document = json.loads(decode_text(data, charset, Losses()))
    except RecursionError:
        raise UnreadableFile(blob.name, "JSON nested too deeply") from None
    except ValueError as problem:
        raise UnreadableFile(blob.name, "not valid JSON", str(problem)) from None
    try:
        records = find_records(document)
    except RecursionError:
        raise UnreadableFile(blob.name, "JSON nested too deeply") from None
    if records is None or not any(records.rows):
        raise UnreadableFile(blob.name, "JSON without records")
    return records


# -- lines ------------------------------------------------------------------------------------


def _open_lines(blob: Blob, charset: str, limits: ReadLimits) -> TableStream:
    """Read in two passes: the columns must be known before the first row."""
    shape = Shape()
    rows = bad = 0
    for values, wrong in _line_blocks(blob, charset, Losses()):
        shape.add(values, limits.nesting, limits.columns)
        rows += len(values)
        bad += wrong
        if shape.values is not None:
            break
    if not rows or bad > rows:
        raise UnreadableFile(blob.name, "not valid JSON", f"{bad} lines are not JSON objects")
    return json_lines_stream(blob, _plan(blob, shape, rows, limits), limits, charset)


def json_lines_stream(
    blob: Blob, plan: NestedTable, limits: ReadLimits, charset: str = "utf-8", first_row: int = 0
) -> TableStream:
    """Open JSON Lines whose columns are known."""

    def read(losses: Losses, _needed: tuple[str, ...]) -> Iterator[list[Any]]:
        step = _rows_at_once(len(plan.names))
        for values, wrong in _line_blocks(blob, charset, losses):
            losses.add("line is not JSON", wrong)
            for start in range(0, len(values), step):
                yield values[start : start + step]

    return NestedRecords(blob.name, "jsonl", plan, JsonValues(), read, limits, first_row).stream()


def _line_blocks(
    blob: Blob, charset: str, losses: Losses
) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """Yield the objects of a few thousand lines, and how many lines are not JSON."""
    with text_stream(blob.open(), charset, losses) as lines:
        while block := list(islice(lines, _LINES)):
            yield parse_lines(block)


def parse_lines(lines: list[str]) -> tuple[list[dict[str, Any]], int]:
    """Parse lines as JSON objects; returns them, and how many lines are not JSON.

    >>> parse_lines(['{"a":1}', "", "oops"])
    ([{'a': 1}], 1)
    """
    full = [line for line in lines if line.strip()]
    try:
        values = json.loads("[" + ",".join(full) + "]")
        bad = 0
        if len(values) != len(full):
            raise ValueError
    except (ValueError, RecursionError):
        values, bad = _one_by_one(full)
    rows = [v if type(v) is dict else _array_row(v) for v in values]
    return rows, bad


def _one_by_one(lines: list[str]) -> tuple[list[Any], int]:
    values, bad = [], 0
    for line in lines:
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            bad += 1
    return values, bad


def _array_row(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {f"column_{i}": item for i, item in enumerate(value, start=1)}
    return {"value": value}


def _rows_at_once(columns: int) -> int:
    return max(1, min(50_000, 2_000_000 // max(1, columns)))


def _plan(blob: Blob, shape: Shape, rows: int, limits: ReadLimits) -> NestedTable:
    if shape.values is not None or len(shape.keys) > limits.columns:
        raise UnreadableFile(blob.name, "too many columns", f"the limit is {limits.columns}")
    keys, cells = len(shape.keys), sum(below.count for below in shape.keys.values())
    if keys > _WIDE and cells < 0.02 * rows * keys:
        raise UnreadableFile(blob.name, "JSON records share no keys", f"{keys} different keys")
    return plan_tables(blob.name, shape, limits)


class JsonValues:
    """Takes values out of records as JSON has them; `types` are those of columns that have one."""

    def __init__(self, types: Mapping[str, pa.DataType] | None = None) -> None:
        self._types = types or {}

    def step(self, values: list[Any], key: str) -> list[Any]:
        return [v.get(key) if type(v) is dict else None for v in values]

    def explode(self, values: list[Any], is_map: bool) -> tuple[list[Any], Array]:
        if is_map:
            lists = [
                [{"key": k, "value": each} for k, each in v.items()] if type(v) is dict else ()
                for v in values
            ]
        else:
            lists = [v if type(v) is list else () for v in values]
        positions = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
        return [item for each in lists for item in each], positions

    def column(self, values: list[Any], column: NestedColumn, losses: Losses) -> pa.Array:
        dropped = (*((dict,) if column.drops_objects else ()),
                   *((list,) if column.drops_lists else ()))  # fmt: skip
        if dropped:
            values = [None if type(v) in dropped else v for v in values]
        if column.kept:
            nested = sum(type(v) in (dict, list) for v in values)
            losses.add(column.kept, nested, f"in column {column.name!r}")
        kind = self._types.get(column.name)
        return _text_column(values) if kind is None else pa.array(values, kind)

    def finish(self, batch: pa.RecordBatch, _losses: Losses) -> pa.RecordBatch:
        return batch


def _text_column(values: list[Any]) -> pa.Array:
    """Values as text: texts unchanged, numbers and booleans as JSON writes them.

    >>> _text_column([1, "x", [1], None, True]).to_pylist()
    ['1', 'x', '[1]', None, 'true']
    """
    texts = [v if v is None or type(v) is str else _text(v) for v in values]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # a lone surrogate, which JSON can write and UTF-8 cannot
        valid = [t if t is None else t.encode("utf-8", "replace").decode() for t in texts]
        return pa.array(valid, pa.string())


def _text(value: Any) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int | float):
        return repr(value)
    return (to_json_text(value) or "") if isinstance(value, dict | list) else str(value)
