"""Read the sets of candidate columns for their exact scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.topk import would_enter, column_key, push_column, rank_of
from lakejoin.engines.overlap.read_costs import ReadCosts
from lakejoin.engines.overlap.postings_view import (
    SegmentPostings,
    set_size_of,
    set_start_of,
    sets_of,
    size_of,
)
from lakejoin.engines.overlap.posting_reader import LONG, mark_before, sum_shared, note_set
from lakejoin.engines.overlap.tally import BYTES_READ, SETS_READ
from lakejoin.engines.overlap.search_buffers import (
    QueryGroups,
    TopColumns,
    BufferView,
    counts_in,
    passed_in,
    table_in,
)

Array = np.ndarray[Any, Any]


@njit
def fill_table(query: QueryGroups, i: int, n: int, table: Array, enter: bool) -> None:
    """Enter the weights of the groups from the i-th on in the table, or remove them again."""
    group, weight = query.group, query.weight
    for j in range(i, n):
        table[group[j]] = weight[j] if enter else 0


@njit
def take_columns(
    part: SegmentPostings,
    i: int,
    query: QueryGroups,
    work: BufferView,
    columns: Array,
    column_count: int,
    top: TopColumns,
    found: int,
    budget: float,
    costs: ReadCosts,
    tally: Array,
) -> tuple[int, int]:
    """Score columns exactly: their counts so far, plus what they share from group i on.

    Skips those that cannot enter the k best. Ends early once the budget is spent; returns how many
    of the columns were handled, and how many results there are.
    """
    counts, passed = counts_in(work), passed_in(work)
    sets, starts = sets_of(part), set_start_of(part)
    groups, rest, table = query.group, query.rest, table_in(work)
    ranks, keys, sizes = top.rank, top.place, set_size_of(part)
    guarded = part.guard.checked.shape[0] > 0
    limit = np.uint64(part.columns)
    for j in range(column_count):
        if budget <= 0:
            return j, found
        column = np.uint64(columns[j])
        if column >= limit or passed[column] != 0:
            continue
        count, size = np.int64(counts[column]), np.int64(sizes[column])
        if guarded:
            size_of(part, np.int64(column))  # notes that it was read
        key = column_key(part.number, np.int64(column))
        reach = rank_of(min(count + rest[i], size), size)
        if not would_enter(ranks, keys, found, reach, key):
            continue
        end = min(np.int64(starts[column + np.uint64(1)]), sets.shape[0])
        begin = min(np.int64(starts[column]), end)
        if guarded:
            note_set(part, np.int64(column), begin, end)
        before = 0
        if end - begin > LONG:
            before, skipped = mark_before(part, np.int64(column), groups[i])
            begin = min(begin + skipped, end)
        budget -= costs.set + (end - begin) * costs.byte
        tally[SETS_READ] += 1
        tally[BYTES_READ] += end - begin
        first, last, value = np.uint64(begin), np.uint64(end), np.uint64(before)
        from_here = np.uint64(groups[i])
        score = count + sum_shared(sets, first, last, value, from_here, table)
        if score > 0:
            found = push_column(ranks, keys, found, rank_of(score, size), key)
    return column_count, found
