"""The cells of a table that may hold a key, by the layout of its columns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.kernels.jit import carray, kernel, njit
from lakejoin.kernels.mapped_arrays import (
    BlockGuard,
    borrow_array,
    flags_at,
    longs_at,
    make_taker,
    note_blocks,
    pack_addresses,
    pointer,
    ranks_at,
    words_at,
)
from lakejoin.kernels.packing import rank_in_set
from lakejoin.model import Array
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


Made = TypeVar("Made")


class PerSegment(Generic[Made]):
    """Something derived from a segment, computed once and kept as long as the segment.

    It must not reference the segment, which would then never be freed.
    """

    def __init__(self, make: Callable[[Segment], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._by_segment: WeakKeyDictionary[Segment, Made] = WeakKeyDictionary()

    def __call__(self, segment: Segment) -> Made:
        with self._lock:
            if segment not in self._by_segment:
                self._by_segment[segment] = self._make(segment)
            return self._by_segment[segment]


class TableLayout(NamedTuple):
    """By table its first column, width and rows; by column its table, rows, and rows per value."""

    first: Array
    width: Array
    rows: Array
    table_of: Array
    column_rows: Array
    repeats: Array

    def columns_of(self, tables: Array) -> Array:
        width = self.width[tables]
        begin = np.cumsum(width) - width
        return np.repeat(self.first[tables] - begin, width) + np.arange(width.sum())


def _layout(segment: Segment) -> TableLayout:
    tables, columns = segment.catalog.tables, segment.catalog.columns
    first, width, rows = (
        np.ascontiguousarray(tables[name].to_numpy(), dtype=np.int64)
        for name in ("first", "width", "rows")
    )
    nulls, distinct = (columns[name].to_numpy() for name in ("nulls", "distinct"))
    column_rows = np.ascontiguousarray(segment.column_rows, dtype=np.int64)
    return TableLayout(
        first,
        width,
        rows,
        np.repeat(np.arange(len(width)), width),
        column_rows,
        (column_rows - nulls) / np.maximum(distinct, 1),
    )


table_layout_of = PerSegment(_layout)


class KeyLookup(NamedTuple):
    """The values of a key that a segment has: the codes of the j-th key column as a bit set
    (`words[j]`, with the count of bits `before` each word); the numbers of its values, in the order
    of the codes, start at `numbers[start[j]]`."""

    start: Array
    numbers: Array
    words: Array
    before: Array


class CellSource(NamedTuple):
    """The rows of a segment (see `MappedRows`), the blocks to verify, how many tokens the segment
    has, and the key's values in it."""

    row: Array
    pending: Array
    tokens: int
    known: KeyLookup


@njit
def _number_ids(source: CellSource, guard: BlockGuard, part: int, ids: Array, out: Array) -> None:
    """The numbers of value ids.

    Arrays are taken out of tuples once: compiled code counts references, which in a loop would cost
    far more than the loop itself.
    """
    known, tokens, spelling = source.known, source.tokens, spelling_in(source)
    words, before = known.words[part], known.before[part]
    numbers = known.numbers[known.start[part] : known.start[part + 1]]
    end = tokens + spelling.shape[0]
    spelled = False
    for i in range(ids.shape[0]):
        code = np.int64(ids[i])
        spelled |= tokens <= code < end
        rank = rank_in_set(words, before, code)
        out[i] = numbers[rank] if rank >= 0 else np.int32(-1)
    if not spelled:
        return
    at = file_offset_in(source, SPELLING)
    for i in range(ids.shape[0]):
        spelled_as = np.int64(ids[i]) - tokens
        if 0 <= spelled_as < spelling.shape[0]:
            note_blocks(guard, at + 4 * spelled_as, at + 4 * spelled_as + 4)
            rank = rank_in_set(words, before, np.int64(spelling[spelled_as]))
            out[i] = numbers[rank] if rank >= 0 else np.int32(-1)


@njit
def _cells(source: CellSource, guard: BlockGuard, column: int) -> tuple[int, int]:
    """(where a column's narrow cells start, their width in bytes); width 0 if it has none."""
    width = np.int64(width_in(source)[column])
    begin = local_start_in(source)[column]
    if width > 0:
        at = file_offset_in(source, LOCAL) + begin
        note_blocks(guard, at, at + width * rows_in(source)[column])
    return begin, width


@njit
def _cell(local: Array, begin: int, width: int, r: int) -> int:
    """One of a column's narrow cells."""
    at = begin + width * r
    if width == 1:
        return np.int64(local[at])
    if width == 2:
        return np.int64(local[at]) | (np.int64(local[at + 1]) << 8)
    return np.int64(carray(pointer(local.ctypes.data + at), (1,), np.uint32)[0])


@njit
def bare_lookup(known: KeyLookup) -> KeyLookup:
    """For loops: see `borrow_array`."""
    return KeyLookup(
        borrow_array(known.start),
        borrow_array(known.numbers),
        borrow_array(known.words),
        borrow_array(known.before),
    )


@njit
def _take_ids(ids: Array, chosen: Array) -> Array:
    """The value ids of some rows of a column that has one per row."""
    taken = np.empty(chosen.shape[0], dtype=np.uint32)
    for i in range(chosen.shape[0]):
        taken[i] = ids[chosen[i]]
    return taken


@njit
def _take_cells(local: Array, begin: int, width: int, chosen: Array, n: int) -> Array:
    """The narrow cells of some rows of a column, or of all if none is chosen."""
    taken = np.empty(n, dtype=np.uint32)
    if chosen.shape[0] == 0:
        for i in range(n):
            taken[i] = _cell(local, begin, width, i)
    else:
        for i in range(n):
            taken[i] = _cell(local, begin, width, chosen[i])
    return taken


@njit
def key_ids_of_rows(source: CellSource, part: int, column: int, chosen: Array, out: Array) -> None:
    """The numbers of a column's cells in some rows, or in all if none is chosen.

    In a column with narrow cells the distinct values are numbered first, unless there are fewer
    rows.
    """
    guard = BlockGuard(checked_in(source), source.pending, 1)
    begin, width = _cells(source, guard, column)
    first, last = ids_start_in(source)[column], ids_start_in(source)[column + 1]
    at = file_offset_in(source, IDS)
    note_blocks(guard, at + 4 * first, at + 4 * last)
    ids = ids_in(source)[first:last]
    n = out.shape[0]
    if width == 0:
        own = ids if chosen.shape[0] == 0 else _take_ids(ids, chosen)
        _number_ids(source, guard, part, own, out)
        return
    cells = _take_cells(local_in(source), begin, width, chosen, n)
    if ids.shape[0] > 2 * n:
        for i in range(n):
            cells[i] = ids[cells[i]] if cells[i] < ids.shape[0] else NULL
        _number_ids(source, guard, part, cells, out)
        return
    numbers = np.empty(ids.shape[0], dtype=np.int32)
    _number_ids(source, guard, part, ids, numbers)
    for i in range(n):
        out[i] = numbers[cells[i]] if cells[i] < ids.shape[0] else -1


@kernel
def key_ids_of_columns(
    row: Array, pending: Array, tokens: int, known: KeyLookup, columns: Array, out: Array
) -> None:
    """Number all rows of columns, the j-th by the values of the j-th key column."""
    every = np.zeros(0, dtype=np.int64)
    source = CellSource(row, pending, tokens, bare_lookup(known))
    for part in range(columns.shape[0]):
        key_ids_of_rows(source, part, columns[part], every, out[part])


# The arrays in the order of the row of addresses. `FILE_OFFSETS` holds the offsets of the mapped
# arrays in their files.
LOCAL, IDS, SPELLING, KEYS, WIDTH, IDS_START, LOCAL_START, ROWS, KEY_START, FILE_OFFSETS = range(10)
CHECKED, KEYS_CHECKED = 10, 11


class MappedRows:
    """A segment's rows, and optionally its super keys; keeps the files mapped.

    Compiled code marks the unverified blocks that it read in `pending`, and `verify` checks them.
    Each search has its own `pending`, so that several threads can search.
    """

    def __init__(self, segment: Segment, super_keys: bool) -> None:
        rows = segment.rows
        self.tokens = rows.tokens
        mapped = [rows.local_cells, rows.ids, rows.spelling_code]
        key_start = none = np.zeros(0, dtype=np.int64)
        if super_keys and (stored := segment.superkeys) is not None:
            mapped.append(stored.keys)
            key_start = stored.row_start
        self._files = [rows.ids.file, *(array.file for array in mapped[3:])]
        self._arrays = [
            *[*(array.raw for array in mapped), none][:4],
            rows.width,
            rows.ids_start,
            rows.local_start,
            np.ascontiguousarray(segment.column_rows, dtype=np.int64),
            key_start,
            np.array([*(array.offset for array in mapped), 0], dtype=np.int64),
            *[*(file.verified for file in self._files), none][:2],
        ]
        self.row = pack_addresses(*self._arrays)

    def pending(self) -> list[Array]:
        """Marks for the blocks of each of the two files; the first says whether any is set."""
        blocks = [len(file.verified) for file in self._files]
        return [np.zeros(1 + n, dtype=np.uint8) for n in [*blocks, 0][:2]]

    def verify(self, pending: list[Array]) -> None:
        """Verify the marked blocks; raises if one is damaged."""
        for file, noted in zip(self._files, pending, strict=False):
            if noted[0]:
                file.check_blocks(np.flatnonzero(noted[1:]))
                noted[:] = 0


_WITH_KEYS = PerSegment(lambda segment: MappedRows(segment, super_keys=True))
_ROWS_ALONE = PerSegment(lambda segment: MappedRows(segment, super_keys=False))


def open_mapped_rows(segment: Segment, super_keys: bool) -> MappedRows:
    """The rows of a segment, opened once and kept as long as the segment."""
    return _WITH_KEYS(segment) if super_keys else _ROWS_ALONE(segment)


local_in = make_taker(flags_at, LOCAL)
ids_in = make_taker(words_at, IDS)
spelling_in = make_taker(words_at, SPELLING)
keys_in = make_taker(ranks_at, KEYS)
width_in = make_taker(flags_at, WIDTH)
ids_start_in = make_taker(longs_at, IDS_START)
local_start_in = make_taker(longs_at, LOCAL_START)
rows_in = make_taker(longs_at, ROWS)
key_start_in = make_taker(longs_at, KEY_START)
file_offsets_in = make_taker(longs_at, FILE_OFFSETS)
checked_in = make_taker(flags_at, CHECKED)
keys_checked_in = make_taker(flags_at, KEYS_CHECKED)


@njit(inline="always")
def file_offset_in(source: CellSource, array: int) -> int:
    return file_offsets_in(source)[array]
