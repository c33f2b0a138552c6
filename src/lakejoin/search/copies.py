"""Find tables of the lake that are exact copies of the query table.

A copy has as many rows and columns and the same canonical value in every cell; names do not matter.
Few tables pass the cheap checks (rows, columns, column profiles); only those are compared cell by
cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.mine import NO_CELL, QueryTable
from lakejoin.store.segment_tables import SegmentTables

if TYPE_CHECKING:
    from lakejoin.model import ColumnProfile
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_CHECKED = ("nulls", "distinct", "min_length", "max_length")


class Copies:
    """The copies of one table, found on demand; `place` is a column that is already encoded."""

    def __init__(
        self,
        segments: Sequence[Segment],
        places: Sequence[SegmentTables],
        query_table: QueryTable,
        column_index: int,
    ) -> None:
        self.mine = query_table
        self.place = column_index
        self._segments = segments
        self._places = places
        self._known: dict[tuple[int, int], bool] = {}

    @property
    def home(self) -> tuple[int, int] | None:
        """(segment index, table index) of the query table, if it is in the lake."""
        return self.mine.home

    def kind(self, segment: int, table: int) -> str:
        """`"itself"`, `"copy"`, or empty for any other table."""
        if (segment, table) == self.home:
            return "itself"
        return "copy" if self._is_copy(segment, table) else ""

    def all(self) -> list[Array]:
        """By segment, the live tables that are the query table or a copy of it."""
        copies = []
        for segment_index, segment in enumerate(self._segments):
            dead = set(segment.record.dead)
            tables = [
                table
                for table in self._likely(segment_index).tolist()
                if table not in dead and self.kind(segment_index, table)
            ]
            copies.append(np.array(tables, dtype=np.int64))
        return copies

    def _likely(self, segment_index: int) -> Array:
        """The tables of a segment whose shape and profiles are those of the query table."""
        places = self._places[segment_index]
        fits = (places.width == len(self.mine.names)) & (places.rows == self.mine.rows())
        return self._alike(segment_index, np.flatnonzero(fits))

    def _alike(self, segment_index: int, tables: Array) -> Array:
        """The tables whose column profiles equal the query table's. Checks column by column, so
        that most columns of a file need not be encoded."""
        width = len(self.mine.names)
        for column_index in [self.place, *(i for i in range(width) if i != self.place)]:
            if not len(tables):
                break
            columns = self._places[segment_index].first[tables] + column_index
            tables = tables[self._fits(segment_index, columns, self.mine.profile(column_index))]
        return tables

    def _fits(self, segment_index: int, columns: Array, profile: ColumnProfile) -> Array:
        fits = np.ones(len(columns), dtype=bool)
        for name in _CHECKED:
            known = self._places[segment_index].profile(name)
            fits &= known[columns] == getattr(profile, name)
        return fits

    def _is_copy(self, segment: int, table: int) -> bool:
        key = (segment, table)
        if key not in self._known:
            places, width = self._places[segment], len(self.mine.names)
            self._known[key] = (
                int(places.width[table]) == width
                and int(places.rows[table]) == self.mine.rows()
                and len(self._alike(segment, np.array([table]))) == 1
                and all(self._same(segment, table, column_index) for column_index in range(width))
            )
        return self._known[key]

    def _same(self, segment_index: int, table: int, column_index: int) -> bool:
        """Whether a column equals that of a lake table, cell by cell."""
        segment, rows = self._segments[segment_index], self.mine.rows()
        theirs = segment.rows.codes(
            int(self._places[segment_index].first[table]) + column_index, rows
        )
        home = self.home
        if home is not None and home[0] == segment_index:
            own = int(self._places[segment_index].first[home[1]]) + column_index
            return np.array_equal(segment.rows.codes(own, rows), theirs)
        from lakejoin.store.dictionary import NOT_FOUND

        tokens, cells = self.mine.cells(column_index)
        codes = segment.dictionary.find(tokens)
        if (codes == NOT_FOUND).any():
            return False  # else an unknown value would look like a null
        null = cells == NO_CELL
        mine = np.append(codes, NO_CELL)[np.where(null, len(codes), cells)]
        return np.array_equal(mine, theirs)
