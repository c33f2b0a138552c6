"""Read JSON documents and JSON Lines as tables of text columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa

from lakejoin.errors import UnreadableFile
from lakejoin.formats.charsets import decode_text, detect_charset, text_stream
from lakejoin.formats.table_stream import Blob, TableStream
from lakejoin.model import ReadLimits
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses

_HEAD = 1 << 16
_WIDE = 1000


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
    rows = records.rows
    keys = list(collect_keys(rows))
    names, notes = _names(blob, keys, len(rows), sum(map(len, rows)), limits)

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        detail = ", ".join(records.other_keys[:5])
        losses.add("value outside the records", len(records.other_keys), detail)
        step = _rows_at_once(len(keys))
        for start in range(0, len(rows), step):
            yield text_batch(rows[start : start + step], keys, names)

    return TableStream(blob.name, "json", names, reading, None, notes, limits)


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
    records = find_records(document)
    if records is None or not any(records.rows):
        raise UnreadableFile(blob.name, "JSON without records")
    return records


# -- lines ------------------------------------------------------------------------------------


def _open_lines(blob: Blob, charset: str, limits: ReadLimits) -> TableStream:
    """Read in two passes: the columns must be known before the first row."""
    keys: dict[str, None] = {}
    rows = cells = bad = 0
    for values, wrong in _line_blocks(blob, charset, Losses()):
        collect_keys(values, keys)
        rows += len(values)
        cells += sum(map(len, values))
        bad += wrong
        if len(keys) > limits.columns:
            break
    if not rows or bad > rows:
        raise UnreadableFile(blob.name, "not valid JSON", f"{bad} lines are not JSON objects")
    _names(blob, list(keys), rows, cells, limits)
    return json_lines_stream(blob, tuple(keys), limits, charset)


def json_lines_stream(
    blob: Blob, keys: tuple[str, ...], limits: ReadLimits, charset: str = "utf-8"
) -> TableStream:
    """Open JSON Lines whose keys are known."""
    names, notes = unique_names(keys)

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        step = _rows_at_once(len(keys))
        for values, wrong in _line_blocks(blob, charset, losses):
            losses.add("line is not JSON", wrong)
            for start in range(0, len(values), step):
                yield text_batch(values[start : start + step], list(keys), names)

    return TableStream(blob.name, "jsonl", names, reading, None, notes, limits)


def _line_blocks(
    blob: Blob, charset: str, losses: Losses
) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """Yield the objects of a few thousand lines, and how many lines are not JSON."""
    with text_stream(blob.open(), charset, losses) as lines:
        while block := list(islice(lines, 5000)):
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


def _names(
    blob: Blob, keys: list[str], rows: int, cells: int, limits: ReadLimits
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(keys) > limits.columns:
        raise UnreadableFile(blob.name, "too many columns", f"the limit is {limits.columns}")
    if len(keys) > _WIDE and cells < 0.02 * rows * len(keys):
        raise UnreadableFile(blob.name, "JSON records share no keys", f"{len(keys)} different keys")
    return unique_names(keys)


@dataclass(slots=True)
class Records:
    """The rows of a document, and the keys of other values next to them."""

    rows: list[dict[str, Any]]
    other_keys: list[str] = field(default_factory=list)


def find_records(document: Any) -> Records | None:
    """Find the records of a JSON document; None if it contains no table.

    Known forms: an array of objects, of arrays or of plain values; an object of equally long
    arrays; an object of objects; a GeoJSON collection; any of these one level down; one object.

    >>> find_records({"count": 1, "data": [{"a": 1}]})
    Records(rows=[{'a': 1}], other_keys=['count'])
    >>> find_records({"a": [1, 2], "b": [3, 4]}).rows
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    direct = _direct(document)
    if direct is not None:
        return Records(direct)
    if not isinstance(document, dict):
        return None
    inner = [(key, rows) for key, value in document.items() if (rows := _direct(value)) is not None]
    tables = [(key, rows) for key, rows in inner if isinstance(document[key], list)] or inner
    if not tables:
        return Records([document]) if document else None
    key, rows = max(tables, key=lambda table: len(table[1]))
    if len(rows) == 1 and not isinstance(document[key], list):
        return Records([document])
    return Records(rows, [other for other in document if other != key])


def _direct(value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, list):
        return _from_list(value)
    if isinstance(value, dict) and value:
        if isinstance(value.get("features"), list) and value.get("type") == "FeatureCollection":
            return [_feature(item) for item in value["features"] if isinstance(item, dict)]
        items = list(value.values())
        if all(isinstance(item, list) for item in items) and _are_columns(items):
            return [dict(zip(value, row, strict=True)) for row in zip(*items, strict=True)]
        if len(items) > 1 and all(isinstance(item, dict) and item for item in items):
            return [{"key": key, **item} for key, item in value.items()]
    return None


def _are_columns(lists: list[list[Any]]) -> bool:
    plain = not any(isinstance(item, dict) for items in lists for item in items)
    return plain and len(set(map(len, lists))) == 1


def _from_list(items: list[Any]) -> list[dict[str, Any]] | None:
    if not items:
        return None
    if all(isinstance(item, dict) for item in items):
        return items
    if all(isinstance(item, list) for item in items):
        return _from_arrays(items)
    return [item if isinstance(item, dict) else {"value": item} for item in items]


def _from_arrays(rows: list[list[Any]]) -> list[dict[str, Any]]:
    """Arrays as rows; a first row of distinct texts is the header."""
    head = rows[0]
    named = (
        len(rows) > 1
        and all(isinstance(cell, str) and cell for cell in head)
        and len(set(head)) == len(head)
    )
    width = max(map(len, rows))
    names = list(head) if named else []
    names += [f"column_{i}" for i in range(len(names) + 1, width + 1)]
    return [dict(zip(names, row, strict=False)) for row in rows[named:]]


def _feature(item: dict[str, Any]) -> dict[str, Any]:
    properties = item.get("properties")
    flat = dict(properties) if isinstance(properties, dict) else {}
    for key in ("id", "geometry"):
        if item.get(key) is not None:
            flat.setdefault(key, item[key])
    return flat


def collect_keys(
    rows: Iterable[dict[str, Any]], known: dict[str, None] | None = None
) -> dict[str, None]:
    """All keys, in order of first occurrence."""
    seen = {} if known is None else known
    for row in rows:
        seen.update(dict.fromkeys(row))
    return seen


def text_batch(
    rows: Sequence[dict[str, Any]], keys: Sequence[str], names: Sequence[str]
) -> pa.RecordBatch:
    """Convert rows to text columns: texts unchanged, numbers and booleans as JSON writes them.

    >>> text_batch([{"a": 1, "b": [1]}, {"a": "x"}], ["a", "b"], ["a", "b"]).to_pydict()
    {'a': ['1', 'x'], 'b': ['[1]', None]}
    """
    columns = [_text_column([row.get(key) for row in rows]) for key in keys]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _text_column(values: list[Any]) -> pa.Array:
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
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
