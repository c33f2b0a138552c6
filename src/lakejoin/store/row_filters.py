"""The row filter: hashes a text to the bits of a super key.

A filter is *fitted* to a segment when its super keys are built, and *opened* from the arrays it
left in the file, so that a query's values are hashed like the segment's own. Its parameters belong
to one segment, because rows are matched inside a segment, which never changes.

The index uses a Bloom filter with the best number of hash functions for each table. The paper's
XASH and the filters it was compared with are in `benchmarks/published/row_filters.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np

from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile
from lakejoin.store.catalog import Catalog
from lakejoin.store.dictionary import Dictionary
from lakejoin.store.postings import Postings
from lakejoin.store.rows import Rows

if TYPE_CHECKING:
    from lakejoin.kernels.superkey_rows import ValueBits

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


class RowFilter(Protocol):
    """Hashes the values of one segment; `kind` is its name in the index."""

    kind: ClassVar[str]

    @classmethod
    def fit(cls, bits: int, source: ValueSource) -> Self:
        """Fit a filter to the values and tables of a segment."""

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> Self:
        """Open the filter whose arrays are in a file."""

    @property
    def words(self) -> int:
        """The number of 64-bit words of a hash."""

    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `open` needs."""

    def groups(self, tables: int) -> Array:
        """The group of each table; tables of one group hash values alike."""

    def hash_texts(self, offsets: Array, data: Array, table: int, out: Array) -> None:
        """Write the hashes of texts for a table to `out`."""

    def value_bits(self, source: ValueSource) -> ValueBits:
        """The bits that each searched value of the segment adds to a row."""


def searched_texts(source: ValueSource) -> Iterator[tuple[int, Array, Array]]:
    """(position, offsets, bytes) of the texts in searched columns, a slice at a time."""
    texts = source.dictionary.texts
    first = source.postings.unsearched
    for begin in range(first, len(texts), _SLICE):
        span = texts.spans(np.arange(begin, min(begin + _SLICE, len(texts))))
        yield begin - first, np.append(span[:, 0], span[-1, 1]), texts.bytes_at(span)


def bits_from_hashes(row_filter: RowFilter, source: ValueSource) -> ValueBits:
    """The bits of a filter that hashes values alike for all tables: the hash of each."""
    from lakejoin.kernels.superkey_rows import ValueBits

    first = source.postings.unsearched
    keys = np.empty((len(source.dictionary) - first, row_filter.words), dtype=np.uint64)
    for begin, offsets, data in searched_texts(source):
        row_filter.hash_texts(offsets, data, 0, keys[begin : begin + len(offsets) - 1])
    return ValueBits(first, keys, np.zeros(0, np.uint64), np.zeros(0, np.uint8))


def best_hash_count(bits: int, values: float, most: int = ENOUGH_HASHES) -> int:
    """The number of hash functions that filters best for rows with this many values.

    >>> [best_hash_count(128, values) for values in (1, 5, 26, 1000)]
    [24, 18, 3, 1]
    """
    return min(most, max(1, round(bits / max(values, 1) * math.log(2))))


def searched_values(source: ValueSource) -> Array:
    """The average number of non-null values in searched columns per row, for each table."""
    columns = source.catalog.columns
    rows, nulls = columns["rows"].to_numpy(), columns["nulls"].to_numpy()
    return sum_by_table(source, np.where(source.indexed, 1 - nulls / np.maximum(rows, 1), 0))


def sum_by_table(source: ValueSource, by_column: Array) -> Array:
    """The sum over the columns of each table."""
    first = source.catalog.tables["first"].to_numpy()
    before = np.concatenate(([0], np.cumsum(by_column)))
    return np.asarray(before[np.append(first[1:], source.column_count)] - before[first])


@dataclass(frozen=True, eq=False)
class BloomFilter:
    """A Bloom filter; `hashes` is the number of hash functions, one for all tables or one each."""

    bits: int
    hashes: Array
    kind: ClassVar[str] = "fitted"

    @classmethod
    def fit(cls, bits: int, source: ValueSource) -> Self:
        """Choose the number of functions that is best for each table's own rows."""
        counts = [best_hash_count(bits, values) for values in searched_values(source).tolist()]
        return cls(bits, np.array(counts, dtype=np.uint8))

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> Self:
        """Open it from `hashes`."""
        return cls(bits, file.array("hashes").all())

    @property
    def words(self) -> int:
        """The number of 64-bit words of a hash."""
        return self.bits // 64

    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `open` needs."""
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

    def value_bits(self, source: ValueSource) -> ValueBits:
        """The hashes of all searched values; 64 bits each if tables differ."""
        from lakejoin.kernels.hashes import hash_strings
        from lakejoin.kernels.superkey_rows import ValueBits

        if len(self.hashes) <= 1:
            return bits_from_hashes(self, source)
        first = source.postings.unsearched
        values = np.empty(len(source.dictionary) - first, dtype=np.uint64)
        for begin, offsets, data in searched_texts(source):
            batch = values[begin : begin + len(offsets) - 1]
            hash_strings(offsets, data, np.uint64(0), batch)
        return ValueBits(first, np.zeros((0, self.words), np.uint64), values, np.array(self.hashes))
