"""Each left row with its nearest right row: of numbers, of dates and times, of places.

Numbers and moments are looked up in the sorted ones of the right table, places in a kd-tree
(`kernels/points/nearest.py`): n log m time, and memory for one row of each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins import axes
from lakejoin.joins.distances import RowDistances
from lakejoin.store.axes import LATITUDE, LONGITUDE
from lakejoin.store.within import (
    METRES,
    Within,
    haversine_limit,
    metres_of,
    parse_within,
    spans_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

# Days in a unit of time, by how it begins.
_TIMES = {
    "s": 1 / 86_400, "sec": 1 / 86_400, "second": 1 / 86_400, "min": 1 / 1440, "minute": 1 / 1440,
    "h": 1 / 24, "hour": 1 / 24, "d": 1.0, "day": 1.0, "week": 7.0,
}  # fmt: skip
_SPAN = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-zA-Z]+)\s*")
_UNITS = {axes.NUMBER: "", axes.TIME: "days", axes.PLACE: METRES}


@dataclass(frozen=True, slots=True)
class NearOptions:
    """How near the nearest must be: `within` a distance; any distance where it is left out.

    A length for places (`"500m"`, `"2km"`, `"3mi"`), a time for dates and times (`"3 days"`,
    `"12h"`, `"90 min"`; a plain number is days), a number or a share of the left one for numbers
    (`0.5`, `"1%"`).
    """

    within: str | float | None = None


def near_rows(
    left: pa.Table,
    right: pa.Table,
    on: Sequence[tuple[str, str]],
    options: NearOptions | None = None,
) -> RowDistances:
    """Each left row with its nearest right row, the first where several are as near.

    One pair of columns holds numbers, dates and times, or places (`48.1, 11.6`); two pairs are
    coordinates, a latitude and a longitude each.

    >>> import pyarrow as pa
    >>> quakes = pa.table({"at": ["2020-05-01 13:00:00", "2021-01-01"]})
    >>> days = pa.table({"day": ["2020-05-03", "2020-05-02"]})
    >>> found = near_rows(quakes, days, [("at", "day")], NearOptions("12 hours"))
    >>> found.left_rows.tolist(), found.right_rows.tolist(), found.unit
    ([0], [1], 'days')
    """
    within = (options or NearOptions()).within
    if len(on) == 2:
        mine, theirs = _coordinates(left, right, on)
        return _by_place(mine, theirs, _limit(within, axes.PLACE))
    if len(on) != 1:
        raise InputError(
            "nearness takes one pair of columns, or two for a latitude and a longitude, and not "
            f"{len(on)}"
        )
    mine_name, their_name = on[0]
    kind = _same_kind(left[mine_name], right[their_name], mine_name, their_name)
    limit = _limit(within, kind)
    if kind == axes.PLACE:
        mine, theirs = (axes.texts_as_places(c) for c in (left[mine_name], right[their_name]))
        return _by_place(mine, theirs, limit)
    read = axes.days_of if kind == axes.TIME else axes.numbers_of
    return _by_number(read(left[mine_name]), read(right[their_name]), limit, _UNITS[kind])


def near_places(mine: Array, theirs: Array, within: str | float | None = None) -> RowDistances:
    """Each of my places (latitude, longitude) with the nearest one of theirs; NaN is no place.

    >>> near_places(np.array([[48.1, 11.6]]), np.array([[48.2, 11.6], [48.1, 11.7]])).right_rows
    array([1])
    """
    return _by_place(mine, theirs, _limit(within, axes.PLACE))


# -- what is compared ------------------------------------------------------------------------------


def _same_kind(
    left: pa.ChunkedArray, right: pa.ChunkedArray, left_name: str, right_name: str
) -> str:
    """What both columns are; where one has no value at all, what the other is."""
    kinds = axes.kind_of(left), axes.kind_of(right)
    for kind, column, name in zip(kinds, (left, right), (left_name, right_name), strict=True):
        if not kind and column.null_count < len(column):
            some = next(str(v) for v in column.to_pylist() if v is not None)
            raise InputError(
                f"column {name!r} holds no numbers, dates or places that could be near (such as "
                f"{some[:40]!r})"
            )
    if all(kinds) and kinds[0] != kinds[1]:
        raise InputError(
            f"{left_name!r} holds {kinds[0]}s and {right_name!r} {kinds[1]}s: only the same kind "
            "can be near"
        )
    return kinds[0] or kinds[1] or axes.NUMBER


def _coordinates(
    left: pa.Table, right: pa.Table, on: Sequence[tuple[str, str]]
) -> tuple[Array, Array]:
    """The places of both tables, latitude first."""
    names = [a for a, _ in on], [b for _, b in on]
    mine, my_first = axes.places_of_columns([left[n] for n in names[0]], names[0])
    theirs, their_first = axes.places_of_columns([right[n] for n in names[1]], names[1])
    if {my_first, their_first} == {LATITUDE, LONGITUDE}:
        raise InputError(
            f"{names[0][0]!r} is a {my_first} and {names[1][0]!r} a {their_first}: pair the "
            "latitudes, and the longitudes"
        )
    found = []
    for places, columns in ((mine, names[0]), (theirs, names[1])):
        turned = places[:, ::-1] if LONGITUDE in (my_first, their_first) else places
        earthly = axes.on_globe(turned)
        if len(places) and not np.isfinite(earthly).any():
            raise InputError(
                f"{columns[0]!r} and {columns[1]!r} hold no latitudes and longitudes in degrees: "
                "in no row are both on the globe"
            )
        found.append(earthly)
    return found[0], found[1]


def _limit(within: str | float | None, kind: str) -> Within | None:
    """The limit in the unit of the kind; what does not go together is refused."""
    if within is None:
        return None
    span = _SPAN.fullmatch(within) if isinstance(within, str) else None
    unit = span[2].lower() if span else ""
    days = _TIMES.get(unit) or _TIMES.get(unit.removesuffix("s"))
    if span and days:
        limit = Within(float(span[1]) * days)
        if kind != axes.TIME:
            raise InputError(f"{within} is a time, and {kind}s are not apart by time")
        return limit
    try:
        limit = parse_within(within)
    except InputError:
        raise InputError(
            f"{within!r} is no distance: write 500m or 2km for places, 3 days or 12 hours for dates"
            " and times, 1% or 0.5 for numbers"
        ) from None
    if (limit.unit == METRES) != (kind == axes.PLACE):
        wanted = {axes.PLACE: "500m or 2km", axes.TIME: "3 days or 12 hours"}
        raise InputError(
            f"{kind}s are not apart by {within}: write {wanted.get(kind, '1% or 0.5')}"
        )
    if kind == axes.TIME and limit.unit == "share":
        raise InputError(f"times are not apart by a share ({within}): write 3 days or 12 hours")
    return limit


# -- the nearest -----------------------------------------------------------------------------------


def _by_number(mine: Array, theirs: Array, limit: Within | None, unit: str) -> RowDistances:
    rows = np.flatnonzero(np.isfinite(mine))
    values, first = _distinct(theirs[:, None])
    values = values[:, 0]
    if not len(rows) or not len(values):
        return _none(unit)
    wanted = mine[rows]
    above = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    below = np.maximum(above - 1, 0)
    up, down = np.abs(values[above] - wanted), np.abs(values[below] - wanted)
    nearer_below = (down < up) | ((down == up) & (first[below] < first[above]))
    place = np.where(nearer_below, below, above)
    kept = np.ones(len(rows), np.bool_)
    if limit is not None:
        low, high = spans_of(wanted, limit)
        kept = (low <= values[place]) & (values[place] <= high)
    distance = np.where(nearer_below, down, up)
    return RowDistances(rows[kept], first[place[kept]], distance[kept], unit)


def _by_place(mine: Array, theirs: Array, limit: Within | None) -> RowDistances:
    from lakejoin.kernels.points.nearest import build_tree, nearest_points

    rows = np.flatnonzero(np.isfinite(mine).all(axis=1))
    places, first = _distinct(theirs)
    if not len(rows) or not len(places):
        return _none(METRES)
    points, wanted = _on_sphere(places), _on_sphere(mine[rows])
    order, split = np.arange(len(points)), np.zeros(len(points), np.int8)
    build_tree(points, order, split)
    found = np.empty(len(rows), np.int64)
    nearest_points(points, order, split, first, wanted, found)
    haversines = _haversines(mine[rows], places[found])
    kept = haversines <= (np.inf if limit is None else haversine_limit(limit))
    return RowDistances(rows[kept], first[found[kept]], metres_of(haversines[kept]), METRES)


def _distinct(values: Array) -> tuple[Array, Array]:
    """The distinct rows of finite numbers, sorted, and the first row of each."""
    rows = np.flatnonzero(np.isfinite(values).all(axis=1))
    if values.shape[1] == 1:  # much quicker than by whole rows
        found, first = np.unique(values[rows, 0] + 0.0, return_index=True)
        return found[:, None], rows[first]
    found, first = np.unique(values[rows] + 0.0, axis=0, return_index=True)
    return found, rows[first]


def _on_sphere(places: Array) -> Array:
    """Places (latitude, longitude) as points of the unit sphere: what is near there is near."""
    latitude, longitude = np.radians(places).T
    across = np.cos(latitude)
    return np.stack(
        [across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)], axis=1
    )


def _haversines(mine: Array, theirs: Array) -> Array:
    """sin(angle / 2) ** 2 of places, row by row."""
    tall, wide = (np.sin(np.radians(mine[:, i] - theirs[:, i]) / 2) ** 2 for i in (0, 1))
    across = np.cos(np.radians(mine[:, 0])) * np.cos(np.radians(theirs[:, 0]))
    return np.asarray(tall + across * wide)


def _none(unit: str) -> RowDistances:
    nothing = np.zeros(0, np.int64)
    return RowDistances(nothing, nothing, np.zeros(0), unit)
