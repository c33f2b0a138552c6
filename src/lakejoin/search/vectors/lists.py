"""Which columns hold a vector, and which vectors does a column hold?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


class ColumnLists(Protocol):
    """For every vector the list of columns that hold it; a column is numbered by its *stand*."""

    @property
    def columns(self) -> int:
        """How many columns there are."""

    def spans(self, ids: Array) -> tuple[Array, Array]:
        """Where the lists of vectors begin among all entries, and how long they are."""

    def entries(self, begin: Array, length: Array) -> Array:
        """The array that holds these lists of stands, verified."""

    def numbers(self, stands: Array) -> Array:
        """The numbers of columns in their segment."""

    def sizes(self, stands: Array) -> Array:
        """How many vectors columns hold."""

    def allowed(self, excluded: Array | None) -> Array:
        """By stand, whether a column can be found; `excluded` are numbers of some that cannot."""

    def ids_of(self, column: int) -> Array:
        """The vectors of the column with a number, ascending."""


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
        """As `ColumnLists`."""
        begin = self.start[ids]
        return begin, self.start[np.asarray(ids, dtype=np.int64) + 1] - begin

    def entries(self, begin: Array, length: Array) -> Array:
        """As `ColumnLists`."""
        return self.list_columns

    def numbers(self, stands: Array) -> Array:
        """Its stand is the number of a column."""
        return stands

    def sizes(self, stands: Array) -> Array:
        """As `ColumnLists`."""
        return self._sizes[stands]

    def allowed(self, excluded: Array | None) -> Array:
        """As `ColumnLists`."""
        found = np.ones(self.columns, dtype=np.bool_)
        if excluded is not None:
            found[excluded] = False
        return found

    def ids_of(self, column: int) -> Array:
        """As `ColumnLists`."""
        places = np.flatnonzero(self.list_columns == column)
        return np.searchsorted(self.start, places, side="right") - 1


@dataclass(frozen=True, eq=False)
class PostingLists:
    """The posting lists of a segment's values that mean something; `codes` ascend by id."""

    segment: Segment
    codes: Array
    columns: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self.segment.column_count)

    def spans(self, ids: Array) -> tuple[Array, Array]:
        """As `ColumnLists`."""
        return self.segment.postings.spans(self.codes[ids])

    def entries(self, begin: Array, length: Array) -> Array:
        """As `ColumnLists`."""
        return self.segment.postings.entries(begin, length)

    def numbers(self, stands: Array) -> Array:
        """As `ColumnLists`."""
        return self.segment.postings.columns_at(stands)

    def sizes(self, stands: Array) -> Array:
        """As `ColumnLists`."""
        return self.segment.postings.set_sizes(self.numbers(stands))

    def allowed(self, excluded: Array | None) -> Array:
        """As `ColumnLists`; columns of other types never are."""
        columns = self.segment.has_meaning.copy()
        if excluded is not None:
            columns[excluded] = False
        return columns[self.numbers(np.arange(self.columns))]

    def ids_of(self, column: int) -> Array:
        """As `ColumnLists`."""
        return np.searchsorted(self.codes, self.segment.postings.codes_of(column))
