"""Compiled: map the cells of a column to the values of a key column.

A cell becomes the position of its value among the key column's values, or -1 if it has no such
value. That position is called the cell's number here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray, njit

from lakejoin.kernels.bits import rank_in_set
from lakejoin.kernels.jit import kernel
from lakejoin.kernels.mapped import BlockGuard, note_blocks
from lakejoin.kernels.mapped_arrays import borrow_array, pointer
from lakejoin.engines.composite.held import (
    IDS,
    LOCAL,
    SPELLING,
    ids_in,
    ids_start_in,
    local_in,
    local_start_in,
    file_offset_in,
    rows_guard,
    rows_in,
    spelling_in,
    width_in,
)
from lakejoin.store.rows import NULL

Array = np.ndarray[Any, Any]


class KeyLookup(NamedTuple):
    """The values of a key that a segment has: the codes of the j-th key column as a bit set
    (`words[j]`, with the count of bits `before` each word); the numbers of its values, in the order
    of the codes, start at `numbers[start[j]]`."""

    start: Array
    numbers: Array
    words: Array
    before: Array


@njit
def _number_ids(
    row: Array, guard: BlockGuard, tokens: int, known: KeyLookup, part: int, ids: Array, out: Array
) -> None:
    """The numbers of value ids.

    Arrays are taken out of tuples once: compiled code counts references, which in a loop would cost
    far more than the loop itself.
    """
    spelling, words, before = spelling_in(row), known.words[part], known.before[part]
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
    at = file_offset_in(row, SPELLING)
    for i in range(ids.shape[0]):
        spelled_as = np.int64(ids[i]) - tokens
        if 0 <= spelled_as < spelling.shape[0]:
            note_blocks(guard, at + 4 * spelled_as, at + 4 * spelled_as + 4)
            rank = rank_in_set(words, before, np.int64(spelling[spelled_as]))
            out[i] = numbers[rank] if rank >= 0 else np.int32(-1)


@njit
def _cells(row: Array, guard: BlockGuard, column: int) -> tuple[int, int]:
    """(where a column's narrow cells start, their width in bytes); width 0 if it has none."""
    width = np.int64(width_in(row)[column])
    begin = local_start_in(row)[column]
    if width > 0:
        at = file_offset_in(row, LOCAL) + begin
        note_blocks(guard, at, at + width * rows_in(row)[column])
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
    return KeyLookup(borrow_array(known.start), borrow_array(known.numbers), borrow_array(known.words), borrow_array(known.before))


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
def key_ids_of_rows(
    row: Array,
    pending: Array,
    tokens: int,
    known: KeyLookup,
    part: int,
    column: int,
    chosen: Array,
    out: Array,
) -> None:
    """The numbers of a column's cells in some rows, or in all if none is chosen.

    In a column with narrow cells the distinct values are numbered first, unless there are fewer
    rows.
    """
    guard = rows_guard(row, pending)
    begin, width = _cells(row, guard, column)
    first, last = ids_start_in(row)[column], ids_start_in(row)[column + 1]
    at = file_offset_in(row, IDS)
    note_blocks(guard, at + 4 * first, at + 4 * last)
    ids = ids_in(row)[first:last]
    n = out.shape[0]
    if width == 0:
        own = ids if chosen.shape[0] == 0 else _take_ids(ids, chosen)
        _number_ids(row, guard, tokens, known, part, own, out)
        return
    cells = _take_cells(local_in(row), begin, width, chosen, n)
    if ids.shape[0] > 2 * n:
        for i in range(n):
            cells[i] = ids[cells[i]] if cells[i] < ids.shape[0] else NULL
        _number_ids(row, guard, tokens, known, part, cells, out)
        return
    numbers = np.empty(ids.shape[0], dtype=np.int32)
    _number_ids(row, guard, tokens, known, part, ids, numbers)
    for i in range(n):
        out[i] = numbers[cells[i]] if cells[i] < ids.shape[0] else -1


@kernel
def key_ids_of_columns(
    row: Array, pending: Array, tokens: int, known: KeyLookup, columns: Array, out: Array
) -> None:
    """Number all rows of columns, the j-th by the values of the j-th key column."""
    every = np.zeros(0, dtype=np.int64)
    known = bare_lookup(known)
    for part in range(columns.shape[0]):
        key_ids_of_rows(row, pending, tokens, known, part, columns[part], every, out[part])
