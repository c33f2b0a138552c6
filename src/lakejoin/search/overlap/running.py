"""Compiled calls that work on all segments at once: looking a query up, and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.topk import rank_of
from lakejoin.search.overlap.josie import josie
from lakejoin.search.overlap.merging import Tally, Top, Work, merge
from lakejoin.search.overlap.probeset import probe_sets
from lakejoin.search.overlap.reading import (
    Groups,
    find_groups,
    open_part,
    read_query,
    shared_by_table,
    touch_set,
)
from lakejoin.search.overlap.stopping import Costs, stop_early

Array = np.ndarray[Any, Any]

MERGE, STOPPING, PROBE, JOSIE = range(4)


@kernel
def look_up(
    matrix: Array,
    codes: Array,
    begin: Array,
    pending: Array,
    groups: Array,
    weights: Array,
    number: Array,
) -> None:
    """The groups and weights of ascending codes; segment s has the codes [begin[s], begin[s + 1]),
    and its `number[s]` groups stand from begin[s] on."""
    for s in range(matrix.shape[0]):
        if begin[s + 1] > begin[s]:
            part = open_part(matrix, s, pending)
            own = slice(begin[s], begin[s + 1])
            number[s] = find_groups(part, codes[own], groups[own], weights[own])


@kernel
def run(
    algorithm: int,
    matrix: Array,
    order: Array,
    groups: Array,
    weights: Array,
    begin: Array,
    number: Array,
    hidden: Array,
    hidden_begin: Array,
    costs: Costs,
    query: Groups,
    work: Work,
    top: Top,
    leaders: Top,
    tally: Tally,
) -> int:
    """Searches the segments in the given order, each with the k best of those before it."""
    found = 0
    k = top.rank.shape[0]
    for o in range(order.shape[0]):
        s = order[o]
        size = begin[s + 1] - begin[s]
        if size == 0 or (found == k and rank_of(size, size) < top.rank[0]):
            continue
        part = open_part(matrix, s, work.pending)
        own = slice(begin[s], begin[s] + number[s])
        n = read_query(part, groups[own], weights[own], query)
        tally.lists[0] += n
        if n == 0 or (found == k and rank_of(query.rest[0], query.rest[0]) < top.rank[0]):
            continue
        for j in range(hidden_begin[s], hidden_begin[s + 1]):
            work.passed[hidden[j]] = 1
        tally.segments[0] += 1
        if algorithm == MERGE:
            found = merge(part, n, query, work, top, found, tally)
        elif algorithm == STOPPING:
            found = stop_early(part, n, query, work, top, found, leaders, costs, tally)
        elif algorithm == PROBE:
            found = probe_sets(part, n, query, work, top, found, costs, tally)
        else:
            found = josie(part, n, query, work, top, found, costs, tally)
        for j in range(hidden_begin[s], hidden_begin[s + 1]):
            work.passed[hidden[j]] = 0
    return found


@kernel
def share(
    matrix: Array,
    s: int,
    groups: Array,
    weights: Array,
    columns: Array,
    table: Array,
    pending: Array,
    out: Array,
) -> None:
    """How many of the query's values each of some columns of a segment holds."""
    part = open_part(matrix, s, pending)
    for j in range(groups.shape[0]):
        table[groups[j]] = weights[j]
    for j in range(columns.shape[0]):
        column = np.int64(columns[j])
        end = min(np.int64(part.set_start[column + 1]), part.sets.shape[0])
        at = min(np.int64(part.set_start[column]), end)
        touch_set(part, column, at, end)
        none = np.uint64(0)
        out[j] = shared_by_table(part.sets, np.uint64(at), np.uint64(end), none, none, table)
    for j in range(groups.shape[0]):
        table[groups[j]] = 0
