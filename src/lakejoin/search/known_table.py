"""A table of the lake, of which columns are searched for in the same lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import ColumnProfile
from lakejoin.search.mine import NO_CELL, Originals, originals_of
from lakejoin.search.origins import Origin, origin_of, written_as_text
from lakejoin.search.query import Query, query_of_lake_column

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]


class KnownTable:
    """A table of the lake, searched for in its own lake."""

    def __init__(self, snapshot: Snapshot, number: int, entry: TableEntry) -> None:
        self._snapshot = snapshot
        self._segment = snapshot.segments[number]
        self._number = number
        self._entry = entry
        self._columns = self._segment.catalog.columns_of(entry)
        # Both are asked for again and again by a search that looks at rows.
        self._queries: dict[int, Query] = {}
        self._cells: dict[int, tuple[pa.LargeStringArray, Array]] = {}

    @property
    def name(self) -> str:
        """Its name in the lake."""
        return self._entry.name

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns."""
        return [column.name for column in self._columns]

    @property
    def origin(self) -> Origin:
        """The file of the lake that it came from."""
        return origin_of(self._snapshot.manifest.lakes, self._entry)

    @property
    def home(self) -> tuple[int, int] | None:
        """Where it is in the index."""
        return self._number, self._entry.number

    def rows(self) -> int:
        """How many rows it has."""
        return self._entry.rows

    def notes(self) -> tuple[str, ...]:
        """Nothing: what was left out is told of the table itself."""
        return ()

    def profiles(self) -> Sequence[ColumnProfile]:
        """What all its columns look like."""
        return [column.profile for column in self._columns]

    def profile(self, place: int) -> ColumnProfile:
        """What one column looks like."""
        return self._columns[place].profile

    def read(self, places: Sequence[int]) -> None:
        """Nothing is to be done: the index has them encoded."""

    def query(self, place: int) -> Query:
        """One column, to be searched for."""
        if place not in self._queries:
            number = self._columns[place].number
            query = query_of_lake_column(self._snapshot, self._number, number, self.name)
            self._queries[place] = query
        return self._queries[place]

    def cells(self, place: int) -> tuple[pa.LargeStringArray, Array]:
        """A column row by row."""
        if place not in self._cells:
            self._cells[place] = self._cells_of(place)
        return self._cells[place]

    def _cells_of(self, place: int) -> tuple[pa.LargeStringArray, Array]:
        from lakejoin.store.rows import NULL

        codes = self._segment.rows.codes(self._columns[place].number, self._entry.rows)
        distinct, cells = np.unique(codes, return_inverse=True)
        if len(distinct) and distinct[-1] == NULL:
            cells = np.where(cells == len(distinct) - 1, NO_CELL, cells)
            distinct = distinct[:-1]
        return self._segment.dictionary.texts.take(distinct), cells.astype(np.uint32)

    def is_text(self, place: int) -> bool:
        """Whether a column is text in its file."""
        return written_as_text(self.origin, self._columns[place].profile.type)

    def types(self) -> Sequence[pa.DataType]:
        """Texts: the index keeps no others."""
        import pyarrow as pa

        return [pa.large_string()] * len(self._columns)

    def originals(self, place: int) -> Originals:
        """The distinct texts of a column as they are written."""
        return originals_of(self._segment, self._columns[place].number)

    def forget(self) -> None:
        """Lets go of columns; they are made anew when they are asked for again."""
        self._queries.clear()
        self._cells.clear()


class KnownElsewhere(KnownTable):
    """A table of the lake, searched for in segments among which its own is not."""

    @property
    def home(self) -> tuple[int, int] | None:
        """It is in none of them."""
        return None

    def query(self, place: int) -> Query:
        """One column, to be searched for."""
        return replace(super().query(place), home=None)
