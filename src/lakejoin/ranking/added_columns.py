"""List the columns a table would add to the query table, and how full they would be.

A query row gets a value if one of its matching rows has a value in that column. A column without
nulls is as full as query rows match; for other columns the matching rows are counted, of all
matching values or of a sample. For joins on unequal values, nulls are assumed to be spread evenly.

Columns that add nothing new come last: constant ones, and those that the query table already has
according to the matching rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.composite.query import KeyQuery
from lakejoin.engines.query import Query
from lakejoin.joins.key_extension import NO_CODE
from lakejoin.model import Array, null_id
from lakejoin.ranking.coded_rows import LakeRows, QueryRows
from lakejoin.ranking.row_agreement import find_cell_ids, find_rows, first_row_of_each
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.ranking.join_candidates import JoinCandidate
    from lakejoin.search.result import ResultLocation
    from lakejoin.store.catalog import ColumnEntry

_CELLS = 1_000_000  # lake cells to read per table, but at least those of one query value
_VALUES = 2_000  # query values to sample
_ROWS = 64  # matching rows to compare
_COLUMNS = 40  # query columns to compare with
_SAME = 0.9  # share of the rows that must be equal in a column that both tables have
_FEWEST = 3  # rows needed to compare


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column that a table would add, and the share of query rows that would get a value.

    `full` is None if it was not measured. `known_as` is the query column that already has its
    values in the matching rows; None if there is none.
    """

    name: str
    full: float | None = None
    known_as: str | None = None


def list_added_columns(candidate: JoinCandidate) -> tuple[AddedColumn, ...]:
    """The columns apart from the joined ones, not measured."""
    return tuple(AddedColumn(column.name) for column in _other_columns(candidate.location))


def measure_added_columns(candidate: JoinCandidate) -> tuple[AddedColumn, ...]:
    """The columns apart from the joined ones, measured; those that add nothing new last."""
    location, covered = candidate.location, candidate.result.row_coverage
    others = _other_columns(location)
    if covered is None:
        return list_added_columns(candidate)
    if candidate.kind == "equal" and isinstance(location.query, Query | KeyQuery):
        rows = _MetRows(location, sum(_partly_null(column) for column in others))
        filled = [covered * rows.filled(column) for column in others]
        known = rows.known(others)
    else:
        filled = [covered * (1 - _null_share(column)) for column in others]
        known = [None] * len(others)
    added = list(map(AddedColumn, (column.name for column in others), filled, known))
    stale = [
        own is not None or column.profile.distinct <= 1
        for column, own in zip(others, known, strict=True)
    ]
    order = sorted(range(len(added)), key=lambda position: stale[position])
    return tuple(added[position] for position in order)


class _MetRows:
    """The lake rows that match some query values, and the first query row of each value."""

    def __init__(self, location: ResultLocation, partly_filled: int) -> None:
        self._location = location
        self._total = location.entry.rows
        meeting = location.find_shared_values()
        chosen = _sample_positions(meeting.lake_rows, _CELLS // max(1, partly_filled))
        self._weights = location.query.counts[meeting.positions[chosen]]
        cells = [
            location.query_table.cells(column_index) for column_index in location.query_columns
        ]
        cell_ids = find_cell_ids(location, meeting.positions[chosen])
        find, codes = location.segment.dictionary.find, location.segment.rows.codes
        self._mine = first_row_of_each(find_rows([own for _, own in cells], cell_ids), len(chosen))
        self._rows, self._value = find_rows(
            [codes(column, self._total) for column in location.segment_columns],
            [find(tokens.take(own)) for (tokens, _), own in zip(cells, cell_ids, strict=True)],
        )
        self._theirs = first_row_of_each((self._rows, self._value), len(chosen))

    def filled(self, column: ColumnEntry) -> float:
        """The share of matching query rows that get a value from a column."""
        if not _partly_null(column):
            return 1.0 - _null_share(column)
        there = ~self._is_null(column.column_id)
        got = np.bincount(self._value[there], minlength=len(self._weights)) > 0
        return float(self._weights[got].sum() / max(1, self._weights.sum()))

    def known(self, columns: Sequence[ColumnEntry]) -> list[str | None]:
        """For each column, the query column that is equal to it in matching rows; None if there is
        none."""
        both = np.flatnonzero((self._mine >= 0) & (self._theirs >= 0))
        if len(both) > _ROWS:  # from all over: the first rows may differ from the others
            both = both[np.linspace(0, len(both) - 1, _ROWS).astype(np.int64)]
        location = self._location
        own = QueryRows(location.query_table, location.segment)
        mine = own.codes_at(range(min(_COLUMNS, len(own.names))), self._mine[both])
        lake = LakeRows(location.segment, location.entry)
        first = location.entry.first
        indexes = [column.column_id - first for column in columns]
        known: list[str | None] = []
        for theirs in lake.codes_at(indexes, self._theirs[both]):
            here = (mine != NO_CODE) & (theirs != NO_CODE)
            same = ((mine == theirs) & here).sum(axis=1)
            enough = here.sum(axis=1) >= _FEWEST
            equal = np.flatnonzero(enough & (same >= _SAME * here.sum(axis=1)))
            known.append(own.names[int(equal[-1])] if len(equal) else None)  # appended last
        return known

    def _is_null(self, column: int) -> Array:
        """Which of the rows are null in a column."""
        cells, ids = self._location.segment.rows.local(column, self._total)
        if cells is None:
            return np.asarray(ids[self._rows] == NULL)
        return np.asarray(cells[self._rows] == null_id(cells.dtype))


def _sample_positions(rows: Array, most: int) -> Array:
    """Positions of values with these row counts: all, or a sample with about `most` rows."""
    if len(rows) <= _VALUES and rows.sum() <= most:
        return np.arange(len(rows))
    order = np.random.default_rng(0).permutation(len(rows))[:_VALUES]
    few = int(np.searchsorted(np.cumsum(rows[order]), most))
    return np.sort(order[: max(1, few)])


def _other_columns(location: ResultLocation) -> list[ColumnEntry]:
    entries = location.segment.catalog.columns_of(location.entry)
    return [column for column in entries if column.column_id not in location.segment_columns]


def _null_share(column: ColumnEntry) -> float:
    return column.profile.nulls / max(1, column.profile.rows)


def _partly_null(column: ColumnEntry) -> bool:
    """Whether a column has both values and nulls."""
    return 0 < column.profile.nulls < column.profile.rows
