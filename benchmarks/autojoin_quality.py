"""How well are two tables joined whose values must be rewritten first?

    python benchmarks/autojoin_quality.py [--data FOLDER] [--only NAME] [--programs]

Equal values and learned programs, without a fuzzy step, on the 31 pairs of web tables of the
Auto-Join thesis (`--data` names the folder that holds `autojoin`; columns and direction are not
told) and on its four synthetic cases. Precision and recall are of joined pairs of rows; a pair of
tables where nothing is joined counts in the average recall and F, not in the precision, as in the
thesis. No setting depends on the pair.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from autojoin_synthetic import cases
from harness import record
from lakejoin.joins.autojoin.finding import Learned, find_programs
from search_report import table

HERE = Path(__file__).parent
DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA") or HERE.parents[1] / "shared" / "data")
THESIS = {"web": (0.9758, 0.7757), "synthetic": (1.0, 1.0)}  # its AJ-E, and AJ

Row = tuple[str, ...]
Pairs = set[tuple[Row, Row]]


@dataclass(frozen=True, slots=True)
class Quality:
    """How the joined pairs of rows of one case compare with the true ones."""

    name: str
    right: int
    joined: int
    true: int
    seconds: float
    program: str

    @property
    def precision(self) -> float | None:
        return self.right / self.joined if self.joined else None

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 1.0

    @property
    def f(self) -> float:
        return 2 * self.right / (self.joined + self.true) if self.joined + self.true else 1.0


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.reader(file) if row]


def as_table(rows: list[list[str]]) -> pa.Table:
    columns = [pa.array([row[i].strip() or None for row in rows[1:]]) for i in range(len(rows[0]))]
    return pa.table([c.cast(pa.string()) for c in columns], names=rows[0])


def _row(cells: list[str]) -> Row:
    """A row to compare: the truth and the tables differ in blanks here and there."""
    return tuple("".join(cell.split()) for cell in cells)


def measured(left: pa.Table, right: pa.Table) -> tuple[Learned, float, str]:
    begin = time.perf_counter()
    learned = find_programs(left, right)
    seconds = time.perf_counter() - begin
    words = "; ".join(f"{one.program} ({one.source_rows})" for one in learned.programs)
    side = f"{learned.source_side} to {learned.target_column}: " if learned else ""
    return learned, seconds, side + (words or "nothing found")


def web(folder: Path) -> Quality:
    """One pair of web tables against its ground truth."""
    source, target, truth = (
        read(folder / f"{n}.csv") for n in ("source", "target", "ground_truth")
    )
    width = len(source[0])
    true: Pairs = {(_row(row[:width]), _row(row[width:])) for row in truth[1:]}
    learned, seconds, words = measured(as_table(source), as_table(target))
    joined: Pairs = {
        (_row(source[int(i) + 1]), _row(target[int(j) + 1]))
        for i, j in zip(learned.left_rows, learned.right_rows, strict=True)
    }
    return Quality(folder.name, len(joined & true), len(joined), len(true), seconds, words)


def synthetic(only: str, rows: int = 1000) -> list[Quality]:
    """The four synthetic cases."""
    found = []
    for case in cases(rows):
        if only not in case.name:
            continue
        learned, seconds, words = measured(case.source, case.target)
        true = {(source, place) for place, source in enumerate(case.truth)}
        joined = set(zip(learned.left_rows.tolist(), learned.right_rows.tolist(), strict=True))
        right = len(joined & true)
        found.append(Quality(case.name, right, len(joined), len(true), seconds, words))
    return found


def averages(found: list[Quality]) -> tuple[float, float, float]:
    precisions = [q.precision for q in found if q.precision is not None]
    return (
        sum(precisions) / len(precisions) if precisions else 0.0,
        sum(q.recall for q in found) / len(found),
        sum(q.f for q in found) / len(found),
    )


def report(kind: str, found: list[Quality], programs: bool) -> None:
    rows = [
        [q.name, "" if q.precision is None else f"{q.precision:.3f}", f"{q.recall:.3f}",
         f"{q.f:.3f}", f"{q.seconds:.2f}"]
        for q in found
    ]  # fmt: skip
    precision, recall, f = averages(found)
    rows.append(["average", f"{precision:.4f}", f"{recall:.4f}", f"{f:.4f}", ""])
    theirs = THESIS[kind]
    rows.append(["thesis", f"{theirs[0]:.4f}", f"{theirs[1]:.4f}", "", ""])
    print(table([[kind, "precision", "recall", "F", "seconds"], *rows]))
    if programs:
        for q in found:
            print(f"{q.name}: {q.program}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--programs", action="store_true", help="print what was learned")
    args = parser.parse_args()
    results = {"synthetic": synthetic(args.only)}
    folder = args.data / "autojoin"
    if folder.is_dir():
        pairs = sorted(p for p in folder.iterdir() if p.is_dir() and args.only in p.name)
        results["web"] = [web(pair) for pair in pairs]
    else:
        print(f"no web tables: there is no folder {folder}")
    for kind, found in results.items():
        if found:
            report(kind, found, args.programs)
    if not args.only:
        record("autojoin_quality", {k: averages(found) for k, found in results.items()})


if __name__ == "__main__":
    main()
