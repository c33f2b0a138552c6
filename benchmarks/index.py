"""How fast is an index built, how much memory and disk does it take, and how does DuckDB compare?

    python benchmarks/index.py [--sizes 10,30,100] [--kind open-data] [--real PATH] [--repeats 3]

Our build (`lakejoin.index`) and the peer (`peer_duckdb`: the same files into one distinct, sorted
`(column, value)` table in a database file) take turns on the same files with the same cores, each
in a process of its own; the medians are compared. Neither Spark's start-up nor the imports count.
The index holds more than the peer's table: rows, original spellings, multiplicities, profiles,
posting lists, checksums; but no vectors and no points, which small lakes get unless told. CPU
seconds are those of driver and workers (a busy machine disturbs them less than wall time); the
JVM's are shown apart, because most of them are Spark's start-up.

The real lake (`../shared/data/lake` beside the project, else the demo lake) has dialects that
DuckDB would have to guess; it is given clean copies, already decoded and comma-separated.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import alternate, median_run, mega, python, record, run_watched
from lakes import GeneratedLake, generate

HERE = Path(__file__).parent
REAL = HERE.parents[1] / "shared" / "data" / "lake"


# -- our side: in a child process --------------------------------------------------------------


def build(lake: Path, index: Path, cores: int) -> dict[str, Any]:
    """Builds an index in this process and says what it took; what the child process runs."""
    import lakejoin
    from lakejoin.spark import Cluster

    report = lakejoin.index(lake, index, Cluster(master=f"local[{cores}]"), parts=())
    seconds = dict(report.seconds)
    start = time.perf_counter()
    opened = lakejoin.open(index)
    info = opened.info()
    open_ms = (time.perf_counter() - start) * 1000
    segments = opened.snapshot.segments
    sizes: dict[str, int] = {}
    text = 0
    for segment in segments:
        for name, component in segment.record.components.items():
            sizes[name] = sizes.get(name, 0) + component.bytes
        text += len(segment.file("dictionary").array("text.bytes"))
    return {
        "seconds": seconds["total"] - seconds.get("start", 0.0),
        "stages": seconds,
        "cells": info["cells"],
        "tables": info["tables"],
        "columns": info["columns"],
        "bytes": info["bytes"],
        "segments": len(segments),
        "pairs": sum(s.record.pairs for s in segments),
        "tokens": sum(s.record.values for s in segments),
        "text_bytes": text,
        "components": sizes,
        "skipped": len(report.skipped),
        "open_after_build_ms": open_ms,
    }


def ours(lake: Path, scratch: Path, cores: int) -> dict[str, Any]:
    """One build of ours, watched, and the time to open what it made."""
    index = scratch / "index"
    shutil.rmtree(index, ignore_errors=True)
    figures, watch = run_watched(python(HERE / "index.py", "--child", lake, index, cores))
    figures["peak"] = watch.peak
    figures["peak_together"] = watch.peak_together
    cpu = watch.cpu()
    figures["cpu"] = cpu
    figures["cpu_seconds"] = sum(seconds for role, seconds in cpu.items() if role != "jvm")
    figures.update(opening(index))
    shutil.rmtree(index, ignore_errors=True)
    return dict(figures)


def opening(index: Path) -> dict[str, float]:
    """Milliseconds of `open` plus the first `info` after the import, and of `lakejoin info`."""
    code = (
        "import sys, time, lakejoin, lakejoin.api; t = time.perf_counter(); "
        "lakejoin.open(sys.argv[1]).info(); print((time.perf_counter() - t) * 1000)"
    )
    opened, whole = [], []
    for _ in range(5):
        command = [sys.executable, "-c", code, str(index)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        opened.append(float(done.stdout))
        start = time.perf_counter()
        command = [sys.executable, "-m", "lakejoin", "info", "--index", str(index)]
        subprocess.run(command, check=True, capture_output=True)
        whole.append((time.perf_counter() - start) * 1000)
    return {"open_ms": sorted(opened)[2], "info_process_ms": sorted(whole)[2]}


# -- the peer's side ---------------------------------------------------------------------------


def peer(lake: Path, cores: int, memory: str) -> dict[str, Any]:
    """One run of DuckDB, which measures itself."""
    from dataclasses import asdict

    import peer_duckdb

    return asdict(peer_duckdb.measure(lake, threads=cores, memory=memory, fold=True))


def clean_copy(lake: Path, target: Path) -> Path:
    """The tables of a lake as plain CSV files, so that the peer need not guess dialects."""
    import pyarrow as pa
    import pyarrow.csv

    import lakejoin
    from lakejoin.errors import LakejoinError

    if target.exists():
        return target
    draft = target.with_name(target.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    number = 0
    for path in sorted(p for p in lake.rglob("*") if p.is_file()):
        try:
            read = lakejoin.read(path)
        except LakejoinError:
            continue
        for table in read if isinstance(read, list) else [read]:
            rows = table.to_arrow()
            if rows.num_columns and rows.num_rows:
                columns = [c.cast(pa.string()) for c in rows.columns]
                plain = pa.Table.from_arrays(columns, names=rows.column_names)
                pyarrow.csv.write_csv(plain, draft / f"{number:06d}.csv")
                number += 1
    return draft.rename(target)


# -- putting them side by side -----------------------------------------------------------------


def compare(name: str, lake: Path, peer_lake: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Runs both on one lake in turns and returns the medians."""
    with tempfile.TemporaryDirectory(prefix="lakejoin-bench-", dir=options.data) as scratch:
        runs: dict[str, Callable[[], dict[str, Any]]] = {
            "ours": lambda: ours(lake, Path(scratch), options.cores),
        }
        if not options.no_peer:
            runs["duckdb"] = lambda: peer(peer_lake, options.cores, options.peer_memory)
        results = alternate(runs, options.repeats)
    us = median_run(results["ours"])
    figures: dict[str, Any] = {"lake": name, "ours": us}
    us["cells_per_second"] = us["cells"] / us["seconds"]
    us["bytes_per_cell"] = us["bytes"] / us["cells"]
    us["seconds_per_million_cells"] = us["seconds"] / us["cells"] * 1e6
    us["bytes_per_pair_postings"] = us["components"].get("postings", 0) / max(1, us["pairs"])
    us["bytes_per_token_dictionary"] = (
        us["components"].get("dictionary", 0) - us["text_bytes"]
    ) / max(1, us["tokens"])
    if "duckdb" in results:
        figures["duckdb"] = median_run(results["duckdb"])
        figures["ratio"] = us["seconds"] / figures["duckdb"]["seconds"]
        figures["cpu_ratio"] = us["cpu_seconds"] / figures["duckdb"]["cpu_seconds"]
    figures["all_seconds"] = {k: [round(r["seconds"], 2) for r in v] for k, v in results.items()}
    return figures


def show(results: list[dict[str, Any]]) -> None:
    """Prints what was measured, one column a lake."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="index build, medians; Spark's start-up excluded")
    table.add_column("")
    for result in results:
        table.add_column(result["lake"], justify="right")
    for label, cell in _rows(results):
        table.add_row(label, *(_cell(cell, result) for result in results))
    Console().print(table)


def _cell(cell: Callable[[dict[str, Any]], str], result: dict[str, Any]) -> str:
    try:
        return cell(result)
    except KeyError:  # the peer was left out, or a stage did not happen
        return ""


def _rows(results: list[dict[str, Any]]) -> list[tuple[str, Callable[[dict[str, Any]], str]]]:
    stages = sorted({s for r in results for s in r["ours"]["stages"]} - {"total"})

    def stage(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda r: f"{r['ours']['stages'][name]:.1f} s"

    return [
        ("cells", lambda r: f"{r['ours']['cells']:,}"),
        ("tables, columns", lambda r: f"{r['ours']['tables']:,}, {r['ours']['columns']:,}"),
        ("seconds", lambda r: f"{r['ours']['seconds']:.2f}"),
        ("cells per second", lambda r: f"{r['ours']['cells_per_second']:,.0f}"),
        ("s per million cells", lambda r: f"{r['ours']['seconds_per_million_cells']:.3f}"),
        ("DuckDB seconds", lambda r: f"{r['duckdb']['seconds']:.2f}"),
        ("  reading alone", lambda r: f"{r['duckdb']['read_seconds']:.2f}"),
        ("ours / DuckDB", lambda r: f"{r['ratio']:.2f}"),
        ("CPU s, ours", lambda r: f"{r['ours']['cpu_seconds']:.1f}"),
        ("CPU s, JVM", lambda r: f"{r['ours']['cpu']['jvm']:.1f}"),
        ("CPU s, DuckDB", lambda r: f"{r['duckdb']['cpu_seconds']:.1f}"),
        ("  reading alone", lambda r: f"{r['duckdb']['read_cpu_seconds']:.1f}"),
        ("CPU, ours / DuckDB", lambda r: f"{r['cpu_ratio']:.2f}"),
        *((f"stage {name}", stage(name)) for name in stages),
        ("peak driver", lambda r: mega(r["ours"]["peak"]["driver"])),
        ("peak JVM", lambda r: mega(r["ours"]["peak"]["jvm"])),
        ("peak of one worker", lambda r: mega(r["ours"]["peak"]["worker"])),
        ("peak of all together", lambda r: mega(r["ours"]["peak_together"])),
        ("peak DuckDB", lambda r: mega(r["duckdb"]["peak_bytes"])),
        ("bytes per cell", lambda r: f"{r['ours']['bytes_per_cell']:.2f}"),
        ("postings, B per pair", lambda r: f"{r['ours']['bytes_per_pair_postings']:.2f}"),
        (
            "dictionary - text, B per token",
            lambda r: f"{r['ours']['bytes_per_token_dictionary']:.2f}",
        ),
        ("segments", lambda r: f"{r['ours']['segments']}"),
        ("open + info", lambda r: f"{r['ours']['open_ms']:.1f} ms"),
        ("lakejoin info (process)", lambda r: f"{r['ours']['info_process_ms']:.0f} ms"),
        ("files skipped", lambda r: f"{r['ours']['skipped']:,}"),
    ]


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Seconds over cells for the generated lakes, where matplotlib is installed."""
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return
    generated = [r for r in results if r["lake"] != "real"]
    figure = Figure(figsize=(6, 4))
    axes = figure.add_subplot()
    cells = [r["ours"]["cells"] / 1e6 for r in generated]
    axes.plot(cells, [r["ours"]["seconds"] for r in generated], "o-", label="lakejoin index")
    if all("duckdb" in r for r in generated):
        axes.plot(cells, [r["duckdb"]["seconds"] for r in generated], "s--", label="DuckDB")
    axes.set(xlabel="million cells", ylabel="seconds", xlim=(0, None), ylim=(0, None))
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"plot: {path}")


def main() -> None:
    """Measures what the arguments name, prints a table and appends a dated line."""
    if sys.argv[1:2] == ["--child"]:
        folder, index, cores = sys.argv[2:5]
        print(json.dumps(build(Path(folder), Path(index), int(cores))))
        return
    options = _options()
    options.data.mkdir(parents=True, exist_ok=True)
    _warm_up(options)
    results = []
    for size in options.sizes:
        lake = _generated(options, f"{options.kind}-{size:g}", int(size * 1_000_000))
        results.append(compare(f"{options.kind} {size:g} M", lake.folder, lake.folder, options))
        results[-1]["statistics"] = lake.statistics.ratios()
    if options.real:
        clean = options.data / "real-clean" if not options.no_peer else options.real
        peer_lake = clean if options.no_peer else clean_copy(options.real, clean)
        results.append(compare("real", options.real, peer_lake, options))
    show(results)
    for result in results:
        record("index", {"benchmark": "index", "cores_used": options.cores, **result}, options.out)
    plot(results, HERE / "results" / "index.svg")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the index build against DuckDB.")
    parser.add_argument("--sizes", default="10,30,100", help="million cells, comma-separated")
    parser.add_argument("--kind", choices=["open-data", "web-table"], default="open-data")
    parser.add_argument("--real", type=Path, help="a real lake; 'none' leaves it out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where lakes are made")
    parser.add_argument("--out", type=Path, help="the file that gets the dated lines")
    parser.add_argument("--no-peer", action="store_true", help="only our own side")
    parser.add_argument("--peer-memory", default="", help="DuckDB's memory limit")
    options = parser.parse_args()
    options.sizes = [float(s) for s in options.sizes.split(",") if s]
    if options.real is None:
        options.real = REAL if REAL.is_dir() else _demo_lake(options.data)
    elif str(options.real) == "none":
        options.real = None
    return options


def _demo_lake(data: Path) -> Path:
    from lakejoin.cli.demo_lake import make_demo_lake

    return make_demo_lake(data / "demo-lake").folder


def _generated(options: argparse.Namespace, name: str, cells: int) -> GeneratedLake:
    return generate(options.data / name, cells, options.kind)


def _warm_up(options: argparse.Namespace) -> None:
    """A small build first, so that compiled kernels are in numba's cache on every run counted.

    Not too small: columns of more than 65,536 values use kernels of a wider type.
    """
    lake = _generated(options, f"{options.kind}-warm-up", 2_000_000)
    with tempfile.TemporaryDirectory(prefix="lakejoin-bench-", dir=options.data) as scratch:
        ours(lake.folder, Path(scratch), options.cores)


if __name__ == "__main__":
    main()
