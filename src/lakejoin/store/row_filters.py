"""Row filters: the ways to hash a text to the bits of a super key.

A filter is *fitted* to a segment when its super keys are built, and *opened* from the arrays it
left in the file, so that a query's values are hashed like the segment's own. Its parameters belong
to one segment, because rows are matched inside a segment, which never changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile
from lakejoin.store.catalog import Catalog
from lakejoin.store.dictionary import Dictionary
from lakejoin.store.postings import Postings
from lakejoin.store.rows import Rows

if TYPE_CHECKING:
    from lakejoin.kernels.superkey_rows import ValueBits

MOST_HASHES = 255
ENOUGH_HASHES = 24  # all set by chance in less than one row in ten million
_SLICE = 1 << 20  # values hashed at once
_CACHED = 1 << 14  # values whose 64-bit hashes fit the cache


class ValueSource(Protocol):
    """What super keys are built from: a `lakejoin.store.segment.Segment`."""

    @property
    def column_count(self) -> int:
        """The number of columns of the segment."""

    @property
    def indexed(self) -> Array:
        """Whether each column is searched."""

    @property
    def catalog(self) -> Catalog:
        """The tables and columns."""

    @property
    def dictionary(self) -> Dictionary:
        """Maps values to codes and back."""

    @property
    def rows(self) -> Rows:
        """The rows as value ids."""

    @property
    def postings(self) -> Postings:
        """The inverted index."""


@dataclass(frozen=True, slots=True)
class XashFeatures:
    """Which features of XASH are used: all, except to measure the effect of each."""

    length: bool = True
    characters: bool = True
    location: bool = True
    rotation: bool = True


class RowFilter(Protocol):
    """Hashes the values of one segment."""

    @classmethod
    def fit(cls, kind: str, bits: int, source: ValueSource, parts: XashFeatures) -> Self:
        """Fit a filter to the values and tables of a segment."""

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> Self:
        """Open the filter whose arrays are in a file."""

    @property
    def words(self) -> int:
        """The number of 64-bit words of a hash."""

    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `opened` needs."""

    def groups(self, tables: int) -> Array:
        """The group of each table; tables of one group hash values alike."""

    def hash_texts(self, offsets: Array, data: Array, table: int, out: Array) -> None:
        """Write the hashes of texts for a table to `out`."""

    def marks(self, source: ValueSource) -> ValueBits:
        """The bits that each searched value of the segment adds to a row."""


def searched_texts(source: ValueSource) -> Iterator[tuple[int, Array, Array]]:
    """(position, offsets, bytes) of the texts in searched columns, a slice at a time."""
    texts = source.dictionary.texts
    first = source.postings.unsearched
    for begin in range(first, len(texts), _SLICE):
        span = texts.spans(np.arange(begin, min(begin + _SLICE, len(texts))))
        yield begin - first, np.append(span[:, 0], span[-1, 1]), texts.bytes_at(span)


def _read_only(array: Array) -> Array:
    """A read-only view, like mapped arrays, so that compiled code sees one type."""
    view = array.view()
    view.flags.writeable = False
    return view


def _marks_of_keys(row_filter: RowFilter, source: ValueSource) -> ValueBits:
    """The hashes of all searched values."""
    from lakejoin.kernels.superkey_rows import ValueBits

    first = source.postings.unsearched
    keys = np.empty((len(source.dictionary) - first, row_filter.words), dtype=np.uint64)
    for begin, offsets, data in searched_texts(source):
        row_filter.hash_texts(offsets, data, 0, keys[begin : begin + len(offsets) - 1])
    return ValueBits(first, keys, np.zeros(0, np.uint64), np.zeros(0, np.uint8))


def ones_needed(bits: int, values: int) -> int:
    """The number of ones a hash needs to distinguish this many values (the paper's equation 5).

    At least two: one for the length and one for a character.

    >>> ones_needed(128, 700_000_000), ones_needed(512, 1_000_000), ones_needed(128, 3)
    (6, 3, 2)
    """
    return next(a for a in range(2, bits) if math.comb(bits, a) > values)


def best_hash_count(bits: int, values: float, most: int = MOST_HASHES) -> int:
    """The number of hash functions that filters best for rows with this many values.

    >>> best_hash_count(128, 5), best_hash_count(128, 26), best_hash_count(128, 1000), best_hash_count(512, 1)
    (18, 3, 1, 255)
    """
    return min(most, max(1, round(bits / max(values, 1) * math.log(2))))


def searched_columns(source: ValueSource) -> Array:
    """The number of searched columns of each table."""
    return _summed(source, source.indexed)


def searched_values(source: ValueSource) -> Array:
    """The average number of non-null values in searched columns per row, for each table."""
    columns = source.catalog.columns
    rows, nulls = columns["rows"].to_numpy(), columns["nulls"].to_numpy()
    return _summed(source, np.where(source.indexed, 1 - nulls / np.maximum(rows, 1), 0))


def _summed(source: ValueSource, by_column: Array) -> Array:
    """The sum over the columns of each table."""
    first = source.catalog.tables["first"].to_numpy()
    before = np.concatenate(([0], np.cumsum(by_column)))
    return np.asarray(before[np.append(first[1:], source.column_count)] - before[first])


@dataclass(frozen=True, eq=False)
class XashFilter:
    """XASH: the paper's hash, see `lakejoin.kernels.xash`.

    `rank_of` has the rank of each character class, the rarest in the segment's searched values
    first (counting every character of every distinct value; ties in character order).
    """

    bits: int
    rank_of: Array
    numbers: (
        Array  # beta, shades, rarest, length segment, with length, rotation: as in `XashParameters`
    )

    @classmethod
    def fit(cls, kind: str, bits: int, source: ValueSource, parts: XashFeatures) -> XashFilter:
        """Derive alpha and the character ranks from the segment's searched values."""
        from lakejoin.kernels.xash import CLASS_CHARACTERS, CLASSES, count_classes

        del kind
        counts = np.zeros(CLASSES, dtype=np.int64)
        for _, offsets, data in searched_texts(source):
            count_classes(offsets, data, counts)
        order = sorted(range(CLASSES), key=lambda c: (counts[c], CLASS_CHARACTERS[c]))
        rank_of = np.empty(CLASSES, dtype=np.uint8)
        rank_of[order] = np.arange(CLASSES)
        alpha = ones_needed(bits, len(source.dictionary) - source.postings.unsearched)
        return cls(bits, rank_of, xash_numbers(bits, alpha, parts))

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> XashFilter:
        """Open it from `rank` and `numbers`."""
        return cls(bits, file.array("rank").all(), file.array("numbers").all())

    @property
    def words(self) -> int:
        """The number of 64-bit words of a hash."""
        return self.bits // 64

    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `opened` needs."""
        return {"rank": self.rank_of, "numbers": self.numbers}

    def groups(self, tables: int) -> Array:
        """All tables are in one group."""
        return np.zeros(tables, dtype=np.int64)

    def hash_texts(self, offsets: Array, data: Array, table: int, out: Array) -> None:
        """Write the hashes of texts to `out`."""
        from lakejoin.kernels.xash import XashParameters, xash_texts

        layout = XashParameters(_read_only(self.rank_of), *self.numbers.tolist())
        xash_texts(_read_only(offsets), _read_only(data), layout, out)

    def marks(self, source: ValueSource) -> ValueBits:
        """The hashes of all searched values."""
        return _marks_of_keys(self, source)


def xash_numbers(bits: int, alpha: int, parts: XashFeatures) -> Array:
    """The layout of a hash of `bits` with `alpha` ones (equation 6), as in `XashParameters`.

    >>> xash_numbers(128, 6, XashFeatures()).tolist()
    [3, 3, 5, 17, 1, 1]
    """
    from lakejoin.kernels.xash import CLASSES

    beta = (bits - 1) // CLASSES
    shades = beta if parts.location else 1
    rarest = alpha - 1 if parts.characters else 0
    rest = bits - CLASSES * beta
    return np.array([beta, shades, rarest, rest, parts.length, parts.rotation], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BloomFilter:
    """A Bloom filter; `hashes` is the number of hash functions, one for all tables or one each."""

    bits: int
    hashes: Array

    @classmethod
    def fit(cls, kind: str, bits: int, source: ValueSource, parts: XashFeatures) -> BloomFilter:
        """Choose the number of functions. `bloom`: best for the average table; `fitted`: best for
        each table's own rows; `lhbf`: two; `hash`: one."""
        del parts
        if kind == "fitted":
            counts = [
                best_hash_count(bits, v, ENOUGH_HASHES) for v in searched_values(source).tolist()
            ]
            return cls(bits, np.array(counts, dtype=np.uint8))
        fixed = {"lhbf": 2, "hash": 1}.get(kind)
        columns = searched_columns(source)
        average = float(columns.mean()) if len(columns) else 1.0
        return cls(bits, np.array([fixed or best_hash_count(bits, average)], dtype=np.uint8))

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> BloomFilter:
        """Open it from `hashes`."""
        return cls(bits, file.array("hashes").all())

    @property
    def words(self) -> int:
        """The number of 64-bit words of a hash."""
        return self.bits // 64

    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `opened` needs."""
        return {"hashes": self.hashes}

    def groups(self, tables: int) -> Array:
        """The number of hash functions, if tables differ in it."""
        by_table = len(self.hashes) > 1
        return self.hashes.astype(np.int64) if by_table else np.zeros(tables, dtype=np.int64)

    def hash_texts(self, offsets: Array, data: Array, table: int, out: Array) -> None:
        """Write the hashes of texts for a table to `out`."""
        from lakejoin.kernels.hashes import hash_strings
        from lakejoin.kernels.superkey_rows import write_hash_bits

        hashes = int(self.hashes[table if len(self.hashes) > 1 else 0])
        room = np.empty(min(len(out), _CACHED), dtype=np.uint64)
        for begin in range(0, len(out), _CACHED):
            batch = out[begin : begin + _CACHED]
            values = room[: len(batch)]
            hash_strings(offsets[begin : begin + len(batch) + 1], data, np.uint64(0), values)
            write_hash_bits(values, hashes, batch)

    def marks(self, source: ValueSource) -> ValueBits:
        """The hashes of all searched values; 64 bits each if tables differ."""
        from lakejoin.kernels.hashes import hash_strings
        from lakejoin.kernels.superkey_rows import ValueBits

        if len(self.hashes) <= 1:
            return _marks_of_keys(self, source)
        first = source.postings.unsearched
        values = np.empty(len(source.dictionary) - first, dtype=np.uint64)
        for begin, offsets, data in searched_texts(source):
            batch = values[begin : begin + len(offsets) - 1]
            hash_strings(offsets, data, np.uint64(0), batch)
        return ValueBits(first, np.zeros((0, self.words), np.uint64), values, np.array(self.hashes))


@dataclass(frozen=True, eq=False)
class SimHashFilter:
    """SimHash of a text's n-grams: about half of the bits are ones, so it hardly filters."""

    bits: int

    @classmethod
    def fit(cls, kind: str, bits: int, source: ValueSource, parts: XashFeatures) -> SimHashFilter:
        """Nothing to fit."""
        del kind, source, parts
        return cls(bits)

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> SimHashFilter:
        """Nothing is stored in the file."""
        del file
        return cls(bits)

    @property
    def words(self) -> int:
        """The number of 64-bit words of a hash."""
        return self.bits // 64

    def arrays(self) -> Mapping[str, Array]:
        """No arrays."""
        return {}

    def groups(self, tables: int) -> Array:
        """All tables are in one group."""
        return np.zeros(tables, dtype=np.int64)

    def hash_texts(self, offsets: Array, data: Array, table: int, out: Array) -> None:
        """Write the hashes of texts to `out`."""
        from lakejoin.kernels.superkey_rows import simhash_texts

        simhash_texts(_read_only(offsets), _read_only(data), out)

    def marks(self, source: ValueSource) -> ValueBits:
        """The hashes of all searched values."""
        return _marks_of_keys(self, source)


FILTERS: Mapping[str, type[RowFilter]] = {
    "xash": XashFilter,
    "bloom": BloomFilter,
    "fitted": BloomFilter,
    "lhbf": BloomFilter,
    "hash": BloomFilter,
    "simhash": SimHashFilter,
}
FILTER_KINDS = tuple(FILTERS)
