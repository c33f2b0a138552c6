"""Reading the sets of candidates for their exact scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.topk import enters, place_of, push, rank_of
from lakejoin.search.overlap.costs import ReadCosts
from lakejoin.search.overlap.part import Part, set_size_of, set_start_of, sets_of, size_of
from lakejoin.search.overlap.reading import LONG, mark_before, shared_by_table, touch_set
from lakejoin.search.overlap.tally import BYTES, PROBED
from lakejoin.search.overlap.work import Groups, Top, Work, counts_in, passed_in, table_in

Array = np.ndarray[Any, Any]


@njit
def fill_table(query: Groups, i: int, n: int, table: Array, on: bool) -> None:
    """Enters the weights of the groups from the i-th on in the table, or takes them out again."""
    group, weight = query.group, query.weight
    for j in range(i, n):
        table[group[j]] = weight[j] if on else 0


@njit
def take_columns(
    part: Part,
    i: int,
    query: Groups,
    work: Work,
    columns: Array,
    number: int,
    top: Top,
    found: int,
    budget: float,
    costs: ReadCosts,
    tally: Array,
) -> tuple[int, int]:
    """Takes the exact scores of columns: their counts so far, and what they share from group i on.

    Passes over those that cannot enter. Ends early once the budget is spent; returns how many of
    the columns were dealt with, and how many are found.
    """
    counts, passed = counts_in(work), passed_in(work)
    sets, starts = sets_of(part), set_start_of(part)
    groups, rest, table = query.group, query.rest, table_in(work)
    ranks, places, sizes = top.rank, top.place, set_size_of(part)
    guarded = part.guard.checked.shape[0] > 0
    limit = np.uint64(part.columns)
    for j in range(number):
        if budget <= 0:
            return j, found
        column = np.uint64(columns[j])
        if column >= limit or passed[column] != 0:
            continue
        count, size = np.int64(counts[column]), np.int64(sizes[column])
        if guarded:
            size_of(part, np.int64(column))  # notes that it was read
        place = place_of(part.number, np.int64(column))
        reach = rank_of(min(count + rest[i], size), size)
        if not enters(ranks, places, found, reach, place):
            continue
        end = min(np.int64(starts[column + np.uint64(1)]), sets.shape[0])
        begin = min(np.int64(starts[column]), end)
        if guarded:
            touch_set(part, np.int64(column), begin, end)
        before = 0
        if end - begin > LONG:
            before, skipped = mark_before(part, np.int64(column), groups[i])
            begin = min(begin + skipped, end)
        budget -= costs.set + (end - begin) * costs.byte
        tally[PROBED] += 1
        tally[BYTES] += end - begin
        first, last, value = np.uint64(begin), np.uint64(end), np.uint64(before)
        from_here = np.uint64(groups[i])
        score = count + shared_by_table(sets, first, last, value, from_here, table)
        if score > 0:
            found = push(ranks, places, found, rank_of(score, size), place)
    return number, found
