"""Compiled functions that read posting lists, and sets of candidates for their exact scores."""

from __future__ import annotations

import numpy as np

from lakejoin.engines.overlap.postings_view import (
    GROUP_SAMPLE,
    GROUP_START,
    LENGTH,
    LENGTH_BEGIN,
    LENGTH_GROUP,
    LISTS,
    MARK_BYTE,
    MARK_FIRST,
    MARK_GROUP,
    MARK_STAND,
    POSITIONS,
    SET_SIZE,
    SET_START,
    SETS,
    SHORT_LISTS,
    TOP,
    ZERO,
    BufferView,
    QueryGroups,
    SegmentPostings,
    counts_in,
    group_sample_of,
    group_start_of,
    length_begin_of,
    length_group_of,
    length_of,
    lists_of,
    mark_byte_of,
    mark_first_of,
    mark_group_of,
    mark_size_rank_of,
    note_read,
    passed_in,
    query_in,
    set_size_of,
    set_start_of,
    sets_of,
    short_lists_of,
    size_of,
    table_in,
    tally_in,
    top_in,
)
from lakejoin.engines.overlap.read_costs import BYTES_READ, SETS_READ
from lakejoin.kernels.jit import njit
from lakejoin.kernels.mapped_arrays import note_blocks, prefetch
from lakejoin.kernels.packing import read_packed
from lakejoin.kernels.topk import column_key, push_column, rank_of, would_enter
from lakejoin.model import Array
from lakejoin.store.postings import SAMPLE

_ONE = np.uint64(1)
_BLOCK = 16
AHEAD = 6  # how many codes ahead of the one looked up memory is prefetched
LONG = 192  # bytes: the marks of a longer set are used to skip its beginning


@njit
def read_query(
    part: SegmentPostings, codes: Array, stop: int, query: QueryGroups, n: int, at: int
) -> tuple[int, int]:
    """Find the lists of ascending codes, from the `at`-th to before the `stop`-th or a few more.

    `n` groups are known already. Returns how many are known then, and how many codes were looked
    up. A group takes all its codes at once; values that are in no indexed column have no list and
    no group.
    """
    # Arrays are taken out of their tuples once (see `kernels.mapped_arrays.borrow_array`).
    start, sample = group_start_of(part), group_sample_of(part)
    lengths, firsts, begins = length_of(part), length_group_of(part), length_begin_of(part)
    groups, weights, rests = query.group, query.weight, query.rest
    query_begins, query_lengths = query.begin, query.length
    short, long = short_lists_of(part), lists_of(part)
    guarded = part.guard.checked.shape[0] > 0
    last = start.shape[0] - 1
    lengths_count = lengths.shape[0]
    size = short.shape[0] + long.shape[0]
    total = codes.shape[0]
    note_read(part, LENGTH_GROUP, 0, 4 * (lengths_count + 1))
    group = np.int64(groups[n - 1]) if n > 0 else np.int64(-1)
    kind, fetched, later = ZERO, at, ZERO
    while at < stop:
        if fetched < at + AHEAD < stop:
            # Prefetch what a later code needs while this one is looked up.
            fetched = at + AHEAD
            later = max(
                first_above(sample, later, sample.shape[0], np.int64(codes[fetched])) - 1, 0
            )
            for line in range(0, SAMPLE, _BLOCK):
                prefetch(start, min(later * SAMPLE + line, last))
        code = np.int64(codes[at])
        # Both arrays ascend: gallop through the sample, then search one run of the starts.
        sample_index = first_above(sample, (group + 1) // SAMPLE, sample.shape[0], code) - 1
        low = max(group + 1, sample_index * SAMPLE)
        group = first_above(start, low, min(low + SAMPLE + 1, last), code) - 1
        if group < 0 or group >= last or start[group] > code or start[group + 1] <= code:
            # Only a damaged file leads here: everything read must be verified.
            note_read(part, GROUP_SAMPLE, 0, 4 * sample.shape[0])
            note_read(part, GROUP_START, 4 * low, 4 * (low + SAMPLE + 2))
            at = total
            break
        beyond = first_above(codes, at + 1, total, np.int64(start[group + 1]) - 1)
        kind = max(first_above(firsts, kind, lengths_count, group) - 1, 0)
        if guarded:
            note_read(part, GROUP_START, 4 * group, 4 * (group + 2))
            note_read(part, LENGTH, 4 * kind, 4 * (kind + 1))
            note_read(part, LENGTH_BEGIN, 8 * kind, 8 * (kind + 1))
        length = np.int64(lengths[kind])
        begin = begins[kind] + (group - np.int64(firsts[kind])) * length
        if length > 0 and 0 <= begin <= size - length:
            groups[n], weights[n] = group, beyond - at
            query_begins[n], query_lengths[n] = begin, length
            rests[n] = total - at
            n += 1
            if short.shape[0] > 0:
                prefetch(short, begin)
            else:
                prefetch(long, begin)
        at = max(beyond, at + 1)
    rests[n] = total - at
    return n, at


@njit
def read_whole_query(part: SegmentPostings, codes: Array, query: QueryGroups) -> int:
    """Find the lists of all codes, and the total length from each one on; return their number."""
    n, _ = read_query(part, codes, codes.shape[0], query, ZERO, ZERO)
    measure_ahead(query, n)
    return n


@njit
def measure_ahead(query: QueryGroups, n: int) -> None:
    """Sum the lengths of the lists, from the last to the first."""
    ahead, length = query.ahead, query.length
    ahead[n] = 0
    for i in range(n - 1, -1, -1):
        ahead[i] = ahead[i + 1] + length[i]


@njit
def first_above(numbers: Array, low: int, end: int, bound: int) -> int:
    """Return the first index in [low, end) whose number is above `bound`, else `end`; they ascend.

    Gallops from `low`, because the bounds of consecutive calls ascend too. Whole blocks are
    compared at once: a mispredicted branch costs more than some needless comparisons.
    """
    if low >= end or numbers[low] > bound:
        return low
    step = _BLOCK
    while low + step < end and numbers[low + step] <= bound:
        low += step
        step += step
    high = min(low + step, end)
    while high - low > _BLOCK:
        middle = (low + high) >> 1
        if numbers[middle] <= bound:
            low = middle
        else:
            high = middle
    if low + _BLOCK <= end:
        below = 0
        for j in range(_BLOCK):
            below += numbers[low + j] <= bound
        return low + below
    while low < high and numbers[low] <= bound:
        low += 1
    return low


@njit(inline="always")
def column_at(short: Array, long: Array, index: int, columns: int) -> int:
    """Return the column in an entry of a posting list."""
    column = np.int64(short[index]) if short.shape[0] > 0 else np.int64(long[index])
    # A damaged byte must not lead outside the arrays; damage is reported once blocks are verified.
    return min(column, columns - 1)


@njit
def note_entry(part: SegmentPostings, index: int, column: int) -> None:
    """Note that an entry of a list, its position and the size of its column are read."""
    note_read(part, POSITIONS, 4 * index, 4 * index + 4)
    if short_lists_of(part).shape[0] > 0:
        note_read(part, SHORT_LISTS, 2 * index, 2 * index + 2)
    else:
        note_read(part, LISTS, 4 * index, 4 * index + 4)
    note_read(part, SET_SIZE, 4 * column, 4 * column + 4)


@njit
def mark_before(part: SegmentPostings, column: int, group: int) -> tuple[int, int]:
    """Find the last mark in a long set before a group: (least group that may follow, its byte)."""
    columns = mark_size_rank_of(part)
    index = np.searchsorted(columns, np.uint32(column))
    if index == columns.shape[0] or columns[index] != column:
        return 0, 0
    note_read(part, MARK_STAND, 4 * index, 4 * index + 4)
    note_read(part, MARK_FIRST, 4 * index, 4 * index + 8)
    begin = np.int64(mark_first_of(part)[index])
    end = min(np.int64(mark_first_of(part)[index + 1]), mark_group_of(part).shape[0])
    last = first_above(mark_group_of(part), begin, end, group) - 1
    if last < begin or mark_group_of(part)[last] > group:
        return 0, 0
    note_read(part, MARK_GROUP, 4 * last, 4 * last + 4)
    note_read(part, MARK_BYTE, 4 * last, 4 * last + 4)
    return np.int64(mark_group_of(part)[last]), np.int64(mark_byte_of(part)[last])


@njit
def count_large_enough(part: SegmentPostings, size: int) -> int:
    """Count the columns with at least `size` values: those are the first ones by rank."""
    low, high = 0, part.columns
    while low < high:
        middle = (low + high) >> 1
        if np.int64(set_size_of(part)[middle]) >= size:
            low = middle + 1
        else:
            high = middle
    note_read(part, SET_SIZE, 4 * max(low - 1, 0), 4 * (low + 1))
    return low


@njit
def note_set(part: SegmentPostings, column: int, begin: int, end: int) -> None:
    """Note what is read of a column: where its set begins, its size, and the set itself."""
    at = part.row[3 * SET_START + 2] + 4 * column
    note_blocks(part.guard, at, at + 8)
    at = part.row[3 * SET_SIZE + 2] + 4 * column
    note_blocks(part.guard, at, at + 4)
    note_read(part, SETS, begin, end)


@njit(inline="always")
def sum_shared(
    sets: Array, at: np.uint64, end: np.uint64, value: np.uint64, first: np.uint64, table: Array
) -> int:
    """Sum the weights of the packed groups from `first` on, using a table of all groups' weights.

    The sum is how many values the set shares with the query.
    """
    total = np.uint64(0)
    size = np.uint64(table.shape[0])
    while at < end and value < first:
        step, at = read_packed(sets, at, end)
        value += step
        if first <= value < size:
            total += np.uint64(table[value])
        value += _ONE
    while at < end:
        step, at = read_packed(sets, at, end)
        value += step
        if value < size:
            total += np.uint64(table[value])
        value += _ONE
    return np.int64(total)


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
    work: BufferView,
    columns: Array,
    column_count: int,
    top_count: int,
    budget: float,
) -> tuple[int, int]:
    """Score columns exactly: their counts so far, plus what they share from group i on.

    Skips those that cannot enter the k best. Ends early once the budget is spent; returns how many
    of the columns were handled, and how many results there are.
    """
    counts, passed, tally, costs = counts_in(work), passed_in(work), tally_in(work), work.costs
    query, top = query_in(work.row), top_in(work, TOP)
    sets, starts = sets_of(part), set_start_of(part)
    groups, rest, table = query.group, query.rest, table_in(work)
    ranks, keys, sizes = top.rank, top.key, set_size_of(part)
    guarded = part.guard.checked.shape[0] > 0
    limit = np.uint64(part.columns)
    for j in range(column_count):
        if budget <= 0:
            return j, top_count
        column = np.uint64(columns[j])
        if column >= limit or passed[column] != 0:
            continue
        count, size = np.int64(counts[column]), np.int64(sizes[column])
        if guarded:
            size_of(part, np.int64(column))  # notes that it was read
        key = column_key(part.segment_index, np.int64(column))
        reach = rank_of(min(count + rest[i], size), size)
        if not would_enter(ranks, keys, top_count, reach, key):
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
            top_count = push_column(ranks, keys, top_count, rank_of(score, size), key)
    return column_count, top_count
