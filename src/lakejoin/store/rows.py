"""The rows of a segment's tables as value ids, column by column, and spilling of arrays while they
are written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np

from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, Limits
from lakejoin.store.dictionary import Texts

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.kernels.segment_cells import SegmentCells
    from lakejoin.model import ColumnData


NULL = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A column that waits for its value ids, which are known when the segment is complete.

    `width` 0 is the direct form; `order` then has the local id of each row (None: 0, 1, 2 …).
    """

    width: int
    begin: int
    order: ArrayLoader | None


class RowsWriter:
    """Takes columns as they are read, and their value ids once the codes are known."""

    def __init__(self, out: ArrayFileWriter, spill: Spill) -> None:
        self._out = out
        self._spill = spill
        self._columns: list[_Pending] = []
        out.begin("local", np.dtype(np.uint8))

    def add(self, column: ColumnData) -> None:
        cells = column.cells
        distinct = len(column.tokens) + len(column.spellings)
        if cells.itemsize * len(cells) + 4 * distinct < 4 * len(cells):
            begin = self._out.align()
            self._out.append(cells.view(np.uint8))
            self._columns.append(_Pending(cells.itemsize, begin, None))
        elif distinct == len(cells) and _counts_up(cells):
            self._columns.append(_Pending(0, 0, None))
        else:
            self._columns.append(_Pending(0, 0, self._spill.keep(cells)))

    def finish(self, value_ids: Iterable[Array], spelling_code: Array) -> None:
        """Write the value ids; the i-th array has those of column i's local ids, in order."""
        out = self._out
        starts = np.zeros(len(self._columns) + 1, dtype=np.int64)
        out.begin("ids", np.dtype(np.uint32))
        for i, (pending, ids) in enumerate(zip(self._columns, value_ids, strict=True)):
            stored = ids if pending.order is None else _pick(ids, pending.order())
            out.append(stored)
            starts[i + 1] = starts[i] + len(stored)
        out.add("ids_start", starts)
        out.add("width", np.array([p.width for p in self._columns], dtype=np.uint8))
        out.add("local_start", np.array([p.begin for p in self._columns], dtype=np.int64))
        out.add("spelling_code", spelling_code.astype(np.uint32))


def _counts_up(cells: Array) -> bool:
    return bool(np.array_equal(cells, np.arange(len(cells), dtype=cells.dtype)))


def _pick(ids: Array, cells: Array) -> Array:
    """The value id of each cell; a cell with all bits set is null."""
    missing = cells == np.iinfo(cells.dtype).max
    if not missing.any():
        return np.asarray(ids[cells])
    padded = np.append(ids, NULL)
    return np.asarray(padded[np.where(missing, len(ids), cells)])


class Rows:
    """The opened rows of a segment with this many `tokens`, and `rows` in each column."""

    def __init__(self, file: ArrayFile, tokens: int, rows: Array) -> None:
        self.tokens = tokens
        self._file = file
        self.local_cells = file.array("local", None, "u1")
        self.spelling_code = file.array("spelling_code", Limits(tokens), "u4")
        self.spellings = Texts(file, "spelling")
        ids = Limits(tokens + len(self.spelling_code), other=int(NULL))
        self.ids = file.array("ids", ids, "u4")
        in_ids = Limits(len(self.ids) + 1, ascend=True)
        self.ids_start = file.array("ids_start", in_ids, "i8").all()
        self.width = file.array("width", Limits(5), "u1").all()
        in_cells = Limits(len(self.local_cells) + 1)
        self.local_start = file.array("local_start", in_cells, "i8").all()
        file.require(len(self.spellings) == len(self.spelling_code))
        file.require(len(self.width) == len(self.local_start) == len(rows))
        file.require(len(self.ids_start) == len(rows) + 1)
        direct, width = self.width == 0, self.width.astype(np.int64)
        file.require(not (self.width == 3).any())
        file.require((np.diff(self.ids_start)[direct] == rows[direct]).all())
        file.require((self.local_start + width * rows <= len(self.local_cells)).all())
        file.require((self.local_start % np.maximum(width, 1) == 0).all())
        self._verified = np.zeros(len(self.width), dtype=bool)

    def __len__(self) -> int:
        return len(self.width)

    def local(self, column: int, rows: int) -> tuple[Array | None, Array]:
        """(local ids, or None for the direct form; value ids) of a column of `rows` rows."""
        ids = self.ids.slice(*self.ids_start[column : column + 2].tolist())
        return (self._local_cells(column, 0, rows) if self.width[column] else None), ids

    def _local_cells(self, column: int, begin: int, end: int) -> Array:
        width, at = int(self.width[column]), int(self.local_start[column])
        return self.local_cells.slice(at + begin * width, at + end * width).view(f"<u{width}")

    def cells(self) -> SegmentCells:
        """All columns at once, verified, for compiled code."""
        from lakejoin.kernels.segment_cells import SegmentCells

        return SegmentCells(
            self.width,
            self.local_start,
            self.local_cells.all(),
            self.ids_start,
            self.ids.all(),
            self.spelling_code.all(),
            self.tokens,
        )

    def codes_at(self, columns: Array, rows: Array, table_rows: int) -> Array:
        """The codes of some rows of columns of a table that has `table_rows`, a line for each
        column; nulls are `NULL`."""
        from lakejoin.kernels.segment_cells import read_codes

        codes = np.empty((len(columns), len(rows)), np.uint32)
        columns, rows = np.asarray(columns, np.int64), np.asarray(rows, np.int64)
        read_codes(self._cells_of(columns, table_rows), columns, rows, codes)
        return codes

    def first_rows(self, column: int, codes: Array, table_rows: int) -> Array:
        """The first row of a column that holds each of some codes, -1 if none does."""
        from lakejoin.kernels.segment_cells import find_rows_of_codes

        ordered, which = np.unique(codes, return_inverse=True)
        rows = np.empty(len(ordered), np.int64)
        cells = self._cells_of(np.array([column]), table_rows)
        find_rows_of_codes(cells, column, table_rows, ordered.astype(np.uint32), rows)
        return np.asarray(rows[which])

    def _cells_of(self, columns: Array, table_rows: int) -> SegmentCells:
        """The arrays of all columns, for compiled code; of them, some columns of a table are
        verified, once and whole."""
        from lakejoin.kernels.segment_cells import SegmentCells

        new = columns[~self._verified[columns]]
        if len(new):
            self.ids.touch(self.ids_start[new], self.ids_start[new + 1])
            begin = self.local_start[new]
            self.local_cells.touch(begin, begin + table_rows * self.width[new].astype(np.int64))
            self._verified[new] = True
        return SegmentCells(
            self.width,
            self.local_start,
            self.local_cells.raw,
            self.ids_start,
            self.ids.raw,
            self.spelling_code.all(),
            self.tokens,
        )

    def value_ids(self, column: int, rows: int, begin: int = 0, end: int | None = None) -> Array:
        """The value ids of the rows [begin, end) of a column, like a slice; nulls are `NULL`."""
        begin, stop, _ = slice(begin, end).indices(rows)
        stop = max(begin, stop)
        first, last = self.ids_start[column : column + 2].tolist()
        if self.width[column] == 0:
            return self.ids.slice(first + begin, first + stop)
        try:
            return _pick(self.ids.slice(first, last), self._local_cells(column, begin, stop))
        except IndexError:  # a cell refers to an id that the column does not have
            raise self._file.inconsistency() from None

    def codes_of(self, value_ids: Array) -> Array:
        """The codes of value ids: spellings become their canonical value; nulls stay null."""
        spelled = (value_ids >= self.tokens) & (value_ids != NULL)
        if not spelled.any():
            return value_ids
        codes = value_ids.copy()
        codes[spelled] = self.spelling_code.take(value_ids[spelled] - np.uint32(self.tokens))
        return codes

    def codes(self, column: int, rows: int) -> Array:
        """The codes of a column's rows; nulls are `NULL`."""
        return self.codes_of(self.value_ids(column, rows))

    def set_with_counts(self, column: int, rows: int) -> tuple[Array, Array]:
        """A column's distinct codes, ascending, and the number of rows of each."""
        cells, ids = self.local(column, rows)
        if cells is None:
            codes = self.codes_of(ids)
            return np.unique(codes[codes != NULL], return_counts=True)
        weights = np.bincount(np.minimum(cells, len(ids)), minlength=len(ids) + 1)[:-1]
        if len(ids) and ids[-1] < self.tokens:  # no spellings: every value id is a code, once
            order = np.argsort(ids)
            used = weights[order] > 0
            return ids[order][used], weights[order][used]
        distinct, inverse = np.unique(self.codes_of(ids), return_inverse=True)
        return distinct, np.bincount(inverse, weights, len(distinct)).astype(np.int64)

    def texts(self, value_ids: Array, tokens: Texts) -> pa.LargeStringArray:
        """The original text of each value id; nulls are null."""
        import pyarrow as pa

        distinct, inverse = np.unique(value_ids, return_inverse=True)
        real = distinct[distinct != NULL]
        split = int(np.searchsorted(real, self.tokens))
        texts = pa.chunked_array(
            [
                tokens.take(real[:split]),
                self.spellings.take(real[split:] - np.uint32(self.tokens)),
            ]
        ).combine_chunks()
        null = inverse >= len(real)
        return texts.take(pa.array(inverse, mask=null if null.any() else None))


ArrayLoader = Callable[[], Array]  # loads the array again

_SMALL = 1 << 18


class Spill:
    """Keeps small arrays in memory and large ones in an unnamed temporary file.

    >>> spill = Spill()
    >>> load = spill.keep(np.arange(1_000_000))
    >>> int(load().sum())
    499999500000
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def keep(self, array: Array) -> ArrayLoader:
        """Keep an array; returns a function that loads it again."""
        if array.nbytes < _SMALL:
            copy = array.copy()  # a view would keep its whole base array alive
            return lambda: copy
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="lakejoin-")  # noqa: SIM115 (closed below)
        file, dtype, length = self._file, array.dtype, len(array)
        begin = file.seek(0, 2)
        file.write(np.ascontiguousarray(array).view(np.uint8).data)

        def load() -> Array:
            loaded = np.empty(length, dtype)
            file.seek(begin)
            file.readinto(loaded.view(np.uint8).data)  # type: ignore[attr-defined]
            return loaded

        return load

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
