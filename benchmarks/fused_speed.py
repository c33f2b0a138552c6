"""How long does a fused search take to its first answer, and to its last?

    python benchmarks/fused_speed.py FOLDER [--index INDEX ...]
    python benchmarks/fused_speed.py FOLDER --noise --index INDEX --base SRC

It searches with tables of ten columns, none of them named, with every engine that the index
supports. The lakes are those of a made-up company (`enterprise_lake.py`) with 200, 1,000 and 4,000
tables of noise, generated once below FOLDER, and any INDEX of yours. The company's lake is searched
with extracts that combine orders, customers and products in one table; an index, with its own
tables of ten columns. Each search runs several times, in a warm process. The output has the median,
the slowest, and the time by stage. On a busy machine, trust CPU seconds (of all threads) more than
elapsed ones.

With `--base`, the `src` folder of another version, both versions search every INDEX with the same
random tables (`--tables`, 200), each in a process of its own that stays warm, table after table in
turn. The output is CPU: to the first answer, from sketches, and of a whole search that gives one
answer; how many answers are equal; and the ratio of the versions, table by table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import lakejoin
from enterprise_lake import MONTHS, Company, company
from fused_lakes import indexed
from harness import record
from lakejoin.lake import Lake

WIDTH = 10
_QUERIES = 10
_FEWEST_ROWS = 50
_NOISE = (200, 1000, 4000)
_WARM_UP = 5  # tables searched before the first that counts
# Searches with the table of each line that it reads; prints CPU seconds, stages and the answer.
_SEARCHER = """
import hashlib, json, sys, time
import lakejoin

def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if not k.startswith("seconds")}
    return [without_times(one) for one in value] if isinstance(value, list) else value

lake = lakejoin.open(sys.argv[1])
for line in sys.stdin:
    try:
        begin = time.process_time()
        first = next(lake.search_progressively(line.rstrip()))
        middle = time.process_time()
        answer = lake.search(line.rstrip())
        end = time.process_time()
        text = json.dumps(without_times(answer.to_dict()), sort_keys=True)
        figures = {
            "first": middle - begin,
            "whole": end - middle,
            "parts": dict(answer.seconds_by),
            "answer": hashlib.sha256(text.encode()).hexdigest(),
        }
    except lakejoin.LakejoinError as error:
        figures = {"error": str(error)}
    print(json.dumps(figures), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Took:
    """The seconds of one search: until the first answer, until the last, CPU, and by part."""

    query: str
    first: float
    whole: float
    cpu: float
    parts: Mapping[str, float]


def timed(lake: Lake, name: str, query: Any) -> Took:
    """One search, as a user sees it: each answer refines the one before."""
    begin, cpu = time.perf_counter(), time.process_time()
    answers = lake.search_progressively(query, None, 10)
    last = next(answers)
    first = time.perf_counter() - begin
    for answer in answers:
        last = answer
    whole, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return Took(name, first, whole, cpu, dict(last.seconds_by))


def extracts(made: Company) -> dict[str, dict[str, list[str]]]:
    """Orders of a month each with what is known of their customers and products, ten columns."""
    customers, products = made.tables["customers.csv"], made.tables["products.csv"]
    customer = {one: n for n, one in enumerate(customers["customer_no"].values)}
    product = {one: n for n, one in enumerate(products["sku"].values)}
    found = {}
    for month in range(1, min(MONTHS, _QUERIES) + 1):
        orders = made.tables[f"orders_2024_{month:02}.csv"]
        buyers = [customer[one] for one in orders["customer_no"].values]
        bought = [product[one] for one in orders["sku"].values]
        table = {name: list(column.values) for name, column in orders.items()}
        for name in ("email", "town"):
            table[name] = [customers[name].values[n] for n in buyers]
        for name in ("ean", "description"):
            table[name] = [products[name].values[n] for n in bought]
        found[f"extract {month}"] = table
    return found


def tables_of_width(lake: Lake, width: int = WIDTH, count: int = _QUERIES) -> dict[str, str]:
    """Some tables in the lake with so many columns, the same ones every time."""
    names = [
        one.name
        for one in lake.tables()
        if len(one.columns()) == width and one.rows >= _FEWEST_ROWS
    ]
    chosen = random.Random(1).sample(sorted(names), min(count, len(names)))
    return {name: name for name in chosen}


def measure(lake: Lake, queries: Mapping[str, Any], repeats: int) -> list[Took]:
    """Every query in turn, several times over, after one round that warms up."""
    for name, query in queries.items():
        timed(lake, name, query)
    return [timed(lake, name, query) for _ in range(repeats) for name, query in queries.items()]


def report(name: str, lake: Lake, took: Sequence[Took]) -> dict[str, Any]:
    """Prints and returns medians, and the slowest of the queries' own medians."""
    by_query: dict[str, list[Took]] = defaultdict(list)
    for one in took:
        by_query[one.query].append(one)
    first = [median(one.first for one in runs) for runs in by_query.values()]
    whole = [median(one.whole for one in runs) for runs in by_query.values()]
    cpu = [median(one.cpu for one in runs) for runs in by_query.values()]
    names = dict.fromkeys(part for one in took for part in one.parts)
    parts = {part: median(one.parts.get(part, 0.0) for one in took) for part in names}
    print(
        f"{name:28} {len(lake):7,} {median(first):8.2f} {max(first):8.2f}"
        f" {median(whole):8.2f} {max(whole):8.2f} {median(cpu):8.2f} {max(cpu):8.2f}   "
        + ", ".join(f"{part} {seconds:.2f}" for part, seconds in parts.items())
    )
    return {
        "tables": len(lake),
        "first": median(first),
        "slowest_first": max(first),
        "whole": median(whole),
        "slowest_whole": max(whole),
        "cpu": median(cpu),
        "slowest_cpu": max(cpu),
        "parts": parts,
        "runs": [asdict(one) for one in took],
    }


class Version:
    """One version of lakejoin, searching an index in a process of its own."""

    def __init__(self, source: Path, index: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SEARCHER, index],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def search(self, table: str) -> dict[str, Any]:
        """The figures of one search."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(table + "\n")
        self._process.stdin.flush()
        figures: dict[str, Any] = json.loads(self._process.stdout.readline())
        return figures

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(index: str, base: Path, count: int) -> dict[str, Any]:
    """Search with random tables in both versions; prints and returns CPU seconds."""
    names = sorted(one.name for one in lakejoin.open(index).tables())
    chosen = random.Random(7).sample(names, min(len(names), count + _WARM_UP))
    sources = {"base": base, "now": Path(lakejoin.__file__).parents[1]}
    versions = {name: Version(source, index) for name, source in sources.items()}
    figures: dict[str, list[dict[str, Any]]] = {name: [] for name in versions}
    for number, table in enumerate(chosen):
        for name, version in versions.items():
            found = version.search(table)
            if number >= _WARM_UP:
                figures[name].append(found)
    for version in versions.values():
        version.close()
    pairs = [
        pair for pair in zip(*figures.values(), strict=True) if not any("error" in f for f in pair)
    ]
    results: dict[str, Any] = {
        "tables": len(pairs),
        "equal": sum(old["answer"] == new["answer"] for old, new in pairs),
        "ratio": median(old["whole"] / new["whole"] for old, new in pairs),
    }
    print(f"{'CPU seconds':8} {'median':>16} {'p95':>8} {'worst':>8}   sum by stage, by the clock")
    for position, name in enumerate(versions):
        own = [pair[position] for pair in pairs]
        for what in ("first", "whole"):
            seconds = [one[what] for one in own]
            spread = [median(seconds), quantiles(seconds, n=20)[-1], max(seconds)]
            results[f"{name}, {what}"] = spread
            parts: dict[str, float] = defaultdict(float)
            for one in own if what == "whole" else []:
                for part, took in one["parts"].items():
                    parts[part] += took
            stages = ", ".join(f"{part} {took:.1f}" for part, took in parts.items())
            print(f"{name:6} {what:6} {' '.join(f'{one:8.3f}' for one in spread)}   {stages}")
    print(
        f"{results['equal']} of {len(pairs)} answers are equal; "
        f"the base takes {results['ratio']:.2f} times as long in the median"
    )
    return results


def main() -> None:
    """Times all lakes, prints medians, and records all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--index", action="append", default=[])
    parser.add_argument("--noise", nargs="*", type=int, default=_NOISE)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--base", type=Path, help="the src folder of another version")
    parser.add_argument("--tables", type=int, default=200, help="random tables, with --base")
    given = parser.parse_args()
    if given.base is not None:
        for index in given.index:
            record("fused_speed", {"compared": compare(index, given.base, given.tables)})
        return
    heads = (f"{one:>8}" for one in ("first", "slowest", "whole", "slowest", "CPU", "slowest"))
    print(f"{'seconds':28} {'tables':>7} {' '.join(heads)}   by part")
    results = {}
    for noise in given.noise:
        made = company(noise)
        files = given.folder / f"company-{noise}-1"
        if not files.exists():
            made.write(files)
        lake = indexed(files)
        took = measure(lake, extracts(made), given.repeats)
        results[f"company, {noise}"] = report(f"company, {noise} of noise", lake, took)
    for number, index in enumerate(given.index, 1):
        lake = lakejoin.open(index)
        took = measure(lake, tables_of_width(lake), given.repeats)
        results[f"index {number}"] = report(f"index {number}", lake, took)
    record("fused_speed", results)


if __name__ == "__main__":
    main()
