"""Align the columns of two tables: the best one-to-one choice of pairs.

Each pair of columns has a likeness between 0 and 1. A *c-alignment* (Nargesian et al. 2018) is a
choice of c pairs in which no column occurs twice; the best one has the largest product. More pairs
cover more of both tables, but add pairs of smaller likeness; so the best alignment of every c is
computed, and the one that balances the two best is chosen.

The best c-alignments for c = 1, 2, … are found by shortest augmenting paths: each step adds one
pair, and changes earlier ones where that is better. It is exact, in at most m n c steps of array
code per further pair, and usually far fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ColumnPairs = tuple[
    tuple[int, int], ...
]  # (column of the query table, column of the lake table), by the first

_NOTHING = 1e-12  # rounding error of sums


def best_alignments(likeness: Array) -> Iterator[ColumnPairs]:
    """Yield the best 1-alignment, 2-alignment, and so on, of pairs with a likeness above 0.

    >>> likeness = np.array([[0.9, 0.8], [0.8, 0.0]])
    >>> list(best_alignments(likeness))
    [((0, 0),), ((0, 1), (1, 0))]
    """
    with np.errstate(divide="ignore"):
        cost = np.where(likeness > 0, -np.log(likeness), np.inf)
    partner = np.full(len(cost), -1)  # of each row
    while (path := _shortest_path(cost, partner)) is not None:
        for row, column in path:
            partner[row] = column
        yield tuple((row, int(partner[row])) for row in np.flatnonzero(partner >= 0).tolist())


def _shortest_path(cost: Array, partner: Array) -> list[tuple[int, int]] | None:
    """The cheapest augmenting path: (row, new partner) along it; None if no pair can be added."""
    if not cost.size:
        return None
    taken = np.flatnonzero(partner >= 0)
    free_column = np.ones(cost.shape[1], dtype=bool)
    free_column[partner[taken]] = False
    # The cost of reaching each row: 0 if it has no partner, else the cost of its partner for
    # another row, less that of the pair that is given up.
    at_row = np.where(partner < 0, 0.0, np.inf)
    at_column = np.full(cost.shape[1], np.inf)
    before = np.full(cost.shape[1], -1)
    every = np.arange(cost.shape[1])
    while True:
        to_column = at_row[:, None] + cost
        nearest = to_column.argmin(axis=0)
        reached = to_column[nearest, every]
        # Only improvements count, so that a path never contains a cycle.
        better = reached < at_column - _NOTHING
        if not better.any():
            break
        at_column[better], before[better] = reached[better], nearest[better]
        at_row[taken] = at_column[partner[taken]] - cost[taken, partner[taken]]
    ends = np.flatnonzero(free_column & np.isfinite(at_column))
    if not len(ends):
        return None
    column = int(ends[at_column[ends].argmin()])
    path = []
    while True:
        row = int(before[column])
        path.append((row, column))
        if partner[row] < 0:
            return path
        column = int(partner[row])


def choose_alignment(likeness: Array, worth: Callable[[ColumnPairs], float]) -> tuple[ColumnPairs, float]:
    """The alignment with the highest `worth` among the best c-alignments, and its worth; empty if
    no columns are alike.

    >>> likeness = np.array([[0.9, 0.1], [0.1, 0.05]])
    >>> choose_alignment(likeness, lambda pairs: float(min(likeness[p] for p in pairs)))
    (((0, 0),), 0.9)
    """
    best: ColumnPairs = ()
    most = 0.0
    for pairs in best_alignments(likeness):
        value = worth(pairs)
        if value > most:
            best, most = pairs, value
    return best, most
