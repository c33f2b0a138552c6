"""The pairs of columns of two segments that join."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.search.graph.sides import Shared, Side
from lakejoin.store.graph import Pairs, place_of, together

Array = np.ndarray[Any, Any]

_ROOM = 1 << 20  # pairs that are written at a time, and room for all columns of a segment


def best_of_each(pairs: Pairs, most: int) -> tuple[Pairs, Array]:
    """The `most` pairs of each column, with those that hold most of it, then the smaller, then in
    the order of the index; and the columns that have more (see `StoredGraph.cut`). Sorted."""
    order = np.lexsort(
        (
            pairs.other_column,
            pairs.other_segment,
            pairs.other_size,
            -pairs.shared,
            pairs.column,
            pairs.segment,
        )
    )
    pairs = pairs.take(order)
    new = np.ones(len(pairs), dtype=bool)
    new[1:] = (np.diff(pairs.segment) != 0) | (np.diff(pairs.column) != 0)
    first = np.flatnonzero(new)
    nth = np.arange(len(pairs)) - np.repeat(first, np.diff(np.append(first, len(pairs))))
    more = nth == most
    return pairs.take(nth < most), place_of(pairs.segment[more], pairs.column[more])


def pairs_between(
    mine: Side, theirs: Side, shared: Shared, numbers: tuple[int, int], share: float, most: int
) -> Pairs:
    """The pairs of two segments, or of one with itself; `numbers` are those of the segments. Of
    each column those with the `most` best.

    A pair stands under its smaller column; of equally large ones under the later.
    """
    one, other = numbers
    if one == other:
        return _asked(mine, theirs, shared, numbers, share, most)
    there = _asked(mine, theirs, shared, numbers, share, most)
    back = _asked(theirs, mine, shared.turned(), (other, one), share, most)
    return together([there, back])


def _asked(
    mine: Side, theirs: Side, shared: Shared, numbers: tuple[int, int], share: float, most: int
) -> Pairs:
    """The pairs whose smaller column is one of mine."""
    from lakejoin.search.graph.counting import Asked, Asking, Between, count_pairs

    many = len(theirs.columns)
    if not many or not len(mine.columns) or not len(shared):
        return together([])
    one, other = numbers
    asking = Asking(mine.sizes, mine.tables, mine.set_start, mine.groups, mine.weights)
    asked = Asked(
        theirs.sizes,
        theirs.tables,
        theirs.set_start,
        theirs.groups,
        theirs.list_start,
        theirs.lists,
    )
    between = Between(*shared.by_group(len(mine.weights)))
    counts, touched = np.zeros(many, dtype=np.int64), np.empty(many, dtype=np.int64)
    out = np.empty((3, _ROOM + many), dtype=np.int64)
    found, begin = [], 0
    while begin < len(mine.columns):
        how = one == other, one > other, share, begin
        begin, written = count_pairs(asking, asked, between, *how, counts, touched, out)
        q, x, both = out[:, :written].copy()
        pairs = Pairs(
            np.full(written, one),
            mine.columns[q].astype(np.int64),
            mine.sizes[q],
            np.full(written, other),
            theirs.columns[x].astype(np.int64),
            theirs.sizes[x],
            both,
        )
        found.append(best_of_each(pairs, most)[0])
    return together(found)
