"""Columns of mine as points, ready to be searched for by distance: numbers, places or vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.mate.query import distinct_rows
from lakejoin.store.axes import (
    LATITUDE,
    LONGITUDE,
    AxisColumn,
    axis_name,
    coordinate_pairs,
    says_place,
)
from lakejoin.store.coordinates import (
    KIND_SHARE,
    Readings,
    degrees_in,
    dimension_in,
    numbers_in,
    read_values,
    valid_places,
    vector_share,
    vectors_of,
)
from lakejoin.store.points import NUMBER, PLACE, VECTOR

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.mine import MyTable

Array = np.ndarray[Any, Any]

BETWEEN = ", "  # the two numbers of a place that is shown
_POLE = 90.0


@dataclass(frozen=True, slots=True, eq=False)
class PointQuery:
    """One column, or a latitude and a longitude, to be searched for by distance.

    `points` are distinct, one a row, in the order of my rows; `counts[i]` of my `rows` hold the
    i-th, and `texts[i]` is how I wrote it first. `said` are sentences about how they were read.
    """

    table: str
    columns: tuple[str, ...]
    kind: str
    points: Array
    counts: Array
    rows: int
    texts: pa.LargeStringArray
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.points)

    def written(self, places: Array) -> list[pa.LargeStringArray]:
        """The points at some places as I wrote them, each in one text."""
        return [self.texts.take(places)]


def point_query(
    mine: MyTable, places: Sequence[int], on_globe: bool, as_vectors: bool = False
) -> PointQuery:
    """The points of a column of mine, or the places of two.

    `on_globe` says that places are wanted, where a list of two numbers may be one too; unless lists
    are to stay `as_vectors`, each a latitude and a longitude, in a column that is not called a
    place.
    """
    mine.read(places)
    parts = [mine.cells(place) for place in places]
    names = tuple(mine.names[place] for place in places)
    if len(places) == 2:
        kind, swapped, axes, said = _pair([tokens for tokens, _ in parts], names)
        if swapped:
            parts, names, places = parts[::-1], names[::-1], places[::-1]
    else:
        on_globe = on_globe and (says_place(names[0]) or not as_vectors)
        kind, axes, said = *_single(parts[0][0], names[0], on_globe), ()
    combinations, counts = distinct_rows([cells for _, cells in parts])
    numbers = [axis[combinations[:, j]] for j, axis in enumerate(axes)]
    points = np.concatenate([each.reshape(len(each), -1) for each in numbers], axis=1)
    earthly = kind == PLACE or (as_vectors and points.shape[1] == 2)
    real = valid_places(points) if earthly else np.isfinite(points).all(axis=1)
    if not real.any():
        raise _nothing(mine, names, [tokens for tokens, _ in parts])
    whole, first, counts = _distinct(points, np.flatnonzero(real), counts)
    shown = [mine.query(place).shown.take(combinations[first, j]) for j, place in enumerate(places)]
    lost = int(np.count_nonzero(~real))
    if lost:
        noun = {NUMBER: "numbers", VECTOR: "vectors like most"}.get(kind, "")
        noun = "places on the globe" if earthly else noun
        said = (*said, f"{lost:,} of the {len(real):,} values of {_listed(names)} are no {noun}")
    return PointQuery(mine.name, names, kind, whole, counts, mine.rows(), _joined(shown), said)


def _distinct(points: Array, real: Array, counts: Array) -> tuple[Array, Array, Array]:
    """Distinct points in the order of their first row, where each is first, and their rows."""
    kept = points[real] + 0.0  # there is one zero
    _, first, inverse = np.unique(kept, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.bincount(inverse.reshape(-1), counts[real], len(first)).astype(np.int64)
    return kept[first[order]], real[first[order]], rows[order]


def _joined(shown: Sequence[pa.LargeStringArray]) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(shown) == 1:
        return shown[0]
    return pc.binary_join_element_wise(*shown, pa.scalar(BETWEEN, pa.large_string()))


# -- what the numbers are --------------------------------------------------------------------------


def _single(tokens: pa.LargeStringArray, name: str, on_globe: bool) -> tuple[str, list[Array]]:
    """What most values of one column are, and these as numbers."""
    from lakejoin.kernels.points import texts
    from lakejoin.store.pointsets import places_in_texts

    found = read_values(tokens)
    numbers, dimension = numbers_in(found), dimension_in(found)
    vectors = vector_share(found, dimension) if dimension > 1 else 0.0
    pairs = found.share(texts.PAIR, texts.PLACE)
    if dimension == 2 and on_globe:
        pairs, vectors = pairs + vectors, 0.0
    shares = {NUMBER: float(np.isfinite(numbers).mean()), PLACE: pairs, VECTOR: vectors}
    kind = max(shares, key=lambda one: shares[one])
    if kind == PLACE:
        return kind, [places_in_texts(tokens, name)]
    return kind, [vectors_of(tokens) if kind == VECTOR and vectors else numbers]


def _pair(
    tokens: Sequence[pa.LargeStringArray], names: tuple[str, ...]
) -> tuple[str, bool, list[Array], tuple[str, ...]]:
    """Two columns as latitude and longitude: whether they are the other way round, their degrees,
    and what is said of it."""
    found = [read_values(texts) for texts in tokens]
    degrees = [degrees_in(one) for one in found]
    axes = [_axis(one, name) for one, name in zip(found, names, strict=True)]
    if axes[0] == axes[1] != "":
        raise InputError(
            f"{_listed(names)} are both a {axes[0]}: a place is a latitude and a longitude"
        )
    largest = [_largest(one) for one in degrees]
    said: tuple[str, ...] = ()
    swapped = LONGITUDE == axes[0] != axes[1] or LATITUDE == axes[1] != axes[0]
    if not any(axes):
        swapped = largest[0] > _POLE >= largest[1]
    if swapped:
        degrees, names = degrees[::-1], names[::-1]
    if swapped or not all(axes):
        said = (f"{names[0]!r} is taken as the latitude and {names[1]!r} as the longitude",)
    return PLACE, swapped, degrees, said


def _axis(found: Readings, name: str) -> str:
    """Which axis a column is by its letters (`48.1° N`), or else by its name; nothing if neither
    says."""
    by_name = axis_name(name)
    return _letters(found) or (by_name.axis if by_name else "")


def _letters(found: Readings) -> str:
    from lakejoin.kernels.points import texts

    north, east = found.share(texts.LATITUDE), found.share(texts.LONGITUDE)
    if north >= KIND_SHARE / 2 and not east:
        return LATITUDE
    return LONGITUDE if east >= KIND_SHARE / 2 and not north else ""


def _largest(degrees: Array) -> float:
    return float(np.abs(degrees[np.isfinite(degrees)]).max(initial=0.0))


def _nothing(
    mine: MyTable, names: Sequence[str], tokens: Sequence[pa.LargeStringArray]
) -> InputError:
    some = BETWEEN.join(repr(texts[0].as_py()) for texts in tokens if len(texts))
    if len(names) > 1:
        return InputError(
            f"{_listed(names)} of {mine.name} hold no latitudes and longitudes in degrees: in no "
            f"row are both on the globe (such as {some})"
        )
    return InputError(
        f"column {names[0]!r} of {mine.name} holds no numbers, places or vectors to compare by "
        f"distance (such as {some})"
    )


# -- where no column was named ---------------------------------------------------------------------


def place_in(mine: MyTable) -> tuple[tuple[int, ...], str]:
    """The place that my table has, two columns that are coordinates or one that holds both, and a
    sentence that says so."""
    from lakejoin.kernels.points import texts

    mine.profiles()  # reads a file once
    axes, both = [], []
    for place, name in enumerate(mine.names):
        found = read_values(mine.query(place).tokens)
        degrees = degrees_in(found)
        if len(found) and float(np.isfinite(degrees).mean()) >= KIND_SHARE:
            axes.append(AxisColumn(place, name, degrees, _letters(found)))
        elif found.share(texts.PAIR, texts.PLACE) >= KIND_SHARE:
            both.append((place,))
    pairs = [*coordinate_pairs(axes), *both]
    if not pairs:
        raise InputError(
            f"no column was named, and no two columns of {mine.name} look like coordinates: name "
            "the column, or a latitude and a longitude"
        )
    chosen = [_listed([mine.names[place] for place in one]) for one in pairs]
    others = f"; there is also {', '.join(chosen[1:])}" if len(chosen) > 1 else ""
    verb = "are" if len(pairs[0]) > 1 else "is"
    return pairs[0], f"no column was named: {chosen[0]} {verb} taken, the coordinates{others}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))
