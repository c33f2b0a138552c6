"""What a model gains from columns joined by each predicate, on real tables (the paper's table V).

Wine: how much wine is drunk in 193 countries, from beer and spirits alone and with what six other
tables know about countries, which they spell in their own ways; ridge regression. Companies: the
sector of the 500 companies of an index, from how they are listed at the exchange ("3M Company
Common Stock") alone and with the key figures of a table that calls them by their names ("3M");
random forest. Every value is joined with its most similar partner if that is similar enough, by the
thresholds that the joinable columns were best found with: they were not chosen for this.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from encoder_sets import canonical
from meaning_quality_matching import Array, similarities

FOLDS, REPEATS = 4, 5
TREES = 100
Source = dict[str, list[float]]  # name -> features


@dataclass(frozen=True)
class Task:
    """A table to be enriched: names to join by, own features, and what is to be predicted."""

    name: str
    said: str
    score: str  # "RMSE" or "micro-F1"
    names: list[str]
    own: Array
    target: Array
    sources: list[Source]
    true_names: list[str | None] | None = None  # the right partner, where it is known


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from csv.DictReader(file)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def wine(lake: Path) -> Task:
    """Wine by country."""
    drinks = list(_rows(lake / "fivethirtyeight/alcohol-consumption/drinks.csv"))
    own = [[_number(row["beer_servings"]), _number(row["spirit_servings"])] for row in drinks]
    places = lake / "google-dspl/samples/google/canonical/countries.csv"
    corrupt = lake / "datahub-corruption-perceptions-index/data/cpi.csv"
    co2 = lake / "datahub-co2-fossil-by-nation/data/fossil-fuel-co2-emissions-by-nation.csv"
    sources = [
        {
            row["name"]: [_number(row["latitude"]), _number(row["longitude"])]
            for row in _rows(places)
        },
        {row["country"]: [_number(row["2017"]) or np.nan] for row in _rows(corrupt)},
        {
            row["Country"]: [_number(row["Per Capita"])]
            for row in _rows(co2)
            if row["Year"] > "2005"
        },
        _world_bank(lake / "datahub-gdp/data/gdp.csv"),
        _world_bank(lake / "datahub-population/data/population.csv"),
        _world_bank(lake / "datahub-gini-index/data/gini-index.csv"),
    ]
    return Task(
        "wine",
        f"servings of wine in {len(drinks)} countries, six tables",
        "RMSE",
        [canonical(row["country"]) for row in drinks],
        np.array(own),
        np.array([_number(row["wine_servings"]) for row in drinks]),
        [_canonical(source) for source in sources],
    )


def _world_bank(path: Path) -> Source:
    """The last figure up to 2014 of every country, as a logarithm."""
    return {
        row["Country Name"]: [float(np.log(_number(row["Value"])))]
        for row in _rows(path)
        if row["Year"] <= "2014"
    }


def companies(lake: Path) -> Task:
    """Sectors of companies by how they are listed."""
    folder = lake / "datahub-s-and-p-500-companies/data"
    listed = {
        row["ACT Symbol"]: (row["Company Name"], 0.0)
        for row in _rows(lake / "datahub-nyse-other-listings/data/nyse-listed.csv")
    }
    listed |= {
        row["Symbol"]: (row["Security Name"], 1.0)
        for row in _rows(lake / "datahub-nasdaq-listings/data/nasdaq-listed.csv")
    }
    known = [row for row in _rows(folder / "constituents.csv") if row["Symbol"] in listed]
    figures = ["Price/Earnings", "Dividend Yield", "Earnings/Share", "Market Cap"]
    figures += ["EBITDA", "Price/Sales", "Price/Book"]
    table = lake / "datahub-s-and-p-500-companies-financials/data/constituents-financials.csv"
    rows = list(_rows(table))
    called = {row["Symbol"]: canonical(row["Name"]) for row in rows}
    names = [canonical(listed[row["Symbol"]][0]) for row in known]
    own = [
        [listed[row["Symbol"]][1], float(len(row["Symbol"])), float(len(name))]
        for row, name in zip(known, names, strict=True)
    ]
    return Task(
        "companies",
        f"the sector of {len(known)} listed companies, one table",
        "micro-F1",
        names,
        np.array(own),
        np.array([row["GICS Sector"] for row in known]),
        [_canonical({row["Name"]: [_number(row[one]) for one in figures] for row in rows})],
        [called.get(row["Symbol"]) for row in known],
    )


TASKS: tuple[Callable[[Path], Task], ...] = (wine, companies)


def _canonical(source: Source) -> Source:
    return {canonical(name): features for name, features in source.items()}


def enriched(
    make: Callable[[Path], Task], lake: Path, least: dict[str, float]
) -> list[dict[str, Any]]:
    """Rows of table V for one task; `least` is by method how similar partners must be."""
    task = make(lake)
    rows = [_row(task, "no-join", task.own, np.zeros((len(task.names), 0), bool), None)]
    for name, similarity in similarities().items():
        joined, right = [task.own], []
        matched = np.zeros((len(task.names), len(task.sources)), bool)
        for number, source in enumerate(task.sources):
            theirs = list(source)
            found = similarity(task.names, theirs)
            best = found.argmax(axis=1)
            matched[:, number] = found[np.arange(len(best)), best] >= least[name] - 1e-6
            features = np.array(list(source.values()))[best]
            joined.append(np.where(matched[:, [number]], features, np.nan))
            right += [theirs[i] for i in best]
        is_right = None
        if task.true_names is not None:
            pairs = zip(right, task.true_names, matched[:, 0], strict=True)
            is_right = float(np.mean([mine == true for mine, true, met in pairs if met] or [1.0]))
        rows.append(_row(task, name, np.concatenate(joined, axis=1), matched, is_right))
    if task.true_names is not None:
        rows.append(_by_truth(task))
    none, equals = rows[0]["mean"], rows[1]["mean"]
    for row in rows:
        row["lift_none"] = _lift(task.score, none, row["mean"])
        row["lift_equal"] = _lift(task.score, equals, row["mean"])
    return rows


def _by_truth(task: Task) -> dict[str, Any]:
    """What joining by the key would give: the most that can be hoped for."""
    assert task.true_names is not None
    source = task.sources[0]
    blank = [np.nan] * len(next(iter(source.values())))
    features = [source.get(name or "", blank) for name in task.true_names]
    matched = np.array([[name in source] for name in task.true_names])
    return _row(task, "by the symbol", np.concatenate([task.own, features], axis=1), matched, 1.0)


def _row(
    task: Task, name: str, features: Array, matched: Array, right: float | None
) -> dict[str, Any]:
    scores = _scores(task, features)
    return {
        "task": task.name,
        "said": task.said,
        "score": task.score,
        "name": name,
        "matched": round(float(matched.mean()) if matched.size else 0.0, 4),
        "right": None if right is None else round(right, 4),
        "mean": round(float(np.mean(scores)), 4),
        "deviation": round(float(np.std(scores)), 4),
    }


def _scores(task: Task, features: Array) -> list[float]:
    """The score of each repeat of the cross-validation."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    scores = []
    for seed in range(REPEATS):
        if task.score == "RMSE":
            model = make_pipeline(imputer, StandardScaler(), Ridge(alpha=1.0))
            folds: Any = KFold(FOLDS, shuffle=True, random_state=seed)
        else:
            forest = RandomForestClassifier(TREES, min_samples_leaf=2, random_state=seed)
            model = make_pipeline(imputer, forest)
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        guessed = cross_val_predict(model, features, task.target, cv=folds)
        if task.score == "RMSE":
            scores.append(float(np.sqrt(np.mean((guessed - task.target) ** 2))))
        else:
            scores.append(float(np.mean(guessed == task.target)))
    return scores


def _lift(score: str, before: float, after: float) -> float:
    """How much better, as a share; a smaller error is better."""
    change = (before - after) if score == "RMSE" else (after - before)
    return round(change / before, 4)
