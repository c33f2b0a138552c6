"""Which columns hold a vector, from arrays in memory; an index has posting lists instead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lakejoin.model import Array


@dataclass(frozen=True, eq=False)
class MatrixLists:
    """Lists in memory: vector i is in columns[start[i]:start[i + 1]].

    >>> lists = MatrixLists(np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.uint32), 2)
    >>> lists.ids_of(1).tolist(), lists.sizes(np.array([0, 1])).tolist()
    ([0, 1], [1, 2])
    """

    start: Array
    list_columns: Array
    columns: int

    @cached_property
    def _sizes(self) -> Array:
        return np.bincount(self.list_columns, minlength=self.columns)

    def spans(self, ids: Array) -> tuple[Array, Array]:
        """As `PostingLists`."""
        begin = self.start[ids]
        return begin, self.start[np.asarray(ids, dtype=np.int64) + 1] - begin

    def entries(self, begin: Array, length: Array) -> Array:
        """As `PostingLists`."""
        return self.list_columns

    def numbers(self, stands: Array) -> Array:
        """Its stand is the number of a column."""
        return stands

    def sizes(self, stands: Array) -> Array:
        """As `PostingLists`."""
        return self._sizes[stands]

    def allowed(self, excluded: Array | None) -> Array:
        """As `PostingLists`."""
        allowed = np.ones(self.columns, dtype=np.bool_)
        if excluded is not None:
            allowed[excluded] = False
        return allowed

    def ids_of(self, column: int) -> Array:
        """As `PostingLists`."""
        positions = np.flatnonzero(self.list_columns == column)
        return np.searchsorted(self.start, positions, side="right") - 1
