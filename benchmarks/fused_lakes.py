"""Does fused search find what joins in other lakes? A made-up company, and real databases.

    python benchmarks/fused_lakes.py FOLDER [--databases DATABASES]

FOLDER is where the lakes and their indexes are made, once. The company's lake is made from a seed;
DATABASES has a folder for each database, with its tables as CSV and `foreign_keys.csv`. The
databases are searched twice: as they are, and with names of files and columns that mean nothing.

What is asked, and what is right and wrong, is said in `lake_questions.py`. Figures are those of
`fused_quality.py`, of tables that are either; a table, its copies and its parts count as one. Where
nothing joins, the answer has to be empty. Each question is asked of the engines alone as well, of
which one ranks what shares the most and the other what has the largest share; several columns are
asked of the engine for composite keys. Where no column is named, the engines are asked for every
column, and a table stands by its best.
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import lakejoin
from enterprise_lake import company
from fused_quality import Figures, Question, Ranked, line, measured, ranked
from harness import record
from lake_questions import Asked, of_company, of_databases, tables_of
from lakejoin.errors import LakejoinError
from lakejoin.lake import Lake
from lakejoin.pipeline.options import BuildOptions
from lakejoin.search.options import SearchOptions
from lakejoin.sources.table_rules import TableRules

_MOST = 100  # columns or tables that are asked for
_HEAD = f"{'':30} questions     RR   P@5  P@10  R@20  above (in questions)  median seconds"


@dataclass(frozen=True, slots=True)
class Told:
    """How good the answer to one question is; for what has no partner, whether it is empty."""

    name: str
    kind: str
    figures: Figures | None
    empty: bool


def fused(lake: Lake, question: Question) -> Ranked:
    """All together."""
    on = list(question.on) or None
    return ranked(lake.search(question.table, on, k=_MOST))


def alone(by: str) -> Callable[[Lake, Question], Ranked]:
    """An engine alone."""

    def ask(lake: Lake, question: Question) -> Ranked:
        on, options = list(question.on), SearchOptions(by, _MOST, others=True)
        answer = lake.search_with(question.table, on or "*", options)
        answers = [answer] if on else list(answer)
        found = [one for answer in answers for one in answer]
        if by == "containment":
            found.sort(key=lambda one: (-one.containment, -one.matched))
        else:
            found.sort(key=lambda one: -one.matched)
        return Ranked(tuple(dict.fromkeys(one.table for one in found)))

    return ask


ENGINES: dict[str, Callable[[Lake, Question], Ranked]] = {
    "overlap": alone("overlap"),
    "containment": alone("containment"),
    "fused": fused,
}


def ask_all(
    lake: Lake, engine: Callable[[Lake, Question], Ranked], asked: Sequence[Asked]
) -> list[Told]:
    """How good the answers of an engine are."""
    told = []
    for one in asked:
        begin = time.perf_counter()
        try:
            ranked = engine(lake, one.question)
        except LakejoinError:  # nothing that could be searched for
            ranked = Ranked(())
        seconds = time.perf_counter() - begin
        ranked = one.condensed(ranked)
        right = one.question.right
        figures = measured(ranked, one.question, seconds) if right else None
        told.append(Told(one.question.name, one.kind, figures, not ranked.found))
    return told


def some_of_each(asked: Sequence[Asked], most: int | None) -> list[Asked]:
    """At most so many questions of each kind, from all parts of the lake."""
    kinds: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        kinds[one.kind].append(one)
    return [
        one
        for of_kind in kinds.values()
        for one in of_kind[:: max(1, -(-len(of_kind) // (most or len(of_kind))))]
    ]


def report(engine: str, told: Sequence[Told]) -> None:
    """Prints the means of an engine, by kind of question."""
    kinds: dict[str, list[Told]] = defaultdict(list)
    for one in told:
        kinds[one.kind].append(one)
    for kind, of_kind in kinds.items():
        figures = [one.figures for one in of_kind if one.figures]
        label = f"{engine}, {kind}"
        if figures:
            print(line(f"{label:30}", figures))
        else:
            empty = sum(one.empty for one in of_kind)
            print(f"{label:30} {len(of_kind):9}  {empty} answers are empty, as they should be")


def company_lake(folder: Path, noise: int, seed: int) -> tuple[Lake, list[Asked]]:
    """The lake of a company, made where it is not there."""
    made = company(noise, seed)
    files = folder / f"company-{noise}-{seed}"
    if not files.exists():
        made.write(files)
    return indexed(files), of_company(made)


def database_lakes(databases: Path, folder: Path) -> list[tuple[str, Lake, list[Asked]]]:
    """Databases as they are, and with names that mean nothing."""
    asked = of_databases(databases)
    named, nameless = folder / "databases", folder / "databases-without-names"
    for file in tables_of(databases):
        target = named / file.parent.name / file.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    tables, columns = _without_names(databases, nameless)

    def renamed(one: Asked) -> Asked:
        question = one.question
        of = question.table
        return Asked(
            one.kind,
            Question(
                question.name,
                tables[of],
                tuple(columns[of, name] for name in question.on),
                frozenset(tables[name] for name in question.right),
                frozenset(tables[name] for name in question.accidental),
            ),
            {},
        )

    return [
        ("databases", indexed(named), asked),
        ("databases without names", indexed(nameless), [renamed(one) for one in asked]),
    ]


def _without_names(
    databases: Path, folder: Path
) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Writes the tables as t1.csv with columns c1, c2; returns the new names of both."""
    files = list(tables_of(databases))
    draw = random.Random(1)
    draw.shuffle(files)
    tables: dict[str, str] = {}
    columns: dict[tuple[str, str], str] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files):
        name = f"{file.parent.name}/{file.name}"
        tables[name] = f"t{number}.csv"
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.reader(lines))
        new = [f"c{place}" for place in draw.sample(range(len(rows[0])), len(rows[0]))]
        columns |= {(name, old): to for old, to in zip(rows[0], new, strict=True)}
        if not (folder / tables[name]).exists():
            with (folder / tables[name]).open("w", encoding="utf-8", newline="") as out:
                csv.writer(out).writerows([new, *rows[1:]])
    return tables, columns


def indexed(files: Path) -> Lake:
    """The index of files, made where it is not there."""
    index = files.with_name(files.name + ".index")
    if not index.exists():
        options = BuildOptions(table_rules=TableRules(keep_apart=("*",)))  # labels name files
        lakejoin.index(files, index=index, options=options)
    return lakejoin.open(index)


def main() -> None:
    """Asks every engine every question of every lake, prints the means, and records all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--databases", type=Path)
    parser.add_argument("--noise", type=int, default=200, help="tables of noise (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, help="at most so many of each kind")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    given = parser.parse_args()
    lakes = [("company", *company_lake(given.folder, given.noise, given.seed))]
    if given.databases:
        lakes += database_lakes(given.databases, given.folder)
    results = {}
    for name, lake, every in lakes:
        print(f"{name}: {len(lake)} tables\n{_HEAD}")
        asked = some_of_each(every, given.questions)
        fused(lake, asked[0].question)  # compiles, and reads what all need
        results[name] = {}
        for engine in given.engines:
            told = ask_all(lake, ENGINES[engine], asked)
            report(engine, told)
            results[name][engine] = [asdict(one) for one in told]
    record("fused_lakes", results)


if __name__ == "__main__":
    main()
