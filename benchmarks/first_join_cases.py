"""Labelled pairs of tables: the keys that join them, their files, and the rows that a key joins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import lakejoin

PAIRS = Path(__file__).with_name("first_join_pairs.json")
KINDS = ("simple", "composite", "dense", "none")
HALVES = ("tune", "held")
FOLDERS = {"databases": "databases", "lake": "lake", "queries": "lake", "demo": "demo"}
_NULLS = ("", "na", "n/a", "nan", "null", "none", "-", "\\n", ".", "..", "?", "#n/a")

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tables with the keys that join them, the best first; none if they do not join.

    `rewrite` says how values become equal: side, column, `append`, `cut` (a text at the end) or
    `pad` (with zeros to a length), and the text or length. `change` says what was changed in a
    copy (`first_join_copies.py`).
    """

    name: str
    source: str
    half: str
    kind: str
    query: str
    table: str
    right: tuple[Key, ...]
    rename: Mapping[str, str] = field(default_factory=dict)
    rewrite: tuple[tuple[str, str, str, str], ...] = ()
    change: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A pair whose files are there: the query as a table, the other as a path below a folder."""

    pair: Pair
    query: Any
    table: Path
    folder: Path


def pairs(file: Path = PAIRS) -> list[Pair]:
    """The pairs of a file."""
    return [
        Pair(
            one["id"],
            one["source"],
            one["half"],
            one["kind"],
            one["query"],
            one["table"],
            tuple(sorted_key(key) for key in one["right"]),
            one.get("rename", {}).get("query", {}),
            tuple((side, column, how, what) for side, column, how, what in one.get("rewrite", ())),
        )
        for one in json.loads(file.read_text(encoding="utf-8"))
    ]


def sorted_key(columns: Iterable[Iterable[str]]) -> Key:
    """The pairs of columns of a key, in the order in which keys are compared."""
    return tuple(sorted((mine, theirs) for mine, theirs in columns))


def case_of(pair: Pair, data: Path, demo: Path | None) -> Case | None:
    """A pair with its files, or None if these are missing."""
    root = demo if pair.source == "demo" else data
    if root is None:
        return None
    query, table = root / pair.query, root / pair.table
    if not all(Path(str(path).partition("#")[0]).is_file() for path in (query, table)):
        return None
    folder = root if pair.source == "demo" else data / FOLDERS[pair.source]
    return Case(pair, _renamed(query, pair.rename) if pair.rename else query, table, folder)


def _renamed(path: Path, names: Mapping[str, str]) -> pa.Table:
    rows = read_rows(path)
    return rows.rename_columns([names.get(name, name) for name in rows.column_names])


@lru_cache(maxsize=8)
def read_rows(path: Path) -> pa.Table:
    """The rows of a file, or of the part of it that is named behind a `#`."""
    file, _, part = str(path).partition("#")
    table = lakejoin.read(file)
    if isinstance(table, list):
        (table,) = [one for one in table if one.name.rpartition("#")[2] == part]
    return table.to_arrow()


def joined_rows(left: pa.Table, right: pa.Table, key: Key, rewrite: Sequence[Any] = ()) -> int:
    """How many rows two tables have together, by columns with the same canonical text."""
    ours = [_text("query", mine, rewrite) for mine, _ in key]
    theirs = [_text("table", their, rewrite) for _, their in key]
    with duckdb.connect() as database:
        database.register("left_rows", left)
        database.register("right_rows", right)
        names = ", ".join(f"k{n}" for n in range(len(key)))
        rows = database.execute(
            f"WITH a AS ({_counts('left_rows', ours)}), b AS ({_counts('right_rows', theirs)}) "
            f"SELECT coalesce(sum(a.n * b.n), 0) FROM a JOIN b USING ({names})"
        ).fetchone()
    return int(rows[0]) if rows else 0


def _counts(table: str, texts: Sequence[str]) -> str:
    names = [f"k{n}" for n in range(len(texts))]
    nulls = ", ".join(f"'{one}'" for one in _NULLS)
    columns = ", ".join(f"{text} AS {name}" for text, name in zip(texts, names, strict=True))
    given = " AND ".join(f"{name} IS NOT NULL AND {name} NOT IN ({nulls})" for name in names)
    return (
        f"SELECT {', '.join(names)}, count(*)::HUGEINT AS n FROM (SELECT {columns} FROM {table}) "
        f"WHERE {given} GROUP BY ALL"
    )


def _text(side: str, column: str, rewrite: Sequence[Any]) -> str:
    name = '"' + column.replace('"', '""') + '"'
    text = f"lower(trim(regexp_replace({name}::VARCHAR, '\\s+', ' ', 'g')))"
    text = f"regexp_replace({text}, '^(-?\\d+)\\.0+$', '\\1')"
    for where, what, how, by in rewrite:
        if (where, what) != (side, column):
            continue
        if how == "append":
            text = f"({text} || '{by}')"
        elif how == "cut":
            text = f"CASE WHEN suffix({text}, '{by}') THEN {text}[:-{len(by) + 1}] ELSE {text} END"
        elif how == "pad":
            text = f"lpad({text}, greatest({int(by)}, length({text}))::INTEGER, '0')"
        else:
            raise ValueError(f"unknown rewriting: {how}")
    return text


def query_rows(case: Case) -> pa.Table:
    """The rows of the query."""
    return read_rows(case.query) if isinstance(case.query, Path) else case.query
