"""How long does it take to find out which columns of two tables should be equated?

    python benchmarks/predicates_speed.py [--tpch FOLDER] [--scales 0.1,0.3,1] [--data FOLDER]
        [--only times,rules,growth] [--limit 10]

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
`growth`: seconds for a million rows at every scale, from the same runs.

Every pair runs in a process of its own, warm (what is compiled is compiled).
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import high_water, mega, python, record, run_watched
from predicates_baselines import Side, fastfk, smash_filtered
from predicates_data import Case, Database, databases, tpch
from predicates_quality import ALIASES, DATA, HERE, mean
from search_report import table

Figures = dict[str, Any]

SCALES = (0.1, 0.3, 1.0)
AIM = 5.0  # seconds for all preferences, of a pair at scale 1, on average, without loading
PAPER = {  # table IV, with loading
    "TPC-H, scale 1": {
        "h1": 35.1, "h2": 62.2, "h3": 61.8, "h4": 90.4, "h5": 134.3, "SMaSh": 19.6, "FastFK": 17.1,
    },
    "Employees, whole": {
        "h1": 3.9, "h2": 5.2, "h3": 5.3, "h4": 5.9, "h5": 9.6, "SMaSh": 2.0, "FastFK": 2.0,
    },
}  # fmt: skip
RULES = {  # bounds, closed
    "both rules": (True, True),
    "no bounds": (False, True),
    "no closures": (True, False),
    "neither": (False, False),
}
EACH = (*ALIASES, "all five")


def median(run: Callable[[], Any], repeats: int) -> float:
    """The median of some runs, in seconds."""
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def loaded(base: Database, case: Case) -> tuple[Any, Figures]:
    """The coded tables of a case, and how long that took."""
    from lakejoin.joins.predicates.coded import coded_tables

    before = high_water()
    begin = time.perf_counter()
    tables = [base.read(case.left), base.read(case.right)]
    read = time.perf_counter()
    coded = coded_tables(tables)
    done = time.perf_counter()
    return coded, {
        "rows": sum(one.num_rows for one in tables),
        "columns": [one.num_columns for one in tables],
        "reading": read - begin,
        "coding": done - read,
        "before": before,
    }


def ours(base: Database, case: Case, args: argparse.Namespace) -> Figures:
    """Each preference alone and all at once, warm."""
    warm(base)
    coded, figures = loaded(base, case)
    figures["loaded"] = high_water()
    for name in EACH:
        figures[name] = median(lambda name=name: search(coded, name), args.repeats)
        figures[f"{name}, looked at"] = search(coded, name).looked_at
    figures["peak"] = high_water()
    return figures


def search(coded: Any, name: str, rules: tuple[bool, bool] = (True, True)) -> Any:
    """The best predicate by one preference or by all, with these rules."""
    from lakejoin.joins.predicates.finding import PredicateOptions, find_predicates
    from lakejoin.joins.predicates.search import Pruning

    prefer = ALIASES if name == "all five" else (name,)
    options = PredicateOptions(prefer=prefer, n=1, pruning=Pruning(*rules), most=None)
    return find_predicates(coded, options)


def warm(base: Database) -> None:
    """Imports and compiles all that is timed, on a small file and on made-up tables."""
    import pyarrow as pa

    from lakejoin.joins.predicates.coded import coded_tables
    from lakejoin.lake.texts import TextTable

    smallest = min(base.tables, key=lambda name: base.tables[name].stat().st_size)
    Side.of("", base.read(smallest), TextTable())
    keys = pa.table({"a": [1, 2, 3, 4], "b": [1, 1, 2, 2], "c": [5, 6, 5, 6]})
    many = pa.table({"x": [1, 1, 2, 3], "y": [1, 2, 2, 1], "z": [5, 5, 6, 6]})
    for left, right in ((keys, many), (many, keys), (many, many.select(["y", "z"]))):
        for rules in RULES.values():
            search(coded_tables([left, right]), "all five", rules)


def without_rules(base: Database, case: Case, args: argparse.Namespace) -> Figures:
    """Every preference with and without the rules; what takes too long is cut."""
    warm(base)
    coded, _ = loaded(base, case)
    return {
        name: {
            rule: limited(lambda name=name, on=on: search(coded, name, on), args.limit)
            for rule, on in RULES.items()
        }
        for name in EACH
    }


def limited(run: Callable[[], Any], limit: float) -> Figures:
    """How long a search took and what it looked at, in a copy of this process that can be cut."""
    reading, writing = os.pipe()
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.setitimer(signal.ITIMER_REAL, limit)  # ends the copy
        begin = time.perf_counter()
        found = run()
        with os.fdopen(writing, "wb") as file:
            pickle.dump({"seconds": time.perf_counter() - begin, "looked": found.looked_at}, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return {"seconds": time.perf_counter() - begin, "cut": True}
    figures: Figures = pickle.loads(said)
    return figures


def baselines(base: Database, case: Case, args: argparse.Namespace) -> Figures:
    """FastFK and SMaSh, and what they need to have loaded: distinct values and their counts."""
    from lakejoin.lake.texts import TextTable

    warm(base)
    begin = time.perf_counter()
    tables = [base.read(name) for name in (case.left, case.right)]
    dictionary = TextTable()
    sides = [Side.of(name, rows, dictionary) for name, rows in zip("lr", tables, strict=True)]
    figures = {"loading": time.perf_counter() - begin}

    def fresh() -> list[Side]:
        return [replace(s, columns=[replace(one) for one in s.columns]) for s in sides]

    for name, run in (("FastFK", fastfk), ("SMaSh", smash_filtered)):
        figures[name] = median(lambda run=run: run(*fresh()), args.repeats)
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

    seconds = median(run, 1)
    return {"seconds": seconds, "pairs": len(sizes), "joining": sum(n > 0 for n in sizes.values())}


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


def average(found: Figures, *keys: str) -> float:
    """The mean over the cases of the sum of some figures."""
    return mean(sum(one[key] for key in keys) for one in found.values())


def report_times(times: Figures) -> str:
    """Table IV, loading excluded and included, and what it took pair by pair."""
    head = [*EACH, "FastFK", "SMaSh", "DuckDB", "most memory"]
    excluded = [["seconds, loading excluded", *head]]
    included = [["seconds, loading included", *head]]
    for name, found in times.items():
        mine, others, duck = found["ours"], found["baselines"], found["duckdb"]
        memory = mega(max(one["peak"] for one in mine.values()))
        row = [name, *(f"{average(mine, one):.3f}" for one in EACH)]
        row += [f"{average(others, one):.3f}" for one in ("FastFK", "SMaSh")]
        excluded.append([*row, "", ""])
        row = [name, *(f"{average(mine, one, 'reading', 'coding'):.2f}" for one in EACH)]
        row += [f"{average(others, one, 'loading'):.2f}" for one in ("FastFK", "SMaSh")]
        included.append([*row, f"{average(duck, 'seconds'):.2f}", memory])
    for name, said in PAPER.items():
        included.append([f"paper: {name}", *(f"{said[n]:.1f}" if n in said else "" for n in head)])
    return f"{table(excluded)}\n\n{table(included)}"


def report_pairs(name: str, found: Figures) -> str:
    """What one database took pair by pair."""
    rows = [[name, "rows", "columns", "reading", "coding", *EACH, "looked at", "memory"]]
    for case, one in found["ours"].items():
        columns = " x ".join(str(count) for count in one["columns"])
        row = [case, f"{one['rows']:,}", columns, f"{one['reading']:.2f}", f"{one['coding']:.2f}"]
        row += [f"{one[each]:.3f}" for each in EACH]
        rows.append([*row, str(one["all five, looked at"]), mega(one["peak"])])
    return table(rows)


def report_growth(times: Figures, scales: Sequence[str]) -> str:
    """Seconds for a million rows of both tables, all preferences at once, by scale."""
    rows = [["seconds a million rows", *scales, *(f"{name}, loading" for name in scales)]]
    for case in times[scales[0]]["ours"]:
        row = [case]
        for keys in (("all five",), ("reading", "coding")):
            for name in scales:
                one = times[name]["ours"][case]
                row.append(f"{1e6 * sum(one[key] for key in keys) / one['rows']:.3f}")
        rows.append(row)
    return table(rows)


def report_rules(name: str, found: Figures) -> str:
    """Figure 5: the mean over the pairs, by preference and rules."""
    rows = [[f"{name}: seconds (predicates looked at)", *RULES]]
    for each in EACH:
        row = [each]
        for rule in RULES:
            runs = [one[each][rule] for one in found.values()]
            cut = sum(run.get("cut", False) for run in runs)
            said = f"{mean(run['seconds'] for run in runs):.3f}"
            looked = sum(run.get("looked", 0) for run in runs)
            row.append(f">{said}, {cut} cut" if cut else f"{said} ({looked:,})")
        rows.append(row)
    return table(rows)


def verdict(times: Figures) -> str:
    """What was aimed at, at scale 1."""
    found = times.get("TPC-H, scale 1")
    if found is None:
        return "what is aimed at is of TPC-H at scale 1"
    taken = average(found["ours"], "all five")
    met = "met" if taken <= AIM else "missed"
    return f"all five preferences, a pair of TPC-H at scale 1: {taken:.2f} s (aim {AIM:g}: {met})"


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
