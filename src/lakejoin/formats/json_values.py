"""Find the records of a JSON document, and convert them to text columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class Records:
    """The rows of a document, and the keys of other values next to them."""

    rows: list[dict[str, Any]]
    beside: list[str] = field(default_factory=list)


def find_records(document: Any) -> Records | None:
    """Find the records of a JSON document; None if it contains no table.

    Known forms: an array of objects, of arrays or of plain values; an object of equally long
    arrays; an object of objects; a GeoJSON collection; any of these one level down; one object.

    >>> find_records({"count": 1, "data": [{"a": 1}]})
    Records(rows=[{'a': 1}], beside=['count'])
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
    import pyarrow as pa

    columns = [_text_column([row.get(key) for row in rows]) for key in keys]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _text_column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

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
