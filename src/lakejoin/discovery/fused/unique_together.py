"""Which columns of my table are a key together, where none of them is one alone?

Of two columns with many values each every row has another pair, whatever they are: a town and a
number of inhabitants. That says nothing. A county and its state say something: were they thrown
together, some hundred pairs would come twice, and none does. So what counts is how many rows would
share their pair with another one if the columns had nothing to do with each other, and do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lakejoin.model import ColumnType
from lakejoin.search.mine import NO_CELL, searched

if TYPE_CHECKING:
    from lakejoin.model import ColumnProfile
    from lakejoin.search.mine import MyTable

Array = np.ndarray[Any, Any]

MOST = 3  # keys
UNIQUE = 0.95  # distinct values for each row that has one: of a key
_REPEATS = 0.5  # the same, of numbers and dates that are part of a key
_PARTS = 12  # columns that are looked at
_LIKELY = 8  # keys that are looked at, of those that are the likeliest
_FULL = 0.5  # of the rows have a value
_ROWS = 5_000  # that are looked at, or about as many
_LONG = 80  # letters: texts that are written, and not looked up
_SURPRISE = 5.0  # nats
_NO_PART = (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL)


class _Key(NamedTuple):
    places: tuple[int, ...]
    texts: int
    surprise: float


def plausible_composites(
    mine: MyTable, all_columns: bool = False, most: int = MOST
) -> list[tuple[int, ...]]:
    """The places of columns that are a key together, the likeliest key first.

    These are pairs; or three columns, where there is neither a pair nor a column that is a key.
    `all_columns` says that the index searches columns of every type.
    """
    profiles = mine.profiles()
    usable = [i for i, profile in enumerate(profiles) if _usable(profile, all_columns)]
    parts = [place for place in usable if _may_be_part(profiles[place])]
    keys_alone = any(profiles[place].uniqueness >= UNIQUE for place in usable)
    # Keys are mostly texts, and stand in front.
    parts.sort(key=lambda place: (profiles[place].type is not ColumnType.TEXT, place))
    parts = sorted(parts[:_PARTS])
    together = _Together(mine)
    for width in (2,) if keys_alone else (2, 3):
        keys = [
            key
            for places in combinations(parts, width)
            if (key := _key(together, places, [profiles[place] for place in places]))
        ]
        if keys:
            likely = [key.places for key in sorted(keys, key=_likeliest_first)]
            return _different_first(together, likely[:_LIKELY])[:most]
    return []


def _different_first(together: _Together, keys: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The keys, and behind them those that say the same in other words: a country and a year, and
    the code of the country and the year."""
    first: list[tuple[int, ...]] = []
    again: list[tuple[int, ...]] = []
    for key in keys:
        same = any(all(together.goes_with(part, other) for part in key) for other in first)
        (again if same else first).append(key)
    return first + again


def _likeliest_first(key: _Key) -> tuple[float, int, float, tuple[int, ...]]:
    """Surprising ones, of these those of texts, of these the most surprising."""
    return -min(key.surprise, _SURPRISE), -key.texts, -key.surprise, key.places


def _usable(profile: ColumnProfile, all_columns: bool) -> bool:
    return (
        searched(profile.type, all_columns)
        and profile.type not in _NO_PART
        and profile.distinct > 1
        and profile.nulls <= (1 - _FULL) * profile.rows
        and profile.mean_length <= _LONG
    )


def _may_be_part(profile: ColumnProfile) -> bool:
    """Whether a column repeats; one of numbers more than texts, as what is counted or measured is
    nearly always another number."""
    text = profile.type is ColumnType.TEXT
    return profile.uniqueness < (UNIQUE if text else _REPEATS)


def _key(
    together: _Together, places: tuple[int, ...], profiles: Sequence[ColumnProfile]
) -> _Key | None:
    """Some columns, if they are a key together and it is a surprise, or all are texts."""
    rows = profiles[0].rows
    if math.prod(profile.distinct for profile in profiles) < UNIQUE * _FULL * rows:
        return None  # too few combinations for the rows
    texts = sum(profile.type is ColumnType.TEXT for profile in profiles)
    expected = expected_repeats([together.counts(place) for place in places])
    if expected < _SURPRISE and texts < len(places):
        return None
    share, whole, distinct = together.combinations(places)
    if distinct < max(2, UNIQUE * whole) or whole < _FULL * share * rows:
        return None
    return _Key(places, texts, surprise(share * expected, whole - distinct))


def expected_repeats(counts: Sequence[Array]) -> float:
    """How many pairs of rows would be equal in all columns, if these were independent.

    `counts` are, by column, in how many rows each value is.

    >>> round(expected_repeats([np.array([5, 5]), np.array([5, 5])]), 1)
    8.9
    """
    rows = max(int(one.sum()) for one in counts)
    pairs = rows * (rows - 1) / 2
    expected = pairs
    for one in counts:
        own = one.astype(np.float64)
        expected *= float((own * (own - 1)).sum() / 2) / max(pairs, 1.0)
    return expected


def surprise(expected: float, seen: int) -> float:
    """How unlikely it is to see so few, in nats.

    >>> surprise(100, 0), round(surprise(100, 50), 1), surprise(3, 5)
    (100.0, 15.3, 0.0)
    """
    if seen >= expected:
        return 0.0
    return expected - seen + (seen * math.log(seen / expected) if seen else 0.0)


class _Together:
    """The columns of my table row by row; of a long one some rows are looked at."""

    def __init__(self, mine: MyTable) -> None:
        self._mine = mine
        self._step = math.ceil(max(1, mine.rows()) / _ROWS)
        self.counts = cache(self._counts)
        self._cells = cache(lambda place: self._mine.cells(place)[1])

    def _counts(self, place: int) -> Array:
        """In how many rows each value of a column is."""
        cells = self._cells(place)
        return np.bincount(cells[cells != NO_CELL])

    def goes_with(self, place: int, others: Sequence[int]) -> bool:
        """Whether a column is one of some others, or has one value for each of one of them."""
        return place in others or any(self._one_to_one(place, other) for other in others)

    def _one_to_one(self, one: int, other: int) -> bool:
        """Whether nearly every value of a column goes with one of the other, by the first rows."""
        cells = [self._cells(place)[:_ROWS] for place in (one, other)]
        both = (cells[0] != NO_CELL) & (cells[1] != NO_CELL)
        fewer = min(len(np.unique(column[both])) for column in cells)
        return bool(UNIQUE * distinct_in(cells)[1] <= fewer)

    def combinations(self, places: Sequence[int]) -> tuple[float, int, int]:
        """The share of rows that was looked at, how many of them have a value in all columns, and
        how many combinations these have.

        Rows are looked at that have certain values in one of the columns, and then all of them: so
        as many combinations repeat as in the whole table.
        """
        cells = [self._cells(place) for place in places]
        lead = cells[int(np.argmax([len(self.counts(place)) for place in places]))]
        some = lead % self._step == 0
        return float(some.mean()), *distinct_in([one[some] for one in cells])


def distinct_in(columns: Sequence[Array]) -> tuple[int, int]:
    """How many rows have a value in all columns, and how many combinations these have.

    >>> distinct_in([np.array([1, 0, 1, 7]), np.array([2, 3, 2, NO_CELL])])
    (3, 2)
    """
    whole = np.flatnonzero(np.logical_and.reduce([column != NO_CELL for column in columns]))
    number = columns[0][whole].astype(np.uint64)
    for place, column in enumerate(columns[1:], 2):
        number = (number << np.uint64(32)) | column[whole].astype(np.uint64)
        if place < len(columns):  # ranked, it is below 2^32 again
            number = np.unique(number, return_inverse=True)[1].astype(np.uint64)
    number.sort()
    return len(whole), int(np.count_nonzero(np.diff(number))) + bool(len(number))
