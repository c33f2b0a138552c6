"""Which tables of the lake are my table again, cell for cell?

The same number of rows and columns, and the same canonical value in every cell; names do not count.
Few tables pass the cheap checks (rows, columns, and the profile of each column), and only those are
compared cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.mine import NO_CELL, MyTable
from lakejoin.search.places import Places

if TYPE_CHECKING:
    from lakejoin.model import ColumnProfile
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_CHECKED = ("nulls", "distinct", "min_length", "max_length")


class Copies:
    """The copies of one table, found when they are asked for; `place` is a column of it that is
    encoded already."""

    def __init__(
        self, segments: Sequence[Segment], places: Sequence[Places], mine: MyTable, place: int
    ) -> None:
        self.mine = mine
        self.place = place
        self._segments = segments
        self._places = places
        self._known: dict[tuple[int, int], bool] = {}

    @property
    def home(self) -> tuple[int, int] | None:
        """The table itself, where it is one of the lake: (segment number, table number)."""
        return self.mine.home

    def kind(self, segment: int, table: int) -> str:
        """`"itself"`, `"copy"` or nothing."""
        if (segment, table) == self.home:
            return "itself"
        return "copy" if self._is_copy(segment, table) else ""

    def all(self) -> list[Array]:
        """By segment, the live tables that are the table itself or a copy of it."""
        found = []
        for number, segment in enumerate(self._segments):
            dead = set(segment.record.dead)
            tables = [
                table
                for table in self._likely(number).tolist()
                if table not in dead and self.kind(number, table)
            ]
            found.append(np.array(tables, dtype=np.int64))
        return found

    def _likely(self, number: int) -> Array:
        """The tables of a segment that have as many rows and columns as mine."""
        places = self._places[number]
        fits = (places.width == len(self.mine.names)) & (places.rows == self.mine.rows())
        return self._alike(number, np.flatnonzero(fits))

    def _alike(self, number: int, tables: Array) -> Array:
        """Those whose columns have the profiles of mine. One column after the other, so that a
        file's other columns are encoded only where the first leave a doubt."""
        width = len(self.mine.names)
        for place in [self.place, *(i for i in range(width) if i != self.place)]:
            if not len(tables):
                break
            columns = self._places[number].first[tables] + place
            tables = tables[self._fits(number, columns, self.mine.profile(place))]
        return tables

    def _fits(self, number: int, columns: Array, profile: ColumnProfile) -> Array:
        fits = np.ones(len(columns), dtype=bool)
        for name in _CHECKED:
            known = self._places[number].profile(name)
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
                and all(self._same(segment, table, place) for place in range(width))
            )
        return self._known[key]

    def _same(self, number: int, table: int, place: int) -> bool:
        """Whether a column of mine is that of a table, cell by cell."""
        segment, rows = self._segments[number], self.mine.rows()
        theirs = segment.rows.codes(int(self._places[number].first[table]) + place, rows)
        home = self.home
        if home is not None and home[0] == number:
            own = int(self._places[number].first[home[1]]) + place
            return np.array_equal(segment.rows.codes(own, rows), theirs)
        from lakejoin.store.dictionary import NOT_FOUND

        tokens, cells = self.mine.cells(place)
        codes = segment.dictionary.find(tokens)
        if (codes == NOT_FOUND).any():
            return False  # before a missing value could be taken for a null, which looks alike
        null = cells == NO_CELL
        mine = np.append(codes, NO_CELL)[np.where(null, len(codes), cells)]
        return np.array_equal(mine, theirs)
