"""Are the files of one table recognised as such, on the real lake?

Files whose paths differ only in numbers were grouped, the groups split into two halves by the hash
of their pattern before any of them was looked at, and each labelled by hand: is this one table for
its owner? Recognition was tuned on `tune` only. A recognised table is right if its group is.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import record
from lakejoin.model import LogicalTable
from lakejoin.sources.lake_files import list_files
from lakejoin.sources.lake_tables import list_tables

# The groups that are one table for their owner, whatever varies in their names; all others are not.
ONE_TABLE = {
    "tune": (
        "buzzfeed-zika/data/parsed/cdc/cdc-state-case-counts-#-#-#.csv",
        "datahub-gini-index/data/gini-index-#.csv",
        "fivethirtyeight/march-madness-predictions-#/mens/bracket-#.tsv",
        "fivethirtyeight/potential-candidates/#_#_#/statements.csv",
        "fivethirtyeight/riddler-castles/castle-solutions-#.csv",
        "fivethirtyeight/state-of-the-polls-#/#_races.csv",
        "footballcsv-cache/#-#/eng.#.csv",
        "footballcsv-deutschland/#s/#-#/de.#.csv",
        "footballcsv-espana/#s/#-#/es.#.csv",
        "us-county-elections/#_US_County_Level_Presidential_Results.csv",
        "us-county-elections/cartography/#/build/#_data.csv",
    ),
    "held": (
        "fivethirtyeight/gop-delegate-benchmarks-#/previous-targets/delegate_targets_#-#-#.csv",
        "fivethirtyeight/march-madness-predictions-#/womens/bracket-#.tsv",
        "fivethirtyeight/march-madness-predictions/bracket-#.csv",
        "fivethirtyeight/pollster-ratings/#/raw-polls.csv",
        "fivethirtyeight/potential-candidates/#_#_#/events.csv",
        "fivethirtyeight/womens-world-cup-predictions/wwc-forecast-#-#.csv",
        "fivethirtyeight/womens-world-cup-predictions/wwc-matches-#-#.csv",
        "fivethirtyeight/world-cup-predictions/wc-#-#.csv",
        "footballcsv-cache/#-#/de.#.csv",
        "footballcsv-cache/#-#/es.#.csv",
        "footballcsv-cache/#-#/fr.#.csv",
        "footballcsv-cache/#-#/it.#.csv",
        "footballcsv-cache/#-#/sco.#.csv",
        "footballcsv-england/#s/#-#/eng.#.csv",
        "portal-ecology/Reports/Permit_data_#.csv",
    ),
}


def pattern_of(path: str) -> str:
    """A path with `#` for its numbers.

    >>> pattern_of("a_2024/b-01.csv")
    'a_#/b-#.csv'
    """
    return re.sub(r"\d+", "#", path)


def half_of(pattern: str) -> str:
    return "held" if hashlib.sha256(pattern.encode()).digest()[0] % 2 else "tune"


def figures(lake: str, half: str) -> dict[str, Any]:
    """Precision over recognised tables, recall over groups that are one table and over files."""
    files: dict[str, int] = {}
    for file in list_files([lake]):
        pattern = pattern_of(file.name)
        if half_of(pattern) == half:
            files[pattern] = files.get(pattern, 0) + 1
    right, wrong, joined = 0, 0, 0
    reached: set[str] = set()
    for table in list_tables([lake], []):
        if not isinstance(table, LogicalTable):
            continue
        pattern = pattern_of(table.files[0].file.name)
        if half_of(pattern) != half:
            continue
        if pattern in ONE_TABLE[half]:
            right += 1
            joined += len(table.files)
            reached.add(pattern)
        else:
            wrong += 1
            print("wrong:", table.name)
    series = sum(count for pattern, count in files.items() if pattern in ONE_TABLE[half])
    return {
        "groups": sum(count > 1 for count in files.values()),
        "one_table": len(ONE_TABLE[half]),
        "recognised": right + wrong,
        "precision": right / (right + wrong) if right + wrong else None,
        "recall": len(reached) / len(ONE_TABLE[half]),
        "recall_files": joined / series,
    }


def cpu(run: Callable[[], object], repeats: int = 5) -> float:
    spent = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        spent.append(time.process_time() - begin)
    return statistics.median(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lake", help="the folder of the real tables")
    parser.add_argument("--half", choices=("tune", "held"), default="tune")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    found = {
        "half": asked.half,
        **figures(asked.lake, asked.half),
        "list_cpu": cpu(lambda: list_files([asked.lake])),
        "tables_cpu": cpu(lambda: list_tables([asked.lake], [])),
    }
    print(found)
    print("written to", record("table_recognition", found, asked.out))


if __name__ == "__main__":
    main()
