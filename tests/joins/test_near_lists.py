"""All rows within a distance, against brute force; and what a join makes of them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.errors import InputError
from lakejoin.joins.nearest.near_lists import list_near_rows
from lakejoin.store.distance_limits import EARTH_RADIUS
from oracle.near_rows import Found, chord, within_reach

ROUNDING = 1e-9
NUMBERS = st.lists(st.one_of(st.none(), st.integers(-20, 20).map(lambda n: n / 4)), max_size=12)
START = datetime(2020, 1, 1)
TIMES = st.lists(
    st.one_of(st.none(), st.integers(0, 200).map(lambda h: START + timedelta(hours=h))), max_size=12
)


def listed(left: list[Any], right: list[Any], within: Any, kind: Any) -> Found:
    tables = pa.table({"a": pa.array(left, kind)}), pa.table({"b": pa.array(right, kind)})
    found = list_near_rows(*tables, [("a", "b")], within)
    return [
        (i, j)
        for i in range(len(left))
        for j in sorted(found.order[found.first[i] : found.first[i] + found.count[i]].tolist())
    ]


@given(NUMBERS, NUMBERS, st.sampled_from([0, 0.5, 2.0, "50%"]))
@settings(max_examples=80, deadline=None)
def test_numbers(left: list[float | None], right: list[float | None], within: Any) -> None:
    def limit(value: float) -> float:
        return (0.5 * abs(value) if within == "50%" else within) + ROUNDING

    expected = within_reach(left, right, lambda a, b: abs(a - b), limit)
    assert listed(left, right, within, pa.float64()) == expected


@given(TIMES, TIMES, st.sampled_from([0, 5, 48, 1e30]))
@settings(max_examples=60, deadline=None)
def test_times(left: list[datetime | None], right: list[datetime | None], hours: float) -> None:
    if not any(left) and not any(right):  # then nothing says that these are times
        return
    expected = within_reach(
        left, right, lambda a, b: abs((a - b).total_seconds()), lambda _: 3600.0 * hours
    )
    assert listed(left, right, f"{hours:f} hours", pa.timestamp("us")) == expected


@given(st.integers(0, 10**6), st.sampled_from([0.0, 900.0, 40_000.0, 2e7]))
@settings(max_examples=60, deadline=None)
def test_coordinates(seed: int, metres: float) -> None:
    random = np.random.default_rng(seed)
    centre = random.choice([(48.1, 11.6), (-16.5, 179.99), (89.9, 20.0)])
    spread = random.choice([0.005, 0.3, 50.0])
    sides = []
    for count in random.integers(0, 150, 2):
        points = centre + random.normal(size=(int(count), 2)) * spread
        points[:, 1] = (points[:, 1] + 180) % 360 - 180
        sides.append(np.round(np.clip(points, [-90, -180], [90, 180]), 5))
    left, right = ([tuple(point) for point in side.tolist()] for side in sides)
    far = 2 * math.sin(min((metres + 1e-6) / EARTH_RADIUS, math.pi) / 2)
    expected = within_reach(left, right, chord, lambda _: far * (1 + ROUNDING))
    tables = [
        pa.table({"lat": pa.array(side[:, 0]), "lon": pa.array(side[:, 1])}) for side in sides
    ]
    near = list_near_rows(*tables, [("lat", "lat"), ("lon", "lon")], f"{metres}m")
    found = [
        (i, j)
        for i in range(len(left))
        for j in sorted(near.order[near.first[i] : near.first[i] + near.count[i]].tolist())
    ]
    assert found == expected


@given(NUMBERS.filter(any), NUMBERS.filter(any), st.sampled_from(["inner", "left"]))
@settings(max_examples=40, deadline=None)
def test_a_join_aggregates_all_of_them(
    left: list[float | None], right: list[float | None], how: str
) -> None:
    mine = pa.table({"a": pa.array(left, pa.float64()), "row": range(len(left))})
    theirs = pa.table({"b": pa.array(right, pa.float64()), "price": range(len(right))})
    expected = within_reach(left, right, lambda a, b: abs(a - b), lambda _: 1 + ROUNDING)
    options = lakejoin.MatchOptions(within=1, aggregate=["price=list", "b=count"])
    join = lakejoin.join(mine, theirs, on="a=b", by="nearest", how=how, options=options)
    assert [(p["left_row"], p["right_row"]) for p in join.pairs().to_pylist()] == expected
    if not expected:
        assert not join
        return
    partners = {i: [j for k, j in expected if k == i] for i in range(len(left))}
    kept = [i for i in partners if partners[i] or how == "left"]
    assert join.table().column("row").to_pylist() == kept
    assert join.table().column("price").to_pylist() == [partners[i] or None for i in kept]
    assert (join.left_joined, join.matched) == (len({i for i, _ in expected}), len(expected))
    assert join.right_joined == len({j for _, j in expected}) == join.steps[0].right_rows
    assert sorted(join.unmatched("right").column("row").to_pylist()) == sorted(
        set(range(len(right))) - {j for _, j in expected}
    )


def test_it_says_so_and_has_no_code() -> None:
    options = lakejoin.MatchOptions(within=1, aggregate="mean")
    join = lakejoin.join({"a": [1, 5]}, {"b": [1.5, 0.5]}, on="a=b", by="nearest", options=options)
    assert "all rows at most 1 away" in join.why
    assert join.table().to_pylist() == [{"a": 1, "b": 1.0}]
    with pytest.raises(InputError, match="all rows within a distance"):
        join.to_sql()
