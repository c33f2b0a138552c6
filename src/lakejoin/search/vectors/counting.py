"""How many of my values does each column meet? Pairs of values to counts by column: compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]


@kernel
def count_columns(
    query: Array,
    begin: Array,
    length: Array,
    entries: Array,
    allowed: Array,
    seen: Array,
    hits: Array,
    pairs: Array,
) -> None:
    """Adds to `hits`, by stand, the queries that have a pair in the column, and all to `pairs`.

    The pairs come by ascending query, each with the list of columns that hold its value. `seen`
    is the last query that was counted for a column, -1 at first.
    """
    columns = allowed.shape[0]
    for i in range(query.shape[0]):
        one = query[i]
        for place in range(begin[i], begin[i] + length[i]):
            stand = np.int64(entries[place])
            if stand < columns and allowed[stand]:
                pairs[stand] += 1
                if seen[stand] != one:
                    seen[stand] = one
                    hits[stand] += 1


@kernel
def in_columns(begin: Array, length: Array, entries: Array, wanted: Array, out: Array) -> None:
    """Whether any column of each list is a wanted one."""
    columns = wanted.shape[0]
    for i in range(begin.shape[0]):
        out[i] = False
        for place in range(begin[i], begin[i] + length[i]):
            stand = np.int64(entries[place])
            if stand < columns and wanted[stand]:
                out[i] = True
                break


@kernel
def count_by_step(
    query: Array,
    step: Array,
    begin: Array,
    length: Array,
    entries: Array,
    allowed: Array,
    seen: Array,
    out: Array,
) -> None:
    """Adds to `out[stand, step]` the queries whose nearest pair in the column is of that step.

    The pairs come by ascending query, and those of a query by ascending step.
    """
    columns = allowed.shape[0]
    for i in range(query.shape[0]):
        one = query[i]
        for place in range(begin[i], begin[i] + length[i]):
            stand = np.int64(entries[place])
            if stand < columns and allowed[stand] and seen[stand] != one:
                seen[stand] = one
                out[stand, step[i]] += 1
