"""What do local processes cost, and what does Spark cost, for the same build on this machine?

    python benchmarks/build_engines.py LAKE [--files 30] [--repeats 3]

LAKE is a folder, such as the demo lake. `build` indexes all of it; `refresh` adds `--files` of its
files to an index of the others. Both engines take turns. Seconds of the clock and of CPU (driver,
JVM and workers, sampled from outside), and the largest memory of one worker and of all processes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from harness import alternate, median_run, mega, record, run_watched

ENGINES = ("local", "spark")


def index(lake: Path, folder: Path, engine: str) -> dict[str, Any]:
    """Runs `lakejoin index`; what it took."""
    command = [sys.executable, "-m", "lakejoin", "index", str(lake), "--index", str(folder)]
    began = time.perf_counter()
    # Its JSON on one line.
    script = (
        "import json, subprocess, sys; "
        "print(json.dumps(json.loads(subprocess.run(sys.argv[1:], stdout=-1, check=True).stdout)))"
    )
    wrapped = [sys.executable, "-c", script, *command, "--engine", engine, "--json"]
    report, watch = run_watched(wrapped)
    assert report["engine"] == engine
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu": round(sum(watch.cpu().values()), 2),
        "worker": watch.peak.get("worker", 0),
        "together": watch.peak_together,
        "new": report["new"],
    }


def build(lake: Path, scratch: Path, engine: str) -> dict[str, Any]:
    """Index the whole lake."""
    shutil.rmtree(scratch / engine, ignore_errors=True)
    return index(lake, scratch / engine, engine)


def refresh(lake: Path, scratch: Path, engine: str) -> dict[str, Any]:
    """Index what has come to a lake since its `base` was indexed."""
    shutil.rmtree(scratch / engine, ignore_errors=True)
    shutil.copytree(scratch / "base", scratch / engine)
    return index(lake, scratch / engine, engine)


def main() -> None:
    """Measures both, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lake", type=Path)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        lake = scratch / "lake"
        shutil.copytree(given.lake, lake, ignore=shutil.ignore_patterns(".*"))
        found = sorted(lake.rglob("*.csv"))
        new = found[:: max(1, len(found) // given.files)][: given.files]
        for number, path in enumerate(new):
            path.rename(scratch / f"{number}.csv")
        index(lake, scratch / "base", "local")
        for number, path in enumerate(new):
            (scratch / f"{number}.csv").rename(path)
        figures = {}
        for kind, run in (("refresh", refresh), ("build", build)):
            runs = {engine: partial(run, lake, scratch, engine) for engine in ENGINES}
            done = alternate(runs, given.repeats)
            figures[kind] = {engine: median_run(done[engine]) for engine in ENGINES}
            for engine, took in figures[kind].items():
                print(
                    f"{kind:<8} {engine:<6} {took['new']:,} files: {took['seconds']:.1f} s, "
                    f"{took['cpu']:.1f} s of CPU, {mega(took['worker'])} a worker, "
                    f"{mega(took['together'])} in all",
                    flush=True,
                )
        record("build_engines", {"figures": figures})


if __name__ == "__main__":
    main()
