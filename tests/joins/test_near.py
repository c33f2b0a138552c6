"""The nearest rows, against brute force; and what cannot be near is refused."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.errors import InputError
from lakejoin.joins.nearest.nearest_rows import find_nearest_rows
from lakejoin.store.distance_limits import EARTH_RADIUS
from oracle.near_rows import Found, chord, nearest

ROUNDING = 1e-9
NUMBERS = st.lists(st.one_of(st.none(), st.integers(-20, 20).map(lambda n: n / 4)), max_size=12)


def pairs(found: Any) -> Found:
    return list(zip(found.left_rows.tolist(), found.right_rows.tolist(), strict=True))


def rows(
    left: list[Any], right: list[Any], within: str | float | None = None, kind: Any = None
) -> Any:
    tables = pa.table({"a": pa.array(left, kind)}), pa.table({"b": pa.array(right, kind)})
    return find_nearest_rows(*tables, [("a", "b")], within)


# -- against brute force -----------------------------------------------------------------------


@given(NUMBERS, NUMBERS, st.sampled_from([None, 0, 0.5, 2.0, "50%"]))
@settings(max_examples=80, deadline=None)
def test_numbers(left: list[float | None], right: list[float | None], within: Any) -> None:
    def limit(value: float) -> float:
        if within is None:
            return np.inf
        return (0.5 * abs(value) if within == "50%" else within) + ROUNDING

    expected = nearest(left, right, lambda a, b: abs(a - b), limit)
    found = rows(left, right, within, pa.float64())
    assert pairs(found) == expected
    for i, j, apart in zip(found.left_rows, found.right_rows, found.distance, strict=True):
        assert apart == abs(left[i] - right[j])  # type: ignore[operator]


@given(NUMBERS, NUMBERS)
@settings(max_examples=20, deadline=None)
def test_numbers_that_are_written(left: list[float | None], right: list[float | None]) -> None:
    written = [[None if n is None else f" {n} " for n in side] for side in (left, right)]
    expected = nearest(left, right, lambda a, b: abs(a - b), lambda _: np.inf)
    assert pairs(rows(*written, kind=pa.string())) == expected


MOMENTS = st.lists(
    st.one_of(
        st.none(),
        st.integers(-50, 50).map(lambda n: datetime(2020, 2, 28, 12) + timedelta(hours=7 * n)),
    ),
    max_size=10,
)


@given(MOMENTS, MOMENTS, st.sampled_from([None, "1 day", "36h", "90 min", 0.5]))
@settings(max_examples=60, deadline=None)
def test_moments(left: list[datetime | None], right: list[datetime | None], within: Any) -> None:
    hours = {None: np.inf, "1 day": 24, "36h": 36, "90 min": 1.5, 0.5: 12}[within]
    expected = nearest(  # hours are whole numbers here, and exact: a tie is a tie
        left, right, lambda a, b: abs((a - b) / timedelta(hours=1)), lambda _: hours
    )
    kind = pa.timestamp("us")
    if any(left) or any(right):  # else nothing says that these are times
        found = rows(left, right, within, kind)
        assert pairs(found) == expected and found.unit == "days"
        texts = [[None if at is None else str(at) for at in side] for side in (left, right)]
        assert pairs(rows(*texts, within, pa.string())) == expected


def test_equally_near_moments_take_the_first_row() -> None:
    at = datetime(2020, 2, 28, 12)
    for hours in range(1, 200):
        around = [at + timedelta(hours=hours), at - timedelta(hours=hours)]
        for right in (around, around[::-1]):
            assert pairs(rows([at], right, kind=pa.timestamp("us"))) == [(0, 0)]


def test_a_limit_on_moments_is_exact() -> None:
    at, day, tick = datetime(9000, 1, 1), timedelta(days=1), timedelta(microseconds=1)
    right = [at - 9 * day - tick, at + 9 * day + tick]
    kind = pa.timestamp("us")
    assert pairs(rows([at], right, "9 days", kind)) == []
    found = rows([at], [*right, at + 9 * day], "9 days", kind)
    assert pairs(found) == [(0, 2)] and found.distance.tolist() == [9.0]
    assert pairs(rows([at], right, 1e30, kind)) == [(0, 0)]


PLACES = st.lists(
    st.tuples(
        st.sampled_from([-90.0, -89.9, -45.25, 0.0, 0.1, 45.25, 89.9, 90.0]),
        st.sampled_from([-180.0, -179.9, -90.5, 0.0, 0.1, 90.5, 179.9, 180.0]),
    ),
    min_size=1,
    max_size=40,
)


@given(PLACES, PLACES, st.sampled_from([None, "12km", "3000 mi"]))
@settings(max_examples=60, deadline=None)
def test_places(
    left: list[tuple[float, float]], right: list[tuple[float, float]], within: str | None
) -> None:
    tables = [
        pa.table({"lat": [p[0] for p in side], "lon": [p[1] for p in side]})
        for side in (left, right)
    ]
    found = find_nearest_rows(*tables, [("lat", "lat"), ("lon", "lon")], within)
    metres = {None: np.inf, "12km": 12_000.0, "3000 mi": 3000 * 1609.344}[within]
    # Equally near places differ in their last digits: the distance is compared, not the row.
    kept = dict(pairs(found))
    for i, mine in enumerate(left):
        apart = min(2 * EARTH_RADIUS * np.arcsin(min(1.0, chord(mine, p) / 2)) for p in right)
        if abs(apart - metres) > 1.0:
            assert (i in kept) == (apart <= metres)
        if i in kept:
            mine_apart = 2 * EARTH_RADIUS * np.arcsin(min(1.0, chord(mine, right[kept[i]]) / 2))
            assert mine_apart == pytest.approx(apart, abs=0.2)
            told = found.distance[found.left_rows.tolist().index(i)]
            assert told == pytest.approx(apart, abs=0.2)


def test_many_places_by_the_tree() -> None:
    rng = np.random.default_rng(7)
    left, right = (
        np.stack([np.degrees(np.arcsin(rng.uniform(-1, 1, n))), rng.uniform(-180, 180, n)], axis=1)
        for n in (300, 3000)
    )
    right[1500:] = right[:1500]  # every place twice: the first row is taken
    tables = [pa.table({"y": side[:, 0], "x": side[:, 1]}) for side in (left, right)]
    found = find_nearest_rows(*tables, [("x", "x"), ("y", "y")])
    expected = nearest(left.tolist(), right[:1500].tolist(), chord, lambda _: np.inf)
    assert pairs(found) == expected and found.unit == "m"


def test_equal_places_take_the_first_row() -> None:
    left = pa.table({"lat": [1.5] * 2, "lon": [2.5] * 2})
    right = pa.table({"lat": [9.5] + [1.5] * 30, "lon": [9.5] + [2.5] * 30})
    found = find_nearest_rows(left, right, [("lat", "lat"), ("lon", "lon")])
    assert pairs(found) == [(0, 1), (1, 1)] and found.distance.tolist() == [0.0, 0.0]


# -- how they are read -------------------------------------------------------------------------


def test_places_in_one_column() -> None:
    found = rows(["48.1, 11.6", "POINT(0 0)"], ["48° N, 11° E", "1.0, 1.0"], "200km")
    assert pairs(found) == [(0, 0), (1, 1)]


def test_longitude_first_where_names_or_numbers_say_so() -> None:
    left = pa.table({"lon": [170.0, 10.0], "lat": [10.0, 80.0]})
    right = pa.table({"p": [-170.0, 12.0], "q": [10.0, 80.0]})
    found = find_nearest_rows(left, right, [("lon", "p"), ("lat", "q")])
    assert pairs(found) == [(0, 0), (1, 1)]
    assert found.distance[0] == pytest.approx(2_190_000, rel=0.01)
    with pytest.raises(InputError, match="pair latitude with latitude"):
        find_nearest_rows(
            left, right.rename_columns(["lat", "lon"]), [("lon", "lat"), ("lat", "lon")]
        )


def test_dates_of_any_kind() -> None:
    left = [date(2020, 1, 1), None]
    assert pairs(rows(left, [date(2019, 12, 30), date(2020, 1, 4)], "2 days")) == [(0, 0)]
    assert pairs(rows(["1 Jan 2020"], ["3 Feb 2020", "2020-01-02"])) == [(0, 1)]
    assert pairs(rows(["2020-02-31", "2020-01-01"], ["2020-01-05"])) == [(1, 0)]


def test_what_holds_nothing_has_no_partner() -> None:
    assert pairs(rows([None], [1.0], kind=pa.float64())) == []
    assert pairs(rows([], [], kind=pa.float64())) == []
    assert pairs(rows(["1", "x", "3"], ["2.75", "1.5"])) == [(0, 1), (2, 0)]


@pytest.mark.parametrize(
    ("left", "right", "within", "said"),
    [
        (["Ulm"], ["1"], None, "'a' has no numbers"),
        (["2020-01-01"], ["1"], None, "needs the same kind on both sides"),
        (["1"], ["2"], "2km", "'2km' does not measure numbers"),
        (["1"], ["2"], "3 days", "'3 days' does not measure numbers"),
        (["2020-01-01"], ["2020-01-01"], "1%", "'1%' does not measure times"),
        (["48.1, 11.6"], ["48.1, 11.6"], 5, "5 does not measure points"),
        (["1"], ["2"], "2 parsecs", "'2 parsecs' is not a distance"),
        (["1"], ["2"], -1, "-1 is not a distance"),
    ],
)
def test_refused(left: list[str], right: list[str], within: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rows(left, right, within)


def test_columns_are_one_pair_or_two() -> None:
    table = pa.table({"a": [1.0], "b": [2.0], "c": [3.0]})
    with pytest.raises(InputError, match="got 3"):
        find_nearest_rows(table, table, [("a", "a"), ("b", "b"), ("c", "c")])
    far = pa.table({"a": [500.0], "b": [2000.0]})
    with pytest.raises(InputError, match="no row with a valid latitude"):
        find_nearest_rows(far, far, [("a", "a"), ("b", "b")])
