"""What a table of mine must tell so that its columns can be searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lakejoin.model import ColumnProfile, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.origins import Origin
    from lakejoin.search.query import Query
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

FRAME = "my_table"  # what a frame is called, here and in SQL
NO_CELL = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Originals:
    """The distinct texts of a column as they are written, the canonical value of each, and in how
    many rows each stands. `cells` has the number of each row's text (`NO_CELL` is a null)."""

    texts: pa.LargeStringArray
    tokens: pa.LargeStringArray
    rows: Array
    cells: Array


class MyTable(Protocol):
    """What is needed of a table in order to search for its columns."""

    @property
    def name(self) -> str:
        """What it is called in the answer."""

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns; they may repeat."""

    @property
    def origin(self) -> Origin:
        """Where its rows can be read again."""

    @property
    def home(self) -> tuple[int, int] | None:
        """(segment number, table number) of a table of the lake."""

    def rows(self) -> int:
        """How many rows it has."""

    def notes(self) -> tuple[str, ...]:
        """Sentences about how it was read."""

    def profiles(self) -> Sequence[ColumnProfile]:
        """What all its columns look like."""

    def profile(self, place: int) -> ColumnProfile:
        """What one column looks like."""

    def read(self, places: Sequence[int]) -> None:
        """Encodes some columns at once, so that a file is read once for all of them."""

    def query(self, place: int) -> Query:
        """One column, to be searched for."""

    def cells(self, place: int) -> tuple[pa.LargeStringArray, Array]:
        """A column row by row: its tokens, and the number of each row's (`NO_CELL` is a null)."""

    def is_text(self, place: int) -> bool:
        """Whether a column is text where it comes from, and not a type of its own."""

    def types(self) -> Sequence[pa.DataType]:
        """The types of its columns where it comes from; a table of the lake is kept as texts."""

    def originals(self, place: int) -> Originals:
        """The distinct texts of a column as they are written."""

    def forget(self) -> None:
        """Lets go of encoded columns; they are made anew when they are asked for again."""


def originals_of(segment: Segment, column: int) -> Originals:
    """The distinct texts of a column of the lake as they are written."""
    from lakejoin.store.rows import NULL

    ids = segment.rows.value_ids(column, int(segment.column_rows[column]))
    known = ids != NULL
    distinct, numbers, rows = np.unique(ids[known], return_inverse=True, return_counts=True)
    cells = np.full(len(ids), NO_CELL)
    cells[known] = numbers
    texts = segment.rows.texts(distinct, segment.dictionary.texts)
    tokens = segment.dictionary.texts.take(segment.rows.codes_of(distinct))
    return Originals(texts, tokens, rows, cells)


def unsearched(column: str, kind: ColumnType, all_columns: bool) -> list[str]:
    """A sentence where a column of mine is of a type that an index does not search."""
    if searched(kind, all_columns):
        return []
    return [
        f"{column!r} is of type {kind}, which this index does not search: only "
        "columns of other types can be found (lakejoin index --all-columns adds them)"
    ]


def searched(kind: ColumnType, all_columns: bool) -> bool:
    """Whether columns of this type are searched in an index."""
    from lakejoin.store.encode import SEARCHED

    return kind is not ColumnType.EMPTY and (all_columns or kind in SEARCHED)
