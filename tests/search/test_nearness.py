"""Search by distance: places, numbers and vectors of mine, exact against brute force."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.search.answer import Answer
from lakejoin.search.distance_search import format_number
from lakejoin.search.options import VectorDistance
from lakejoin.search.result import NearResult
from lakejoin.store.distance_limits import parse_distance
from lakejoin.store.point_sets import PointsComponent
from lakejoin.store.postings import PostingsComponent
from oracle import nearby
from oracle.lakes import PlainTable
from oracle.search import lake_of, search_by

STATIONS = PlainTable(
    "stations.csv",
    {
        "name": ["Bern", "Thun", "Olten", "Basel", "Bern again"],
        "lat": ["46.9490", "46.7548", "47.3520", "47.5476", "46.9490"],
        "lon": ["7.4390", "7.6296", "7.9078", "7.5896", "7.4390"],
        "price": ["10.00", "20.5", "30", "100", "100"],
    },
)
TOGETHER = PlainTable(
    "together.csv", {"position": ["46.9491, 7.4391", "46.7547, 7.6297"], "n": ["99", "101"]}
)
SIGNED = PlainTable(
    "signed.csv", {"breite": ["46.9490° N", "46.7548° N"], "laenge": ["7.4390° E", "7.6296° E"]}
)
VECTORS = PlainTable("vectors.csv", {"v": ["[1, 0, 0]", "[0, 1, 0]", "[0.6, 0.8, 0]"]})


def points_lake(folder: Path, *groups: Sequence[PlainTable], **options: Any) -> Lake:
    return lake_of(folder, groups, components=(PostingsComponent(), PointsComponent()), **options)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("points")
    return points_lake(folder, [STATIONS, TOGETHER], [SIGNED, VECTORS])


def first(answer: Answer) -> NearResult:
    found = answer[0]
    assert isinstance(found, NearResult)
    return found


MINE = {"lat": [46.9489, 46.7549, 0.0], "lon": [7.4391, 7.6297, 0.0], "id": [1, 2, 3]}


# -- places ----------------------------------------------------------------------------------------


def test_places_are_found_however_they_are_written(lake: Lake) -> None:
    answer = lake.nearby(MINE, on=["lat", "lon"], within="100m")
    found = {(r.table, r.columns): (r.matched, r.column_size) for r in answer}
    assert found == {
        ("stations.csv", ("lat", "lon")): (2, 4),
        ("together.csv", ("position",)): (2, 2),
        ("signed.csv", ("breite", "laenge")): (2, 2),
    }
    assert answer.within == "100m" and answer.measure == "hit" and answer.tau is None
    assert answer.query.columns == ("lat", "lon") and not answer.notes
    mappings = {r.table: r.mapping for r in answer}
    assert mappings["together.csv"] == {"lat": "position", "lon": "position"}
    assert mappings["signed.csv"] == {"lat": "breite", "lon": "laenge"}
    assert "lat, lon → position" in repr(answer) and "lat, lon → position" in answer._repr_html_()


def test_evidence_of_places(lake: Lake) -> None:
    answer = lake.nearby(MINE, on=["lat", "lon"], within="100m")
    result = next(r for r in answer if r.table == "stations.csv")
    assert isinstance(result, NearResult)
    assert (result.pairs, result.row_coverage, result.fan_out) == (2, 2 / 3, 1.0)
    bern, thun = result.matches().to_pylist()
    assert bern["value"] == "46.9489, 7.4391" and bern["partner"] == "46.949, 7.439"
    assert (bern["mine"], bern["theirs"], thun["theirs"]) == (1, 2, 1)
    assert 12 < bern["distance"] < 14 and 12 < thun["distance"] < 14
    assert result.distance == pytest.approx((bern["distance"] + thun["distance"]) / 2)
    assert result.unmatched().to_pylist() == [{"value": "0, 0", "mine": 1}]
    assert result.examples["matched"][0].count(" ~ ") == 1
    assert [one["distance"] for one in result.farthest().to_pylist()] == [
        thun["distance"],
        bern["distance"],
    ]


@pytest.mark.parametrize("names", [("lon", "lat"), ("Longitude", "Latitude"), ("x", "y")])
def test_longitude_first_is_noticed_and_said(lake: Lake, names: tuple[str, str]) -> None:
    mine = dict(zip(names, (MINE["lon"], MINE["lat"]), strict=True))
    answer = lake.nearby(mine, on=list(names), within="100m")
    assert len(answer) == 3 and answer.query.columns == names[::-1]
    assert answer.notes == (f"using {names[1]!r} as latitude and {names[0]!r} as longitude",)


def test_numbers_beyond_90_say_which_is_which(lake: Lake) -> None:
    mine = {"a": [7.4391, 7.6297, 151.2], "b": [46.9489, 46.7549, -33.9]}
    answer = lake.nearby(mine, on=["a", "b"], within="100m")
    assert answer.query.columns == ("b", "a") and len(answer) == 3
    plain = lake.nearby({"a": [46.9489], "b": [7.4391]}, ["a", "b"], within="100m")
    assert plain.notes == ("using 'a' as latitude and 'b' as longitude",)
    assert len(plain) == 3


def test_one_axis_that_is_named_tells_the_other(lake: Lake) -> None:
    mine = {"lat": MINE["lat"], "b": MINE["lon"]}
    answer = lake.nearby(mine, on=["lat", "b"], within="100m")
    assert answer.notes == ("using 'lat' as latitude and 'b' as longitude",)
    both = {"start_lat": MINE["lat"], "end_lat": MINE["lon"]}
    with pytest.raises(InputError, match="'start_lat' and 'end_lat' are both a latitude"):
        lake.nearby(both, on=["start_lat", "end_lat"], within="100m")


@pytest.mark.parametrize(
    "texts",
    [
        ["46.9489, 7.4391", "46.7549, 7.6297"],
        ["POINT(7.4391 46.9489)", "POINT(7.6297 46.7549)"],
        ["[7.4391, 46.9489]", "[7.6297, 46.7549]"],
        ["46.9489° N, 7.4391° E", "46.7549° N, 7.6297° E"],
    ],
)
def test_both_in_one_column(lake: Lake, texts: list[str]) -> None:
    answer = lake.nearby({"where": texts}, on="where", within="0.1km")
    assert {r.matched for r in answer} == {2} and len(answer) == 3
    assert first(answer).matches()["value"].to_pylist()[0] in texts
    stations = next(r for r in answer if r.table == "stations.csv")
    assert stations.mapping == {"where": "lat, lon"}


def test_my_coordinates_are_found_by_themselves(lake: Lake) -> None:
    answer = lake.nearby(MINE, within="100m")
    assert len(answer) == 3
    assert answer.notes[0] == "no column was named; using 'lat' and 'lon' as coordinates"
    one = lake.nearby({"n": [1], "p": ["46.9489, 7.4391"]}, within="100m")
    assert one.notes[0] == "no column was named; using 'p' as coordinates" and len(one) == 3
    with pytest.raises(InputError, match="my_table has no columns that look like coordinates"):
        lake.nearby({"a": ["x"], "n": [5]}, within="100m")


def test_rows_without_a_place_are_said(lake: Lake) -> None:
    mine = {"lat": ["46.9489", "n/a", "95.5", "46.7549"], "lon": ["7.4391", "7", "8.5", None]}
    answer = lake.nearby(mine, on=["lat", "lon"], within="100m")
    assert answer.notes == ("1 of the 2 values of 'lat' and 'lon' are not valid coordinates",)
    assert len(answer.query) == 1 and first(answer).row_coverage == 0.25


# -- numbers and vectors ---------------------------------------------------------------------------


def test_numbers(lake: Lake) -> None:
    answer = lake.nearby({"p": [100, 10, 7]}, on="p", within="1%", min_share=0.3)
    found = {(r.table, r.columns): (r.matched, getattr(r, "pairs", None)) for r in answer}
    assert found == {("stations.csv", ("price",)): (2, 2), ("together.csv", ("n",)): (1, 2)}
    together = next(r for r in answer if r.table == "together.csv")
    assert together.matches()["distance"].to_pylist() == [0.01, 0.01]  # of mine
    assert "1%" in repr(answer) and answer.reach is not None and answer.reach.unit == "%"
    near = lake.nearby({"p": ["10.4", "20"]}, on="p", within=0.5)
    assert first(near).matches().to_pylist() == [
        {"value": "10.4", "partner": "10", "distance": pytest.approx(0.4), "mine": 1, "theirs": 1},
        {"value": "20", "partner": "20.5", "distance": 0.5, "mine": 1, "theirs": 1},
    ]
    assert near.to_dict()["metric"] == "difference" and near.within == "0.5"


def test_more_pairs_than_can_be_listed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakejoin.search.result.MAX_LISTED_PAIRS", 3)
    mine = {"price": ["10", "20", "30"]}
    answer = lake.nearby(mine, on="price", within=12, k=1)
    assert first(answer).pairs == 7
    assert answer[0].matched == 3 and answer[0].row_coverage is answer[0].fan_out is None
    assert answer[0].examples == {"matched": [], "unmatched": []}
    assert json.loads(json.dumps(answer.to_dict()))["results"][0]["distance"] is None
    assert answer.to_arrow()["distance"].to_pylist() == [None]
    assert answer.notes[-1].startswith("1 result has more than 3 pairs, too many to list")
    with pytest.raises(InputError, match="has 7 matching pairs, but only 3 can be listed"):
        answer[0].matches()


def test_nothing_is_near_zero_by_a_share(lake: Lake) -> None:
    answer = lake.nearby({"p": [0, 100]}, on="p", within="1%", k=1)
    assert first(answer).matches().to_pylist() == [
        {"value": "100", "partner": partner, "distance": 0.01, "mine": 1, "theirs": 1}
        for partner in ("99", "101")
    ]


@pytest.mark.parametrize(
    ("metric", "within", "matched"), [(None, 0.1, 1), ("l1", 0.1, 1), ("angular", 0.65, 2)]
)
def test_vectors(lake: Lake, metric: str | None, within: float, matched: int) -> None:
    mine = {"e": ["[1.0, 0.05, 0]", "[0.1, 0.9, 0.1]"]}
    answer = lake.nearby(
        mine, on="e", within=VectorDistance(within, metric) if metric else within, k=1
    )
    assert (first(answer).table, first(answer).matched) == ("vectors.csv", matched)
    assert first(answer).matches()["partner"].to_pylist()[0] == "[1, 0, 0]"
    assert answer.to_dict()["metric"] == (metric or "l2")


def test_vectors_on_the_globe(tmp_path: Path) -> None:
    pairs = PlainTable("pairs.csv", {"v": ["[46.9490, 7.4390]", "[46.7548, 7.6296]"]})
    lake = points_lake(tmp_path, [pairs, STATIONS])
    mine = {"v": ["[46.9491, 7.4391]", "[46.7549, 7.6297]", "[96.7, 7]"]}
    answer = lake.nearby(mine, "v", within=VectorDistance("100m", "haversine"), min_share=0)
    assert [(one.table, one.columns, one.matched) for one in answer] == [
        ("pairs.csv", ("v",), 2),
        ("stations.csv", ("lat", "lon"), 2),
    ]
    assert first(answer).distance == pytest.approx(13.5, abs=0.5)
    assert answer.notes == ("1 of the 3 values of 'v' are not valid coordinates",)
    with pytest.raises(InputError, match="takes latitude and longitude"):
        lake.nearby({"v": ["[1, 2, 3]"]}, "v", within=VectorDistance("1m", "haversine"))


def test_lists_of_a_frame_are_vectors(lake: Lake) -> None:
    answer = lake.nearby({"e": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]}, within=0.01, on=0)
    assert first(answer).matched == 2


# -- brute force -----------------------------------------------------------------------------------

_numbers = st.sampled_from(["1", "1.5", "2", "10", "10.1", "-3", "0", "1e3", "x", None])
_degrees = st.sampled_from(["0.125", "0.126", "45.375", "45.3751", "-89.999", "89.512", "12.3456"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(_numbers, min_size=1, max_size=8), min_size=1, max_size=4),
    st.lists(_numbers, min_size=1, max_size=6),
    st.sampled_from(["0", "0.1", "0.5", "1%", "10%", "100%", "1000"]),
    st.sampled_from(["hit", "all"]),
    st.sampled_from([None, 0.0, 1.0]),
    st.sampled_from([None, 1, 2]),
)
def test_numbers_as_by_hand(
    columns: Sequence[Any],
    mine: Sequence[str | None],
    within: str,
    measure: str,
    least: float | None,
    k: int | None,
) -> None:
    real = {float(text) for text in mine if text not in (None, "x")}
    tables = [PlainTable(f"t{i}.csv", {"c": cells}) for i, cells in enumerate(columns)]
    asked = {"within": within, "measure": measure, "min_share": least, "k": k}
    with TemporaryDirectory() as folder:
        lake = points_lake(Path(folder), tables[::2], tables[1::2])
        if not real:
            with pytest.raises(InputError):
                lake.nearby({"q": mine}, on="q", **asked)
            return
        answer = lake.nearby({"q": mine}, on="q", **asked)
        share = 0.6 if least is None and k is None else least or 0.0
        needed = max(1, int(np.ceil(share * len(real) - 1e-9)))
        own = np.array(sorted(real))[:, None]
        expected = []
        for number, segment in enumerate(lake.snapshot.segments):
            for s in range(segment.points.count):
                found = nearby.near(
                    own, segment.points.points(s), parse_distance(within), "difference"
                )
                hits, pairs = int(found.any(axis=1).sum()), int(found.sum())
                score = pairs if measure == "all" else hits
                if score >= needed:
                    place = (number, segment.points.columns(s))
                    expected.append((-score, segment.points.size(s), place, (hits, pairs)))
        best = [(place, counts) for _, _, place, counts in sorted(expected)[:k]]
        assert best == [
            ((r.found.segment_index, r.found.segment_columns), (r.matched, r.pairs))
            for r in answer
            if isinstance(r, NearResult) and r.found
        ]
        for result in answer:
            assert result.matches().num_rows == getattr(result, "pairs", -1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(_degrees, _degrees), min_size=1, max_size=6), st.data())
def test_places_as_by_hand(theirs: Sequence[tuple[str, str]], data: st.DataObject) -> None:
    mine = data.draw(st.lists(st.tuples(_degrees, _degrees), min_size=1, max_size=5))
    within = data.draw(st.sampled_from(["1m", "10m", "200m", "100km", "30000km"]))
    table = PlainTable("t.csv", {"lat": [a for a, _ in theirs], "lon": [b for _, b in theirs]})
    with TemporaryDirectory() as folder:
        lake = points_lake(Path(folder), [table])
        frame = {"lat": [a for a, _ in mine], "lon": [b for _, b in mine]}
        answer = lake.nearby(frame, ["lat", "lon"], within=within, k=1)
        own = np.array(sorted({(float(a), float(b)) for a, b in mine}))
        other = np.array(sorted({(float(a), float(b)) for a, b in theirs}))
        found = nearby.near(own, other, parse_distance(within), "haversine")
        assert len(answer.query) == len(own)
        if not len(answer):
            assert not found.any()
            return
        assert (first(answer).matched, first(answer).pairs) == (
            found.any(axis=1).sum(),
            found.sum(),
        )
        apart = sorted(nearby.distances(own, other, "haversine")[found])
        told = first(answer).matches()["distance"].to_numpy()
        np.testing.assert_allclose(told, apart, atol=1e-3)


# -- what is said ----------------------------------------------------------------------------------


def test_json(lake: Lake) -> None:
    answer = lake.nearby(MINE, on=["lat", "lon"], within="2km")
    document = json.loads(json.dumps(answer.to_dict()))
    assert document["within"] == "2km" and document["metric"] == "haversine"
    assert document["query"]["column"] is None and document["query"]["columns"] == ["lat", "lon"]
    assert document["tau"] is None and document["encoder"] is None and document["taus"] is None
    assert answer.to_arrow()["pairs"].to_pylist() == [r["pairs"] for r in document["results"]]


@pytest.mark.parametrize("within", ["3mi", "0.5km", "1500 m", "1e3m"])
def test_within_is_told_as_it_was_given(lake: Lake, within: str) -> None:
    answer = lake.nearby(MINE, on=["lat", "lon"], within=within)
    assert answer.within == answer.to_dict()["within"] == within


def test_vectors_of_one_direction_are_not_equal(lake: Lake) -> None:
    mine = {"v": [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]}
    answer = lake.nearby(mine, "v", within=VectorDistance(0, "angular"))
    assert first(answer).pairs == 2 and first(answer).equal == 1
    assert first(answer).matches(differing=True)["value"].to_pylist() == ["[2.0,0.0,0.0]"]


def test_the_table_itself_is_left_out(lake: Lake) -> None:
    both = lake.nearby("stations.csv", ["lat", "lon"], within="50m", k=3)
    assert both[0].copy == "itself" and first(both).pairs == 4
    others = lake.nearby("stations.csv", ["lat", "lon"], within="50m", k=3, skip_copies=True)
    assert "stations.csv" not in [r.table for r in others] and len(others) == 2
    assert others.notes == ("the table itself is left out",)


def test_nothing_is_said_plainly(lake: Lake, tmp_path: Path) -> None:
    *_, note = lake.nearby({"a": [0.5], "lon": [0.5]}, within="1m", on=[0, 1]).notes
    assert note == (
        "the only value of 'a' and 'lon' has no match within 1m in any table with coordinates in "
        "the lake"
    )
    (note,) = lake.nearby({"n": [1234, 4321]}, within=1, on="n").notes
    assert note == (
        "no column of numbers in the lake has matches within 1 for 60% of the 2 values of 'n'"
    )
    (note,) = lake.nearby({"n": [1234, 4321]}, within=1, on="n", k=1).notes
    assert note.startswith("none of the 2 values of 'n' has a match within 1 in any column of n")
    small = points_lake(tmp_path, [PlainTable("t.csv", {"c": ["a", "b"]})])
    (note,) = small.nearby({"n": [1]}, within=1, on="n").notes
    assert note == "the lake has no column of numbers"


def test_there_is_no_sql_for_distances(lake: Lake) -> None:
    answer = lake.nearby({"p": [100]}, on="p", within=1, k=1)
    with pytest.raises(InputError, match="a join by distance cannot be written as SQL"):
        answer[0].sql()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "needs a distance: within 500m for coordinates"),
        ({"within": "far"}, "'far' is not a distance: write 500m"),
        ({"within": "-3m"}, "a distance must be at least 0"),
        ({"within": True}, "True is not a distance"),
        ({"within": "5m"}, "'5m' is a length, and numbers have no unit: write a plain number"),
        ({"within": 1, "metric": "l2"}, "metric l2 does not apply to numbers"),
        (
            {"within": 1, "metric": "chess"},
            "metric must be l2, l1, angular or haversine, not chess",
        ),
        ({"within": 1, "measure": "most"}, "measure must be hit or all, not most"),
        ({"within": 1, "tau": 0.3}, "tau 0.3 does not apply to search by distance: use within"),
        ({"within": "1m", "on": ["n", "m", "w"]}, "latitude and longitude; got 3 columns"),
        ({"within": 1, "on": "*"}, "takes one column, or latitude and longitude; not"),
        ({"within": 1, "on": {"n": "x"}}, "cannot fix lake columns"),
        ({"within": 1, "on": "n=x"}, "cannot fix lake columns"),
        ({"within": 1, "on": ["n", "n"]}, "is named twice"),
        ({"within": 1, "on": ["n", "m"]}, "'1' is not a distance between coordinates: write 500m"),
        ({"within": 1, "on": "w"}, "column 'w' of my_table has no numbers, coordinates or vectors"),
        ({"within": "1m", "on": ["w", "n"]}, "no row of my_table has a valid latitude"),
        ({"within": 1, "verified": False}, "only search by containment can be unverified"),
        ({"within": 1, "initial": "n"}, "needs two or more columns"),
        ({"by": "overlap", "within": 1}, "within 1 does not apply to search by overlap"),
    ],
)
def test_what_cannot_be_asked(lake: Lake, options: dict[str, Any], sentence: str) -> None:
    mine = {"n": [1, 2], "m": [3, 4], "w": ["a", "b"]}
    with pytest.raises(InputError, match=sentence):
        search_by(lake, mine, **{"on": "n", "by": "distance", **options})


def test_an_index_without_points(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[STATIONS]])
    with pytest.raises(InputError, match=r"has no points.*lakejoin index --with distance --index"):
        lake.nearby("unread.csv", within=1)


def test_one_column_need_not_be_named(lake: Lake) -> None:
    answer = lake.nearby({"n": [10, 20.5]}, within=0, k=1)
    assert answer.query.columns == ("n",) and answer[0].columns == ("price",)
    assert not answer.notes


def test_threads(lake: Lake) -> None:
    def one(i: int) -> list[tuple[str, int]]:
        mine = {name: cells[: 1 + i % 3] for name, cells in MINE.items()}
        answer = lake.nearby(mine, on=["lat", "lon"], within="100m")
        return [(r.table, r.matched) for r in answer]

    alone = [one(i) for i in range(3)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(24))) == alone * 8


@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_as_what_it_is(number: float) -> None:
    assert float(format_number(number)) == number
