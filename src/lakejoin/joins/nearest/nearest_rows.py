"""Match each left row with its nearest right row, by number, date and time, or coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.errors import InputError
from lakejoin.joins.row_keys import spread_values
from lakejoin.kernels import coordinate_texts
from lakejoin.kernels.kd_trees import build_point_tree, find_nearest_points
from lakejoin.model import Array, ColumnType
from lakejoin.store.coordinate_columns import LATITUDE, LONGITUDE, parse_axis_name
from lakejoin.store.distance_limits import (
    METRES,
    DistanceLimit,
    haversine_limit,
    metres_of,
    number_ranges,
    parse_distance,
)
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


DAY = 86_400_000_000  # microseconds
# Days per unit of time.
_TIMES = {
    "s": 1 / 86_400, "sec": 1 / 86_400, "second": 1 / 86_400, "min": 1 / 1440, "minute": 1 / 1440,
    "h": 1 / 24, "hour": 1 / 24, "d": 1.0, "day": 1.0, "week": 7.0,
}  # fmt: skip
_SPAN = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-zA-Z]+)\s*")
_UNITS = {NUMBER: "", TIME: "days", POINT: METRES}
_LIMITS = {NUMBER: "1% or 0.5", TIME: "3 days or 12 hours", POINT: "500m or 2km"}


def find_nearest_rows(
    left: pa.Table,
    right: pa.Table,
    on: Sequence[tuple[str, str]],
    within: str | float | None = None,
) -> RowDistances:
    """Match each left row with its nearest right row, the first of equally near ones.

    One pair of columns holds numbers, dates and times, or coordinates (`48.1, 11.6`); two pairs
    are latitude and longitude. `within` is the largest distance: a length for coordinates
    (`"500m"`, `"2km"`, `"3mi"`), a time span for dates and times (`"3 days"`, `"12h"`, `"90 min"`;
    a plain number is days), a number or a share of the left number for numbers (`0.5`, `"1%"`).

    >>> quakes = pa.table({"at": ["2020-05-01 13:00:00", "2021-01-01"]})
    >>> days = pa.table({"day": ["2020-05-03", "2020-05-02"]})
    >>> near = find_nearest_rows(quakes, days, [("at", "day")], "12 hours")
    >>> near.left_rows.tolist(), near.right_rows.tolist(), near.unit
    ([0], [1], 'days')
    """
    compared = read_compared(left, right, on, within)
    if compared.kind == POINT:
        return _match_points(compared.left, compared.right, compared.limit)
    unit = _UNITS[compared.kind]
    return _match_numbers(compared.left, compared.right, compared.limit, unit)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRows:
    """The number, time (in microseconds) or coordinates of every row of both tables, NaN or NaT
    for none, and how far apart they may be."""

    kind: str
    left: Array
    right: Array
    limit: DistanceLimit | None


def read_compared(
    left: pa.Table,
    right: pa.Table,
    on: Sequence[tuple[str, str]],
    within: str | float | None = None,
) -> ComparedRows:
    """Read the columns of a nearest join."""
    if len(on) == 2:
        return ComparedRows(POINT, *_coordinates(left, right, on), _limit(within, POINT))
    if len(on) != 1:
        raise InputError(
            "a nearest join takes one pair of columns, or two for latitude and longitude; "
            f"got {len(on)}"
        )
    left_name, right_name = on[0]
    kind = _same_kind(left[left_name], right[right_name], left_name, right_name)
    limit = _limit(within, kind)
    read = {POINT: points_of_texts, TIME: times_of, NUMBER: numbers_of}[kind]
    return ComparedRows(kind, read(left[left_name]), read(right[right_name]), limit)


def find_nearest_coordinates(
    left: Array, right: Array, within: str | float | DistanceLimit | None = None
) -> RowDistances:
    """Match each left (latitude, longitude) with the nearest right one; NaN never matches.

    >>> towns = np.array([[48.2, 11.6], [48.1, 11.7]])
    >>> find_nearest_coordinates(np.array([[48.1, 11.6]]), towns).right_rows
    array([1])
    """
    return _match_points(left, right, _limit(within, POINT))


# -- columns and limits ----------------------------------------------------------------------------


def _same_kind(
    left: pa.ChunkedArray, right: pa.ChunkedArray, left_name: str, right_name: str
) -> str:
    """What both columns contain; if one is all null, what the other contains."""
    kinds = kind_of(left), kind_of(right)
    for kind, column, name in zip(kinds, (left, right), (left_name, right_name), strict=True):
        if not kind and column.null_count < len(column):
            some = next(str(v) for v in column.to_pylist() if v is not None)
            raise InputError(
                f"column {name!r} has no numbers, dates or coordinates to compare (example: "
                f"{some[:40]!r})"
            )
    if all(kinds) and kinds[0] != kinds[1]:
        raise InputError(
            f"{left_name!r} holds {kinds[0]}s and {right_name!r} holds {kinds[1]}s: a nearest "
            "join needs the same kind on both sides"
        )
    return kinds[0] or kinds[1] or NUMBER


def _coordinates(
    left: pa.Table, right: pa.Table, on: Sequence[tuple[str, str]]
) -> tuple[Array, Array]:
    """The coordinates of both tables, latitude first."""
    names = [a for a, _ in on], [b for _, b in on]
    left_points, left_first = points_of_columns([left[n] for n in names[0]], names[0])
    right_points, right_first = points_of_columns([right[n] for n in names[1]], names[1])
    if {left_first, right_first} == {LATITUDE, LONGITUDE}:
        raise InputError(
            f"{names[0][0]!r} is a {left_first} and {names[1][0]!r} is a {right_first}: pair "
            "latitude with latitude and longitude with longitude"
        )
    coordinates = []
    for points, columns in ((left_points, names[0]), (right_points, names[1])):
        turned = points[:, ::-1] if LONGITUDE in (left_first, right_first) else points
        valid = valid_coordinates(turned)
        if len(points) and not np.isfinite(valid).any():
            raise InputError(
                f"{columns[0]!r} and {columns[1]!r} have no row with a valid latitude and "
                "longitude in degrees"
            )
        coordinates.append(valid)
    return coordinates[0], coordinates[1]


def _limit(within: str | float | DistanceLimit | None, kind: str) -> DistanceLimit | None:
    """Parse the limit in the unit of the kind; reject a limit of another kind."""
    if within is None:
        return None
    span = _SPAN.fullmatch(within) if isinstance(within, str) else None
    unit = span[2].lower() if span else ""
    days = _TIMES.get(unit) or _TIMES.get(unit.removesuffix("s"))
    if span and days:
        limit = DistanceLimit(float(span[1]) * days)
        if kind != TIME:
            raise InputError(f"{within!r} does not measure {kind}s: write {_LIMITS[kind]}")
        return limit
    try:
        limit = parse_distance(within)
    except InputError:
        raise InputError(
            f"{within!r} is not a distance: write {_LIMITS[POINT]} for coordinates, "
            f"{_LIMITS[TIME]} for dates and times, {_LIMITS[NUMBER]} for numbers"
        ) from None
    is_share_of_time = kind == TIME and limit.unit == "share"
    if (limit.unit == METRES) != (kind == POINT) or is_share_of_time:
        raise InputError(f"{within!r} does not measure {kind}s: write {_LIMITS[kind]}")
    return limit


# -- the nearest -----------------------------------------------------------------------------------


def _match_numbers(
    left: Array, right: Array, limit: DistanceLimit | None, unit: str
) -> RowDistances:
    """Match numbers, or times: these in whole microseconds, as rounded days would break ties."""
    rows = np.flatnonzero(np.isfinite(left))
    values, first = _distinct(right)
    if not len(rows) or not len(values):
        return _no_rows(unit)
    numbers = left[rows]
    above = np.minimum(np.searchsorted(values, numbers), len(values) - 1)
    below = np.maximum(above - 1, 0)
    up, down = np.abs(values[above] - numbers), np.abs(values[below] - numbers)
    nearer_below = (down < up) | ((down == up) & (first[below] < first[above]))
    position = np.where(nearer_below, below, above)
    distance = np.where(nearer_below, down, up)
    near = np.ones(len(rows), np.bool_)
    if limit is not None and unit == _UNITS[TIME]:
        near = distance.astype(np.int64) <= round(limit.amount * DAY)
    elif limit is not None:
        low, high = number_ranges(numbers, limit)
        near = (low <= values[position]) & (values[position] <= high)
    if unit == _UNITS[TIME]:
        distance = distance.astype(np.int64) / DAY
    return RowDistances(rows[near], first[position[near]], distance[near], unit)


def _match_points(left: Array, right: Array, limit: DistanceLimit | None) -> RowDistances:
    rows = np.flatnonzero(np.isfinite(left).all(axis=1))
    targets, first = _distinct(right)
    if not len(rows) or not len(targets):
        return _no_rows(METRES)
    points, queries = on_sphere(targets), on_sphere(left[rows])
    order, split = np.arange(len(points)), np.zeros(len(points), np.int8)
    build_point_tree(points, order, split)
    nearest = np.empty(len(rows), np.int64)
    find_nearest_points(points, order, split, first, queries, nearest)
    haversines = row_haversines(left[rows], targets[nearest])
    near = haversines <= (np.inf if limit is None else haversine_limit(limit))
    return RowDistances(rows[near], first[nearest[near]], metres_of(haversines[near]), METRES)


def _distinct(values: Array) -> tuple[Array, Array]:
    """The distinct finite values or rows of coordinates, sorted, and the first row of each."""
    if values.ndim == 1:  # much faster than by whole rows
        rows = np.flatnonzero(np.isfinite(values))
        distinct, first = np.unique(values[rows], return_index=True)
    else:
        rows = np.flatnonzero(np.isfinite(values).all(axis=1))
        distinct, first = np.unique(values[rows] + 0.0, axis=0, return_index=True)
    return distinct, rows[first]


def on_sphere(degrees: Array) -> Array:
    """Convert (latitude, longitude) to points of the unit sphere, which keeps nearness."""
    latitude, longitude = np.radians(degrees).T
    across = np.cos(latitude)
    return np.stack(
        [across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)], axis=1
    )


def row_haversines(left: Array, right: Array) -> Array:
    """sin(angle / 2) ** 2 between coordinates, row by row."""
    tall, wide = (np.sin(np.radians(left[:, i] - right[:, i]) / 2) ** 2 for i in (0, 1))
    across = np.cos(np.radians(left[:, 0])) * np.cos(np.radians(right[:, 0]))
    return np.asarray(tall + across * wide)


def _no_rows(unit: str) -> RowDistances:
    nothing = np.zeros(0, np.int64)
    return RowDistances(nothing, nothing, np.zeros(0), unit)


@dataclass(frozen=True, eq=False)
class RowDistances:
    """Pairs of rows in the order of the left rows, and their distances in `unit`.

    The unit is `m` for coordinates, `days` for dates and times, and empty for numbers. Distances
    by meaning are shares of the largest distance, 0 to 1, without a unit. `chance` is that of each
    pair being right, if it was judged.
    """

    left_rows: Array
    right_rows: Array
    distance: Array
    unit: str = ""
    chance: Array | None = None

    def __len__(self) -> int:
        return len(self.left_rows)
