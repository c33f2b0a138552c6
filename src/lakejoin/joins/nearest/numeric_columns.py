"""Read columns as numbers, times or coordinates for nearest joins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.errors import InputError
from lakejoin.joins.row_keys import spread_values
from lakejoin.kernels import coordinate_texts
from lakejoin.model import Array, ColumnType
from lakejoin.store.coordinate_columns import LATITUDE, LONGITUDE, parse_axis_name
from lakejoin.store.parsed_numbers import (
    ParsedValues,
    are_on_globe,
    column_degrees,
    column_numbers,
    parse_points,
    parse_values,
)
from lakejoin.values.column_encoder import encode_query

NUMBER, TIME, POINT = "number", "time", "point"
_POLE = 90.0
_MICROSECONDS = np.dtype("datetime64[us]")
_MOMENT = r"^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?Z?$"


def kind_of(column: pa.ChunkedArray | pa.Array) -> str:
    """What most values of a column are: number, time or point; "" if none of these.

    >>> kind_of(pa.array(["3.5", "7"])), kind_of(pa.array(["1 May 2020", "2020-05-02"]))
    ('number', 'time')
    >>> kind_of(pa.array(["48.1, 11.6"])), kind_of(pa.array(["Ulm"]))
    ('point', '')
    """
    data = encode_query(column)
    if data.profile.type is ColumnType.DATE:
        return TIME
    readings = parse_values(data.tokens)
    shares = {
        NUMBER: _share(column_numbers(readings)),
        TIME: _share(_moments(data.tokens)),
        POINT: readings.share(coordinate_texts.PAIR, coordinate_texts.POINT),
    }
    kind = max(shares, key=lambda name: shares[name])
    return kind if shares[kind] > 0 else ""


def numbers_of(column: pa.ChunkedArray | pa.Array) -> Array:
    """The number of every row, NaN if it has none."""
    data = encode_query(column)
    return spread_values(data, column_numbers(parse_values(data.tokens)), np.nan)


def times_of(column: pa.ChunkedArray | pa.Array) -> Array:
    """The time of every row in whole microseconds, NaT if it has none.

    >>> times_of(pa.array(["1970-01-02 12:00:00", "31 Jan 1970", "?"])).astype(str).tolist()
    ['1970-01-02T12:00:00.000000', '1970-01-31T00:00:00.000000', 'NaT']
    """
    data = encode_query(column)
    microseconds = _moments(data.tokens).view(np.int64)
    return spread_values(data, microseconds, np.iinfo(np.int64).min).view(_MICROSECONDS)


def points_of_texts(column: pa.ChunkedArray | pa.Array) -> Array:
    """The (latitude, longitude) of every row of a column with both."""
    data = encode_query(column)
    return spread_values(data, parse_points(data.tokens), np.nan)


def coordinates_of(columns: Sequence[pa.ChunkedArray | pa.Array]) -> Array:
    """The (latitude, longitude) of every row: of two columns in that order, or of one with both.
    NaN where they are not valid coordinates.

    >>> coordinates_of([pa.array(["48.1", "991", "?"]), pa.array(["11.6", "7", "8"])]).tolist()
    [[48.1, 11.6], [nan, nan], [nan, nan]]
    """
    if len(columns) == 1:
        return valid_coordinates(points_of_texts(columns[0]))
    data = [encode_query(column) for column in columns]
    degrees = [column_degrees(parse_values(column.tokens)) for column in data]
    rows = [spread_values(*axis, np.nan) for axis in zip(data, degrees, strict=True)]
    return valid_coordinates(np.stack(rows, axis=1))


def points_of_columns(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str]
) -> tuple[Array, str]:
    """The two numbers of every row in column order, and the axis of the first column, if
    letters, names or numbers beyond the poles tell."""
    data = [encode_query(column) for column in columns]
    readings = [parse_values(column.tokens) for column in data]
    degrees = [column_degrees(reading) for reading in readings]
    axes = [_axis(reading, name) for reading, name in zip(readings, names, strict=True)]
    if axes[0] == axes[1] != "":
        raise InputError(
            f"{names[0]!r} and {names[1]!r} are both a {axes[0]}: name one latitude and one "
            "longitude column"
        )
    first = axes[0] or {LATITUDE: LONGITUDE, LONGITUDE: LATITUDE}.get(axes[1], "")
    beyond = [bool((np.abs(axis) > _POLE).any()) for axis in degrees]
    if not first and beyond[0] != beyond[1]:
        first = LONGITUDE if beyond[0] else LATITUDE
    rows = [spread_values(*axis, np.nan) for axis in zip(data, degrees, strict=True)]
    return np.stack(rows, axis=1), first


def valid_coordinates(points: Array) -> Array:
    """The coordinates, NaN where they are invalid."""
    return np.where(are_on_globe(points)[:, None], points, np.nan)


def _axis(readings: ParsedValues, name: str) -> str:
    north, east = (
        readings.share(coordinate_texts.LATITUDE),
        readings.share(coordinate_texts.LONGITUDE),
    )
    if north > 0.5 > east or east > 0.5 > north:
        return LATITUDE if north > east else LONGITUDE
    by_name = parse_axis_name(name)
    return by_name.axis if by_name else ""


def _moments(tokens: pa.LargeStringArray) -> Array:
    """The times of canonical values, NaT if they are not dates."""
    dated = np.asarray(pc.match_substring_regex(tokens, _MOMENT))
    times = np.full(len(tokens), "NaT", _MICROSECONDS)
    if dated.any():
        plain = pc.utf8_rtrim(tokens.filter(pa.array(dated)), "Z")
        try:
            moments = plain.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:  # dates that do not exist, such as 31 February
            moments = pa.array([_moment(text) for text in plain.to_pylist()], pa.timestamp("us"))
        times[dated] = moments.to_numpy(zero_copy_only=False)
    return times


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _share(values: Array) -> float:
    return float(np.isfinite(values).mean()) if len(values) else 0.0
