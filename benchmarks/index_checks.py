"""What do the checks of an index cost a search: limits of numbers, records, texts?

    python benchmarks/index_checks.py INDEX --base SRC

SRC is the `src` folder of a version without them. Both versions search with the same tables of the
lake, in processes of their own that take turns, and every search opens the index anew, so that each
block is verified and checked again: the worst case, since a block is checked once per process and
opened version. The ratio of the medians of CPU time counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from harness import record

CHILD = """
import json, random, sys, time
import lakejoin
index, tables, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
names = sorted(t.name for t in lakejoin.open(index).tables() if t.rows <= 20_000)
names = random.Random(5).sample(names, tables)
def ask(name):
    lakejoin.open(index).search(name)
for name in names:
    ask(name)
took = []
for _ in range(repeats):
    begin = time.process_time()
    for name in names:
        ask(name)
    took.append(time.process_time() - begin)
print(json.dumps(took))
"""


def measure(index: str, source: str, tables: int, repeats: int) -> list[float]:
    """CPU seconds of each round over the same tables."""
    environment = {**os.environ, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, index, str(tables), str(repeats)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    rounds: list[float] = json.loads(done.stdout)
    return rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("--base", required=True)
    parser.add_argument("--source", help="another `src` folder with the checks")
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    chosen = parser.parse_args()
    here = chosen.source or str(Path(__file__).resolve().parents[1] / "src")
    times: dict[str, list[float]] = {"with": [], "without": []}
    for _ in range(chosen.turns):
        for name, source in (("with", here), ("without", chosen.base)):
            times[name] += measure(chosen.index, source, chosen.tables, chosen.repeats)
    medians = {name: median(rounds) for name, rounds in times.items()}
    ratio = medians["with"] / medians["without"]
    figures = {"tables": chosen.tables, "cpu_seconds": medians, "ratio": ratio, "all": times}
    record("index_checks", figures)
    print(f"with checks {medians['with']:.2f} s, without {medians['without']:.2f} s: {ratio:.3f}")


if __name__ == "__main__":
    main()
