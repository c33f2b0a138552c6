"""Ways by place and by meaning in a fused search: shares, chances, and what is not told."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.engines.query import QueryTable
from lakejoin.inputs import resolve_table
from lakejoin.lake import Lake
from lakejoin.model import ValueRules
from lakejoin.ranking.coordinate_candidates import (
    choose_radii,
    find_coordinate_candidates,
    move_points,
    nearest_distances,
)
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.ranking.join_score import Signals
from lakejoin.ranking.meaning_candidates import (
    EstimatedMatch,
    find_meaning_candidates,
    find_unmatched_positions,
    sample_query_positions,
)
from lakejoin.search.lake_background import look_like_words, mix_texts
from lakejoin.search.options import SearchOptions
from lakejoin.search.query_columns import ColumnChoice
from lakejoin.search.query_tables import FrameTable
from lakejoin.store.distance_limits import EARTH_RADIUS, METRES, DistanceLimit
from lakejoin.store.point_sets import PointsComponent
from lakejoin.store.postings import PostingsComponent
from oracle.lakes import PlainTable
from oracle.nearby import distances
from oracle.search import lake_of
from search.key_lakes import key_lake
from search.near_lakes import meaning_lake

RANDOM = random.Random(8)
METRE = math.degrees(1 / EARTH_RADIUS)  # of latitude


def mine_of(columns: dict[str, Sequence[str | None]]) -> QueryTable:
    arrays = [pa.array(list(cells), pa.string()) for cells in columns.values()]
    return FrameTable(pa.Table.from_arrays(arrays, list(columns)), ValueRules())


def by_name(ways: Sequence[JoinCandidate]) -> dict[str, JoinCandidate]:
    return {way.result.table: way for way in ways}


# -- places ----------------------------------------------------------------------------------------


def places(points: Sequence[tuple[float, float]], *names: str) -> dict[str, Sequence[str | None]]:
    lat, lon = names or ("lat", "lon")
    return {
        lat: [f"{north:.6f}" for north, _ in points],
        lon: [f"{east:.6f}" for _, east in points],
        "what": [f"thing {n}" for n in range(len(points))],
    }


def shifted(points: Sequence[tuple[float, float]], metres: float) -> list[tuple[float, float]]:
    """North or south by so much."""
    return [(n + RANDOM.choice((-1, 1)) * metres * METRE, e) for n, e in points]


# Some 10 km apart, in a land of a few hundred.
TOWNS = [(45 + RANDOM.random() * 3, 5 + RANDOM.random() * 4) for _ in range(400)]
ELSEWHERE = [(45 + RANDOM.random() * 3, 5 + RANDOM.random() * 4) for _ in range(400)]
DENSE = [(45 + n // 70 * 0.043, 5 + n % 70 * 0.058) for n in range(4900)]


@pytest.fixture(scope="module")
def land(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two segments."""
    groups = [
        [
            PlainTable("stations.csv", places(shifted(TOWNS[:300], 300.0))),
            PlainTable("elsewhere.csv", places(ELSEWHERE)),
        ],
        [
            PlainTable("same.csv", places(TOWNS[:60], "latitude", "longitude")),
            PlainTable("everywhere.csv", places(DENSE)),
        ],
    ]
    components = (PostingsComponent(), PointsComponent())
    return lake_of(tmp_path_factory.mktemp("land"), groups, components=components)


def test_places_near_mine_are_told_with_the_radius(land: Lake) -> None:
    mine = mine_of(places(TOWNS))
    ways = by_name(find_coordinate_candidates(land._searcher, mine))
    assert set(ways) == {"stations.csv", "same.csv"}, "by chance all cover the same land"
    stations, same = ways["stations.csv"], ways["same.csv"]
    assert (stations.kind, stations.how) == ("near", "within 500 m")
    assert stations.radius == DistanceLimit(500.0, METRES)
    assert stations.query_columns == ("lat", "lon")
    assert stations.result.matched >= 300
    assert stations.result.row_coverage == stations.result.containment
    assert (same.how, same.lake_columns) == ("within 50 m", ("latitude", "longitude"))
    assert (same.signals.values, same.signals.share, same.result.matched) == (60, 1.0, 60)
    assert same.signals.chance == 0.02


def test_a_table_of_the_lake_is_asked_alike(land: Lake) -> None:
    known = resolve_table("same.csv", land.snapshot).query_table(land.snapshot)
    frame = mine_of(places(TOWNS[:60], "latitude", "longitude"))
    answers = []
    for mine in (known, frame):
        ways = by_name(find_coordinate_candidates(land._searcher, mine))
        assert "everywhere.csv" not in ways
        way = ways["stations.csv"]
        answers.append((way.how, way.result.matched, way.signals))
    assert answers[0] == answers[1]


def test_places_that_nothing_is_near_or_that_are_none(land: Lake, tmp_path: Path) -> None:
    searcher = land._searcher
    far = [(-40 + RANDOM.random(), 100 + RANDOM.random()) for _ in range(50)]
    assert find_coordinate_candidates(searcher, mine_of(places(far))) == []
    assert find_coordinate_candidates(searcher, mine_of(places(TOWNS[:2]))) == []
    assert find_coordinate_candidates(searcher, mine_of({"lat": ["a", "b"], "n": ["1", "2"]})) == []
    without = key_lake(tmp_path, [PlainTable("t.csv", places(TOWNS))])
    assert find_coordinate_candidates(without._searcher, mine_of(places(TOWNS))) == []


POINTS = st.lists(st.tuples(st.floats(-89, 89), st.floats(-179, 179)), min_size=1, max_size=12).map(
    np.array
)


@given(POINTS, POINTS, st.sampled_from([100.0, 10_000.0, 2_000_000.0]))
def test_the_nearest_place_is_that_of_brute_force(
    asked: np.ndarray, among: np.ndarray, most: float
) -> None:
    found = nearest_distances(asked, among, most)
    expected = distances(asked, among, "haversine").min(axis=1)
    near = expected <= most
    assert np.allclose(found[near], expected[near], rtol=1e-6, atol=0.01)
    assert (np.isinf(found) | (expected <= most + 0.01)).all()
    assert not np.isinf(found[expected < most - 0.01]).any()


@given(POINTS, st.floats(1, 50_000))
def test_wrong_places_are_as_far_as_is_said(points: np.ndarray, away: float) -> None:
    apart = distances(points, move_points(points, away), "haversine").diagonal()
    assert np.allclose(apart, away, rtol=1e-6, atol=0.01)
    assert (np.abs(move_points(points, away)) <= (90, 180)).all()


@given(POINTS)
def test_radii_rise(points: np.ndarray) -> None:
    radii = choose_radii(points)
    assert radii and radii == sorted(set(radii))
    assert 50 <= radii[0] <= radii[-1] <= 10_000


# -- meaning ---------------------------------------------------------------------------------------

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jetty"]


def institute(number: int) -> str:
    letters = "bcdfghjklmnprstvwz"
    own = "".join(letters[number // 18**i % 18] + "aeiou"[(number + i) % 5] for i in range(4))
    return f"{own}{own[::-1]} {WORDS[number % 10]}works"


NAMES = [institute(n * 37 + 11) for n in range(60)]
MISSPELT = [name.replace("works", "workss").replace("e", "ee", 1) for name in NAMES]
ALIKE = [f"{word} university of {other}" for word in WORDS for other in WORDS]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two segments, in which texts are near by their letters."""
    groups = [
        [
            PlainTable("written.csv", {"title": MISSPELT, "seat": [f"s{n}" for n in range(60)]}),
            PlainTable("equal.csv", {"name": NAMES}),
        ],
        [
            PlainTable("schools.csv", {"school": ALIKE}),
            PlainTable("other.csv", {"word": [institute(n * 91 + 5000) for n in range(80)]}),
            PlainTable("codes.csv", {"code": [name[:3] for name in NAMES]}),
        ],
    ]
    return meaning_lake(tmp_path_factory.mktemp("archive"), *groups)


def test_texts_that_mean_the_same_are_told_where_they_differ(archive: Lake) -> None:
    mine = mine_of({"institute": NAMES, "place": [f"s{n}" for n in range(60)]})
    (way,) = find_meaning_candidates(archive._searcher, mine, 0)
    assert way.result.table == "written.csv", "not where values are equal"
    assert (way.kind, way.how) == ("meaning", "by meaning, nearest both ways")
    assert (way.tau, way.sampled) == (None, None)
    assert way.result.matched == 60 and way.result.row_coverage == 1.0
    assert way.signals.values == 24 and way.signals.share > 0.95
    assert way.signals.chance < 0.2
    assert way.signals.rows > 10, "the seats agree"


def test_names_that_cannot_be_told_apart_meet_by_chance(archive: Lake) -> None:
    mine = mine_of({"school": [f"{a} university of {b}s" for a in WORDS[:5] for b in WORDS]})
    names = {"school": mine.query(0).tokens.to_pylist()}
    answer = archive.similar(names, min_share=0.5, tau=0.3)
    assert [one.table for one in answer] == ["schools.csv"], "all of them have partners"
    assert not len(archive.similar(names, min_share=0.5)), "the rule knows that they are siblings"
    assert find_meaning_candidates(archive._searcher, mine, 0) == []


def test_only_values_without_an_equal_partner_are_asked_for(archive: Lake) -> None:
    searcher = archive._searcher
    mine = mine_of({"institute": [*NAMES[:40], *MISSPELT[40:]]})
    query = mine.query(0)
    answer = searcher.search(mine, ColumnChoice((0,)), SearchOptions(k=5))
    equal = [JoinCandidate(("institute",), one, Signals(60, 1.0, 0.02, 1.0)) for one in answer]
    assert find_unmatched_positions(query, equal).tolist() == []
    assert find_meaning_candidates(searcher, mine, 0, find_unmatched_positions(query, equal)) == []
    first = [way for way in equal if way.result.table == "equal.csv"]
    unmet = find_unmatched_positions(query, first)
    assert unmet.tolist() == list(range(40, 60))
    ways = by_name(find_meaning_candidates(searcher, mine, 0, unmet))
    assert "equal.csv" in ways
    assert ways["equal.csv"].signals.values == 20


def test_estimates_where_there_are_too_many_pairs(
    archive: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakejoin.ranking.meaning_candidates._EXACTLY", 10)
    (way,) = find_meaning_candidates(archive._searcher, mine_of({"institute": NAMES}), 0)
    result = way.result
    assert isinstance(result, EstimatedMatch)
    assert 57 <= result.matched <= 60 and result.row_coverage is None  # of 24 values 97 %
    assert result.containment == result.matched / 60
    assert way.how.endswith("; from 24 values")
    assert way.sampled == 24
    assert "JOIN" in result.sql() and way.to_dict()["fan_out"] is None


def test_what_has_no_meaning_is_not_asked_for(archive: Lake, tmp_path: Path) -> None:
    searcher = archive._searcher
    for cells in (
        [name[:3] for name in NAMES],
        [f"Monday {n} May 2010" for n in range(1, 30)],
        [str(n) for n in range(60)],
        NAMES[:5],
    ):
        assert find_meaning_candidates(searcher, mine_of({"c": cells}), 0) == []
    without = key_lake(tmp_path, [PlainTable("t.csv", {"title": MISSPELT})])
    assert find_meaning_candidates(without._searcher, mine_of({"institute": NAMES}), 0) == []


@given(st.lists(st.text("abc xyz", min_size=1), min_size=1, max_size=30, unique=True))
def test_mixed_texts_are_none_of_mine(texts: list[str]) -> None:
    made = mix_texts(texts, frozenset(texts))
    assert not set(made) & set(texts)
    assert len(made) <= 16 and all(text == text.strip() != "" for text in made)


@given(st.integers(1, 90), st.data())
def test_a_sample_has_those_first_that_are_wanted(size: int, data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.integers(0, size - 1), max_size=size))
    found = sample_query_positions(size, np.array(sorted(wanted), np.int64), 20).tolist()
    assert len(set(found)) == len(found) == min(size, 20) and found == sorted(found)
    assert len(wanted & set(found)) == min(len(wanted), 20)


def test_words_are_told_from_codes() -> None:
    assert look_like_words(pa.array(NAMES)) and not look_like_words(pa.array([], pa.string()))
