"""Search for columns of numbers, coordinates or vectors near those of the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.engines.composite.query import distinct_rows
from lakejoin.engines.distance.distance_methods import resolve_metric
from lakejoin.engines.distance.engine import PointSetSearch
from lakejoin.errors import InputError
from lakejoin.kernels import coordinate_texts
from lakejoin.model import Array
from lakejoin.search.engine_search import NearSearch
from lakejoin.search.evidence import MatchingPairs
from lakejoin.search.options import ByDistance
from lakejoin.search.result import NearResult, note_unlisted
from lakejoin.search.tau_choice import Reach, limit_unit
from lakejoin.store.coordinate_columns import (
    LATITUDE,
    LONGITUDE,
    AxisColumn,
    find_coordinate_pairs,
    names_coordinates,
    parse_axis_name,
)
from lakejoin.store.distance_limits import DistanceLimit, parse_distance
from lakejoin.store.parsed_numbers import (
    KIND_SHARE,
    ParsedValues,
    are_on_globe,
    column_degrees,
    column_numbers,
    common_dimension,
    parse_values,
    parse_vectors,
    vector_share,
)
from lakejoin.store.point_detection import COORDINATES, NUMBER, VECTOR, parse_column_points
from lakejoin.store.point_sets import PointSets

if TYPE_CHECKING:
    from lakejoin.engines.meaning.hits import NearPairs, VectorHits
    from lakejoin.engines.query import QueryTable


COORDINATE_SEPARATOR = ", "  # between latitude and longitude
_POLE = 90.0


@dataclass(frozen=True, slots=True, eq=False)
class PointQuery:
    """One column, or latitude and longitude, to search for by distance.

    `points` are distinct, in the order of the query rows; `counts[i]` of the `rows` rows hold point
    i, and `texts[i]` is its first spelling. `notes` are notes about how the points were read.
    """

    table: str
    columns: tuple[str, ...]
    kind: str
    points: Array
    counts: Array
    rows: int
    texts: pa.LargeStringArray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.points)

    def texts_of(self, positions: Array) -> list[pa.LargeStringArray]:
        return [self.texts.take(positions)]


def read_points(
    query_table: QueryTable, column_indexes: Sequence[int], on_globe: bool, as_vectors: bool = False
) -> PointQuery:
    """Read the points of one column, or of a latitude and a longitude column.

    `on_globe` if coordinates are expected, so that a list of two numbers is a point on the globe;
    unless it stays a vector because of `as_vectors` and a column name that says nothing of
    coordinates.
    """
    query_table.read(column_indexes)
    columns = [query_table.cells(column_index) for column_index in column_indexes]
    names = tuple(query_table.column_names[column_index] for column_index in column_indexes)
    if len(column_indexes) == 2:
        kind, swapped, axes, notes = _read_pair([tokens for tokens, _ in columns], names)
        if swapped:
            columns, names, column_indexes = columns[::-1], names[::-1], column_indexes[::-1]
    else:
        on_globe = on_globe and (names_coordinates(names[0]) or not as_vectors)
        kind, axes, notes = *_read_single(columns[0][0], names[0], on_globe), ()
    combinations, counts = distinct_rows([cells for _, cells in columns])
    numbers = [axis[combinations[:, j]] for j, axis in enumerate(axes)]
    points = np.concatenate(
        [axis_values.reshape(len(axis_values), -1) for axis_values in numbers], axis=1
    )
    earthly = kind == COORDINATES or (as_vectors and points.shape[1] == 2)
    valid = are_on_globe(points) if earthly else np.isfinite(points).all(axis=1)
    if not valid.any():
        raise _no_points_error(query_table, names, [tokens for tokens, _ in columns])
    distinct_points, first, counts = _distinct(points, np.flatnonzero(valid), counts)
    shown = [
        query_table.query(column_index).spellings.take(combinations[first, j])
        for j, column_index in enumerate(column_indexes)
    ]
    invalid = int(np.count_nonzero(~valid))
    if invalid:
        noun = {NUMBER: "numbers", VECTOR: "vectors of the usual length"}.get(kind, "")
        noun = "valid coordinates" if earthly else noun
        notes = (
            *notes,
            f"{invalid:,} of the {len(valid):,} values of {_listed(names)} are not {noun}",
        )
    return PointQuery(
        query_table.name,
        names,
        kind,
        distinct_points,
        counts,
        query_table.rows(),
        _join_texts(shown),
        notes,
    )


def _distinct(points: Array, valid: Array, counts: Array) -> tuple[Array, Array, Array]:
    """The distinct points in order of first row, their first positions, and their row counts."""
    valid_points = points[valid] + 0.0  # turns -0.0 into 0.0
    _, first, inverse = np.unique(valid_points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.bincount(inverse.reshape(-1), counts[valid], len(first)).astype(np.int64)
    return valid_points[first[order]], valid[first[order]], rows[order]


def _join_texts(shown: Sequence[pa.LargeStringArray]) -> pa.LargeStringArray:
    if len(shown) == 1:
        return shown[0]
    return pc.binary_join_element_wise(*shown, pa.scalar(COORDINATE_SEPARATOR, pa.large_string()))


# -- reading values --------------------------------------------------------------------------------


def _read_single(tokens: pa.LargeStringArray, name: str, on_globe: bool) -> tuple[str, list[Array]]:
    """The kind of most values of one column, and the values as numbers."""
    readings = parse_values(tokens)
    numbers, dimension = column_numbers(readings), common_dimension(readings)
    vectors = vector_share(readings, dimension) if dimension > 1 else 0.0
    pairs = readings.share(coordinate_texts.PAIR, coordinate_texts.POINT)
    if dimension == 2 and on_globe:
        pairs, vectors = pairs + vectors, 0.0
    shares = {NUMBER: float(np.isfinite(numbers).mean()), COORDINATES: pairs, VECTOR: vectors}
    kind = max(shares, key=lambda kind: shares[kind])
    if kind == COORDINATES:
        return kind, [parse_column_points(tokens, name)]
    return kind, [parse_vectors(tokens) if kind == VECTOR and vectors else numbers]


def _read_pair(
    tokens: Sequence[pa.LargeStringArray], names: tuple[str, ...]
) -> tuple[str, bool, list[Array], tuple[str, ...]]:
    """Read two columns as latitude and longitude: the kind, whether they are swapped, their
    degrees, and notes."""
    readings = [parse_values(texts) for texts in tokens]
    degrees = [column_degrees(item) for item in readings]
    axes = [_axis(item, name) for item, name in zip(readings, names, strict=True)]
    if axes[0] == axes[1] != "":
        raise InputError(f"{_listed(names)} are both a {axes[0]}; name a latitude and a longitude")
    largest = [_largest_degree(item) for item in degrees]
    notes: tuple[str, ...] = ()
    swapped = LONGITUDE == axes[0] != axes[1] or LATITUDE == axes[1] != axes[0]
    if not any(axes):
        swapped = largest[0] > _POLE >= largest[1]
    if swapped:
        degrees, names = degrees[::-1], names[::-1]
    if swapped or not all(axes):
        notes = (f"using {names[0]!r} as latitude and {names[1]!r} as longitude",)
    return COORDINATES, swapped, degrees, notes


def _axis(readings: ParsedValues, name: str) -> str:
    """The axis of a column by its letters (`48.1° N`) or its name; empty if neither tells."""
    by_name = parse_axis_name(name)
    return _axis_by_letters(readings) or (by_name.axis if by_name else "")


def _axis_by_letters(readings: ParsedValues) -> str:
    north, east = (
        readings.share(coordinate_texts.LATITUDE),
        readings.share(coordinate_texts.LONGITUDE),
    )
    if north >= KIND_SHARE / 2 and not east:
        return LATITUDE
    return LONGITUDE if east >= KIND_SHARE / 2 and not north else ""


def _largest_degree(degrees: Array) -> float:
    return float(np.abs(degrees[np.isfinite(degrees)]).max(initial=0.0))


def _no_points_error(
    query_table: QueryTable, names: Sequence[str], tokens: Sequence[pa.LargeStringArray]
) -> InputError:
    some = COORDINATE_SEPARATOR.join(repr(texts[0].as_py()) for texts in tokens if len(texts))
    if len(names) > 1:
        return InputError(
            f"no row of {query_table.name} has a valid latitude and longitude in degrees in "
            f"{_listed(names)} (for example {some})"
        )
    return InputError(
        f"column {names[0]!r} of {query_table.name} has no numbers, coordinates or vectors to "
        f"compare by distance (for example {some})"
    )


# -- default columns -------------------------------------------------------------------------------


def find_coordinates(query_table: QueryTable) -> tuple[tuple[int, ...], str]:
    """Find the coordinates of the query table, two columns or one that holds both, and a note that
    names them."""
    query_table.profiles()  # reads a file once
    axes, both = [], []
    for column_index, name in enumerate(query_table.column_names):
        readings = parse_values(query_table.query(column_index).tokens)
        degrees = column_degrees(readings)
        if len(readings) and float(np.isfinite(degrees).mean()) >= KIND_SHARE:
            axes.append(AxisColumn(column_index, name, degrees, _axis_by_letters(readings)))
        elif readings.share(coordinate_texts.PAIR, coordinate_texts.POINT) >= KIND_SHARE:
            both.append((column_index,))
    pairs = [*find_coordinate_pairs(axes), *both]
    if not pairs:
        raise InputError(
            f"no column was named, and {query_table.name} has no columns that look like "
            "coordinates: name a column, or a latitude and a longitude"
        )
    chosen = [
        _listed([query_table.column_names[column_index] for column_index in pair]) for pair in pairs
    ]
    others = f"; there is also {', '.join(chosen[1:])}" if len(chosen) > 1 else ""
    return pairs[0], f"no column was named; using {chosen[0]} as coordinates{others}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


_NOUNS = {
    "number": "column of numbers",
    "place": "table with coordinates",
    "vector": "column of vectors",
}


class DistanceSearch(NearSearch):
    """One search by distance."""

    @cached_property
    def query(self) -> PointQuery:
        as_vectors = self._near_options.metric == "haversine"
        on_globe = self._within.unit == "m" or as_vectors
        return read_points(self.query_table, self.column_indexes, on_globe, as_vectors)

    @property
    def _near_options(self) -> ByDistance:
        assert isinstance(self.options.near, ByDistance)
        return self.options.near

    @cached_property
    def _within(self) -> DistanceLimit:
        return parse_distance(self._near_options.within)

    @cached_property
    def _metric(self) -> str:
        return resolve_metric(self.query.kind, self._within, self._near_options.metric)

    @cached_property
    def reach(self) -> Reach:
        unit = " rad" if self._metric == "angular" else limit_unit(self._within)
        within = str(self._near_options.within).strip()
        return Reach(self._near_options.measure, within=within, metric=self._metric, unit=unit)

    @cached_property
    def _sets(self) -> list[PointSets]:
        return [segment.points for segment in self.snapshot.segments]

    @cached_property
    def _engine(self) -> PointSetSearch:
        return PointSetSearch(self._sets)

    # -- hits -------------------------------------------------------------------------------------

    def hits(self) -> VectorHits:
        query = self.query
        return self._engine.search(
            query.points,
            query.kind,
            self._within,
            self._metric,
            measure=self._near_options.measure,
            k=self.options.k,
            least=self.least,
            excluded=self.excluded,
        )

    def _columns(self, segment_index: int, found: int) -> tuple[int, ...]:
        return self._sets[segment_index].columns(found)

    def _size(self, segment_index: int, found: int) -> int:
        return self._sets[segment_index].size(found)

    def _partners(self, segment_index: int, found: int) -> MatchingPairs:
        """The matching pairs with a point set; lake values are given by their position in it."""
        query, sets = self.query, self._sets[segment_index]
        pairs = self._engine.pairs(
            query.points, query.kind, self._within, self._metric, segment_index, found
        )
        written = partial(_point_texts, sets, found)
        rows = sets.repeats(found)[pairs.id]
        same = _equal(query.points, sets.points(found), pairs)
        return MatchingPairs(
            pairs.position, pairs.id, self._displayed_distance(pairs), rows, same, written, written
        )

    def _displayed_distance(self, pairs: NearPairs) -> Array:
        """Distances in the unit of `within`: as a share of the query's number if it is one."""
        if self._within.unit != "share":
            return pairs.distance
        mine = np.abs(self.query.points[pairs.position, 0])
        return np.asarray(pairs.distance / np.where(mine > 0, mine, 1.0))

    def notes(self, hits: VectorHits, results: Sequence[NearResult]) -> list[str]:
        why = note_unlisted(results, "distance") if results else [self._why_nothing()]
        return [*self.query.notes, *why]

    def _why_nothing(self) -> str:
        if not self.snapshot.manifest.totals.tables:
            return "the index is empty"
        kind, noun = self.query.kind, _NOUNS[self.query.kind]
        kinds = {sets.kind(points) for sets in self._sets for points in range(sets.count)}
        if kind not in kinds and not (self._metric == "haversine" and COORDINATES in kinds):
            return f"the lake has no {noun}"
        return self._why_no_match(noun)


def _equal(mine: Array, theirs: Array, pairs: NearPairs) -> Array:
    """Which pairs are equal points: vectors at angle 0 may differ in length."""
    same = np.asarray(pairs.distance == 0)
    near = np.flatnonzero(same)
    position, partner = pairs.position[near], pairs.id[near]
    for axis in range(mine.shape[1]):
        same[near] &= mine[position, axis] == theirs[partner, axis]
    return same


def _point_texts(sets: PointSets, points: int, chosen: Array) -> pa.LargeStringArray:
    kind, rows = sets.kind(points), sets.points(points)[chosen]
    texts = [COORDINATE_SEPARATOR.join(map(format_number, row)) for row in rows.tolist()]
    if kind not in (NUMBER, COORDINATES):
        texts = [f"[{text}]" for text in texts]
    return pa.array(texts, pa.large_string())


def format_number(number: float) -> str:
    """The shortest text of a number that parses back to it.

    >>> format_number(7.0), format_number(46.949), format_number(1e-9)
    ('7', '46.949', '1e-09')
    """
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
