"""Point sets: what columns are recognised as, what is kept of them, and how compactly."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.errors import DamagedIndex
from lakejoin.locations import Location
from lakejoin.model import TableData
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.coordinate_columns import parse_axis_name
from lakejoin.store.parsed_numbers import (
    column_degrees,
    column_numbers,
    parse_points,
    parse_values,
    parse_vectors,
)
from lakejoin.store.point_detection import PointSet, parse_column_points
from lakejoin.store.point_sets import (
    PointsComponent,
    PointSets,
    PointsWriter,
    narrow_numbers,
    widen_numbers,
)
from lakejoin.store.segment import Segment
from lakejoin.store.segment_builder import SegmentBuilder
from oracle.lakes import encode_table

Columns = dict[str, Sequence[Any]]

_QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def texts(*values: str | None) -> pa.LargeStringArray:
    return pa.array(values, pa.large_string())


def sets_of(*tables: Columns) -> list[tuple[str, tuple[int, ...], list[Any], list[int]]]:
    """(kind, columns, points, repeats) of all point sets of a segment with these tables."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SegmentBuilder(Location.of(folder) / "s")
        for i, columns in enumerate(tables):
            arrays = [
                cells if isinstance(cells, pa.Array) else pa.array(cells)
                for cells in columns.values()
            ]
            batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
            data = encode_table(list(columns), [batch])
            builder.add(TableData(f"t{i}", f"t{i}", batch.num_rows, data))
        segment = Segment(Location.of(folder) / "s", builder.finish(()))
        place = Location.of(folder) / "points.lj"
        with ArrayFileWriter(place) as out:
            PointsComponent().build(segment, out)
        found = PointSets(ArrayFile(place, out.record))
        return [
            (found.kind(s), found.columns(s), found.points(s).tolist(), found.repeats(s).tolist())
            for s in range(found.count)
        ]


def kinds_of(columns: Columns) -> list[tuple[str, tuple[int, ...]]]:
    """The point sets that are no plain columns of numbers."""
    return [(kind, which) for kind, which, _, _ in sets_of(columns) if kind != "number"]


# -- one text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("48.1", 48.1), ("48.1° N", 48.1), ("48.1°n", 48.1), ("N48.1", 48.1), ("N 48.1°", 48.1),
        ("33.5 S", -33.5), ("S33.5", -33.5), ("11.57W", -11.57), ("-11.57", -11.57),
        ("−11.57", -11.57), ("48°08'15\"N", 48.1375), ("48° 8′ 15″ N", 48.1375),
        ("48°08'15''N", 48.1375), ("48 08 15 N", 48.1375), ("48:08:15N", 48.1375),
        ("48°8.25'N", 48.1375), ("48 deg 08 min", None), ("48d08m15\"S", -48.1375),
        ("12°", 12.0), ("Nord", None), ("48.1 X", None), ("48°61'N", None), ("", None),
        ("nan", None), ("inf", None), ("1e400", None), ("N", None), ("2020-01-31", None),
    ],
)  # fmt: skip
def test_degrees(text: str, degrees: float | None) -> None:
    found = column_degrees(parse_values(texts(text)))[0]
    assert np.isnan(found) if degrees is None else found == pytest.approx(degrees, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("48.1, 11.6", (48.1, 11.6)), ("(48.1 11.6)", (48.1, 11.6)), ("48.1;11.6", (48.1, 11.6)),
        ("48.1/11.6", (48.1, 11.6)), ("48,1; 11,6", (48.1, 11.6)), ("48,1 11,6", (48.1, 11.6)),
        ("POINT(11.6 48.1)", (48.1, 11.6)), ("point (11.6 48.1)", (48.1, 11.6)),
        ("POINT Z (11.6 48.1 520)", (48.1, 11.6)), ("SRID=4326;POINT(11.6 48.1)", (48.1, 11.6)),
        ('{"type":"Point","coordinates":[11.6,48.1]}', (48.1, 11.6)),
        ("48.1N 11.6E", (48.1, 11.6)), ("11.6E, 48.1N", (48.1, 11.6)),
        ("48°08'15\"N 11°34'30\"E", (48.1375, 11.575)), ("W 73.9 N 40.7", (40.7, -73.9)),
        ("139.7, 35.6", (35.6, 139.7)), ("[48.1, 11.6]", (48.1, 11.6)),
        ("48.1", None), ("48.1, 11.6, 3", None), ("100, 200", None), ("a, b", None),
        ("POINT EMPTY", None), ("POLYGON((1 2, 3 4))", None), ("48.1N 11.6N", None),
    ],
)  # fmt: skip
def test_places(text: str, place: tuple[float, float] | None) -> None:
    found = parse_points(texts(text))[0]
    if place is None:
        assert np.isnan(found).all()
    else:
        assert found.tolist() == pytest.approx(place, abs=1e-12)


def test_which_of_two_numbers_is_the_latitude() -> None:
    plain = texts("11.6, 48.1", "11.7, 48.2")
    assert parse_column_points(plain, "where")[0].tolist() == [11.6, 48.1]
    assert parse_column_points(plain, "lonlat")[0].tolist() == [48.1, 11.6]
    listed = texts("[11.6,48.1]", "[11.7,48.2]")
    assert parse_column_points(listed, "location")[0].tolist() == [48.1, 11.6]
    assert parse_column_points(listed, "lat_lon")[0].tolist() == [11.6, 48.1]
    shown = texts("11.6, 48.1", "-120.5, 48.2")  # no latitude is beyond 90
    assert parse_column_points(shown, "where")[0].tolist() == [48.1, 11.6]
    shown = texts("[48.1,11.6]", "[48.2,-120.5]")  # nor here, though lists are longitude first
    assert parse_column_points(shown, "location")[0].tolist() == [48.1, 11.6]
    assert np.isnan(parse_column_points(shown, "lonlat")[1]).all()


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (["7", "-0.5", ".5", "1e3", "x", None], [7.0, -0.5, 0.5, 1000.0, None, None]),
        (["11,57", "1,234"], [11.57, 1.234]),  # the first shows decimals
        (["1,234,567", "1,234", "2,500.5"], [1234567.0, 1234.0, 2500.5]),  # and here thousands
        (["1,234", "5,678"], [None, None]),  # either is possible
        (["1,234,567", "11,57"], [None, None]),  # both at once is neither
        (["007", "12,34,567", "1,,2", "1,"], [None] * 4),
        (["0.1", "0.10000000149011612", "9" * 25 + ".5"], [0.1, 0.10000000149011612, 1e25]),
    ],
)  # fmt: skip
def test_numbers(column: list[str | None], numbers: list[float | None]) -> None:
    found = column_numbers(parse_values(texts(*column))).tolist()
    assert [None if np.isnan(n) else n for n in found] == numbers


@_QUICK
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_the_nearest_floats(number: float) -> None:
    for written in (repr(number), f"{number:.20e}", f"{number:+.3f}"):
        assert column_numbers(parse_values(texts(written))).tolist() == [float(written)], written


@_QUICK
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=2,
    )
)
def test_vectors(vectors: list[list[float]]) -> None:
    rows = texts(*(json.dumps(v) for v in vectors), "[1]", "x")
    found = parse_vectors(rows)
    assert found[: len(vectors)].tolist() == vectors
    assert np.isnan(found[len(vectors) :]).all()


@_QUICK
@given(
    st.lists(st.text(alphabet="0123456789.,+-eE°'\"NSEW []{}()point;/:nul\u00a0−′", max_size=25))
)
def test_any_text_is_read_or_left(values: list[str]) -> None:
    found = parse_values(texts(*values))
    assert len(found) == len(values)
    assert np.isfinite(found.values[found.kinds > 0]).all()
    places = parse_points(texts(*values))
    assert (np.isnan(places).any(axis=1) == np.isnan(places).all(axis=1)).all()


# -- whole columns ---------------------------------------------------------------------------------

_LATITUDES = [40.7128, 41.8781, 34.0522, 29.7604]
_LONGITUDES = [-74.006, -87.6298, -118.2437, -95.3698]


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [
        ("lat", "lon"), ("Latitude", "Longitude"), ("LAT", "LONG"), ("geo.lat", "geo.lng"),
        ("pickup_latitude", "pickup_longitude"), ("startLat", "startLng"), ("y", "x"),
        ("latitude_deg", "longitude_deg"), ("Breitengrad", "Längengrad"), ("destlat", "destlon"),
        ("stop_lat", "stop_lon"), ("lat (WGS84)", "lon (WGS84)"), ("northing", "easting"),
    ],
)  # fmt: skip
def test_pairs_of_coordinates_are_recognised(latitude: str, longitude: str) -> None:
    columns: Columns = {"name": list("abcd"), longitude: _LONGITUDES, latitude: _LATITUDES}
    assert kinds_of(columns) == [("place", (2, 1))]


def test_pairs_without_names_are_recognised_by_their_numbers() -> None:
    rng = np.random.default_rng(1)
    latitudes, longitudes = rng.uniform(-60, 70, 40).round(5), rng.uniform(-170, 170, 40).round(5)
    table: Columns = {"col_0": list(range(40)), "col_1": latitudes, "col_2": longitudes}
    assert [one for one in kinds_of(table) if one[0] == "place"] == [("place", (1, 2))]
    for less in (
        {"a": latitudes, "b": longitudes},  # with names of their own that say nothing
        {"col_1": longitudes, "col_2": latitudes},  # the other way round
        {"col_1": latitudes, "col_2": longitudes / 4},  # either could be either
        {"col_1": latitudes.round(1), "col_2": longitudes.round(1)},  # not fine
        {"col_1": latitudes[:5], "col_2": longitudes[:5]},  # too few to tell
        {"col_1": np.abs(latitudes), "col_2": np.abs(longitudes)},  # none is negative
    ):
        assert "place" not in [kind for kind, _ in kinds_of(less)]


@pytest.mark.parametrize(
    "columns",
    [
        {"lat": [40, 41, 34, 29], "lon": [-74, -87, -118, -95]},  # plain whole numbers
        {"a": _LATITUDES, "b": _LONGITUDES},  # nothing says so
        {"lat": _LATITUDES, "price": _LONGITUDES},  # one alone
        {"pickup_lat": _LATITUDES, "dropoff_lon": _LONGITUDES},  # of different things
        {"lat": [4071.28, 4187.81, 3405.22, 2976.04], "lon": _LONGITUDES},  # beyond the pole
        {"northing": [3535287.25, 3535288.5], "easting": [681200.79, 681201.25]},  # metres
        {"y": [0.5458, -0.2155], "x": [0.3156, 0.2194]},  # a drawing, or a unit vector
        {"y": [1.5, 2.5, 80.5], "x": [3.5, 7.5, 9.5]},  # too coarse for such names
        {"LONG": [2733.9, 765.9], "LAT": [1.5, 2.5]},  # surnames
        {"lat": ["north", "south"], "lon": ["east", "west"]},
        {"dimensions": ["12, 30", "10, 20"]},
        {"size": ["1.5, 3.5", "1.25, 3.25"]},
    ],
)  # fmt: skip
def test_what_is_no_place(columns: Columns) -> None:
    assert kinds_of(columns) == []


def test_several_places_in_a_table() -> None:
    columns: Columns = {
        "pickup_longitude": _LONGITUDES,
        "pickup_latitude": _LATITUDES,
        "dropoff_longitude": [n + 0.01 for n in _LONGITUDES],
        "dropoff_latitude": [n + 0.01 for n in _LATITUDES],
        "where": ["48.1371, 11.5754", "48.2082, 16.3738", None, "47.3769, 8.5417"],
        "shape": [f"POINT ({lon} {lat})" for lat, lon in zip(_LATITUDES, _LONGITUDES, strict=True)],
    }
    assert kinds_of(columns) == [
        ("place", (1, 0)), ("place", (3, 2)), ("place", (4,)), ("place", (5,)),
    ]  # fmt: skip


def test_letters_say_it_without_names() -> None:
    columns: Columns = {"a": ["48.1° N", "33.9° S"], "b": ["11.6° E", "151.2° E"]}
    (_, which, points, _) = next(s for s in sets_of(columns) if s[0] == "place")
    assert which == (0, 1)
    assert sorted(points) == [[-33.9, 151.2], [48.1, 11.6]]


def test_rows_are_counted_and_nulls_left_out() -> None:
    columns: Columns = {
        "lat": ["48.125", "48.1250", None, "50.0625"],
        "lon": ["11.625", "11.625", "8.125", None],
    }
    (_, _, points, repeats) = next(s for s in sets_of(columns) if s[0] == "place")
    assert (points, repeats) == ([[48.125, 11.625]], [2])


def test_numbers_of_columns() -> None:
    found = sets_of(
        {
            "price": ["12.50", "3", "3.0", None],
            "id": [7, 8, 9, 7],
            "zip": ["01234", "12345", "23456", "34567"],
            "people": ["1,234,567", "2,500", "999", "10,000"],
            "name": list("abcd"),
            "day": ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"],
        }
    )
    assert found == [
        ("number", (0,), [[3.0], [12.5]], [2, 1]),
        ("number", (1,), [[7.0], [8.0], [9.0]], [2, 1, 1]),
        ("number", (3,), [[999.0], [2500.0], [10000.0], [1234567.0]], [1, 1, 1, 1]),
    ]


def test_vectors_of_parquet_lists_and_of_json() -> None:
    listed = pa.array([[0.1, 0.25, -3.0], None, [1e-9, 2.0, 0.5]], pa.list_(pa.float32()))
    written = ["[0.5, 1, 2]", "[1, 2]", "[0, 0, 0]"] + ["[3, 4, 5]"] * 0
    found = sets_of({"embedding": listed}, {"v": [*written, *(f"[{i},1,2]" for i in range(40))]})
    (kind, _, points, _), (other, _, more, _) = found
    assert (kind, other, len(more)) == ("vector", "vector", 42)
    assert points == [[float(np.float32(1e-9)), 2.0, 0.5], [float(np.float32(0.1)), 0.25, -3.0]]


def test_axis_names() -> None:
    assert parse_axis_name("flat") is not None  # a pair needs another, with the same rest
    assert parse_axis_name("population") is None
    assert kinds_of({"flat": _LATITUDES, "salon": _LONGITUDES}) == []


# -- how they are kept -----------------------------------------------------------------------------


@_QUICK
@given(
    st.lists(
        st.one_of(
            st.integers(-(2**40), 2**40).map(float),
            st.integers(-(10**6), 10**6).map(lambda n: n / 1000),
            st.floats(allow_nan=False, allow_infinity=False, width=32),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
    )
)
def test_narrow_forms_give_back_the_same_floats(values: list[float]) -> None:
    numbers = np.array(values) + 0.0
    _, power, kept = narrow_numbers(numbers)
    assert (
        widen_numbers(kept, power).tobytes() == numbers.tobytes()
        or (widen_numbers(kept, power) == numbers).all()
    )


def test_places_to_six_decimals_take_eight_bytes() -> None:
    random = np.random.default_rng(1)
    places = np.round(random.uniform((47, 11), (48, 12), (1000, 2)), 6)
    assert narrow_numbers(places)[2].dtype == np.int32
    assert narrow_numbers(np.arange(100.0))[2].dtype == np.int8
    assert narrow_numbers(np.array([12.34, 99.99]))[2].dtype == np.int16
    assert narrow_numbers(np.array([0.1, np.pi]))[2].dtype == np.float64


def test_damaged_bytes_are_found(tmp_path: Path) -> None:
    place = Location.of(tmp_path) / "points.lj"
    with ArrayFileWriter(place) as out:
        writer = PointsWriter(out)
        points = np.arange(50_000.0)[:, None] * 1.7
        writer.add(PointSet("number", (0,), points, np.ones(50_000, dtype=np.int64)))
        writer.finish()
    file = tmp_path / "points.lj"
    data = bytearray(file.read_bytes())
    data[1000] ^= 1
    file.write_bytes(bytes(data))
    opened = PointSets(ArrayFile(place, out.record))
    with pytest.raises(DamagedIndex):
        opened.points(0)
