"""Do other columns agree in the rows that meet? Then the rows are about the same things.

Codes of airports and of languages meet by the thousand; but only of a list of airports do the names
of towns agree as well. Some rows of mine are put beside the rows of theirs that they meet, and the
words of both are compared, those of the joined columns left out. A word that both have counts
log(1 / p), where p is the share of their rows that have it; the rarest one counts for a row, less
the logarithm of how many words were tried. From the sum goes what rows give that do not meet.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.fused.chances import held_in
from lakejoin.model import null_id
from lakejoin.search.mine import NO_CELL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.mine import MyTable
    from lakejoin.search.query import Query
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]
Words = frozenset[str]

_ROWS = 64
_COLUMNS = 40  # of a table that are looked at
_SHIFTS = (1, 2, 3, 5, 8, 13)
_BESIDE = (1, -1, 3)
_ENOUGH = 0.25  # of the rows have another one beside them
_MORE = 1.5  # times as much as rows that do not meet: these differ among each other
_WORD = re.compile(r"\w{2,}")


class RowWords:
    """The words of rows of my table, without those of the columns that join."""

    def __init__(self, mine: MyTable, joined: Sequence[int]) -> None:
        self._mine = mine
        self._others = [i for i in range(len(mine.names)) if i not in joined][:_COLUMNS]

    @cached_property
    def _columns(self) -> list[tuple[pa.LargeStringArray, Array]]:
        self._mine.read(self._others)  # at once: a file is read once for all
        return [self._mine.cells(place) for place in self._others]

    def at(self, rows: Array) -> list[Words]:
        """The words of some rows."""
        words: list[set[str]] = [set() for _ in rows]
        for tokens, cells in self._columns:
            numbers = cells[rows]
            known = np.flatnonzero(numbers != NO_CELL)
            texts = tokens.take(numbers[known]).to_pylist()
            for place, text in zip(known.tolist(), texts, strict=True):
                words[place].update(_WORD.findall(text))
        return list(map(frozenset, words))


class MyWords:
    """The words of rows of my table, by the values of the one column that joins."""

    def __init__(self, mine: MyTable, place: int, query: Query) -> None:
        import pyarrow.compute as pc

        self._words = RowWords(mine, (place,))
        tokens, cells = mine.cells(place)
        known = np.flatnonzero(cells != NO_CELL)
        first = np.zeros(len(tokens), np.int64)
        first[cells[known][::-1]] = known[::-1]
        # The first row of each value of the query.
        self._row = first[pc.index_in(query.tokens, value_set=tokens).to_numpy()]

    def of(self, places: Array, values: Sequence[str]) -> list[Words]:
        """The words of the first row of some of my values, which stand at `places` of the query."""
        words = self._words.at(self._row[places])
        return [without(one, value) for one, value in zip(words, values, strict=True)]


def words_of(text: str) -> Words:
    """The words of a text, and the text itself.

    >>> sorted(words_of("new york 7"))
    ['new', 'new york 7', 'york']
    """
    return frozenset(_WORD.findall(text)) | {text}


def without(words: Words, value: str) -> Words:
    """The words of a row without those of its value, also where a number is written otherwise.

    >>> sorted(without(frozenset({"bern", "007", "70"}), "7"))
    ['70', 'bern']
    """
    joined = words_of(value)
    numbers = {one.lstrip("0") for one in joined}
    return frozenset(one for one in words - joined if one.lstrip("0") not in numbers)


def agreement(
    mine: MyWords, query: Query, codes: Array, segment: Segment, entry: TableEntry, column: int
) -> float:
    """How much the rows that meet agree in other columns, in nats.

    `codes` are those of the query's values in the segment.
    """
    met = np.flatnonzero(held_in(codes, segment.postings.codes_of(column)))
    if len(met) > _ROWS:
        met = met[np.linspace(0, len(met) - 1, _ROWS).astype(np.int64)]
    if len(met) < 2:
        return 0.0
    values = query.tokens.take(met).to_pylist()
    ours = mine.of(met, values)
    rows = _first_rows(segment, entry, column, codes[met])
    theirs, beside = words_beside(segment, entry, (column,), rows)
    met_words = [without(*one) for one in zip(theirs, values, strict=True)]
    return agreeing(ours, met_words, beside)


def words_beside(
    segment: Segment, entry: TableEntry, joined: Sequence[int], rows: Array
) -> tuple[list[Words], list[list[Words | None]]]:
    """The words of some rows of theirs, and those of rows beside them that hold another key: None
    where it is the same, or there is none.

    Two tables in the same order, of time for instance, agree in the rows beside as well.
    """
    keys = segment.rows.codes(joined[0], entry.rows)
    places = [rows + by for by in _BESIDE]
    valid = [(one >= 0) & (one < entry.rows) for one in places]
    inside = [np.where(ok, one, rows) for ok, one in zip(valid, places, strict=True)]
    other = [ok & (keys[one] != keys[rows]) for ok, one in zip(valid, inside, strict=True)]
    words = their_words(segment, entry, joined, np.concatenate([rows, *inside]))
    size = len(rows)
    beside = [
        [word if told else None for word, told in zip(words[size * n :], which, strict=False)]
        for n, which in enumerate(other, 1)
    ]
    return words[:size], beside


def agreeing(
    ours: Sequence[Words],
    theirs: Sequence[Words],
    beside: Sequence[Sequence[Words | None]] = (),
) -> float:
    """How much rows agree, beyond what rows do that do not meet: others of theirs, and those that
    stand `beside` them.

    >>> towns = [frozenset({"bern", "bear"}), frozenset({"ulm", "spire"}), frozenset({"oslo"})]
    >>> round(agreeing(towns, towns), 1), agreeing(towns, [frozenset({"x"})] * 3)
    (2.6, 0.0)
    """
    rows = len(theirs)
    # What rows beside have as well tells nothing: the state, where counties stand in their order.
    apart = [
        one.difference(*filter(None, others)) for one, *others in zip(theirs, *beside, strict=True)
    ]
    counts = Counter(word for words in apart for word in words)

    def of_row(one: Words, other: Words) -> float:
        both = one & other
        if not both:
            return 0.0
        rarest = max(1, min(counts[word] for word in both))
        return max(0.0, math.log(rows / rarest) - math.log1p(len(one) - 1) / 2)

    met = sum(map(of_row, ours, apart))
    moved = [
        sum(of_row(ours[i], apart[(i + by) % rows]) for i in range(rows))
        for by in _SHIFTS
        if by % rows
    ]
    for others in beside:
        pairs = zip(ours, theirs, others, strict=True)
        known = [(one, other - own) for one, own, other in pairs if other is not None]
        if len(known) >= _ENOUGH * rows:
            moved.append(sum(of_row(*pair) for pair in known) * rows / len(known))
    return max(0.0, met - _MORE * max(moved, default=met))


def their_words(
    segment: Segment, entry: TableEntry, joined: Sequence[int], rows: Array
) -> list[Words]:
    """The words of some rows of a table of theirs, without those of the columns that join."""
    words: list[set[str]] = [set() for _ in rows]
    columns = range(entry.first, entry.first + entry.width)
    others = [number for number in columns if number not in joined][:_COLUMNS]
    if not others or not len(rows):
        return list(map(frozenset, words))
    # The texts of all columns at once: each look-up costs something however few they are.
    ids = np.concatenate([_codes_at(segment, other, entry.rows, rows) for other in others])
    texts = segment.rows.texts(ids, segment.dictionary.texts).to_pylist()
    for place, text in enumerate(texts):
        if text is not None:
            words[place % len(rows)].update(_WORD.findall(text))
    return list(map(frozenset, words))


def _first_rows(segment: Segment, entry: TableEntry, column: int, codes: Array) -> Array:
    """The first row of each of some codes, which a column has."""
    of_rows = segment.rows.codes(column, entry.rows)
    places = np.flatnonzero(np.isin(of_rows, codes))
    found, first = np.unique(of_rows[places], return_index=True)
    return np.asarray(places[first[np.searchsorted(found, codes)]])


def _codes_at(segment: Segment, column: int, total: int, rows: Array) -> Array:
    """The codes of a few rows of a column of `total`; the others are not decoded."""
    from lakejoin.store.rows import NULL

    cells, ids = segment.rows.local(column, total)
    if cells is None:
        return segment.rows.codes_of(ids[rows])
    some = cells[rows]
    known = some != null_id(cells.dtype)
    found = np.full(len(rows), NULL)
    found[known] = ids[some[known]]
    return segment.rows.codes_of(found)
