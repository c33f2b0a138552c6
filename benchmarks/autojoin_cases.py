"""Pairs of tables with the rows that truly join: what learned and fuzzy joins are measured on.

The tables are not part of this project: `folder` is where `autojoin` (the web pairs of the
Auto-Join thesis), `autofj` (tables of AutoFuzzyJoin), `lake` and `queries` lie. A set that is
not there gives no cases.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from autojoin_synthetic import cases as synthetic_cases

Pairs = set[tuple[Hashable, Hashable]]


@dataclass(frozen=True, eq=False)
class Case:
    """Two tables and the truth: the pairs of identities (of a left and a right row) that join.

    An identity is what the truth refers to: the row itself, its id, or the values that join. `on`
    are the columns that really join, for contenders that are given columns; `key` is the side that
    has each thing once.
    """

    name: str
    left: pa.Table
    right: pa.Table
    left_ids: Sequence[Hashable]
    right_ids: Sequence[Hashable]
    true: Pairs
    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    key: str = "right"

    def pairs(self, rows: Iterable[tuple[int, int]]) -> Pairs:
        """Joined rows as the truth has them."""
        return {(self.left_ids[i], self.right_ids[j]) for i, j in rows}

    def told(self) -> Case:
        """The same with the columns that truly join, and no others."""
        left, right = self.left.select(self.left_on), self.right.select(self.right_on)
        return Case(
            self.name, left, right, self.left_ids, self.right_ids, self.true,
            self.left_on, self.right_on, self.key,
        )  # fmt: skip

    def texts(self) -> tuple[list[str], list[str]]:
        """The columns that truly join as one text a row; several have a blank between them."""
        return _texts(self.left.select(self.left_on)), _texts(self.right.select(self.right_on))


def _texts(table: pa.Table) -> list[str]:
    columns = [column.cast(pa.string()).to_pylist() for column in table.columns]
    return [" ".join(cell or "" for cell in row).strip() for row in zip(*columns, strict=True)]


def web(folder: Path) -> Iterator[Case]:
    """The 31 pairs of web tables of the Auto-Join thesis."""
    base = folder / "autojoin"
    for pair in sorted(p for p in base.iterdir() if p.is_dir()) if base.is_dir() else ():
        yield web_pair(pair)


def web_pair(pair: Path) -> Case:
    """One pair of web tables; a row is known by its cells without blanks, as the truth differs
    from the tables in blanks here and there."""
    source, target, truth = (_rows(pair / f"{n}.csv") for n in ("source", "target", "ground_truth"))
    width = len(source[0])
    true: Pairs = {(_bare(row[:width]), _bare(row[width:])) for row in truth[1:]}
    left, right = _table(source), _table(target)
    left_on, right_on, rewritten = _told_columns(pair / "join_columns.txt", left, right)
    return Case(
        pair.name, left, right, [_bare(r) for r in source[1:]], [_bare(r) for r in target[1:]],
        true, left_on, right_on, "right" if rewritten == "source" else "left",
    )  # fmt: skip


def _told_columns(
    path: Path, left: pa.Table, right: pa.Table
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The columns and the side that is rewritten; all of them where nobody has written it down."""
    if not path.is_file():
        return tuple(left.column_names), tuple(right.column_names), "source"
    names, side, *others = path.read_text(encoding="utf-8-sig").splitlines()
    mine, theirs = names.rsplit(":", 1)
    if mine in left.column_names:
        return (mine,), (_named(theirs, right),), side.strip()
    mine, theirs = others[0].strip("()").rsplit(":", 1)  # several that stand for it, in brackets
    return tuple(mine.split(",")), (theirs,), side.strip()


def _named(column: str, table: pa.Table) -> str:
    return column if column in table.column_names else f"target-{column}"


def autofj(folder: Path) -> Iterator[Case]:
    """The tables of AutoFuzzyJoin: a title that joins, and an id, the number of the row."""
    base = folder / "autofj"
    for pair in sorted(p for p in base.iterdir() if p.is_dir()) if base.is_dir() else ():
        left, right, truth = (_records(pair / f"{n}.csv") for n in ("right", "left", "gt"))
        yield Case(
            pair.name,
            pa.Table.from_pylist(left).select(["id", "title"]),
            pa.Table.from_pylist(right).select(["id", "title"]),
            [row["id"] for row in left],
            [row["id"] for row in right],
            {(row["id_r"], row["id_l"]) for row in truth},
            ("title",),
            ("title",),
        )


def row_level(folder: Path) -> Iterator[Case]:
    """Tables of a real lake whose truth is in values: zero padding, concatenation, spellings."""
    import lakejoin

    path = folder / "queries" / "queries_row_level.json"
    for query in json.loads(path.read_text(encoding="utf-8")) if path.is_file() else ():
        sides = []
        for side in ("source", "target"):
            read: Any = lakejoin.read(folder / "lake" / query[f"{side}_table"])
            table = read.to_arrow() if hasattr(read, "to_arrow") else read
            columns = tuple(query[f"{side}_columns"].split("|"))
            sides.append((table, columns, _values(table, columns)))
        (left, left_on, left_ids), (right, right_on, right_ids) = sides
        truth = _records(folder / "queries" / "row_level" / f"{query['id']}.csv")
        true: Pairs = {(_value(row["source_value"]), _value(row["target_value"])) for row in truth}
        name = f"{query['id']} {query['note']}"
        yield Case(name, left, right, left_ids, right_ids, true, left_on, right_on)


def synthetic(rows: int = 1000) -> Iterator[Case]:
    """The four synthetic cases of the thesis; every column of the source makes the target."""
    for case in synthetic_cases(rows):
        true: Pairs = {(source, place) for place, source in enumerate(case.truth)}
        yield Case(
            case.name, case.source, case.target, range(case.source.num_rows),
            range(case.target.num_rows), true, tuple(case.source.column_names), ("made",),
        )  # fmt: skip


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.reader(file) if row]


def _records(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _table(rows: list[list[str]]) -> pa.Table:
    columns = [pa.array([row[i].strip() or None for row in rows[1:]]) for i in range(len(rows[0]))]
    return pa.table([c.cast(pa.string()) for c in columns], names=rows[0])


def _bare(cells: list[str]) -> tuple[str, ...]:
    return tuple("".join(cell.split()) for cell in cells)


def _values(table: pa.Table, columns: Sequence[str]) -> list[str]:
    texts = [table[column].cast(pa.string()).to_pylist() for column in columns]
    return [_value("|".join(cell or "" for cell in row)) for row in zip(*texts, strict=True)]


def _value(text: str) -> str:
    return " ".join(text.split())
