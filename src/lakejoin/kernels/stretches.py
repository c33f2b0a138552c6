"""Test whether texts can be made of substrings of other texts, before any search for a program."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel

Array = np.ndarray[Any, Any]

# All texts are code points in one array, given by where they begin and end in it.

TOO_MANY = np.int64(-1)


@kernel
def find_shared_columns(chars: Array, begins: Array, ends: Array, goals: Array) -> Array:
    """Whether each row's goal has the first character or two adjacent characters of each column."""
    rows, columns = begins.shape
    shared = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        for column in range(columns):
            shared[row, column] = _shares(
                chars, begins[row, column], ends[row, column], goals[row, 0], goals[row, 1]
            )
    return shared


@njit(nogil=True)
def _shares(chars: Array, begin: int, end: int, goal: int, goal_end: int) -> bool:
    """Whether a goal has the first character or two adjacent characters of a text."""
    if begin == end:
        return False
    for at in range(goal, goal_end):
        if chars[at] == chars[begin]:
            return True
    for i in range(begin, end - 1):
        for at in range(goal, goal_end - 1):
            if chars[at] == chars[i] and chars[at + 1] == chars[i + 1]:
                return True
    return False


@kernel
def count_fewest_substrings(chars: Array, begins: Array, ends: Array, goals: Array, most: int) -> Array:
    """Count the fewest substrings of its row and of the previous goal that make each goal.

    `TOO_MANY` if there are more than `most`. Taking the longest substring each time takes the
    fewest.
    """
    rows, columns = begins.shape
    counts = np.empty(rows, np.int64)
    used = np.ones(columns, np.bool_)
    for row in range(rows):
        counts[row] = _fewest(chars, begins, ends, goals, row, (row - 1) % rows, used, most)
    return counts


@kernel
def find_possible_sets(
    chars: Array,
    begins: Array,
    ends: Array,
    goals: Array,
    shared: Array,
    sets: Array,
    columns: Array,
    most: int,
) -> Array:
    """Test which sets of rows may have a program that makes their goals from these columns.

    A column is used if all rows of a set share something of it with their goals (`shared`, see
    `find_shared_columns`). Each goal must be made of few substrings of these columns and of constants, and a
    constant is in every goal. A set is a row of indices, -1 after the last.
    """
    possible = np.zeros(len(sets), np.bool_)
    used = np.zeros(begins.shape[1], np.bool_)
    for i in range(len(sets)):
        size = 0
        while size < sets.shape[1] and sets[i, size] >= 0:
            size += 1
        used[:] = False
        possible[i] = False
        for column in columns:
            used[column] = True
            for k in range(size):
                used[column] &= shared[sets[i, k], column]
            possible[i] |= used[column]
        for k in range(size):
            if not possible[i]:
                break
            row, other = sets[i, k], sets[i, (k - 1) % size]
            length = goals[row, 1] - goals[row, 0]
            taken = _fewest(chars, begins, ends, goals, row, other, used, most)
            possible[i] = length > 0 and taken != TOO_MANY and taken <= 3 + length / 4
    return possible


@njit(nogil=True)
def _fewest(
    chars: Array,
    begins: Array,
    ends: Array,
    goals: Array,
    row: int,
    other: int,
    used: Array,
    most: int,
) -> int:
    """Count the substrings of a row's used columns and of another row's goal that make its goal."""
    position, end = goals[row, 0], goals[row, 1]
    taken = np.int64(0)
    while position < end:
        size = _longest(chars, position, end, goals[other, 0], goals[other, 1], np.int64(0))
        for column in range(len(used)):
            if used[column]:
                size = _longest(chars, position, end, begins[row, column], ends[row, column], size)
        if size == 0 or taken >= most:
            return TOO_MANY
        position += size
        taken += 1
    return taken


@njit(nogil=True)
def _longest(chars: Array, position: int, end: int, begin: int, stop: int, size: int) -> int:
    """Return the longest substring of a text that the goal has at a position, if longer than
    `size`.
    """
    for start in range(begin, stop - size):
        shared = 0
        most = min(end - position, stop - start)
        while shared < most and chars[position + shared] == chars[start + shared]:
            shared += 1
        size = max(size, shared)
    return size
