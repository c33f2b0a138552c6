"""Which tables of the lake are my table again, cell for cell?

The same number of rows and columns, and the same canonical value in every cell; names do not count.
Few tables pass the cheap checks (rows, columns, and the profile of each column), and only those are
compared cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
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
    """Finds the copies of tables in the segments of a snapshot."""

    def __init__(self, segments: Sequence[Segment], places: Sequence[Places]) -> None:
        self._segments = segments
        self._places = places

    def of(self, mine: MyTable, place: int) -> CopiesOf:
        """The copies of one table; `place` is a column of it that is encoded already."""
        return CopiesOf(self._segments, self._places, mine, place)


class CopiesOf:
    """The copies of one table, found when they are asked for."""

    def __init__(
        self, segments: Sequence[Segment], places: Sequence[Places], mine: MyTable, place: int
    ) -> None:
        self._segments = segments
        self._places = places
        self._mine = mine
        self._place = place
        self._known: dict[tuple[int, int], bool] = {}

    @property
    def home(self) -> tuple[int, int] | None:
        """The table itself, where it is one of the lake: (segment number, table number)."""
        return self._mine.home

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
                for table in self._likely[number].tolist()
                if table not in dead and self.kind(number, table)
            ]
            found.append(np.array(tables, dtype=np.int64))
        return found

    @cached_property
    def _likely(self) -> list[Array]:
        """By segment, the tables that pass the cheap checks; one column after the other, so that
        a file's other columns are encoded only where the first leave a doubt."""
        width, rows = len(self._mine.names), self._mine.rows()
        found = [
            np.flatnonzero((places.width == width) & (places.rows == rows))
            for places in self._places
        ]
        others = [i for i in range(width) if i != self._place]
        for place in [self._place, *others]:
            if not any(map(len, found)):
                break
            profile = self._mine.profile(place)
            found = [
                tables[self._fits(number, self._places[number].first[tables] + place, profile)]
                for number, tables in enumerate(found)
            ]
        return found

    def _fits(self, number: int, columns: Array, profile: ColumnProfile) -> Array:
        fits = np.ones(len(columns), dtype=bool)
        for name in _CHECKED:
            known = self._places[number].profile(name)
            fits &= known[columns] == getattr(profile, name)
        return fits

    def _is_copy(self, segment: int, table: int) -> bool:
        if table not in self._likely[segment]:
            return False
        key = (segment, table)
        if key not in self._known:
            first = int(self._places[segment].first[table])
            rows, width = self._mine.rows(), len(self._mine.names)
            self._known[key] = all(
                self._same(segment, first + place, place, rows) for place in range(width)
            )
        return self._known[key]

    def _same(self, number: int, column: int, place: int, rows: int) -> bool:
        segment = self._segments[number]
        theirs = segment.rows.codes(column, rows)
        home = self.home
        if home is not None and home[0] == number:
            own = int(self._places[number].first[home[1]]) + place
            return np.array_equal(segment.rows.codes(own, rows), theirs)
        from lakejoin.store.dictionary import NOT_FOUND

        tokens, cells = self._mine.cells(place)
        codes = segment.dictionary.find(tokens)
        if (codes == NOT_FOUND).any():
            return False  # before a missing value could be taken for a null, which looks alike
        null = cells == NO_CELL
        mine = np.append(codes, NO_CELL)[np.where(null, len(codes), cells)]
        return np.array_equal(mine, theirs)
