"""Find columns of the query table that are a key together, though none of them is alone.

Two columns with many values form unique pairs whatever they mean, such as town and population; that
says nothing. County and state do: if they were independent, some hundred pairs would repeat, and
none does. So the score is how many rows would share their pair if the columns were independent,
compared with how many do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lakejoin.engines.query import NO_CELL, is_searched
from lakejoin.model import Array, ColumnType

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.model import ColumnProfile

MAX_KEYS = 3  # keys
UNIQUE = 0.95  # distinct values per non-null row of a key
_REPEATS = 0.5  # most distinct values per row of numbers and dates in a key
_PARTS = 12  # columns to combine
_LIKELY = 8  # likeliest keys to compare with each other
_FULL = 0.5  # share of the rows that must have a value
_ROWS = 5_000  # rows to examine, approximately
_LONG = 80  # characters: longer texts are prose
_SURPRISE = 5.0  # nats from which on a key is surprising
_NO_PART = (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL)


class _Key(NamedTuple):
    places: tuple[int, ...]
    texts: int
    surprise: float


def find_composite_keys(
    query_table: QueryTable, all_columns: bool = False, most: int = MAX_KEYS
) -> list[tuple[int, ...]]:
    """The indexes of columns that are a key together, likeliest key first.

    Keys are pairs, or three columns if there is no pair and no single column that is a key.
    `all_columns` if the index searches columns of every type.
    """
    profiles = query_table.profiles()
    usable = [i for i, profile in enumerate(profiles) if _usable(profile, all_columns)]
    parts = [column_index for column_index in usable if _may_be_part(profiles[column_index])]
    keys_alone = any(profiles[column_index].uniqueness >= UNIQUE for column_index in usable)
    # Key columns are mostly texts and come first.
    parts.sort(
        key=lambda column_index: (profiles[column_index].type is not ColumnType.TEXT, column_index)
    )
    parts = sorted(parts[:_PARTS])
    cells = _Cells(query_table)
    for width in (2,) if keys_alone else (2, 3):
        keys = [
            key
            for column_indexes in combinations(parts, width)
            if (
                key := _key(
                    cells,
                    column_indexes,
                    [profiles[column_index] for column_index in column_indexes],
                )
            )
        ]
        if keys:
            likely = [key.places for key in sorted(keys, key=_likeliest_first)]
            return _different_first(cells, likely[:_LIKELY])[:most]
    return []


def _different_first(cells: _Cells, keys: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The keys, with equivalent ones last: country and year, and country code and year."""
    first: list[tuple[int, ...]] = []
    again: list[tuple[int, ...]] = []
    for key in keys:
        same = any(all(cells.goes_with(part, other) for part in key) for other in first)
        (again if same else first).append(key)
    return first + again


def _likeliest_first(key: _Key) -> tuple[float, int, float, tuple[int, ...]]:
    """Sort by whether a key is surprising, then by texts, then by surprise."""
    return -min(key.surprise, _SURPRISE), -key.texts, -key.surprise, key.places


def _usable(profile: ColumnProfile, all_columns: bool) -> bool:
    return (
        is_searched(profile.type, all_columns)
        and profile.type not in _NO_PART
        and profile.distinct > 1
        and profile.nulls <= (1 - _FULL) * profile.rows
        and profile.mean_length <= _LONG
    )


def _may_be_part(profile: ColumnProfile) -> bool:
    """Whether a column repeats values; numbers must repeat more, as measurements are nearly
    unique."""
    text = profile.type is ColumnType.TEXT
    return profile.uniqueness < (UNIQUE if text else _REPEATS)


def _key(
    cells: _Cells, column_indexes: tuple[int, ...], profiles: Sequence[ColumnProfile]
) -> _Key | None:
    """Make a key of some columns if they are unique together, and surprisingly so or all texts."""
    rows = profiles[0].rows
    if math.prod(profile.distinct for profile in profiles) < UNIQUE * _FULL * rows:
        return None  # too few combinations for the rows
    texts = sum(profile.type is ColumnType.TEXT for profile in profiles)
    expected = expected_repeats([cells.counts(column_index) for column_index in column_indexes])
    if expected < _SURPRISE and texts < len(column_indexes):
        return None
    share, complete, distinct = cells.combinations(column_indexes)
    if distinct < max(2, UNIQUE * complete) or complete < _FULL * share * rows:
        return None
    return _Key(column_indexes, texts, surprise(share * expected, complete - distinct))


def expected_repeats(counts: Sequence[Array]) -> float:
    """How many pairs of rows would be equal in all columns if these were independent.

    `counts` are the rows of each value, by column.

    >>> round(expected_repeats([np.array([5, 5]), np.array([5, 5])]), 1)
    8.9
    """
    rows = max(int(column_counts.sum()) for column_counts in counts)
    pairs = rows * (rows - 1) / 2
    expected = pairs
    for column_counts in counts:
        own = column_counts.astype(np.float64)
        expected *= float((own * (own - 1)).sum() / 2) / max(pairs, 1.0)
    return expected


def surprise(expected: float, seen: int) -> float:
    """How unlikely it is to see so few repeats, in nats.

    >>> surprise(100, 0), round(surprise(100, 50), 1), surprise(3, 5)
    (100.0, 15.3, 0.0)
    """
    if seen >= expected:
        return 0.0
    return expected - seen + (seen * math.log(seen / expected) if seen else 0.0)


class _Cells:
    """The columns of the query table row by row, sampled if it is long."""

    def __init__(self, query_table: QueryTable) -> None:
        self._query_table = query_table
        self._step = math.ceil(max(1, query_table.rows()) / _ROWS)
        self.counts = cache(self._counts)
        self._cells = cache(lambda column_index: self._query_table.cells(column_index)[1])

    def _counts(self, column_index: int) -> Array:
        """The number of rows of each value of a column."""
        cells = self._cells(column_index)
        return np.bincount(cells[cells != NO_CELL])

    def goes_with(self, column_index: int, others: Sequence[int]) -> bool:
        """Whether a column is one of some others, or is one-to-one with one of them."""
        return column_index in others or any(
            self._one_to_one(column_index, other) for other in others
        )

    def _one_to_one(self, first: int, second: int) -> bool:
        """Whether two columns are nearly one-to-one in the first rows."""
        cells = [self._cells(column_index)[:_ROWS] for column_index in (first, second)]
        both = (cells[0] != NO_CELL) & (cells[1] != NO_CELL)
        fewer = min(len(np.unique(column[both])) for column in cells)
        return bool(UNIQUE * count_distinct_rows(cells)[1] <= fewer)

    def combinations(self, column_indexes: Sequence[int]) -> tuple[float, int, int]:
        """The share of rows sampled, how many of them have a value in all columns, and their number
        of distinct combinations.

        The sample has all rows of certain values of one column, so that combinations repeat as
        often as in the whole table.
        """
        cells = [self._cells(column_index) for column_index in column_indexes]
        lead = cells[
            int(np.argmax([len(self.counts(column_index)) for column_index in column_indexes]))
        ]
        sampled = lead % self._step == 0
        return float(sampled.mean()), *count_distinct_rows([column[sampled] for column in cells])


def count_distinct_rows(columns: Sequence[Array]) -> tuple[int, int]:
    """How many rows have a value in all columns, and their number of distinct combinations.

    >>> count_distinct_rows([np.array([1, 0, 1, 7]), np.array([2, 3, 2, NO_CELL])])
    (3, 2)
    """
    complete = np.flatnonzero(np.logical_and.reduce([column != NO_CELL for column in columns]))
    code = columns[0][complete].astype(np.uint64)
    for width, column in enumerate(columns[1:], 2):
        code = (code << np.uint64(32)) | column[complete].astype(np.uint64)
        if width < len(columns):  # its rank is below 2^32 again
            code = np.unique(code, return_inverse=True)[1].astype(np.uint64)
    code.sort()
    return len(complete), int(np.count_nonzero(np.diff(code))) + bool(len(code))
