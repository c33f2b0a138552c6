"""Detects latitude and longitude columns by their names, ranges and decimals together.

Names alone are not enough (`long_gun` is not a longitude, `LONG` may be a surname), nor are ranges
alone (nearly every percentage is below 90). A pair is accepted if the names say latitude and
longitude and otherwise agree (`pickup_latitude`, `pickup_longitude`), nearly all numbers are on the
globe, and the numbers have decimals, as measurements do and counts do not. Letters (`48.1° N`)
suffice without names. Without a header, two adjacent columns are accepted if their numbers leave
little doubt: all with many decimals, some negative, the first within 90, the second within 180 but
not within 90.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lakejoin.model import Array

LATITUDE, LONGITUDE = "latitude", "longitude"

_WORDS = {
    "latitude": LATITUDE, "lat": LATITUDE, "lats": LATITUDE, "latit": LATITUDE,
    "longitude": LONGITUDE, "lon": LONGITUDE, "lng": LONGITUDE, "long": LONGITUDE,
    "longs": LONGITUDE, "longit": LONGITUDE,
    "breite": LATITUDE, "breitengrad": LATITUDE, "laenge": LONGITUDE, "länge": LONGITUDE,
    "laengengrad": LONGITUDE, "längengrad": LONGITUDE,
    "latitud": LATITUDE, "longitud": LONGITUDE, "latitudine": LATITUDE, "longitudine": LONGITUDE,
}  # fmt: skip
# Names that could also be axes of a drawing or metres on a map: the numbers must show more.
_FAINT = {"y": LATITUDE, "x": LONGITUDE, "northing": LATITUDE, "easting": LONGITUDE}
# Words for how the axis is measured, not what it belongs to.
_UNITS = frozenset((
    "deg", "degs", "degree", "degrees", "decimal", "dd", "d", "wgs84", "wgs", "84", "4326", "epsg",
    "num", "value", "grad", "coord", "coordinate", "coordinates",
))  # fmt: skip
_ENDINGS = ("latitude", "longitude", "lat", "lon", "lng", "long")
_COORDINATE_WORDS = frozenset((
    "coord", "coords", "coordinate", "coordinates", "location", "latlon", "latlng", "latlong",
    "lonlat", "lnglat", "longlat", "geo", "geom", "geometry", "geolocation", "geopoint", "point",
    "position", "place", "loc", "gps", "centroid", "georeference", "koordinaten", "standort",
))  # fmt: skip
_LONGITUDE_FIRST = re.compile(r"(lon|lng|long|longitude)[^a-z]*(and|und)?[^a-z]*lat")
_WORD = re.compile(r"[A-ZÄÖÜ]+(?![a-zäöü])|[A-ZÄÖÜ]?[a-zäöü]+|\d+")

# Shares of the distinct numbers: on the globe; with two or more decimals, if the names are clear;
# with four or more, if they are faint.
ON_GLOBE = 0.95
_FINE = 0.2
_VERY_FINE = 0.5
_SEVERAL = 10  # numbers needed if there are no names
_NO_NAME = re.compile(r"col_\d+")  # the name of a column without a header
_UNIT = 1.5  # smaller numbers may as well be fractions or unit vectors


@dataclass(frozen=True, slots=True)
class AxisName:
    """What a column name says: which axis, of what (`pickup`), and whether it is ambiguous."""

    axis: str
    of: tuple[str, ...]
    faint: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AxisColumn:
    """A numeric column that may be an axis: its index, its name, its distinct degrees.

    `letters` is the axis given by letters in the values (`48.1° N`), or empty.
    """

    column: int
    name: str
    degrees: Array
    letters: str = ""


def parse_axis_name(name: str) -> AxisName | None:
    """Parse the axis from a column name, if it names one.

    >>> parse_axis_name("pickup_latitude")
    AxisName(axis='latitude', of=('pickup',), faint=False)
    >>> parse_axis_name("destLng").of, parse_axis_name("X").faint
    (('dest',), True)
    >>> parse_axis_name("flat rate") is None
    True
    """
    words = [word.lower() for word in _WORD.findall(name)]
    words = [word for word in words if word not in _UNITS]
    for axis_words, faint in ((_WORDS, False), (_FAINT, True)):
        at = [i for i, word in enumerate(words) if word in axis_words]
        if len(at) == 1:
            rest = tuple(words[: at[0]] + words[at[0] + 1 :])
            return AxisName(axis_words[words[at[0]]], rest, faint)
    if len(words) == 1:
        for ending in _ENDINGS:
            if words[0].endswith(ending) and len(words[0]) > len(ending):
                return AxisName(_WORDS[ending], (words[0].removesuffix(ending),))
    return None


def names_coordinates(name: str) -> bool:
    """Whether a column name says that the column holds coordinates.

    >>> [names_coordinates(name) for name in ("Geo Location", "lat_lon", "dimensions")]
    [True, True, False]
    """
    words = {word.lower() for word in _WORD.findall(name)}
    axes = {_WORDS[word] for word in words if word in _WORDS}
    return bool(words & _COORDINATE_WORDS) or len(axes) == 2


def names_longitude_first(name: str) -> bool:
    """Whether a name says that the longitude comes first.

    >>> names_longitude_first("lonLat"), names_longitude_first("lat/lon")
    (True, False)
    """
    return bool(_LONGITUDE_FIRST.search(name.lower()))


def decimals_share(numbers: Array, decimals: int) -> float:
    if not len(numbers):
        return 0.0
    moved = np.abs(numbers) * 10.0 ** (decimals - 1)
    return float((np.abs(moved - np.rint(moved)) > 1e-6).mean())


def on_globe(degrees: Array, axis: str) -> bool:
    """Whether nearly all degrees of a column are valid for the axis."""
    limit = 90.0 if axis == LATITUDE else 180.0
    real = degrees[~np.isnan(degrees)]
    return len(real) > 0 and float((np.abs(real) <= limit).mean()) >= ON_GLOBE


def find_coordinate_pairs(columns: Sequence[AxisColumn]) -> list[tuple[int, int]]:
    """The (latitude, longitude) column pairs of a table."""
    by_axis: dict[str, list[tuple[AxisColumn, AxisName]]] = {LATITUDE: [], LONGITUDE: []}
    for column in columns:
        axis = parse_axis_name(column.name)
        if column.letters:
            of = axis.of if axis and axis.axis == column.letters else ()
            by_axis[column.letters].append((column, AxisName(column.letters, of)))
        elif axis and on_globe(column.degrees, axis.axis):
            by_axis[axis.axis].append((column, axis))
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    for latitude, axis in by_axis[LATITUDE]:
        partners = [
            (abs(column.column - latitude.column), column.column)
            for column, other in by_axis[LONGITUDE]
            if column.column not in taken
            and (other.of, other.faint) == (axis.of, axis.faint)
            and _measured(latitude, column, axis.faint)
        ]
        if partners:
            _, longitude = min(partners)
            taken.add(longitude)
            pairs.append((latitude.column, longitude))
    return pairs + _without_names(columns)


def _without_names(columns: Sequence[AxisColumn]) -> list[tuple[int, int]]:
    """Adjacent columns without names whose numbers leave little doubt."""
    nameless = [column for column in columns if _NO_NAME.fullmatch(column.name)]
    pairs: list[tuple[int, int]] = []
    for first, second in pairwise(nameless):
        if second.column != first.column + 1 or (pairs and first.column == pairs[-1][1]):
            continue
        numbers = [column.degrees[~np.isnan(column.degrees)] for column in (first, second)]
        if all(map(_looks_measured, numbers)) and _span_the_globe(*numbers):
            pairs.append((first.column, second.column))
    return pairs


def _looks_measured(numbers: Array) -> bool:
    return len(numbers) >= _SEVERAL and decimals_share(numbers, 4) >= _VERY_FINE


def _span_the_globe(first: Array, second: Array) -> bool:
    """Whether two columns are latitude and longitude by their ranges alone."""
    if not on_globe(first, LATITUDE) or not on_globe(second, LONGITUDE):
        return False
    return bool((np.abs(second) > 90.0).any() and (min(first.min(), second.min()) < 0.0))


def _measured(latitude: AxisColumn, longitude: AxisColumn, faint: bool) -> bool:
    """Whether the numbers look measured, or letters name the axes."""
    if latitude.letters and longitude.letters:
        return True
    for column in (latitude, longitude):
        real = column.degrees[~np.isnan(column.degrees)]
        if faint and (decimals_share(real, 4) < _VERY_FINE or float(np.abs(real).max()) <= _UNIT):
            return False
        if not faint and decimals_share(real, 2) < _FINE:
            return False
    return True
