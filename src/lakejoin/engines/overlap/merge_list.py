"""MergeList: read every distinct posting list of the query, count, and take the best k.

Thesis 3.2.1 with the distinct lists of 3.4.1. The baseline for the other algorithms, and the best
of them where a query's lists are short.
"""

from __future__ import annotations

import numpy as np

from lakejoin.engines.overlap.posting_reader import read_whole_query
from lakejoin.engines.overlap.postings_view import (
    LISTS,
    SHORT_LISTS,
    TOP,
    ZERO,
    BufferView,
    QueryGroups,
    SegmentPostings,
    counts_in,
    lists_of,
    passed_in,
    query_in,
    short_lists_of,
    size_of,
    tally_in,
    top_in,
    touched_in,
)
from lakejoin.engines.overlap.read_costs import BYTES_READ, CANDIDATES, LISTS_FOUND, LISTS_READ
from lakejoin.kernels.jit import njit
from lakejoin.kernels.mapped_arrays import note_blocks
from lakejoin.kernels.topk import column_key, least_score, push_column, rank_of, would_enter
from lakejoin.model import Array


@njit
def read_lists(
    part: SegmentPostings, i: int, j: int, limit: int, work: BufferView, seen: int
) -> int:
    """Add the weights of the lists [i, j) to the counts of the first `limit` columns in them.

    Columns seen for the first time are appended to `touched`, which has `seen` already; returns how
    many it has then.
    """
    tally_in(work)[LISTS_READ] += j - i
    note_lists(part, query_in(work.row), i, j)
    if short_lists_of(part).shape[0] > 0:
        return _count(short_lists_of(part), i, j, limit, work, seen)
    return _count(lists_of(part), i, j, limit, work, seen)


@njit
def note_lists(part: SegmentPostings, query: QueryGroups, i: int, j: int) -> None:
    if part.guard.checked.shape[0] == 0:
        return
    short = short_lists_of(part).shape[0] > 0
    at, size = part.row[3 * (SHORT_LISTS if short else LISTS) + 2], 2 if short else 4
    for m in range(i, j):
        begin = at + size * query.begin[m]
        note_blocks(part.guard, begin, begin + size * query.length[m])


@njit
def _count(lists: Array, i: int, j: int, limit: int, work: BufferView, seen: int) -> int:
    counts, touched, query = counts_in(work), touched_in(work), query_in(work.row)
    begins, lengths, weights = query.begin, query.length, query.weight
    zero = np.uint32(0)
    last = np.uint64(limit)
    touched_count = np.uint64(seen)
    read = np.uint64(0)
    for m in range(np.uint64(i), np.uint64(j)):
        weight = np.uint32(weights[m])
        entry = np.uint64(begins[m])
        end = entry + np.uint64(lengths[m])
        read -= entry
        while entry < end:
            column = np.uint64(lists[entry])
            if column >= last:
                break
            count = counts[column]
            touched[touched_count] = column
            touched_count += np.uint64(count == zero)
            counts[column] = count + weight
            entry += np.uint64(1)
        read += entry
    tally_in(work)[BYTES_READ] += lists.itemsize * np.int64(read)
    return np.int64(touched_count)


@njit
def take_best(
    part: SegmentPostings, work: BufferView, columns: Array, n: int, top_count: int
) -> int:
    """Take the best of `n` columns, whose counts are final, into the k best."""
    top = top_in(work, TOP)
    ranks, keys = top.rank, top.key
    least = least_score(ranks, top_count)
    counts, passed = counts_in(work), passed_in(work)
    for j in range(n):
        column = np.uint64(columns[j])
        score = np.int64(counts[column])
        if score < least or passed[column]:
            continue
        rank = rank_of(score, size_of(part, np.int64(column)))
        key = column_key(part.segment_index, np.int64(column))
        if would_enter(ranks, keys, top_count, rank, key):
            top_count = push_column(ranks, keys, top_count, rank, key)
            least = least_score(ranks, top_count)
    return top_count


@njit
def merge_lists(part: SegmentPostings, codes: Array, work: BufferView, top_count: int) -> int:
    """Search one segment: read all lists and take the best columns."""
    n, tally = read_whole_query(part, codes, query_in(work.row)), tally_in(work)
    seen = read_lists(part, ZERO, n, part.columns, work, ZERO)
    top_count = take_best(part, work, touched_in(work), seen, top_count)
    clear_counts(counts_in(work), touched_in(work), seen)
    tally[LISTS_FOUND] += n
    tally[CANDIDATES] += seen
    return top_count


@njit
def clear_counts(numbers: Array, indices: Array, n: int) -> None:
    """Set the numbers at the first `n` of some indices to zero."""
    for j in range(n):
        numbers[indices[j]] = 0
