"""ProbeSet: read every candidate when it is first met, until the prefix filter says stop.

Thesis 3.2.2 (prefix filter) and 3.2.3 (position filter), on the distinct lists of 3.4.1. The best
algorithm where sets are tiny and every read is dear.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.mapped import touch
from lakejoin.kernels.topk import enters, place_of, rank_of
from lakejoin.search.overlap.merging import Tally, Top, Work, clear
from lakejoin.search.overlap.probing import fill_table, take_columns
from lakejoin.search.overlap.reading import (
    LISTS,
    POSITIONS,
    SHORT_LISTS,
    Groups,
    Part,
    size_of,
)
from lakejoin.search.overlap.stopping import Costs

Array = np.ndarray[Any, Any]


@njit
def entry_at(part: Part, place: int) -> tuple[int, int]:
    """An entry of a posting list: the column, and its position (values up to and with this one)."""
    touch(part.guard, part.at[POSITIONS] + 4 * place, part.at[POSITIONS] + 4 * place + 4)
    if part.short_lists.shape[0] > 0:
        touch(part.guard, part.at[SHORT_LISTS] + 2 * place, part.at[SHORT_LISTS] + 2 * place + 2)
        column = np.int64(part.short_lists[place])
    else:
        touch(part.guard, part.at[LISTS] + 4 * place, part.at[LISTS] + 4 * place + 4)
        column = np.int64(part.lists[place])
    # A damaged byte must not lead out of the arrays; it is told once the block is verified.
    return min(column, part.columns - 1), np.int64(part.positions[place])


@njit
def probe_sets(
    part: Part,
    n: int,
    query: Groups,
    work: Work,
    top: Top,
    found: int,
    costs: Costs,
    tally: Tally,
) -> int:
    """Searches one segment."""
    k = top.rank.shape[0]
    seen = 0
    fill_table(query, 0, n, work.table, True)
    for i in range(n):
        rest = query.rest[i]
        if found == k and rank_of(rest, rest) < top.rank[0]:
            break
        tally.lists_read[0] += 1
        tally.bytes[0] += 8 * query.length[i]
        for place in range(query.begin[i], query.begin[i] + query.length[i]):
            column, position = entry_at(part, place)
            if work.counts[column] != 0:
                continue
            work.counts[column] = 1
            work.touched[seen] = column
            seen += 1
            # Equation 3.2, with the weight of the group where the thesis has one value.
            size = size_of(part, column)
            reach = query.weight[i] + min(query.rest[i + 1], size - position)
            rank = rank_of(max(0, min(reach, size)), size)
            if work.passed[column] or not enters(
                top.rank, top.place, found, rank, place_of(part.number, column)
            ):
                tally.pruned[0] += 1
                continue
            work.alive[0] = column
            work.counts[column] = 0
            _, found = take_columns(
                part, i, n, query, work, work.alive, 1, True, top, found, np.inf, costs, tally
            )
            work.counts[column] = 1
    clear(work.counts, work.touched, seen)
    fill_table(query, 0, n, work.table, False)
    tally.candidates[0] += seen
    return found
