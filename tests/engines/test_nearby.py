"""Search by distance against brute force: the same sets, scores and pairs, whatever the points."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.engines.distance import DistanceLimit, PointSetSearch, parse_distance, vector_distance
from lakejoin.engines.distance.distance_methods import METRICS
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.errors import InputError
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store import indexed_vectors
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.distance_limits import EARTH_RADIUS
from lakejoin.store.point_detection import PointSet, distinct_points
from lakejoin.store.point_sets import PointSets, PointsWriter
from oracle import nearby as oracle

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def opened(kind: str, sets: Sequence[Array]) -> PointSets:
    """A segment with these point sets; set i is of the columns i (and 1000 + i)."""
    with tempfile.TemporaryDirectory() as folder:
        place = Location.of(folder) / "points.lj"
        with ArrayFileWriter(place) as out:
            writer = PointsWriter(out)
            for i, points in enumerate(sets):
                columns = (i, 1000 + i) if kind == "place" else (i,)
                distinct = distinct_points(points, np.ones(len(points), dtype=np.int64))
                writer.add(PointSet(kind, columns, *distinct))
            writer.finish()
        return PointSets(ArrayFile(place, out.record))


def check(
    mine: Array,
    segments: Sequence[Sequence[Array]],
    kind: str,
    within: DistanceLimit,
    metric: str,
    leasts: Sequence[int] = (1,),
    ks: Sequence[int | None] = (None, 1, 3),
) -> None:
    """The engine finds what brute force finds, for both measures, every `least` and every k."""
    opened_segments = [opened(kind, sets) for sets in segments]
    engine = PointSetSearch(opened_segments)
    counts = []
    for number, sets in enumerate(opened_segments):
        for s in range(sets.count):
            near = oracle.near(mine, sets.points(s), within, metric)
            hits, pairs = int(near.any(axis=1).sum()), int(near.sum())
            counts.append((number, s, sets.size(s), hits, pairs))
    for measure in ("hit", "all"):
        for least in leasts:
            for k in ks:
                found = engine.search(mine, kind, within, metric, measure=measure, k=k, least=least)
                columns = (found.segment, found.column, found.matched, found.pairs)
                got = list(zip(*map(np.ndarray.tolist, columns), strict=True))
                assert got == oracle.ranked(counts, measure, k, least), (measure, least, k)
    for number, s, _, _, _ in counts[:3]:
        theirs = opened_segments[number].points(s)
        near = oracle.near(mine, theirs, within, metric)
        found_pairs = engine.pairs(mine, kind, within, metric, number, s)
        got_pairs = set(zip(found_pairs.position.tolist(), found_pairs.id.tolist(), strict=True))
        assert got_pairs == set(zip(*map(np.ndarray.tolist, np.nonzero(near)), strict=True))
        far = oracle.distances(mine, theirs, metric)[found_pairs.position, found_pairs.id]
        assert np.allclose(found_pairs.distance, far, rtol=1e-7, atol=1e-6)
        order = list(zip(found_pairs.position, found_pairs.distance, found_pairs.id, strict=True))
        assert order == sorted(order)


# -- numbers ---------------------------------------------------------------------------------------

_number = st.one_of(
    st.integers(-50, 50).map(float),
    st.integers(-5000, 5000).map(lambda n: n / 100),
    st.sampled_from([0.0, 1e300, -1e300, 1e-300, 5e-324, 2.0**60, 1e15 + 1, -0.5, 0.1, 0.3]),
    st.floats(allow_nan=False, allow_infinity=False),
)
_numbers = st.lists(_number, min_size=1, max_size=30).map(lambda n: np.array(n)[:, None])
_mine = st.lists(st.one_of(_number, st.sampled_from([math.nan, math.inf])), max_size=20).map(
    lambda n: np.array(n, dtype=np.float64)[:, None]
)
_how_near = st.one_of(
    st.sampled_from([0.0, 0.1, 0.5, 1.0, 7.0, 1e300]).map(DistanceLimit),
    st.sampled_from([0.0, 0.01, 0.2, 0.99, 1.0, 1.5, 30.0]).map(
        lambda a: DistanceLimit(a, "share")
    ),
)


@QUICK
@given(
    _mine, st.lists(st.lists(_numbers, min_size=1, max_size=4), min_size=1, max_size=2), _how_near
)
def test_numbers(mine: Array, segments: list[list[Array]], within: DistanceLimit) -> None:
    check(mine, segments, "number", within, "difference", leasts=range(1, len(mine) + 2))


def test_a_difference_equal_to_the_limit_counts() -> None:
    sets = [np.array([[1.1], [0.3], [99.0], [101.0]])]
    for mine, within, count in (
        ([1.0], DistanceLimit(0.1), 1),
        ([0.1], DistanceLimit(0.2), 1),
        ([100.0], DistanceLimit(0.01, "share"), 2),
        ([0.0], DistanceLimit(0.5, "share"), 0),
    ):
        found = PointSetSearch([opened("number", sets)]).search(np.array(mine), "number", within)
        assert (found.pairs.tolist() or [0]) == [count], mine


# -- places ----------------------------------------------------------------------------------------


@st.composite
def _clouds(draw: st.DrawFn) -> tuple[Array, list[list[Array]], float]:
    """(mine, segments of sets, radius in metres): around some centre, at some scale."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    centre = draw(
        st.sampled_from(
            [(48.1, 11.6), (0.0, 0.0), (-16.5, 179.99), (12.0, -180.0), (89.99, 20.0),
             (-90.0, 0.0), (70.0, -179.5), (60.0, 100.0)]
        )
    )  # fmt: skip
    scale = draw(st.sampled_from([1e-7, 1e-4, 0.02, 1.0, 20.0, 170.0]))
    stepped = draw(st.booleans())

    def cloud(count: int) -> Array:
        offsets = random.normal(size=(count, 2)) * scale
        if stepped:  # many at the same place, or in a row
            offsets = np.round(offsets / scale) * scale
        places = np.array(centre) + offsets
        far = random.random(count) < 0.05
        places[far] = random.uniform((-90, -180), (90, 180), (int(far.sum()), 2))
        places[:, 0] = np.clip(places[:, 0], -90, 90)
        return np.stack([places[:, 0], (places[:, 1] + 180) % 360 - 180], axis=1)

    metres = scale * 111_000 * draw(st.sampled_from([0.0, 0.02, 0.3, 1.0, 5.0, 300.0]))
    sizes = st.sampled_from([1, 2, 30, 300])
    segments = [
        [cloud(draw(sizes)) for _ in range(draw(st.integers(1, 3)))]
        for _ in range(draw(st.integers(1, 2)))
    ]
    return cloud(draw(st.sampled_from([1, 5, 60]))), segments, min(metres, 3e7)


@QUICK
@given(_clouds())
def test_places(clouds: tuple[Array, list[list[Array]], float]) -> None:
    mine, segments, metres = clouds
    leasts = sorted({1, 2, len(mine) // 2, len(mine), len(mine) + 1})
    check(mine, segments, "place", DistanceLimit(metres, "m"), "haversine", leasts)


@pytest.mark.parametrize(
    ("mine", "theirs", "metres", "near"),
    [
        ((0, 179.999), (0, -179.999), 300, True),  # over the antimeridian
        ((0, 179.999), (0, -179.999), 200, False),
        ((90, 0), (90, 123), 0, True),  # the pole is one place
        ((89.9999, 0), (89.9999, 180), 23, True),  # over the pole
        ((89.9999, 0), (89.9999, 180), 22, False),
        ((48, 180), (48, -180), 0, True),
        ((10, 20), (-10, -160), math.pi * EARTH_RADIUS, True),  # the other end of the world
        ((10, 20), (-10, -160), math.pi * EARTH_RADIUS - 1000, False),
        ((0, 0), (0, 1), EARTH_RADIUS * math.pi / 180, True),  # exactly as far as allowed
        ((0, 0), (0, 1), EARTH_RADIUS * math.pi / 180 - 0.001, False),
    ],
)
def test_corners_of_the_globe(
    mine: tuple[float, float], theirs: tuple[float, float], metres: float, near: bool
) -> None:
    engine = PointSetSearch([opened("place", [np.array([theirs], dtype=np.float64)])])
    found = engine.search(np.array([mine]), "place", DistanceLimit(metres, "m"), "haversine")
    assert len(found) == near


def test_a_city_with_an_outlier_at_nowhere() -> None:
    random = np.random.default_rng(5)
    city = np.array([48.1, 11.6]) + random.normal(size=(700, 2)) * [0.03, 0.05]
    mine = np.vstack([city[:300], [[0.0, 0.0]], [[math.nan, 1.0]]])
    sets = [city[200:], np.vstack([city[:50], [[0.001, 0.001]]]), city[:1] + 1.0]
    for metres in (5.0, 200.0, 2000.0, 50_000.0):
        check(mine, [sets], "place", DistanceLimit(metres, "m"), "haversine", (1, 200), (None, 2))


@pytest.mark.parametrize("centre", [(48.1, 11.6), (-16.5, 179.95), (70.0, -180.0)])
def test_sets_of_several_blocks_with_much_that_is_open(centre: tuple[float, float]) -> None:
    random = np.random.default_rng(6)

    def spread(count: int, extent: float, north: float = 0.0) -> Array:
        places = np.array(centre) + random.uniform(-extent, extent, (count, 2))
        places[:, 0] += north
        return np.stack([places[:, 0], (places[:, 1] + 180) % 360 - 180], axis=1)

    sets = [spread(700, 0.2), spread(300, 0.2), spread(900, 0.05, 0.15), spread(600, 0.1, 0.6)]
    for metres in (300.0, 900.0, 3000.0):
        check(
            spread(400, 0.2),
            [sets],
            "place",
            DistanceLimit(metres, "m"),
            "haversine",
            (1, 150, 300),
        )


# -- vectors ---------------------------------------------------------------------------------------


@st.composite
def _vectors(draw: st.DrawFn) -> tuple[Array, list[list[Array]], DistanceLimit, str]:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    dimension = draw(st.sampled_from([2, 3, 8, 9, 20, 70, 300]))
    scale = draw(st.sampled_from([1.0, 1e-9, 1e9]))
    whole = draw(st.booleans())

    def cloud(count: int) -> Array:
        points = random.normal(size=(count, dimension))
        points = np.round(points) if whole else points
        return np.asarray(points * scale)

    metric = draw(st.sampled_from(METRICS["vector"][:3]))
    amount = draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5]))
    within = DistanceLimit(amount if metric == "angular" else amount * scale)
    if metric != "angular":  # as far apart as these vectors are, in any dimension
        apart = dimension if metric == "l1" else dimension**0.5
        within = draw(st.sampled_from([within, DistanceLimit(amount * scale * apart / 2)]))
    sizes = st.sampled_from([1, 3, 25, 150])
    segments = [[cloud(draw(sizes)) for _ in range(draw(st.integers(1, 3)))] for _ in range(2)]
    mine = np.vstack([cloud(draw(st.sampled_from([1, 3, 12]))), np.zeros((1, dimension))])
    copied = draw(st.integers(0, 2))
    mine = np.vstack([mine, segments[0][0][:copied], [[math.nan] * dimension]])
    return mine, segments, within, metric


@QUICK
@given(_vectors())
def test_vectors(vectors: tuple[Array, list[list[Array]], DistanceLimit, str]) -> None:
    mine, segments, within, metric = vectors
    check(mine, segments, "vector", within, metric, leasts=(1, 2, len(mine)), ks=(None, 2))


@pytest.mark.parametrize(("metric", "limit"), [("angular", 3.5), ("l2", 1e300), ("l1", 1e300)])
def test_a_limit_beyond_all_vectors(metric: str, limit: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(indexed_vectors, "SCANNED", 0)
    sets = [np.eye(9)[:3], np.eye(9)[:1]]
    check(np.eye(9), [sets], "vector", DistanceLimit(limit), metric)


def test_sets_are_dropped_by_their_bounds() -> None:
    """Where few pairs are near, most of the work is bounds; the excluded sets are not counted."""
    random = np.random.default_rng(3)
    centres = random.normal(size=(40, 12))
    sets = [c + 0.01 * random.normal(size=(100, 12)) for c in centres]
    points = opened("vector", sets)
    found = PointSetSearch([points]).search(sets[5][:50], "vector", DistanceLimit(0.1), "l2")
    assert found.column.tolist() == [5]
    assert set(found.counters.methods) <= {"tree", "flat"}
    assert found.counters.verified < 5_000
    excluded = ExcludedColumns([np.array([5])])
    found = PointSetSearch([points]).search(
        sets[5][:50], "vector", DistanceLimit(0.1), "l2", excluded=excluded
    )
    assert len(found) == 0


@pytest.mark.parametrize("dear_scan", [False, True])
@QUICK
@given(_vectors())
def test_vectors_in_compact_form(
    dear_scan: bool, vectors: tuple[Array, list[list[Array]], DistanceLimit, str]
) -> None:
    """Also where all pairs are candidates, and would be scanned."""
    mine, segments, within, metric = vectors
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed_vectors, "SCANNED", 0)
        if dear_scan:
            patch.setattr(vector_distance, "SCAN", 1e9)
        check(mine, segments, "vector", within, metric, leasts=(1, 2, len(mine)), ks=(None, 2))


def test_vectors_of_two_numbers_may_be_places() -> None:
    sets = [np.array([[48.1, 11.6], [50.0, 8.0]]), np.array([[480.1, 11.6]])]
    engine = PointSetSearch([opened("vector", sets)])
    mine = np.array([[48.1001, 11.6001]])
    found = engine.search(mine, "vector", DistanceLimit(50, "m"), "haversine")
    assert (found.column.tolist(), found.matched.tolist()) == ([0], [1])
    assert len(engine.search(mine, "place", DistanceLimit(50, "m"))) == 0


# -- what can be asked for -------------------------------------------------------------------------


def test_excluded_columns_are_not_found() -> None:
    sets = [np.array([[float(i)], [7.0]]) for i in range(4)]
    engine = PointSetSearch([opened("number", sets)])
    excluded = ExcludedColumns([np.array([0, 2])])
    found = engine.search(np.array([7.0]), "number", DistanceLimit(0), excluded=excluded)
    assert sorted(found.column.tolist()) == [1, 3]
    places = PointSetSearch([opened("place", [np.array([[1.0, 2.0]])] * 2)])
    both = ExcludedColumns([np.array([1001])])  # the second column of the second set
    here = np.array([[1.0, 2.0]])
    assert places.search(here, "place", DistanceLimit(1, "m"), excluded=both).column.tolist() == [0]


def test_nothing_of_mine_finds_nothing() -> None:
    for kind, within in (
        ("number", DistanceLimit(1)),
        ("place", DistanceLimit(1, "m")),
        ("vector", DistanceLimit(1)),
    ):
        width = {"number": 1, "place": 2, "vector": 3}[kind]
        engine = PointSetSearch([opened(kind, [np.ones((2, width))]), opened(kind, [])])
        assert len(engine.search(np.zeros((0, width)), kind, within)) == 0
        assert len(engine.search(np.full((2, width), np.nan), kind, within)) == 0


@pytest.mark.parametrize(
    ("given", "amount", "unit"),
    [
        ("500m", 500, "m"), ("2 km", 2000, "m"), ("3mi", 4828.032, "m"), ("1%", 0.01, "share"),
        ("0.5", 0.5, "absolute"), (3, 3, "absolute"), ("1e3", 1000, "absolute"),
    ],
)  # fmt: skip
def test_distances_as_they_are_written(given: Any, amount: float, unit: str) -> None:
    assert parse_distance(given) == DistanceLimit(amount, unit)


@pytest.mark.parametrize("given", ["", "x", "-5m", "5 parsecs", "nan", "m", True, "1 % %"])
def test_what_is_no_distance(given: Any) -> None:
    with pytest.raises(InputError):
        parse_distance(given)


@pytest.mark.parametrize(
    ("kind", "within", "metric"),
    [
        ("place", "0.5", None), ("place", "1%", None), ("number", "5m", None),
        ("vector", "5m", None), ("vector", "1%", None), ("number", "5", "l2"),
        ("place", "5m", "l2"), ("thing", "5", None),
    ],
)  # fmt: skip
def test_what_does_not_go_together(kind: str, within: str, metric: str | None) -> None:
    with pytest.raises(InputError):
        PointSetSearch([]).search(np.zeros((1, 2)), kind, parse_distance(within), metric)
