"""Which columns of the lake may hold my values, written differently? By the pieces they share.

Transformations tend to leave words and numbers whole, so a column that joins with mine once one of
the two is rewritten shares many of their pieces (`kernels/pieces.py`), and pieces that few columns
hold tell the most. A value of mine *meets* a column if both hold a piece that is rare in both.

What a column is worth is a log likelihood ratio, in nats. If it has nothing to do with mine, then a
piece is in it with the probability of any column; if it does, then each value meets it with the
same probability, estimated as the share q of my values that do: for each value that meets, the log
of (columns / columns that hold its rarest shared piece), less the entropy of q for each value that
was asked for. A large column shows only some of its pieces: what these tell is carried over to the
others. Columns are put in order by their worth for each value of mine, because numbers that are in
many columns by chance add up to much in a long column.

A column that holds my values as they are shares all their pieces, and there may be hundreds of such
columns; those in which rewriting would not bring clearly more to meet are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import ColumnType
from lakejoin.store.dictionary import NOT_FOUND, string_buffers
from lakejoin.store.pieces import WITHOUT, PiecesComponent

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.hits import Excluded
    from lakejoin.search.mine import MyTable
    from lakejoin.search.query import Query
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_VALUES = 1 << 17  # of a column of mine that are looked at
_MINE = 8192  # pieces of it that are looked up
_UNSEEN = 100  # columns that are thought to hold no piece: in a small lake, too, few share one
_DOUBT = 10  # values: what fewer than these tell counts less
_COMPARED = 256  # values of mine that are looked up as they are
_MORE = 1.25  # as many values must meet by pieces as do as they are
_PLAIN = (ColumnType.INTEGER, ColumnType.DATE)  # two columns of such a type meet as they are


@dataclass(frozen=True, slots=True)
class Likely:
    """A column of the lake that may join with one of mine once values are rewritten.

    `place` is my column, `number` the segment and `column` the column there. Of `values` of mine
    that have rare pieces, `asked` have one that the column would show, and `met` share one with it.
    """

    place: int
    number: int
    column: int
    asked: int
    met: int
    nats: float
    values: int

    @property
    def per_value(self) -> float:
        """What it is worth for each value of mine; less where they are few."""
        return self.nats / (self.values + _DOUBT)


def likely_rewritten(
    mine: MyTable,
    places: Sequence[int],
    segments: Sequence[Segment],
    excluded: Excluded,
    most: int = 40,
    known: Collection[tuple[int, int, int]] = (),
) -> list[Likely]:
    """The columns that share the most with my columns at `places`, at most `most`, best first.

    `known` are (place, number, column) that are left out. Segments without pieces are not searched:
    see `without_pieces`.
    """
    lists = _Lists(segments, excluded)
    found: list[Likely] = []
    for place in places:
        if mine.profile(place).type in WITHOUT:
            continue
        query = mine.query(place)
        sample = _Sample.of(query.tokens)
        if sample is not None:
            found += lists.likely(place, query, sample)
    left_out = set(known)
    found = [one for one in found if (one.place, one.number, one.column) not in left_out]
    found.sort(key=lambda one: (-one.per_value, one.place, one.number, one.column))
    return found[:most]


def without_pieces(segments: Sequence[Segment]) -> str:
    """A sentence where an index, or part of it, was built before it had pieces."""
    lack = sum(not _has_pieces(segment) for segment in segments)
    if not lack:
        return ""
    part = "this index" if lack == len(segments) else f"{lack} of {len(segments)} segments"
    return (
        f"{part} cannot be searched for columns that join once values are rewritten: add what is "
        "new with: lakejoin index"
    )


def _has_pieces(segment: Segment) -> bool:
    kept = segment.record.components.get(PiecesComponent.name)
    return kept is not None and kept.version >= PiecesComponent.version


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Rare pieces of a column of mine. `values`, ascending, hold the pieces numbered `held`;
    `lowest` are the lowest ranks of the values, ascending. `compared` are some of the values, by
    their numbers in the query."""

    pieces: Array
    values: Array
    held: Array
    lowest: Array
    compared: Array

    @classmethod
    def of(cls, texts: pa.LargeStringArray) -> _Sample | None:
        from lakejoin.kernels.pieces import ranks_of
        from lakejoin.kernels.rare_pieces import COUNTED, sample_texts

        if not len(texts):
            return None
        offsets, data = string_buffers(texts)
        numbers = _some(len(texts), _VALUES)
        pieces, holders, _ = sample_texts(offsets, data, numbers, _MINE, COUNTED)
        piece, which = np.nonzero(holders >= 0)
        values = holders[piece, which]
        order = np.argsort(values, kind="stable")
        values, held = values[order], piece[order]
        begins = np.flatnonzero(np.diff(values, prepend=-1))
        if not len(begins):
            return None
        lowest = np.minimum.reduceat(ranks_of(pieces)[held], begins)
        compared = numbers[values[begins[_some(len(begins), _COMPARED)]]]
        return cls(pieces, values, held, np.sort(lowest), compared)


def _some(values: int, most: int) -> Array:
    """The numbers of the values that are looked at: all, or a sample."""
    if values <= most:
        return np.arange(values)
    return np.sort(np.random.default_rng(0).choice(values, most, replace=False))


class _Lists:
    """The pieces of all segments that have some, and which of their columns do not count."""

    def __init__(self, segments: Sequence[Segment], excluded: Excluded) -> None:
        self._segments = {n: one for n, one in enumerate(segments) if _has_pieces(one)}
        self._left_out: dict[int, Array] = {}
        self._columns = 0
        for number, segment in self._segments.items():
            left_out = segment.pieces.limit == 0
            left_out[excluded.columns[number]] = True
            self._left_out[number] = left_out
            self._columns += len(left_out) - int(left_out.sum())

    def likely(self, place: int, query: Query, sample: _Sample) -> list[Likely]:
        """What shares pieces with a sample of my column."""
        from lakejoin.kernels.piece_lists import add_met, count_holders

        spans = {n: one.pieces.find(sample.pieces) for n, one in self._segments.items()}
        holders = np.zeros(len(sample.pieces), dtype=np.int64)
        for number, (span, columns) in spans.items():
            count_holders(span, columns, self._left_out[number], holders)
        weights = np.log((_UNSEEN + self._columns) / np.maximum(1, holders))
        found = []
        for number, (span, columns) in spans.items():
            segment = self._segments[number]
            met = np.zeros(segment.column_count, dtype=np.int64)
            nats = np.zeros(segment.column_count)
            add_met(sample.values, sample.held, weights, span, columns, met, nats)
            met[self._left_out[number] | _alike(segment, query.type)] = 0
            some = np.flatnonzero(met)
            asked = np.searchsorted(sample.lowest, segment.pieces.limit[some], side="right")
            worth = carried_over(nats[some], met[some], asked, len(sample.lowest))
            as_they_are = _held(query.tokens.take(sample.compared), segment)[some]
            good = (worth > 0) & (met[some] / asked > _MORE * as_they_are)
            for one in np.flatnonzero(good).tolist():
                column = int(some[one])
                figures = int(asked[one]), int(met[column]), float(worth[one])
                found.append(Likely(place, number, column, *figures, len(sample.lowest)))
        return found


def _held(values: pa.LargeStringArray, segment: Segment) -> Array:
    """The share of some values that each column of a segment holds as they are."""
    postings = segment.postings
    codes = segment.dictionary.find(values)
    begin, length = postings.spans(codes[codes != NOT_FOUND])
    entries = postings.entries(begin, length)
    at = np.repeat(begin - (np.cumsum(length) - length), length) + np.arange(length.sum())
    held = np.bincount(entries[at], minlength=segment.column_count)
    return np.asarray(held[postings.stands(np.arange(segment.column_count))] / len(values))


def _alike(segment: Segment, kind: ColumnType) -> Array:
    """The columns of the type of mine, if that has one way to be written: equal values are found
    without their pieces, and parts of numbers meet by chance."""
    if kind not in _PLAIN:
        return np.zeros(segment.column_count, dtype=bool)
    import pyarrow.compute as pc

    return np.asarray(pc.equal(segment.catalog.columns["type"], str(kind)))


def carried_over(nats: Array, met: Array, asked: Array, values: int) -> Array:
    """What pieces tell of whole columns: `met` of the `asked` values share pieces worth so many
    nats, and `values` have pieces at all.

    >>> carried_over(np.array([80.0, 80.0, 8.0]), np.array([10, 10, 1]), np.array([10, 20, 1]), 20)
    array([120.        ,  66.13705639,  21.81818182])
    """
    share = met / asked
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    told = nats - asked * np.where(share < 1, entropy, 0.0)
    return np.asarray(told * (values + _DOUBT) / (asked + _DOUBT))


def partners_by_pieces(
    mine: pa.LargeStringArray, theirs: pa.LargeStringArray, most: int = 1000
) -> tuple[Array, Array]:
    """(i, j): values of mine and of theirs that share a piece that is rare among both, at most
    `most` pairs; those come first that share the most, where one that is in n values of mine and m
    of theirs counts 1 / (n m). Of a value's partners only the best are given.

    >>> import pyarrow as pa
    >>> mine = pa.array(["Ada Lovelace", "Alan Turing"], pa.large_string())
    >>> theirs = pa.array(["turing, a. m.", "lovelace, ada", "hopper, g."], pa.large_string())
    >>> [[int(i) for i in side] for side in partners_by_pieces(mine, theirs)]
    [[0, 1], [1, 0]]
    """
    from lakejoin.kernels.rare_pieces import COUNTED, RARE, find_holders, sample_texts

    none = np.zeros(0, dtype=np.int64)
    if not len(mine) or not len(theirs):
        return none, none
    numbers = np.arange(len(mine))
    pieces, my_holders, limit = sample_texts(
        *string_buffers(_no_nulls(mine)), numbers, max(_MINE, 4 * most), COUNTED
    )
    count = np.zeros(len(pieces), dtype=np.int64)
    holders = np.empty((len(pieces), RARE), dtype=np.int64)
    rank = np.uint64(limit)  # which comes back as an int
    find_holders(*string_buffers(_no_nulls(theirs)), pieces, rank, count, holders)
    holders[(count == 0) | (count > RARE)] = -1
    weight = 1 / ((my_holders >= 0).sum(axis=1) * np.maximum(1, count))
    i = np.repeat(my_holders, RARE, axis=1).ravel().astype(np.int64)
    j = np.tile(holders, (1, RARE)).ravel()
    pairs = (i >= 0) & (j >= 0)
    return _best_pairs(i[pairs], j[pairs], np.repeat(weight, RARE * RARE)[pairs], most)


def _no_nulls(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    return texts.fill_null("") if texts.null_count else texts


def _best_pairs(i: Array, j: Array, weight: Array, most: int) -> tuple[Array, Array]:
    """Each pair once, by falling sum of its weights, without those that do worse than another pair
    of the same value of mine."""
    if not len(i):
        return i, j
    both, which = np.unique(np.stack([i, j]), axis=1, return_inverse=True)
    total = np.bincount(which.ravel(), weight)
    best = np.zeros(int(both[0].max()) + 1)
    np.maximum.at(best, both[0], total)
    chosen = np.flatnonzero(total >= best[both[0]] * (1 - 1e-9))
    chosen = chosen[np.argsort(-total[chosen], kind="stable")][:most]
    return both[0][chosen], both[1][chosen]
