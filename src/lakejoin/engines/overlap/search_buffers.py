"""The buffers of one search as compiled code sees them: arrays, given by a row of addresses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.mapped_arrays import flags_at, longs_at, ranks_at, words_at

Array = np.ndarray[Any, Any]

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
    place: Array


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
