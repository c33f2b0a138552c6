"""What does JOSIE read, and how long does it take? Another version of it is the peer.

    python benchmarks/josie_reads.py [--base SRC ...] [--pairs 15] [--data DIR]

Generated lakes like the thesis's Open Data and Web Tables (see `set_lakes`), k = 10, queries as in
thesis 3.5.2. Each version (this one, and the `src` folders of others) runs in a process of its own,
in turns; the mean over queries of sets and lists read, and of the median of the CPU times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import harness

HERE = Path(__file__).parent
SRC = HERE.parent / "src"
KINDS = ("open-data", "web-table")
K = 10


def measure(folder: Path, queries: int, repeats: int) -> list[dict[str, Any]]:
    """Reads and times of the version that this process imports, by band."""
    from search_contenders import ours
    from search_timing import Timings
    from search_timing import measure as time_contenders
    from set_lakes import open_lake
    from set_queries import BANDS, band_name, sample

    lake = open_lake(folder)
    timings = Timings(sample(lake, queries))
    time_contenders(timings, ours(lake, ("josie",)), [K], repeats)
    counters = timings.counters["josie", K]
    rows = []
    for at, band in enumerate(BANDS[lake.kind]):
        chosen = timings.in_band(at)
        row = {"lake": lake.kind, "band": band_name(band), "queries": len(chosen)}
        row["ms"] = 1e3 * float(timings.of("josie", K, at).mean())
        for name in ("sets_read", "lists_read"):
            row[name] = float(np.mean([counters[i][name] for i in chosen]))
        rows.append(row)
    return rows


def run(source: Path, folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """`measure` in a process that imports a version's source."""
    command = [sys.executable, __file__, "--measure", str(folder)]
    command += ["--queries", str(options.queries), "--repeats", str(options.repeats)]
    env = {**os.environ, "PYTHONPATH": f"{source}:{HERE}"}
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, nargs="*", default=[])
    parser.add_argument("--pairs", type=float, default=15, help="in millions")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.queries, options.repeats)))
        return
    from set_lakes import generate_sets

    found = []
    for kind in KINDS:
        folder = options.data / f"{kind}-{options.pairs:g}"
        generate_sets(folder, int(options.pairs * 1e6), kind)
        for source in (*options.base, SRC):
            name = "now" if source == SRC else source.parent.name
            for row in run(source, folder, options):
                found.append({"version": name, **row})
                print(
                    f"{row['lake']:10} {row['band']:9} {name:12} "
                    f"{row['sets_read']:8.1f} sets, {row['lists_read']:8.1f} lists, "
                    f"{row['ms']:7.2f} ms",
                    flush=True,
                )
    harness.record("josie_reads", {"k": K, "pairs": options.pairs, "rows": found}, options.out)


if __name__ == "__main__":
    main()
