"""What do the checks of an index cost a search: limits of numbers, texts, records?

    python benchmarks/index_checks.py INDEX

The same searches with the checks and without them (their functions do nothing then) take turns in
one process. Every search opens the index anew, so that each block is verified and checked again:
the worst case, since a block is checked once per process and opened version. The ratio of the
medians of CPU time counts. Checksums are verified in both.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any
from unittest.mock import patch

import lakejoin
from harness import record
from lakejoin.store import graph_files, index_records
from lakejoin.store.arrayfile import ArrayFile


def _believe(kind: type[Any], body: Any, **parsed: Any) -> Any:
    return kind(**{**body, **parsed})


@contextmanager
def unchecked() -> Iterator[None]:
    """Without the checks; what was read is believed."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(ArrayFile, "_in_limits", lambda *_: True))
        stack.enter_context(patch.object(ArrayFile, "require_valid", lambda *_: None))
        for module in (index_records, graph_files):
            stack.enter_context(patch.object(module, "read_record", _believe))
        yield


def measure(index: str, names: list[str], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each round over the same tables."""

    def ask(name: str) -> float:
        begin = time.process_time()
        lakejoin.open(index).search(name)
        return time.process_time() - begin

    took: dict[str, list[float]] = {"with": [], "without": []}
    for number in range(-1, repeats):
        spent = {"with": 0.0, "without": 0.0}
        for position, name in enumerate(names):
            for turn in range(2):
                if (number + position + turn) % 2:
                    spent["with"] += ask(name)
                else:
                    with unchecked():
                        spent["without"] += ask(name)
        if number >= 0:  # the first round warms up
            for way, seconds in spent.items():
                took[way].append(seconds)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=9)
    chosen = parser.parse_args()
    names = sorted(t.name for t in lakejoin.open(chosen.index).tables() if t.rows <= 20_000)
    names = random.Random(5).sample(names, chosen.tables)
    times = measure(chosen.index, names, chosen.repeats)
    medians = {name: median(rounds) for name, rounds in times.items()}
    ratio = medians["with"] / medians["without"]
    figures = {"tables": chosen.tables, "cpu_seconds": medians, "ratio": ratio, "all": times}
    record("index_checks", figures)
    print(f"with checks {medians['with']:.2f} s, without {medians['without']:.2f} s: {ratio:.3f}")


if __name__ == "__main__":
    main()
