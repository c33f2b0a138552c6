"""Which columns of a table are a latitude and a longitude: names, ranges and decimals together.

Names alone do not suffice (`long_gun` is no longitude, `LONG` may be a surname), nor do ranges
alone (nearly every share of something lies within 90). A pair is taken where the names say latitude
and longitude and agree in everything else (`pickup_latitude`, `pickup_longitude`), all but a few
numbers are on the globe, and the numbers have decimals, as measured places do and counts do not.
Letters (`48.1° N`) say it without names. In a table without a header two neighbours are taken whose
numbers leave little doubt: all fine, some negative, the first within 90 and the second within 180
but not within 90.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LATITUDE, LONGITUDE = "latitude", "longitude"

_WORDS = {
    "latitude": LATITUDE, "lat": LATITUDE, "lats": LATITUDE, "latit": LATITUDE,
    "longitude": LONGITUDE, "lon": LONGITUDE, "lng": LONGITUDE, "long": LONGITUDE,
    "longs": LONGITUDE, "longit": LONGITUDE,
    "breite": LATITUDE, "breitengrad": LATITUDE, "laenge": LONGITUDE, "länge": LONGITUDE,
    "laengengrad": LONGITUDE, "längengrad": LONGITUDE,
    "latitud": LATITUDE, "longitud": LONGITUDE, "latitudine": LATITUDE, "longitudine": LONGITUDE,
}  # fmt: skip
# Words that may as well be axes of a drawing or metres on a map: their numbers must show more.
_FAINT = {"y": LATITUDE, "x": LONGITUDE, "northing": LATITUDE, "easting": LONGITUDE}
# Words that say how it is measured, not of what it is.
_UNITS = frozenset((
    "deg", "degs", "degree", "degrees", "decimal", "dd", "d", "wgs84", "wgs", "84", "4326", "epsg",
    "num", "value", "grad", "coord", "coordinate", "coordinates",
))  # fmt: skip
_ENDINGS = ("latitude", "longitude", "lat", "lon", "lng", "long")
_PLACE_WORDS = frozenset((
    "coord", "coords", "coordinate", "coordinates", "location", "latlon", "latlng", "latlong",
    "lonlat", "lnglat", "longlat", "geo", "geom", "geometry", "geolocation", "geopoint", "point",
    "position", "place", "loc", "gps", "centroid", "georeference", "koordinaten", "standort",
))  # fmt: skip
_LONGITUDE_FIRST = re.compile(r"(lon|lng|long|longitude)[^a-z]*(and|und)?[^a-z]*lat")
_PARTS = re.compile(r"[A-ZÄÖÜ]+(?![a-zäöü])|[A-ZÄÖÜ]?[a-zäöü]+|\d+")

# Shares of distinct numbers: on the globe; with two decimals or more, where names are plain; with
# four or more, where they are faint.
ON_GLOBE = 0.95
_FINE = 0.2
_VERY_FINE = 0.5
_SEVERAL = 10  # numbers, where there are no names
_NO_NAME = re.compile(r"col_\d+")  # as a column without a header is called
_UNIT = 1.5  # numbers within this are shares and unit vectors as likely as degrees


@dataclass(frozen=True, slots=True)
class AxisName:
    """What a column's name says: which axis, of what (`pickup`), and whether faintly."""

    axis: str
    of: tuple[str, ...]
    faint: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AxisColumn:
    """A column of numbers that may be an axis: where it stands, its name, its distinct degrees.

    `letters` is the axis that letters say (`48.1° N`), or nothing.
    """

    number: int
    name: str
    degrees: Array
    letters: str = ""


def axis_name(name: str) -> AxisName | None:
    """What a column's name says of an axis, if anything.

    >>> axis_name("pickup_latitude")
    AxisName(axis='latitude', of=('pickup',), faint=False)
    >>> axis_name("destLng").of, axis_name("X").faint, axis_name("flat rate") is None
    (('dest',), True, True)
    """
    parts = [part.lower() for part in _PARTS.findall(name)]
    kept = [part for part in parts if part not in _UNITS]
    for words, faint in ((_WORDS, False), (_FAINT, True)):
        at = [i for i, part in enumerate(kept) if part in words]
        if len(at) == 1:
            return AxisName(words[kept[at[0]]], tuple(kept[: at[0]] + kept[at[0] + 1 :]), faint)
    if len(kept) == 1:
        for ending in _ENDINGS:
            if kept[0].endswith(ending) and len(kept[0]) > len(ending):
                return AxisName(_WORDS[ending], (kept[0].removesuffix(ending),))
    return None


def says_place(name: str) -> bool:
    """Whether a name says that a column holds places.

    >>> says_place("Geo Location"), says_place("lat_lon"), says_place("dimensions")
    (True, True, False)
    """
    parts = {part.lower() for part in _PARTS.findall(name)}
    axes = {_WORDS[part] for part in parts if part in _WORDS}
    return bool(parts & _PLACE_WORDS) or len(axes) == 2


def longitude_first(name: str) -> bool:
    """Whether a name says that the longitude comes first.

    >>> longitude_first("lonLat"), longitude_first("lat/lon")
    (True, False)
    """
    return bool(_LONGITUDE_FIRST.search(name.lower()))


def decimals_share(numbers: Array, decimals: int) -> float:
    """The share of the numbers that have at least so many decimals."""
    if not len(numbers):
        return 0.0
    moved = np.abs(numbers) * 10.0 ** (decimals - 1)
    return float((np.abs(moved - np.rint(moved)) > 1e-6).mean())


def on_globe(degrees: Array, axis: str) -> bool:
    """Whether all but a few of a column's degrees can be on that axis."""
    limit = 90.0 if axis == LATITUDE else 180.0
    real = degrees[~np.isnan(degrees)]
    return len(real) > 0 and float((np.abs(real) <= limit).mean()) >= ON_GLOBE


def coordinate_pairs(columns: Sequence[AxisColumn]) -> list[tuple[int, int]]:
    """The pairs of columns (latitude, longitude) of a table that are places."""
    wanted: dict[str, list[tuple[AxisColumn, AxisName]]] = {LATITUDE: [], LONGITUDE: []}
    for column in columns:
        said = axis_name(column.name)
        if column.letters:
            of = said.of if said and said.axis == column.letters else ()
            wanted[column.letters].append((column, AxisName(column.letters, of)))
        elif said and on_globe(column.degrees, said.axis):
            wanted[said.axis].append((column, said))
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    for latitude, said in wanted[LATITUDE]:
        partners = [
            (abs(column.number - latitude.number), column.number)
            for column, other in wanted[LONGITUDE]
            if column.number not in taken
            and (other.of, other.faint) == (said.of, said.faint)
            and _measured(latitude, column, said.faint)
        ]
        if partners:
            _, longitude = min(partners)
            taken.add(longitude)
            pairs.append((latitude.number, longitude))
    return pairs + _without_names(columns)


def _without_names(columns: Sequence[AxisColumn]) -> list[tuple[int, int]]:
    """Neighbours, of columns that have no name of their own, that can hardly be anything else."""
    nameless = [column for column in columns if _NO_NAME.fullmatch(column.name)]
    pairs: list[tuple[int, int]] = []
    for first, second in pairwise(nameless):
        if second.number != first.number + 1 or (pairs and first.number == pairs[-1][1]):
            continue
        numbers = [column.degrees[~np.isnan(column.degrees)] for column in (first, second)]
        if all(map(_looks_measured, numbers)) and _span_the_globe(*numbers):
            pairs.append((first.number, second.number))
    return pairs


def _looks_measured(numbers: Array) -> bool:
    return len(numbers) >= _SEVERAL and decimals_share(numbers, 4) >= _VERY_FINE


def _span_the_globe(first: Array, second: Array) -> bool:
    """Whether numbers are a latitude and a longitude by their ranges alone."""
    if not on_globe(first, LATITUDE) or not on_globe(second, LONGITUDE):
        return False
    return bool((np.abs(second) > 90.0).any() and (min(first.min(), second.min()) < 0.0))


def _measured(latitude: AxisColumn, longitude: AxisColumn, faint: bool) -> bool:
    """Whether the numbers look measured, or letters say what they are."""
    if latitude.letters and longitude.letters:
        return True
    for column in (latitude, longitude):
        real = column.degrees[~np.isnan(column.degrees)]
        if faint and (decimals_share(real, 4) < _VERY_FINE or float(np.abs(real).max()) <= _UNIT):
            return False
        if not faint and decimals_share(real, 2) < _FINE:
            return False
    return True
