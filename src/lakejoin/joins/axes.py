"""What numbers are columns, for nearness? Plain ones, days, or places on the globe."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.lake.columns import encode_query
from lakejoin.model import ColumnData, ColumnType, null_id
from lakejoin.store.axes import LATITUDE, LONGITUDE, axis_name
from lakejoin.store.coordinates import (
    Readings,
    degrees_in,
    numbers_in,
    places_of,
    read_values,
    valid_places,
)

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

NUMBER, TIME, PLACE = "number", "time", "place"
_POLE = 90.0
_DAY = 86_400.0
_MOMENT = r"^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?Z?$"


def kind_of(column: pa.ChunkedArray | pa.Array) -> str:
    """What most of a column's values are; nothing where they are nothing that can be near.

    >>> import pyarrow as pa
    >>> kind_of(pa.array(["3.5", "7"])), kind_of(pa.array(["1 May 2020", "2020-05-02"]))
    ('number', 'time')
    >>> kind_of(pa.array(["48.1, 11.6"])), kind_of(pa.array(["Ulm"]))
    ('place', '')
    """
    from lakejoin.kernels.points import texts

    data = encode_query(column)
    if data.profile.type is ColumnType.DATE:
        return TIME
    found = read_values(data.tokens)
    shares = {
        NUMBER: float(np.isfinite(numbers_in(found)).mean()) if len(found) else 0.0,
        TIME: _share(_moments(data.tokens)),
        PLACE: found.share(texts.PAIR, texts.PLACE),
    }
    kind = max(shares, key=lambda one: shares[one])
    return kind if shares[kind] > 0 else ""


def numbers_of(column: pa.ChunkedArray | pa.Array) -> Array:
    """The number of every row, NaN where there is none."""
    data = encode_query(column)
    return _of_rows(data, numbers_in(read_values(data.tokens)))


def days_of(column: pa.ChunkedArray | pa.Array) -> Array:
    """The days since 1970 of every row, with parts of a day; NaN where there is no date.

    >>> import pyarrow as pa
    >>> days_of(pa.array(["1970-01-02 12:00:00", "31 Jan 1970", "?"])).tolist()
    [1.5, 30.0, nan]
    """
    data = encode_query(column)
    return _of_rows(data, _moments(data.tokens))


def texts_as_places(column: pa.ChunkedArray | pa.Array) -> Array:
    """The (latitude, longitude) of every row of a column that holds both."""
    data = encode_query(column)
    return _of_rows(data, places_of(data.tokens))


def known_places(columns: Sequence[pa.ChunkedArray | pa.Array]) -> Array:
    """The (latitude, longitude) of every row, where it is known which is which: two columns in
    that order, or one that holds both. NaN where they are no place on the globe.

    >>> import pyarrow as pa
    >>> known_places([pa.array(["48.1", "991", "?"]), pa.array(["11.6", "7", "8"])]).tolist()
    [[48.1, 11.6], [nan, nan], [nan, nan]]
    """
    if len(columns) == 1:
        return on_globe(texts_as_places(columns[0]))
    data = [encode_query(column) for column in columns]
    return on_globe(
        np.stack([_of_rows(one, degrees_in(read_values(one.tokens))) for one in data], 1)
    )


def places_of_columns(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str]
) -> tuple[Array, str]:
    """The two numbers of every row, as the columns come, and which axis the first one is, if
    letters, names or numbers beyond the poles say so."""
    data = [encode_query(column) for column in columns]
    found = [read_values(one.tokens) for one in data]
    degrees = [degrees_in(one) for one in found]
    said = [_axis(one, name) for one, name in zip(found, names, strict=True)]
    if said[0] == said[1] != "":
        raise InputError(
            f"{names[0]!r} and {names[1]!r} are both a {said[0]}: a place is a latitude and a "
            "longitude"
        )
    first = said[0] or {LATITUDE: LONGITUDE, LONGITUDE: LATITUDE}.get(said[1], "")
    beyond = [bool((np.abs(one) > _POLE).any()) for one in degrees]
    if not first and beyond[0] != beyond[1]:
        first = LONGITUDE if beyond[0] else LATITUDE
    rows = [_of_rows(one, values) for one, values in zip(data, degrees, strict=True)]
    return np.stack(rows, axis=1), first


def on_globe(places: Array) -> Array:
    """The places, NaN where they are not on the globe."""
    return np.where(valid_places(places)[:, None], places, np.nan)


def _axis(found: Readings, name: str) -> str:
    from lakejoin.kernels.points import texts

    north, east = found.share(texts.LATITUDE), found.share(texts.LONGITUDE)
    if north > 0.5 > east or east > 0.5 > north:
        return LATITUDE if north > east else LONGITUDE
    by_name = axis_name(name)
    return by_name.axis if by_name else ""


def _moments(tokens: pa.LargeStringArray) -> Array:
    """Days since 1970 of canonical values, NaN where they are no dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dated = np.asarray(pc.match_substring_regex(tokens, _MOMENT))
    days = np.full(len(tokens), np.nan)
    if dated.any():
        plain = pc.utf8_rtrim(tokens.filter(pa.array(dated)), "Z")
        try:
            moments = plain.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:  # some are dates that do not exist, such as 31 February
            moments = pa.array([_moment(text) for text in plain.to_pylist()], pa.timestamp("us"))
        days[dated] = moments.cast(pa.int64()).to_numpy(zero_copy_only=False) / (1e6 * _DAY)
    return days


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _share(numbers: Array) -> float:
    return float(np.isfinite(numbers).mean()) if len(numbers) else 0.0


def _of_rows(data: ColumnData, of_tokens: Array) -> Array:
    """What each row has, from what each distinct value has; NaN for nulls."""
    nothing = np.full((1, *of_tokens.shape[1:]), np.nan)
    by_id = np.concatenate([of_tokens, of_tokens[data.spelling_token], nothing])
    nulls = data.cells == null_id(data.cells.dtype)
    return np.asarray(by_id[np.where(nulls, len(by_id) - 1, data.cells)])
