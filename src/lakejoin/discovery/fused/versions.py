"""Which tables are the same one again: copies, and older or newer versions?

Two tables are versions of one if they have nearly the same columns and most of their rows: rows
with the same key are put beside each other, and in each column nearly all cells are the same. A
table of another year has the same keys and other figures, and is none; nor is one with the same
columns and other keys. Files' names say nothing.

Bounded work: of each table some rows are looked at, the same ones of all tables. A row is taken if
the hash of its key is low, so that two tables take the same rows where both have them. The key is
a column, or up to three, of nearly as many values as there are rows; where there is none, it is the
number of the row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import null_id
from lakejoin.store.dictionary import string_buffers
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.search.result import Found
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]
Name = tuple[str, int]  # of a column, and how many of that name stand before it

COMPARED = 30  # tables, the best of an answer
_OF_FEWER, _OF_MORE = 0.8, 0.6  # columns that both have, of the table with fewer and of the other
_ROWS = 0.5  # that both have, of the table with more
_ROWS_ALONE = 0.8  # where no column tells more than the key does
_CHANGED = 0.25  # of the cells that would differ between rows of other keys
_FEW_CHANGED = 0.05  # of all cells of a column: about so few may differ in any case
_LOOKED_AT = 50_000  # rows, the first of a table
_TAKEN = 128  # rows at most, about
_UNIQUE = 0.9  # values for each row
_PARTS = 3  # of a key
_COLUMNS = 100


class Versions:
    """Tells versions from other tables; what was looked at of a table is kept."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], _Table] = {}

    def grouped(self, tables: Sequence[Found]) -> list[list[int]]:
        """Places of tables, those of one group together: the first is the best, the others are
        versions of it. All beyond `COMPARED` are groups of their own."""
        groups: list[list[int]] = []
        known = [self._table(one) for one in tables[:COMPARED]]
        for place, table in enumerate(known):
            of = (group for group in groups if is_version(known[group[0]], table))
            group = next(of, None)
            if group is None:
                groups.append([place])
            else:
                group.append(place)
        return groups + [[place] for place in range(len(known), len(tables))]

    def _table(self, found: Found) -> _Table:
        place = found.number, found.table
        if place not in self._known:
            self._known[place] = _Table(found.segment, found.entry)
        return self._known[place]


def is_version(one: _Table, other: _Table) -> bool:
    """Whether two tables are versions of one."""
    few, many = sorted((one, other), key=lambda table: len(table.columns))
    common = [name for name in few.columns if name in many.columns]
    if len(common) < max(_OF_FEWER * len(few.columns), _OF_MORE * len(many.columns)):
        return False
    if min(few.rows, many.rows) < max(1, _ROWS * max(few.rows, many.rows)):
        return False
    telling = tuple(n for n in common if not (n in few.constant and n in many.constant))
    if not telling:
        return False
    key = (few if few.rows <= many.rows else many).key(telling)
    pairs = _Pairs.of(few.sample(key), many.sample(key))
    columns = [name for name in telling if name not in key]
    if pairs.share < (_ROWS if columns else _ROWS_ALONE) or not pairs.alike(columns, columns):
        return False
    # What only one of them has is new; but if each has columns of its own, these must be the same
    # by another name: else they are two tables about the same things.
    own = [name for name in few.columns if name not in many.columns and name not in few.constant]
    others = [name for name in many.columns if name not in few.columns]
    return all(any(pairs.alike([mine], [theirs]) for theirs in others) for mine in own)


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Rows of a table: the hashes of their keys, ascending, and of their cells, a line for each
    column. One row in `2 ** level` was taken, by its hash."""

    level: int
    keys: Array
    lines: dict[Name, int]
    cells: Array

    def at(self, columns: Sequence[Name], rows: Array) -> Array:
        """The cells of some columns and rows."""
        lines = np.array([self.lines[name] for name in columns], np.int64)
        return np.asarray(self.cells[lines[:, None], rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The rows of two samples that have the same key, and their share of the larger one's."""

    one: _Sample
    other: _Sample
    rows: tuple[Array, Array]
    share: float

    @classmethod
    def of(cls, one: _Sample, other: _Sample) -> _Pairs:
        """The pairs of two samples, of the rows that both would have taken."""
        bound = _bound(max(one.level, other.level))
        sizes = [int(np.searchsorted(keys, bound, side="right")) for keys in (one.keys, other.keys)]
        _, mine, theirs = np.intersect1d(
            one.keys[: sizes[0]], other.keys[: sizes[1]], assume_unique=True, return_indices=True
        )
        return cls(one, other, (mine, theirs), len(mine) / max(1, *sizes))

    def alike(self, ours: Sequence[Name], theirs: Sequence[Name]) -> bool:
        """Whether some columns are alike, one by one."""
        return alike(self.one.at(ours, self.rows[0]), self.other.at(theirs, self.rows[1]))


def alike(one: Array, other: Array) -> bool:
    """Whether in each line nearly all cells are the same, measured by how many would differ if
    they were those of other rows.

    >>> towns = np.arange(100)[None] % 20
    >>> alike(towns, np.where(np.arange(100) < 5, 99, towns)), alike(towns, towns[:, ::-1])
    (True, False)
    >>> mostly = np.where(np.arange(100) % 5 < 1, np.arange(100), 0)[None]
    >>> alike(mostly, mostly), alike(mostly, mostly[:, ::-1])
    (True, False)
    """
    rows = one.shape[1]
    few = _FEW_CHANGED * rows
    few += 2 * math.sqrt(few)  # as many as there may be of so few, in a sample
    differ = np.count_nonzero(one != other, axis=1)
    if (differ > max(_CHANGED * rows, few)).any():
        return False  # at once, as of most: by chance no more than all of them differ
    mixed = np.random.default_rng(0).permutation(rows)
    by_chance = np.count_nonzero(one != other[:, mixed], axis=1)
    return bool((differ <= np.maximum(_CHANGED * by_chance, few)).all())


class _Table:
    """A table of the index, as far as it is compared."""

    def __init__(self, segment: Segment, entry: TableEntry) -> None:
        self.rows = entry.rows
        self._segment = segment
        self._entry = entry
        self._keys: dict[tuple[Name, ...], tuple[Name, ...]] = {}
        self._hashes: dict[tuple[Name, ...], Array] = {}
        self._samples: dict[tuple[Name, ...], _Sample] = {}

    @cached_property
    def columns(self) -> dict[Name, ColumnEntry]:
        """The columns by name; of those that have the same name, the second is another."""
        before: Counter[str] = Counter()
        found = {}
        for column in self._segment.catalog.columns_of(self._entry)[:_COLUMNS]:
            name = column.name.strip().casefold()
            found[name, before[name]] = column
            before[name] += 1
        return found

    @cached_property
    def constant(self) -> frozenset[Name]:
        """The columns that have the same value in all rows, if there are several."""
        profiles = ((name, column.profile) for name, column in self.columns.items())
        return frozenset(
            name
            for name, one in profiles
            if self.rows > 1 and one.distinct <= 1 and one.nulls in (0, one.rows)
        )

    def key(self, names: tuple[Name, ...]) -> tuple[Name, ...]:
        """Some columns that tell rows apart, or none where rows have to be told by their number."""
        if names not in self._keys:
            distinct = {name: self.columns[name].profile.distinct for name in names}
            order = sorted(distinct, key=lambda name: -distinct[name])[:_PARTS]
            keys = (tuple(order[:parts]) for parts in range(1, len(order) + 1))
            self._keys[names] = next(filter(self._is_key, keys), ())
        return self._keys[names]

    def _is_key(self, key: tuple[Name, ...]) -> bool:
        return len(np.unique(self._hashed(key))) >= _UNIQUE * min(self.rows, _LOOKED_AT)

    def sample(self, key: tuple[Name, ...]) -> _Sample:
        """Rows that are taken by the hashes of their keys."""
        if key not in self._samples:
            hashes = _told_apart(self._hashed(key))
            level = max(0, (len(hashes) - 1) // _TAKEN).bit_length()
            taken = np.flatnonzero(hashes <= _bound(level))
            taken = taken[np.argsort(hashes[taken])]
            self._samples[key] = _Sample(
                level,
                hashes[taken],
                {name: line for line, name in enumerate(self.columns)},
                self._cells(taken),
            )
        return self._samples[key]

    def _hashed(self, key: tuple[Name, ...]) -> Array:
        """A hash of the key of each row that is looked at."""
        if key not in self._hashes:
            rows = np.arange(min(self.rows, _LOOKED_AT))
            if key:
                codes = self._codes(self.columns[key[-1]].number, rows)
                distinct, places = np.unique(codes, return_inverse=True)
                before = self._hashed(key[:-1]) if len(key) > 1 else np.uint64(0)
                hashes = _mixed(before ^ self._hashes_of(distinct)[places])
            else:
                hashes = _mixed(rows.astype(np.uint64))
            self._hashes[key] = hashes
        return self._hashes[key]

    def _cells(self, rows: Array) -> Array:
        """The hashes of some rows' cells, a line for each column."""
        codes = np.stack([self._codes(one.number, rows) for one in self.columns.values()])
        distinct, places = np.unique(codes, return_inverse=True)
        return self._hashes_of(distinct)[places].reshape(codes.shape)

    def _codes(self, column: int, rows: Array) -> Array:
        """The codes of some rows of a column."""
        kept = self._segment.rows
        cells, ids = kept.local(column, self._entry.rows)
        if cells is None:
            return kept.codes_of(ids[rows])
        some = cells[rows]
        known = some != null_id(cells.dtype)
        codes = np.full(len(rows), NULL)
        codes[known] = ids[some[known]]
        return kept.codes_of(codes)

    def _hashes_of(self, codes: Array) -> Array:
        """The hashes of codes' values, the same in all segments; 0 for a null."""
        from lakejoin.kernels.hashing import hash_strings

        known = codes != NULL
        hashes = np.empty(int(known.sum()), np.uint64)
        offsets, data = string_buffers(self._segment.dictionary.texts.take(codes[known]))
        hash_strings(offsets, data, np.uint64(0), hashes)
        found = np.zeros(len(codes), np.uint64)
        found[known] = hashes
        return found


def _bound(level: int) -> np.uint64:
    """The largest hash that is taken."""
    return np.uint64(((1 << 64) - 1) >> level)


def _told_apart(hashes: Array) -> Array:
    """Hashes, other ones for those that were there before: by how many times they were."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]) != 0)
    times = np.empty(len(hashes), np.uint64)
    lengths = np.diff(np.append(first, len(hashes)))
    times[order] = np.arange(len(hashes)) - np.repeat(first, lengths)
    return np.where(times > 0, _mixed(hashes ^ times), hashes)


def _mixed(numbers: Array) -> Array:
    """Numbers whose bits are mixed (splitmix64), so that low ones are a sample of all."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))
