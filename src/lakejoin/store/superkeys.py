"""Super keys: some bits of every row that say which values are surely not in it.

Every value of a searched column has a hash of a few bits, and a row's *super key* is the OR of the
hashes of its values (nulls add nothing; a spelling counts as its canonical value). A row can hold a
combination of values only if its super key has the bits of all of them. That never loses a row,
whatever the hash is, as long as it depends on nothing but the text and what is kept in the file.

Each value of the segment is hashed once, in slices, and rows are OR-ed by code in parts. That takes
`bits / 8` bytes for each searched value of the segment (8 for `fitted`) and some MB beside, which
is no more than giving out the codes took before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lakejoin.errors import DamagedIndex, InputError
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.dictionary import string_buffers
from lakejoin.store.rowfilters import FILTERS, KINDS, RowFilter, XashParts

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.rowfilters import ValueSource

Array = np.ndarray[Any, Any]

SIZES = (128, 256, 512)
_PART = 1 << 18  # rows whose super keys are made at once


@dataclass(frozen=True, slots=True)
class SuperKeyOptions:
    """Which row filter, and how many bits a row has: 128, 256 or 512.

    >>> SuperKeyOptions(bits=100)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: super keys have 128, 256 or 512 bits, not 100
    """

    kind: str = "fitted"
    bits: int = 128

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"no row filter {self.kind!r}; there are {', '.join(KINDS)}")
        if self.bits not in SIZES:
            raise InputError(f"super keys have 128, 256 or 512 bits, not {self.bits}")


@dataclass(frozen=True, slots=True)
class SuperKeyComponent:
    """The super keys as a component of the index; `parts` is for measuring XASH."""

    options: SuperKeyOptions = field(default_factory=SuperKeyOptions)
    parts: XashParts = field(default_factory=XashParts)
    name: ClassVar[str] = "superkeys"
    version: ClassVar[int] = 1

    @property
    def made_with(self) -> str:
        """The kind and the size, which `lakejoin index` may be asked to change."""
        return f"{self.options.kind}-{self.options.bits}"

    def build(self, source: ValueSource, out: ArrayFileWriter) -> None:
        """Writes the super keys of all rows, and what is needed to hash other values alike."""
        kind, bits = self.options.kind, self.options.bits
        row_filter = FILTERS[kind].fitted(kind, bits, source, self.parts)
        out.meta.update(kind=kind, bits=bits)
        for name, array in row_filter.arrays().items():
            out.add(name, array)
        out.add("row_start", row_starts(source))
        out.begin("keys", np.dtype(np.uint64))
        for part in _keys_of_rows(source, row_filter):
            out.append(part)


def row_starts(source: ValueSource) -> Array:
    """Where the rows of each table begin among all rows of the segment."""
    rows = source.catalog.tables["rows"].to_numpy()
    return np.concatenate(([0], np.cumsum(rows))).astype(np.int64)


def _keys_of_rows(source: ValueSource, row_filter: RowFilter) -> Iterator[Array]:
    """The super keys of all rows, part by part; the next one comes in the same memory."""
    from lakejoin.kernels.superkey_rows import Tables, or_rows

    first = source.catalog.tables["first"].to_numpy()
    start = row_starts(source)
    tables = Tables(np.append(first, source.column_count), start, np.array(source.indexed))
    total = int(start[-1])
    if total == 0:
        return
    cells = source.rows.cells()
    marks = row_filter.marks(source)
    room = np.empty((min(total, _PART), row_filter.words), dtype=np.uint64)
    for begin in range(0, total, _PART):
        part = room[: total - begin]
        or_rows(cells, tables, marks, begin, part)
        yield part


class SuperKeys:
    """The opened super keys of a segment, of `kind` and with so many `bits`."""

    def __init__(self, file: ArrayFile) -> None:
        self.kind: str = file.meta["kind"]
        self.bits = int(file.meta["bits"])
        self.words = self.bits // 64
        if self.kind not in KINDS:
            raise DamagedIndex(
                f"{file.place} has super keys of a kind that this lakejoin does not know "
                f"({self.kind}); upgrade it, or make others with: lakejoin index --super-keys 128"
            )
        self.filter = FILTERS[self.kind].opened(self.bits, file)
        self.keys = file.array("keys")
        self.row_start = file.array("row_start").all()
        if len(self.keys) != int(self.row_start[-1]) * self.words:
            raise DamagedIndex(
                f"the index is damaged: {file.place} is inconsistent; rebuild it with: "
                "lakejoin index --full"
            )

    def __len__(self) -> int:
        return int(self.row_start[-1])

    def of_table(self, table: int) -> Array:
        """The super keys of a table's rows, one row of words each."""
        begin, end = self.row_start[table : table + 2].tolist()
        return self.keys.part(begin * self.words, end * self.words).reshape(-1, self.words)

    def of_texts(self, texts: pa.LargeStringArray, table: int) -> Array:
        """The hash of each value as it was OR-ed into that table's rows; that of a null is zero."""
        out = np.zeros((len(texts), self.words), dtype=np.uint64)
        if len(texts):
            offsets, data = string_buffers(texts)
            self.filter.hash_texts(offsets, data, table, out)
            if texts.null_count:
                out[np.asarray(texts.is_null())] = 0
        return out

    def groups(self) -> Array:
        """By table: those of the same group hash values alike."""
        return self.filter.groups(len(self.row_start) - 1)

    def all(self) -> Array:
        """The super keys of all rows of the segment."""
        return self.keys.all().reshape(-1, self.words)


def keys_match(source: ValueSource, kept: SuperKeys) -> bool:
    """Whether kept super keys are those that the rows make."""
    if not np.array_equal(row_starts(source)[-1:], [len(kept)]):
        return False
    keys, begin = kept.all(), 0
    for part in _keys_of_rows(source, kept.filter):
        if not np.array_equal(part, keys[begin : begin + len(part)]):
            return False
        begin += len(part)
    return True
