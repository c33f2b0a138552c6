"""Small lakes in which it is known which columns predict what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lakejoin
from fake_spark import FakeSpark

TOWNS = 160
SYLLABLES = ["ba", "dor", "fel", "gri", "hon", "jul", "kas", "lim", "mor", "nus", "pel", "rit"]


def names(count: int, random: np.random.Generator) -> list[str]:
    """Different names."""
    found: dict[str, None] = {}
    while len(found) < count:
        found.setdefault("".join(random.choice(SYLLABLES, 3)).capitalize())
    return list(found)


@dataclass(frozen=True)
class Made:
    """A lake, and a table of mine with targets that are made of columns in the lake."""

    index: Path
    folder: Path
    mine: pd.DataFrame
    target: np.ndarray[Any, Any]
    kind: np.ndarray[Any, Any]
    noise: np.ndarray[Any, Any]


def made_lake(folder: Path) -> Made:
    """Towns: income (in `incomes.csv`) and climate (in `weather.csv`) tell the target, all other
    columns are noise; sales (in `shops.csv`) are several rows a town."""
    random = np.random.default_rng(4)
    towns = names(TOWNS, random)
    lake = folder / "lake"
    lake.mkdir(parents=True)
    income = random.normal(50, 15, TOWNS).round(2)
    climate = random.choice(["dry", "mild", "wet", "cold"], TOWNS)
    sales = random.normal(20, 6, TOWNS)
    own = random.normal(0, 1, TOWNS).round(3)
    effect = pd.Series(climate).map({"dry": 30.0, "mild": 0.0, "wet": -30.0, "cold": 10.0})
    target = (income + effect.to_numpy() + 8 * own + random.normal(0, 3, TOWNS)).round(3)
    order = random.permutation(TOWNS)
    frame = pd.DataFrame({"town": towns, "income": income, "mayor": random.integers(0, 99, TOWNS)})
    frame.iloc[order].to_csv(lake / "incomes.csv", index=False)
    pd.DataFrame({"place": [one.upper() for one in towns], "climate": climate}).to_csv(
        lake / "weather.csv", index=False
    )
    shops = pd.DataFrame({"town": np.repeat(towns, 4), "sales": np.repeat(sales, 4)})
    shops["sales"] = (shops["sales"] + random.normal(0, 1, len(shops))).round(2)
    shops.sample(frac=1, random_state=1).to_csv(lake / "shops.csv", index=False)
    for number in range(3):
        nothing = {f"n{i}": random.normal(size=TOWNS).round(3) for i in range(8)}
        pd.DataFrame({"name": towns, **nothing}).to_csv(lake / f"noise{number}.csv", index=False)
    secret = pd.DataFrame({"town": towns, "result": target, "in_cents": target * 100 + 7})
    secret["tax"] = random.normal(size=TOWNS)
    secret.to_csv(lake / "secret.csv", index=False)
    mine = pd.DataFrame({"town": towns, "own": own})
    mine.assign(target=target).to_csv(lake / "mine_again.csv", index=False)
    kind = np.where(sales + random.normal(0, 1, TOWNS) > 20, "large", "small")
    labels = pd.DataFrame({"town": towns, "label": np.where(kind == "large", "L", "S")})
    labels.to_csv(lake / "labels.csv", index=False)
    lakejoin.index(lake, folder / "index", spark=FakeSpark())
    return Made(folder / "index", lake, mine, target, kind, random.normal(size=TOWNS))
