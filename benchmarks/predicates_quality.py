"""Does the best predicate join tables on the keys that the database declares?

    python benchmarks/predicates_quality.py [--data FOLDER] [--tpch FOLDER] [--scale 1] [--detail]

F1 of the best predicate of each preference against the known keys, laid out as table III of the
paper on schemaless joins: one line for each database, the mean of its pairs of tables, and below
the mean of the databases. `--data` names the folder of the databases (see `predicates_data.py`),
`--tpch` one where TPC-H is kept at `--scale`, made where it is not there. `--detail` has one line
for each pair of tables, with what was found instead of the keys. employees_small is a part of
MySQL's Employees: 1,000 of 300,024 employees.

A search that has looked at `--most` predicates is cut, and the best so far counts; the output says
how many were. `relations` is what `lakejoin relations` lists for the whole database, of the two
tables the likeliest. It goes by names too, and its weights were chosen looking at some of these
databases, so that it is no measure of what to expect elsewhere.

Every two tables with a foreign key between them are asked for the best predicate. Precision is the
share of its pairs that are in the key, recall the share of the key's pairs that are in it. Where
two tables have several foreign keys, any of them is right: the predicate is compared with each, and
the best counts. A closed predicate holds all pairs that are equal in its join, so it has more pairs
than the key where a table repeats columns of another. lakejoin also reports its core (`enough`),
few of these pairs that make the same join, and that is measured too.

Where scores are equal, lakejoin takes columns that are called alike. So that nothing depends on
names, which the paper does not have, all is measured again with columns that are called nothing in
particular. SMaSh and FastFK: see `predicates_baselines.py`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import record
from predicates_baselines import BASELINES, Side
from predicates_data import Case, Database, Predicate, databases, score, tpch
from search_report import table

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.predicates.coded_tables import CodedTables

HERE = Path(__file__).parent
DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA") or HERE.parents[1] / "shared" / "data")
ALIASES = ("h1", "h2", "h3", "h4", "h5")
PAPER = {  # table III
    "TPC-H": {
        "h1": 0.958, "h2": 1, "h3": 1, "h4": 1, "h5": 1,
        "SMaSh": 0.938, "SMaSh filtered": 0.875, "FastFK": 0.875,
    },
    "Employees": {
        "h1": 0.833, "h2": 1, "h3": 1, "h4": 1, "h5": 0.833,
        "SMaSh": 0.667, "SMaSh filtered": 0.833, "FastFK": 0.833,
    },
    "IMDb": {
        "h1": 0.632, "h2": 0.158, "h3": 0.158, "h4": 0, "h5": 0.632,
        "SMaSh": 0.316, "SMaSh filtered": 0.316, "FastFK": 0.474,
    },
    "Yelp": {
        "h1": 0.8, "h2": 1, "h3": 1, "h4": 1, "h5": 1,
        "SMaSh": 0.733, "SMaSh filtered": 0.8, "FastFK": 0.8,
    },
}  # fmt: skip
AIMS = {"TPC-H": dict.fromkeys(ALIASES[1:], 1.0) | {"h1": 0.958}}
AIMS["employees"] = dict.fromkeys(("h2", "h3", "h4"), 1.0)


VARIANTS = {  # of the preferences' winners
    "": "F1",
    " core": "F1 of the core",
    " nameless": "F1 without names",
    " core nameless": "F1 of the core without names",
}
RELATIONS = "relations"
OTHERS = [*BASELINES, RELATIONS]


@dataclass(frozen=True, slots=True)
class Found:
    """What one contender would equate in a case, and how good that is."""

    pairs: Predicate
    f: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A case with what each contender found; `seconds` for all preferences at once."""

    case: Case
    found: dict[str, Found]
    seconds: float
    complete: bool


def measured(base: Database, most: int) -> Iterator[Measured]:
    """All cases of a database, by lakejoin and by the others."""
    from lakejoin.values.text_arrays import TextTable

    dictionary = TextTable()
    tables = {name: base.read(name) for case in base.cases for name in (case.left, case.right)}
    sides = {name: Side.of(name, rows, dictionary) for name, rows in tables.items()}
    related = relations(tables)
    for case in base.cases:
        winners = Winners.of(tables[case.left], tables[case.right], most)
        said = winners.pairs
        said[RELATIONS] = related.get((case.left, case.right), frozenset())
        for name, baseline in BASELINES.items():
            said[name] = baseline(sides[case.left], sides[case.right])
        found = {name: Found(pairs, score(pairs, case.truths).f) for name, pairs in said.items()}
        yield Measured(case, found, winners.seconds, winners.complete)


@dataclass(frozen=True, slots=True)
class Winners:
    """The best predicate of each preference by alias and variant, and how long that took."""

    pairs: dict[str, Predicate]
    seconds: float
    complete: bool

    @classmethod
    def of(cls, left: pa.Table, right: pa.Table, most: int) -> Winners:
        from lakejoin.joins.predicates.coded_tables import encode_tables

        coded = encode_tables([left, right])
        begin = time.perf_counter()
        said, complete = best(coded, most)
        seconds = time.perf_counter() - begin
        unnamed = tuple(
            replace(one, columns=tuple(no_name(side, place) for place in range(len(one.columns))))
            for side, one in zip("qz", coded.tables, strict=True)
        )
        back = {
            name: column
            for one, other in zip(unnamed, coded.tables, strict=True)
            for name, column in zip(one.columns, other.columns, strict=True)
        }
        nameless, _ = best(replace(coded, tables=unnamed), most)
        for name, pairs in nameless.items():
            said[f"{name} nameless"] = frozenset((back[a], back[b]) for a, b in pairs)
        return cls(said, seconds, complete)


def no_name(side: str, place: int) -> str:
    """A name that is like no other.

    >>> no_name("q", 0), no_name("z", 27)
    ('qaaq', 'zbbz')
    """
    return f"{side}{chr(97 + place // 26)}{chr(97 + place % 26)}{side}"


def best(coded: CodedTables, most: int) -> tuple[dict[str, Predicate], bool]:
    """By alias the winner of each preference, and its core; and if nothing was cut."""
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions, find_predicates
    from lakejoin.joins.predicates.preferences import PREFERENCES

    found = find_predicates(coded, PredicateOptions(prefer=PREFERENCES, n=1, most=most))
    said: dict[str, Predicate] = {}
    for preference in PREFERENCES:
        first = found.best[preference.name][:1]
        for end, pairs in (
            ("", [one.pairs for one in first]),
            (" core", [o.enough for o in first]),
        ):
            named = ((a, b) for one in pairs for (_, a), (_, b) in one)
            said[f"{preference.alias}{end}"] = frozenset(named)
    return said, found.complete


def relations(tables: Mapping[str, pa.Table]) -> dict[tuple[str, str], Predicate]:
    """The likeliest key relation of every two tables, in either order."""
    from lakejoin.joins.predicates.column_references import NamedTable
    from lakejoin.joins.predicates.key_relations import find_relations

    related: dict[tuple[str, str], Predicate] = {}
    given = [NamedTable(name, partial(tables.__getitem__, name)) for name in tables]
    for one in find_relations(given):
        pairs = frozenset(zip(one.columns, one.key_columns, strict=True))
        if (one.table, one.key_table) not in related:
            related[one.table, one.key_table] = pairs
            related[one.key_table, one.table] = frozenset((b, a) for a, b in pairs)
    return related


def mean(values: Iterable[float]) -> float:
    """
    >>> mean([0.5, 1.0])
    0.75
    """
    listed = list(values)
    return sum(listed) / len(listed)


Results = dict[str, list[Measured]]  # by database


def averages(results: Results) -> dict[str, dict[str, float]]:
    """The mean F1 of each contender, by database."""
    return {
        base: {name: mean(one.found[name].f for one in cases) for name in cases[0].found}
        for base, cases in results.items()
    }


def table_three(results: Results) -> str:
    """The paper's table III, with its own lines below ours."""
    by_base = averages(results)
    blocks = []
    for variant, title in VARIANTS.items():
        shown = [f"{alias}{variant}" for alias in ALIASES] + ([] if variant else OTHERS)
        rows = [[title, "pairs", *(name.removesuffix(variant) for name in shown)]]
        for base, cases in results.items():
            rows.append([base, str(len(cases)), *(f"{by_base[base][n]:.3f}" for n in shown)])
        means = (mean(one[name] for one in by_base.values()) for name in shown)
        rows.append(["mean of databases", "", *(f"{value:.3f}" for value in means)])
        for base, figures in PAPER.items() if not variant else ():
            said = (f"{figures[name]:.3f}" if name in figures else "" for name in shown)
            rows.append([f"paper: {base}", "", *said])
        blocks.append(table(rows))
    return "\n\n".join(blocks)


def verdicts(results: Results) -> str:
    """What was aimed at, and whether it was met."""
    by_base = averages(results)
    lines = []
    for start, aims in AIMS.items():
        for base, figures in by_base.items():
            if base.startswith(start):
                for alias, aim in aims.items():
                    verdict = "met" if round(figures[alias], 3) >= aim else "missed"
                    lines.append(f"{base}, {alias}: {figures[alias]:.3f} (aim {aim:g}: {verdict})")
    groups = [(title, [f"{alias}{end}" for alias in ALIASES]) for end, title in VARIANTS.items()]
    groups.append((RELATIONS, [RELATIONS]))
    for name in BASELINES:
        other = mean(one[name] for one in by_base.values())
        for title, ours in groups:
            means = {one: mean(base[one] for base in by_base.values()) for one in ours}
            above = ", ".join(one.split()[0] for one, value in means.items() if value > other)
            lines.append(f"mean above {name} ({other:.3f}), {title}: {above or 'none'}")
    return "\n".join(lines)


def detail(base: str, cases: Sequence[Measured]) -> str:
    """One line for each case, and what was equated where it is not a key."""
    names = list(cases[0].found)
    shown = [*ALIASES, *OTHERS]
    rows = [[base, *shown, "seconds"]]
    for one in cases:
        figures = (f"{one.found[name].f:.3f}" for name in shown)
        rows.append(
            [one.case.name, *figures, f"{one.seconds:.3f}{'' if one.complete else ', cut'}"]
        )
    lines = [table(rows)]
    for one in cases:
        wrong: dict[Predicate, list[str]] = {}
        for name in names:
            if one.found[name].f < 1:
                wrong.setdefault(one.found[name].pairs, []).append(name)
        if wrong:
            lines.append(f"{one.case.name}: {' or '.join(said(p) for p in one.case.truths)}")
        lines += [f"    {', '.join(who)}: {said(pairs)}" for pairs, who in wrong.items()]
    return "\n".join(lines)


def said(pairs: Predicate) -> str:
    """
    >>> said(frozenset({("b", "y"), ("a", "x")}))
    'a=x, b=y'
    """
    return ", ".join(f"{a}={b}" for a, b in sorted(pairs)) or "nothing"


def figures(results: Results) -> dict[str, Any]:
    """What is recorded: the means, and F1 of every case."""
    by_base = averages(results)
    return {
        base: {
            "mean": {name: round(value, 4) for name, value in by_base[base].items()},
            "cut": sum(not one.complete for one in cases),
            "cases": {
                one.case.name: {name: round(found.f, 3) for name, found in one.found.items()}
                for one in cases
            },
        }
        for base, cases in results.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA / "databases")
    parser.add_argument("--tpch", type=Path, default=HERE / "data" / "tpch", metavar="FOLDER")
    parser.add_argument("--scale", type=float, default=1, help="of TPC-H; 0 leaves it out")
    parser.add_argument("--only", default="", help="databases whose name holds this")
    parser.add_argument("--most", type=int, default=20_000, help="predicates of a search")
    parser.add_argument("--no-record", action="store_true", help="write no line of results")
    parser.add_argument("--detail", action="store_true", help="every pair of tables")
    args = parser.parse_args()
    bases = list(databases(args.data))
    if args.scale:
        bases.append(tpch(args.tpch, args.scale))
    results: Results = {}
    for base in bases:
        if args.only not in base.name:
            continue
        found = results[base.name] = list(measured(base, args.most))
        itself = f", {base.itself} that refer to themselves left out" if base.itself else ""
        cut = sum(not one.complete for one in found)
        said = f", {cut} searches cut at {args.most:,} predicates" if cut else ""
        print(f"{base.name}: {len(found)} pairs of tables{itself}{said}", flush=True)
        if args.detail:
            print(f"{detail(base.name, results[base.name])}\n", flush=True)
    if not results:
        raise SystemExit(f"there is no database below {args.data}: --data names their folder")
    print(f"{table_three(results)}\n\n{verdicts(results)}")
    if not args.only and not args.no_record:
        record("predicates_quality", figures(results))


if __name__ == "__main__":
    main()
