"""Join candidates by coordinates: tables with points near those of the query table.

The radius comes from the query's own points: at most a tenth of the distance between neighbours, so
that two of them are seldom near the same point; and the smallest radius that finds nearly as much.
Chance is measured with wrong points: those of the smaller side, each moved by a few times the
radius, so that cities stay where cities are. If as many of these match, the tables only cover the
same area.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.hits import ExcludedColumns
from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.ranking.join_candidates import JoinCandidate, measure_uniqueness
from lakejoin.ranking.join_score import Signals
from lakejoin.search.meaning_search import require_part
from lakejoin.search.options import ByDistance, SearchOptions
from lakejoin.signals.chance import LEAST_CHANCE
from lakejoin.store.distance_limits import (
    EARTH_RADIUS,
    METRES,
    DistanceLimit,
    haversine_limit,
    metres_of,
)
from lakejoin.store.point_detection import COORDINATES, KINDS

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.distance_search import DistanceSearch
    from lakejoin.search.result import NearResult
    from lakejoin.search.searcher import Searcher

_SAMPLE = 300  # points to compare
_ASKED, _AMONG = 100, 8_000  # query points whose neighbours are searched, and among how many
_CLOSELY = 12  # point sets to compare with chance
_MOST = 6  # candidates to return
_FEWEST = 3  # points that must match
_SHARE = 0.3  # share of the smaller side that must match, beyond chance
_NEARLY = 0.9  # share of what the largest radius finds that a smaller one must find
_OF_NEIGHBOURS = 0.1  # largest radius, as a share of the distance between neighbours
_RADII = tuple(a * b for b in (10.0, 100.0, 1000.0, 10_000.0) for a in (1.0, 2.0, 5.0))[2:-2]
_AWAY = 4.0  # how far wrong points are moved, in radii


def find_coordinate_candidates(
    searcher: Searcher, query_table: QueryTable, named: Sequence[int] | None = None
) -> list[JoinCandidate]:
    """The candidates for a join by the query table's coordinates; none if it has none, if other
    columns were `named`, or if the index has no points."""
    search = _search(searcher, query_table, named)
    if search is None or search.query.kind != COORDINATES or len(search.query) < _FEWEST:
        return []
    radii = choose_radii(search.query.points)
    among = _likely_sets(search, radii[-1])
    sets = [compared for address in among if (compared := _compare(search, address, radii))]
    candidates = [
        candidate
        for radius in sorted({compared.radius for compared in sets})
        for candidate in _candidates_within(search, radius, sets)
    ]
    return [candidate for candidate in candidates if candidate.believed]


@dataclass(frozen=True, slots=True)
class _ComparedSet:
    """A lake point set, `points` of a `segment`: the radius, and the shares of right and of wrong
    points of the smaller side that match."""

    segment: int
    points: int
    size: int
    radius: float
    share: float
    chance: float


def _search(
    searcher: Searcher, query_table: QueryTable, named: Sequence[int] | None
) -> DistanceSearch | None:
    """Prepare the search for the query table's coordinates, if it has any."""
    from lakejoin.search.distance_search import DistanceSearch

    try:
        require_part(searcher.snapshot, "distance")
        places = _coordinates(searcher, query_table)
    except InputError:
        return None
    if places is None or (named is not None and set(places) != set(named)):
        return None
    options = SearchOptions(
        "distance", k=_MOST, others=True, near=ByDistance(DistanceLimit(0.0, METRES))
    )
    search = searcher.prepare_near_search(query_table, places, options)
    assert isinstance(search, DistanceSearch)
    return search


def _coordinates(searcher: Searcher, query_table: QueryTable) -> tuple[int, ...] | None:
    """The column indexes of the coordinates; for a table in the lake, from the index."""
    from lakejoin.search.distance_search import find_coordinates

    if query_table.home is None:
        return find_coordinates(query_table)[0]
    segment_index, table = query_table.home
    segment = searcher.snapshot.segments[segment_index]
    first, sets = segment.catalog.table(table).first, segment.points
    for points in np.flatnonzero(sets.kinds == KINDS.index(COORDINATES)).tolist():
        columns = sets.columns(points)
        if first <= columns[0] < first + len(query_table.column_names):
            return tuple(column - first for column in columns)
    return None


def _likely_sets(search: DistanceSearch, radius: float) -> list[tuple[int, int]]:
    """The point sets that may match enough points of the smaller side."""
    from lakejoin.engines.distance.engine import PointSetSearch

    sets = [segment.points for segment in search.snapshot.segments]
    mine = search.query.points
    sampled = sample_points(mine)
    hits = PointSetSearch(sets).search(
        sampled,
        COORDINATES,
        DistanceLimit(radius, METRES),
        k=_CLOSELY,
        excluded=search.excluded,
        counted=False,
    )
    found = zip(hits.segment.tolist(), hits.column.tolist(), hits.matched.tolist(), strict=True)
    return [
        (segment_index, points)
        for segment_index, points, matched in found
        if matched / len(sampled) * len(mine)
        >= _SHARE * min(len(mine), sets[segment_index].size(points))
    ]


def _compare(
    search: DistanceSearch, address: tuple[int, int], radii: Sequence[float]
) -> _ComparedSet | None:
    """Compare a point set with chance; None if too few points match."""
    segment, points = address
    mine, theirs = search.query.points, search.snapshot.segments[segment].points.points(points)
    smaller, other = (mine, theirs) if len(mine) <= len(theirs) else (theirs, mine)
    some, largest = sample_points(smaller), radii[-1]
    distances = nearest_distances(some, other, largest)
    chance_distances = nearest_distances(move_points(some, _AWAY * largest), other, largest)
    gains = [
        float((distances <= limit).mean() - (chance_distances <= limit).mean()) for limit in radii
    ]
    radius = next(
        limit for limit, gain in zip(radii, gains, strict=True) if gain >= _NEARLY * max(gains)
    )
    share = float((distances <= radius).mean())
    chance = float(
        (nearest_distances(move_points(some, _AWAY * radius), other, radius) <= radius).mean()
    )
    if share - chance < _SHARE or share < 2 * chance:
        return None
    return _ComparedSet(segment, points, len(theirs), radius, share, chance)


def _candidates_within(
    search: DistanceSearch, radius: float, compared: Sequence[_ComparedSet]
) -> list[JoinCandidate]:
    """The candidates of one radius, with exact figures; the better one if a table has two sets."""
    from lakejoin.search.table_versions import Copies

    within = DistanceLimit(radius, METRES)
    chosen = {(item.segment, item.points): item for item in compared if item.radius == radius}
    exact = replace(
        search,
        options=replace(search.options, near=ByDistance(within)),
        excluded=_all_but(search, chosen),
    )
    exact.__dict__["query"] = search.query  # reuse the points that were read
    copies = Copies(
        search.snapshot.segments,
        search.segment_tables,
        search.query_table,
        search.column_indexes[0],
    )
    hits = exact.hits()
    addresses = zip(hits.segment.tolist(), hits.column.tolist(), strict=True)
    best: dict[str, JoinCandidate] = {}
    for address, result in zip(addresses, exact.results(hits, copies), strict=True):
        if address in chosen and result.matched >= _FEWEST:
            best.setdefault(result.table, _candidate(result, within, chosen[address]))
    return list(best.values())


def _all_but(search: DistanceSearch, kept: Iterable[tuple[int, int]]) -> ExcludedColumns:
    """Exclude all columns except those of some point sets."""
    segments = search.snapshot.segments
    masks = [np.ones(segment.column_count, dtype=bool) for segment in segments]
    for segment_index, points in kept:
        masks[segment_index][list(segments[segment_index].points.columns(points))] = False
    return ExcludedColumns([np.flatnonzero(mask) for mask in masks])


def _candidate(result: NearResult, within: DistanceLimit, compared: _ComparedSet) -> JoinCandidate:
    location = result.found
    assert location is not None, "a search result has a location"
    # Coordinates have the same names everywhere, so names say nothing.
    signals = Signals(
        min(result.query_size, compared.size),
        compared.share,
        max(LEAST_CHANCE, compared.chance),
        result.containment,
        unique=measure_uniqueness(result),
    )
    return JoinCandidate(location.query.columns, result, signals, "near", radius=within)


# -- points ----------------------------------------------------------------------------------------


def choose_radii(points: Array) -> list[float]:
    """The radii to try for these points, in metres: some of 50, 100, 200, 500 … 10,000.

    No less than the precision of their degrees, and up to the first radius of at least a tenth of
    the median distance between neighbours.

    >>> grid = np.array([[lat, lon] for lat in range(10) for lon in range(10)]) / 10 + 45.00123
    >>> choose_radii(grid), choose_radii(np.round(grid, 1))
    ([50.0, 100.0, 200.0, 500.0, 1000.0], [10000.0])
    """
    least, most = _rounding(points), _OF_NEIGHBOURS * _between_neighbours(points)
    last = next(
        (i for i, radius in enumerate(_RADII) if radius >= max(least, most)), len(_RADII) - 1
    )
    return [radius for radius in _RADII[:last] if radius >= least] + [_RADII[last]]


def _between_neighbours(points: Array) -> float:
    """The median distance from a point to its nearest neighbour, in metres."""
    among = sample_points(points, _AMONG)
    some = sample_points(among, _ASKED)
    cosines = _on_sphere(some) @ _on_sphere(among).T
    # The nearest of all is the point itself.
    nearest = np.partition(cosines, -2, axis=1)[:, -2] if len(among) > 1 else np.full(1, -1.0)
    distance = EARTH_RADIUS * float(np.median(np.arccos(np.clip(nearest, -1.0, 1.0))))
    return distance * math.sqrt(len(among) / len(points))


def _rounding(points: Array) -> float:
    """The rounding error of the points, in metres."""
    some = sample_points(points)
    for digits in range(5):
        if np.isclose(np.round(some, digits), some, rtol=0.0, atol=1e-7).mean() > 0.95:
            return math.radians(10.0**-digits) * EARTH_RADIUS / math.sqrt(2)
    return 0.0


def _on_sphere(points: Array) -> Array:
    lat, lon = np.radians(points).T
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def sample_points(points: Array, most: int = _SAMPLE) -> Array:
    """A fixed sample of the points, in their order."""
    if len(points) <= most:
        return points
    chosen = np.random.default_rng(0).choice(len(points), most, replace=False)
    return np.asarray(points[np.sort(chosen)])


def move_points(points: Array, away: float) -> Array:
    """Move each point by that many metres, each in another direction.

    >>> bern = np.array([[46.95, 7.45]])
    >>> nearest_distances(bern, move_points(bern, 1000.0), 2000.0).round(3).tolist()
    [1000.0]
    """
    bearing = np.random.default_rng(0).uniform(0, 2 * math.pi, len(points))
    lat, lon = np.radians(points).T
    angle = away / EARTH_RADIUS
    north = np.sin(lat) * math.cos(angle) + np.cos(lat) * math.sin(angle) * np.cos(bearing)
    there = np.arcsin(np.clip(north, -1.0, 1.0))
    east = np.sin(bearing) * math.sin(angle) * np.cos(lat)
    beyond = lon + np.arctan2(east, math.cos(angle) - np.sin(lat) * np.sin(there))
    beyond = (beyond + math.pi) % (2 * math.pi) - math.pi
    return np.asarray(np.degrees(np.stack([there, beyond], axis=1)))


def nearest_distances(points: Array, among: Array, most: float) -> Array:
    """The distance from each point to the nearest of the others, in metres; infinite if more than
    `most`.

    >>> towns = np.array([[46.95, 7.45], [47.37, 8.54]])
    >>> nearest_distances(towns, np.array([[46.951, 7.451]]), 1000.0).round().tolist()
    [135.0, inf]
    """
    limit = DistanceLimit(most, METRES)
    among = among[np.argsort(among[:, 0], kind="stable")]
    reach = math.degrees(most / EARTH_RADIUS) * (1 + 1e-6) + 1e-9
    begin = np.searchsorted(among[:, 0], points[:, 0] - reach)
    counts = np.searchsorted(among[:, 0], points[:, 0] + reach, side="right") - begin
    mine = np.repeat(np.arange(len(points)), counts)
    theirs = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - begin, counts)
    a, b = np.radians(points[mine]), np.radians(among[theirs])
    north, east = np.sin((a - b) / 2).T ** 2
    haversines = north + np.cos(a[:, 0]) * np.cos(b[:, 0]) * east
    near = np.flatnonzero(haversines <= haversine_limit(limit))
    distances = np.full(len(points), np.inf)
    np.minimum.at(distances, mine[near], metres_of(haversines[near]))
    return distances
