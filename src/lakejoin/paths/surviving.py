"""Count the rows that survive a chain of joins: exactly, by codes, without computing the joins.

From the last table back to the first, every row gets the number of joined rows that it leads to:
for its value, the sum over the rows of the next table that hold it. A row of the first table
survives if that number is not 0, and the sum of the numbers is the size of the whole join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakejoin.paths.path_hops import Hop
    from lakejoin.paths.path_tables import PathTables

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Survivors:
    """Of the `total` rows of the first table, `rows` reach the last; the join has `joined` rows."""

    rows: int
    total: int
    joined: int

    @property
    def share(self) -> float:
        """The share of the first table's rows that survive."""
        return self.rows / max(1, self.total)


def count_survivors(tables: PathTables, route: Sequence[Hop]) -> Survivors:
    """Count the rows that survive a chain of joins."""
    leads_to = np.ones(tables.rows(route[-1].other_table))
    for hop in reversed(route):
        leads_to = _before(tables, hop, leads_to)
    return Survivors(int(np.count_nonzero(leads_to)), len(leads_to), round(float(leads_to.sum())))


def _before(tables: PathTables, hop: Hop, leads_to: Array) -> Array:
    """How many joined rows each row leads to, given the same for the rows of the next table."""
    left = tables.cells(hop.table, hop.column)
    right = tables.cells(hop.other_table, hop.other)
    codes = right.codes
    alive = (codes != NULL) & (leads_to > 0)
    values, positions = np.unique(codes[alive], return_inverse=True)
    sums = np.bincount(positions, leads_to[alive], len(values))
    if left.segment != right.segment:
        values = left.find(right.texts(values))
        known = np.flatnonzero(values != NOT_FOUND)
        order = known[np.argsort(values[known])]
        values, sums = values[order], sums[order]
    codes = left.codes
    if not len(values):
        return np.zeros(len(codes))
    at = np.minimum(np.searchsorted(values, codes), len(values) - 1)
    return np.where((values[at] == codes) & (codes != NULL), sums[at], 0.0)
