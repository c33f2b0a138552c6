"""Compiled: bound the combinations of tables, find rows that hold one, and the best mapping.

A table comes as a matrix: `numbers[x, r]` is the position of the value of row r in column x among
the values of a level's key column, or -1. Level l may be mapped to the rows
[first[l], first[l + 1]) of the matrix; `column[x]` is the table's column, because no column may
serve twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.engines.composite.key_cells import TableLayout
from lakejoin.engines.composite.query import TrieNodes
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.mapped_arrays import borrow_array
from lakejoin.model import Array


@njit
def bare_nodes(nodes: TrieNodes) -> TrieNodes:
    """For loops: see `borrow_array`."""
    return TrieNodes(
        borrow_array(nodes.value),
        borrow_array(nodes.child),
        borrow_array(nodes.leaf),
        borrow_array(nodes.leaf_end),
        borrow_array(nodes.root),
    )


@njit(inline="always")
def _below(root: Array, child: Array, values: Array, level: int, node: int, value: int) -> int:
    """The child of a node (on the first level: of the root) with a value; -1 if there is none."""
    if level == 0:
        return np.int64(root[value])
    low, high = np.int64(child[node]), np.int64(child[node + 1])
    end = high
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == value else np.int64(-1)


@njit
def _taken(column: Array, chosen: Array, level: int) -> bool:
    """Whether the column chosen for a level already serves an earlier one."""
    for earlier in range(level):  # noqa: SIM110 (any() is not compiled as well)
        if column[chosen[earlier]] == column[chosen[level]]:
            return True
    return False


@njit
def _seat(
    level: int,
    numbers: Array,
    r: int,
    first: Array,
    column: Array,
    value: Array,
    chosen: Array,
    visited: Array,
    seated: int,
) -> bool:
    """Find a column for a level that has its value in a row; other levels may have to move.

    `chosen[l]` is the column of each seated level, no two the same. Each column is tried once
    (augmenting paths): `visited` holds their number, then the columns.
    """
    for x in range(first[level], first[level + 1]):
        if numbers[x, r] != value[level]:
            continue
        again = False
        for i in range(1, visited[0] + 1):
            again |= visited[i] == column[x]
        if again:
            continue
        visited[0] += 1
        visited[visited[0]] = column[x]
        holder = -1
        for other in range(seated):
            if other != level and column[chosen[other]] == column[x]:
                holder = other
        if holder < 0 or _seat(holder, numbers, r, first, column, value, chosen, visited, seated):
            chosen[level] = x
            return True
    return False


@njit(inline="always")
def _repeated(numbers: Array, r: int, begin: int, x: int) -> bool:
    """Whether an earlier column of the same level has the same value in a row."""
    for earlier in range(begin, x):  # noqa: SIM110 (any() is not compiled as well)
        if numbers[earlier, r] == numbers[x, r]:
            return True
    return False


@kernel
def mark_matching_rows(
    numbers: Array, first: Array, column: Array, nodes: TrieNodes, holds: Array
) -> int:
    """Mark the rows that hold a combination, each value in its own column; returns their number.

    A row is followed down the trie value by value: columns with the same value are followed once,
    and whether all values find a column is a matching problem, not a trial of all choices.
    """
    root, child, values = nodes.root, nodes.child, nodes.value  # once: see `borrow_array`
    levels = first.shape[0] - 1
    tried = np.empty(levels, dtype=np.int64)  # the column whose value is tried on each level
    chosen = np.empty(levels, dtype=np.int64)
    value = np.empty(levels, dtype=np.int64)
    visited = np.zeros(column.shape[0] + 1, dtype=np.int64)
    node = np.zeros(levels + 1, dtype=np.int64)
    count = 0
    for r in range(numbers.shape[1]):
        holds[r] = 0
        level = 0
        tried[0] = first[0]
        while level >= 0:
            x = tried[level]
            if x == first[level + 1]:
                level -= 1
                if level >= 0:
                    tried[level] += 1
                continue
            value[level] = numbers[x, r]
            below = np.int64(-1)
            if value[level] >= 0:
                below = _below(root, child, values, level, node[level], value[level])
            if below >= 0 and _repeated(numbers, r, first[level], x):
                below = np.int64(-1)
            if below >= 0:
                chosen[level] = x
                visited[0] = 0
                if _taken(column, chosen, level) and not _seat(
                    level, numbers, r, first, column, value, chosen, visited, level
                ):
                    below = np.int64(-1)
            if below < 0:
                tried[level] += 1
            elif level == levels - 1:
                holds[r] = 1
                count += 1
                break
            else:
                level += 1
                node[level] = below
                tried[level] = first[level]
    return count


@kernel
def find_leaves(numbers: Array, nodes: TrieNodes, leaf: Array) -> None:
    """The leaf of each row under a mapping (one column per level), or -1."""
    root, child, values = nodes.root, nodes.child, nodes.value
    leaves = nodes.leaf
    for r in range(numbers.shape[1]):
        node = np.int64(0)
        for level in range(numbers.shape[0]):
            value = numbers[level, r]
            node = _below(root, child, values, level, node, value) if value >= 0 else np.int64(-1)
            if node < 0:
                break
        leaf[r] = leaves[node] if node >= 0 else -1


@njit
def _step(
    numbers: Array,
    x: int,
    level: int,
    nodes: TrieNodes,
    rows: Array,
    at: Array,
    n: int,
    seen: Array,
    mark: int,
) -> tuple[int, int]:
    """Follow rows a level down by a column: how many remain, and combinations still reached."""
    root, child, values = nodes.root, nodes.child, nodes.value
    leaf, leaf_end = nodes.leaf, nodes.leaf_end
    level_rows, level_at, next_rows, next_at = (
        rows[level],
        at[level],
        rows[level + 1],
        at[level + 1],
    )
    row_count, reach = np.int64(0), np.int64(0)
    for i in range(n):
        r = np.int64(level_rows[i])
        value = numbers[x, r]
        if value < 0:
            continue
        below = _below(root, child, values, level, np.int64(level_at[i]), value)
        if below >= 0:
            next_rows[row_count], next_at[row_count] = r, below
            row_count += 1
            if seen[below] != mark:
                seen[below] = mark
                reach += leaf_end[below] - leaf[below]
    return row_count, reach


@njit
def close_score(score: int) -> int:
    """The lowest score that counts as close to a score: four fifths of it.

    >>> close_score(10), close_score(11)
    (8, 9)
    """
    return (4 * score + 4) // 5


class MappingGoal(NamedTuple):
    """The mapping to search for: with at least the score `least`; `enough` ends the search; not the
    columns `skip` by level; in at most `steps` steps."""

    least: int
    enough: int
    skip: Array
    steps: int


@njit
def _is(mapping: Array, column: Array, chosen: Array) -> bool:
    for level in range(mapping.shape[0]):
        if column[chosen[level]] != mapping[level]:
            return False
    return mapping.shape[0] > 0


@kernel
def find_best_mapping(
    numbers: Array, first: Array, column: Array, nodes: TrieNodes, goal: MappingGoal, best: Array
) -> tuple[int, int]:
    """Find the mapping with the most combinations: its score, or 0 if none reaches the least; and
    the steps taken.

    `best` gets its columns by level. Depth first, in the order of the columns; a branch is left
    when it could not be the best even if each of its rows were a different combination and each
    combination below its nodes had a row. Of equal scores the first wins. If the steps reach the
    goal's, the search was cut short, and there may be a better mapping.
    """
    levels, n = first.shape[0] - 1, numbers.shape[1]
    rows = np.empty((levels + 1, n), dtype=np.int32)
    at = np.zeros((levels + 1, n), dtype=np.int32)
    count = np.zeros(levels + 1, dtype=np.int64)
    chosen = np.empty(levels, dtype=np.int64)
    seen = np.zeros(nodes.value.shape[0], dtype=np.int64)
    rows[0] = np.arange(n)
    count[0] = n
    score, steps, mark, level = 0, 0, 0, 0
    chosen[0] = first[0]
    while level >= 0 and score < goal.enough and steps < goal.steps:
        if chosen[level] == first[level + 1]:
            level -= 1
            if level >= 0:
                chosen[level] += 1
            continue
        if _taken(column, chosen, level):
            chosen[level] += 1
            continue
        mark += 1
        steps += 1 + count[level]
        row_count, reach = _step(
            numbers, chosen[level], level, nodes, rows, at, count[level], seen, mark
        )
        if min(row_count, reach) < max(goal.least, score + 1):
            chosen[level] += 1
        elif level < levels - 1:
            level += 1
            count[level] = row_count
            chosen[level] = first[level]
        else:
            if not _is(goal.skip, column, chosen):
                score = reach  # on the last level each node is one combination
                for part in range(levels):
                    best[part] = column[chosen[part]]
            chosen[level] += 1
    return score, steps


SCAN = 15.0  # nanoseconds to check a cell for a value of the initial column,
ROW = 100.0  # and to verify a row that has one


class ColumnCoverage(NamedTuple):
    """By key column and column, how many combinations it can serve, and how many values of the key
    column it holds. touched[start[j]:start[j + 1]] are the columns that serve key column j."""

    serves: Array
    values: Array
    touched: Array
    start: Array


@kernel
def bound_tables(layout: TableLayout, served: ColumnCoverage, bound: Array, tables: Array) -> int:
    """Find the tables that may hold a combination, and a bound for each; returns their number.
    `bound` must be zero.

    No mapping matches more than one of its columns can serve, nor more than the table has rows.
    """
    parts = served.serves.shape[0]
    best = np.zeros((parts, bound.shape[0]), dtype=np.int64)
    for part in range(parts):
        for i in range(served.start[part], served.start[part + 1]):
            column = served.touched[i]
            table = layout.table_of[column]
            best[part, table] = max(best[part, table], served.serves[part, column])
    n = 0
    for i in range(served.start[0], served.start[1]):
        table = layout.table_of[served.touched[i]]
        if bound[table] > 0 or layout.width[table] < parts:
            continue
        least = layout.rows[table]
        for part in range(parts):
            least = min(least, best[part, table])
        if least > 0:
            bound[table] = least
            tables[n] = table
            n += 1
    return n


@kernel
def fetching_costs(layout: TableLayout, served: ColumnCoverage, bound: Array, costs: Array) -> None:
    """Estimate the cost of fetching rows by each key column: scanning the columns of candidate
    tables that hold one of its values, and verifying the rows that do, by how often a column
    repeats its values."""
    for part in range(costs.shape[0]):
        costs[part] = 0.0
        for i in range(served.start[part], served.start[part + 1]):
            column = served.touched[i]
            if bound[layout.table_of[column]] > 0 and served.serves[part, column] > 0:
                rows = served.values[part, column] * layout.repeats[column]
                costs[part] += SCAN * layout.column_rows[column] + ROW * rows
