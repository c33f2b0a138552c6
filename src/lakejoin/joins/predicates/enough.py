"""Which of a predicate's pairs are enough? Those that make the others equal anyway.

A closed predicate has every pair that is equal in all rows of its join, and mostly a few of them
make the same join: a customer's number, and not also the name, street and town that go with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.likely_names import names_alike
from lakejoin.joins.predicates.coded import CodedTables

if TYPE_CHECKING:
    from lakejoin.joins.predicates.finding import Pair

Array = np.ndarray[Any, Any]

_MOST_ROWS = 2_000_000  # of both tables: more take too long for what is only told beside


def enough(coded: CodedTables, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """As few pairs of two tables as make the same join; those of names alike are taken first.

    Of very large tables, all of them.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.predicates.coded import coded_tables
    >>> towns = pa.table({"id": [1, 2, 3], "name": ["Bern", "Ulm", "Ulm"]})
    >>> visits = pa.table({"town_id": [1, 1, 3], "town": ["Bern", "Bern", "Ulm"]})
    >>> both = [((0, "id"), (1, "town_id")), ((0, "name"), (1, "town"))]
    >>> enough(coded_tables([towns, visits]), both)
    (((0, 'id'), (1, 'town_id')),)
    """
    rows = sum(table.rows for table in coded.tables)
    if len(pairs) == 1 or len(coded.tables) != 2 or rows > _MOST_ROWS:
        return tuple(pairs)
    join = _TwoTables(coded)
    likely = sorted(pairs, key=lambda pair: _worth(pair, join.shared), reverse=True)
    taken: list[Pair] = []
    while left_over := join.not_equal(taken, [one for one in likely if one not in taken]):
        taken.append(left_over[0])
    for one in list(taken[:-1]):  # a later pair may have made an earlier one needless
        others = [other for other in taken if other != one]
        if not join.not_equal(others, [one]):
            taken = others
    return tuple(pair for pair in pairs if pair in taken)


def _worth(pair: Pair, shared: Callable[[Pair], int]) -> tuple[float, bool, int]:
    names = names_alike(pair[0][1], pair[1][1])
    return names.alike, names.are_ids, shared(pair)


class _TwoTables:
    """Two tables, and which columns of theirs are equal in the rows that some pairs join."""

    def __init__(self, coded: CodedTables) -> None:
        self._coded = coded

    def shared(self, pair: Pair) -> int:
        """How many values a pair shares."""
        left, right = (np.unique(codes[codes >= 0]) for codes in self._codes(pair))
        return len(np.intersect1d(left, right, assume_unique=True))

    def not_equal(self, pairs: Sequence[Pair], others: Sequence[Pair]) -> list[Pair]:
        """Those of the others that are not equal in all rows that the pairs join."""
        if not pairs:
            return list(others)
        left, right, count = self._keys(pairs)
        return [one for one in others if not _is_equal(left, right, count, *self._codes(one))]

    def _keys(self, pairs: Sequence[Pair]) -> tuple[Array, Array, int]:
        """The number of the group of every row, -1 where it has no partner."""
        split = self._coded.tables[0].rows
        numbers = np.zeros(split + self._coded.tables[1].rows, np.int64)
        for pair in pairs:
            codes = np.concatenate(self._codes(pair)).astype(np.int64)
            valid = (numbers >= 0) & (codes >= 0)
            combined = numbers[valid] * self._coded.count + codes[valid]
            numbers = np.full(len(numbers), -1, np.int64)
            numbers[valid] = np.unique(combined, return_inverse=True)[1]
        count = int(numbers.max(initial=-1)) + 1
        sides = numbers[:split], numbers[split:]
        both = np.logical_and(*(np.bincount(s[s >= 0], minlength=count) > 0 for s in sides))
        left, right = (np.where((s >= 0) & both[s], s, -1) for s in sides)
        return left, right, count

    def _codes(self, pair: Pair) -> tuple[Array, Array]:
        left, right = (self._coded.tables[ref[0]] for ref in pair)
        return (
            left.codes[left.columns.index(pair[0][1])],
            right.codes[right.columns.index(pair[1][1])],
        )


def _is_equal(left: Array, right: Array, count: int, mine: Array, theirs: Array) -> bool:
    """Whether all rows of every group have one value in both columns."""
    value = np.full(count, -1, np.int64)
    joined = left >= 0
    value[left[joined]] = mine[joined]
    if (value[left[joined]] != mine[joined]).any() or (mine[joined] < 0).any():
        return False
    joined = right >= 0
    return not (value[right[joined]] != theirs[joined]).any()
