"""The ways to join by place: which tables have something where my places are?

How near is near is taken from my own places: a tenth of how far apart neighbours are at most, so
that two of mine are seldom near the same thing; and as little of that as finds nearly as much. What
chance would give is measured with places that are certainly wrong: those of the smaller side, each
moved a few times that far, so that cities stay where cities are. If there is something near as many
of these, the tables only cover the same land.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.fused.ways import Way, unique_of
from lakejoin.errors import InputError
from lakejoin.search.fuse import Signals
from lakejoin.search.hits import Excluded
from lakejoin.search.near_options import ByDistance
from lakejoin.search.needed_part import check_part
from lakejoin.search.options import SearchOptions
from lakejoin.signals.chance import LEAST
from lakejoin.store.points import KINDS, PLACE
from lakejoin.store.within import EARTH, METRES, Within, haversine_limit, metres_of

if TYPE_CHECKING:
    from lakejoin.search.mine import MyTable
    from lakejoin.search.nearness import DistanceSearch
    from lakejoin.search.result import NearResult
    from lakejoin.search.searcher import Searcher

Array = np.ndarray[Any, Any]

_SAMPLE = 300  # places that are looked at
_ASKED, _AMONG = 100, 8_000  # of mine: those whose neighbours are looked for, and among which
_CLOSELY = 12  # point sets that are looked at
_MOST = 6  # ways
_FEWEST = 3  # places that must meet
_SHARE = 0.3  # of the smaller side must meet, beyond what chance gives
_NEARLY = 0.9  # of what the largest radius finds
_OF_NEIGHBOURS = 0.1  # of the distance between neighbours
_RADII = tuple(a * b for b in (10.0, 100.0, 1000.0, 10_000.0) for a in (1.0, 2.0, 5.0))[2:-2]
_AWAY = 4.0  # times the radius: how far wrong places are moved


def by_place(searcher: Searcher, mine: MyTable, named: Sequence[int] | None = None) -> list[Way]:
    """The ways to join by the coordinates that my table has; none where it has none, where others
    are `named`, or the index has no points."""
    search = _search(searcher, mine, named)
    if search is None or search.query.kind != PLACE or len(search.query) < _FEWEST:
        return []
    radii = radii_for(search.query.points)
    among = _candidates(search, radii[-1])
    found = [compared for one in among if (compared := _compared(search, one, radii))]
    chosen = sorted({one.radius for one in found})
    ways = [way for radius in chosen for way in _ways(search, radius, found)]
    return [way for way in ways if not way.weighed.accidental]


@dataclass(frozen=True, slots=True)
class _Compared:
    """A set of places of theirs, the `points` of a `segment`: how near is near, of the smaller side
    the share that meets, and of wrong ones."""

    segment: int
    points: int
    size: int
    radius: float
    share: float
    chance: float


def _search(
    searcher: Searcher, mine: MyTable, named: Sequence[int] | None
) -> DistanceSearch | None:
    """The search for the coordinates of my table, if it has any."""
    from lakejoin.search.nearness import DistanceSearch

    try:
        check_part(searcher.snapshot, "distance")
        places = _coordinates(searcher, mine)
    except InputError:
        return None
    if places is None or (named is not None and set(places) != set(named)):
        return None
    options = SearchOptions("distance", k=_MOST, others=True, near=ByDistance(Within(0.0, METRES)))
    search = searcher.near(mine, places, options)
    assert isinstance(search, DistanceSearch)
    return search


def _coordinates(searcher: Searcher, mine: MyTable) -> tuple[int, ...] | None:
    """The places of my coordinates; of a table of the lake, the index knows them."""
    from lakejoin.search.point_query import place_in

    if mine.home is None:
        return place_in(mine)[0]
    number, table = mine.home
    segment = searcher.snapshot.segments[number]
    first, sets = segment.catalog.table(table).first, segment.points
    for points in np.flatnonzero(sets.kinds == KINDS.index(PLACE)).tolist():
        columns = sets.columns(points)
        if first <= columns[0] < first + len(mine.names):
            return tuple(column - first for column in columns)
    return None


def _candidates(search: DistanceSearch, radius: float) -> list[tuple[int, int]]:
    """The sets that may have something near enough of the places of the smaller side."""
    from lakejoin.search.nearby.engine import NearbySearch

    sets = [segment.points for segment in search.snapshot.segments]
    mine = search.query.points
    some = sample(mine)
    hits = NearbySearch(sets).search(
        some, PLACE, Within(radius, METRES), k=_CLOSELY, excluded=search.excluded, counted=False
    )
    found = zip(hits.segment.tolist(), hits.column.tolist(), hits.matched.tolist(), strict=True)
    return [
        (number, points)
        for number, points, matched in found
        if matched / len(some) * len(mine) >= _SHARE * min(len(mine), sets[number].size(points))
    ]


def _compared(
    search: DistanceSearch, place: tuple[int, int], radii: Sequence[float]
) -> _Compared | None:
    """A set compared with chance; none where it has too little near."""
    segment, points = place
    mine, theirs = search.query.points, search.snapshot.segments[segment].points.points(points)
    smaller, other = (mine, theirs) if len(mine) <= len(theirs) else (theirs, mine)
    some, largest = sample(smaller), radii[-1]
    apart = nearest(some, other, largest)
    beyond = nearest(moved(some, _AWAY * largest), other, largest)
    more = [float((apart <= one).mean() - (beyond <= one).mean()) for one in radii]
    radius = next(r for r, one in zip(radii, more, strict=True) if one >= _NEARLY * max(more))
    share = float((apart <= radius).mean())
    chance = float((nearest(moved(some, _AWAY * radius), other, radius) <= radius).mean())
    if share - chance < _SHARE or share < 2 * chance:
        return None
    return _Compared(segment, points, len(theirs), radius, share, chance)


def _ways(search: DistanceSearch, radius: float, compared: Sequence[_Compared]) -> list[Way]:
    """The ways of one radius, with exact figures; of two sets of a table that have the same
    radius, the better one."""
    from lakejoin.search.copies import Copies

    within = Within(radius, METRES)
    wanted = {(one.segment, one.points): one for one in compared if one.radius == radius}
    exact = replace(
        search,
        options=replace(search.options, near=ByDistance(within)),
        excluded=_others(search, wanted),
    )
    exact.__dict__["query"] = search.query  # as it was read
    copies = Copies(search.snapshot.segments, search.places, search.mine, search.columns[0])
    hits = exact.hits()
    numbers = zip(hits.segment.tolist(), hits.column.tolist(), strict=True)
    best: dict[str, Way] = {}
    for number, result in zip(numbers, exact.results(hits, copies), strict=True):
        if number in wanted and result.matched >= _FEWEST:
            best.setdefault(result.table, _way(result, within, wanted[number]))
    return list(best.values())


def _others(search: DistanceSearch, wanted: Iterable[tuple[int, int]]) -> Excluded:
    """All columns but those of some sets."""
    segments = search.snapshot.segments
    others = [np.ones(segment.column_count, dtype=bool) for segment in segments]
    for number, points in wanted:
        others[number][list(segments[number].points.columns(points))] = False
    return Excluded([np.flatnonzero(one) for one in others])


def _way(result: NearResult, within: Within, compared: _Compared) -> Way:
    found = result.found
    assert found is not None, "a result of a search has its place"
    # Coordinates are called so everywhere: names say nothing.
    signals = Signals(
        min(result.query_size, compared.size),
        compared.share,
        max(LEAST, compared.chance),
        result.containment,
        unique=unique_of(result),
    )
    return Way(found.query.columns, result, signals, "near", f"within {_length(within.amount)}")


# -- places ----------------------------------------------------------------------------------------


def radii_for(points: Array) -> list[float]:
    """How near may be near for these places, in metres: some of 50, 100, 200, 500 … 10,000.

    Not less than the digits of their degrees can tell apart; and not more than a tenth of the
    median distance of neighbours, or the one radius that is more.

    >>> grid = np.array([[lat, lon] for lat in range(10) for lon in range(10)]) / 10 + 45.00123
    >>> radii_for(grid), radii_for(np.round(grid, 1))
    ([50.0, 100.0, 200.0, 500.0, 1000.0], [10000.0])
    """
    least, most = _rounding(points), _OF_NEIGHBOURS * _between_neighbours(points)
    last = next((i for i, one in enumerate(_RADII) if one >= max(least, most)), len(_RADII) - 1)
    return [one for one in _RADII[:last] if one >= least] + [_RADII[last]]


def _between_neighbours(points: Array) -> float:
    """The median distance from a place to the next one, in metres."""
    among = sample(points, _AMONG)
    some = sample(among, _ASKED)
    cosines = _on_sphere(some) @ _on_sphere(among).T
    # The nearest of all is the place itself.
    nearest = np.partition(cosines, -2, axis=1)[:, -2] if len(among) > 1 else np.full(1, -1.0)
    apart = EARTH * float(np.median(np.arccos(np.clip(nearest, -1.0, 1.0))))
    return apart * math.sqrt(len(among) / len(points))


def _rounding(points: Array) -> float:
    """How far apart places can be, in metres, that are written alike."""
    some = sample(points)
    for digits in range(5):
        if np.isclose(np.round(some, digits), some, rtol=0.0, atol=1e-7).mean() > 0.95:
            return math.radians(10.0**-digits) * EARTH / math.sqrt(2)
    return 0.0


def _on_sphere(points: Array) -> Array:
    lat, lon = np.radians(points).T
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def sample(points: Array, most: int = _SAMPLE) -> Array:
    """Some of the points, in their order; always the same ones."""
    if len(points) <= most:
        return points
    chosen = np.random.default_rng(0).choice(len(points), most, replace=False)
    return np.asarray(points[np.sort(chosen)])


def moved(points: Array, away: float) -> Array:
    """The places so many metres from these, each in another direction.

    >>> bern = np.array([[46.95, 7.45]])
    >>> nearest(bern, moved(bern, 1000.0), 2000.0).round(3).tolist()
    [1000.0]
    """
    bearing = np.random.default_rng(0).uniform(0, 2 * math.pi, len(points))
    lat, lon = np.radians(points).T
    angle = away / EARTH
    north = np.sin(lat) * math.cos(angle) + np.cos(lat) * math.sin(angle) * np.cos(bearing)
    there = np.arcsin(np.clip(north, -1.0, 1.0))
    east = np.sin(bearing) * math.sin(angle) * np.cos(lat)
    beyond = lon + np.arctan2(east, math.cos(angle) - np.sin(lat) * np.sin(there))
    beyond = (beyond + math.pi) % (2 * math.pi) - math.pi
    return np.asarray(np.degrees(np.stack([there, beyond], axis=1)))


def nearest(asked: Array, among: Array, most: float) -> Array:
    """How far it is from each of some places to the nearest of the others, in metres; infinite
    where it is more than `most`.

    >>> towns = np.array([[46.95, 7.45], [47.37, 8.54]])
    >>> nearest(towns, np.array([[46.951, 7.451]]), 1000.0).round().tolist()
    [135.0, inf]
    """
    limit = Within(most, METRES)
    among = among[np.argsort(among[:, 0], kind="stable")]
    reach = math.degrees(most / EARTH) * (1 + 1e-6) + 1e-9
    begin = np.searchsorted(among[:, 0], asked[:, 0] - reach)
    many = np.searchsorted(among[:, 0], asked[:, 0] + reach, side="right") - begin
    mine = np.repeat(np.arange(len(asked)), many)
    theirs = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - begin, many)
    a, b = np.radians(asked[mine]), np.radians(among[theirs])
    north, east = np.sin((a - b) / 2).T ** 2
    haversines = north + np.cos(a[:, 0]) * np.cos(b[:, 0]) * east
    near = np.flatnonzero(haversines <= haversine_limit(limit))
    apart = np.full(len(asked), np.inf)
    np.minimum.at(apart, mine[near], metres_of(haversines[near]))
    return apart


def _length(metres: float) -> str:
    """
    >>> _length(500.0), _length(2000.0)
    ('500 m', '2 km')
    """
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
