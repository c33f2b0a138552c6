"""Find the pairs of columns of two segments that join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.search.graph.sides import Shared, Side
from lakejoin.store.pairs import Pairs, place_of, together

Array = np.ndarray[Any, Any]

_LARGEST = (1 << 31) - 1  # more values than two columns can share
_ROOM = 1 << 20  # pairs written at a time, besides room for all columns of a segment


def sorted_best_first(pairs: Pairs) -> Array:
    """The order by column; within a column by falling shared values, rising size, then position in
    the index."""
    return np.lexsort(
        (
            place_of(pairs.other_segment, pairs.other_column),
            place_of(_LARGEST - pairs.shared, pairs.other_size),
            place_of(pairs.segment, pairs.column),
        )
    )


def best_of_each(pairs: Pairs, most: int) -> tuple[Pairs, Array]:
    """The `most` best pairs of each column, sorted as by `sorted_best_first`; and the columns that
    have more, packed by `place_of`."""
    order = sorted_best_first(pairs)
    pairs = pairs.take(order)
    new = np.ones(len(pairs), dtype=bool)
    new[1:] = (np.diff(pairs.segment) != 0) | (np.diff(pairs.column) != 0)
    first = np.flatnonzero(new)
    nth = np.arange(len(pairs)) - np.repeat(first, np.diff(np.append(first, len(pairs))))
    more = nth == most
    return pairs.take(nth < most), place_of(pairs.segment[more], pairs.column[more])


@dataclass(frozen=True, slots=True, eq=False)
class Asks:
    """The columns of a segment whose pairs are counted: all, or the given ones."""

    side: Side
    columns: Array | None = None

    def ranks(self) -> Array:
        """Their ranks, ascending."""
        every = np.arange(len(self.side.columns))
        return every if self.columns is None else every[np.isin(self.side.columns, self.columns)]


def pairs_between(
    mine: Asks, theirs: Asks, shared: Shared, numbers: tuple[int, int], share: float, most: int
) -> Pairs:
    """The pairs of two segments, or of one with itself, at most the `most` best of each column;
    `numbers` are the segments' indexes.

    A pair is listed under its smaller column; of equally large ones under the later.
    """
    left, right = numbers
    there = _contained(mine, theirs.side, shared, numbers, share, most)
    if left == right:
        return there
    back = _contained(theirs, mine.side, shared.turned(), (right, left), share, most)
    return together([there, back])


def _contained(
    asks: Asks, theirs: Side, shared: Shared, numbers: tuple[int, int], share: float, most: int
) -> Pairs:
    """The pairs whose smaller column is one of the first segment's."""
    from lakejoin.search.graph.counting import Asked, Asking, Between, count_pairs

    mine, ranks, many = asks.side, asks.ranks(), len(theirs.columns)
    if not many or not len(ranks) or not len(shared):
        return together([])
    left, right = numbers
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
    batches, begin = [], 0
    while begin < len(ranks):
        options = left == right, left > right, share, ranks, begin
        begin, written = count_pairs(asking, asked, between, *options, counts, touched, out)
        q, x, both = out[:, :written].copy()
        pairs = Pairs(
            np.full(written, left),
            mine.columns[q].astype(np.int64),
            mine.sizes[q],
            np.full(written, right),
            theirs.columns[x].astype(np.int64),
            theirs.sizes[x],
            both,
        )
        many_more = written and int(np.bincount(q).max()) > most
        batches.append(best_of_each(pairs, most)[0] if many_more else pairs)
    return together(batches)
