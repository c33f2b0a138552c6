"""ProbeSet: read every candidate when it is first seen, until the prefix filter says stop.

Thesis 3.2.2 (prefix filter) and 3.2.3 (position filter), on the distinct lists of 3.4.1. Best where
sets are tiny; the product never takes it. Importing this module adds it to the algorithms of
`OverlapIndex.search` as "probe".
"""

from __future__ import annotations

import numpy as np

from lakejoin.engines.overlap.early_stopping import clear_counts
from lakejoin.engines.overlap.overlap_kernels import RUN, make_search
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
    SegmentPostings,
    alive_in,
    counts_in,
    lists_of,
    passed_in,
    positions_of,
    query_in,
    set_size_of,
    short_lists_of,
    table_in,
    tally_in,
    top_in,
    touched_in,
)
from lakejoin.engines.overlap.read_costs import BYTES_READ, CANDIDATES, LISTS_FOUND, LISTS_READ
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.topk import column_key, rank_of, would_enter
from lakejoin.model import Array


@njit
def probe_sets(part: SegmentPostings, codes: Array, work: BufferView, found: int) -> int:
    """Search one segment."""
    query, top, tally = query_in(work.row), top_in(work, TOP), tally_in(work)
    n = read_whole_query(part, codes, query)
    k = top.rank.shape[0]
    short, long, positions = short_lists_of(part), lists_of(part), positions_of(part)
    sizes, guarded = set_size_of(part), part.guard.checked.shape[0] > 0
    counts, touched, alive = counts_in(work), touched_in(work), alive_in(work)
    passed, ranks, keys = passed_in(work), top.rank, top.key
    seen = ZERO
    fill_table(query, 0, n, table_in(work), True)
    for i in range(n):
        rest = query.rest[i]
        if found == k and rank_of(rest, rest) < ranks[0]:
            break
        weight, rest_after = query.weight[i], query.rest[i + 1]
        begin, length = query.begin[i], query.length[i]
        tally[LISTS_READ] += 1
        tally[BYTES_READ] += 8 * length
        for entry in range(begin, begin + length):
            column = column_at(short, long, entry, part.columns)
            if guarded:
                note_entry(part, entry, column)
            if counts[column] != 0:
                continue
            counts[column] = 1
            touched[seen] = column
            seen += 1
            # Equation 3.2, with the weight of the group in place of a single value.
            size = np.int64(sizes[column])
            reach = weight + min(rest_after, size - np.int64(positions[entry]))
            rank = rank_of(max(0, min(reach, size)), size)
            if passed[column] or not would_enter(
                ranks, keys, found, rank, column_key(part.segment_index, column)
            ):
                continue
            alive[0] = column
            counts[column] = 0
            _, found = take_columns(part, i, work, alive, 1, found, np.inf)
            counts[column] = 1
    clear_counts(counts, touched, seen)
    fill_table(query, 0, n, table_in(work), False)
    tally[LISTS_FOUND] += n
    tally[CANDIDATES] += seen
    return found


_probe = make_search(probe_sets)


@kernel
def run_probe(
    matrix: Array, codes: Array, plan: Array, hidden: Array, work: BufferView, out: Array
) -> int:
    return _probe(matrix, codes, plan, hidden, work, out)


RUN["probe"] = run_probe
