"""The protocol of a query table, whose columns are searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lakejoin.model import ColumnProfile, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.origins import TableOrigin
    from lakejoin.engines.query import Query
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

FRAME_NAME = "my_table"  # the name of a frame in answers and in SQL
NO_CELL = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSpellings:
    """The distinct texts of a column as spelled in the table, with their canonical values and row
    counts. `cells` has the text id of each row (`NO_CELL` for a null)."""

    texts: pa.LargeStringArray
    tokens: pa.LargeStringArray
    rows: Array
    cells: Array


class QueryTable(Protocol):
    """A table whose columns can be searched for."""

    @property
    def name(self) -> str:
        """The name shown in the answer."""

    @property
    def names(self) -> Sequence[str]:
        """The column names; they may repeat."""

    @property
    def origin(self) -> TableOrigin:
        """Where SQL can read the rows."""

    @property
    def home(self) -> tuple[int, int] | None:
        """(segment index, table index) if the table is in the index."""

    def rows(self) -> int:
        """The number of rows."""

    def notes(self) -> tuple[str, ...]:
        """Notes about how the table was read."""

    def profiles(self) -> Sequence[ColumnProfile]:
        """The profiles of all columns."""

    def profile(self, column_index: int) -> ColumnProfile:
        """The profile of one column."""

    def read(self, column_indexes: Sequence[int]) -> None:
        """Encode some columns together, so that a file is read only once."""

    def query(self, column_index: int) -> Query:
        """One column as a query."""

    def cells(self, column_index: int) -> tuple[pa.LargeStringArray, Array]:
        """The tokens of a column, and the token id of each row (`NO_CELL` for a null)."""

    def is_text(self, column_index: int) -> bool:
        """Whether a column is stored as text in its source."""

    def types(self) -> Sequence[pa.DataType]:
        """The column types in the source; a table of the index is all text."""

    def originals(self, column_index: int) -> ColumnSpellings:
        """The distinct texts of a column as spelled in the table."""

    def forget(self) -> None:
        """Drop encoded columns; they are encoded again on demand."""


def read_spellings(segment: Segment, column: int) -> ColumnSpellings:
    """The distinct texts of a lake column as spelled in its table."""
    from lakejoin.store.rows import NULL

    ids = segment.rows.value_ids(column, int(segment.column_rows[column]))
    present = ids != NULL
    distinct, indexes, rows = np.unique(ids[present], return_inverse=True, return_counts=True)
    cells = np.full(len(ids), NO_CELL)
    cells[present] = indexes
    texts = segment.rows.texts(distinct, segment.dictionary.texts)
    tokens = segment.dictionary.texts.take(segment.rows.codes_of(distinct))
    return ColumnSpellings(texts, tokens, rows, cells)


def unsearched_note(column: str, kind: ColumnType, all_columns: bool) -> list[str]:
    """A note if the index does not search columns of this type."""
    if is_searched(kind, all_columns):
        return []
    return [
        f"{column!r} has type {kind}, which this index does not search, so only columns of other "
        "types can match; lakejoin index --all-columns adds the rest"
    ]


def is_searched(kind: ColumnType, all_columns: bool) -> bool:
    """Whether an index searches columns of this type."""
    from lakejoin.store.segment_builder import SEARCHED_TYPES

    return kind is not ColumnType.EMPTY and (all_columns or kind in SEARCHED_TYPES)
