"""How many (column, value) pairs a second become sorted posting lists, on one core?

    python benchmarks/kernel_group.py [--cells 10] [--repeats 5]

The same arrays for all: the distinct values of every column of a generated lake, column after
column, as Arrow strings, and the column numbers. Ours hashes, groups, verifies every text against
its group, finds the tokens with equal posting lists and orders the codes; the peers only group by
value and collect the column numbers (they arrive sorted, so that no peer has to sort them). Each
peer gets the faster of two formulations. Figures are CPU seconds on one thread.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from harness import alternate, median_run, record
from lakes import generate

HERE = Path(__file__).parent


def pairs_of(folder: Path) -> tuple[pa.LargeStringArray, np.ndarray[Any, Any]]:
    """The distinct values of each column, one column after the other, and where each begins."""
    values: list[pa.Array] = []
    for path in sorted(folder.rglob("*.csv")):
        with path.open() as file:
            names = file.readline().strip().split(",")
        text = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=True
        )
        for column in pa.csv.read_csv(path, convert_options=text).columns:
            values.append(pc.unique(column).drop_null())
    start = np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64)
    return pa.concat_arrays(values), start


def contestants(
    text: pa.LargeStringArray, start: np.ndarray[Any, Any]
) -> dict[str, Callable[[], int]]:
    """What to run, by name; each returns the number of tokens it found."""
    column = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    table = pa.table({"col": column, "val": text})
    return {
        "lakejoin": lambda: _lakejoin(text, start),
        "duckdb list": lambda: _duckdb(table, "SELECT val, list(col) AS l FROM t GROUP BY val"),
        "duckdb sort": lambda: _duckdb_sort(table),
        "pyarrow group_by": lambda: _pyarrow_group_by(table),
        "pyarrow dictionary": lambda: _pyarrow_dictionary(table),
        "polars group_by": lambda: _polars(table, False),
        "polars sort": lambda: _polars(table, True),
    }


def _lakejoin(text: pa.LargeStringArray, start: np.ndarray[Any, Any]) -> int:
    from lakejoin.store.segment_builder import group_texts

    _, offsets, data = text.buffers()
    offset = np.frombuffer(offsets, dtype=np.int64)[: len(text) + 1]
    indexed = np.ones(len(start) - 1, dtype=np.bool_)
    _, groups = group_texts(offset, np.frombuffer(data, dtype=np.uint8), start, indexed)
    return len(groups.token_hash)


def _duckdb(t: pa.Table, query: str) -> int:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("t", t)
    connection.execute(f"CREATE TEMP TABLE lists AS {query}")
    return int(connection.execute("SELECT count(*) FROM lists").fetchone()[0])


def _duckdb_sort(t: pa.Table) -> int:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("t", t)
    connection.execute("CREATE TEMP TABLE lists AS SELECT val, col FROM t ORDER BY val, col")
    return -1  # posting lists as runs of a sorted table: counting them is not part of the work


def _pyarrow_group_by(t: pa.Table) -> int:
    return int(t.group_by("val", use_threads=False).aggregate([("col", "list")]).num_rows)


def _pyarrow_dictionary(t: pa.Table) -> int:
    coded = t["val"].combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")  # a radix sort: the columns stay sorted in each list
    t["col"].to_numpy()[order]
    np.bincount(codes, minlength=len(coded.dictionary))
    return len(coded.dictionary)


def _polars(t: pa.Table, sort: bool) -> int:
    import polars as pl

    frame: Any = pl.from_arrow(t)
    if sort:
        frame.sort("val", "col")
        return -1
    return int(frame.group_by("val").agg("col").height)


def main() -> None:
    """Measures all, prints a table and appends a dated line."""
    parser = argparse.ArgumentParser(description="Arrow strings to sorted posting lists.")
    parser.add_argument("--cells", type=float, default=10, help="size of the lake, in millions")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is first imported, below
    pa.set_cpu_count(1)
    folder = options.data / f"open-data-{options.cells:g}"
    lake = generate(folder, int(options.cells * 1e6), "open-data")
    text, start = pairs_of(lake.folder)
    runs = contestants(text, start)
    tokens = {name: run() for name, run in runs.items()}  # also warms up and compiles
    if {n for n in tokens.values() if n >= 0} != {lake.statistics.tokens}:
        raise SystemExit(f"not the same tokens: {tokens}, {lake.statistics.tokens} were written")
    timed = {name: _timed(run) for name, run in runs.items()}
    results = {name: median_run(r) for name, r in alternate(timed, options.repeats).items()}
    rates = {name: len(text) / r["seconds"] / 1e6 for name, r in results.items()}
    show(len(text), lake.statistics.tokens, results, rates)
    figures = {"pairs": len(text), "tokens": lake.statistics.tokens, "million_per_second": rates}
    record("kernel_group", {"benchmark": "kernel_group", **figures}, options.out)


def _timed(run: Callable[[], int]) -> Callable[[], dict[str, Any]]:
    def once() -> dict[str, Any]:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        return {"seconds": time.process_time() - cpu, "wall": time.perf_counter() - wall}

    return once


def show(
    pairs: int, tokens: int, results: dict[str, dict[str, Any]], rates: dict[str, float]
) -> None:
    """Prints the rates, fastest first."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{pairs:,} pairs of {tokens:,} tokens to posting lists, one core")
    for heading in ("", "CPU s", "wall s", "M pairs/s of CPU", "lakejoin is"):
        table.add_column(heading, justify="right" if heading else "left")
    for name in sorted(rates, key=lambda n: -rates[n]):
        result, factor = results[name], rates["lakejoin"] / rates[name]
        cells = [f"{result['seconds']:.2f}", f"{result['wall']:.2f}", f"{rates[name]:.2f}"]
        table.add_row(name, *cells, f"{factor:.1f} x")
    Console().print(table)


if __name__ == "__main__":
    main()
