"""Extend the key of a join by further columns that are equal in matching rows.

A key that repeats in both tables multiplies rows: a county without its state, a team without the
year. Such a key is extended by pairs of columns that hold the same value in rows that match by it.
A pair must hold in nearly all of these rows, or in many if the names match, and more often
than in rows of other keys. Where every country has every year, rows of other keys agree as well;
then names decide, and the pair must make one table unique.

Pairs that make one table unique come first, identifiers and years before measures (a price, an
attendance), and what separates no rows is left out.

Only a sample is read: a few thousand rows of some keys. Time grows with the columns of both tables,
not with their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from lakejoin.joins.row_keys import Keys, count_rows
from lakejoin.model import Array, ColumnProfile, ColumnType
from lakejoin.signals.chance import LEAST_CHANCE, evidence
from lakejoin.signals.column_roles import are_measures, is_time
from lakejoin.signals.name_similarity import CONTAINED, SAME, SHORTENED, compare_names

NO_CODE = -1  # of a null
_SAMPLED = 4_000  # rows of each table
_COMPARED = 500  # of these, whose columns are compared
_COLUMNS = 60  # of each table
_MOST_PAIRS = 4  # of a key
_TRIED = 8  # pairs to try in each step

_MOST = 0.7  # … if the names are the same and the key is to be made one-to-one
_ALL = 0.9  # of the matching rows must agree in a further pair
_ALL_IF_ALIKE = 0.5  # if its names are similar
_ALL_IF_SAME = 0.2  # if they are the same: two series of years may hardly overlap
_NATS = 25.0  # evidence that agreement is not chance
# What completes a key that nothing else makes unique must agree in so many rows, or beyond chance.
_ENTIRELY, _MANY_NATS = 0.95, 100.0
_SOME_OF_ONE = 0.3  # least share of the rows that such a key keeps, if all of it is beyond chance
_UNIQUE = 1.02  # matches per row of a table, as a few rows are repeated by mistake
_NEARLY_ONE, _ALL_OF_ONE = 1.05, 0.7  # matches per row, and rows kept, of a key made one-to-one
_LESS = 0.8  # a further pair must leave at most this share of the matches
_LONG = 60  # characters on average; longer texts are prose


class CodedTable(Protocol):
    """A table whose values are codes; equal values of both tables have the same code."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def profiles(self) -> Sequence[ColumnProfile]:
        """The profiles of the columns."""

    def codes_at(self, columns: Sequence[int], rows: Array) -> Array:
        """The codes of some rows, a line for each column; `NO_CODE` for no value."""


def measure_agreement(
    left: CodedTable,
    right: CodedTable,
    rows: MatchedRows,
    used: tuple[Sequence[int], Sequence[int]],
) -> float:
    """How much better other columns agree in matching rows than in others, in nats: those of the
    pair of columns that agrees best."""
    sample = _Sample(left, right, rows, used)
    return max((pair.nats for pair in sample.agreeing_pairs()), default=0.0)


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """Rows of both tables that match by a key, and the key of each: numbers from 0 on."""

    left: Array
    left_keys: Array
    right: Array
    right_keys: Array


@dataclass(frozen=True, slots=True)
class KeyExtension:
    """Pairs of further columns, left and right, that must be equal too.

    `matches` is the number of matching rows per row with a match, of the table where it is smaller:
    1 if the longer key is unique in one table. `before` is the same without the pairs. `nats` is
    how much better the pairs agree than in rows of other keys.
    """

    pairs: tuple[tuple[int, int], ...]
    matches: float
    before: float
    nats: float

    @property
    def is_unique(self) -> bool:
        """Whether the longer key is unique in one of the tables."""
        return self.matches <= _UNIQUE


def sample_matched_rows(keys: Keys) -> MatchedRows:
    """Rows of some of the keys that both tables have."""
    counts = count_rows(keys.left, keys.count), count_rows(keys.right, keys.count)
    shared = np.flatnonzero((counts[0] > 0) & (counts[1] > 0))
    chosen = shared[choose_keys(counts[0][shared], counts[1][shared])]
    number = np.full(keys.count + 1, NO_CODE)
    number[chosen] = np.arange(len(chosen))
    left, right = (_some_rows(number[codes]) for codes in (keys.left, keys.right))
    return MatchedRows(left, number[keys.left[left]], right, number[keys.right[right]])


def choose_keys(left_rows: Array, right_rows: Array) -> Array:
    """Positions of keys with so many rows: half of them repeated in both tables, as far as these
    go; together about as many rows as a sample has."""
    random = np.random.default_rng(0)
    order = random.permutation(len(left_rows))
    repeated = (left_rows[order] > 1) & (right_rows[order] > 1)
    halves = order[repeated], order[~repeated]
    turns = np.concatenate([2 * np.arange(len(halves[0])), 2 * np.arange(len(halves[1])) + 1])
    order = np.concatenate(halves)[np.argsort(turns, kind="stable")]
    total = np.cumsum(np.maximum(left_rows, right_rows)[order])
    return np.asarray(order[: max(1, int(np.searchsorted(total, _SAMPLED)))])


def _some_rows(keys: Array) -> Array:
    """The rows with a key, or as many of them as a sample has."""
    rows = np.flatnonzero(keys >= 0)
    if len(rows) <= _SAMPLED:
        return rows
    return np.sort(np.random.default_rng(1).choice(rows, _SAMPLED, replace=False))


def extend_key(
    left: CodedTable,
    right: CodedTable,
    rows: MatchedRows,
    used: tuple[Sequence[int], Sequence[int]],
) -> KeyExtension | None:
    """The further columns that make a key unique, or multiply rows less; None if there are none.

    `used` are the columns of the key itself.
    """
    sample = _Sample(left, right, rows, used)
    base = sample.count_matches(())
    if not base.left or base.most_matches <= _UNIQUE:
        return None
    every = sorted(sample.agreeing_pairs(), key=lambda pair: pair.order)
    pairs = [pair for pair in every if not pair.is_last_resort]
    if base.matches <= _UNIQUE:
        return _make_one_to_one(sample, base, pairs)
    chosen = _drop_idle(sample, _grow(sample, base, pairs))
    after = sample.count_matches(chosen)
    if after.matches > _UNIQUE:
        completed = _complete(sample, base, every)
        chosen = completed or tuple(pair for pair in chosen if pair.is_telling)
        after = sample.count_matches(chosen)
    if not chosen or after.matches > max(_UNIQUE, _LESS * base.matches):
        return None
    if after.most_matches > _UNIQUE >= after.matches:
        further = _make_one_to_one(sample, after, pairs, chosen)
        if further is not None:
            return replace(further, before=base.matches)
    indexes = tuple((pair.left, pair.right) for pair in chosen)
    return KeyExtension(indexes, after.matches, base.matches, max(pair.nats for pair in chosen))


def _complete(sample: _Sample, base: _Matches, pairs: Sequence[_Pair]) -> tuple[_Pair, ...]:
    """Pairs that make a key unique in one table, even if neither names nor chance support all
    of them; empty if there are no such pairs.

    Completing a key of a table is evidence by itself: the shop and the week of a product, when
    every shop has every week. They must agree in all rows, or more often than by chance.
    """
    chosen = _drop_idle(sample, _grow(sample, base, pairs, resort=True))
    after = sample.count_matches(chosen)
    if after.matches > _UNIQUE:
        return ()
    some = all(pair.nats >= _NATS or pair.similarity >= SHORTENED for pair in chosen)
    return chosen if after.keeps(base) >= (_SOME_OF_ONE if some else _ENTIRELY) else ()


def _make_one_to_one(
    sample: _Sample, base: _Matches, pairs: Sequence[_Pair], before: tuple[_Pair, ...] = ()
) -> KeyExtension | None:
    """Extend a key that is unique in one table, if that makes it unique in the other: a city has
    namesakes in other countries. A reference to many rows stays as it is. The key has the pairs of
    `before` already."""
    telling = [
        pair
        for pair in pairs
        if pair.is_telling
        and not pair.is_measure
        and pair.share >= (_MOST if pair.similarity >= SAME else _ALL)
    ]
    chosen = _drop_idle(sample, _grow(sample, base, telling, both=True, before=before))
    after = sample.count_matches(chosen)
    least = _ENTIRELY if before else _ALL_OF_ONE
    if after.most_matches > _NEARLY_ONE or after.keeps(base) < least:
        return None
    if not any(pair.is_certain for pair in chosen if pair not in before):
        return None
    indexes = tuple((pair.left, pair.right) for pair in chosen)
    nats = max(pair.nats for pair in chosen)
    return KeyExtension(indexes, after.matches, base.most_matches, nats)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A pair of columns, by the position of its codes and its indexes in both tables."""

    positions: tuple[int, int]
    left: int
    right: int
    share: float  # of the matching rows that agree
    nats: float
    similarity: float  # of the names
    is_measure: bool
    is_last_resort: bool = False  # only if nothing else makes a key

    @property
    def may_complete(self) -> bool:
        """Whether it may be part of a key that nothing else completes: it agrees in all rows, or in
        some and almost never by chance."""
        return self.share >= _ENTIRELY or (self.nats >= _MANY_NATS and not self.is_measure)

    @property
    def is_telling(self) -> bool:
        """Whether rows of other keys agree less, or the names match."""
        return self.nats >= _NATS or self.similarity >= SAME

    @property
    def is_certain(self) -> bool:
        """Whether the names are similar, or it agrees in all rows and not by chance."""
        entirely = self.share >= _ENTIRELY and self.nats >= _MANY_NATS
        return self.similarity >= SHORTENED or entirely

    @property
    def order(self) -> tuple[bool, float, float, int, int]:
        """The sort key: the pair to try first has the smallest."""
        return self.is_measure, -self.similarity, -self.nats, *self.positions


@dataclass(frozen=True, slots=True)
class _Matches:
    """How many rows of both tables match, and in how many pairs."""

    left: int
    right: int
    pairs: int

    @property
    def matches(self) -> float:
        """Matches per row, of the table where it is smaller."""
        return self.pairs / max(1, self.left, self.right)

    @property
    def most_matches(self) -> float:
        """Matches per row, of the table where it is larger."""
        return self.pairs / max(1, min(self.left, self.right))

    def keeps(self, base: _Matches) -> float:
        """The share of the base's rows that still match, of the table where it is larger."""
        return max(self.left / max(1, base.left), self.right / max(1, base.right))


class _Sample:
    """The codes of the sampled rows, column by column."""

    def __init__(
        self,
        left: CodedTable,
        right: CodedTable,
        rows: MatchedRows,
        used: tuple[Sequence[int], Sequence[int]],
    ) -> None:
        self._tables = left, right
        self._columns = _further_columns(left, used[0]), _further_columns(right, used[1])
        self._keys = rows.left_keys, rows.right_keys
        self._codes = (
            left.codes_at(self._columns[0], rows.left),
            right.codes_at(self._columns[1], rows.right),
        )

    def count_matches(self, pairs: Sequence[_Pair]) -> _Matches:
        """Count the rows that match by the key and some pairs."""
        sides = []
        for side in (0, 1):
            codes, usable = _mix(self._keys[side]), np.ones(len(self._keys[side]), bool)
            for pair in pairs:
                own = self._codes[side][pair.positions[side]]
                codes, usable = _mix(own, codes), usable & (own != NO_CODE)
            sides.append(np.unique(codes[usable], return_counts=True))
        (left, left_rows), (right, right_rows) = sides
        _, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
        mine, theirs = left_rows[i], right_rows[j]
        return _Matches(int(mine.sum()), int(theirs.sum()), int((mine * theirs).sum()))

    def agreeing_pairs(self) -> Iterator[_Pair]:
        """The pairs of columns that are equal in matching rows."""
        if not all(map(len, self._columns)):
            return
        forth, forth_by_chance = self._agreement(0)
        back, back_by_chance = (matrix.T for matrix in self._agreement(1))
        share = np.maximum(forth, back)
        chance = np.where(forth >= back, forth_by_chance, back_by_chance)
        keys = len(np.unique(self._keys[0]))
        for i, j in np.argwhere(share >= _ALL_IF_SAME).tolist():
            pair = self._pair((i, j), float(share[i, j]), float(chance[i, j]), keys)
            if pair is not None:
                yield pair

    def _pair(
        self, positions: tuple[int, int], share: float, chance: float, keys: int
    ) -> _Pair | None:
        left, right = (own[at] for own, at in zip(self._columns, positions, strict=True))
        names = self._tables[0].names[left], self._tables[1].names[right]
        profiles = self._tables[0].profiles[left], self._tables[1].profiles[right]
        similarity = compare_names(*names).similarity
        in_time = all(map(is_time, profiles))
        if names[0].casefold() == names[1].casefold():
            similarity = SAME if in_time else max(similarity, CONTAINED)
        measure = are_measures(names, profiles)
        least = _ALL_IF_ALIKE if similarity >= CONTAINED else _ALL
        if similarity >= SAME and not measure:
            least = _ALL_IF_SAME
        nats = evidence(keys, share, max(LEAST_CHANCE, chance))
        believed = similarity >= SHORTENED or in_time or nats >= _NATS
        pair = _Pair(positions, left, right, share, nats, similarity, measure)
        if share >= least and believed:
            return pair
        return replace(pair, is_last_resort=True) if pair.may_complete else None

    def _agreement(self, side: int) -> tuple[Array, Array]:
        """For each pair of columns, own and other: the share of a table's rows with a matching row
        in the other table that is equal in them, and the share for rows of another key."""
        own_keys, own_codes = self._keys[side], self._codes[side]
        if len(own_keys) > _COMPARED:
            some = np.linspace(0, len(own_keys) - 1, _COMPARED).astype(np.int64)
            own_keys, own_codes = own_keys[some], own_codes[:, some]
        held, columns = self._holders(1 - side)
        count = 1 + int(max(own_keys.max(initial=0), self._keys[1 - side].max(initial=0)))
        other_keys = (own_keys + (count + 1) // 2) % count
        bits = np.arange(len(self._codes[1 - side]), dtype=np.uint64)
        shares = []
        for keys in (own_keys, other_keys):
            rows = []
            for codes in own_codes:
                known = codes != NO_CODE
                mixed = _mix(codes[known], _mix(keys[known]))
                at = np.minimum(np.searchsorted(held, mixed), max(0, len(held) - 1))
                found = np.where(held[at] == mixed, columns[at], 0) if len(held) else 0 * mixed
                equal = (found[:, None] >> bits) & np.uint64(1)
                rows.append(equal.mean(axis=0) if known.any() else np.zeros(len(bits)))
            shares.append(np.array(rows))
        return shares[0], shares[1]

    def _holders(self, side: int) -> tuple[Array, Array]:
        """The distinct (key, value) of a table, mixed and sorted, and a bit for each column that
        holds it."""
        keys = _mix(self._keys[side])
        mixed, bits = [], []
        for position, codes in enumerate(self._codes[side]):
            known = codes != NO_CODE
            mixed.append(_mix(codes[known], keys[known]))
            bits.append(np.full(int(known.sum()), 1 << position, np.uint64))
        cells, holders = np.concatenate(mixed), np.concatenate(bits)
        order = np.argsort(cells, kind="stable")
        cells, holders = cells[order], holders[order]
        starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])
        if not len(starts):
            return cells, holders
        return cells[starts], np.bitwise_or.reduceat(holders, starts)


def _grow(
    sample: _Sample,
    base: _Matches,
    pairs: Sequence[_Pair],
    both: bool = False,
    before: tuple[_Pair, ...] = (),
    resort: bool = False,
) -> tuple[_Pair, ...]:
    """Add pairs one by one, as long as they multiply rows less, of one table or of `both`, and keep
    the matching rows; as a last `resort`, few of them."""
    chosen = before
    current = base.most_matches if both else base.matches
    while current > 1.0 and len(chosen) < _MOST_PAIRS:
        better = []
        for pair in _open_pairs(pairs, chosen)[: _TRIED * (1 + resort)]:
            grown = sample.count_matches((*chosen, pair))
            matches = grown.most_matches if both else grown.matches
            unique = matches <= _UNIQUE
            fewer = matches <= _LESS * current or unique
            least = pair.share / 2 if pair.similarity >= SAME or resort else _ALL * pair.share
            if fewer and grown.keeps(base) >= least and (unique or resort or not pair.is_measure):
                lost = round(1 - grown.keeps(base), 1)
                order = pair.is_measure, not unique, lost, matches, pair.order
                better.append((order, matches, pair))
        if not better:
            break
        _, current, pair = min(better, key=lambda entry: entry[0])
        chosen = (*chosen, pair)
    return chosen


def _open_pairs(pairs: Sequence[_Pair], chosen: Sequence[_Pair]) -> list[_Pair]:
    """The pairs whose columns are not in the key yet."""
    left, right = {pair.left for pair in chosen}, {pair.right for pair in chosen}
    return [pair for pair in pairs if pair.left not in left and pair.right not in right]


def _drop_idle(sample: _Sample, chosen: tuple[_Pair, ...]) -> tuple[_Pair, ...]:
    """Leave out the pairs that separate no rows once the later ones are there."""
    needed = sample.count_matches(chosen).pairs
    for pair in chosen:
        rest = tuple(other for other in chosen if other is not pair)
        if rest and sample.count_matches(rest).pairs <= needed:
            chosen = rest
    return chosen


def _further_columns(table: CodedTable, used: Sequence[int]) -> list[int]:
    """The columns that may be part of a key, without those that already are."""
    return [
        column
        for column, profile in enumerate(table.profiles)
        if column not in used
        and profile.type is not ColumnType.EMPTY
        and (profile.distinct > 1 or is_time(profile))  # an extract has a single year
        and profile.mean_length <= _LONG
    ][:_COLUMNS]


def _mix(codes: Array, into: Array | None = None) -> Array:
    """Mix codes into 64-bit hashes; a collision would only blur an estimate."""
    mixed = codes.astype(np.uint64)
    if into is not None:
        mixed = mixed ^ into
    mixed = (mixed + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))
