"""Can texts be made of stretches of other texts? Tests that come before any search for a program.

All texts are code points in one array; a text is where it begins and ends in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

TOO_MANY = np.int64(-1)


@kernel
def sharing(chars: Array, begins: Array, ends: Array, goals: Array) -> Array:
    """Whether each row's goal holds the first or two neighbouring characters of each column."""
    rows, columns = begins.shape
    found = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        for column in range(columns):
            found[row, column] = _shares(
                chars, begins[row, column], ends[row, column], goals[row, 0], goals[row, 1]
            )
    return found


@njit(nogil=True)
def _shares(chars: Array, begin: int, end: int, goal: int, goal_end: int) -> bool:
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
def fewest_stretches(chars: Array, begins: Array, ends: Array, goals: Array, most: int) -> Array:
    """How many stretches of its row and of the goal before each goal takes; or `TOO_MANY`.

    Taking the longest stretch each time takes the fewest.
    """
    rows, columns = begins.shape
    found = np.empty(rows, np.int64)
    used = np.ones(columns, np.bool_)
    for row in range(rows):
        found[row] = _fewest(chars, begins, ends, goals, row, (row - 1) % rows, used, most)
    return found


@kernel
def possible_sets(
    chars: Array,
    begins: Array,
    ends: Array,
    goals: Array,
    shared: Array,
    sets: Array,
    columns: Array,
    most: int,
) -> Array:
    """Which sets of rows may have a program that makes their goals from these columns.

    A column is used if all rows of a set share something of it with their goals (`shared`, see
    `sharing`). Each goal must be put together from few stretches of these columns and of constants,
    and a constant is in every goal. A set is a row of numbers, -1 behind the last.
    """
    found = np.zeros(len(sets), np.bool_)
    used = np.zeros(begins.shape[1], np.bool_)
    for i in range(len(sets)):
        size = 0
        while size < sets.shape[1] and sets[i, size] >= 0:
            size += 1
        used[:] = False
        found[i] = False
        for column in columns:
            used[column] = True
            for k in range(size):
                used[column] &= shared[sets[i, k], column]
            found[i] |= used[column]
        for k in range(size):
            if not found[i]:
                break
            row, other = sets[i, k], sets[i, (k - 1) % size]
            length = goals[row, 1] - goals[row, 0]
            taken = _fewest(chars, begins, ends, goals, row, other, used, most)
            found[i] = length > 0 and taken != TOO_MANY and taken <= 3 + length / 4
    return found


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
    """Stretches of a row's used columns and of another row's goal that its goal takes."""
    place, end = goals[row, 0], goals[row, 1]
    taken = np.int64(0)
    while place < end:
        size = _longest(chars, place, end, goals[other, 0], goals[other, 1], np.int64(0))
        for column in range(len(used)):
            if used[column]:
                size = _longest(chars, place, end, begins[row, column], ends[row, column], size)
        if size == 0 or taken >= most:
            return TOO_MANY
        place += size
        taken += 1
    return taken


@njit(nogil=True)
def _longest(chars: Array, place: int, end: int, begin: int, stop: int, size: int) -> int:
    """The longest stretch of a text that the goal has at a place, if longer than `size`."""
    for start in range(begin, stop - size):
        shared = 0
        most = min(end - place, stop - start)
        while shared < most and chars[place + shared] == chars[start + shared]:
            shared += 1
        size = max(size, shared)
    return size
