"""How does the cost of a question grow with the number of segments?

    python benchmarks/segment_growth.py FOLDER [--segments 20 200 2000] [--base SRC]

Lakes of made-up tables, one in each segment, are generated and indexed below FOLDER. Ten tables of
each lake ask: overlap by one column, and the fused search. The output is CPU of a warm process,
medians, and with `--base`, the `src` folder of another version, of that version too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import lakejoin
from harness import record
from lakejoin.pipeline.options import BuildOptions

_ROWS = 60
_ASKED = 10
_ASKER = """
import json, sys, time
import lakejoin

lake = lakejoin.open(sys.argv[1])
for _ in range(2):  # the first round warms up
    figures = {"overlap": [], "fused": []}
    answers = []
    for table in sys.argv[2:]:
        for name, ask in (("overlap", lambda: lake.overlap(table, on="town")),
                          ("fused", lambda: lake.search(table))):
            begin = time.process_time()
            answer = ask()
            figures[name].append(time.process_time() - begin)
            answers.append([(found.rank, found.table) for found in answer])
print(json.dumps([figures, answers]))
"""


def generate(folder: Path, tables: int) -> None:
    """Write tables of towns, people and amounts; each draws on a district of towns."""
    folder.mkdir(parents=True)
    for number in range(tables):
        chosen = random.Random(number)
        district = chosen.randrange(max(1, tables // 4))
        lines = ["town,person,amount,day"]
        for _ in range(_ROWS):
            town = f"town {district:04}-{chosen.randrange(80):02}"
            person = f"person {chosen.randrange(50 * tables):06}"
            day = f"2024-{chosen.randrange(1, 13):02}-{chosen.randrange(1, 29):02}"
            lines.append(f"{town},{person},{chosen.randrange(10_000)},{day}")
        (folder / f"t{number:05}_{chosen.randrange(1 << 30):x}.csv").write_text("\n".join(lines))


def index_apart(folder: Path, index: Path) -> None:
    """Index every table in a segment of its own."""
    options = BuildOptions(memory=1, parts=(), engine="local")
    lakejoin.index(folder, index, options=options)


def ask(source: Path, index: Path, tables: list[str]) -> tuple[dict[str, float], Any]:
    """The median CPU seconds of each kind of question, and the answers."""
    run = subprocess.run(
        [sys.executable, "-c", _ASKER, str(index), *tables],
        env={**os.environ, "PYTHONPATH": str(source)},
        check=True,
        capture_output=True,
        text=True,
    )
    figures, answers = json.loads(run.stdout)
    return {name: median(seconds) for name, seconds in figures.items()}, answers


def main() -> None:
    """Times every lake in both versions, prints medians, and records all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--segments", nargs="*", type=int, default=(20, 200, 2000))
    parser.add_argument("--base", type=Path, help="the src folder of another version")
    given = parser.parse_args()
    sources = {"now": Path(lakejoin.__file__).parents[1]}
    if given.base is not None:
        sources = {"base": given.base, **sources}
    results: dict[str, Any] = {}
    for count in given.segments:
        folder, index = given.folder / f"lake-{count}", given.folder / f"index-{count}"
        if not folder.exists():
            generate(folder, count)
        if not index.exists():
            index_apart(folder, index)
        lake = lakejoin.open(index)
        names = sorted(table.name for table in lake.tables())
        tables = random.Random(1).sample(names, _ASKED)
        asked = {name: ask(source, index, tables) for name, source in sources.items()}
        equal = len({json.dumps(answers) for _, answers in asked.values()}) == 1
        figures = {name: seconds for name, (seconds, _) in asked.items()}
        results[str(count)] = {"segments": lake.info()["segments"], "equal": equal, **figures}
        print(f"{lake.info()['segments']:6} segments, answers {'equal' if equal else 'DIFFER'}")
        for name, seconds in figures.items():
            print(f"  {name:5}", *(f"{what} {took:.4f} s" for what, took in seconds.items()))
    record("segment_growth", results)


if __name__ == "__main__":
    main()
