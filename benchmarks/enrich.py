"""What does a model gain from columns of a lake that are found, joined and chosen by themselves?

    python benchmarks/enrich.py DATA --index INDEX

Three prediction tasks over the lake that INDEX is an index of (DATA/lake), laid out as table V of
the PEXESO paper: without a join, with what equal values join, with values that are rewritten or
alike, with texts that mean the same, with all that a search finds, and with every column that
joins, chosen or not. Nobody names a table. The lake holds the tables that the tasks were made of,
with the targets in them: to pass them over is part of the task.

- wine: servings of wine in 193 countries, known how much beer and spirits are drunk there;
- salary: what 173 college majors earn after graduation, known their field and share of women;
- dividend: the dividend yield of the companies of a stock index, known how the exchange lists them
  ("3M Company Common Stock"); other tables call them by their names.

`match` is the share of rows that match in a table, on average over the tables that join.
Scores are means over the folds of a cross-validation, with the standard deviation over the folds:
RMSE, of which less is better, or micro-F1. Columns are chosen anew in each fold, by its other rows
alone; a forest of random trees is the model for all. The lift is against no join, and against equal
values. Last come targets of noise, beside the true keys: nothing may be gained, and nothing chosen;
and of many more, half of them classes, for how many anything is chosen by all rows.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lakejoin
from harness import record
from lakejoin.enrich.column_choice import ColumnChooser
from lakejoin.enrich.enrichment import prepare_chooser
from lakejoin.enrich.evaluation import Forest, fill_gaps, make_folds, score_predictions
from lakejoin.enrich.links import EnrichOptions
from lakejoin.enrich.training_data import Target, make_target
from lakejoin.lake import Lake
from lakejoin.model import Array

FOLDS, TREES = 5, 100
METHODS = {"equal": "equal", "fuzzy": "fuzzy", "meaning": "meaning", "all ways": "auto"}


@dataclass(frozen=True)
class Task:
    """A table, its key, and the column that is to be predicted."""

    name: str
    said: str
    on: str
    target: str
    rows: pa.Table


def _read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from csv.DictReader(file)


def _some(path: Path, columns: Sequence[str]) -> pa.Table:
    rows = list(_read(path))
    return pa.table({name: [row[name] or None for row in rows] for name in columns})


def wine(lake: Path) -> Task:
    """Wine by country."""
    path = lake / "fivethirtyeight/alcohol-consumption/drinks.csv"
    columns = ["country", "beer_servings", "spirit_servings", "wine_servings"]
    said = "servings of wine by country"
    return Task("wine", said, "country", "wine_servings", _some(path, columns))


def salary(lake: Path) -> Task:
    """Salaries by college major."""
    path = lake / "fivethirtyeight/college-majors/recent-grads.csv"
    columns = ["Major", "Major_category", "ShareWomen", "Median"]
    return Task("salary", "salary by college major", "Major", "Median", _some(path, columns))


def dividend(lake: Path) -> Task:
    """Dividends of companies by how they are listed."""
    listed = {
        row["ACT Symbol"]: (row["Company Name"], "NYSE")
        for row in _read(lake / "datahub-nyse-other-listings/data/nyse-listed.csv")
    }
    listed |= {
        row["Symbol"]: (row["Security Name"], "NASDAQ")
        for row in _read(lake / "datahub-nasdaq-listings/data/nasdaq-listed.csv")
    }
    path = lake / "datahub-s-and-p-500-companies-financials/data/constituents-financials.csv"
    known = [row for row in _read(path) if row["Symbol"] in listed]
    rows = pa.table(
        {
            "listed as": [listed[row["Symbol"]][0] for row in known],
            "exchange": [listed[row["Symbol"]][1] for row in known],
            "letters": [len(row["Symbol"]) for row in known],
            "yield": [row["Dividend Yield"] or None for row in known],
        }
    )
    said = "dividend yield by how a company is listed"
    return Task("dividend", said, "listed as", "yield", rows)


TASKS: dict[str, Callable[[Path], Task]] = {"wine": wine, "salary": salary, "dividend": dividend}


def chooser_of(lake: Lake, task: Task, by: str, noise: int | None = None) -> ColumnChooser:
    """All that a choice needs, by one way to join; with a target of noise, if one is given."""
    place = task.rows.column_names.index(task.target)
    column = task.rows.column(place)
    if noise is not None:
        column = pa.array(np.random.default_rng(noise).normal(size=task.rows.num_rows))
    target = make_target(column, task.target)
    options = EnrichOptions((task.on,), by)
    return prepare_chooser(
        lake, task.rows.remove_column(place), target, options, lambda doing: None
    )


def fold_scores(chooser: ColumnChooser, how: str, repeats: int) -> tuple[list[float], list[int]]:
    """The score of each fold, and how many columns were taken; `how` is none, chosen or all."""
    scores, taken = [], []
    for repeat in range(repeats):
        folds = make_folds(chooser.gathered.keys, chooser.target, FOLDS, 100 + repeat)
        for learn, judge in folds:
            places = _taken(chooser, how, learn)
            taken.append(len(places))
            columns = np.concatenate([chooser.own, chooser.gathered.matrix[:, places]], axis=1)
            scores.append(_score(fill_gaps(columns), chooser.target, learn, judge, repeat))
    return scores, taken


def _taken(chooser: ColumnChooser, how: str, learn: Array) -> list[int]:
    if how == "none":
        return []
    return chooser.usable(learn)[0] if how == "all" else list(chooser.choose(learn).positions)


def _score(columns: Array, target: Target, learn: Array, judge: Array, seed: int) -> float:
    forest = Forest(columns[learn], target.take(learn), seed, TREES)
    return abs(score_predictions(target.values[judge], forest.predict(columns[judge]), target))


def measured(
    lake: Lake, task: Task, repeats: int, methods: dict[str, str] = METHODS
) -> list[dict[str, Any]]:
    """The lines of one task."""
    rows: list[dict[str, Any]] = []
    for method, by in methods.items():
        begin = time.perf_counter()
        chooser = chooser_of(lake, task, by)
        if not rows:
            rows.append(_row(task, "no join", chooser, "none", repeats, begin))
        rows.append(_row(task, method, chooser, "chosen", repeats, begin))
        if by == "auto":
            rows.append(_row(task, "everything", chooser, "all", repeats, begin))
    before, equal = rows[0]["mean"], rows[1]["mean"]
    for row in rows:
        row["lift_none"] = _lift(row["score"], before, row["mean"])
        row["lift_equal"] = _lift(row["score"], equal, row["mean"])
    return rows


def noise(lake: Lake, task: Task, seeds: int) -> list[dict[str, Any]]:
    """The lines of targets of noise."""
    rows = []
    for seed in range(seeds):
        begin = time.perf_counter()
        chooser = chooser_of(lake, task, "auto", seed)
        before = _row(task, "no join", chooser, "none", 1, begin)
        row = _row(task, f"noise {seed}", chooser, "chosen", 1, begin)
        row["lift_none"] = _lift("RMSE", before["mean"], row["mean"])
        rows.append(row)
    return rows


def chosen_of_noise(lake: Lake, task: Task, targets: int) -> int:
    """For how many targets of noise something is chosen, by all rows."""
    chooser = chooser_of(lake, task, "auto")
    rows = np.arange(len(chooser.target.values))
    found = 0
    for seed in range(targets):
        random = np.random.default_rng(1000 + seed)
        target = (
            Target("noise", random.normal(size=len(rows)))
            if seed % 2
            else Target("noise", random.integers(0, 2, len(rows)).astype(float), ("a", "b"))
        )
        found += bool(replace(chooser, target=target, seed=seed).choose(rows).positions)
    return found


def _row(
    task: Task, method: str, chooser: ColumnChooser, how: str, repeats: int, begin: float
) -> dict[str, Any]:
    scores, taken = fold_scores(chooser, how, repeats)
    met = [float(one.mean()) for one in chooser.gathered.matched.values()]
    return {
        "task": task.name,
        "said": task.said,
        "method": method,
        "rows": len(chooser.target.values),
        "tables": len(chooser.gathered.links) if how != "none" else 0,
        "matched": round(float(np.mean(met)), 3) if met and how != "none" else None,
        "columns": round(float(np.mean(taken)), 1),
        "score": "micro-F1" if chooser.target.is_classes else "RMSE",
        "mean": float(np.mean(scores)),
        "deviation": float(np.std(scores, ddof=1)),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _lift(score: str, before: float, after: float) -> float:
    """How much better, as a share; a smaller error is better."""
    change = (before - after) if score == "RMSE" else (after - before)
    return change / before


def shown(rows: Sequence[dict[str, Any]]) -> str:
    """A table as in the paper."""
    heads = ["task", "method", "tables", "match", "columns", rows[0]["score"]]
    lines = [[*heads, "lift v.s. no join", "lift v.s. equal"]]
    for row in rows:
        matched = "-" if row["matched"] is None else f"{row['matched']:.0%}"
        mean = f"{row['mean']:.4g} ± {row['deviation']:.2g}"
        lifts = [
            "-" if row.get(key) is None or skip else f"{row[key]:+.1%}"
            for key, skip in (
                ("lift_none", row["method"] == "no join"),
                ("lift_equal", row["method"] in ("no join", "equal")),
            )
        ]
        cells = [row["task"], row["method"], str(row["tables"]), matched, f"{row['columns']:g}"]
        lines.append([*cells, mean, *lifts])
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measures, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--index", required=True)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--repeats", type=int, default=1, help="of the cross-validation")
    parser.add_argument("--noise", type=int, default=2, help="targets of noise for each task")
    parser.add_argument("--choices", type=int, default=40, help="for targets of noise, by all rows")
    given = parser.parse_args()
    lake = lakejoin.open(given.index)
    found: list[dict[str, Any]] = []
    wrong: dict[str, int] = {}
    for name in given.tasks:
        task = TASKS[name](given.data / "lake")
        rows = measured(lake, task, given.repeats)
        print(f"\n{task.said}, {task.rows.num_rows} rows\n\n{shown(rows)}", flush=True)
        found += rows
        if given.noise:
            rows = noise(lake, task, given.noise)
            print(f"\nthe same keys, targets of noise\n\n{shown(rows)}", flush=True)
            found += rows
        if given.choices:
            wrong[name] = chosen_of_noise(lake, task, given.choices)
            told = f"{wrong[name]} of {given.choices} targets of noise"
            print(f"\ncolumns are chosen for {told}, by all rows", flush=True)
    figures = {"repeats": given.repeats, "choices": given.choices, "chosen_of_noise": wrong}
    record("enrich", {"folds": FOLDS, **figures, "rows": found})


if __name__ == "__main__":
    main()
