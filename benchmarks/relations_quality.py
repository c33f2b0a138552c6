"""How many of the declared foreign keys does `lakejoin relations` list, and how much else?

    python benchmarks/relations_quality.py DATABASES [--tpch FOLDER]

DATABASES is a folder with one folder for each database: its tables as CSV, and `foreign_keys.csv`
(child_table, child_columns, parent_table, parent_columns, child_distinct). TPC-H (8 tables as
Parquet below FOLDER) has the keys of its standard. A relation is right where tables, columns and
direction are those of a declared key. Keys whose column holds no value cannot be found, and are not
counted. What is listed and not declared may be true all the same; `--wrong` names it.

Beside it, what a listing by names alone gives (equal names, one of them unique), and one by values
alone (all values contained in a unique column, the smallest such).
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import pyarrow as pa

from harness import record
from lakejoin.inputs import resolve_table
from lakejoin.joins.join_inputs import table_subject
from lakejoin.joins.predicates.column_references import NamedTable, encode_columns, find_references
from lakejoin.joins.predicates.key_relations import find_relations

Key = tuple[str, tuple[str, ...], str, tuple[str, ...]]
Found = Callable[[Sequence[NamedTable]], set[Key]]

_NOT_TABLES = ("foreign_keys", "primary_keys")
_LINES = 100


@dataclass(frozen=True, slots=True)
class Truth:
    """The tables of a database, and its declared keys that have a value."""

    name: str
    tables: tuple[NamedTable, ...]
    keys: frozenset[Key]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was found of one database."""

    found: set[Key]
    right: int
    declared: int
    seconds: float

    @property
    def precision(self) -> float:
        """The share of the listed that is declared."""
        return self.right / len(self.found) if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the declared that is listed."""
        return self.right / self.declared

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def databases(folder: Path) -> Iterator[Truth]:
    """The databases below a folder that declare their keys."""
    for declared in sorted(folder.glob("*/foreign_keys.csv")):
        files = [p for p in sorted(declared.parent.glob("*.csv")) if p.stem not in _NOT_TABLES]
        with declared.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("child_distinct") != "0"]
        yield Truth(declared.parent.name, tuple(map(_table, files)), frozenset(map(_key, rows)))


def tpch(folder: Path) -> Truth:
    """TPC-H, whose tables are there as Parquet."""
    from predicates_data import TPCH_KEYS

    files = sorted(folder.glob("*.parquet"))
    keys = {(a, tuple(b.split("|")), c, tuple(d.split("|"))) for a, b, c, d in TPCH_KEYS}
    return Truth("TPC-H", tuple(map(_table, files)), frozenset(keys))


def _table(path: Path) -> NamedTable:
    def load() -> pa.Table:
        return resolve_table(path).rows

    return NamedTable(path.name, load)


def _key(row: dict[str, str]) -> Key:
    child, parent = (tuple(row[f"{side}_columns"].split("|")) for side in ("child", "parent"))
    return row["child_table"], child, row["parent_table"], parent


def ours(tables: Sequence[NamedTable]) -> set[Key]:
    """What `lakejoin relations` lists."""
    return {
        (table_subject(one.table), one.columns, table_subject(one.key_table), one.key_columns)
        for one in find_relations(tables)
    }


def by_names(tables: Sequence[NamedTable]) -> set[Key]:
    """Columns with the same name, where one is unique: the other refers to it."""
    columns, _ = encode_columns(tables)
    found = set()
    for parent in columns:
        for child in columns if parent.coded.profile.uniqueness == 1 else ():
            if child.table != parent.table and child.name == parent.name:
                found.add((child.subject, (child.name,), parent.subject, (parent.name,)))
    return found


def by_values(tables: Sequence[NamedTable]) -> set[Key]:
    """Columns whose values are all in a unique one: the smallest such."""
    columns, size = encode_columns(tables)
    best: dict[int, tuple[int, Key]] = {}
    for one in find_references(columns, size):
        child, parent = one.child, one.parent
        if one.containment < 1 or parent.coded.profile.uniqueness < 1 or len(child.coded) < 2:
            continue
        key: Key = (child.subject, (child.name,), parent.subject, (parent.name,))
        best[id(child)] = min(
            best.get(id(child), (len(parent.coded), key)), (len(parent.coded), key)
        )
    return {key for _, key in best.values()}


WAYS: dict[str, Found] = {"lakejoin": ours, "names alone": by_names, "values alone": by_values}


def measured(truth: Truth, find: Found) -> Figures:
    """What one way finds of a database."""
    begin = time.perf_counter()
    found = find(truth.tables)
    seconds = time.perf_counter() - begin
    return Figures(found, len(found & truth.keys), len(truth.keys), seconds)


def main() -> None:
    """Measures all databases, prints a line for each and the mean, and records it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("databases", type=Path)
    parser.add_argument("--tpch", type=Path)
    parser.add_argument(
        "--wrong", action="store_true", help="name what is not declared, or missing"
    )
    asked = parser.parse_args()
    truths = [*databases(asked.databases), *([tpch(asked.tpch)] if asked.tpch else [])]
    for way, find in WAYS.items():
        print(
            f"\n{way}\n{'database':20} {'declared':>8} {'listed':>6} {'right':>5}  P      R      F1"
        )
        every = []
        for truth in truths:
            found = measured(truth, find)
            every.append(found)
            print(_line(truth.name, found))
            if asked.wrong and find is ours:
                _print_keys("not declared", found.found - truth.keys)
                _print_keys("not listed", truth.keys - found.found)
        means = [
            mean(getattr(one, what) for one in every) for what in ("precision", "recall", "f1")
        ]
        print(f"{'mean':42}  " + "  ".join(f"{one:.3f}" for one in means))
        figures = {t.name: _recorded(f) for t, f in zip(truths, every, strict=True)}
        record("relations_quality", {"way": way, "mean": means, "databases": figures})


def _line(name: str, found: Figures) -> str:
    counts = f"{found.declared:8} {len(found.found):6} {found.right:5}"
    shares = f"{found.precision:.3f}  {found.recall:.3f}  {found.f1:.3f}"
    return f"{name:20} {counts}  {shares}  {found.seconds:.1f} s"


def _print_keys(what: str, keys: Iterable[Key]) -> None:
    for child, columns, parent, key in sorted(keys)[:_LINES]:
        print(f"    {what}: {child}({', '.join(columns)}) -> {parent}({', '.join(key)})")


def _recorded(found: Figures) -> dict[str, float]:
    return {
        "declared": found.declared,
        "listed": len(found.found),
        "right": found.right,
        "seconds": round(found.seconds, 2),
    }


if __name__ == "__main__":
    main()
