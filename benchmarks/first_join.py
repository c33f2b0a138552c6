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
the 20 best tables and takes the first candidate of the right table (`found`: it is among them).
The indexes are built once, below `--work`. A key is right if it is listed, or if it is a listed one
with further columns that change no row. Where values have to be rewritten, the number of rows must
also be within a tenth of the right one. For tables without a join, no answer is the right one.

- extra rows: the rows that the first key joins, less those of the right key, where it is more.
  They are counted on texts in lower case without outer blanks; if values are rewritten, lakejoin's
  own number of rows is taken;
- multiplied: the pairs with at least a tenth more rows than are right.

The pairs are in two halves: `tune` is for trying things, `held` for a final figure. `--each` names
the pairs of the first half only, and the record has no single pairs of the other. `--copies` asks
changed copies of the first half as well (`first_join_copies.py`): names replaced, rows left out,
sides swapped. The table ends with how often joins of each sureness are right.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakejoin
from first_join_cases import (
    FOLDERS,
    HALVES,
    KINDS,
    Case,
    Key,
    Pair,
    case_of,
    joined_rows,
    pairs,
    query_rows,
    read_rows,
    sorted_key,
)
from first_join_copies import CHANGES, OF_SEARCH, copies
from harness import record
from lakejoin.errors import LakejoinError
from lakejoin.pipeline.options import BuildOptions
from lakejoin.sources.table_rules import TableRules

WORK = Path(__file__).parent / "data" / "first_join"
K = 20

Ask = Callable[["Case"], "First"]

_TENTH = 0.1


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
        source = FOLDERS[case.pair.source]
        if source not in lakes:
            lakes[source] = lakejoin.open(indexed(case.folder, work / source))
        name = case.table.relative_to(case.folder).as_posix()
        for result in lakes[source].search(case.query, k=K):
            if name in (result.table, *result.versions):
                first = result.candidates[0].to_dict()
                key = _aligned(first["mine"], first["theirs"])
                if first["kind"] == "equal":
                    return First(key, None, True, first["sure"])
                rows = query_rows(case).num_rows * (first["fan_out"] or 0.0)
                return First(key, round(rows), True, first["sure"])
        return First()

    return ask


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
        return sorted_key(zip(ours, theirs, strict=True))
    return sorted_key((mine, their) for mine in ours for their in theirs)


def outcome(case: Case, first: First, seconds: float) -> Outcome:
    """Compares a key with the right ones."""
    left, right = query_rows(case), read_rows(case.table)
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
    if pair.change and not listed and first.key and first.rows is None:
        more = any(_same_rows(left, right, first.key, key, pair.rewrite) for key in pair.right)
    return Outcome(pair, first, listed or more, rows, wanted, seconds)


def _same_rows(left: pa.Table, right: pa.Table, first: Key, key: Key, rewrite: Any) -> bool:
    """Whether two keys join the same rows, as shorter ones may if rows are left out: then both
    together join as many as each."""
    both = tuple(dict.fromkeys((*first, *key)))
    counts = {joined_rows(left, right, one, rewrite) for one in (first, key, both)}
    return len(counts) == 1


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


SURE = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)  # of the joins in each range, that share is right
HEAD = f"{'':22} pairs  found  right         sure        extra rows  multiplied  CPU  (slowest)"


def figures(found: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of some pairs together."""
    return {
        "pairs": len(found),
        "found": sum(one.first.found for one in found),
        "right": sum(one.right for one in found),
        "sure": round(sum(one.first.sure for one in found) / max(1, len(found)), 3),
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
        f"{name:22} {of['pairs']:5}  {of['found']:5}  {share}  {of['sure']:4.0%}"
        f"  {of['rows_beyond']:16,}  {of['multiplied']:10}  {of['cpu_seconds']:5.1f}"
        f"  ({of['slowest']:.1f})"
    )


def grouped(found: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """All outcomes, by kind, by source, by how sure they are said to be, and together."""
    groups = {kind: [one for one in found if one.pair.kind == kind] for kind in KINDS}
    groups["rewritten"] = [one for one in found if one.pair.rewrite]
    for source in FOLDERS:
        groups[f"of {source}"] = [one for one in found if one.pair.source == source]
    for least, below in pairwise(SURE):
        groups[f"sure {least:.2f} to {below:.2f}"] = [
            one for one in found if one.first.found and least <= one.first.sure < below
        ]
    for change in CHANGES:
        groups[change] = [one for one in found if one.pair.change == change]
    groups["all"] = list(found)
    return {name: some for name, some in groups.items() if some}


def print_each(found: Sequence[Outcome]) -> None:
    """Names the pairs of the tune half whose first key is not right."""
    for one in found:
        if one.right or one.pair.half != "tune":
            continue
        right = _words(one.pair.right[0]) if one.pair.right else "no join"
        first = _words(one.first.key) if one.first.key else "nothing"
        print(f"    {one.pair.name} ({one.pair.kind}): {first}, {one.rows:,} rows,", end=" ")
        print(f"{one.first.sure:.0%} sure;", end=" ")
        print(f"right: {right}, {one.right_rows:,} rows")


def _words(key: Key) -> str:
    return " and ".join(f"{mine} = {theirs}" for mine, theirs in key)


def _recorded(found: Sequence[Outcome]) -> dict[str, Any]:
    return {
        one.pair.name: [
            one.right,
            _words(one.first.key),
            one.rows,
            one.right_rows,
            round(one.first.sure, 3),
        ]
        for one in found
        if one.pair.half == "tune"
    }


def main() -> None:
    """Asks for the first key of every pair, prints the figures by kind, and records them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--demo", type=Path, help="the folder of `lakejoin demo`")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="tune")
    parser.add_argument("--what", nargs="+", choices=("search", "join"), default=["search", "join"])
    parser.add_argument(
        "--copies", action="store_true", help="also ask changed copies of the tune half"
    )
    parser.add_argument("--sources", nargs="+", choices=list(FOLDERS), default=list(FOLDERS))
    parser.add_argument("--each", action="store_true", help="print what is wrong in the tune half")
    parser.add_argument("--work", type=Path, default=WORK, help="for indexes")
    parser.add_argument("--out", type=Path, help="the file to record the figures in")
    given = parser.parse_args()
    if given.copies and given.half != "tune":
        parser.error("only the tune half has copies: leave --half out")
    halves = HALVES if given.half == "both" else (given.half,)
    chosen = [one for one in pairs() if one.half in halves and one.source in given.sources]
    made = [case_of(pair, given.data, given.demo) for pair in chosen]
    cases = [case for case in made if case is not None]
    if len(cases) < len(chosen):
        print(f"{len(chosen) - len(cases)} of {len(chosen)} pairs are left out: files are missing")
    ways: dict[str, Ask] = {"search": by_search(given.work), "join": by_join}
    lakejoin.join({"town": ["Ulm", "Bonn"]}, {"place": ["Ulm", "Bonn"]})  # compiles
    recorded: dict[str, Any] = {
        "half": given.half,
        "sources": given.sources,
        "copies": given.copies,
    }
    for what in given.what:
        if what == "search":  # building an index is not part of a search
            for case in {FOLDERS[case.pair.source]: case for case in cases}.values():
                indexed(case.folder, given.work / FOLDERS[case.pair.source])
        asked = list(cases)
        if given.copies:
            changes = OF_SEARCH if what == "search" else CHANGES
            for case in cases:
                asked += copies(case, given.work / "copies", changes)
        found = ask_all(asked, ways[what])
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
