"""Merge posting lists: all of them, or only until few columns can still win.

MergeList reads every distinct posting list of the query, counts, and takes the best k: thesis 3.2.1
with the distinct lists of 3.4.1. It is the baseline for the other algorithms, and the best of them
where a query's lists are short.

But in the global order (rising frequency) the last few lists are most of the work. The
early-stopping merge reads them in the same order, but checks the following before costly lists:

1. *Leaders.* The columns with the highest counts are likely winners. Their sets are read for exact
   scores as long as that is cheap beside the lists ahead, so that a k-th score is known early.
2. *Large enough.* A column with fewer values than the k-th score cannot win, and the lists name the
   largest columns first: only the beginning of each list is read. If reading the sets of all
   columns that are large enough costs less than the lists ahead, that finishes the search.
3. *Closing.* Once the weight ahead is below the k-th score (the prefix filter), no unseen column
   can enter. From then on only seen columns matter, and those that the weight ahead cannot lift to
   the k-th score are dropped. Once reading the sets of the remaining ones costs less than the lists
   ahead, that finishes the search.

The k-th score is that of all segments so far. If it is at least half of what the query has in the
next segment, only the prefix is looked up there at first: the rarest values, without which no
column can reach that score. In most segments no column reaches it, and the rest of the query is
never looked up.

The answer is exact whatever the costs are: they decide only what is read.
"""

from __future__ import annotations

import numpy as np

from lakejoin.engines.overlap.posting_reader import (
    count_large_enough,
    fill_table,
    measure_ahead,
    read_query,
    read_whole_query,
    take_columns,
)
from lakejoin.engines.overlap.postings_view import (
    LEADERS,
    LISTS,
    SHORT_LISTS,
    TOP,
    ZERO,
    BufferView,
    QueryGroups,
    SegmentPostings,
    TopColumns,
    alive_in,
    counts_in,
    exact_in,
    lists_of,
    passed_in,
    query_in,
    set_start_of,
    sets_of,
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
    MERGED,
    PROBED_ALL,
    STOPPED,
    ReadCosts,
)
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


LOOK_SHARE = 4.0  # read lists worth this many times the cost of a check between two checks
GROWTH = 3.0  # and let the cost of lists read grow by this factor
LEAST = 4000.0  # nanoseconds ahead below which a check does not pay
LEADER_SHARE = 0.05  # of the cost ahead may be spent on the leaders' sets
FINAL_SHARE = 0.7  # of the cost ahead may be expected for the last sets


@njit
def stop_early(part: SegmentPostings, codes: Array, work: BufferView, top_count: int) -> int:
    """Search one segment."""
    query, top, tally, costs = query_in(work.row), top_in(work, TOP), tally_in(work), work.costs
    k = top.rank.shape[0]
    known = ZERO  # length of `exact`; `seen` is that of `touched`, `watched` that of `alive`
    closed, done, filled = False, False, False
    limit, share = part.columns, 1.0  # columns that are large enough, and their share of all bytes
    n, at, seen, watched = ZERO, ZERO, ZERO, ZERO
    if top_count == k and 2 * least_score(top.rank, top_count) > codes.shape[0]:
        closed = True
        limit = count_large_enough(part, least_score(top.rank, top_count))
        n, at, seen, watched = _read_prefix(part, codes, work, top_count, limit)
        done = watched == 0
    i = n
    if not done:
        n, _ = read_query(part, codes, codes.shape[0], query, n, at)
        measure_ahead(query, n)
    tally[LISTS_FOUND] += n
    how = STOPPED
    while i < n and not done:
        ahead = (n - i) * costs.list + query.ahead[i] * share * costs.entry
        if ahead >= LEAST and (top_count == k or seen >= k):
            if not filled:
                filled = True
                fill_table(query, i, n, table_in(work), True)
            if not closed and i > 0:
                top_count, known = _read_leaders(
                    part, i, work, seen, known, top_count, LEADER_SHARE * ahead
                )
            limit = count_large_enough(part, least_score(top.rank, top_count))
            sizes = np.int64(set_start_of(part)[limit])
            share = sizes / max(1, sets_of(part).shape[0])
            ahead = (n - i) * costs.list + query.ahead[i] * share * costs.entry
            if limit * costs.set + sizes * costs.byte <= FINAL_SHARE * ahead:
                for j in range(limit):
                    alive_in(work)[j] = j
                _, top_count = take_columns(part, i, work, alive_in(work), limit, top_count, np.inf)
                done = True
                how = PROBED_ALL
            elif (
                not closed
                and top_count == k
                and rank_of(query.rest[i], query.rest[i]) < top.rank[0]
            ):
                closed = True
                watched = seen
                alive_in(work)[:seen] = touched_in(work)[:seen]
            if closed and not done:
                watched = _drop(
                    least_score(top.rank, top_count) - query.rest[i], limit, work, watched
                )
                done, watched, top_count = _finish_alive(part, i, work, watched, top_count, ahead)
        if not done:
            worth = LOOK_SHARE * costs.look * (watched if closed else seen) + LEAST
            j = _next_look(i, n, query, closed, worth, least_score(top.rank, top_count), costs)
            seen = read_lists(part, i, j, limit, work, seen)
            i = j
    if not done:
        how = MERGED
        left, count = (alive_in(work), watched) if closed else (touched_in(work), seen)
        top_count = take_best(part, work, left, count, top_count)
    clear_counts(counts_in(work), touched_in(work), seen)
    clear_counts(passed_in(work), exact_in(work), known)
    if filled:
        fill_table(query, 0, n, table_in(work), False)
    tally[CANDIDATES] += seen
    tally[how] += 1
    return top_count


@njit
def _read_prefix(
    part: SegmentPostings, codes: Array, work: BufferView, top_count: int, limit: int
) -> tuple[int, int, int, int]:
    """Read the lists of the rarest values, without which no column reaches the k-th score.

    As long as columns in `alive` can still reach it, reads twice as many. Returns the groups and
    codes looked up, and how many columns were seen and are alive.
    """
    query, least = query_in(work.row), least_score(top_in(work, TOP).rank, top_count)
    n, at, seen, watched = ZERO, ZERO, ZERO, ZERO
    goal = codes.shape[0] - least + 1
    while True:
        i = n
        n, at = read_query(part, codes, min(goal, codes.shape[0]), query, n, at)
        seen = read_lists(part, i, n, limit, work, seen)
        if i == 0:
            watched = seen
            alive_in(work)[:seen] = touched_in(work)[:seen]
        watched = _drop(least - query.rest[n], limit, work, watched)
        if watched == 0 or at >= codes.shape[0] or 2 * at > codes.shape[0]:
            return n, at, seen, watched
        goal = 2 * at


@njit
def _next_look(
    i: int, n: int, query: QueryGroups, closed: bool, worth: float, least: int, costs: ReadCosts
) -> int:
    """Return up to which list to read: until a check is paid for and may bring something new."""
    length, rest = query.length, query.rest
    list_cost, entry_cost = costs.list, costs.entry
    spent = i * list_cost + (query.ahead[0] - query.ahead[i]) * entry_cost
    if closed:
        goal = 0.8 * rest[i]
    else:
        worth = max(worth, (GROWTH - 1.0) * spent)
        goal = np.float64(least if rest[i] >= least else 0)
    read = 0.0
    while i < n:
        read += list_cost + length[i] * entry_cost
        i += 1
        if closed:
            if read >= worth and rest[i] <= goal:
                break
        elif read >= worth or rest[i] < goal:
            break
    return i


@njit
def _read_leaders(
    part: SegmentPostings,
    i: int,
    work: BufferView,
    seen: int,
    known: int,
    top_count: int,
    budget: float,
) -> tuple[int, int]:
    """Score the columns with the highest counts exactly, highest first."""
    query, leaders = query_in(work.row), top_in(work, LEADERS)
    least = least_score(top_in(work, TOP).rank, top_count)
    # By equation 3.4 the likely score of a column is its count times this.
    share = query.rest[0] / (query.rest[0] - query.rest[i])
    leader_count = _lead(work, seen, max(1, np.int64(least / share)), leaders)
    order = np.sort(leaders.rank[:leader_count])
    columns = exact_in(work)[known : known + leader_count]
    for j in range(leader_count):
        columns[j] = order[leader_count - 1 - j] & np.uint64(0xFFFFFFFF)
    taken, top_count = take_columns(part, i, work, columns, leader_count, top_count, budget)
    for j in range(taken):
        passed_in(work)[columns[j]] = 2
    return top_count, known + taken


@njit
def _lead(work: BufferView, seen: int, least: int, leaders: TopColumns) -> int:
    """Collect the columns with the highest counts, as (count, column) in one number each."""
    counts, passed, touched = counts_in(work), passed_in(work), touched_in(work)
    leader_count = ZERO
    for j in range(np.uint64(seen)):
        column = np.uint64(touched[j])
        count = np.int64(counts[column])
        if count >= least and passed[column] == 0:
            rank = (np.uint64(count) << np.uint64(32)) | column
            leader_count = push_column(leaders.rank, leaders.key, leader_count, rank, column)
            if leader_count == leaders.rank.shape[0]:
                least = least_score(leaders.rank, leader_count) + 1  # ties may be broken either way
    return leader_count


@njit
def _drop(least: int, limit: int, work: BufferView, watched: int) -> int:
    """Keep the columns in `alive` that have at least that count and are large enough."""
    counts, passed, alive = counts_in(work), passed_in(work), alive_in(work)
    remaining = ZERO
    for j in range(np.uint64(watched)):
        column = np.uint64(alive[j])
        if column < limit and np.int64(counts[column]) >= least and passed[column] == 0:
            alive[remaining] = column
            remaining += 1
    return remaining


@njit
def _finish_alive(
    part: SegmentPostings, i: int, work: BufferView, watched: int, top_count: int, ahead: float
) -> tuple[bool, int, int]:
    """Score the columns in `alive` exactly, if that is likely cheaper than the lists ahead.

    Their sets may be longer than the mean: once that has cost as much as the lists ahead, stop and
    leave the remaining columns in `alive`.
    """
    size = sets_of(part).shape[0] / max(1, part.columns)
    if watched * (work.costs.set + size * work.costs.byte) > FINAL_SHARE * ahead:
        return False, watched, top_count
    taken, top_count = take_columns(part, i, work, alive_in(work), watched, top_count, ahead)
    for j in range(taken, watched):
        alive_in(work)[j - taken] = alive_in(work)[j]
    return taken == watched, watched - taken, top_count
