"""Rows that are joined by place: each with the nearest one, by its own place alone."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin import LakeJoiner
from lakejoin.enrich.key_matches import NearestPoints
from lakejoin.model import Array
from lakejoin.store.distance_limits import METRES

EARTH = 6_371_008.8


@dataclass(frozen=True)
class Made:
    """Stations with their height in a lake, spots near most of them, and what height tells."""

    index: Path
    stations: pd.DataFrame
    mine: pd.DataFrame
    target: Array


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("places")
    (folder / "lake").mkdir()
    random = np.random.default_rng(11)
    rows = 400
    stations = pd.DataFrame(
        {
            "station": [f"station {n}" for n in range(rows)],
            "latitude": random.uniform(40, 60, rows).round(5),
            "longitude": random.uniform(-30, 30, rows).round(5),
            "height": random.uniform(0, 2500, rows).round(1),
        }
    )
    stations.to_csv(folder / "lake" / "stations.csv", index=False)
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark())
    some = stations.iloc[:200]
    mine = pd.DataFrame(
        {
            "lon": (some["longitude"] + random.normal(0, 2e-4, 200)).round(6),
            "own": random.normal(size=200).round(4),
            "lat": (some["latitude"] + random.normal(0, 2e-4, 200)).round(6),
        }
    )
    mine.loc[190:, "lat"] -= 90  # nobody is there
    warmth = 20 - some["height"].to_numpy() / 150 + random.normal(0, 0.5, 200)
    return Made(folder / "index", stations, mine, warmth)


@pytest.fixture(scope="module")
def fitted(made: Made) -> LakeJoiner:
    return LakeJoiner(made.index, on=["lon", "lat"]).fit(made.mine[:150], made.target[:150])


def metres(mine: pd.Series, stations: pd.DataFrame) -> Array:
    """How far a spot is from every station."""
    lat, lon = np.radians(stations["latitude"]), np.radians(stations["longitude"])
    my_lat, my_lon = np.radians(mine["lat"]), np.radians(mine["lon"])
    half = np.sin((lat - my_lat) / 2) ** 2
    half += np.cos(lat) * np.cos(my_lat) * np.sin((lon - my_lon) / 2) ** 2
    return np.asarray(2 * EARTH * np.arcsin(np.sqrt(half)))


def test_each_spot_gets_the_nearest_station(made: Made, fitted: LakeJoiner) -> None:
    assert [column.called for column in fitted.columns_] == ["stations.height"]
    (link,) = fitted.links_
    (way,) = link.joins
    assert isinstance(way, NearestPoints)
    assert (link.query_columns, way.lake_columns) == (("lat", "lon"), ("latitude", "longitude"))
    assert way.within.unit == METRES
    within = way.within.amount
    joined = fitted.transform(made.mine)["stations.height"]
    for number, spot in made.mine.iterrows():
        apart = metres(spot, made.stations)
        nearest = int(apart.argmin())
        if apart[nearest] <= within:
            assert joined[number] == made.stations["height"][nearest]
        else:
            assert np.isnan(joined[number])
    assert joined[:190].notna().mean() > 0.9 and joined[190:].isna().all()


def test_each_row_by_itself(made: Made, fitted: LakeJoiner) -> None:
    whole = fitted.transform(made.mine)
    again = pickle.loads(pickle.dumps(fitted))
    alone = [again.transform(made.mine.iloc[i : i + 1]) for i in range(0, 200, 10)]
    assert pd.concat(alone).equals(whole.iloc[::10])


@pytest.mark.parametrize("lat", [np.nan, 991.0, "?", "48 north or so"])
def test_what_is_no_place_has_no_match(made: Made, fitted: LakeJoiner, lat: Any) -> None:
    rows = made.mine.iloc[:3].astype(object).assign(lat=lat)
    assert fitted.transform(rows)["stations.height"].isna().all()
    assert len(fitted.transform(rows[:0])) == 0


def test_only_where_all_ways_are_allowed(made: Made) -> None:
    joiner = LakeJoiner(made.index, on=["lon", "lat"], by="equal").fit(made.mine, made.target)
    assert joiner.columns_ == ()
