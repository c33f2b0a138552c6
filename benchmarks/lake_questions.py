"""Questions about lakes of which it is known what joins: the columns asked for, right and wrong.

For the lake of a company (`enterprise_lake.py`) every column knows what its values are. For
databases the foreign keys say it: columns that are connected by them, also through others, are of
one domain. Tables of another database join by no key: what they share is row numbers.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from enterprise_lake import Column, Company
from fused_quality import Question, Ranked

_FEWEST = 6  # values of a key that is asked for: with fewer nobody could tell


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of some kind. Without right tables, the answer has to be empty.

    `same` has the name that stands for a table and its copies, versions and parts.
    """

    kind: str
    question: Question
    same: dict[str, str]

    def condensed(self, ranked: Ranked) -> Ranked:
        """An order of those that are right or wrong, and of tables that are the same, the first."""
        known = self.question.right | self.question.accidental

        def of(tables: tuple[str, ...]) -> tuple[str, ...]:
            groups = (self.same.get(one, one) for one in tables)
            return tuple(dict.fromkeys(one for one in groups if one in known))

        return Ranked(of(ranked.found), of(ranked.apart))


def of_company(made: Company) -> list[Asked]:
    """Every column that is a key of something, and every table, of those that are no copies."""
    asked = []
    for name, table in made.tables.items():
        if made.group(name) != name or name in made.noise:
            continue
        partners: set[str] = set()
        for of, column in table.items():
            if column.domain in ("", "date"):
                continue
            equal = _with(made, name, column, rewritten=False)
            rewritten = _with(made, name, column, rewritten=True)
            right = equal or rewritten
            kind = "equal" if equal else "rewritten" if rewritten else "no partner"
            wrong = {made.group(one) for one in made.tables} - equal - rewritten - {name}
            asked.append(_asked(kind, f"{name}.{of}", name, (of,), right, wrong, made.same))
            partners |= right
        if partners:
            noise = set(made.noise)
            asked.append(_asked("whole table", name, name, (), partners, noise, made.same))
    return asked


def _with(made: Company, name: str, column: Column, rewritten: bool) -> set[str]:
    return {
        made.group(other)
        for other, table in made.tables.items()
        if made.group(other) != name
        and any(
            one.domain == column.domain and (one.form != column.form) == rewritten
            for one in table.values()
        )
    }


def _asked(
    kind: str,
    name: str,
    table: str,
    on: tuple[str, ...],
    right: set[str],
    wrong: set[str],
    same: dict[str, str],
) -> Asked:
    return Asked(kind, Question(name, table, on, frozenset(right), frozenset(wrong)), same)


Key = tuple[str, str, tuple[str, ...]]  # database, table, columns


def of_databases(folder: Path) -> list[Asked]:
    """Every column that a foreign key connects, and every table that has one.

    A lake of `folder` has a folder for each database, in it the tables as CSV.
    """
    every = {f"{file.parent.name}/{file.name}" for file in tables_of(folder)}
    asked = []
    partners: dict[str, set[str]] = defaultdict(set)
    for domain in _domains(folder):
        for key in domain:
            name = _table(key)
            right = {_table(one) for one in domain} - {name}
            if not right or _distinct(folder, key) < _FEWEST:
                continue
            partners[name] |= right
            kind = "several columns" if len(key[2]) > 1 else _kind(folder, key)
            on = "+".join(key[2])
            wrong = every - right - {name}
            if kind == "several columns":  # others hold them too, under other names
                wrong = {one for one in wrong if not one.startswith(f"{key[0]}/")}
            asked.append(_asked(kind, f"{name}.{on}", name, key[2], right, wrong, {}))
    for name, right in sorted(partners.items()):
        others = {one for one in every if not one.startswith(name.partition("/")[0] + "/")}
        asked.append(_asked("whole table", name, name, (), right, others, {}))
    return asked


def tables_of(folder: Path) -> Iterator[Path]:
    """The files of tables below a folder of databases."""
    for file in sorted(folder.glob("*/*.csv")):
        if file.stem not in ("foreign_keys", "primary_keys"):
            yield file


def _domains(folder: Path) -> list[list[Key]]:
    """Columns that foreign keys connect, also through others."""
    leader: dict[Key, Key] = {}

    def find(key: Key) -> Key:
        while leader.setdefault(key, key) != key:
            key = leader[key]
        return key

    for file in sorted(folder.glob("*/foreign_keys.csv")):
        database = file.parent.name
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                child, parent = (
                    (database, row[f"{one}_table"], tuple(row[f"{one}_columns"].split("|")))
                    for one in ("child", "parent")
                )
                leader[find(child)] = find(parent)
    found: dict[Key, list[Key]] = defaultdict(list)
    for key in sorted(leader):
        found[find(key)].append(key)
    return list(found.values())


def _table(key: Key) -> str:
    return f"{key[0]}/{key[1]}.csv"


def _values(folder: Path, key: Key) -> set[tuple[str, ...]]:
    with (folder / _table(key)).open(encoding="utf-8", newline="") as lines:
        rows = {tuple(row[one] for one in key[2]) for row in csv.DictReader(lines)}
    return {one for one in rows if all(cell not in ("", "\\N") for cell in one)}


def _distinct(folder: Path, key: Key) -> int:
    return len(_values(folder, key))


def _kind(folder: Path, key: Key) -> str:
    values = _values(folder, key)
    numbers = sum(one.removeprefix("-").isdigit() for (one,) in values)
    return "numbers" if numbers > 0.9 * len(values) else "texts"
