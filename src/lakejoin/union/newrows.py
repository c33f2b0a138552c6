"""Find the rows of a lake table that the query table does not have, exactly, by aligned columns.

Rows are compared by the codes of their canonical values. A row with a value that the query column
does not hold is new at once; only the others are compared column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.mine import NO_CELL
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.engines.mine import QueryTable
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_UNKNOWN = np.uint32(NULL - 1)  # a value that the segment does not have


@dataclass(frozen=True, slots=True, eq=False)
class RowComparison:
    """The `new` rows of a lake table, of `total`; `met` is the share of the query table's rows that
    it has. `apart` is how well the compared columns identify rows: distinct combinations per row,
    in the better of the two tables."""

    new: Array
    total: int
    met: float
    apart: float

    @property
    def known(self) -> float:
        """The share of its rows that the query table has."""
        return 1 - len(self.new) / max(1, self.total)


def compare_rows(
    mine: QueryTable, segment: Segment, entry: TableEntry, pairs: Sequence[tuple[int, int]]
) -> RowComparison:
    """Compare rows by pairs of (column of the query table, column of the segment)."""
    ours = [_my_codes(mine, segment, column_index) for column_index, _ in pairs]
    theirs = [segment.rows.codes(column, entry.rows) for _, column in pairs]
    held = contained_rows(ours, theirs)
    met = float(contained_rows(theirs, ours).mean()) if held.any() else 0.0
    own = [mine.cells(column_index)[1] for column_index, _ in pairs]
    apart = max(_distinct(own) / max(1, mine.rows()), _distinct(theirs) / max(1, entry.rows))
    return RowComparison(np.flatnonzero(~held), entry.rows, met, apart)


def contained_rows(ours: Sequence[Array], theirs: Sequence[Array]) -> Array:
    """Which rows of `theirs` are among the rows of `ours`; both are columns of codes.

    >>> mine = [np.array([1, 2]), np.array([5, 6])]
    >>> contained_rows(mine, [np.array([2, 2]), np.array([6, 5])]).tolist()
    [True, False]
    """
    total = len(theirs[0])
    held = np.ones(total, dtype=bool)
    for one, other in zip(ours, theirs, strict=True):
        held[held] = np.isin(other[held], one)
    rows = np.flatnonzero(held)
    if not len(rows):
        return held
    # Rows of both get one number that is refined with each column; equal numbers are equal rows.
    numbers = np.zeros(len(ours[0]) + len(rows), dtype=np.int64)
    for one, other in zip(ours, theirs, strict=True):
        _, codes = np.unique(np.concatenate([one, other[rows]]), return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max() + 1) + codes, return_inverse=True)
    held[rows] = np.isin(numbers[len(ours[0]) :], numbers[: len(ours[0])])
    return held


def _my_codes(mine: QueryTable, segment: Segment, column_index: int) -> Array:
    """The code of each row of the query table in a segment; nulls are `NULL`."""
    tokens, cells = mine.cells(column_index)
    codes = segment.dictionary.find(tokens)
    known = np.append(np.where(codes == NOT_FOUND, _UNKNOWN, codes), NULL)
    return np.asarray(known[np.where(cells == NO_CELL, len(tokens), cells)], dtype=np.uint32)


def _distinct(columns: Sequence[Array]) -> int:
    """The number of distinct rows."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return int(numbers.max(initial=-1)) + 1
