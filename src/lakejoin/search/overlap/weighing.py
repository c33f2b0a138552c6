"""How many combinations of a key could each column serve? From posting lists: compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.compiled import kernel
from lakejoin.search.overlap.merging import touch_lists
from lakejoin.search.overlap.part import (
    BY_SIZE,
    by_size_of,
    lists_of,
    note,
    open_part,
    short_lists_of,
)
from lakejoin.search.overlap.reading import read_whole_query
from lakejoin.search.overlap.work import query_in

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
    """Adds to each column of a segment the weights of the codes that it holds, and how many these
    are (two rows); codes ascend. `touched` lists the columns that hold any.

    Returns how many these are, and how many entries of posting lists there are; without room for
    columns, the entries are only counted.
    """
    part = open_part(matrix, s, pending)
    query = query_in(row)
    n = read_whole_query(part, codes, query)
    if out.shape[1] == 0 or n == 0:
        return 0, query.ahead[0] if n > 0 else 0
    touch_lists(part, query, 0, n)
    note(part, BY_SIZE, 0, 4 * part.columns)
    columns = by_size_of(part)
    short = short_lists_of(part)
    long = lists_of(part)
    number = 0
    for i in range(n):
        weight = np.int64(0)
        begin = codes.shape[0] - query.rest[i]
        for j in range(begin, begin + query.weight[i]):
            weight += weights[j]
        for place in range(query.begin[i], query.begin[i] + query.length[i]):
            stand = np.int64(short[place]) if short.shape[0] > 0 else np.int64(long[place])
            # A damaged byte must not lead out of the arrays; it is told once the block is verified.
            if stand < part.columns:
                column = np.int64(columns[stand])
                if column < out.shape[1]:
                    if out[1, column] == 0:
                        touched[number] = column
                        number += 1
                    out[0, column] += weight
                    out[1, column] += query.weight[i]
    return number, query.ahead[0]
