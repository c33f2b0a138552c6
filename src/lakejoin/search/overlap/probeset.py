"""ProbeSet: read every candidate when it is first met, until the prefix filter says stop.

Thesis 3.2.2 (prefix filter) and 3.2.3 (position filter), on the distinct lists of 3.4.1. The best
algorithm where sets are tiny and every read is dear.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.topk import enters, place_of, rank_of
from lakejoin.search.overlap.merging import (
    Top,
    Work,
    alive_in,
    clear,
    counts_in,
    passed_in,
    table_in,
    touched_in,
)
from lakejoin.search.overlap.probing import fill_table, take_columns
from lakejoin.search.overlap.reading import (
    LISTS,
    POSITIONS,
    SHORT_LISTS,
    Groups,
    Part,
    lists_of,
    note,
    positions_of,
    short_lists_of,
    size_of,
)
from lakejoin.search.overlap.stopping import Costs
from lakejoin.search.overlap.tally import BYTES, READ, SEEN

Array = np.ndarray[Any, Any]


@njit
def entry_at(part: Part, place: int) -> tuple[int, int]:
    """An entry of a posting list: the column, and its position (values up to and with this one)."""
    note(part, POSITIONS, 4 * place, 4 * place + 4)
    if short_lists_of(part).shape[0] > 0:
        note(part, SHORT_LISTS, 2 * place, 2 * place + 2)
        column = np.int64(short_lists_of(part)[place])
    else:
        note(part, LISTS, 4 * place, 4 * place + 4)
        column = np.int64(lists_of(part)[place])
    # A damaged byte must not lead out of the arrays; it is told once the block is verified.
    return min(column, part.columns - 1), np.int64(positions_of(part)[place])


@njit
def probe_sets(
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
    seen = 0
    fill_table(query, 0, n, table_in(work), True)
    for i in range(n):
        rest = query.rest[i]
        if found == k and rank_of(rest, rest) < top.rank[0]:
            break
        tally[READ] += 1
        tally[BYTES] += 8 * query.length[i]
        for place in range(query.begin[i], query.begin[i] + query.length[i]):
            column, position = entry_at(part, place)
            if counts_in(work)[column] != 0:
                continue
            counts_in(work)[column] = 1
            touched_in(work)[seen] = column
            seen += 1
            # Equation 3.2, with the weight of the group where the thesis has one value.
            size = size_of(part, column)
            reach = query.weight[i] + min(query.rest[i + 1], size - position)
            rank = rank_of(max(0, min(reach, size)), size)
            if passed_in(work)[column] or not enters(
                top.rank, top.place, found, rank, place_of(part.number, column)
            ):
                continue
            alive_in(work)[0] = column
            counts_in(work)[column] = 0
            _, found = take_columns(
                part, i, query, work, alive_in(work), 1, top, found, np.inf, costs, tally
            )
            counts_in(work)[column] = 1
    clear(counts_in(work), touched_in(work), seen)
    fill_table(query, 0, n, table_in(work), False)
    tally[SEEN] += seen
    return found
