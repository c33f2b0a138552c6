"""How long does a fused search take to its first answer, and to its last?

    python benchmarks/fused_speed.py FOLDER [--index INDEX ...]

It searches with tables of ten columns, none of them named, with every engine that the index
supports. The lakes are those of a made-up company (`enterprise_lake.py`) with 200, 1,000 and 4,000
tables of noise, generated once below FOLDER, and any INDEX of yours. The company's lake is searched
with extracts that combine orders, customers and products in one table; an index, with its own
tables of ten columns. Each search runs several times, in a warm process. The output has the median,
the slowest, and the time by stage. On a busy machine, trust CPU seconds (of all threads) more than
elapsed ones.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
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


def main() -> None:
    """Times all lakes, prints medians, and records all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--index", action="append", default=[])
    parser.add_argument("--noise", nargs="*", type=int, default=_NOISE)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
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
