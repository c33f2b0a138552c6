"""Compiled entry points: each searches, or weighs, all columns of segments in one call."""

from __future__ import annotations

import numpy as np
from numba import njit

from lakejoin.engines.overlap.early_stopping import stop_early
from lakejoin.engines.overlap.josie import josie
from lakejoin.engines.overlap.merge_list import merge_lists, note_lists
from lakejoin.engines.overlap.posting_reader import note_set, read_whole_query, sum_shared
from lakejoin.engines.overlap.postings_view import (
    BY_SIZE,
    by_size_of,
    lists_of,
    note_read,
    open_postings,
    set_start_of,
    sets_of,
    short_lists_of,
)
from lakejoin.engines.overlap.read_costs import LISTS_FOUND, SEGMENTS, ReadCosts
from lakejoin.engines.overlap.search_buffers import (
    LEADERS,
    TOP,
    ZERO,
    BufferView,
    TopColumns,
    passed_in,
    query_in,
    table_in,
    tally_in,
    top_in,
)
from lakejoin.kernels.jit import kernel
from lakejoin.kernels.topk import rank_of, score_of, sort_best_first
from lakejoin.model import Array

# The rows of a plan: segment s has the query codes [begin[s], begin[s + 1]) and the hidden columns
# [hidden[s], hidden[s + 1]); `order` is the order in which segments are searched.
BEGIN, HIDDEN, ORDER = range(3)


@njit
def _hopeless(size: int, top: TopColumns, top_count: int) -> bool:
    """Whether no column that shares `size` values could enter the k best."""
    return top_count == top.rank.shape[0] and rank_of(size, size) < top.rank[0]


@njit
def open_segment(
    s: int, plan: Array, hidden: Array, work: BufferView, top: TopColumns, top_count: int
) -> bool:
    """Hide the hidden columns of a segment; return False if no column could enter the k best."""
    size = plan[BEGIN, s + 1] - plan[BEGIN, s]
    if size == 0 or _hopeless(size, top, top_count):
        return False
    tally_in(work.row)[SEGMENTS] += 1
    hide_columns(s, plan, hidden, work, 1)
    return True


@njit
def hide_columns(s: int, plan: Array, hidden: Array, work: BufferView, mark: int) -> None:
    for j in range(plan[HIDDEN, s], plan[HIDDEN, s + 1]):
        passed_in(work)[hidden[j]] = mark


@njit
def write_results(
    matrix: Array, pending: Array, top: TopColumns, top_count: int, out: Array
) -> None:
    """Write the segments, columns and scores of the results, best first."""
    sort_best_first(top.rank, top.key, top_count)
    for j in range(top_count):
        key = np.int64(top.key[j])
        part = open_postings(matrix, key >> 32, pending)
        rank = key & 0xFFFFFFFF
        note_read(part, BY_SIZE, 4 * rank, 4 * rank + 4)
        out[0, j], out[1, j] = key >> 32, by_size_of(part)[rank]
        out[2, j] = score_of(top.rank[j])


@kernel
def run_merge(
    matrix: Array,
    codes: Array,
    plan: Array,
    hidden: Array,
    row: Array,
    pending: Array,
    costs: ReadCosts,
    out: Array,
) -> int:
    work, query, top, tally = (
        BufferView(row, pending),
        query_in(row),
        top_in(row, TOP),
        tally_in(row),
    )
    top_count = ZERO
    for s in plan[ORDER, : matrix.shape[0]]:
        if open_segment(s, plan, hidden, work, top, top_count):
            part = open_postings(matrix, s, pending)
            n = read_whole_query(part, codes[plan[BEGIN, s] : plan[BEGIN, s + 1]], query)
            tally[LISTS_FOUND] += n
            top_count = merge_lists(part, n, query, work, top, top_count, tally)
            hide_columns(s, plan, hidden, work, 0)
    write_results(matrix, pending, top, top_count, out)
    return top_count


@kernel
def run_stopping(
    matrix: Array,
    codes: Array,
    plan: Array,
    hidden: Array,
    row: Array,
    pending: Array,
    costs: ReadCosts,
    out: Array,
) -> int:
    work, query, top, tally = (
        BufferView(row, pending),
        query_in(row),
        top_in(row, TOP),
        tally_in(row),
    )
    leaders = top_in(row, LEADERS)
    top_count = ZERO
    for s in plan[ORDER, : matrix.shape[0]]:
        if open_segment(s, plan, hidden, work, top, top_count):
            part = open_postings(matrix, s, pending)
            segment_codes = codes[plan[BEGIN, s] : plan[BEGIN, s + 1]]
            top_count = stop_early(
                part, segment_codes, query, work, top, top_count, leaders, costs, tally
            )
            hide_columns(s, plan, hidden, work, 0)
    write_results(matrix, pending, top, top_count, out)
    return top_count


@kernel
def run_josie(
    matrix: Array,
    codes: Array,
    plan: Array,
    hidden: Array,
    row: Array,
    pending: Array,
    costs: ReadCosts,
    out: Array,
) -> int:
    work, query, top, tally = (
        BufferView(row, pending),
        query_in(row),
        top_in(row, TOP),
        tally_in(row),
    )
    top_count = ZERO
    for s in plan[ORDER, : matrix.shape[0]]:
        if open_segment(s, plan, hidden, work, top, top_count):
            part = open_postings(matrix, s, pending)
            n = read_whole_query(part, codes[plan[BEGIN, s] : plan[BEGIN, s + 1]], query)
            tally[LISTS_FOUND] += n
            top_count = josie(part, n, query, work, top, top_count, costs, tally)
            hide_columns(s, plan, hidden, work, 0)
    write_results(matrix, pending, top, top_count, out)
    return top_count


# Each searches the segments in the plan's order, starting from the k best so far. They are separate
# functions because compiling one takes seconds and most users need only one.
RUN = {"merge": run_merge, "stopping": run_stopping, "josie": run_josie}


@kernel
def count_shared(
    matrix: Array, s: int, codes: Array, ranks: Array, row: Array, pending: Array, out: Array
) -> None:
    """Count the query's values that each of some columns of a segment contains."""
    part = open_postings(matrix, s, pending)
    query, table = query_in(row), table_in(BufferView(row, pending))
    n = read_whole_query(part, codes, query)
    for j in range(n):
        table[query.group[j]] = query.weight[j]
    for j in range(ranks.shape[0]):
        column = np.int64(ranks[j])
        end = min(np.int64(set_start_of(part)[column + 1]), sets_of(part).shape[0])
        at = min(np.int64(set_start_of(part)[column]), end)
        note_set(part, column, at, end)
        zero = np.uint64(0)
        out[j] = sum_shared(sets_of(part), np.uint64(at), np.uint64(end), zero, zero, table)
    for j in range(n):
        table[query.group[j]] = 0


@kernel
def weigh_columns(
    matrix: Array,
    s: int,
    codes: Array,
    weights: Array,
    row: Array,
    pending: Array,
    out: Array,
    touched: Array,
) -> tuple[int, int]:
    """Add to each column of a segment the weights of the codes it contains, and how many these are.

    `out` has a row for each of the two; codes ascend. `touched` lists the columns that contain any.
    Returns how many columns these are and how many entries the posting lists have; without room for
    columns in `out`, the entries are only counted.
    """
    part = open_postings(matrix, s, pending)
    query = query_in(row)
    n = read_whole_query(part, codes, query)
    if out.shape[1] == 0 or n == 0:
        return 0, query.ahead[0] if n > 0 else 0
    note_lists(part, query, 0, n)
    note_read(part, BY_SIZE, 0, 4 * part.columns)
    columns = by_size_of(part)
    short = short_lists_of(part)
    long = lists_of(part)
    touched_count = 0
    for i in range(n):
        weight = np.int64(0)
        begin = codes.shape[0] - query.rest[i]
        for j in range(begin, begin + query.weight[i]):
            weight += weights[j]
        for entry in range(query.begin[i], query.begin[i] + query.length[i]):
            rank = np.int64(short[entry]) if short.shape[0] > 0 else np.int64(long[entry])
            # A damaged byte must not lead outside the arrays; damage is reported on verification.
            if rank < part.columns:
                column = np.int64(columns[rank])
                if column < out.shape[1]:
                    if out[1, column] == 0:
                        touched[touched_count] = column
                        touched_count += 1
                    out[0, column] += weight
                    out[1, column] += query.weight[i]
    return touched_count, query.ahead[0]
