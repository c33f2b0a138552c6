"""JOSIE: read lists or candidates, whichever saves more reading than it costs.

Thesis 3.3 with the distinct lists of 3.4.1. Lists are read in batches. Every candidate keeps where
it was first seen (i_X0, j_X0), its last position (j_X) and its count so far; from these follow an
upper bound of its score (3.6) and, once enough of the query has been read since, an estimate (3.4).
Until there are k columns, the candidate with the highest estimate is read. Then a candidate's net
cost is the cost of reading the rest of its set, less what the k-th score that it would likely bring
saves: lists that the prefix filter drops and candidates that the position filter drops (3.5, 3.7).
The net cost of the next batch is that of its lists, less what tighter bounds save on candidates
(3.9-3.12). The cheaper of the two is read next (3.13, algorithm 2).

Symbols beyond those in `postings_view`:

    i_X0        `first[column] - 1`: the group in whose list the candidate was first seen
    j_X0, j_X   `first_position`, `position`: its first and its last position in its set
    S(X[j:])    `_set_cost`: the cost of the rest of a set from its position on
    L(f)        a list's cost, `costs.list + f * costs.entry`
    W_i         the candidates not read yet, in `alive`
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.engines.overlap.early_stopping import clear_counts
from lakejoin.engines.overlap.posting_reader import (
    column_at,
    fill_table,
    note_entry,
    read_whole_query,
    take_columns,
)
from lakejoin.engines.overlap.postings_view import (
    TOP,
    ZERO,
    BufferView,
    QueryGroups,
    SegmentPostings,
    TopColumns,
    alive_in,
    counts_in,
    exact_in,
    first_in,
    first_position_in,
    lists_of,
    passed_in,
    position_in,
    positions_of,
    query_in,
    set_size_of,
    set_start_of,
    short_lists_of,
    size_of,
    table_in,
    tally_in,
    top_in,
    touched_in,
)
from lakejoin.engines.overlap.read_costs import (
    BYTES_READ,
    CANDIDATES,
    LISTS_FOUND,
    LISTS_READ,
    ReadCosts,
)
from lakejoin.kernels.jit import njit
from lakejoin.kernels.topk import (
    column_key,
    least_score,
    push_column,
    rank_of,
    score_of,
    would_enter,
)
from lakejoin.model import Array

BATCH = 20  # lists
SAMPLE = 20  # values of the query, read since a candidate was first seen, that an estimate needs


class Estimates(NamedTuple):
    """Of each candidate: the bound of its score, the cost of the rest of its set, its likely score,
    and how many values of the query were read since it was first seen."""

    reach: Array
    cost: Array
    likely: Array
    sample: Array


class Ranked(NamedTuple):
    """The candidates in order of net cost, their net costs, and that of the next batch."""

    order: Array
    net: Array
    batch: float


@njit
def josie(part: SegmentPostings, codes: Array, work: BufferView, top_count: int) -> int:
    """Search one segment."""
    query, top, tally = query_in(work.row), top_in(work, TOP), tally_in(work)
    n, k = read_whole_query(part, codes, query), top.rank.shape[0]
    seen, unread, i = ZERO, ZERO, ZERO
    fill_table(query, 0, n, table_in(work), True)
    while i < n:
        prefix = not (top_count == k and rank_of(query.rest[i], query.rest[i]) < top.rank[0])
        if top_count == k:
            unread = _position_filter(part, query.rest[i], work, unread, top_count)
        if unread == 0 and not prefix:
            break
        sampled = _count_sampled(i, work, unread)
        if sampled > 0 and top_count < k:
            unread, top_count = _read_likely(part, i, n, work, unread, sampled, top_count)
            continue
        if sampled > 0:
            known = _estimate(part, i, work, unread)
            ranked = _net_costs(part, known, i, n, work, unread, top_count)
            if ranked.net[ranked.order[0]] <= ranked.batch:
                unread, top_count = _read_best(part, ranked, i, n, work, unread, top_count)
                continue
        j = min(i + BATCH, n)
        seen, unread = _read_batch(part, i, j, work, seen, unread, prefix)
        i = j
    for j in range(unread):  # all lists are read, so what is counted is exact
        top_count = _read(part, alive_in(work)[j], i, n, work, top_count)
    clear_counts(first_in(work), touched_in(work), seen)
    clear_counts(counts_in(work), touched_in(work), seen)
    fill_table(query, 0, n, table_in(work), False)
    tally[LISTS_FOUND] += n
    tally[CANDIDATES] += seen
    return top_count


@njit
def _read_batch(
    part: SegmentPostings, i: int, j: int, work: BufferView, seen: int, unread: int, prefix: bool
) -> tuple[int, int]:
    """Read the lists [i, j). `first` is 0 for columns never seen, else their first group + 1.

    Beyond the prefix no column is new, and the counts of columns already read or ruled out are
    never used again.
    """
    short, long, positions = short_lists_of(part), lists_of(part), positions_of(part)
    guarded = part.guard.checked.shape[0] > 0
    first, first_position, position = first_in(work), first_position_in(work), position_in(work)
    counts, touched, alive = counts_in(work), touched_in(work), alive_in(work)
    passed, query, tally = passed_in(work), query_in(work.row), tally_in(work)
    for m in range(i, j):
        weight, begin, length = query.weight[m], query.begin[m], query.length[m]
        tally[LISTS_READ] += 1
        tally[BYTES_READ] += 8 * length
        for entry in range(begin, begin + length):
            column = column_at(short, long, entry, part.columns)
            if guarded:
                note_entry(part, entry, column)
            if first[column] == 0:
                if not prefix:
                    continue
                first[column] = m + 1
                first_position[column] = positions[entry]
                touched[seen] = column
                seen += 1
                if passed[column] == 0:
                    alive[unread] = column
                    unread += 1
            counts[column] += weight
            position[column] = positions[entry]
    return seen, unread


@njit(inline="always")
def _reach(count: int, size: int, position: int, rest: int) -> int:
    """Return the upper bound of a candidate's score, equation 3.6."""
    return count + min(rest, max(0, size - position))


@njit
def _count_sampled(i: int, work: BufferView, unread: int) -> int:
    """Return how many candidates have a large enough sample; they come first, as seen first."""
    rests, firsts, alive = query_in(work.row).rest, first_in(work), alive_in(work)
    for j in range(unread):
        if rests[np.int64(firsts[alive[j]]) - 1] - rests[i] <= SAMPLE:
            return j
    return unread


@njit(inline="always")
def _likely(count: int, sample: int, whole: int, reach: int) -> float:
    """Return the estimate of a candidate's score, equation 3.4, which its bound limits."""
    return min(count / max(1, sample) * whole, np.float64(reach))


@njit
def _position_filter(
    part: SegmentPostings, rest: int, work: BufferView, unread: int, top_count: int
) -> int:
    """Drop the candidates that cannot enter the k best; return how many remain."""
    counts, positions, alive = counts_in(work), position_in(work), alive_in(work)
    sizes, top = set_size_of(part), top_in(work, TOP)
    ranks, keys = top.rank, top.key
    remaining = ZERO
    for j in range(unread):
        column = np.int64(alive[j])
        size = np.int64(sizes[column])
        reach = _reach(np.int64(counts[column]), size, np.int64(positions[column]), rest)
        if would_enter(
            ranks, keys, top_count, rank_of(reach, size), column_key(part.segment_index, column)
        ):
            alive[remaining] = column
            remaining += 1
    return remaining


@njit(inline="always")
def _set_cost(costs: ReadCosts, length: int, size: int, position: float) -> float:
    """S(X[j:]): the cost of the set's bytes, by the share of its values that are left."""
    return costs.set + costs.byte * length * max(0.0, 1.0 - position / max(1, size))


@njit
def _prefix_end(query: QueryGroups, n: int, score: float) -> int:
    """Return where the prefix ends: the first group from which less weight is left than a score."""
    rest = query.rest
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if rest[middle] >= score:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _lists_cost(query: QueryGroups, begin: int, end: int, costs: ReadCosts) -> float:
    if end <= begin:
        return 0.0
    return (end - begin) * costs.list + (query.ahead[begin] - query.ahead[end]) * costs.entry


@njit
def _estimate(part: SegmentPostings, i: int, work: BufferView, unread: int) -> Estimates:
    """Estimate the score of every candidate, equation 3.4, and what it costs to be certain."""
    rests = query_in(work.row).rest
    counts, positions, alive = counts_in(work), position_in(work), alive_in(work)
    firsts, sizes, starts = first_in(work), set_size_of(part), set_start_of(part)
    known = Estimates(
        np.empty(unread, dtype=np.int64),
        np.empty(unread, dtype=np.float64),
        np.empty(unread, dtype=np.float64),
        np.empty(unread, dtype=np.int64),
    )
    for j in range(unread):
        column = np.int64(alive[j])
        count, size = np.int64(counts[column]), np.int64(sizes[column])
        position, first = np.int64(positions[column]), np.int64(firsts[column]) - 1
        length = np.int64(starts[column + 1]) - np.int64(starts[column])
        known.reach[j] = _reach(count, size, position, rests[i])
        known.cost[j] = _set_cost(work.costs, length, size, np.float64(position))
        known.sample[j] = rests[first] - rests[i]
        known.likely[j] = _likely(count, known.sample[j], rests[first], known.reach[j])
    return known


@njit
def _net_costs(
    part: SegmentPostings,
    known: Estimates,
    i: int,
    n: int,
    work: BufferView,
    unread: int,
    top_count: int,
) -> Ranked:
    """Compute the net cost of every candidate and of the next batch, equations 3.5 to 3.13.

    A candidate whose sample is too small is not worth reading yet: its net cost is infinite.
    """
    query, top, costs = query_in(work.row), top_in(work, TOP), work.costs
    rests = query.rest
    least = least_score(top.rank, top_count)
    second = _second_score(top, top_count)
    end = min(i + BATCH, n)
    ahead = rests[i] - rests[end]  # weight of the next batch
    counts, positions, alive = counts_in(work), position_in(work), alive_in(work)
    firsts, first_positions = first_in(work), first_position_in(work)
    sizes, starts = set_size_of(part), set_start_of(part)
    batch = _lists_cost(query, i, end, costs)
    for j in range(unread):
        if known.sample[j] <= SAMPLE:
            continue
        column = np.int64(alive[j])
        count, size = np.int64(counts[column]), np.int64(sizes[column])
        position, first = np.int64(positions[column]), np.int64(firsts[column]) - 1
        length = np.int64(starts[column + 1]) - np.int64(starts[column])
        more = count / known.sample[j] * ahead
        later = position + ahead / rests[first] * (size - np.int64(first_positions[column]) + 1)
        bound = count + more + min(np.float64(rests[end]), max(0.0, size - later))
        batch -= known.cost[j]
        if bound > least:
            batch += _set_cost(costs, length, size, min(later, np.float64(size)))
    by_reach = np.argsort(known.reach)
    saved = np.zeros(unread + 1)  # by dropping the candidates with the lowest bounds
    for j in range(unread):
        saved[j + 1] = saved[j] + known.cost[by_reach[j]]
    ordered = known.reach[by_reach]
    now = _prefix_end(query, n, least)
    nets = np.full(unread, np.inf)
    for j in range(unread):
        if known.sample[j] <= SAMPLE:
            continue
        score = np.float64(least)
        if known.likely[j] > least:
            score = min(known.likely[j], np.float64(second))
        dropped = np.searchsorted(ordered, score, side="right")
        benefit = saved[dropped] - (known.cost[j] if known.reach[j] <= score else 0.0)
        benefit += _lists_cost(query, max(i, _prefix_end(query, n, score)), now, costs)
        nets[j] = known.cost[j] - benefit
    return Ranked(np.argsort(nets), nets, batch)


@njit
def _second_score(top: TopColumns, top_count: int) -> int:
    """Return the second lowest score of the k best; if there is none, a score above all others."""
    if top_count < 2:
        return np.int64(1) << 40
    second = top.rank[1]
    if top_count > 2:
        second = min(second, top.rank[2])
    return score_of(second)


@njit
def _read_likely(
    part: SegmentPostings,
    i: int,
    n: int,
    work: BufferView,
    unread: int,
    sampled: int,
    top_count: int,
) -> tuple[int, int]:
    """Read the candidates with the highest estimates until there are k columns."""
    k, known = top_in(work, TOP).rank.shape[0], _estimate(part, i, work, sampled)
    exact_in(work)[:unread] = 0  # other algorithms leave data there
    for best in np.argsort(-known.likely):
        if top_count == k:
            break
        top_count = _read(part, alive_in(work)[best], i, n, work, top_count)
        exact_in(work)[best] = 1
    return _keep_unread(work, unread), top_count


@njit
def _read_best(
    part: SegmentPostings,
    ranked: Ranked,
    i: int,
    n: int,
    work: BufferView,
    unread: int,
    top_count: int,
) -> tuple[int, int]:
    """Read candidates, cheapest first, until the k-th score rises or the next batch is cheaper.

    A higher k-th score changes all net costs.
    """
    top = top_in(work, TOP)
    least = top.rank[0]
    exact_in(work)[:unread] = 0  # other algorithms leave data there
    for best in ranked.order:
        if top.rank[0] != least or ranked.net[best] > ranked.batch:
            break
        top_count = _read(part, alive_in(work)[best], i, n, work, top_count)
        exact_in(work)[best] = 1
    return _keep_unread(work, unread), top_count


@njit
def _keep_unread(work: BufferView, unread: int) -> int:
    """Drop the candidates that were read; return how many remain."""
    alive, exact = alive_in(work), exact_in(work)
    remaining = ZERO
    for j in range(unread):
        if exact[j] == 0:
            alive[remaining] = alive[j]
            remaining += 1
    return remaining


@njit
def _read(
    part: SegmentPostings, column: int, i: int, n: int, work: BufferView, top_count: int
) -> int:
    """Score one candidate exactly and take it into the k best if it enters."""
    if i == n:  # all lists are read, so its count is its score
        rank = rank_of(np.int64(counts_in(work)[column]), size_of(part, np.int64(column)))
        key = column_key(part.segment_index, np.int64(column))
        top = top_in(work, TOP)
        return push_column(top.rank, top.key, top_count, rank, key)
    columns = np.array([np.uint32(column)])
    return take_columns(part, i, work, columns, 1, top_count, np.inf)[1]
