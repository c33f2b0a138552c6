"""Brute force for nested records: one record at a time, by what stands at each path."""

from __future__ import annotations

import json
from typing import Any

Row = dict[str, str]


def flatten_records(records: list[Any], key: str) -> dict[str, list[Row]]:
    """The cells of the table of the records, under the empty name, and of those nested in it;
    nulls are left out. `key` begins the key of every record."""
    kinds: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        _note_kinds(record, (), kinds)
    tables: dict[str, list[Row]] = {}
    for number, record in enumerate(records, start=1):
        _add(record, (), "", f"{key}:{number}", None, kinds, tables)
    for rows in tables.values():
        for row in rows:
            row.pop("_own", None)
    return tables


def _note_kinds(value: Any, path: tuple[str, ...], kinds: dict[tuple[str, ...], set[str]]) -> None:
    kinds.setdefault(path, set()).add(type(value).__name__)
    if isinstance(value, dict):
        for key, below in value.items():
            _note_kinds(below, (*path, key), kinds)
    if isinstance(value, list):
        for item in value:
            _note_kinds(item, (*path, "[]"), kinds)


def _is_table(path: tuple[str, ...], kinds: dict[tuple[str, ...], set[str]]) -> bool:
    items = kinds.get((*path, "[]"), set()) - {"NoneType"}
    return "dict" in items or bool(items and not items & {"float", "list"})


def _add(
    record: Any,
    path: tuple[str, ...],
    part: str,
    key: str,
    parent: Row | None,
    kinds: dict[tuple[str, ...], set[str]],
    tables: dict[str, list[Row]],
) -> None:
    row: Row = {}
    if parent is not None:
        row["_parent"] = parent["_own"]
        if "id" in parent:
            row["parent.id"] = parent["id"]
    row["_own"] = key
    tables.setdefault(part, []).append(row)
    later: list[tuple[str, tuple[str, ...], list[Any]]] = []

    def walk(value: Any, here: tuple[str, ...], names: tuple[str, ...]) -> None:
        mixed = "dict" in kinds[path]
        name = ".".join(names) or ("value" if mixed else part.rpartition(".")[2])
        items = kinds.get((*here, "[]"), set())
        if isinstance(value, dict) and value:
            for each, below in value.items():
                walk(below, (*here, each), (*names, each))
        elif isinstance(value, dict):
            if any(len(p) == len(here) + 1 and p[:-1] == here and p[-1] != "[]" for p in kinds):
                return  # others of them have keys
            row[name] = "{}"
        elif isinstance(value, list):
            if "dict" not in items or not names:
                row[name] = _text(value)
            if names and _is_table(here, kinds):
                later.append((".".join(names), here, value))
        elif value is not None:
            row[name] = _text(value)

    walk(record, path, ())
    has_children = any(
        _is_table(p, kinds)
        for p in kinds
        if p[: len(path)] == path and p != path and "[]" not in p[len(path) :]
    )
    if has_children:
        row["_row"] = key
    for name, here, items in later:
        child = f"{part}.{name}" if part else name
        for number, item in enumerate(items, start=1):
            _add(item, (*here, "[]"), child, f"{key}.{number}", row, kinds, tables)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
