"""Databases whose keys are known: what predicates are measured on.

`databases` reads a folder with one folder for each database: its tables as CSV, and
`foreign_keys.csv` (child_table, child_columns, parent_table, parent_columns; several columns with
`|` between them). TPC-H is made by `tpchgen-cli` (of PyPI), with the keys that its standard gives.

A case is two tables with at least one foreign key between them, in either direction. Each foreign
key is one truth. A table that refers to itself is not a case: joined with itself, every row matches
itself, and no preference could rank anything higher.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

Predicate = frozenset[tuple[str, str]]  # pairs of a left and a right column

TPCH_KEYS = (  # TPC-H standard, section 1.4.2
    ("nation", "n_regionkey", "region", "r_regionkey"),
    ("supplier", "s_nationkey", "nation", "n_nationkey"),
    ("customer", "c_nationkey", "nation", "n_nationkey"),
    ("partsupp", "ps_partkey", "part", "p_partkey"),
    ("partsupp", "ps_suppkey", "supplier", "s_suppkey"),
    ("orders", "o_custkey", "customer", "c_custkey"),
    ("lineitem", "l_orderkey", "orders", "o_orderkey"),
    ("lineitem", "l_partkey|l_suppkey", "partsupp", "ps_partkey|ps_suppkey"),
)
_NOT_TABLES = ("foreign_keys", "primary_keys")


@dataclass(frozen=True, slots=True)
class Case:
    """Two tables of a database, and the foreign keys between them."""

    left: str
    right: str
    truths: tuple[Predicate, ...]

    @property
    def name(self) -> str:
        return f"{self.left} - {self.right}"


@dataclass(frozen=True, slots=True)
class Database:
    """Where the tables of a database are, and which of them have keys in common."""

    name: str
    tables: dict[str, Path]
    cases: tuple[Case, ...]
    itself: int = 0  # tables that refer to themselves, which are no cases

    def read(self, table: str) -> pa.Table:
        """The rows of a table, as lakejoin reads its file."""
        from lakejoin.inputs import resolve_table

        return resolve_table(self.tables[table]).rows


def databases(folder: Path) -> Iterator[Database]:
    """All databases below a folder that say what their foreign keys are."""
    for keys in sorted(folder.glob("*/foreign_keys.csv")):
        with keys.open(encoding="utf-8", newline="") as file:
            rows = [tuple(row[:4]) for row in csv.reader(file)][1:]
        files = (p for p in keys.parent.glob("*.csv") if p.stem not in _NOT_TABLES)
        yield database(keys.parent.name, {path.stem: path for path in sorted(files)}, rows)


def tpch(folder: Path, scale: float) -> Database:
    """TPC-H at a scale, made below `folder` unless it is there."""
    place = folder / f"{scale:g}"
    names = sorted({name for key in TPCH_KEYS for name in (key[0], key[2])})
    if not all((place / f"{name}.parquet").is_file() for name in names):
        _generate(place, scale)
    label = f"TPC-H, scale {scale:g}"
    return database(label, {name: place / f"{name}.parquet" for name in names}, TPCH_KEYS)


def database(name: str, tables: dict[str, Path], keys: Iterable[Sequence[str]]) -> Database:
    """The keys as cases: one for each two tables, in the order in which the keys are given."""
    truths: dict[tuple[str, str], list[Predicate]] = {}
    itself = 0
    for child, child_columns, parent, parent_columns in keys:
        pairs = list(zip(child_columns.split("|"), parent_columns.split("|"), strict=True))
        if child == parent:
            itself += 1
        elif (parent, child) in truths:
            truths[parent, child].append(frozenset((b, a) for a, b in pairs))
        else:
            truths.setdefault((child, parent), []).append(frozenset(pairs))
    cases = tuple(Case(*sides, tuple(found)) for sides, found in truths.items())
    return Database(name, tables, cases, itself)


def _generate(place: Path, scale: float) -> None:
    command = Path(sys.executable).with_name("tpchgen-cli")
    found = str(command) if command.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        raise SystemExit("TPC-H is made by tpchgen-cli: pip install tpchgen-cli")
    half = place.with_name(f"{place.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    subprocess.run([found, "parquet", "-s", f"{scale:g}", "-o", str(half), "-q"], check=True)
    shutil.rmtree(place, ignore_errors=True)
    half.rename(place)


@dataclass(frozen=True, slots=True)
class Score:
    """How a predicate compares with the truth that it is most like.

    Where two tables have several foreign keys between them, any of them is a right way to join,
    so the predicate is compared with each, and the best counts.
    """

    precision: float
    recall: float

    @property
    def f(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def score(found: Predicate, truths: Sequence[Predicate]) -> Score:
    """
    >>> of_two = frozenset({("a", "x"), ("b", "y")})
    >>> round(score(of_two, [frozenset({("b", "y")}), frozenset({("c", "z")})]).f, 3)
    0.667
    """
    if not found:
        return Score(0.0, 0.0)
    scores = [Score(len(found & one) / len(found), len(found & one) / len(one)) for one in truths]
    return max(scores, key=lambda one: one.f)
