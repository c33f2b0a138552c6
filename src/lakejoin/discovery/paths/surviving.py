"""How many rows survive a chain of joins? Counted exactly, by codes, without making the joins.

From the last table back to the first, every row gets the number of joined rows that it leads to:
for a value, the sum over the rows of the next table that hold it. A row of the first table survives
if that number is not 0; their sum is how many rows the whole join has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakejoin.discovery.paths.hops import Hop
    from lakejoin.discovery.paths.tables import Tables

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Survivors:
    """Of the `total` rows of the first table, `rows` find a way to the last; the join has `joined`
    rows."""

    rows: int
    total: int
    joined: int

    @property
    def share(self) -> float:
        """Of the first table's rows."""
        return self.rows / max(1, self.total)


def survivors(tables: Tables, route: Sequence[Hop]) -> Survivors:
    """Counts the rows that survive a chain of joins."""
    leads_to = np.ones(tables.rows(route[-1].other_table))
    for hop in reversed(route):
        leads_to = _before(tables, hop, leads_to)
    return Survivors(int(np.count_nonzero(leads_to)), len(leads_to), round(float(leads_to.sum())))


def _before(tables: Tables, hop: Hop, leads_to: Array) -> Array:
    """To how many rows each row of the table before leads, by what rows of the next one do."""
    mine = tables.cells(hop.table, hop.column)
    theirs = tables.cells(hop.other_table, hop.other)
    codes = theirs.codes
    alive = (codes != NULL) & (leads_to > 0)
    values, places = np.unique(codes[alive], return_inverse=True)
    sums = np.bincount(places, leads_to[alive], len(values))
    if mine.segment != theirs.segment:
        values = mine.find(theirs.texts(values))
        known = np.flatnonzero(values != NOT_FOUND)
        order = known[np.argsort(values[known])]
        values, sums = values[order], sums[order]
    own = mine.codes
    if not len(values):
        return np.zeros(len(own))
    at = np.minimum(np.searchsorted(values, own), len(values) - 1)
    return np.where((values[at] == own) & (own != NULL), sums[at], 0.0)
