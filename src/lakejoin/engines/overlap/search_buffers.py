"""The buffers of one searching thread, and how compiled code sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lakejoin.engines.overlap.read_costs import COUNTER_COUNT
from lakejoin.kernels.mapped_arrays import flags_at, longs_at, pack_addresses, ranks_at, words_at
from lakejoin.model import Array

# The order of the arrays in the row: first those with an element per column of a segment (`TABLE`:
# per group), …
COUNTS, TOUCHED, ALIVE, EXACT, TABLE, FIRST, FIRST_POSITION, POSITION, PASSED = range(9)
QUERY = 9  # … per value of the query (the fields of `QueryGroups`),
TOP, LEADERS = 15, 17  # per result (rank and key), for the k best and for the leaders,
TALLY = 19  # and the counters.
FIELDS = 20


# Counts start from a typed zero: a literal 0 is a type of its own, and numba would compile
# everything once more for it.
ZERO: int = np.int64(0)  # type: ignore[assignment]


class BufferView(NamedTuple):
    """The buffers of a search (see `SearchBuffers`), and the blocks to verify.

    `counts` and the like have an element per column of a segment and are zero between two searches;
    so is `table`, the weight of every group. `touched`, `alive` and `exact` are lists of columns.
    `passed` marks columns to skip: 1 for hidden ones, 2 for those whose exact score is already
    taken, which `exact` lists. Only JOSIE uses `first` and the positions: where a candidate was
    first seen (group + 1), and its position then and last.
    """

    row: Array
    pending: Array


class QueryGroups(NamedTuple):
    """A query in one segment, group by group: list i begins at `begin[i]` and has `length[i]`
    entries.

    `ahead[i]` is the total length of the lists from the i-th on.
    """

    group: Array
    weight: Array
    begin: Array
    length: Array
    rest: Array
    ahead: Array


class TopColumns(NamedTuple):
    """The k best columns of all segments so far, as a heap."""

    rank: Array
    key: Array


@njit
def query_in(row: Array) -> QueryGroups:
    return QueryGroups(
        longs_at(row, QUERY),
        longs_at(row, QUERY + 1),
        longs_at(row, QUERY + 2),
        longs_at(row, QUERY + 3),
        longs_at(row, QUERY + 4),
        longs_at(row, QUERY + 5),
    )


@njit
def top_in(row: Array, which: int) -> TopColumns:
    return TopColumns(ranks_at(row, which), ranks_at(row, which + 1))


@njit
def tally_in(row: Array) -> Array:
    return longs_at(row, TALLY)


@njit(inline="always")
def counts_in(work: BufferView) -> Array:
    return words_at(work.row, COUNTS)


@njit(inline="always")
def touched_in(work: BufferView) -> Array:
    return words_at(work.row, TOUCHED)


@njit(inline="always")
def alive_in(work: BufferView) -> Array:
    return words_at(work.row, ALIVE)


@njit(inline="always")
def exact_in(work: BufferView) -> Array:
    return words_at(work.row, EXACT)


@njit(inline="always")
def table_in(work: BufferView) -> Array:
    return words_at(work.row, TABLE)


@njit(inline="always")
def first_in(work: BufferView) -> Array:
    return words_at(work.row, FIRST)


@njit(inline="always")
def first_position_in(work: BufferView) -> Array:
    return words_at(work.row, FIRST_POSITION)


@njit(inline="always")
def position_in(work: BufferView) -> Array:
    return words_at(work.row, POSITION)


@njit(inline="always")
def passed_in(work: BufferView) -> Array:
    return flags_at(work.row, PASSED)


class SearchBuffers:
    """Buffers for segments of up to `columns` columns and `groups` groups; they grow with the
    queries.
    """

    def __init__(self, columns: int, groups: int, blocks: int) -> None:
        self.pending = np.zeros(blocks, dtype=np.uint8)
        self.tally = np.zeros(COUNTER_COUNT, dtype=np.int64)
        self.row = np.zeros(2 * FIELDS, dtype=np.int64)
        by_column = [np.zeros(columns + 1, dtype=np.uint32) for _ in range(7)]
        table = np.zeros(groups + 1, dtype=np.uint32)
        self._arrays: dict[int, tuple[Array, ...]] = {}
        # In the order of the fields: counts, touched, alive, exact, table, first, two positions.
        self._hand_over(0, *by_column[:4], table, *by_column[4:])
        self._hand_over(PASSED, np.zeros(columns + 1, dtype=np.uint8))
        self._hand_over(TALLY, self.tally)
        self._values = self._best = -1

    def reserve(self, values: int, k: int) -> None:
        """Make room for a query of `values` values and for exactly k results."""
        if values > self._values:
            self._values = max(values, 1023)
            self._hand_over(QUERY, *np.zeros((6, self._values + 1), dtype=np.int64))
        if k != self._best:
            self._best = k
            self._hand_over(TOP, *np.zeros((2, k), dtype=np.uint64))
            self._hand_over(LEADERS, *np.zeros((2, k), dtype=np.uint64))

    def _hand_over(self, field: int, *arrays: Array) -> None:
        self._arrays[field] = arrays
        self.row[2 * field : 2 * (field + len(arrays))] = pack_addresses(*arrays)
