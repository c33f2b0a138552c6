"""Is the first key offered for two tables the right one, and how many rows does a wrong one add?

    python benchmarks/first_join.py DATA --demo FOLDER --work FOLDER

`first_join_pairs.json` has pairs of real tables with the keys that a careful person would join them
by, found by looking at the data: `right` lists all keys that give the wanted rows, the best first.
DATA has the folders `databases` and `lake`; `--demo` is the folder of `lakejoin demo`. Pairs whose
folder is missing are left out, and the output says so. There are four kinds of pairs:

- simple: one column of each side;
- composite: two or three columns together, each of them alone gives more rows;
- dense: one column of each side, numbers from 1 to n whose name says nothing (`rename`);
- none: tables that have nothing to do with each other.

`join` asks `lakejoin.join` for the key of the two tables. `search` asks an index of the folder for
the 20 best tables and takes the first candidate of the right table (`found`: it is among them, or
a version of one, or a member of its series).
The indexes are built once, below `--work`. A key is right if it is listed, or if it is a listed one
with further columns that change no row. Where values have to be rewritten, the number of rows must
also be within a tenth of the right one. For tables without a join, no answer is the right one.

- extra rows: the rows that the first key joins, less those of the right key, where it is more.
  They are counted on texts in lower case without outer blanks; if values are rewritten, lakejoin's
  own number of rows is taken;
- multiplied: the pairs with at least a tenth more rows than are right.

`--pairs FILE` takes other labelled pairs in the same form, of tables below DATA with any `source`.

The pairs are in two halves: `tune` is for trying things, `held` for a final figure. `--each` names
the pairs of the first half only, and the record has no single pairs of the other.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import lakejoin
from harness import record
from lakejoin.errors import LakejoinError
from lakejoin.pipeline.options import BuildOptions
from lakejoin.sources.table_rules import TableRules

PAIRS = Path(__file__).with_name("first_join_pairs.json")
WORK = Path(__file__).parent / "data" / "first_join"
KINDS = ("simple", "composite", "dense", "none")
HALVES = ("tune", "held")
FOLDERS = {"databases": "databases", "lake": "lake", "queries": "lake", "demo": "demo"}
OWN = "own"  # the source of other labelled pairs
K = 20

Key = tuple[tuple[str, str], ...]
Ask = Callable[["Case"], "First"]

_TENTH = 0.1
_NULLS = ("", "na", "n/a", "nan", "null", "none", "-", "\\n", ".", "..", "?", "#n/a")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tables with the keys that join them, the best first; none if they do not join.

    `rewrite` says how values become equal: side, column, `append`, `cut` (a text at the end) or
    `pad` (with zeros to a length), and the text or length.
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


@dataclass(frozen=True, slots=True)
class Case:
    """A pair whose files are there: the query as a table, the other as a path below a folder."""

    pair: Pair
    query: Any
    table: Path
    folder: Path


@dataclass(frozen=True, slots=True)
class First:
    """The first key that was offered; `rows` unless values are merely equal."""

    key: Key = ()
    rows: int | None = None
    found: bool = False
    sure: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the first key of a pair compares with the right one."""

    pair: Pair
    first: First
    right: bool
    rows: int
    right_rows: int
    seconds: float

    @property
    def beyond(self) -> int:
        """Rows that should not be there."""
        return max(0, self.rows - self.right_rows)

    @property
    def multiplied(self) -> bool:
        """Whether at least a tenth of the rows should not be there."""
        return self.beyond > _TENTH * self.right_rows


def pairs(file: Path = PAIRS) -> list[Pair]:
    """The pairs of a file."""
    return [
        Pair(
            one["id"],
            one["source"] if one["source"] in FOLDERS else OWN,
            one["half"],
            one["kind"],
            one["query"],
            one["table"],
            tuple(_key(key) for key in one["right"]),
            one.get("rename", {}).get("query", {}),
            tuple((side, column, how, what) for side, column, how, what in one.get("rewrite", ())),
        )
        for one in json.loads(file.read_text(encoding="utf-8"))
    ]


def _key(columns: Iterable[Iterable[str]]) -> Key:
    return tuple(sorted((mine, theirs) for mine, theirs in columns))


def case_of(pair: Pair, data: Path, demo: Path | None) -> Case | None:
    """A pair with its files, or None if these are missing."""
    root = demo if pair.source == "demo" else data
    if root is None:
        return None
    query, table = root / pair.query, root / pair.table
    if not all(Path(str(path).partition("#")[0]).is_file() for path in (query, table)):
        return None
    folder = root if pair.source in ("demo", OWN) else data / FOLDERS[pair.source]
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


def by_join(case: Case) -> First:
    """The key by which `lakejoin.join` joins the two tables."""
    join = lakejoin.join(case.query, case.table)
    if not join:
        return First()
    told = join.to_dict()
    key = _aligned(told["left_columns"], told["right_columns"])
    equal = bool(join.steps) and join.steps[0].kind == "equal"
    return First(key, None if equal else int(join.matched), True, join.sure)


def by_search(work: Path) -> Ask:
    """The first candidate of the right table in a search; the indexes are below a folder."""
    lakes: dict[str, Any] = {}

    def ask(case: Case) -> First:
        source = index_name(case.pair)
        if source not in lakes:
            lakes[source] = lakejoin.open(indexed(case.folder, work / source))
        name = case.table.relative_to(case.folder).as_posix()
        for result in lakes[source].search(case.query, k=K):
            if name in (result.table, *result.versions, *result.members):
                first = result.candidates[0].to_dict()
                key = _aligned(first["mine"], first["theirs"])
                if first["kind"] == "equal":
                    return First(key, None, True, first["sure"])
                rows = _query_rows(case).num_rows * (first["fan_out"] or 0.0)
                return First(key, round(rows), True, first["sure"])
        return First()

    return ask


def index_name(pair: Pair) -> str:
    """The name of the index that has a pair's table."""
    return FOLDERS.get(pair.source, OWN)


def indexed(folder: Path, index: Path) -> Path:
    """The index of a folder, built if it is missing."""
    done = index.with_suffix(".done")
    if not done.is_file():
        index.parent.mkdir(parents=True, exist_ok=True)
        options = BuildOptions(table_rules=TableRules(keep_apart=("*",)))  # labels name files
        lakejoin.index(str(folder), index=str(index), options=options)
        done.touch()
    return index


def _aligned(ours: Sequence[str], theirs: Sequence[str]) -> Key:
    """Columns in pairs; if one side has fewer, several are put together to its only one."""
    if len(ours) == len(theirs):
        return _key(zip(ours, theirs, strict=True))
    return _key((mine, their) for mine in ours for their in theirs)


def _query_rows(case: Case) -> pa.Table:
    return read_rows(case.query) if isinstance(case.query, Path) else case.query


def outcome(case: Case, first: First, seconds: float) -> Outcome:
    """Compares a key with the right ones."""
    left, right = _query_rows(case), read_rows(case.table)
    pair = case.pair
    wanted = joined_rows(left, right, pair.right[0], pair.rewrite) if pair.right else 0
    rows = first.rows
    if rows is None:
        rows = joined_rows(left, right, first.key) if first.key else 0
    if not pair.right:
        return Outcome(pair, first, not first.key, rows, wanted, seconds)
    near = abs(rows - wanted) <= _TENTH * wanted
    listed = first.key in pair.right
    if pair.rewrite or first.rows is not None:  # a program's columns are in no particular order
        listed = near and any(_sides(first.key) == _sides(key) for key in pair.right)
    more = rows == wanted and any(set(key) < set(first.key) for key in pair.right)
    return Outcome(pair, first, listed or more, rows, wanted, seconds)


def _sides(key: Key) -> tuple[set[str], set[str]]:
    return {mine for mine, _ in key}, {theirs for _, theirs in key}


def ask_all(cases: Sequence[Case], ask: Ask) -> list[Outcome]:
    """The outcomes of all pairs that can be asked."""
    found = []
    for case in cases:
        begin = time.process_time()
        try:
            first = ask(case)
        except LakejoinError as problem:
            print(f"    {case.pair.name} is not asked: {problem}")
            continue
        found.append(outcome(case, first, time.process_time() - begin))
    return found


SURE = (0.0, 0.6, 0.85, 0.95, 1.01)  # of the joins in each range, about that share is right
HEAD = f"{'':22} pairs  found  right             extra rows  multiplied  CPU seconds  (slowest)"


def figures(found: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of some pairs together."""
    return {
        "pairs": len(found),
        "found": sum(one.first.found for one in found),
        "right": sum(one.right for one in found),
        "rows_beyond": sum(one.beyond for one in found),
        "multiplied": sum(one.multiplied for one in found),
        "cpu_seconds": round(sum(one.seconds for one in found), 2),
        "slowest": round(max((one.seconds for one in found), default=0.0), 2),
    }


def line(name: str, found: Sequence[Outcome]) -> str:
    """One line of the table."""
    of = figures(found)
    share = f"{of['right']:5} ({of['right'] / max(1, of['pairs']):4.0%})"
    return (
        f"{name:22} {of['pairs']:5}  {of['found']:5}  {share}  {of['rows_beyond']:16,}"
        f"  {of['multiplied']:10}  {of['cpu_seconds']:11.1f}  ({of['slowest']:.1f})"
    )


def grouped(found: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """All outcomes, by kind, by source, by how sure they are said to be, and together."""
    groups = {kind: [one for one in found if one.pair.kind == kind] for kind in KINDS}
    groups["rewritten"] = [one for one in found if one.pair.rewrite]
    for source in (*FOLDERS, OWN):
        groups[f"of {source}"] = [one for one in found if one.pair.source == source]
    for least, below in pairwise(SURE):
        groups[f"sure {least:.2f} to {below:.2f}"] = [
            one for one in found if one.first.found and least <= one.first.sure < below
        ]
    groups["all"] = list(found)
    return {name: some for name, some in groups.items() if some}


def print_each(found: Sequence[Outcome]) -> None:
    """Names the pairs of the tune half whose first key is not right."""
    for one in found:
        if one.right or one.pair.half != "tune":
            continue
        right = _words(one.pair.right[0]) if one.pair.right else "no join"
        first = _words(one.first.key) if one.first.key else "nothing"
        print(f"    {one.pair.name} ({one.pair.kind}): {first}, {one.rows:,} rows;", end=" ")
        print(f"right: {right}, {one.right_rows:,} rows")


def _words(key: Key) -> str:
    return " and ".join(f"{mine} = {theirs}" for mine, theirs in key)


def _recorded(found: Sequence[Outcome]) -> dict[str, Any]:
    return {
        one.pair.name: [one.right, _words(one.first.key), one.rows, one.right_rows]
        for one in found
        if one.pair.half == "tune"
    }


def main() -> None:
    """Asks for the first key of every pair, prints the figures by kind, and records them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--demo", type=Path, help="the folder of `lakejoin demo`")
    parser.add_argument("--pairs", type=Path, default=PAIRS, help="the labelled pairs")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="tune")
    parser.add_argument("--what", nargs="+", choices=("search", "join"), default=["search", "join"])
    parser.add_argument("--sources", nargs="+", choices=[*FOLDERS, OWN], default=[*FOLDERS, OWN])
    parser.add_argument("--each", action="store_true", help="print what is wrong in the tune half")
    parser.add_argument("--work", type=Path, default=WORK, help="for indexes")
    parser.add_argument("--out", type=Path, help="the file to record the figures in")
    given = parser.parse_args()
    halves = HALVES if given.half == "both" else (given.half,)
    chosen = [
        one for one in pairs(given.pairs) if one.half in halves and one.source in given.sources
    ]
    made = [case_of(pair, given.data, given.demo) for pair in chosen]
    cases = [case for case in made if case is not None]
    if len(cases) < len(chosen):
        print(f"{len(chosen) - len(cases)} of {len(chosen)} pairs are left out: files are missing")
    ways: dict[str, Ask] = {"search": by_search(given.work), "join": by_join}
    lakejoin.join({"town": ["Ulm", "Bonn"]}, {"place": ["Ulm", "Bonn"]})  # compiles
    recorded: dict[str, Any] = {"half": given.half, "sources": given.sources}
    for what in given.what:
        if what == "search":  # building an index is not part of a search
            for name, case in {index_name(case.pair): case for case in cases}.items():
                indexed(case.folder, given.work / name)
        found = ask_all(cases, ways[what])
        print(f"\n{what}, {given.half}\n{HEAD}")
        for name, some in grouped(found).items():
            print(line(name, some))
        if given.each:
            print_each(found)
        recorded[what] = {name: figures(some) for name, some in grouped(found).items()}
        recorded[what]["each"] = _recorded(found)
    record("first_join", recorded, given.out)


if __name__ == "__main__":
    main()
