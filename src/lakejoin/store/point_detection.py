"""Finds the point sets of a segment's tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.model import Array, ColumnType
from lakejoin.store.coordinate_columns import (
    LATITUDE,
    LONGITUDE,
    AxisColumn,
    decimals_share,
    find_coordinate_pairs,
    names_coordinates,
    names_longitude_first,
)
from lakejoin.store.parsed_numbers import (
    KIND_SHARE,
    ParsedValues,
    are_on_globe,
    column_degrees,
    column_numbers,
    common_dimension,
    parse_points,
    parse_values,
    parse_vectors,
    vector_share,
)
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.point_sets import PointSets
    from lakejoin.store.segment import Segment

FEW_DIMENSIONS = 8  # up to which near vectors are stored side by side and searched as they are
NUMBER, COORDINATES, VECTOR = KINDS = ("number", "place", "vector")

_SLICE = 1 << 18  # values parsed at once
_SAMPLE = 64  # values that decide whether a text column is examined
_IGNORED = (ColumnType.DATE, ColumnType.BOOLEAN, ColumnType.EMPTY)
_NUMERIC = (ColumnType.INTEGER, ColumnType.DECIMAL)
# The share of number pairs in one column with three or more decimals (two, if the column is named
# like coordinates).
_FINE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class PointSet:
    """A set to be written: distinct points (n, d) in order, and the number of rows of each."""

    kind: str
    columns: tuple[int, ...]
    points: Array
    repeats: Array


def find_point_sets(source: Segment) -> Iterator[PointSet]:
    """Find the point sets of all tables: numbers, then coordinates, then vectors of each table."""
    reader = _Reader(source)
    tables = source.catalog.tables
    first, width = tables["first"].to_pylist(), tables["width"].to_pylist()
    for begin, count in zip(first, width, strict=True):
        yield from reader.table(begin, begin + count)


def point_sets_agree(source: Segment, stored: PointSets) -> bool:
    count = 0
    for point_set in find_point_sets(source):
        if count == stored.count or not _same(point_set, stored, count):
            return False
        count += 1
    return count == stored.count


def _same(points: PointSet, stored: PointSets, set_id: int) -> bool:
    if (points.kind, points.columns) != (stored.kind(set_id), stored.columns(set_id)):
        return False
    theirs, repeats = stored.points(set_id), stored.repeats(set_id)
    if points.kind == VECTOR:  # in any order: earlier versions stored another
        theirs, repeats = distinct_points(theirs, repeats)
    return np.array_equal(points.points, theirs) and np.array_equal(points.repeats, repeats)


class _Reader:
    """Reads a segment's columns; parses every distinct value only once."""

    def __init__(self, source: Segment) -> None:
        columns = source.catalog.columns
        self._rows = source.rows
        self._texts = source.dictionary.texts
        self._names: list[str] = columns["name"].to_pylist()
        self._types = [ColumnType(kind) for kind in columns["type"].to_pylist()]
        self._counts: list[int] = columns["rows"].to_pylist()
        self._values = self._read_all(len(source.dictionary))

    def _read_all(self, count: int) -> ParsedValues:
        kinds = np.zeros(count, dtype=np.uint8)
        values = np.zeros(count, dtype=np.float64)
        for begin in range(0, count, _SLICE):
            end = min(begin + _SLICE, count)
            parsed = parse_values(self._texts.take(np.arange(begin, end)))
            kinds[begin:end], values[begin:end] = parsed.kinds, parsed.values
        return ParsedValues(kinds, values)

    def table(self, begin: int, end: int) -> Iterator[PointSet]:
        """The point sets of the table with the columns [begin, end)."""
        axes: list[AxisColumn] = []
        several: list[PointSet] = []
        for column in range(begin, end):
            if not self._may_have_points(column):
                continue
            codes, repeats = self._rows.set_with_counts(column, self._counts[column])
            parsed = self._values.take(codes)
            numbers = self._numbers(column, parsed, repeats)
            if numbers is not None:
                yield numbers
            axis = self._axis(column, parsed)
            if axis is not None:
                axes.append(axis)
            else:
                several.extend(self._several(column, parsed, codes, repeats))
        for latitude, longitude in find_coordinate_pairs(axes):
            points = self._pair(latitude, longitude)
            if points is not None:
                yield points
        yield from several

    def _may_have_points(self, column: int) -> bool:
        """Whether a column may have points; for text columns, judged by a sample."""
        kind = self._types[column]
        if kind in _IGNORED or kind in _NUMERIC:
            return kind in _NUMERIC
        _, ids = self._rows.local(column, self._counts[column])
        codes = self._rows.codes_of(ids[:: max(1, len(ids) // _SAMPLE)])
        codes = codes[codes != NULL]
        return len(codes) > 0 and float((self._values.kinds[codes] > 0).mean()) >= KIND_SHARE / 2

    def _numbers(self, column: int, parsed: ParsedValues, repeats: Array) -> PointSet | None:
        from lakejoin.kernels.coordinate_texts import COMMAS, GROUPS

        kind = self._types[column]
        numbers = column_numbers(parsed)
        real = np.isfinite(numbers)
        if not real.any():
            return None
        if kind not in _NUMERIC and float(real.mean()) < KIND_SHARE:
            return None
        if kind is ColumnType.TEXT and parsed.share(COMMAS, GROUPS) == 0:
            return None  # identifiers with leading zeros are texts
        points, times = distinct_points(numbers[real][:, None], repeats[real])
        return PointSet(NUMBER, (column,), points, times)

    def _axis(self, column: int, parsed: ParsedValues) -> AxisColumn | None:
        from lakejoin.kernels import coordinate_texts

        degrees = column_degrees(parsed)
        if float(np.isfinite(degrees).mean()) < KIND_SHARE:
            return None
        north, east = map(parsed.share, (coordinate_texts.LATITUDE, coordinate_texts.LONGITUDE))
        letters = ""
        if max(north, east) >= KIND_SHARE / 2 and not min(north, east):
            letters = LATITUDE if north else LONGITUDE
        return AxisColumn(column, self._names[column], degrees, letters)

    def _several(
        self, column: int, parsed: ParsedValues, codes: Array, repeats: Array
    ) -> Iterator[PointSet]:
        """The point set of a column whose texts contain several numbers each."""
        from lakejoin.kernels import coordinate_texts

        name = self._names[column]
        dimension = common_dimension(parsed)
        vectors = vector_share(parsed, dimension) >= KIND_SHARE and dimension > 1
        if vectors and not (dimension == 2 and names_coordinates(name)):
            numbers = parse_vectors(self._texts.take(codes))
            real = np.isfinite(numbers).all(axis=1)
            if real.any():
                yield PointSet(VECTOR, (column,), *distinct_points(numbers[real], repeats[real]))
        elif vectors or parsed.share(coordinate_texts.PAIR, coordinate_texts.POINT) >= KIND_SHARE:
            points = parse_column_points(self._texts.take(codes), name)
            real = are_on_globe(points)
            certain = parsed.share(coordinate_texts.POINT) >= KIND_SHARE / 2
            if float(real.mean()) >= KIND_SHARE and (
                certain or _has_decimals(points[real], 2 if names_coordinates(name) else 3)
            ):
                yield PointSet(
                    COORDINATES, (column,), *distinct_points(points[real], repeats[real])
                )

    def _pair(self, latitude: int, longitude: int) -> PointSet | None:
        """The coordinates in two columns, of the rows that have both."""
        axes = []
        keys = np.zeros(self._counts[latitude], dtype=np.uint64)
        for column in (latitude, longitude):
            codes = self._rows.codes(column, self._counts[column])
            known, which = np.unique(codes, return_inverse=True)
            real = known != NULL
            degrees = np.full(len(known), np.nan)
            degrees[real] = column_degrees(self._values.take(known[real]))
            axes.append(degrees)
            keys = (keys << np.uint64(32)) | which.astype(np.uint64)
        pairs, repeats = np.unique(keys, return_counts=True)
        low = pairs & np.uint64(0xFFFFFFFF)
        points = np.stack([axes[0][pairs >> np.uint64(32)], axes[1][low]], axis=1)
        real = are_on_globe(points)
        if not real.any():
            return None
        return PointSet(
            COORDINATES, (latitude, longitude), *distinct_points(points[real], repeats[real])
        )


def parse_column_points(texts: pa.LargeStringArray, name: str) -> Array:
    """The (latitude, longitude) of a column whose texts contain both; NaN for other texts.

    Two numbers are latitude and longitude; a list of two (`[11.6, 48.1]`) has the longitude first,
    as in GeoJSON. The column's name or a number beyond 90 can say otherwise.
    """
    listed = vector_share(parse_values(texts), 2) >= KIND_SHARE
    lower = name.lower()
    latitude_first = 0 <= lower.find("lat") < max(lower.find("lon"), lower.find("lng"))
    named = names_longitude_first(name)
    return parse_points(texts, named or (listed and not latitude_first), certain=named)


def _has_decimals(points: Array, decimals: int) -> bool:
    return all(decimals_share(points[:, axis], decimals) >= _FINE for axis in range(2))


def distinct_points(points: Array, repeats: Array) -> tuple[Array, Array]:
    """The distinct points in the order they are stored, and the number of rows of each."""
    points = points + 0.0  # no negative zeros
    order = np.lexsort(points.T[::-1])
    points, repeats = points[order], repeats[order]
    new = np.ones(len(points), dtype=bool)
    new[1:] = (points[1:] != points[:-1]).any(axis=1)
    begin = np.flatnonzero(new)
    points, repeats = points[begin], np.add.reduceat(repeats, begin)
    if points.shape[1] == 2:
        along = np.argsort(_morton(points), kind="stable")
        points, repeats = points[along], repeats[along]
    elif 2 < points.shape[1] <= FEW_DIMENSIONS:
        from lakejoin.kernels.kd_trees import order_leaves

        along = np.arange(len(points))
        order_leaves(points, along)
        points, repeats = points[along], repeats[along]
    return points, repeats


def _morton(points: Array) -> Array:
    """The position of each point on a curve that keeps neighbours together, within their box."""
    low = points.min(axis=0)
    span = float((points.max(axis=0) - low).max())
    key = np.zeros(len(points), dtype=np.uint64)
    for axis in range(2):
        bits = ((points[:, axis] - low[axis]) / (span or 1.0) * (2**31 - 1)).astype(np.uint64)
        for shift, mask in _SPREAD:
            bits = (bits | (bits << np.uint64(shift))) & np.uint64(mask)
        key |= bits << np.uint64(axis)
    return key


_SPREAD = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)
