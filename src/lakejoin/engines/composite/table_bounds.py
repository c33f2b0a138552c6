"""Compiled: bound how many combinations each table can hold, and the cost of fetching rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.engines.composite.table_layout import TableLayout
from lakejoin.kernels.jit import kernel
from lakejoin.model import Array

SCAN = 15.0  # nanoseconds to check a cell for a value of the initial column,
ROW = 100.0  # and to verify a row that has one


class ColumnCoverage(NamedTuple):
    """By key column and column, how many combinations it can serve, and how many values of the key
    column it holds. touched[start[j]:start[j + 1]] are the columns that serve key column j."""

    serves: Array
    values: Array
    touched: Array
    start: Array


@kernel
def bound_tables(layout: TableLayout, served: ColumnCoverage, bound: Array, tables: Array) -> int:
    """Find the tables that may hold a combination, and a bound for each; returns their number.
    `bound` must be zero.

    No mapping matches more than one of its columns can serve, nor more than the table has rows.
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
def fetching_costs(layout: TableLayout, served: ColumnCoverage, bound: Array, costs: Array) -> None:
    """Estimate the cost of fetching rows by each key column: scanning the columns of candidate
    tables that hold one of its values, and verifying the rows that do, by how often a column
    repeats its values."""
    for part in range(costs.shape[0]):
        costs[part] = 0.0
        for i in range(served.start[part], served.start[part + 1]):
            column = served.touched[i]
            if bound[layout.table_of[column]] > 0 and served.serves[part, column] > 0:
                rows = served.values[part, column] * layout.repeats[column]
                costs[part] += SCAN * layout.column_rows[column] + ROW * rows
