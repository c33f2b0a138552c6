"""Sum by column the weights of a query's values, from posting lists (bounds for composite keys)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import kernel
from lakejoin.engines.overlap.merge_list import note_lists
from lakejoin.engines.overlap.postings_view import (
    BY_SIZE,
    by_size_of,
    lists_of,
    note_read,
    open_postings,
    short_lists_of,
)
from lakejoin.engines.overlap.posting_reader import read_whole_query
from lakejoin.engines.overlap.search_buffers import query_in

Array = np.ndarray[Any, Any]


@kernel
def weigh_columns(
    matrix: Array,
    s: int,
    codes: Array,
    weights: Array,
    row: Array,
    pending: Array,
    out: Array,
    touched: Array,
) -> tuple[int, int]:
    """Add to each column of a segment the weights of the codes it contains, and how many these are.

    `out` has a row for each of the two; codes ascend. `touched` lists the columns that contain any.
    Returns how many columns these are and how many entries the posting lists have; without room for
    columns in `out`, the entries are only counted.
    """
    part = open_postings(matrix, s, pending)
    query = query_in(row)
    n = read_whole_query(part, codes, query)
    if out.shape[1] == 0 or n == 0:
        return 0, query.ahead[0] if n > 0 else 0
    note_lists(part, query, 0, n)
    note_read(part, BY_SIZE, 0, 4 * part.columns)
    columns = by_size_of(part)
    short = short_lists_of(part)
    long = lists_of(part)
    touched_count = 0
    for i in range(n):
        weight = np.int64(0)
        begin = codes.shape[0] - query.rest[i]
        for j in range(begin, begin + query.weight[i]):
            weight += weights[j]
        for entry in range(query.begin[i], query.begin[i] + query.length[i]):
            rank = np.int64(short[entry]) if short.shape[0] > 0 else np.int64(long[entry])
            # A damaged byte must not lead outside the arrays; damage is reported on verification.
            if rank < part.columns:
                column = np.int64(columns[rank])
                if column < out.shape[1]:
                    if out[1, column] == 0:
                        touched[touched_count] = column
                        touched_count += 1
                    out[0, column] += weight
                    out[1, column] += query.weight[i]
    return touched_count, query.ahead[0]
