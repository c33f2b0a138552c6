"""Find rows that hold given values, and measure whether other columns agree in matching rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.composite.query import KeyQuery
from lakejoin.engines.query import NO_CELL, Query
from lakejoin.model import Array
from lakejoin.ranking.coded_rows import LakeRows
from lakejoin.search.lake_background import is_among

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.search.result import ResultLocation
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment


Words = frozenset[str]

_ROWS = 64
_COLUMNS = 40  # columns to compare
_SHIFTS = (1, 2, 3, 5, 8, 13)
_BESIDE = (1, -1, 3)
_ENOUGH = 0.25  # share of the rows that must have a neighbour with another key
_MORE = 1.5  # times what non-matching rows score, as that varies
_WORD = re.compile(r"\w{2,}")


class RowWords:
    """The words of query rows, without the joined columns."""

    def __init__(self, query_table: QueryTable, joined: Sequence[int]) -> None:
        self._query_table = query_table
        self._others = [i for i in range(len(query_table.column_names)) if i not in joined][
            :_COLUMNS
        ]

    @cached_property
    def _columns(self) -> list[tuple[pa.LargeStringArray, Array]]:
        self._query_table.read(self._others)  # together, so that a file is read once
        return [self._query_table.cells(column_index) for column_index in self._others]

    def at(self, rows: Array) -> list[Words]:
        """The words of some rows."""
        words: list[set[str]] = [set() for _ in rows]
        for tokens, cells in self._columns:
            cell_ids = cells[rows]
            known = np.flatnonzero(cell_ids != NO_CELL)
            texts = tokens.take(cell_ids[known]).to_pylist()
            for position, text in zip(known.tolist(), texts, strict=True):
                words[position].update(_WORD.findall(text))
        return list(map(frozenset, words))


class QueryWords:
    """The words of query rows, by the values of the joined column."""

    def __init__(self, query_table: QueryTable, column_index: int, query: Query) -> None:
        import pyarrow.compute as pc

        self._words = RowWords(query_table, (column_index,))
        tokens, cells = query_table.cells(column_index)
        known = np.flatnonzero(cells != NO_CELL)
        first = np.zeros(len(tokens), np.int64)
        first[cells[known][::-1]] = known[::-1]
        # The first row of each value of the query.
        self._row = first[pc.index_in(query.tokens, value_set=tokens).to_numpy()]

    def of(self, positions: Array, values: Sequence[str]) -> list[Words]:
        """The words of the first row of some query values, given by position and value."""
        words = self._words.at(self._row[positions])
        return [remove_words(row, value) for row, value in zip(words, values, strict=True)]


def split_words(text: str) -> Words:
    """The words of a text, and the text itself.

    >>> sorted(split_words("new york 7"))
    ['new', 'new york 7', 'york']
    """
    return frozenset(_WORD.findall(text)) | {text}


def remove_words(words: Words, value: str) -> Words:
    """The words of a row without those of its value, ignoring leading zeros.

    >>> sorted(remove_words(frozenset({"bern", "007", "70"}), "7"))
    ['70', 'bern']
    """
    joined = split_words(value)
    numbers = {word.lstrip("0") for word in joined}
    return frozenset(word for word in words - joined if word.lstrip("0") not in numbers)


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
    values = query.tokens.take(matched).to_pylist()
    ours = mine.of(matched, values)
    rows = _first_rows(segment, entry, column, codes[matched])
    theirs, beside = read_neighbouring_words(segment, entry, (column,), rows)
    matched_words = [remove_words(*pair) for pair in zip(theirs, values, strict=True)]
    return compare_words(ours, matched_words, beside)


def read_neighbouring_words(
    segment: Segment, entry: TableEntry, joined: Sequence[int], rows: Array
) -> tuple[list[Words], list[list[Words | None]]]:
    """The words of some lake rows, and of neighbouring rows with another key; None if the key is
    the same or there is no such row.

    Two tables in the same order, for example by time, also agree in neighbouring rows.
    """
    keys = segment.rows.codes(joined[0], entry.rows)
    shifted = [rows + by for by in _BESIDE]
    valid = [(row >= 0) & (row < entry.rows) for row in shifted]
    inside = [np.where(ok, row, rows) for ok, row in zip(valid, shifted, strict=True)]
    differs = [ok & (keys[row] != keys[rows]) for ok, row in zip(valid, inside, strict=True)]
    words = read_lake_words(segment, entry, joined, np.concatenate([rows, *inside]))
    size = len(rows)
    beside = [
        [
            word if is_other else None
            for word, is_other in zip(words[size * n :], usable, strict=False)
        ]
        for n, usable in enumerate(differs, 1)
    ]
    return words[:size], beside


def compare_words(
    ours: Sequence[Words],
    theirs: Sequence[Words],
    beside: Sequence[Sequence[Words | None]] = (),
) -> float:
    """How much rows agree, beyond rows that do not match: other lake rows, and their neighbours
    (`beside`).

    >>> towns = [frozenset({"bern", "bear"}), frozenset({"ulm", "spire"}), frozenset({"oslo"})]
    >>> round(compare_words(towns, towns), 1), compare_words(towns, [frozenset({"x"})] * 3)
    (2.6, 0.0)
    """
    rows = len(theirs)
    # Words of neighbouring rows say nothing, such as the state in a sorted list of counties.
    distinctive = [
        words.difference(*filter(None, others))
        for words, *others in zip(theirs, *beside, strict=True)
    ]
    counts = Counter(word for words in distinctive for word in words)

    def of_row(words: Words, their_row: Words) -> float:
        both = words & their_row
        if not both:
            return 0.0
        rarest = max(1, min(counts[word] for word in both))
        return max(0.0, math.log(rows / rarest) - math.log1p(len(words) - 1) / 2)

    matched = sum(map(of_row, ours, distinctive))
    shifted = [
        sum(of_row(ours[i], distinctive[(i + by) % rows]) for i in range(rows))
        for by in _SHIFTS
        if by % rows
    ]
    for others in beside:
        pairs = zip(ours, theirs, others, strict=True)
        pairs_with_other = [
            (words, their_row - matching)
            for words, matching, their_row in pairs
            if their_row is not None
        ]
        if len(pairs_with_other) >= _ENOUGH * rows:
            shifted.append(
                sum(of_row(*pair) for pair in pairs_with_other) * rows / len(pairs_with_other)
            )
    return max(0.0, matched - _MORE * max(shifted, default=matched))


def read_lake_words(
    segment: Segment, entry: TableEntry, joined: Sequence[int], rows: Array
) -> list[Words]:
    """The words of some rows of a lake table, without the joined columns."""
    words: list[set[str]] = [set() for _ in rows]
    columns = range(entry.width)
    others = [column for column in columns if entry.first + column not in joined][:_COLUMNS]
    if not others or not len(rows):
        return list(map(frozenset, words))
    # One lookup for all columns, as a lookup has a fixed cost.
    codes = LakeRows(segment, entry).codes_at(others, rows).astype(np.uint32).ravel()
    texts = segment.rows.texts(codes, segment.dictionary.texts).to_pylist()
    for position, text in enumerate(texts):
        if text is not None:
            words[position % len(rows)].update(_WORD.findall(text))
    return list(map(frozenset, words))


def _first_rows(segment: Segment, entry: TableEntry, column: int, codes: Array) -> Array:
    """The first row of each code; the column has them all."""
    of_rows = segment.rows.codes(column, entry.rows)
    places = np.flatnonzero(np.isin(of_rows, codes))
    found, first = np.unique(of_rows[places], return_index=True)
    return np.asarray(places[first[np.searchsorted(found, codes)]])


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
