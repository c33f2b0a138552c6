"""Does union search find the parts of a table that was cut up? Against names alone, and overlap.

    python benchmarks/union_quality.py LAKE FOLDER [--tables 45]

LAKE is a folder of CSV files; tables with different headers are taken from as many sources as
possible. Each is cut up, from a seed, so that the truth is known:

- its rows into five parts, at random or one after the other. The first is the query; the others go
  into the lake that is generated in FOLDER, with columns in another order, some left out, and names
  unchanged, half of them changed, or all of them changed to meaningless ones;
- some of its columns into another table that has the rows of the first part and a column that
  identifies them: it joins, and none of its rows could be appended.

Figures, over the tables: P@4, the share of right tables among the first four (there are four);
R@10, the share of them among the first ten; `told right`, the share of right tables among all
results, at most ten; `above`, tables that only join but rank above a right one; and of the aligned
columns of the right tables, the share that is right, and the share of the right pairs that was
found.
`names` ranks tables by the share of column names that both have, `overlap` by the sum of the best
containments of the query columns, from the exact engine. Other parts of the lake that could rightly
be appended, though they were not cut from the same table, count as wrong.
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median

import lakejoin
from harness import record
from lakejoin.errors import LakejoinError
from lakejoin.lake import Lake

PARTS = 5
LEVELS = ("same", "half", "all")  # of the names are changed
_ROWS = (60, 20_000)
_COLUMNS = (4, 20)
_DROPPED = 0.25
_MOST = 10


@dataclass(frozen=True, slots=True)
class Cut:
    """A table that was cut up: what is asked for, its right ones with their columns by mine, and
    what only joins."""

    query: str
    level: str
    right: dict[str, dict[str, str]]  # table -> my column -> theirs
    joins: str


@dataclass(slots=True)
class Ranked:
    """Tables in order, and the columns that were put together in them."""

    found: list[str]
    columns: dict[str, dict[str, str]] = field(default_factory=dict)


Rows = list[list[str | None]]
Engine = Callable[[Lake, Path], Ranked]


def cut_up(
    names: Sequence[str], rows: Rows, level: str, number: int, seed: int
) -> tuple[Cut, dict[str, tuple[list[str], Rows]]]:
    """The parts of a table as (header, rows) by file, the first of them to be asked for."""
    rng = random.Random(seed)
    key = max(range(len(names)), key=lambda c: len({row[c] for row in rows}))
    others = [c for c in range(len(names)) if c != key]
    rng.shuffle(others)
    apart = others[: max(1, len(others) // 4)]  # only in the table that joins
    mine = sorted({*range(len(names))} - {*apart})
    order = list(range(len(rows)))
    if seed % 2:
        rng.shuffle(order)
    size = len(rows) // PARTS
    parts = [[rows[i] for i in order[p * size : (p + 1) * size]] for p in range(PARTS)]
    made = {f"q{number:03}.csv": ([names[c] for c in mine], _picked(parts[0], mine))}
    right = {}
    for part in range(1, PARTS):
        kept = [c for c in mine if c == key or rng.random() >= _DROPPED]
        rng.shuffle(kept)
        header = _renamed(kept, names, level, rng)
        file = f"t{rng.getrandbits(40):010x}.csv"
        made[file] = (header, _picked(parts[part], kept))
        right[file] = {names[c]: header[i] for i, c in enumerate(kept)}
    joins = f"t{rng.getrandbits(40):010x}.csv"
    both = [key, *apart]
    made[joins] = ([names[c] for c in both], _picked(parts[0], both))
    return Cut(f"q{number:03}.csv", level, right, joins), made


def _picked(rows: Rows, columns: Sequence[int]) -> Rows:
    return [[row[c] for c in columns] for row in rows]


def _renamed(
    kept: Sequence[int], names: Sequence[str], level: str, rng: random.Random
) -> list[str]:
    """Other names for some columns: words that say nothing."""
    changed = {"same": 0.0, "half": 0.5, "all": 1.0}[level]
    words = [f"{rng.choice('bdfgklmnprst')}{rng.choice('aeiou')}x{n}" for n in range(len(kept))]
    return [
        word if rng.random() < changed else names[c] for c, word in zip(kept, words, strict=True)
    ]


def make(lake: Path, folder: Path, tables: int, seed: int = 9) -> list[Cut]:
    """Cuts tables of a lake up; the queries stand in FOLDER/queries, the others in FOLDER/lake."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "queries").mkdir(parents=True)
    (folder / "lake").mkdir()
    files = sorted(lake.rglob("*.csv"))
    random.Random(seed).shuffle(files)
    by_source: dict[str, int] = {}
    headers: list[frozenset[str]] = []
    cuts: list[Cut] = []
    for file in files:
        source = file.relative_to(lake).parts[0]
        if by_source.get(source, 0) >= max(1, tables // 15):
            continue
        known = _table(file)
        if known is None or any(_same(frozenset(known[0]), one) for one in headers):
            continue
        headers.append(frozenset(known[0]))
        by_source[source] = by_source.get(source, 0) + 1
        number = len(cuts)
        cut, made = cut_up(*known, LEVELS[number % len(LEVELS)], number, seed + number)
        for name, (header, rows) in made.items():
            where = folder / ("queries" if name == cut.query else "lake") / name
            with where.open("w", newline="", encoding="utf-8") as out:
                csv.writer(out).writerows([header, *rows])
        cuts.append(cut)
        if len(cuts) == tables:
            break
    return cuts


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two headers are so alike that one table could be appended to the other."""
    return len(one & other) >= 0.3 * min(len(one), len(other))


def _table(file: Path) -> tuple[list[str], Rows] | None:
    """The header and rows of a file, if it is large enough, and none of its columns is empty."""
    if file.stat().st_size > 5_000_000:
        return None
    try:
        rows = lakejoin.read(file)
        table = (rows[0] if isinstance(rows, list) else rows).to_arrow()
    except (LakejoinError, IndexError):
        return None
    names = table.column_names
    few = not _COLUMNS[0] <= len(names) <= _COLUMNS[1] or len({*names}) < len(names)
    if few or not _ROWS[0] <= table.num_rows <= _ROWS[1]:
        return None
    columns = [column.to_pylist() for column in table.columns]
    return names, [list(map(_text, row)) for row in zip(*columns, strict=True)]


def _text(cell: object) -> str | None:
    return None if cell is None else str(cell)


# -- engines ---------------------------------------------------------------------------------------


def union(lake: Lake, query: Path) -> Ranked:
    """The union search; versions of a table count as if each were one."""
    answer = lake.union(query, k=_MOST)
    found = [name for one in answer for name in (one.table, *one.versions)]
    columns = {
        one.table: {a.mine: a.theirs for a in one.pairs if a.theirs is not None} for one in answer
    }
    return Ranked(found, columns)


def by_names(lake: Lake, query: Path) -> Ranked:
    """Tables by the share of names that both have; columns of the same name go together."""
    mine = set(_header(query))
    scores = {}
    for table in lake.tables():
        theirs = {column.name for column in table.columns()}
        scores[table.name] = len(mine & theirs) / len(mine | theirs), mine & theirs
    order = sorted((n for n in scores if scores[n][0]), key=lambda n: (-scores[n][0], n))[:_MOST]
    return Ranked(order, {name: {c: c for c in scores[name][1]} for name in order})


def by_overlap(lake: Lake, query: Path) -> Ranked:
    """Tables by the sum of the best containments of my columns."""
    scores: dict[str, float] = {}
    columns: dict[str, dict[str, str]] = {}
    for name in _header(query):
        try:
            answer = lake.overlap(query, name, 100)
        except LakejoinError:
            continue
        seen = set()
        for one in answer:
            if one.table not in seen:
                seen.add(one.table)
                scores[one.table] = scores.get(one.table, 0.0) + one.containment
                columns.setdefault(one.table, {})[name] = one.columns[0]
    order = sorted(scores, key=lambda n: (-scores[n], n))[:_MOST]
    return Ranked(order, columns)


def _header(query: Path) -> list[str]:
    with query.open(newline="", encoding="utf-8") as rows:
        return next(csv.reader(rows))


ENGINES: dict[str, Engine] = {"union": union, "names": by_names, "overlap": by_overlap}


# -- figures ---------------------------------------------------------------------------------------


def figures(cut: Cut, ranked: Ranked) -> dict[str, float]:
    """How good an order is."""
    places = [i for i, table in enumerate(ranked.found) if table in cut.right]
    last = max(places) if len(places) == len(cut.right) else len(ranked.found)
    joined = cut.joins in ranked.found[:last]
    made = right = wanted = 0
    for table in (t for t in ranked.found if t in cut.right and t in ranked.columns):
        truth, told = cut.right[table], ranked.columns[table]
        right += sum(truth.get(mine) == theirs for mine, theirs in told.items())
        made, wanted = made + len(told), wanted + len(truth)
    return {
        "P@4": sum(p < 4 for p in places) / len(cut.right),
        "R@10": sum(p < _MOST for p in places) / len(cut.right),
        "told right": len(places) / max(1, len(ranked.found)),
        "above": float(joined),
        "pairs right": right / made if made else 0.0,
        "pairs found": right / wanted if wanted else 0.0,
    }


def measured(
    lake: Lake, folder: Path, cuts: Sequence[Cut], engine: Engine
) -> list[dict[str, float]]:
    """The figures of every question."""
    told = []
    for cut in cuts:
        begin = time.perf_counter()
        ranked = engine(lake, folder / "queries" / cut.query)
        told.append({**figures(cut, ranked), "seconds": time.perf_counter() - begin})
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lake", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", type=int, default=45)
    parser.add_argument("--seed", type=int, default=9, help="which tables, and how they are cut")
    parser.add_argument("--each", action="store_true", help="also every question of union search")
    asked = parser.parse_args()
    cuts = make(asked.lake, asked.folder, asked.tables, asked.seed)
    index = asked.folder / "index"
    lakejoin.index(asked.folder / "lake", index)
    lake = lakejoin.open(index)
    print(f"{len(cuts)} tables, {len(lake)} in the lake")
    for name, engine in ENGINES.items():
        told = measured(lake, asked.folder, cuts, engine)
        for level in (*LEVELS, "every"):
            some = [t for c, t in zip(cuts, told, strict=True) if level in (c.level, "every")]
            if not some:
                continue
            line = {what: round(mean(one[what] for one in some), 3) for what in some[0]}
            line["seconds"] = round(median(one["seconds"] for one in some), 2)
            print(f"{name:8} {level:6} " + "  ".join(f"{k} {v:.2f}" for k, v in line.items()))
            record(
                "union_quality",
                {"seed": asked.seed, "engine": name, "names": level, "tables": len(some), **line},
            )
        if asked.each and name == "union":
            for cut, one in zip(cuts, told, strict=True):
                print(cut.query, cut.level, {k: round(v, 2) for k, v in one.items()})


if __name__ == "__main__":
    main()
