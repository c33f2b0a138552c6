"""Find the rows that hold given combinations of values.

Columns and combinations are ids, an array for each column; `NO_CELL` is a null or a value that the
other side lacks, and matches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lakejoin.discovery.fused.chances import held_in
from lakejoin.search.mine import NO_CELL

Array = np.ndarray[Any, Any]
Columns = Sequence[Array] | Array  # an array for each column


def rows_with(columns: Columns, combinations: Columns) -> tuple[Array, Array]:
    """The rows that hold one of some distinct combinations, ascending, and which one.

    >>> columns = [np.array([1, 1, 2, 1]), np.array([7, 8, 8, 8])]
    >>> rows, which = rows_with(columns, [np.array([1, 2, 1]), np.array([8, 7, 7])])
    >>> rows.tolist(), which.tolist()
    ([0, 1, 3], [2, 0, 0])
    """
    rows, theirs, mine = _common_codes(columns, combinations)
    which = np.full(_count(theirs, mine), -1)
    which[mine] = np.arange(len(mine))
    found = which[theirs]
    return rows[found >= 0], found[found >= 0]


def first_of(rows: tuple[Array, Array], combinations: int) -> Array:
    """The first row of each combination that `rows_with` found, -1 if there is none."""
    first = np.full(combinations, -1)
    first[rows[1][::-1]] = rows[0][::-1]
    return first


def first_rows(columns: Columns, combinations: Columns) -> Array:
    """The first row that holds each combination, -1 if none does; combinations may repeat.

    >>> columns = np.array([[1, 1, 2, 1], [7, 8, 8, 8]])
    >>> first_rows(columns, np.array([[1, 2, 1], [8, 7, 8]])).tolist()
    [1, -1, 1]
    """
    rows, theirs, mine = _common_codes(columns, combinations)
    first = np.full(_count(theirs, mine), -1)
    first[theirs[::-1]] = rows[::-1]
    return np.asarray(first[mine])


def _common_codes(columns: Columns, combinations: Columns) -> tuple[Array, Array, Array]:
    """Rows that may hold one of the combinations, and common codes of rows and combinations: equal
    ones have the same code."""
    rows = np.arange(len(columns[0]))
    for column, searched in zip(columns, combinations, strict=True):
        values = column[rows]
        rows = rows[held_in(values, np.unique(searched)) & (values != NO_CELL)]
    codes = np.zeros(len(rows) + len(combinations[0]), np.uint64)
    for column, searched in zip(columns, combinations, strict=True):
        cells = np.concatenate([column[rows], searched]).astype(np.uint64)
        # Two codes below 2^32 are combined into one; its rank is below 2^32 again.
        ranks = np.unique((codes << np.uint64(32)) | cells, return_inverse=True)[1]
        codes = ranks.astype(np.uint64)
    return rows, codes[: len(rows)], codes[len(rows) :]


def _count(*arrays: Array) -> int:
    return 1 + max(int(codes.max(initial=0)) for codes in arrays)
