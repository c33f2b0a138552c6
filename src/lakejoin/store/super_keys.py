"""Super keys: a few bits per row that rule out values that are not in it.

Every value of a searched column has a hash with a few bits set, and a row's *super key* is the OR
of the hashes of its values (nulls add nothing; a spelling counts as its canonical value). A row can
contain a combination of values only if its super key has the bits of all of them. This never loses
a row, for any hash that depends only on the text and on what is stored in the file.

Each value of the segment is hashed once, in slices, and rows are OR-ed by code in batches. That
takes 8 bytes per searched value of the segment (`bits / 8` if it has one table) and a few MB, no
more than assigning the codes took before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lakejoin.errors import DamagedIndex, InputError
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.dictionary import string_buffers
from lakejoin.store.row_filters import BloomFilter, RowFilter

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.row_filters import ValueSource

KEY_SIZES = (128, 256, 512)
_PART = 1 << 18  # rows whose super keys are computed at once


@dataclass(frozen=True, slots=True)
class SuperKeyOptions:
    """How many bits a row has: 128, 256 or 512. `kind` is the name of the row filter.

    >>> SuperKeyOptions(bits=100)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: super keys have 128, 256 or 512 bits, not 100
    """

    kind: str = field(default=BloomFilter.kind, init=False)
    bits: int = 128

    def __post_init__(self) -> None:
        if self.bits not in KEY_SIZES:
            raise InputError(f"super keys have 128, 256 or 512 bits, not {self.bits}")


@dataclass(frozen=True, slots=True)
class SuperKeyComponent:
    """The super keys as a component of the index; benchmarks pass another `row_filter`."""

    options: SuperKeyOptions = field(default_factory=SuperKeyOptions)
    row_filter: type[RowFilter] = BloomFilter
    name: ClassVar[str] = "superkeys"
    version: ClassVar[int] = 1

    @property
    def made_with(self) -> str:
        """The kind and the size: `lakejoin index` rebuilds super keys of another kind or size."""
        return f"{self.row_filter.kind}-{self.options.bits}"

    def build(self, source: ValueSource, out: ArrayFileWriter) -> None:
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


def row_starts(source: ValueSource) -> Array:
    """Where the rows of each table begin among all rows of the segment."""
    rows = source.catalog.tables["rows"].to_numpy()
    return np.concatenate(([0], np.cumsum(rows))).astype(np.int64)


def _keys_of_rows(source: ValueSource, row_filter: RowFilter) -> Iterator[Array]:
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
    """The opened super keys of a segment, with this many `bits`; `row_filter` made them."""

    def __init__(self, file: ArrayFile, row_filter: type[RowFilter] = BloomFilter) -> None:
        self.kind: str = file.meta["kind"]
        self.bits = int(file.meta["bits"])
        self.words = self.bits // 64
        if self.kind != row_filter.kind:
            raise DamagedIndex(
                f"{file.location} has super keys of another kind ({self.kind}); rebuild them with: "
                "lakejoin index"
            )
        self.filter = row_filter.open(self.bits, file)
        self.keys = file.array("keys")
        self.row_start = file.array("row_start").all()
        if len(self.keys) != int(self.row_start[-1]) * self.words:
            raise DamagedIndex(
                f"the index is damaged: {file.location} is inconsistent; rebuild it with: "
                "lakejoin index --full"
            )

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
        """The group of each table; tables of one group hash values alike."""
        return self.filter.groups(len(self.row_start) - 1)

    def all(self) -> Array:
        """The super keys of all rows of the segment."""
        return self.keys.all().reshape(-1, self.words)


def super_keys_agree(source: ValueSource, stored: SuperKeys) -> bool:
    """Whether the stored super keys match the rows."""
    if not np.array_equal(row_starts(source)[-1:], [len(stored)]):
        return False
    all_keys, begin = stored.all(), 0
    for keys in _keys_of_rows(source, stored.filter):
        if not np.array_equal(keys, all_keys[begin : begin + len(keys)]):
            return False
        begin += len(keys)
    return True
