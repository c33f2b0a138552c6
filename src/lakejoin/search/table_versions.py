"""Find exact copies of the query table, and group copies and versions of result tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import NO_CELL, QueryTable
from lakejoin.model import Array, ColumnProfile, null_id, string_buffers
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL
from lakejoin.store.segment_tables import SegmentTables

if TYPE_CHECKING:
    from lakejoin.search.result import ResultLocation
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment


Name = tuple[str, int]  # of a column, and how many columns before it have the same name

COMPARED = 30  # best tables of an answer
_OF_FEWER, _OF_MORE = 0.8, 0.6  # shared columns, of the table with fewer and of the other
_ROWS = 0.5  # shared rows, of the larger table
_ROWS_ALONE = 0.8  # the same if there are only key columns
_CHANGED = 0.25  # of the cells that would differ between rows of other keys
_FEW_CHANGED = 0.05  # of all cells of a column: about this many may always differ
_LOOKED_AT = 50_000  # first rows of a table
_TAKEN = 128  # rows in a sample, approximately
_UNIQUE = 0.9  # distinct keys per row
_PARTS = 3  # columns of a key
_COLUMNS = 100


class TableVersions:
    """Groups versions of tables; caches what was read of each table."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], _Table] = {}

    def group(self, tables: Sequence[ResultLocation]) -> list[list[int]]:
        """Group the positions of tables: the first of a group is the best, the others are versions
        of it. Tables beyond `COMPARED` are groups of their own."""
        groups: list[list[int]] = []
        known = [self._table(location) for location in tables[:COMPARED]]
        for position, table in enumerate(known):
            matching = (group for group in groups if is_version(known[group[0]], table))
            group = next(matching, None)
            if group is None:
                groups.append([position])
            else:
                group.append(position)
        return groups + [[position] for position in range(len(known), len(tables))]

    def _table(self, location: ResultLocation) -> _Table:
        key = location.segment_index, location.table_index
        if key not in self._known:
            self._known[key] = _Table(location.segment, location.entry)
        return self._known[key]


def is_version(first: _Table, second: _Table) -> bool:
    few, many = sorted((first, second), key=lambda table: len(table.columns))
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
    # A newer version may have more columns. But if each has columns of its own, these must be
    # renamed ones: otherwise they are two tables about the same things.
    own = [name for name in few.columns if name not in many.columns and name not in few.constant]
    others = [name for name in many.columns if name not in few.columns]
    return all(any(pairs.alike([mine], [theirs]) for theirs in others) for mine in own)


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Sampled rows of a table: the hashes of their keys, ascending, and of their cells, one array
    row per column. One row in `2 ** level` was sampled, by its hash."""

    level: int
    keys: Array
    lines: dict[Name, int]
    cells: Array

    def at(self, columns: Sequence[Name], rows: Array) -> Array:
        lines = np.array([self.lines[name] for name in columns], np.int64)
        return np.asarray(self.cells[lines[:, None], rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The rows of two samples with the same key, and their share of the larger sample."""

    first: _Sample
    second: _Sample
    rows: tuple[Array, Array]
    share: float

    @classmethod
    def of(cls, first: _Sample, second: _Sample) -> _Pairs:
        """Pair two samples, using the rows that both levels would sample."""
        bound = _bound(max(first.level, second.level))
        sizes = [
            int(np.searchsorted(keys, bound, side="right")) for keys in (first.keys, second.keys)
        ]
        _, mine, theirs = np.intersect1d(
            first.keys[: sizes[0]], second.keys[: sizes[1]], assume_unique=True, return_indices=True
        )
        return cls(first, second, (mine, theirs), len(mine) / max(1, *sizes))

    def alike(self, ours: Sequence[Name], theirs: Sequence[Name]) -> bool:
        return are_alike(self.first.at(ours, self.rows[0]), self.second.at(theirs, self.rows[1]))


def are_alike(first: Array, second: Array) -> bool:
    """Whether nearly all cells of each column are equal, compared with how many would differ
    between other rows.

    >>> towns = np.arange(100)[None] % 20
    >>> are_alike(towns, np.where(np.arange(100) < 5, 99, towns)), are_alike(towns, towns[:, ::-1])
    (True, False)
    >>> mostly = np.where(np.arange(100) % 5 < 1, np.arange(100), 0)[None]
    >>> are_alike(mostly, mostly), are_alike(mostly, mostly[:, ::-1])
    (True, False)
    """
    rows = first.shape[1]
    few = _FEW_CHANGED * rows
    few += 2 * math.sqrt(few)  # sampling error
    differ = np.count_nonzero(first != second, axis=1)
    if (differ > max(_CHANGED * rows, few)).any():
        return False  # quick exit for most tables
    mixed = np.random.default_rng(0).permutation(rows)
    by_chance = np.count_nonzero(first != second[:, mixed], axis=1)
    return bool((differ <= np.maximum(_CHANGED * by_chance, few)).all())


class _Table:
    """A table of the index to compare."""

    def __init__(self, segment: Segment, entry: TableEntry) -> None:
        self.rows = entry.rows
        self._segment = segment
        self._entry = entry
        self._keys: dict[tuple[Name, ...], tuple[Name, ...]] = {}
        self._hashes: dict[tuple[Name, ...], Array] = {}
        self._samples: dict[tuple[Name, ...], _Sample] = {}

    @cached_property
    def columns(self) -> dict[Name, ColumnEntry]:
        before: Counter[str] = Counter()
        found = {}
        for column in self._segment.catalog.columns_of(self._entry)[:_COLUMNS]:
            name = column.name.strip().casefold()
            found[name, before[name]] = column
            before[name] += 1
        return found

    @cached_property
    def constant(self) -> frozenset[Name]:
        """The columns with the same value in all rows, if there are several rows."""
        profiles = ((name, column.profile) for name, column in self.columns.items())
        return frozenset(
            name
            for name, profile in profiles
            if self.rows > 1 and profile.distinct <= 1 and profile.nulls in (0, profile.rows)
        )

    def key(self, names: tuple[Name, ...]) -> tuple[Name, ...]:
        """Columns that identify rows, or none if the row number has to."""
        if names not in self._keys:
            distinct = {name: self.columns[name].profile.distinct for name in names}
            order = sorted(distinct, key=lambda name: -distinct[name])[:_PARTS]
            keys = (tuple(order[:parts]) for parts in range(1, len(order) + 1))
            self._keys[names] = next(filter(self._is_key, keys), ())
        return self._keys[names]

    def _is_key(self, key: tuple[Name, ...]) -> bool:
        return len(np.unique(self._hashed(key))) >= _UNIQUE * min(self.rows, _LOOKED_AT)

    def sample(self, key: tuple[Name, ...]) -> _Sample:
        """Sample rows by the hashes of their keys."""
        if key not in self._samples:
            hashes = _make_unique(self._hashed(key))
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
        """The hash of the key of each of the first rows."""
        if key not in self._hashes:
            rows = np.arange(min(self.rows, _LOOKED_AT))
            if key:
                codes = self._codes(self.columns[key[-1]].column_id, rows)
                distinct, inverse = np.unique(codes, return_inverse=True)
                before = self._hashed(key[:-1]) if len(key) > 1 else np.uint64(0)
                hashes = _mixed(before ^ self._hashes_of(distinct)[inverse])
            else:
                hashes = _mixed(rows.astype(np.uint64))
            self._hashes[key] = hashes
        return self._hashes[key]

    def _cells(self, rows: Array) -> Array:
        """The hashes of the cells of some rows, one array row per column."""
        codes = np.stack([self._codes(column.column_id, rows) for column in self.columns.values()])
        distinct, inverse = np.unique(codes, return_inverse=True)
        return self._hashes_of(distinct)[inverse].reshape(codes.shape)

    def _codes(self, column: int, rows: Array) -> Array:
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
        """The hashes of the values of codes, the same in all segments; 0 for a null."""
        from lakejoin.kernels.hashes import hash_strings

        known = codes != NULL
        hashes = np.empty(int(known.sum()), np.uint64)
        offsets, data = string_buffers(self._segment.dictionary.texts.take(codes[known]))
        hash_strings(offsets, data, np.uint64(0), hashes)
        found = np.zeros(len(codes), np.uint64)
        found[known] = hashes
        return found


def _bound(level: int) -> np.uint64:
    """The largest hash in a sample."""
    return np.uint64(((1 << 64) - 1) >> level)


def _make_unique(hashes: Array) -> Array:
    """Make hashes unique by mixing in how often each occurred before."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.diff(ordered, prepend=~ordered[:1]) != 0)
    times = np.empty(len(hashes), np.uint64)
    lengths = np.diff(np.append(first, len(hashes)))
    times[order] = np.arange(len(hashes)) - np.repeat(first, lengths)
    return np.where(times > 0, _mixed(hashes ^ times), hashes)


def _mixed(numbers: Array) -> Array:
    """Mix the bits of numbers (splitmix64), so that low ones are a random sample."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


_CHECKED = ("nulls", "distinct", "min_length", "max_length")


class Copies:
    """The copies of one table, found on demand; `column_index` is a column already encoded."""

    def __init__(
        self,
        segments: Sequence[Segment],
        places: Sequence[SegmentTables],
        query_table: QueryTable,
        column_index: int,
    ) -> None:
        self.query_table = query_table
        self.column_index = column_index
        self._segments = segments
        self._places = places
        self._known: dict[tuple[int, int], bool] = {}

    @property
    def home(self) -> tuple[int, int] | None:
        """(segment index, table index) of the query table, if it is in the lake."""
        return self.query_table.home

    def kind(self, segment: int, table: int) -> str:
        """`"itself"`, `"copy"`, or empty for any other table."""
        if (segment, table) == self.home:
            return "itself"
        return "copy" if self._is_copy(segment, table) else ""

    def all(self) -> list[Array]:
        """By segment, the live tables that are the query table or a copy of it."""
        copies = []
        for segment_index, segment in enumerate(self._segments):
            dead = set(segment.record.dead)
            tables = [
                table
                for table in self._likely(segment_index).tolist()
                if table not in dead and self.kind(segment_index, table)
            ]
            copies.append(np.array(tables, dtype=np.int64))
        return copies

    def _likely(self, segment_index: int) -> Array:
        """The tables of a segment whose shape and profiles are those of the query table."""
        places = self._places[segment_index]
        fits = (places.width == len(self.query_table.column_names)) & (
            places.rows == self.query_table.rows()
        )
        return self._alike(segment_index, np.flatnonzero(fits))

    def _alike(self, segment_index: int, tables: Array) -> Array:
        """The tables whose column profiles equal the query table's. Checks column by column, so
        that most columns of a file need not be encoded."""
        width = len(self.query_table.column_names)
        for column_index in [
            self.column_index,
            *(i for i in range(width) if i != self.column_index),
        ]:
            if not len(tables):
                break
            columns = self._places[segment_index].first[tables] + column_index
            tables = tables[
                self._fits(segment_index, columns, self.query_table.profile(column_index))
            ]
        return tables

    def _fits(self, segment_index: int, columns: Array, profile: ColumnProfile) -> Array:
        fits = np.ones(len(columns), dtype=bool)
        for name in _CHECKED:
            known = self._places[segment_index].profile(name)
            fits &= known[columns] == getattr(profile, name)
        return fits

    def _is_copy(self, segment: int, table: int) -> bool:
        key = (segment, table)
        if key not in self._known:
            places, width = self._places[segment], len(self.query_table.column_names)
            self._known[key] = (
                int(places.width[table]) == width
                and int(places.rows[table]) == self.query_table.rows()
                and len(self._alike(segment, np.array([table]))) == 1
                and all(self._same(segment, table, column_index) for column_index in range(width))
            )
        return self._known[key]

    def _same(self, segment_index: int, table: int, column_index: int) -> bool:
        """Whether a column equals that of a lake table, cell by cell."""
        segment, rows = self._segments[segment_index], self.query_table.rows()
        theirs = segment.rows.codes(
            int(self._places[segment_index].first[table]) + column_index, rows
        )
        home = self.home
        if home is not None and home[0] == segment_index:
            own = int(self._places[segment_index].first[home[1]]) + column_index
            return np.array_equal(segment.rows.codes(own, rows), theirs)
        tokens, cells = self.query_table.cells(column_index)
        codes = segment.dictionary.find(tokens)
        if (codes == NOT_FOUND).any():
            return False  # else an unknown value would look like a null
        null = cells == NO_CELL
        mine = np.append(codes, NO_CELL)[np.where(null, len(codes), cells)]
        return np.array_equal(mine, theirs)
