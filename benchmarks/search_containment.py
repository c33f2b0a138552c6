"""How good and how fast is the search by containment? LSH Ensemble, ours and datasketch's.

    python benchmarks/search_containment.py [--only quality speed ...] [--index INDEX]

Parts, each with a dated line in results/search_containment.jsonl:

- `quality`: precision and recall of unverified answers at t = 0.1 ... 1.0 as in figures 2.7 to 2.9
  of the thesis (queries of 10 to 1k, 10k, 100k values, sampled by size; the query itself does not
  count), with 8, 16, 32 partitions and with one (plain MinHash LSH), against datasketch's
  MinHashLSHEnsemble with the same number of permutations and partitions;
- `speed`: indexing ready signatures and querying, at three sizes of the lake, the same contestants;
- `schemes`: three ways to make signatures, 128 and 256 permutations: error, quality, speed;
- `strings`: signatures from strings, against datasketch's batch call and rensa's;
- `million`: time of a query over a million columns;
- `counted`: verified answers of an --index, counted from posting lists and found with sketches.

The sets are those of the lakes that `lakes.py` generates, and with --index those of an index (such
as one of real tables). All times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from containment_data import BANDS, Sets, Truth, generated, indexed, sample, truth
from containment_engines import (
    Datasketch,
    Engine,
    Indexed,
    Ours,
    datasketch_signatures,
    sketched,
)
from harness import alternate, median_run, record
from lakejoin.engines.containment.engine import LshEnsemble
from lakejoin.store.sketches import SketchOptions
from published.lsh_ensemble import PublishedEnsemble

HERE = Path(__file__).parent
THRESHOLDS = tuple(round(0.1 * i, 1) for i in range(1, 11))
PARTITIONS = (8, 16, 32)
DEFAULT = LshEnsemble()
PURE = PublishedEnsemble()  # the thesis's bands, nothing dropped
PLAIN = replace(PURE, single_partition=True)  # one partition: MinHash LSH


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over queries: precision where something was found, recall where something is."""

    name: str
    partitions: int
    band: int
    threshold: float
    precision: float
    recall: float
    queries: int  # that have a true answer
    found: float  # sets a query
    micros: float  # of CPU a query


def measure(
    engine: Engine, queries: np.ndarray[Any, Any], right: Truth, threshold: float
) -> dict[str, float]:
    """Asks all queries and compares with the truth."""
    begin = time.process_time()
    answers = [engine.find(query) for query in queries.tolist()]
    seconds = time.process_time() - begin
    precision, recall, found = [], [], 0
    for i, query in enumerate(queries.tolist()):
        answer = answers[i][answers[i] != query]
        wanted = right.at(i, threshold)
        hits = np.isin(answer, wanted).sum()
        found += len(answer)
        if len(answer):
            precision.append(hits / len(answer))
        if len(wanted):
            recall.append(hits / len(wanted))
    return {
        "precision": float(np.mean(precision)) if precision else 1.0,
        "recall": float(np.mean(recall)) if recall else 1.0,
        "queries": len(recall),
        "found": found / len(queries),
        "micros": 1e6 * seconds / len(queries),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Lake:
    """A lake with its queries and the truth about them, by band."""

    name: str
    sets: Sets
    queries: dict[int, np.ndarray[Any, Any]]
    right: dict[int, Truth]

    @classmethod
    def of(cls, name: str, sets: Sets, each: int) -> Lake:
        """Samples and counts."""
        queries = {band: sample(sets, band, each) for band in BANDS}
        return cls(name, sets, queries, {b: truth(sets, q) for b, q in queries.items()})


def quality(lake: Lake, places: int, peer_partitions: Sequence[int]) -> list[Quality]:
    """All contestants at all thresholds."""
    signatures, _ = sketched(lake.sets, "fast", places)
    ours: dict[tuple[str, int], Ours] = {}
    for partitions in PARTITIONS:
        made = Indexed(lake.sets, signatures, SketchOptions(places, partitions))
        ours["lakejoin", partitions] = Ours(made, DEFAULT)
        ours["lakejoin, thesis's bands", partitions] = Ours(made, PURE)
        if partitions == 16:
            ours["lakejoin, one partition", 1] = Ours(made, PLAIN)
    theirs = datasketch_signatures(lake.sets, places)
    rows = []
    for threshold in THRESHOLDS:
        engines: dict[tuple[str, int], Engine] = {k: o.at(threshold) for k, o in ours.items()}
        for partitions in peer_partitions:
            engines["datasketch", partitions] = Datasketch(lake.sets, theirs, threshold, partitions)
        for (name, partitions), engine in engines.items():
            engine.find(int(lake.queries[BANDS[0]][0]))  # works out its bands
            for band, queries in lake.queries.items():
                found = measure(engine, queries, lake.right[band], threshold)
                rows.append(Quality(name, partitions, band, threshold, **found))  # type: ignore[arg-type]
    return rows


def show_quality(rows: Iterable[Quality], band: int) -> None:
    """Prints precision and recall by threshold."""
    here = [r for r in rows if r.band == band]
    print(f"\nqueries of 10 to {band:,} values: precision / recall (us a query)")
    names = list(dict.fromkeys((r.name, r.partitions) for r in here))
    print(f"{'':32}" + "".join(f"{t:>17}" for t in THRESHOLDS))
    for name, partitions in names:
        line = [r for r in here if (r.name, r.partitions) == (name, partitions)]
        cells = [f"{r.precision:.3f}/{r.recall:.3f} {r.micros:5.0f}" for r in line]
        print(f"{name + ', ' + str(partitions):32}" + "".join(f"{c:>17}" for c in cells))


def speed(cells: float, places: int, thresholds: Sequence[float]) -> list[dict[str, Any]]:
    """Indexing and querying from ready signatures, ours and datasketch's."""
    sets = generated("open-data", int(cells * 1e6))
    queries = sample(sets, 10_000, 60)
    right = truth(sets, queries)
    signatures, seconds = sketched(sets, "fast", places)
    Indexed(sets, signatures, SketchOptions(places))  # compiles
    built = [Indexed(sets, signatures, SketchOptions(places)) for _ in range(3)]
    made = sorted(built, key=lambda one: one.seconds)[1]
    their_signatures = datasketch_signatures(sets, places)
    rows = []
    for threshold in thresholds:
        ours = Ours(made, replace(DEFAULT, min=threshold))
        theirs = Datasketch(sets, their_signatures, threshold, 16)
        row: dict[str, Any] = {
            "cells": cells,
            "columns": len(sets),
            "pairs": len(sets.values),
            "threshold": threshold,
            "sketch_seconds": seconds,
            "bytes_per_column": made.bytes / len(sets),
            "different": made.sketches.classes,
        }
        row |= _compared(ours, theirs, queries, right, threshold)
        rows.append(row)
        print(
            f"{cells:g} M cells, {len(sets):,} columns, t = {threshold}, "
            f"{row['bytes_per_column']:.0f} bytes a column"
        )
        for name in ("ours", "datasketch"):
            found = row[name]
            print(
                f"  {name:12} index {found['index']:8.3f} s, query {found['micros']:6.0f} us, "
                f"precision {found['precision']:.3f}, recall {found['recall']:.3f}"
            )
        print(f"  {row['index_factor']:.0f} x and {row['query_factor']:.1f} x", flush=True)
    return rows


def _compared(
    ours: Engine,
    theirs: Engine,
    queries: np.ndarray[Any, Any],
    right: Truth,
    threshold: float,
) -> dict[str, Any]:
    """Both in turns, medians, and how many times longer theirs takes."""
    result: dict[str, Any] = {}
    runs = {
        "ours": lambda: measure(ours, queries, right, threshold),
        "datasketch": lambda: measure(theirs, queries, right, threshold),
    }
    runs["ours"]()  # verifies what is read first, and works out the bands
    for name, each in alternate(runs, 5).items():
        result[name] = median_run(each, "micros")
    result["ours"]["index"] = ours.index_seconds
    result["datasketch"]["index"] = theirs.index_seconds
    result["index_factor"] = theirs.index_seconds / ours.index_seconds
    result["query_factor"] = result["datasketch"]["micros"] / result["ours"]["micros"]
    return result


def parts(options: argparse.Namespace) -> dict[str, Callable[[], dict[str, Any]]]:
    """What can be measured, by name."""
    import containment_counted
    import containment_more as more
    import containment_plots as plots

    def run_quality() -> dict[str, Any]:
        lakes: dict[str, Callable[[], Sets]] = {}
        if not options.only_index:
            lakes["open-data"] = lambda: generated("open-data", int(options.cells[0] * 1e6))
        if options.index:
            lakes["real"] = lambda: indexed(options.index)
        results = {}
        for name, sets in lakes.items():
            lake = Lake.of(name, sets(), options.each)
            rows = quality(lake, options.permutations, options.peer_partitions)
            print(f"\n{name}: {len(lake.sets):,} columns")
            for band in BANDS:
                show_quality(rows, band)
            plots.plot_quality(name, [asdict(r) for r in rows], options.plots)
            results[name] = {"columns": len(lake.sets), "rows": [asdict(r) for r in rows]}
        return results

    def run_speed() -> dict[str, Any]:
        rows = [row for c in options.cells for row in speed(c, options.permutations, (0.5, 0.8))]
        plots.plot_speed(rows, options.plots)
        return {"rows": rows}

    return {
        "quality": run_quality,
        "speed": run_speed,
        "schemes": lambda: more.schemes(
            [("open-data", generated("open-data", int(options.cells[0] * 1e6)))]
            + ([("real", indexed(options.index))] if options.index else []),
            options.each,
            options.plots,
        ),
        "strings": lambda: more.strings(options.data, options.cells[0], options.permutations),
        "million": lambda: more.million(options.columns, options.permutations),
        "counted": lambda: containment_counted.counted(options.index, options.each),
    }


def main() -> None:
    """Measures, prints and records."""
    names = ["quality", "speed", "schemes", "strings", "million", "counted"]
    parser = argparse.ArgumentParser(description="LSH Ensemble: quality and speed.")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--index", type=Path, help="an index whose columns are measured too")
    parser.add_argument("--only-index", action="store_true", help="no generated lake (quality)")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where lakes are kept")
    parser.add_argument("--cells", type=float, nargs="+", default=[10, 30, 100], help="millions")
    parser.add_argument("--columns", type=int, default=1_000_000)
    parser.add_argument("--permutations", type=int, default=128)
    parser.add_argument("--peer-partitions", type=int, nargs="+", default=[1, *PARTITIONS])
    parser.add_argument("--each", type=int, default=100, help="queries from each tenth of a band")
    parser.add_argument("--plots", type=Path, default=HERE.parent / "docs" / "img")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    runs = parts(options)
    for name in options.only:
        figures = {"permutations": options.permutations, **runs[name]()}
        line = {"benchmark": "search_containment", "part": name, **figures}
        record("search_containment", line, options.out)


if __name__ == "__main__":
    main()
