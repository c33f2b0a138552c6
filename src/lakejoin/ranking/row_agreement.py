"""Find rows that hold given values, and measure whether other columns agree in matching rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.composite.query import KeyQuery
from lakejoin.engines.query import NO_CELL, Query
from lakejoin.kernels.word_sets import compare_row_words
from lakejoin.model import Array
from lakejoin.ranking.row_words import (
    LeftOutWords,
    QueryWords,
    WordSets,
    leave_out,
    read_lake_words,
)
from lakejoin.search.lake_background import is_among

if TYPE_CHECKING:
    from lakejoin.search.result import ResultLocation
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment


_ROWS = 64
_SHIFTS = (1, 2, 3, 5, 8, 13)
_BESIDE = (1, -1, 3)
_ENOUGH = 0.25  # share of the rows that must have a neighbour with another key
_MORE = 1.5  # times what non-matching rows score, as that varies


def measure_agreement(
    mine: QueryWords, query: Query, codes: Array, segment: Segment, entry: TableEntry, column: int
) -> float:
    """How much matching rows agree in other columns, in nats.

    `codes` are the codes of the query's values in the segment.
    """
    matched = np.flatnonzero(is_among(codes, segment.postings.codes_of(column)))
    if len(matched) > _ROWS:
        matched = matched[np.linspace(0, len(matched) - 1, _ROWS).astype(np.int64)]
    if len(matched) < 2:
        return 0.0
    values = leave_out([query.tokens.take(matched)], bare=True)
    rows = segment.rows.first_rows(column, codes[matched], entry.rows)
    theirs = read_neighbouring_words(segment, entry, (column,), rows, values)
    return compare_words(mine.of(matched, values), *theirs)


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourWords:
    """The words of rows beside some rows: kind after kind of neighbour. `usable` has a line for
    each kind; it says where there is such a row, with another key."""

    words: WordSets
    usable: Array


def read_neighbouring_words(
    segment: Segment,
    entry: TableEntry,
    joined: Sequence[int],
    rows: Array,
    left_out: LeftOutWords,
) -> tuple[WordSets, NeighbourWords]:
    """The words of some lake rows without those left out, and of neighbouring rows with another
    key.

    Two tables in the same order, for example by time, also agree in neighbouring rows.
    """
    beside = rows + np.array(_BESIDE)[:, None]
    inside = (beside >= 0) & (beside < entry.rows)
    beside = np.where(inside, beside, rows)
    every = np.concatenate([rows, beside.ravel()])
    keys = segment.rows.codes_at(np.array(joined[:1]), every, entry.rows).reshape(-1, len(rows))
    words = read_lake_words(segment, entry, joined, every, left_out)
    neighbours = words.slice(len(rows), len(every))
    return words.slice(0, len(rows)), NeighbourWords(neighbours, inside & (keys[1:] != keys[0]))


_NO_NEIGHBOURS = NeighbourWords(
    WordSets(np.zeros(1, np.int64), np.zeros(0, np.uint64)), np.zeros((0, 0), bool)
)


def compare_words(
    ours: WordSets, theirs: WordSets, beside: NeighbourWords = _NO_NEIGHBOURS
) -> float:
    """How much rows agree, beyond rows that do not match: other lake rows, and their neighbours
    (`beside`).

    A pair of rows says log(rows / rows with the rarest word that both have), less if the first has
    many words. Words that a neighbour has too do not count.
    """
    return compare_row_words(
        ours.starts,
        ours.words,
        theirs.starts,
        theirs.words,
        beside.words.starts,
        beside.words.words,
        beside.usable,
        np.array(_SHIFTS),
        _MORE,
        _ENOUGH,
    )


IdColumns = Sequence[Array] | Array  # an array for each column


def find_cell_ids(location: ResultLocation, positions: Array) -> list[Array]:
    """The query values at some positions as ids of the query table's cells, by column."""
    import pyarrow.compute as pc

    query = location.query
    if isinstance(query, KeyQuery):
        return list(query.combinations[positions].T)
    assert isinstance(query, Query), "equal values come from columns"
    tokens, _ = location.query_table.cells(location.query_columns[0])
    return [pc.index_in(query.tokens.take(positions), value_set=tokens).to_numpy()]


def find_rows(columns: IdColumns, combinations: IdColumns) -> tuple[Array, Array]:
    """The rows that hold one of some distinct combinations, ascending, and which one.

    >>> columns = [np.array([1, 1, 2, 1]), np.array([7, 8, 8, 8])]
    >>> rows, which = find_rows(columns, [np.array([1, 2, 1]), np.array([8, 7, 7])])
    >>> rows.tolist(), which.tolist()
    ([0, 1, 3], [2, 0, 0])
    """
    rows, theirs, mine = _common_codes(columns, combinations)
    which = np.full(_count(theirs, mine), -1)
    which[mine] = np.arange(len(mine))
    found = which[theirs]
    return rows[found >= 0], found[found >= 0]


def first_row_of_each(rows: tuple[Array, Array], combinations: int) -> Array:
    """The first row of each combination that `find_rows` found, -1 if there is none."""
    first = np.full(combinations, -1)
    first[rows[1][::-1]] = rows[0][::-1]
    return first


def find_first_rows(columns: IdColumns, combinations: IdColumns) -> Array:
    """The first row that holds each combination, -1 if none does; combinations may repeat.

    >>> columns = np.array([[1, 1, 2, 1], [7, 8, 8, 8]])
    >>> find_first_rows(columns, np.array([[1, 2, 1], [8, 7, 8]])).tolist()
    [1, -1, 1]
    """
    rows, theirs, mine = _common_codes(columns, combinations)
    first = np.full(_count(theirs, mine), -1)
    first[theirs[::-1]] = rows[::-1]
    return np.asarray(first[mine])


def _common_codes(columns: IdColumns, combinations: IdColumns) -> tuple[Array, Array, Array]:
    """Rows that may hold one of the combinations, and common codes of rows and combinations: equal
    ones have the same code."""
    rows = np.arange(len(columns[0]))
    for column, searched in zip(columns, combinations, strict=True):
        values = column[rows]
        rows = rows[is_among(values, np.unique(searched)) & (values != NO_CELL)]
    codes = np.zeros(len(rows) + len(combinations[0]), np.uint64)
    for column, searched in zip(columns, combinations, strict=True):
        cells = np.concatenate([column[rows], searched]).astype(np.uint64)
        # Two codes below 2^32 are combined into one; its rank is below 2^32 again.
        ranks = np.unique((codes << np.uint64(32)) | cells, return_inverse=True)[1]
        codes = ranks.astype(np.uint64)
    return rows, codes[: len(rows)], codes[len(rows) :]


def _count(*arrays: Array) -> int:
    return 1 + max(int(codes.max(initial=0)) for codes in arrays)
