"""How long does it take to find out which columns to join two tables on?

    python benchmarks/predicates_speed.py [--tpch FOLDER] [--scales 0.1,0.3,1] [--data FOLDER]
        [--only times,rules] [--limit 10]

The pairs of tables of TPC-H that have a key in common, at several scales (made below `--tpch` where
they are not there), and of employees_small below `--data` (a part of MySQL's Employees: 13,000 of
its 4 million rows). Times are means over the pairs, as in table IV of the paper on schemaless
joins; that of a pair is the median of its repeats.

`times`: each preference alone and all five at once, with and without loading (reading the files,
and giving every cell a number), and the largest memory of a process that does that for one pair.
Beside them FastFK and SMaSh (`predicates_baselines.py`) and, as a yardstick, DuckDB that counts the
join of every single pair of columns, from the files on.
`rules`: the same without one or both pruning rules (the paper's figure 5), at the smallest scale; a
search of more than `--limit` seconds is cut and counts with that time.
The seconds per million rows at every scale show how the time grows.

Every pair runs in a process of its own, warm (what is compiled is compiled). Seconds are those of
the processor, in all threads: searches and baselines have one, so that is what they take where
nothing else runs. Those of the clock are recorded too.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import high_water, python, record, run_watched
from predicates_baselines import Baseline, Side, fastfk, smash_filtered
from predicates_data import Case, Database, Predicate, databases, tpch
from predicates_quality import ALIASES, DATA, HERE
from predicates_report import (
    EACH,
    RULES,
    WALL,
    Figures,
    report_growth,
    report_pairs,
    report_rules,
    report_times,
    verdict,
)

if TYPE_CHECKING:
    from lakejoin.joins.predicates.coded_tables import CodedTables
    from lakejoin.joins.predicates.predicate_finder import PredicateResults

SCALES = (0.1, 0.3, 1.0)


@dataclass(slots=True)
class Clock:
    """Seconds of the processor and of the clock since it was made."""

    cpu: float = field(default_factory=time.process_time)
    wall: float = field(default_factory=time.perf_counter)

    def taken(self, name: str) -> Figures:
        """Both, by a name."""
        return {
            name: time.process_time() - self.cpu,
            f"{name}{WALL}": time.perf_counter() - self.wall,
        }


def median(name: str, run: Callable[[], Any], repeats: int) -> Figures:
    """The medians of some runs."""
    runs = []
    for _ in range(repeats):
        clock = Clock()
        run()
        runs.append(clock.taken(name))
    return {key: statistics.median(one[key] for one in runs) for key in runs[0]}


def loaded(base: Database, case: Case) -> tuple[CodedTables, Figures]:
    """The coded tables of a case, and how long that took."""
    from lakejoin.joins.predicates.coded_tables import encode_tables

    clock = Clock()
    tables = [base.read(case.left), base.read(case.right)]
    figures = clock.taken("reading")
    clock = Clock()
    coded = encode_tables(tables)
    figures |= clock.taken("coding")
    figures["rows"] = sum(one.num_rows for one in tables)
    figures["columns"] = [one.num_columns for one in tables]
    return coded, figures


def ours(base: Database, case: Case, args: argparse.Namespace) -> Figures:
    """Each preference alone and all at once, warm."""
    warm(base)
    before = high_water()
    coded, figures = loaded(base, case)
    figures["before"] = before
    figures["loaded"] = high_water()
    for name in EACH:
        figures |= median(name, partial(search, coded, name), args.repeats)
        figures[f"{name}, looked at"] = search(coded, name).looked_at
    figures["peak"] = high_water()
    return figures


def search(
    coded: CodedTables, name: str, rules: tuple[bool, bool] = (True, True)
) -> PredicateResults:
    """The best predicate by one preference or by all, with these rules."""
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions, find_predicates
    from lakejoin.joins.predicates.predicate_search import Pruning

    prefer = ALIASES if name == "all five" else (name,)
    options = PredicateOptions(prefer=prefer, n=1, pruning=Pruning(*rules), most=None)
    return find_predicates(coded, options)


def warm(base: Database) -> None:
    """Imports and compiles all that is timed, on a small file and on made-up tables."""
    import pyarrow as pa

    from lakejoin.joins.predicates.coded_tables import encode_tables
    from lakejoin.values.text_arrays import TextTable

    smallest = min(base.tables, key=lambda name: base.tables[name].stat().st_size)
    Side.of("", base.read(smallest), TextTable())
    keys = pa.table({"a": [1, 2, 3, 4], "b": [1, 1, 2, 2], "c": [5, 6, 5, 6]})
    many = pa.table({"x": [1, 1, 2, 3], "y": [1, 2, 2, 1], "z": [5, 5, 6, 6]})
    for left, right in ((keys, many), (many, keys), (many, many.select(["y", "z"]))):
        for rules in RULES.values():
            search(encode_tables([left, right]), "all five", rules)


def without_rules(base: Database, case: Case, args: argparse.Namespace) -> Figures:
    """Every preference with and without the rules; what takes too long is cut."""
    warm(base)
    coded, _ = loaded(base, case)
    return {
        name: {
            rule: limited(partial(search, coded, name, on), args.limit)
            for rule, on in RULES.items()
        }
        for name in EACH
    }


def limited(run: Callable[[], Any], limit: float) -> Figures:
    """How long a search took and what it looked at, in a copy of this process that can be cut."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, limit)  # ends the copy
        clock = Clock()
        found = run()
        with os.fdopen(writing, "wb") as file:
            pickle.dump({**clock.taken("seconds"), "looked": found.looked_at}, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        return {"seconds": limit, "cut": True}
    figures: Figures = pickle.loads(said)
    return figures


def baselines(base: Database, case: Case, args: argparse.Namespace) -> Figures:
    """FastFK and SMaSh, and what they need to have loaded: distinct values and their counts."""
    from lakejoin.values.text_arrays import TextTable

    warm(base)
    clock = Clock()
    tables = [base.read(name) for name in (case.left, case.right)]
    dictionary = TextTable()
    sides = [Side.of(name, rows, dictionary) for name, rows in zip("lr", tables, strict=True)]
    figures = clock.taken("loading")

    def fresh() -> Iterator[Side]:  # nothing is known of the columns from the run before
        return (replace(s, columns=[replace(one) for one in s.columns]) for s in sides)

    def compared(baseline: Baseline) -> Predicate:
        return baseline(*fresh())

    figures |= median("FastFK", partial(compared, fastfk), args.repeats)
    figures |= median("SMaSh", partial(compared, smash_filtered), args.repeats)
    return figures


def in_duckdb(base: Database, case: Case, args: argparse.Namespace) -> Figures:
    """The join sizes of all single pairs of columns, numbers with numbers and texts with texts."""
    import duckdb

    sizes: dict[tuple[str, str], int] = {}

    def run() -> None:
        with duckdb.connect() as db:
            named = (("l", case.left), ("r", case.right))
            sides = [_counted(db, prefix, base.tables[name]) for prefix, name in named]
            for a, (name, kind) in sides[0].items():
                for b, (other, other_kind) in sides[1].items():
                    if kind == other_kind:
                        asked = f"select sum(a.n * b.n) from {a} a join {b} b using (v)"
                        sizes[name, other] = int(db.execute(asked).fetchone()[0] or 0)

    figures = median("seconds", run, 1)
    return {**figures, "pairs": len(sizes), "joining": sum(n > 0 for n in sizes.values())}


def _counted(db: Any, prefix: str, path: Path) -> dict[str, tuple[str, str]]:
    """A table of counted values for each column: by its name, the column's and what it is."""
    db.execute(f"create view {prefix} as select * from '{path}'")
    made = {}
    for place, (name, kind, *_) in enumerate(db.execute(f"describe {prefix}").fetchall()):
        number = any(word in kind for word in ("INT", "DECIMAL", "DOUBLE", "FLOAT"))
        cast = "double" if number else "varchar"
        db.execute(
            f'create table {prefix}_{place} as select "{name}"::{cast} v, count(*) n'
            f' from {prefix} where "{name}" is not null group by v'
        )
        made[f"{prefix}_{place}"] = (name, cast)
    return made


CHILDREN: dict[str, Callable[[Database, Case, argparse.Namespace], Figures]] = {
    "ours": ours,
    "rules": without_rules,
    "baselines": baselines,
    "duckdb": in_duckdb,
}


def child(kind: str, where: Figures, case: int, args: argparse.Namespace) -> Figures:
    """One case in a process of its own, watched."""
    said = json.dumps({**where, "kind": kind, "case": case})
    options = ["--repeats", args.repeats, "--limit", args.limit]
    figures, watch = run_watched(python(Path(__file__), "--child", said, *options))
    return {**figures, "peak": max(figures.get("peak", 0), watch.peak.get("driver", 0))}


def opened(where: Figures) -> Database:
    """The database that a child was told of."""
    if "scale" in where:
        return tpch(Path(where["folder"]), where["scale"])
    return next(one for one in databases(Path(where["folder"])) if one.name == where["name"])


def all_cases(kind: str, base: Database, where: Figures, args: argparse.Namespace) -> Figures:
    found = {}
    for number, case in enumerate(base.cases):
        found[case.name] = child(kind, where, number, args)
        print(f"    {base.name}, {case.name}: {kind} done", flush=True)
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA / "databases")
    parser.add_argument("--tpch", type=Path, default=HERE / "data" / "tpch", metavar="FOLDER")
    parser.add_argument("--scales", default=",".join(f"{scale:g}" for scale in SCALES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--limit", type=float, default=10, help="seconds for a search without rules"
    )
    parser.add_argument("--only", default="times,rules", help="parts to run")
    parser.add_argument("--no-record", action="store_true", help="write no line of results")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.child:
        where = json.loads(args.child)
        base = opened(where)
        print(json.dumps(CHILDREN[where["kind"]](base, base.cases[where["case"]], args)))
        return
    scales = sorted(float(scale) for scale in args.scales.split(","))
    places: list[Figures] = [{"folder": str(args.tpch), "scale": scale} for scale in scales]
    if (args.data / "employees_small").is_dir():
        places.append({"folder": str(args.data), "name": "employees_small"})
    found: dict[str, Figures] = {"times": {}, "rules": {}}
    for number, where in enumerate(places):
        base = opened(where)
        if "times" in args.only:
            kinds = ("ours", "baselines", "duckdb")
            found["times"][base.name] = {k: all_cases(k, base, where, args) for k in kinds}
            print(report_pairs(base.name, found["times"][base.name]), flush=True)
        if "rules" in args.only and (number == 0 or "name" in where):
            found["rules"][base.name] = all_cases("rules", base, where, args)
            print(report_rules(base.name, found["rules"][base.name]), flush=True)
    if found["times"]:
        names = [f"TPC-H, scale {scale:g}" for scale in scales]
        times = found["times"]
        print(f"\n{report_times(times)}\n\n{report_growth(times, names)}\n\n{verdict(times)}")
    if not args.no_record:
        record("predicates_speed", found)


if __name__ == "__main__":
    main()
