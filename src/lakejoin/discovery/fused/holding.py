"""Which rows hold some combinations of values?

Columns and combinations are numbers, an array for each column; `NO_CELL` is no value, or one that
the other side does not know, and nothing holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lakejoin.discovery.fused.chances import held_in
from lakejoin.search.mine import NO_CELL

Array = np.ndarray[Any, Any]
Columns = Sequence[Array] | Array  # an array for each column


def rows_with(columns: Columns, asked: Columns) -> tuple[Array, Array]:
    """The rows that hold one of some combinations, ascending, and which one.

    `asked` has distinct combinations.

    >>> columns = [np.array([1, 1, 2, 1]), np.array([7, 8, 8, 8])]
    >>> rows, which = rows_with(columns, [np.array([1, 2, 1]), np.array([8, 7, 7])])
    >>> rows.tolist(), which.tolist()
    ([0, 1, 3], [2, 0, 0])
    """
    rows, theirs, mine = _numbered(columns, asked)
    which = np.full(_count(theirs, mine), -1)
    which[mine] = np.arange(len(mine))
    found = which[theirs]
    return rows[found >= 0], found[found >= 0]


def first_of(rows: tuple[Array, Array], combinations: int) -> Array:
    """The first row of each combination that `rows_with` found, -1 where there is none."""
    first = np.full(combinations, -1)
    first[rows[1][::-1]] = rows[0][::-1]
    return first


def first_rows(columns: Columns, asked: Columns) -> Array:
    """The first row that holds each of some combinations, -1 where none does; they may repeat.

    >>> columns = np.array([[1, 1, 2, 1], [7, 8, 8, 8]])
    >>> first_rows(columns, np.array([[1, 2, 1], [8, 7, 8]])).tolist()
    [1, -1, 1]
    """
    rows, theirs, mine = _numbered(columns, asked)
    first = np.full(_count(theirs, mine), -1)
    first[theirs[::-1]] = rows[::-1]
    return np.asarray(first[mine])


def _numbered(columns: Columns, asked: Columns) -> tuple[Array, Array, Array]:
    """Rows that may hold one of some combinations, and numbers of theirs and of those asked for:
    equal ones have the same number."""
    rows = np.arange(len(columns[0]))
    for column, wanted in zip(columns, asked, strict=True):
        some = column[rows]
        rows = rows[held_in(some, np.unique(wanted)) & (some != NO_CELL)]
    number = np.zeros(len(rows) + len(asked[0]), np.uint64)
    for column, wanted in zip(columns, asked, strict=True):
        cells = np.concatenate([column[rows], wanted]).astype(np.uint64)
        # Two numbers below 2^32 make one; ranked again, it is below 2^32 too.
        ranked = np.unique((number << np.uint64(32)) | cells, return_inverse=True)[1]
        number = ranked.astype(np.uint64)
    return rows, number[: len(rows)], number[len(rows) :]


def _count(*numbers: Array) -> int:
    return 1 + max(int(one.max(initial=0)) for one in numbers)
