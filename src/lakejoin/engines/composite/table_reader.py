"""Compiled: read the candidate tables of a segment one by one.

For each: the columns that may serve, the rows with a value of the initial column, those that pass
the row filter, those that hold a whole combination, and the mapping with the most combinations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.engines.composite.key_cells import (
    KEYS,
    CellSource,
    bare_lookup,
    file_offset_in,
    key_ids_of_rows,
    key_start_in,
    keys_checked_in,
    keys_in,
)
from lakejoin.engines.composite.mapping_kernels import (
    MappingGoal,
    bare_nodes,
    close_score,
    find_best_mapping,
    mark_matching_rows,
)
from lakejoin.engines.composite.query import TrieNodes
from lakejoin.kernels.jit import carray, kernel, njit
from lakejoin.kernels.mapped_arrays import BlockGuard, borrow_array, note_blocks, pointer
from lakejoin.kernels.superkey_rows import filter_rows
from lakejoin.kernels.topk import column_key, push_column, rank_of, score_of, would_enter
from lakejoin.model import Array

CHUNK = 1 << 16  # rows filtered between two checks of what can still be reached
# The state from which `read_tables` continues, and its counters.
AT, BEST_COUNT, TABLES_READ, ROWS_SEEN, ROWS_PASSED, ROWS_TRUE, CUT_SHORT = range(7)
STATE = 7
TURN = 50_000_000  # about a quarter of a second
STEPS = 100_000_000  # steps in the search for the best mapping of a table: a second or two


class RowSource(NamedTuple):
    """The cells of a segment, the blocks of its super keys to verify, and the key's trie, in which
    level l is key column `part[l]`."""

    cells: CellSource
    keys_pending: Array
    nodes: TrieNodes
    part: Array


class CandidateTables(NamedTuple):
    """The candidates in their order; by table its bound and its columns; by key column and column,
    how many combinations it can serve (`serves`), and whether it has the key column's name (2), no
    key column's (1) or another's (0) (`name_rank`)."""

    order: Array
    bound: Array
    first: Array
    width: Array
    rows: Array
    serves: Array
    name_rank: Array


class KeyRowFilter(NamedTuple):
    """The row filter; none with 0 `words`. The combinations of initial value v are [start[v],
    start[v + 1]); their super keys for tables of group g are at the address `keys[g]`, and the
    common bits of each initial value at `common[g]`; 0 until they are computed. A value with more
    combinations than `pairs` is tested by the common bits only. The filter is used if the other key
    columns have at least `wide` columns to choose from: otherwise verifying a row is as fast as
    testing it."""

    words: int
    pairs: int
    wide: int
    group: Array
    start: Array
    keys: Array
    common: Array


@njit
def bare_source(source: RowSource) -> RowSource:
    """For loops: see `borrow_array`."""
    row, pending = borrow_array(source.cells.row), borrow_array(source.cells.pending)
    cells = CellSource(row, pending, source.cells.tokens, bare_lookup(source.cells.known))
    keys_pending, part = borrow_array(source.keys_pending), borrow_array(source.part)
    return RowSource(cells, keys_pending, bare_nodes(source.nodes), part)


@njit(inline="always")
def _before(tables: CandidateTables, part: int, a: int, b: int, canonical: bool) -> bool:
    """Whether column a is tried before column b for a key column.

    Columns with its name come first, columns with another key column's name last. Of the others,
    those that can serve more come first, so that a good mapping is found early; in the canonical
    order, those with the smaller index.
    """
    if tables.name_rank[part, a] != tables.name_rank[part, b]:
        return tables.name_rank[part, a] > tables.name_rank[part, b]
    if canonical or tables.serves[part, a] == tables.serves[part, b]:
        return a < b
    return tables.serves[part, a] > tables.serves[part, b]


@njit
def choose_columns(
    tables: CandidateTables, part: Array, table: int, least: int, canonical: bool
) -> tuple[Array, Array]:
    """(first, column): level l may be mapped to column[first[l]:first[l + 1]], tried in order."""
    levels = part.shape[0]
    begin = tables.first[table]
    end = begin + tables.width[table]
    first = np.zeros(levels + 1, dtype=np.int64)
    column = np.empty(levels * tables.width[table], dtype=np.int64)
    n = 0
    for level in range(levels):
        own = part[level]
        for c in range(begin, end):
            if tables.serves[own, c] < least:
                continue
            at = n
            while at > first[level] and _before(tables, own, c, column[at - 1], canonical):
                column[at] = column[at - 1]
                at -= 1
            column[at] = c
            n += 1
        first[level + 1] = n
        if n == first[level]:
            return first, column[:0]
    return first, column[:n]


@njit
def number_cells(
    source: RowSource, first: Array, column: Array, level: int, chosen: Array, out: Array
) -> None:
    for x in range(first[level], first[level + 1]):
        key_ids_of_rows(source.cells, source.part[level], column[x], chosen, out[x])


@njit
def _super_keys(
    source: RowSource,
    row_filter: KeyRowFilter,
    table: int,
    initial: Array,
    least: int,
    passed: Array,
) -> None:
    """Mark the rows whose super key covers that of a combination of their initial value.

    Stops once fewer than `least` rows can pass; later rows are not marked then (rule 2).
    """
    words, group = row_filter.words, row_filter.group[table]
    start, pairs = row_filter.start, row_filter.pairs
    value_count = start.shape[0] - 1
    keys = carray(pointer(row_filter.keys[group]), (start[value_count], words), np.uint64)
    common = carray(pointer(row_filter.common[group]), (value_count, words), np.uint64)
    begin = key_start_in(source.cells)[table]
    rows = initial.shape[1]
    where = file_offset_in(source.cells, KEYS) + 8 * words * begin
    guard = BlockGuard(keys_checked_in(source.cells), source.keys_pending, 1)
    note_blocks(guard, where, where + 8 * words * rows)
    at = keys_in(source.cells).ctypes.data + 8 * words * begin
    chunk = np.empty(min(rows, CHUNK), dtype=np.uint8)
    count = 0
    for r in range(0, rows, CHUNK):
        end = min(r + CHUNK, rows)
        for x in range(initial.shape[0]):
            values, marks = initial[x, r:end], chunk[: end - r]
            filter_rows(at + 8 * words * r, words, values, start, keys, common, marks, pairs)
            for i in range(r, end):
                passed[i] |= chunk[i - r]
        for i in range(r, end):
            count += passed[i]
        if count + rows - end < least:
            return


@njit
def _pass(
    source: RowSource,
    row_filter: KeyRowFilter,
    table: int,
    initial: Array,
    least: int,
    state: Array,
) -> Array:
    """The rows that hold a value of the initial column and pass the filter."""
    rows = initial.shape[1]
    passed = np.zeros(rows, dtype=np.uint8)
    seen = 0
    for x in range(initial.shape[0]):
        for r in range(rows):
            passed[r] |= np.uint8(initial[x, r] >= 0)
    for r in range(rows):
        seen += passed[r]
    state[ROWS_SEEN] += seen
    if seen < least:
        return np.zeros(0, dtype=np.int64)
    if row_filter.words > 0:
        passed[:] = 0
        _super_keys(source, row_filter, table, initial, least, passed)
    return np.flatnonzero(passed)


@njit
def _fetch(
    source: RowSource,
    row_filter: KeyRowFilter,
    table: int,
    first: Array,
    column: Array,
    rows: int,
    least: int,
    state: Array,
) -> Array:
    """The cells that may serve, of the rows with a combination; none if fewer than `least`."""
    none = np.zeros((column.shape[0], 0), dtype=np.int32)
    every = np.zeros(0, dtype=np.int64)
    initial = np.empty((first[1], rows), dtype=np.int32)
    number_cells(source, first, column, 0, every, initial)
    chosen = _pass(source, row_filter, table, initial, least, state)
    n = chosen.shape[0]
    if n < least:
        return none
    state[ROWS_PASSED] += n
    numbers = np.empty((column.shape[0], n), dtype=np.int32)
    for x in range(first[1]):
        for i in range(n):
            numbers[x, i] = initial[x, chosen[i]]
    for level in range(1, source.part.shape[0]):
        number_cells(source, first, column, level, chosen, numbers)
    holds = np.empty(n, dtype=np.uint8)
    true = mark_matching_rows(numbers, first, column, source.nodes, holds)
    state[ROWS_TRUE] += true
    if true < least:
        return none
    true_numbers = np.empty((column.shape[0], true), dtype=np.int32)
    at = 0
    for i in range(n):
        if holds[i]:
            for x in range(column.shape[0]):
                true_numbers[x, at] = numbers[x, i]
            at += 1
    return true_numbers


@njit(inline="always")
def _unmade(row_filter: KeyRowFilter, table: int) -> bool:
    """Whether the super keys that a table needs are not computed yet."""
    return row_filter.keys[row_filter.group[table]] == 0


@njit
def least_to_enter(rank: Array, table_ids: Array, count: int, rows: int, own: np.uint64) -> int:
    """The lowest score with which a table of `rows` rows would be among the k best."""
    if count < rank.shape[0]:
        return 1
    score = score_of(rank[0])
    return score if would_enter(rank, table_ids, count, rank_of(score, rows), own) else score + 1


@kernel
def read_tables(
    segment: int,
    source: RowSource,
    tables: CandidateTables,
    row_filter: KeyRowFilter,
    rank: Array,
    table_ids: Array,
    state: Array,
) -> bool:
    """Read the candidates from `state[AT]` on; True when done.

    Done when no later candidate can be among the k best (rule 1). Returns earlier if a table needs
    keys that are not computed yet, and now and then so that Python can handle an interrupt.
    """
    source = bare_source(source)
    levels = source.part.shape[0]
    best, none = np.zeros(levels, dtype=np.int64), np.zeros(0, dtype=np.int64)
    unfiltered = KeyRowFilter(0, 0, 0, none, none, none, none)
    work = 0
    for i in range(state[AT], tables.order.shape[0]):
        state[AT] = i
        table = tables.order[i]
        rows, own = tables.rows[table], column_key(segment, table)
        if not would_enter(
            rank, table_ids, state[BEST_COUNT], rank_of(tables.bound[table], rows), own
        ):
            return True
        if work > TURN:
            return False
        least = least_to_enter(rank, table_ids, state[BEST_COUNT], rows, own)
        first, column = choose_columns(tables, source.part, table, least, False)
        if column.shape[0] == 0:
            continue
        filtered = column.shape[0] - first[1] >= row_filter.wide
        if filtered and row_filter.words > 0 and _unmade(row_filter, table):
            return False
        state[TABLES_READ] += 1
        used = row_filter if filtered else unfiltered
        true_numbers = _fetch(source, used, table, first, column, rows, least, state)
        work += 1000 + rows * column.shape[0]
        if true_numbers.shape[1] == 0:
            continue
        goal = MappingGoal(least, tables.bound[table], none, STEPS)
        score, steps = find_best_mapping(true_numbers, first, column, source.nodes, goal, best)
        work += steps
        state[CUT_SHORT] += steps >= STEPS
        if score > 0:
            state[BEST_COUNT] = push_column(
                rank, table_ids, state[BEST_COUNT], rank_of(score, rows), own
            )
    return True


@kernel
def settle_table(
    source: RowSource,
    tables: CandidateTables,
    row_filter: KeyRowFilter,
    table: int,
    score: int,
    canonical: bool,
    best: Array,
) -> int:
    """The mapping of a table whose score is known, and a runner-up close to it: `best` gets their
    scores and columns by level; returns how many there are.

    In the canonical order, and with a trie whose levels are the key columns in their order, the
    mapping depends on the tables alone.
    """
    source = bare_source(source)
    state = np.zeros(STATE, dtype=np.int64)
    skip = np.zeros(0, dtype=np.int64)
    mapping = np.zeros(source.part.shape[0], dtype=np.int64)
    rows = tables.rows[table]
    mapping_count = 0
    for least in (score, close_score(score)):
        first, column = choose_columns(tables, source.part, table, least, canonical)
        if column.shape[0] == 0:
            break
        true_numbers = _fetch(source, row_filter, table, first, column, rows, least, state)
        if true_numbers.shape[1] == 0:
            break
        goal = MappingGoal(least, score, skip, STEPS if mapping_count == 0 else STEPS // 8)
        best[mapping_count, 0], _ = find_best_mapping(
            true_numbers, first, column, source.nodes, goal, mapping
        )
        best[mapping_count, 1:] = mapping
        skip = mapping.copy()
        if best[mapping_count, 0] == 0:
            break
        mapping_count += 1
    return mapping_count
