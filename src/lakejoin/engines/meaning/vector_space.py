"""Look up the columns that hold a vector, and the vectors of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


class ColumnLists(Protocol):
    """For every vector the columns that hold it. Lists hold *stands*: positions of columns in the
    posting lists, which differ from their indexes in the segment."""

    @property
    def columns(self) -> int:
        """How many columns there are."""

    def spans(self, ids: Array) -> tuple[Array, Array]:
        """Where the lists of vectors start in the entries, and their lengths."""

    def entries(self, begin: Array, length: Array) -> Array:
        """The array that holds these lists, verified."""

    def numbers(self, stands: Array) -> Array:
        """The indexes of columns in their segment."""

    def sizes(self, stands: Array) -> Array:
        """How many vectors each column holds."""

    def allowed(self, excluded: Array | None) -> Array:
        """By stand, whether a column is searched; `excluded` are column indexes."""

    def ids_of(self, column: int) -> Array:
        """The vectors of a column, by its index in the segment; ascending."""


@dataclass(frozen=True, eq=False)
class PostingLists:
    """The posting lists of a segment's values that have vectors; `codes` ascend by vector id."""

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
        """As `ColumnLists`; only columns with vectors are searched."""
        columns = self.segment.has_meaning.copy()
        if excluded is not None:
            columns[excluded] = False
        return columns[self.numbers(np.arange(self.columns))]

    def ids_of(self, column: int) -> Array:
        """As `ColumnLists`."""
        return np.searchsorted(self.codes, self.segment.postings.codes_of(column))
