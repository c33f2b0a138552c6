"""Super keys: a few bits per row that rule out values that are not in it.

Every value of a searched column has a hash with a few bits set, and a row's *super key* is the OR
of the hashes of its values (nulls add nothing; a spelling counts as its canonical value). A row can
contain a combination of values only if its super key has the bits of all of them. This never loses
a row, for any hash that depends only on the text and on what is stored in the file.

Each value of the segment is hashed once, in slices, and rows are OR-ed by code in batches. That
takes 8 bytes per searched value of the segment (`bits / 8` if it has one table) and a few MB, no
more than assigning the codes took before.

The *row filter* hashes a text to the bits of a super key. It is *fitted* to a segment when its
super keys are built, and *opened* from the arrays it left in the file, so that a query's values are
hashed like the segment's own. The index uses a Bloom filter with the best number of hash functions
for each table. The paper's XASH and the filters it was compared with are in
`benchmarks/published/row_filters.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from lakejoin.errors import DamagedIndex
from lakejoin.model import Array, string_buffers
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, Limits
from lakejoin.store.index_records import KEY_SIZES, ROW_FILTER, SuperKeyOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.kernels.superkey_rows import ValueBits
    from lakejoin.store.segment import Segment

_PART = 1 << 18  # rows whose super keys are computed at once
ENOUGH_HASHES = 24  # all set by chance in less than one row in ten million
_SLICE = 1 << 20  # values hashed at once
_CACHED = 1 << 14  # values whose 64-bit hashes fit the cache


def searched_texts(source: Segment) -> Iterator[tuple[int, Array, Array]]:
    """(position, offsets, bytes) of the texts in searched columns, a slice at a time."""
    texts = source.dictionary.texts
    first = source.postings.unsearched
    for begin in range(first, len(texts), _SLICE):
        span = texts.spans(np.arange(begin, min(begin + _SLICE, len(texts))))
        yield begin - first, np.append(span[:, 0], span[-1, 1]), texts.bytes_at(span)


def best_hash_count(bits: int, values: float, most: int = ENOUGH_HASHES) -> int:
    """The number of hash functions that filters best for rows with this many values.

    >>> [best_hash_count(128, values) for values in (1, 5, 26, 1000)]
    [24, 18, 3, 1]
    """
    return min(most, max(1, round(bits / max(values, 1) * math.log(2))))


def searched_values(source: Segment) -> Array:
    """The average number of non-null values in searched columns per row, for each table."""
    columns = source.catalog.columns
    rows, nulls = columns["rows"].to_numpy(), columns["nulls"].to_numpy()
    return sum_by_table(source, np.where(source.indexed, 1 - nulls / np.maximum(rows, 1), 0))


def sum_by_table(source: Segment, by_column: Array) -> Array:
    first = source.catalog.tables["first"].to_numpy()
    before = np.concatenate(([0], np.cumsum(by_column)))
    return np.asarray(before[np.append(first[1:], source.column_count)] - before[first])


@dataclass(frozen=True, eq=False)
class BloomFilter:
    """A Bloom filter that hashes the values of one segment; `kind` is its name in the index.

    `hashes` is the number of hash functions, one for all tables or one each. Benchmarks derive
    other filters from it.
    """

    bits: int
    hashes: Array
    kind: ClassVar[str] = ROW_FILTER

    @classmethod
    def fit(cls, bits: int, source: Segment) -> Self:
        """Choose the number of functions that is best for each table's own rows."""
        counts = [best_hash_count(bits, values) for values in searched_values(source).tolist()]
        return cls(bits, np.array(counts, dtype=np.uint8))

    @classmethod
    def open(cls, bits: int, file: ArrayFile) -> Self:
        """Open the filter whose arrays are in a file."""
        return cls(bits, file.array("hashes").all())

    @property
    def words(self) -> int:
        """The number of 64-bit words of a hash."""
        return self.bits // 64

    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `open` needs."""
        return {"hashes": self.hashes}

    def groups(self, tables: int) -> Array:
        """The group of each table, whose tables hash values alike: the number of functions."""
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

    def value_bits(self, source: Segment) -> ValueBits:
        """The bits that each searched value adds to a row: its hash, or if tables differ, the 64
        bits that the hashes are made from."""
        from lakejoin.kernels.hashes import hash_strings
        from lakejoin.kernels.superkey_rows import ValueBits

        first, by_table = source.postings.unsearched, len(self.hashes) > 1
        count = len(source.dictionary) - first
        keys = np.empty((0 if by_table else count, self.words), dtype=np.uint64)
        values = np.empty(count if by_table else 0, dtype=np.uint64)
        for begin, offsets, data in searched_texts(source):
            batch = slice(begin, begin + len(offsets) - 1)
            if by_table:
                hash_strings(offsets, data, np.uint64(0), values[batch])
            else:
                self.hash_texts(offsets, data, 0, keys[batch])
        return ValueBits(
            first, keys, values, self.hashes.copy() if by_table else self.hashes[:0].copy()
        )


@dataclass(frozen=True, slots=True)
class SuperKeyComponent:
    """The super keys as a component of the index; benchmarks pass another `row_filter`."""

    options: SuperKeyOptions = field(default_factory=SuperKeyOptions)
    row_filter: type[BloomFilter] = BloomFilter
    name: ClassVar[str] = "superkeys"
    version: ClassVar[int] = 1

    @property
    def made_with(self) -> str:
        """The kind and the size: `lakejoin index` rebuilds super keys of another kind or size."""
        return f"{self.row_filter.kind}-{self.options.bits}"

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        """Write the super keys of all rows, and what is needed to hash other values alike."""
        bits = self.options.bits
        row_filter = self.row_filter.fit(bits, source)
        out.meta.update(kind=row_filter.kind, bits=bits)
        for name, array in row_filter.arrays().items():
            out.add(name, array)
        out.add("row_start", row_starts(source))
        out.begin("keys", np.dtype(np.uint64))
        for keys in _keys_of_rows(source, row_filter):
            out.append(keys)


def row_starts(source: Segment) -> Array:
    """Where the rows of each table begin among all rows of the segment."""
    rows = source.catalog.tables["rows"].to_numpy()
    return np.concatenate(([0], np.cumsum(rows))).astype(np.int64)


def _keys_of_rows(source: Segment, row_filter: BloomFilter) -> Iterator[Array]:
    """The super keys of all rows in batches, which reuse the same memory."""
    from lakejoin.kernels.superkey_rows import SegmentTableRows, build_row_keys

    first = source.catalog.tables["first"].to_numpy()
    start = row_starts(source)
    tables = SegmentTableRows(
        np.append(first, source.column_count), start, np.array(source.indexed)
    )
    total = int(start[-1])
    if total == 0:
        return
    cells = source.rows.cells()
    value_bits = row_filter.value_bits(source)
    room = np.empty((min(total, _PART), row_filter.words), dtype=np.uint64)
    for begin in range(0, total, _PART):
        keys = room[: total - begin]
        build_row_keys(cells, tables, value_bits, begin, keys)
        yield keys


class SuperKeys:
    """The opened super keys of a segment, with this many `bits`; `row_filter` made them.

    `rows` are those of its tables; None: not known.
    """

    def __init__(
        self,
        file: ArrayFile,
        row_filter: type[BloomFilter] = BloomFilter,
        rows: Array | None = None,
    ) -> None:
        self.kind: str = str(file.meta.get("kind"))
        file.require(file.meta.get("bits") in KEY_SIZES)
        self.bits = int(file.meta["bits"])
        self.words = self.bits // 64
        if self.kind != row_filter.kind:
            raise DamagedIndex(
                f"{file.location} has super keys of another kind ({self.kind}); {file.advice}"
            )
        self.filter = row_filter.open(self.bits, file)
        self.keys = file.array("keys", None, "u8")
        in_keys = Limits(len(self.keys) // self.words + 1, ascend=True)
        self.row_start = file.array("row_start", in_keys, "i8").all()
        tables = len(self.row_start) - 1
        file.require(tables >= 0 and len(self.keys) == int(self.row_start[-1]) * self.words)
        file.require(rows is None or np.array_equal(np.diff(self.row_start), rows))
        # The published filters, which only benchmarks open, keep other numbers there.
        file.require(row_filter is not BloomFilter or len(self.filter.hashes) in (1, tables))

    def __len__(self) -> int:
        return int(self.row_start[-1])

    def of_table(self, table: int) -> Array:
        """The super keys of a table's rows, one row of words each."""
        begin, end = self.row_start[table : table + 2].tolist()
        return self.keys.slice(begin * self.words, end * self.words).reshape(-1, self.words)

    def of_texts(self, texts: pa.LargeStringArray, table: int) -> Array:
        """The hash of each value as OR-ed into that table's rows; zero for a null."""
        out = np.zeros((len(texts), self.words), dtype=np.uint64)
        if len(texts):
            offsets, data = string_buffers(texts)
            self.filter.hash_texts(offsets, data, table, out)
            if texts.null_count:
                out[np.asarray(texts.is_null())] = 0
        return out

    def groups(self) -> Array:
        return self.filter.groups(len(self.row_start) - 1)

    def all(self) -> Array:
        return self.keys.all().reshape(-1, self.words)


def super_keys_agree(source: Segment, stored: SuperKeys) -> bool:
    if not np.array_equal(row_starts(source)[-1:], [len(stored)]):
        return False
    all_keys, begin = stored.all(), 0
    for keys in _keys_of_rows(source, stored.filter):
        if not np.array_equal(keys, all_keys[begin : begin + len(keys)]):
            return False
        begin += len(keys)
    return True
