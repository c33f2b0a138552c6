"""How long does a command take in a new process, and what does it load?

    python benchmarks/start.py LAKE --index INDEX [--query TABLE] [--base PYTHONPATH]

LAKE is the folder of the demo lake, INDEX its index. Every command runs in new processes, five
times, and the median of their CPU time counts. `numba` is the same code without the compiled
kernels, with a warm cache of numba's; `first` the first run with an empty cache, as after an
installation without compiled kernels. `--base` is the `src` folder of another version, measured in
the same run.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from harness import record

REPEATS = 5
LIBRARIES = ("numpy", "pyarrow", "pandas", "scipy", "numba", "duckdb", "rich", "pyspark")
# Runs a command, and writes what it loaded where it is told to.
RUN = """
import os, sys
from lakejoin.cli.main import main
try:
    main()
except SystemExit:
    pass
roots = {name.partition(".")[0] for name in sys.modules}
open(os.environ["LOADED"], "w").write(" ".join(roots))
"""


def commands(lake: Path, index: Path, query: str) -> dict[str, list[str]]:
    """What is measured, by name."""
    mine, at = str(lake / query), ["--index", str(index)]
    other = str(lake / "airportsdata" / "airports.csv")
    return {
        "info": ["info", *at],
        "overlap": ["overlap", mine, "--on", "faa", *at],
        "search": ["search", mine, *at],
        "join": ["join", mine, other, "--on", "faa=iata"],
    }


def cpu_of(arguments: list[str], env: dict[str, str]) -> float:
    """The CPU seconds of a command in a new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", RUN, *arguments], env=env, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measures every command, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lake", type=Path)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--query", default="nycflights13/airports.csv")
    parser.add_argument("--base", help="the src folder of another version")
    parser.add_argument("--first", action="store_true", help="measure an empty cache too (minutes)")
    given = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    loads: dict[str, dict[str, list[str]]] = {}
    with tempfile.TemporaryDirectory() as cache:
        loaded = Path(cache) / "loaded"
        env = {**os.environ, "LOADED": str(loaded)}
        kinds = {"now": env, "numba": {**env, "LAKEJOIN_KERNELS": "numba"}}
        if given.base:
            kinds["base"] = {**env, "PYTHONPATH": given.base}
        for name, arguments in commands(given.lake, given.index, given.query).items():
            found: dict[str, float] = {}
            loads[name] = {}
            for kind, own in kinds.items():
                if given.first and kind != "now":
                    empty = {**own, "NUMBA_CACHE_DIR": str(Path(cache) / f"{kind} {name}")}
                    found[f"{kind}, first"] = cpu_of(arguments, empty)
                cpu_of(arguments, own)
                found[kind] = median(cpu_of(arguments, own) for _ in range(REPEATS))
                roots = set(loaded.read_text().split())
                loads[name][kind] = [library for library in LIBRARIES if library in roots]
            figures[name] = found
            times = ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in found.items())
            print(f"{name:<8} {times}; loads {', '.join(loads[name]['now'])}")
    record("start", {"seconds": figures, "loads": loads})


if __name__ == "__main__":
    main()
