"""JOSIE: read lists or candidates, whichever saves more reading than it costs.

Thesis 3.3 with the distinct lists of 3.4.1. Lists are read in batches. Every candidate met keeps
where it was met first (i_X0, j_X0), its last position (j_X) and its count so far; from these come
an estimate of its score (3.4) and an upper bound (3.6). A candidate's net cost is the cost of
reading the rest of its set, less what the k-th score it would likely bring saves: lists that the
prefix filter drops and candidates that the position filter drops (3.5, 3.7). The net cost of the
next batch is that of its lists, less what tighter bounds save on candidates (3.9-3.12). The cheaper
of the two is read next (3.13, algorithm 2).

    S(X[j:])    `_set_cost`: the cost of the rest of a set from its position on
    L(f)        a list's cost, `costs.list + f * costs.entry`
    W_i         the candidates not read yet, in `alive`
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.topk import enters, least_score, place_of, push, rank_of, score_of
from lakejoin.search.overlap.merging import (
    Top,
    Work,
    alive_in,
    clear,
    counts_in,
    exact_in,
    first_in,
    first_position_in,
    passed_in,
    position_in,
    table_in,
    touched_in,
)
from lakejoin.search.overlap.probeset import entry_at
from lakejoin.search.overlap.probing import fill_table, take_columns
from lakejoin.search.overlap.reading import Groups, Part, set_start_of, size_of
from lakejoin.search.overlap.stopping import Costs
from lakejoin.search.overlap.tally import BYTES, READ, SEEN

Array = np.ndarray[Any, Any]

BATCH = 20  # lists


class Ranked(NamedTuple):
    """The net cost of every candidate, their order by it, and the net cost of the next batch."""

    order: Array
    net: Array
    batch: float


@njit
def josie(
    part: Part,
    n: int,
    query: Groups,
    work: Work,
    top: Top,
    found: int,
    costs: Costs,
    tally: Array,
) -> int:
    """Searches one segment."""
    k = top.rank.shape[0]
    seen, unread, i = 0, 0, 0
    fill_table(query, 0, n, table_in(work), True)
    while True:
        prefix = i < n and not (found == k and rank_of(query.rest[i], query.rest[i]) < top.rank[0])
        if unread == 0:
            if not prefix:
                break
            j = min(i + BATCH, n)
            seen, unread = _read_batch(part, i, j, query, work, seen, unread, prefix, tally)
            i = j
        elif found < k:
            unread -= 1
            found = _read(part, alive_in(work)[unread], i, n, query, work, top, found, costs, tally)
        else:
            unread = _position_filter(part, query.rest[i], work, unread, top, found, tally)
            if unread > 0:
                nets, batch = _net_costs(part, i, n, query, work, unread, top, found, costs)
                order = np.argsort(nets)
                if i < n and nets[order[0]] > batch:
                    j = min(i + BATCH, n)
                    seen, unread = _read_batch(part, i, j, query, work, seen, unread, prefix, tally)
                    i = j
                else:
                    ranked = Ranked(order, nets, batch)
                    unread, found = _read_best(
                        part, ranked, i, n, query, work, unread, top, found, costs, tally
                    )
    for j in range(seen):
        first_in(work)[touched_in(work)[j]] = 0
    clear(counts_in(work), touched_in(work), seen)
    fill_table(query, 0, n, table_in(work), False)
    tally[SEEN] += seen
    return found


@njit
def _read_batch(
    part: Part,
    i: int,
    j: int,
    query: Groups,
    work: Work,
    seen: int,
    unread: int,
    prefix: bool,
    tally: Array,
) -> tuple[int, int]:
    """Reads the lists [i, j). `first` is 0 for columns never met, else one more than the group.

    Beyond the prefix no column is new, and whoever was read or ruled out has a count that no one
    looks at again.
    """
    for m in range(i, j):
        tally[READ] += 1
        tally[BYTES] += 8 * query.length[m]
        for place in range(query.begin[m], query.begin[m] + query.length[m]):
            column, position = entry_at(part, place)
            if first_in(work)[column] == 0:
                if not prefix:
                    continue
                first_in(work)[column] = m + 1
                first_position_in(work)[column] = position
                touched_in(work)[seen] = column
                seen += 1
                if passed_in(work)[column] == 0:
                    alive_in(work)[unread] = column
                    unread += 1
            counts_in(work)[column] += query.weight[m]
            position_in(work)[column] = position
    return seen, unread


@njit
def _reach(part: Part, column: int, rest: int, work: Work) -> int:
    """The upper bound of a candidate's score, equation 3.6."""
    remains = max(0, size_of(part, column) - np.int64(position_in(work)[column]))
    return np.int64(counts_in(work)[column]) + min(rest, remains)


@njit
def _position_filter(
    part: Part, rest: int, work: Work, unread: int, top: Top, found: int, tally: Array
) -> int:
    kept = 0
    for j in range(unread):
        column = np.int64(alive_in(work)[j])
        rank = rank_of(_reach(part, column, rest, work), size_of(part, column))
        if enters(top.rank, top.place, found, rank, place_of(part.number, column)):
            alive_in(work)[kept] = column
            kept += 1
    return kept


@njit
def _set_cost(part: Part, column: int, position: float, costs: Costs) -> float:
    """S(X[j:]): of the bytes of the set, the share of the values that are left."""
    size = max(1, size_of(part, column))
    length = np.int64(set_start_of(part)[column + 1]) - np.int64(set_start_of(part)[column])
    return costs.set + costs.byte * length * max(0.0, 1.0 - position / size)


@njit
def _prefix_end(query: Groups, n: int, score: float) -> int:
    """The first group from which on less weight is left than a score: where the prefix ends."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if query.rest[middle] >= score:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _lists_cost(query: Groups, begin: int, end: int, costs: Costs) -> float:
    if end <= begin:
        return 0.0
    return (end - begin) * costs.list + (query.ahead[begin] - query.ahead[end]) * costs.entry


@njit
def _net_costs(
    part: Part,
    i: int,
    n: int,
    query: Groups,
    work: Work,
    unread: int,
    top: Top,
    found: int,
    costs: Costs,
) -> tuple[Array, float]:
    """The net cost of every candidate and of the next batch, equations 3.4 to 3.13."""
    rest = query.rest[i]
    least = least_score(top.rank, found)
    second = _second_score(top, found)
    end = min(i + BATCH, n)
    reach = np.empty(unread, dtype=np.int64)
    cost = np.empty(unread, dtype=np.float64)
    likely = np.empty(unread, dtype=np.float64)
    batch = _lists_cost(query, i, end, costs)
    for j in range(unread):
        column = np.int64(alive_in(work)[j])
        count, size = np.int64(counts_in(work)[column]), size_of(part, column)
        position, first = np.int64(position_in(work)[column]), np.int64(first_in(work)[column]) - 1
        reach[j] = _reach(part, column, rest, work)
        cost[j] = _set_cost(part, column, position, costs)
        since = max(1, query.rest[first] - rest)  # of Q, from where it was met first
        likely[j] = count / since * query.rest[first]
        # What the batch saves on this candidate.
        more = count / max(1, query.rest[first]) * (rest - query.rest[end])
        step = (rest - query.rest[end]) / max(1, query.rest[first])
        later = position + step * (size - np.int64(first_position_in(work)[column]) + 1)
        bound = count + more + min(np.float64(query.rest[end]), max(0.0, size - later))
        if bound <= least:
            batch -= cost[j]
        else:
            batch -= cost[j] - _set_cost(part, column, min(later, np.float64(size)), costs)
    by_reach = np.argsort(reach)
    saved = np.zeros(unread + 1)  # by dropping the candidates of the lowest reach
    for j in range(unread):
        saved[j + 1] = saved[j] + cost[by_reach[j]]
    ordered = reach[by_reach]
    now = _prefix_end(query, n, least)
    nets = np.empty(unread)
    for j in range(unread):
        score = np.float64(least)
        if likely[j] > least:
            score = min(likely[j], np.float64(second))
        dropped = np.searchsorted(ordered, score, side="right")
        benefit = saved[dropped] - (cost[j] if reach[j] <= score else 0.0)
        benefit += _lists_cost(query, max(i, _prefix_end(query, n, score)), now, costs)
        nets[j] = cost[j] - benefit
    return nets, batch


@njit
def _second_score(top: Top, found: int) -> int:
    """The score of the last but one of the k best; without one, that which any candidate has."""
    if found < 2:
        return np.int64(1) << 40
    second = top.rank[1]
    if found > 2:
        second = min(second, top.rank[2])
    return score_of(second)


@njit
def _read_best(
    part: Part,
    ranked: Ranked,
    i: int,
    n: int,
    query: Groups,
    work: Work,
    unread: int,
    top: Top,
    found: int,
    costs: Costs,
    tally: Array,
) -> tuple[int, int]:
    """Reads candidates from the best on, until the k-th score rises (the net costs then change) or
    the next batch is the better choice."""
    least = top.rank[0]
    exact_in(work)[:unread] = 0  # other algorithms leave a list there
    for j in range(unread):
        best = ranked.order[j]
        if top.rank[0] != least or (i < n and ranked.net[best] > ranked.batch):
            break
        column = alive_in(work)[best]
        found = _read(part, column, i, n, query, work, top, found, costs, tally)
        exact_in(work)[best] = 1
    kept = 0
    for j in range(unread):
        if exact_in(work)[j] == 0:
            alive_in(work)[kept] = alive_in(work)[j]
            kept += 1
    return kept, found


@njit
def _read(
    part: Part,
    column: int,
    i: int,
    n: int,
    query: Groups,
    work: Work,
    top: Top,
    found: int,
    costs: Costs,
    tally: Array,
) -> int:
    if i == n:  # all lists are read: its count is its score
        rank = rank_of(np.int64(counts_in(work)[column]), size_of(part, np.int64(column)))
        place = place_of(part.number, np.int64(column))
        return push(top.rank, top.place, found, rank, place)
    one = np.array([np.int64(column)])
    _, found = take_columns(part, i, query, work, one, 1, top, found, np.inf, costs, tally)
    return found
