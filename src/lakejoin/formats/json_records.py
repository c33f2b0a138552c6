"""Find the records in a JSON document, wherever they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses

_ONE_ROW = "document read as one row"
_ALIKE = 0.5  # of the keys of objects are in several of them if they are records
_DEEPEST = 16


@dataclass(slots=True)
class Records:
    """The rows of a document, other lists of records in it by their path, and the keys of values
    that are in none of these. `path` says where the rows are; `whole` if the document is one row.
    """

    rows: list[dict[str, Any]]
    others: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    other_keys: list[str] = field(default_factory=list)
    path: tuple[str, ...] = ()
    whole: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        if self.whole:
            return ("the document has no list of records, so it is read as one row",)
        if self.path:
            others = ", ".join(f"#{path}" for path in self.others)
            more = f"; there are more at {others}" if others else ""
            return (f"the records were found at {'.'.join(self.path)} in the document{more}",)
        return ()

    def count_losses(self, losses: Losses) -> None:
        detail = ", ".join(self.other_keys[:5])
        losses.add("value outside the records", len(self.other_keys), detail)
        if self.whole:
            losses.add(_ONE_ROW, 1)


def find_records(document: Any) -> Records | None:
    """Find the records of a JSON document; None if it contains no table.

    Known forms: an array of objects, of arrays or of plain values; an object of equally long
    arrays; an object of objects; a GeoJSON collection. If the document itself is none of these, the
    longest list of records in it, however deep, and the others beside it; else one object.

    >>> find_records({"count": 1, "data": [{"a": 1}]}).rows
    [{'a': 1}]
    >>> found = find_records({"meta": {"n": 2}, "response": {"results": [{"a": 1}, {"a": 2}]}})
    >>> found.rows, found.path, found.other_keys
    ([{'a': 1}, {'a': 2}], ('response', 'results'), ['meta'])
    >>> find_records({"a": [1, 2], "b": [3, 4]}).rows
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    if isinstance(document, list):
        rows = _from_list(document)
        return None if rows is None else Records(rows)
    if not isinstance(document, dict) or not document:
        return None
    direct = _from_object(document)
    if direct is not None:
        return Records(direct)
    found = list(_inside(document, ()))
    lists = [item for item in found if item.is_list] or [i for i in found if len(i.rows) > 1]
    if lists:
        best = max(lists, key=lambda item: len(item.rows))
        paths = {item.path for item in lists}
        beside = [item for item in lists if item is not best]
        names, _ = unique_names([".".join(item.path) for item in beside])
        others = {name: item.rows for name, item in zip(names, beside, strict=True)}
        outside = list(_outside(document, (), paths))
        return Records(best.rows, others, outside, best.path)
    if _is_keyed(document):
        return Records(_keyed(document))
    return Records([document], whole=True)


@dataclass(frozen=True, slots=True)
class _Inner:
    path: tuple[str, ...]
    rows: list[dict[str, Any]]
    is_list: bool


def _inside(value: dict[str, Any], path: tuple[str, ...]) -> Iterator[_Inner]:
    """The lists of records, and what else is a table, inside an object; not what is in a record."""
    for key, item in value.items():
        where = (*path, key)
        if isinstance(item, list):
            if any(isinstance(each, dict | list) and each for each in item):
                rows = _from_list(item)
                if rows:
                    yield _Inner(where, rows, True)
        elif isinstance(item, dict) and item:
            rows = _from_object(item)
            if rows is not None:
                is_features = isinstance(item.get("features"), list)
                yield _Inner(where, rows, is_features)
            elif len(where) < _DEEPEST:
                yield from _inside(item, where)


def _outside(
    value: dict[str, Any], path: tuple[str, ...], paths: set[tuple[str, ...]]
) -> Iterator[str]:
    """The keys of values that are neither records nor around them."""
    for key, item in value.items():
        where = (*path, key)
        if where in paths:
            continue
        if isinstance(item, dict) and any(other[: len(where)] == where for other in paths):
            yield from _outside(item, where, paths)
        else:
            yield ".".join(where)


def _from_object(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of an object that is a table as a whole."""
    if isinstance(value.get("features"), list) and value.get("type") == "FeatureCollection":
        return [_feature(item) for item in value["features"] if isinstance(item, dict)]
    items = list(value.values())
    if all(isinstance(item, list) for item in items) and _are_columns(items):
        return [dict(zip(value, row, strict=True)) for row in zip(*items, strict=True)]
    if _is_keyed(value):
        counts = Counter(chain.from_iterable(items))
        shared = sum(count > 1 for count in counts.values())
        if shared >= _ALIKE * len(counts):
            return _keyed(value)
    return None


def _is_keyed(value: dict[str, Any]) -> bool:
    return len(value) > 1 and all(isinstance(item, dict) and item for item in value.values())


def _keyed(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, **item} for key, item in value.items()]


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
    """A feature's properties; its geometry stays text."""
    properties = item.get("properties")
    flat = dict(properties) if isinstance(properties, dict) else {}
    for key in ("id", "geometry"):
        value = item.get(key)
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if value is not None:
            flat.setdefault(key, value)
    return flat
