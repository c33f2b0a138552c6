"""Which columns would a table add to mine, and how full would they be?

A row of mine gets a value where it meets rows of theirs of which one has a value in that column.
A column of theirs without nulls is as full as rows of mine meet; of the others, the rows that meet
are looked at: those of all values of mine that meet, or of some where they have many rows. Ways
whose values are not equal do not say which rows meet: there, nulls are taken to be spread evenly.

Columns that say nothing new go last: constant ones, and those that my table has already, as the
rows that meet show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.fused.holding import first_of, rows_with
from lakejoin.model import null_id
from lakejoin.search.mate.query import KeyQuery
from lakejoin.search.mine import NO_CELL
from lakejoin.search.query import Query
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.discovery.fused.ways import Way
    from lakejoin.search.result import Found
    from lakejoin.store.catalog import ColumnEntry

Array = np.ndarray[Any, Any]

_CELLS = 1_000_000  # of theirs that are looked at for one table, or those of one value of mine
_VALUES = 2_000  # of mine
_ROWS = 64  # of both that are compared
_COLUMNS = 40  # of mine that theirs are compared with
_SAME = 0.9  # of the rows have the same value in a column that both have
_FEWEST = 3  # rows


@dataclass(frozen=True, slots=True)
class Added:
    """A column that a table would add, and the share of my rows that would get a value.

    `full` is None where it was not measured.
    """

    name: str
    full: float | None = None


def adds_of(way: Way) -> tuple[Added, ...]:
    """The columns beside those that join, not measured."""
    return tuple(Added(one.name) for one in _others(_found(way)))


def adds_measured(way: Way) -> tuple[Added, ...]:
    """The columns beside those that join, measured; those that say nothing new last."""
    found, covered = _found(way), way.result.row_coverage
    others = _others(found)
    if covered is None:
        return adds_of(way)
    if way.kind == "equal" and isinstance(found.query, Query | KeyQuery):
        rows = _MetRows(found, sum(_has_some(one) for one in others))
        filled = [covered * rows.filled(one) for one in others]
        known = rows.known(others)
    else:
        filled = [covered * (1 - _null_share(one)) for one in others]
        known = [False] * len(others)
    added = list(map(Added, (one.name for one in others), filled))
    stale = [old or one.profile.distinct <= 1 for one, old in zip(others, known, strict=True)]
    order = sorted(range(len(added)), key=lambda place: stale[place])
    return tuple(added[place] for place in order)


class _MetRows:
    """Rows of theirs that some of my values meet, and the first row of mine of each."""

    def __init__(self, found: Found, partly_filled: int) -> None:
        self._found = found
        self._total = found.entry.rows
        meeting = found.meeting()
        chosen = _some(meeting.theirs, _CELLS // max(1, partly_filled))
        self._weights = found.query.counts[meeting.places[chosen]]
        cells = [found.mine.cells(place) for place in found.places]
        numbers = _numbers(found, meeting.places[chosen])
        find, codes = found.segment.dictionary.find, found.segment.rows.codes
        self._mine = first_of(rows_with([own for _, own in cells], numbers), len(chosen))
        self._rows, self._value = rows_with(
            [codes(column, self._total) for column in found.columns],
            [find(tokens.take(own)) for (tokens, _), own in zip(cells, numbers, strict=True)],
        )
        self._theirs = first_of((self._rows, self._value), len(chosen))

    def filled(self, column: ColumnEntry) -> float:
        """The share of my rows that meet which get a value of a column."""
        if not _has_some(column):
            return 1.0 - _null_share(column)
        there = ~self._is_null(column.number)
        got = np.bincount(self._value[there], minlength=len(self._weights)) > 0
        return float(self._weights[got].sum() / max(1, self._weights.sum()))

    def known(self, columns: Sequence[ColumnEntry]) -> list[bool]:
        """Whether my table has each column already: one of mine is the same in rows that meet."""
        both = np.flatnonzero((self._mine >= 0) & (self._theirs >= 0))[:_ROWS]
        mine = self._codes_of_mine(self._mine[both])
        found = []
        for column in columns:
            theirs = self._codes_at(column.number, self._theirs[both])
            here = (mine != NO_CELL) & (theirs != NO_CELL)
            same = ((mine == theirs) & here).sum(axis=1)
            enough = here.sum(axis=1) >= _FEWEST
            found.append(bool((enough & (same >= _SAME * here.sum(axis=1))).any()))
        return found

    def _is_null(self, column: int) -> Array:
        """Which of the rows are null in a column."""
        cells, ids = self._found.segment.rows.local(column, self._total)
        if cells is None:
            return np.asarray(ids[self._rows] == NULL)
        return np.asarray(cells[self._rows] == null_id(cells.dtype))

    def _codes_at(self, column: int, rows: Array) -> Array:
        """The codes of a few rows of a column; the others are not decoded."""
        theirs = self._found.segment.rows
        cells, ids = theirs.local(column, self._total)
        if cells is None:
            return theirs.codes_of(ids[rows]).astype(np.int64)
        codes = np.full(len(rows), np.int64(NO_CELL))
        known = cells[rows] != null_id(cells.dtype)
        codes[known] = theirs.codes_of(ids[cells[rows][known]])
        return codes

    def _codes_of_mine(self, rows: Array) -> Array:
        """The codes of some rows of mine in their segment, a line for each column of mine.

        A value that the segment does not know has a number that no code has.
        """
        import pyarrow as pa

        from lakejoin.store.dictionary import NOT_FOUND

        table = self._found.mine
        columns = [table.cells(place) for place in range(min(_COLUMNS, len(table.names)))]
        known = np.stack([cells[rows] != NO_CELL for _, cells in columns])
        texts = [
            tokens.take(cells[rows][there])
            for (tokens, cells), there in zip(columns, known, strict=True)
        ]
        # All columns are looked up at once: a look-up costs something however few values it is for.
        codes = self._found.segment.dictionary.find(pa.chunked_array(texts).combine_chunks())
        lines = np.full(known.shape, np.int64(NO_CELL))
        lines[known] = np.where(codes == NOT_FOUND, -1, codes.astype(np.int64))
        return lines


def _numbers(found: Found, places: Array) -> list[Array]:
    """My values at some places of the query as numbers of my cells, by column."""
    import pyarrow.compute as pc

    query = found.query
    if isinstance(query, KeyQuery):
        return list(query.combinations[places].T)
    assert isinstance(query, Query), "values that are equal are those of columns"
    tokens, _ = found.mine.cells(found.places[0])
    return [pc.index_in(query.tokens.take(places), value_set=tokens).to_numpy()]


def _some(rows: Array, most: int) -> Array:
    """Places of values with so many rows each: all, or some that have not many more together."""
    if len(rows) <= _VALUES and rows.sum() <= most:
        return np.arange(len(rows))
    order = np.random.default_rng(0).permutation(len(rows))[:_VALUES]
    few = int(np.searchsorted(np.cumsum(rows[order]), most))
    return np.sort(order[: max(1, few)])


def _others(found: Found) -> list[ColumnEntry]:
    entries = found.segment.catalog.columns_of(found.entry)
    return [one for one in entries if one.number not in found.columns]


def _null_share(column: ColumnEntry) -> float:
    return column.profile.nulls / max(1, column.profile.rows)


def _has_some(column: ColumnEntry) -> bool:
    """Whether it has values and nulls."""
    return 0 < column.profile.nulls < column.profile.rows


def _found(way: Way) -> Found:
    assert way.result.found is not None, "a result of a search has its place"
    return way.result.found
