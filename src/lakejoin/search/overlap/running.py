"""Compiled calls that work on all segments at once: looking a query up, and searching."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.topk import rank_of
from lakejoin.search.overlap.josie import josie
from lakejoin.search.overlap.merging import Top, Work, merge, passed_in
from lakejoin.search.overlap.probeset import probe_sets
from lakejoin.search.overlap.reading import (
    Groups,
    Part,
    find_groups,
    open_part,
    read_query,
    set_start_of,
    sets_of,
    shared_by_table,
    touch_set,
)
from lakejoin.search.overlap.stopping import Costs, stop_early
from lakejoin.search.overlap.tally import ASKED, SEGMENTS

Array = np.ndarray[Any, Any]


class Asked(NamedTuple):
    """A query over all segments: in segment s its groups are [begin[s], begin[s] + number[s]), of
    its values begin[s + 1] - begin[s]; `order` says which segment comes first."""

    matrix: Array
    order: Array
    groups: Array
    weights: Array
    begin: Array
    number: Array
    hidden: Array
    hidden_begin: Array


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


@njit
def _begin(
    s: int, asked: Asked, query: Groups, work: Work, top: Top, found: int, tally: Array
) -> tuple[int, Part]:
    """Finds the query's lists in a segment and hides its hidden columns; how many lists there are,
    none where it has no column that could enter."""
    size = asked.begin[s + 1] - asked.begin[s]
    part = open_part(asked.matrix, s, work.pending)
    if size == 0 or _hopeless(size, top, found):
        return 0, part
    own = slice(asked.begin[s], asked.begin[s] + asked.number[s])
    n = read_query(part, asked.groups[own], asked.weights[own], query)
    tally[ASKED] += n
    if n == 0 or _hopeless(query.rest[0], top, found):
        return 0, part
    tally[SEGMENTS] += 1
    _hide(s, asked, work, 1)
    return n, part


@njit
def _hopeless(size: int, top: Top, found: int) -> bool:
    """Whether no column that shares so many values would enter."""
    return found == top.rank.shape[0] and rank_of(size, size) < top.rank[0]


@njit
def _hide(s: int, asked: Asked, work: Work, mark: int) -> None:
    for j in range(asked.hidden_begin[s], asked.hidden_begin[s + 1]):
        passed_in(work)[asked.hidden[j]] = mark


@kernel
def run_merge(
    asked: Asked, costs: Costs, query: Groups, work: Work, top: Top, leaders: Top, tally: Array
) -> int:
    found = 0
    for s in asked.order:
        n, part = _begin(s, asked, query, work, top, found, tally)
        if n > 0:
            found = merge(part, n, query, work, top, found, tally)
            _hide(s, asked, work, 0)
    return found


@kernel
def run_stopping(
    asked: Asked, costs: Costs, query: Groups, work: Work, top: Top, leaders: Top, tally: Array
) -> int:
    found = 0
    for s in asked.order:
        n, part = _begin(s, asked, query, work, top, found, tally)
        if n > 0:
            found = stop_early(part, n, query, work, top, found, leaders, costs, tally)
            _hide(s, asked, work, 0)
    return found


@kernel
def run_probe(
    asked: Asked, costs: Costs, query: Groups, work: Work, top: Top, leaders: Top, tally: Array
) -> int:
    found = 0
    for s in asked.order:
        n, part = _begin(s, asked, query, work, top, found, tally)
        if n > 0:
            found = probe_sets(part, n, query, work, top, found, costs, tally)
            _hide(s, asked, work, 0)
    return found


@kernel
def run_josie(
    asked: Asked, costs: Costs, query: Groups, work: Work, top: Top, leaders: Top, tally: Array
) -> int:
    found = 0
    for s in asked.order:
        n, part = _begin(s, asked, query, work, top, found, tally)
        if n > 0:
            found = josie(part, n, query, work, top, found, costs, tally)
            _hide(s, asked, work, 0)
    return found


# Each searches the segments in their order, with the k best of those before; apart from each other,
# because compiling takes seconds and most users need only one.
RUN = {"merge": run_merge, "stopping": run_stopping, "probe": run_probe, "josie": run_josie}


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
        end = min(np.int64(set_start_of(part)[column + 1]), sets_of(part).shape[0])
        at = min(np.int64(set_start_of(part)[column]), end)
        touch_set(part, column, at, end)
        none = np.uint64(0)
        out[j] = shared_by_table(sets_of(part), np.uint64(at), np.uint64(end), none, none, table)
    for j in range(groups.shape[0]):
        table[groups[j]] = 0
