"""How fast are the tables found that join on a composite key, and how good is the row filter?

    python benchmarks/nary.py [--sizes 1 4 16] [--quick] [--data DIR] [--real DIR]

Lakes with planted keys (see `nary_lake`: like web tables and like open data, so many million cells
of background) and a real one. Ours, with the options and super keys that are the defaults, against
itself without a row filter, SCR (rows fetched by one column, all verified; the column by our counts
or by the paper's heuristic), MCR (rows of every column, intersected) and the paper's MATE, all on
the same index and in the same compiled code, and against DuckDB (see `nary_duckdb`). CPU time on
one thread, k = 10; all must give the same scores, or the run ends.

On the largest lake of each kind and the real one also: every row filter at 128, 256 and 512 bits,
laid out as the paper's tables 2 and 3, with bounds of all key columns (ours) and of the initial one
alone (algorithm 1); XASH's parts one by one (figure 5); keys of 2 to 10 columns (figure 6); and the
choice of the initial column (7.5.4). There, and in the paper's MATE, a row is tested against every
combination of its initial value; by default ours tests only as many as are worth it.

Real queries are two random text or integer columns of tables in the lake, grouped by their number
of combinations as in the paper's table 1; their own table is left out.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import harness
import nary_plots as plots
import nary_report as report
from lakejoin.locations import Location
from lakejoin.pipeline.options import BuildOptions
from lakejoin.sources.table_rules import TableRules
from lakejoin.store.index_records import KEY_SIZES, SuperKeyOptions
from lakejoin.store.segment import Segment
from lakejoin.store.snapshot import Snapshot
from lakejoin.store.super_keys import SuperKeyComponent
from nary_duckdb import make_cells
from nary_lake import LONGEST_KEY, Counted, Plan, build
from nary_measure import Lake, Run, duckdb, fetched, ours, with_keys
from nary_queries import longer, planted, sampled
from published.mate import PublishedOptions
from published.row_filters import ALL_FILTERS, XashFeatures, xash_with

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "img"
REAL = Path(os.environ.get("LAKEJOIN_TEST_DATA") or HERE.parent.parent / "shared" / "data") / "lake"
DEFAULT = SuperKeyOptions()
ALGORITHM_1 = {False: "bounds of the initial column (algorithm 1)", True: "bounds of all columns"}
EVERY = 1 << 40  # row filters are measured as the paper tells them: against every combination
# "MATE" beside these is the paper's: XASH-128, algorithm 1, and the initial column by cardinality.
OURS = {
    "lakejoin": PublishedOptions(),
    "no filter": PublishedOptions("none"),
    "SCR": PublishedOptions("none", False),
    "SCR, cardinality": PublishedOptions("none", False, "cardinality"),
    "MCR": PublishedOptions("each", False),
}
PARTS = {
    "length": XashFeatures(characters=False, location=False, rotation=False),
    "characters": XashFeatures(length=False, location=False, rotation=False),
    "characters, location": XashFeatures(length=False, rotation=False),
    "characters, length": XashFeatures(location=False, rotation=False),
    "characters, length, location": XashFeatures(rotation=False),
    "XASH (with rotation)": XashFeatures(),
}


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    queries: int
    real_queries: int
    repeats: int
    peer_repeats: int
    sizes: tuple[float, ...]
    bits: tuple[int, ...] = KEY_SIZES
    whole: bool = True
    plot: bool = True


def super_keys(kind: str, bits: int) -> SuperKeyComponent:
    """The super keys of a row filter, ours or a published one."""
    return SuperKeyComponent(SuperKeyOptions(bits=bits), ALL_FILTERS[kind])


def contenders(lake: Lake, cells: Path, effort: Effort) -> list[Run]:
    """Ours first, then the others."""
    with with_keys(lake.segments, SuperKeyComponent(DEFAULT)) as segments:
        runs = [
            ours(lake, name, options, effort.repeats, segments) for name, options in OURS.items()
        ]
    with with_keys(lake.segments, super_keys("xash", 128)) as segments:
        paper = PublishedOptions(bounds=False, initial="cardinality", pairs=EVERY)
        runs.append(ours(lake, "MATE", paper, effort.repeats, segments))
    return [*runs, duckdb(lake, cells, effort.peer_repeats)]


def filters(lake: Lake, effort: Effort) -> list[dict[str, Any]]:
    """Every row filter at every size, with both kinds of bounds."""
    rows = []
    for kind in ALL_FILTERS:
        for bits in effort.bits:
            with with_keys(lake.segments, super_keys(kind, bits)) as made:
                for bounds in (False, True):
                    options = PublishedOptions(bounds=bounds, pairs=EVERY)
                    run = ours(lake, f"{kind} {bits}", options, 1, made)
                    rows += report.filter_rows(lake, run, kind, bits, bounds)
        print(f" {kind} measured", flush=True)
    return rows


def parts(lake: Lake) -> list[dict[str, Any]]:
    """XASH's parts switched on one by one, at 128 bits, as algorithm 1 uses it."""
    rows = []
    for name, which in PARTS.items():
        component = SuperKeyComponent(SuperKeyOptions(bits=128), xash_with(which))
        with with_keys(lake.segments, component) as made:
            run = ours(lake, name, PublishedOptions(bounds=False, pairs=EVERY), 1, made)
            rows += report.filter_rows(lake, run, name, 128, False)
    return rows


def key_sizes(
    segments: Sequence[Segment], plan: Plan, cells: Path, effort: Effort
) -> dict[str, Any]:
    """Time and precision for keys of 2 to 10 columns."""
    sizes = list(range(2, LONGEST_KEY + 1))
    lake = Lake("key sizes", segments, longer(plan, sizes))
    every = np.arange(len(sizes))
    runs = contenders(lake, cells, effort)
    precision = {}
    for kind in ("xash", "bloom", "fitted"):
        for bits in (128, 512):
            with with_keys(segments, super_keys(kind, bits)) as made:
                run = ours(lake, kind, PublishedOptions(bounds=False, pairs=EVERY), 1, made)
                precision[f"{kind} {bits}"] = [round(p, 4) for p in run.precision(every).tolist()]
    return {
        "sizes": sizes,
        "ms": {run.name: [round(1e3 * t, 3) for t in run.cpu.tolist()] for run in runs},
        "precision": precision,
        "rows_true": [c.rows_true for c in runs[0].counters],
        "best": [int(s[0]) if s is not None and len(s) else 0 for s in lake.scores],
    }


def measure(lake: Lake, cells: Path, effort: Effort, whole: bool) -> dict[str, Any]:
    """The figures of one lake; `whole` with the row filters and all."""
    counted = Counted.of(tuple(lake.segments))
    print(f"\n{lake.name}: {counted}; {len(lake.queries)} queries", flush=True)
    make_cells(lake.segments, cells)
    runs = contenders(lake, cells, effort)
    found: dict[str, Any] = {
        "lake": lake.name,
        "counted": asdict(counted),
        "super_keys": asdict(DEFAULT),
        "times": report.times(lake, runs),
    }
    print(" contenders measured", flush=True)
    if whole:
        found["filters"] = filters(lake, effort)
        found["parts"] = parts(lake)
        found["initial"] = initial_means(fetched(lake, cells))
        found["settled"] = [
            report.settle(found["filters"], mine, "xash") for mine in ("bloom", "fitted")
        ]
    return found


def initial_means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """How many cells the initial column fetches, on average."""
    return {name: round(float(np.mean([row[name] for row in rows])), 1) for name in rows[0]}


def show(found: dict[str, Any], is_planted: bool) -> None:
    """Prints one lake's figures."""
    print("\n median CPU milliseconds, k = 10 (times slower than lakejoin, median)")
    print(report.times_table(found["times"]))
    if "filters" in found:
        for bounds, said in ALGORITHM_1.items():
            print(f"\n precision of the row filter (table 3), {said}")
            print(report.filters_table(found["filters"], bounds, "precision"))
            print(f"\n median CPU milliseconds (table 2), {said}")
            print(report.filters_table(found["filters"], bounds, "median_ms"))
            print(f"\n rows let through wrongly, {said}")
            print(report.filters_table(found["filters"], bounds, "false_positives"))
        print("\n XASH's parts (figure 5), 128 bits, mean precision")
        for name in PARTS:
            own = [row["precision"] for row in found["parts"] if row["filter"] == name]
            print(f"  {name:30} {np.mean(own):.3f}")
        print("\n cells fetched by the initial column, means (7.5.4)")
        print("  " + "   ".join(f"{name} {mean:,.0f}" for name, mean in found["initial"].items()))
        print("\n Bloom beside XASH: settings (group, bits, bounds) with fewer false positives")
        for row in found["settled"]:
            print(
                f"  {row['filter']}: fewer in {row['fewer']}, as many in {row['equal']}, more in "
                f"{row['more']}; mean precision {row['mean_precision']}"
            )
    if "key_sizes" in found:
        rows = found["key_sizes"]
        print("\n keys of 2 to 10 columns (figure 6): CPU milliseconds, then precision")
        for name, line in [*rows["ms"].items(), *rows["precision"].items()]:
            print(f"  {name:12} " + " ".join(f"{value:8.3g}" for value in line))
    print("\n targets")
    for said, met in report.targets(found, is_planted):
        print(f"  {'pass' if met else 'FAIL'}  {said}")


def run_planted(kind: str, data: Path, effort: Effort, out: Path | None) -> dict[str, Any]:
    """Measures the lakes of one kind; returns the figures of the largest."""
    found: dict[str, Any] = {}
    for size in effort.sizes:
        plan = Plan(kind, int(size * 1e6), effort.queries)
        folder = data / f"nary-{kind}-{size:g}-{len(plan.queries)}"
        segments = build(plan, folder).segments
        cells = folder / "cells.duckdb"
        lake = Lake(f"{kind} {size:g}", segments, planted(plan))
        whole = effort.whole and size == effort.sizes[-1]
        found = measure(lake, cells, effort, whole)
        if whole and plan.long is not None:
            found["key_sizes"] = key_sizes(segments, plan, cells, effort)
        show(found, True)
        harness.record("nary", found, out)
    return found


def run_real(folder: Path, data: Path, effort: Effort, out: Path | None) -> dict[str, Any]:
    """Measures the real lake; its index is made once."""
    import lakejoin

    index = data / "nary-real"
    if not (index / "MANIFEST.json").exists():
        options = BuildOptions(table_rules=TableRules(keep_apart=("*",)))
        lakejoin.index(str(folder), index=str(index), parts=(), options=options)
    snapshot = Snapshot(Location.of(index))
    lake = Lake("real", snapshot.segments, sampled(snapshot, effort.real_queries))
    found = measure(lake, index / "cells.duckdb", effort, effort.whole)
    show(found, False)
    harness.record("nary", found, out)
    return found


def draw(found: dict[str, dict[str, Any]]) -> None:
    """The plots of all lakes together."""
    plots.plot_times({n: f["times"] for n, f in found.items()}, IMAGES / "nary-time.svg")
    filtered = {name: f["filters"] for name, f in found.items()}
    plots.plot_precision(filtered, False, IMAGES / "nary-precision.svg")
    plots.plot_parts({n: f["parts"] for n, f in found.items()}, IMAGES / "nary-parts.svg")
    plots.plot_initial({n: f["initial"] for n, f in found.items()}, IMAGES / "nary-initial.svg")
    for one in found.values():
        if "key_sizes" in one:
            plots.plot_key_sizes(one["key_sizes"], IMAGES / "nary-key-sizes.svg")


def recorded(out: Path | None) -> dict[str, dict[str, Any]]:
    """The last whole figures of each kind of lake that were recorded."""
    path = out or harness.RESULTS / "nary.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["lake"].split()[0]: line for line in lines if "filters" in line}


def main() -> None:
    """Measures all lakes, prints, records and plots."""
    parser = argparse.ArgumentParser(description="Composite keys: MATE against its peers.")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 4, 16], help="million cells")
    parser.add_argument("--kinds", nargs="+", default=["web-table", "open-data", "real"])
    parser.add_argument("--queries", type=int, default=0, help="planted ones a group")
    parser.add_argument("--real-queries", type=int, default=20, help="a group")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small lakes, few queries, once")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where lakes are kept")
    parser.add_argument("--real", type=Path, default=REAL, help="a folder of real tables")
    parser.add_argument("--out", type=Path, help="where to append the figures")
    parser.add_argument("--times-only", action="store_true", help="no row filters, no plots")
    parser.add_argument("--plots-only", action="store_true", help="of what was recorded last")
    options = parser.parse_args()
    if options.plots_only:
        draw(recorded(options.out))
        return
    effort = Effort(options.queries, options.real_queries, options.repeats, 1, tuple(options.sizes))
    if options.quick:
        effort = Effort(2, 4, 1, 1, (0.3,), (128, 512), plot=False)
    if options.times_only:
        effort = replace(effort, whole=False, plot=False)
    found: dict[str, dict[str, Any]] = {}
    for kind in options.kinds:
        if kind != "real":
            found[kind] = run_planted(kind, options.data, effort, options.out)
        elif options.real.is_dir():
            found[kind] = run_real(options.real, options.data, effort, options.out)
        else:
            print(f"\nreal lake skipped: there is no folder {options.real}")
    if effort.plot:
        draw(found)


if __name__ == "__main__":
    main()
