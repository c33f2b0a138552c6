"""How fast are the columns found that hold vectors near mine, exactly, and what does that compute?

    python benchmarks/vectors.py [--all] [--quick] [--lakes swdc open real] [--index INDEX]

Lakes of vectors shaped like those of the PEXESO paper (see `vectors_data`) and the text columns of
an index (`--index`, one made with --with meaning). Our default, its two methods by name, the
papers' own methods (grid, PEXESO-H, groups) on the same vectors, and peers (see `vectors_peers`):
FAISS, scikit-learn's BallTree, scipy's cKDTree, a matrix product and a pivot table. tau is a share
of the largest distance, T one of the query's values. CPU time on one thread; all must give the same
columns, and where they count to the end the same hits, or the run ends.

By default the smallest size of each lake; `--all` takes all three and draws the plots.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# One thread: said before numpy is imported.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"

import harness
import vectors_report as report
from vectors_data import LARGEST, OPEN, SHARES, SWDC, TAUS, Lake, Shape, make_lake
from vectors_measure import Entrant, Race, Setting
from vectors_ours import Ours, Prepared, Published
from vectors_peers import Ball, FaissFlat, MatrixProduct, PivotTable, RotatedTree
from vectors_real import real_lake

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "img"
FAR = (0.15, 0.25, 0.35)
REAL_TAUS = (0.06, 0.15, 0.25, 0.3, 0.35)
REAL_BASE = (0.3, 0.6)
SHAPES = {"swdc": SWDC, "open": OPEN}
SIZES = {"swdc": (1 / 16, 1 / 4, 1.0), "open": (1 / 8, 1.0)}


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    budget: float  # CPU seconds for a contender and setting
    repeats: int
    sizes: int  # how many of the sizes, the smallest first
    queries: int | None = None
    shrunk: float = 1.0
    only: tuple[str, ...] = ()  # contenders beside ours; all if empty


def entrants(lake: Lake, prepared: Prepared, base: Setting = report.BASE) -> list[Entrant]:
    """All contenders, ours first. Slow ones run on a part of the lake, or with few settings."""
    wide = lake.vectors.shape[1] > 100  # where trees and FAISS take seconds
    part = 1 / 8 if wide else 1 / 4
    near = base == report.BASE  # the papers' methods are for small tau
    return [
        Entrant(report.OURS, lambda: Ours(prepared), taus=True, far=True, shares=near),
        Entrant("tree", lambda: Ours(prepared, "tree"), taus=True, far=True),
        Entrant("flat", lambda: Ours(prepared, "flat"), taus=True, far=True),
        Entrant(report.MATRIX, lambda: MatrixProduct(lake), taus=True, far=True),
        Entrant(report.GRID, lambda: Published.grid(prepared), taus=near),
        Entrant("PEXESO-H", lambda: Published.grid(prepared, naive=True), part),
        Entrant("PEXESO (groups)", lambda: Published.groups(prepared), part),
        Entrant(report.ROTATED, lambda: RotatedTree(lake), part if wide else 1.0, taus=True),
        Entrant("BallTree", lambda: Ball(lake), part),
        Entrant("pivot table (EPT)", lambda: PivotTable(lake), taus=not wide),
        Entrant(report.FAISS_TUNED, lambda: FaissFlat(lake, blas=True), taus=not wide),
        Entrant(report.FAISS, lambda: FaissFlat(lake)),
        Entrant(
            report.FAISS_ALL_TUNED,
            lambda: FaissFlat(lake, repeated=True, blas=True),
            part if wide else 1.0,
        ),
        Entrant(report.FAISS_ALL, lambda: FaissFlat(lake, repeated=True), part if wide else 1.0),
        Entrant(report.OURS_ALL, lambda: Ours(Prepared(lake.repeated())), part),
    ]


def settings(entrant: Entrant, base: Setting, taus: Sequence[float], sweeps: bool) -> list[Setting]:
    """What a contender is asked, the base last."""
    asked: list[Setting] = []
    if sweeps and entrant.taus:
        asked += [(tau, base[1]) for tau in taus]
    if sweeps and entrant.far:
        asked += [(tau, base[1]) for tau in FAR if tau > taus[-1]]
    if sweeps and entrant.shares:
        asked += [(tau, share) for share in SHARES for tau in taus if share != base[1]]
    return [*(one for one in asked if one != base), base]


def measure(
    lake: Lake,
    size: float,
    base: Setting,
    taus: Sequence[float],
    effort: Effort,
    sweeps: bool,
    more: Sequence[Entrant] = (),
) -> dict[str, Any]:
    """The figures of one lake."""
    prepared = Prepared(lake)
    race = Race(lake, effort.budget, effort.repeats)
    print(f"\n{lake.name}, size {size:g}: {lake.distinct:,} distinct vectors", flush=True)
    left = []
    for entrant in [*entrants(lake, prepared, base), *more]:
        if effort.only and entrant.name not in (report.OURS, *effort.only):
            continue
        if size > entrant.largest:
            left.append(f"{entrant.name} (too slow beyond {entrant.largest:g} of the full size)")
            continue
        try:
            race.run(entrant, settings(entrant, base, taus, sweeps))
        except ModuleNotFoundError as missing:
            left.append(f"{entrant.name} ({missing.name} is not installed)")
    return {
        "facts": lake.facts(),
        "size": size,
        "base": list(base),
        "sweeps": sweeps,
        "rows": race.rows,
        "built": race.built,
        "left_out": left,
    }


def warm_up() -> None:
    """Compiles what is compiled, on a toy: the time to build a contender has no compiling in it."""
    for dimension in (50, 300):
        toy = make_lake(Shape("toy", 300, 10.0, 1_000, dimension, 1))
        for entrant in entrants(toy, Prepared(toy)):
            try:
                contender = entrant.make()
            except ModuleNotFoundError:
                continue
            for tau in (report.BASE[0], FAR[-1]):
                contender.search(toy.queries[0], LARGEST * tau, 1)


def run_made(kind: str, effort: Effort, out: Path | None) -> list[dict[str, Any]]:
    """Measures a generated lake at its sizes, tau and T on the largest."""
    sizes = SIZES[kind][: effort.sizes]
    made = []
    for size in sizes:
        lake = make_lake(shrunk(SHAPES[kind], size, effort))
        found = measure(lake, size, report.BASE, TAUS, effort, size == sizes[-1])
        report.show(found)
        harness.record("vectors", found, out)
        made.append(found)
    if len(made) > 1:
        print(f"\n growth: tau {report.BASE[0]:.0%}, T {report.BASE[1]:.0%}, milliseconds")
        print(report.growth_table(made))
    return made


def shrunk(shape: Shape, size: float, effort: Effort) -> Shape:
    """The shape at a size, with fewer queries where the effort is small."""
    queries = min(shape.queries, effort.queries or shape.queries)
    scaled = shape.scaled(size * effort.shrunk)
    return Shape(
        scaled.name, scaled.columns, scaled.mean_length, scaled.strings, scaled.dimension, queries
    )


def run_real(index: Path, effort: Effort, out: Path | None) -> list[dict[str, Any]]:
    """Measures the text columns of an index."""
    lake, indexed = real_lake(index, min(30, effort.queries or 30))
    more = [Entrant("lakejoin, on the index", indexed, taus=True)]
    found = measure(lake, 1.0, REAL_BASE, REAL_TAUS, effort, True, more)
    report.show(found)
    harness.record("vectors", found, out)
    return [found]


def draw(found: Sequence[dict[str, Any]]) -> None:
    """The plots of the largest size of each lake, and of the growth of the first."""
    import vectors_plots as plots

    lakes = list(dict.fromkeys(one["facts"]["lake"] for one in found))
    by_lake = {name: [one for one in found if one["facts"]["lake"] == name] for name in lakes}
    plots.plot_taus([sizes[-1] for sizes in by_lake.values()], IMAGES / "vectors-tau.svg")
    grown = [sizes for sizes in by_lake.values() if len(sizes) > 1]
    if grown:
        plots.plot_growth(grown[0], IMAGES / "vectors-growth.svg")


def recorded(out: Path | None) -> list[dict[str, Any]]:
    """The last figures of each lake and size that were recorded."""
    path = out or harness.RESULTS / "vectors.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    last = {(line["facts"]["lake"], line["size"]): line for line in lines}
    return [last[key] for key in sorted(last, key=lambda key: (key[0] != SWDC.name, *key))]


def main() -> None:
    """Measures, prints, records and plots."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="the full size too, and the plots")
    parser.add_argument("--quick", action="store_true", help="small lakes, few queries")
    parser.add_argument("--lakes", nargs="+", default=["swdc", "open", "real"])
    parser.add_argument("--only", nargs="+", default=[], help="these contenders beside ours")
    parser.add_argument("--sizes", type=int, default=1, help="how many, the smallest first")
    parser.add_argument("--index", type=Path, help="an index made with --with meaning")
    parser.add_argument("--budget", type=float, default=3.0, help="CPU s a contender and setting")
    parser.add_argument("--out", type=Path, help="where to append the figures")
    parser.add_argument("--recorded", action="store_true", help="plots of what was recorded last")
    given = parser.parse_args()
    if given.recorded:
        kept = recorded(given.out)
        print(report.markdown(kept))
        draw(kept)
        return
    only = tuple(given.only)
    effort = Effort(given.budget, 3, 3 if given.all else given.sizes, only=only)
    if given.quick:
        effort = Effort(0.2, 1, 1, 4, 1 / 4, only)
    found: list[dict[str, Any]] = []
    warm_up()
    for kind in given.lakes:
        if kind != "real":
            found += run_made(kind, effort, given.out)
        elif given.index is None:
            print("\nreal lake skipped: name an index with --index")
        else:
            found += run_real(given.index, effort, given.out)
    print("\n targets")
    for one in found:
        if one["sweeps"]:
            for said, met in report.targets(one):
                print(f"  {'pass' if met else 'FAIL'}  {said}")
    if given.all:
        draw(found)


if __name__ == "__main__":
    main()
