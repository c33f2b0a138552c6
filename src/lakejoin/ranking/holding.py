"""Find the rows that hold given combinations of values.

Columns and combinations are ids, an array for each column; `NO_CELL` is a null or a value that the
other side lacks, and matches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lakejoin.search.lake_background import is_among
from lakejoin.engines.mine import NO_CELL

Array = np.ndarray[Any, Any]
IdColumns = Sequence[Array] | Array  # an array for each column


def find_rows(columns: IdColumns, combinations: IdColumns) -> tuple[Array, Array]:
    """The rows that hold one of some distinct combinations, ascending, and which one.

    >>> columns = [np.array([1, 1, 2, 1]), np.array([7, 8, 8, 8])]
    >>> rows, which = find_rows(columns, [np.array([1, 2, 1]), np.array([8, 7, 7])])
    >>> rows.tolist(), which.tolist()
    ([0, 1, 3], [2, 0, 0])
    """
    rows, theirs, mine = _common_codes(columns, combinations)
    which = np.full(_count(theirs, mine), -1)
    which[mine] = np.arange(len(mine))
    found = which[theirs]
    return rows[found >= 0], found[found >= 0]


def first_row_of_each(rows: tuple[Array, Array], combinations: int) -> Array:
    """The first row of each combination that `find_rows` found, -1 if there is none."""
    first = np.full(combinations, -1)
    first[rows[1][::-1]] = rows[0][::-1]
    return first


def find_first_rows(columns: IdColumns, combinations: IdColumns) -> Array:
    """The first row that holds each combination, -1 if none does; combinations may repeat.

    >>> columns = np.array([[1, 1, 2, 1], [7, 8, 8, 8]])
    >>> find_first_rows(columns, np.array([[1, 2, 1], [8, 7, 8]])).tolist()
    [1, -1, 1]
    """
    rows, theirs, mine = _common_codes(columns, combinations)
    first = np.full(_count(theirs, mine), -1)
    first[theirs[::-1]] = rows[::-1]
    return np.asarray(first[mine])


def _common_codes(columns: IdColumns, combinations: IdColumns) -> tuple[Array, Array, Array]:
    """Rows that may hold one of the combinations, and common codes of rows and combinations: equal
    ones have the same code."""
    rows = np.arange(len(columns[0]))
    for column, searched in zip(columns, combinations, strict=True):
        values = column[rows]
        rows = rows[is_among(values, np.unique(searched)) & (values != NO_CELL)]
    codes = np.zeros(len(rows) + len(combinations[0]), np.uint64)
    for column, searched in zip(columns, combinations, strict=True):
        cells = np.concatenate([column[rows], searched]).astype(np.uint64)
        # Two codes below 2^32 are combined into one; its rank is below 2^32 again.
        ranks = np.unique((codes << np.uint64(32)) | cells, return_inverse=True)[1]
        codes = ranks.astype(np.uint64)
    return rows, codes[: len(rows)], codes[len(rows) :]


def _count(*arrays: Array) -> int:
    return 1 + max(int(codes.max(initial=0)) for codes in arrays)
