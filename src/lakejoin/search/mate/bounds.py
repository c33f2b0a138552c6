"""How much could each table hold? From what its columns can serve: compiled, over those alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lakejoin.kernels.compiled import kernel
from lakejoin.search.mate.layout import Layout

Array = np.ndarray[Any, Any]

SCAN = 15.0  # nanoseconds to look at a cell for a value of the initial column,
ROW = 100.0  # and to verify a row that has one


class Served(NamedTuple):
    """By key column and column, how many combinations it can serve, and how many values of the key
    column it holds; those of key column j that serve any are touched[start[j]:start[j + 1]]."""

    serves: Array
    held: Array
    touched: Array
    start: Array


@kernel
def bound_tables(layout: Layout, served: Served, bound: Array, tables: Array) -> int:
    """Finds the tables that may hold a combination, and how many each may at most; how many they
    are. `bound` must be zero.

    No mapping matches more than a column of it can serve; and no more than the table has rows.
    """
    parts = served.serves.shape[0]
    best = np.zeros((parts, bound.shape[0]), dtype=np.int64)
    for part in range(parts):
        for i in range(served.start[part], served.start[part + 1]):
            column = served.touched[i]
            table = layout.table_of[column]
            best[part, table] = max(best[part, table], served.serves[part, column])
    n = 0
    for i in range(served.start[0], served.start[1]):
        table = layout.table_of[served.touched[i]]
        if bound[table] > 0 or layout.width[table] < parts:
            continue
        least = layout.rows[table]
        for part in range(parts):
            least = min(least, best[part, table])
        if least > 0:
            bound[table] = least
            tables[n] = table
            n += 1
    return n


@kernel
def fetching_costs(layout: Layout, served: Served, bound: Array, costs: Array) -> None:
    """What fetching rows by each key column would cost: looking through the columns of candidate
    tables that hold a value of it, and verifying the rows that do, by how often a column repeats
    its values."""
    for part in range(costs.shape[0]):
        costs[part] = 0.0
        for i in range(served.start[part], served.start[part + 1]):
            column = served.touched[i]
            if bound[layout.table_of[column]] > 0 and served.serves[part, column] > 0:
                rows = served.held[part, column] * layout.repeats[column]
                costs[part] += SCAN * layout.column_rows[column] + ROW * rows
