"""Which rows of theirs does my table not have yet? By the columns that are aligned, exactly.

Rows are compared by the codes of their canonical values. A row that has a value which my column
does not hold is new at once; only the others are put beside mine, column after column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.mine import NO_CELL
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.search.mine import MyTable
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_UNKNOWN = np.uint32(NULL - 1)  # a value of mine that the segment does not have


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of theirs that are `new`, of `total`; `met` is the share of my rows that they have.
    `apart` is how well the compared columns tell rows of a table apart, of mine or of theirs, the
    better: different rows for each row."""

    new: Array
    total: int
    met: float
    apart: float

    @property
    def known(self) -> float:
        """The share of their rows that my table has."""
        return 1 - len(self.new) / max(1, self.total)


def compare_rows(
    mine: MyTable, segment: Segment, entry: TableEntry, pairs: Sequence[tuple[int, int]]
) -> Rows:
    """Compares rows by columns: (place in mine, number of theirs in the segment)."""
    ours = [_my_codes(mine, segment, place) for place, _ in pairs]
    theirs = [segment.rows.codes(column, entry.rows) for _, column in pairs]
    held = held_rows(ours, theirs)
    met = float(held_rows(theirs, ours).mean()) if held.any() else 0.0
    own = [mine.cells(place)[1] for place, _ in pairs]
    apart = max(_distinct(own) / max(1, mine.rows()), _distinct(theirs) / max(1, entry.rows))
    return Rows(np.flatnonzero(~held), entry.rows, met, apart)


def held_rows(ours: Sequence[Array], theirs: Sequence[Array]) -> Array:
    """Which rows of theirs are among ours; columns of numbers, equal where the numbers are.

    >>> mine = [np.array([1, 2]), np.array([5, 6])]
    >>> held_rows(mine, [np.array([2, 2]), np.array([6, 5])]).tolist()
    [True, False]
    """
    total = len(theirs[0])
    held = np.ones(total, dtype=bool)
    for one, other in zip(ours, theirs, strict=True):
        held[held] = np.isin(other[held], one)
    rows = np.flatnonzero(held)
    if not len(rows):
        return held
    # Both together are numbered anew with each column: equal numbers are equal rows so far.
    numbers = np.zeros(len(ours[0]) + len(rows), dtype=np.int64)
    for one, other in zip(ours, theirs, strict=True):
        _, codes = np.unique(np.concatenate([one, other[rows]]), return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max() + 1) + codes, return_inverse=True)
    held[rows] = np.isin(numbers[len(ours[0]) :], numbers[: len(ours[0])])
    return held


def _my_codes(mine: MyTable, segment: Segment, place: int) -> Array:
    """The code of every row of mine in their segment; a null is `NULL`, as it is there."""
    tokens, cells = mine.cells(place)
    codes = segment.dictionary.find(tokens)
    known = np.append(np.where(codes == NOT_FOUND, _UNKNOWN, codes), NULL)
    return np.asarray(known[np.where(cells == NO_CELL, len(tokens), cells)], dtype=np.uint32)


def _distinct(columns: Sequence[Array]) -> int:
    """How many different rows there are."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return int(numbers.max(initial=-1)) + 1
