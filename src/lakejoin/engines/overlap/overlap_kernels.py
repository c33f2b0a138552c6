"""Compiled entry points: each searches, or weighs, all columns of segments in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.engines.overlap.early_stopping import merge_lists, note_lists, stop_early
from lakejoin.engines.overlap.josie import josie
from lakejoin.engines.overlap.posting_reader import note_set, read_whole_query, sum_shared
from lakejoin.engines.overlap.postings_view import (
    BY_SIZE,
    TABLE,
    TOP,
    ZERO,
    BufferView,
    by_size_of,
    lists_of,
    note_read,
    open_postings,
    passed_in,
    query_in,
    set_start_of,
    sets_of,
    short_lists_of,
    tally_in,
    top_in,
)
from lakejoin.engines.overlap.read_costs import SEGMENTS
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.mapped_arrays import words_at
from lakejoin.kernels.topk import rank_of, score_of, sort_best_first
from lakejoin.model import Array

# The rows of a plan: segment s has the query codes [begin[s], begin[s + 1]) and the hidden columns
# [hidden[s], hidden[s + 1]); `order` is the order in which segments are searched.
BEGIN, HIDDEN, ORDER = range(3)


def make_search(search_segment: Any) -> Any:
    """A compiled search of all segments, by a function that searches one."""

    @njit
    def search_segments(
        matrix: Array, codes: Array, plan: Array, hidden: Array, work: BufferView, out: Array
    ) -> int:
        """Search in the plan's order, with the k best so far.

        Writes the segments, columns and scores of the results, best first; returns their number.
        """
        top, passed, top_count = top_in(work, TOP), passed_in(work), ZERO
        ranks, keys = top.rank, top.key
        for s in plan[ORDER, : matrix.shape[0]]:
            begin, end = plan[BEGIN, s], plan[BEGIN, s + 1]
            size = end - begin
            full = top_count == ranks.shape[0]
            if size == 0 or (full and rank_of(size, size) < ranks[0]):
                continue  # no column could enter the k best
            tally_in(work)[SEGMENTS] += 1
            segment_hidden = hidden[plan[HIDDEN, s] : plan[HIDDEN, s + 1]]
            for column in segment_hidden:
                passed[column] = 1
            part = open_postings(matrix, s, work.pending)
            top_count = search_segment(part, codes[begin:end], work, top_count)
            for column in segment_hidden:
                passed[column] = 0
        sort_best_first(ranks, keys, top_count)
        for j in range(top_count):
            key = np.int64(keys[j])
            part = open_postings(matrix, key >> 32, work.pending)
            rank = key & 0xFFFFFFFF
            note_read(part, BY_SIZE, 4 * rank, 4 * rank + 4)
            out[0, j], out[1, j], out[2, j] = key >> 32, by_size_of(part)[rank], score_of(ranks[j])
        return top_count

    return search_segments


_merge, _stopping, _josie = make_search(merge_lists), make_search(stop_early), make_search(josie)


# They are separate functions because compiling one takes seconds and most users need only one.


@kernel
def run_merge(
    matrix: Array, codes: Array, plan: Array, hidden: Array, work: BufferView, out: Array
) -> int:
    return _merge(matrix, codes, plan, hidden, work, out)


@kernel
def run_stopping(
    matrix: Array, codes: Array, plan: Array, hidden: Array, work: BufferView, out: Array
) -> int:
    return _stopping(matrix, codes, plan, hidden, work, out)


@kernel
def run_josie(
    matrix: Array, codes: Array, plan: Array, hidden: Array, work: BufferView, out: Array
) -> int:
    return _josie(matrix, codes, plan, hidden, work, out)


RUN = {"merge": run_merge, "stopping": run_stopping, "josie": run_josie}


@kernel
def count_shared(
    matrix: Array, s: int, codes: Array, ranks: Array, row: Array, pending: Array, out: Array
) -> None:
    """Count the query's values that each of some columns of a segment contains."""
    part = open_postings(matrix, s, pending)
    query, table = query_in(row), words_at(row, TABLE)
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
    Returns how many columns these are and how many entries the posting lists have.
    """
    part = open_postings(matrix, s, pending)
    query = query_in(row)
    n = read_whole_query(part, codes, query)
    if n == 0:
        return 0, 0
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
