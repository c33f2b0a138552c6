"""What one column tells of others, by their groups around the same centres: compiled.

Theorems 4 and 5 settle columns that are not checked at all, and algorithm 3 puts those first that
are likely to tell the most.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array
from published.grid_verifying import cannot_reach
from published.groups_building import Groups, Lists
from published.groups_state import OPEN, SETTLED, Asked, Goal, Marks, half


@njit
def _from(lists: Lists, groups: Groups, centre: int, most: float) -> int:
    """Where, in the list of a centre, radii are at most `most`."""
    begin, end = lists.start[centre], lists.start[centre + 1]
    while begin < end:
        middle = (begin + end) >> 1
        if groups.radius[lists.group[middle]] > most:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit
def filter_dominated(
    groups: Groups, keys: Lists, x: int, near: int, goal: Goal, marks: Marks
) -> None:
    """Theorem 5, the sound way round: settles the columns of which every group has a group of this
    one around the same centre, with a radius that is not smaller.

    The queries that are too far from this column's groups are too far from theirs. As printed, the
    other column's radii are the larger ones, and every group of *this* column has one there. But a
    query beyond a small radius may well be within a larger one, or in a group that this column does
    not have. (The proof says "d > R2 + tau" where only "d > R1 + tau" and R1 <= R2 are known.)

    `keys` lists one group of each column: whoever has it not dominated need not be looked at.
    """
    state, radii = marks.state, marks.radii
    begin, end = groups.first[x], groups.first[x + 1]
    for group in range(begin, end):
        radii[groups.centre[group]] = groups.radius[group]
    for group in range(begin, end):
        centre = groups.centre[group]
        for i in range(_from(keys, groups, centre, groups.radius[group]), keys.start[centre + 1]):
            column = groups.column[keys.group[i]]
            if state[column] != OPEN:
                continue
            first, last = groups.first[column], groups.first[column + 1]
            if last - first > end - begin:
                continue  # it has a centre that this one does not have
            size = groups.start[last] - groups.start[first] if goal.pairs else 1
            while first < last and groups.radius[first] <= radii[groups.centre[first]]:
                first += 1
            if first == last and cannot_reach(0, near, size, goal.least):
                state[column] = SETTLED
    for group in range(begin, end):
        radii[groups.centre[group]] = -1.0


@njit
def accept_dominated(
    groups: Groups, lists: Lists, asked: Asked, x: int, sure: float, goal: Goal, marks: Marks
) -> None:
    """Theorem 4: settles the columns that algorithm 1 would accept by the same groups as this one.

    For each of these, the other column has a group that is within half the radius as a whole (a
    quick check that may miss some), with at least as many members as count for this one.
    """
    state, times, touched = marks.state, marks.times, marks.touched
    met, used, found = np.int64(0), np.int64(0), np.int64(0)
    for group in range(groups.first[x], groups.first[x + 1]):
        centre = groups.centre[group]
        mine = asked.of_centre[centre]
        members = half(groups, group, sure) if mine >= 0 and asked.half[mine] > 0 else 0
        if members == 0:
            continue
        used += 1
        found += asked.half[mine] * (members if goal.pairs else 1)
        for i in range(_from(lists, groups, centre, sure / 2), lists.start[centre + 1]):
            other = lists.group[i]
            column = groups.column[other]
            if state[column] == OPEN and groups.start[other + 1] - groups.start[other] >= members:
                if times[column] == 0:
                    touched[met] = column
                    met += 1
                times[column] += 1
        if found >= goal.least:
            break
    for i in range(met):
        column = touched[i]
        if times[column] == used:
            state[column], marks.found[column] = SETTLED, goal.least
        times[column] = 0


@kernel
def leading(groups: Groups, lists: Lists, state: Array, head: Array, share: float) -> Array:
    """Algorithm 3: how often each open column is among the first of a list, those with the largest
    radii; `share` of a list are looked at. `head` is where the open ones of each list begin.

    The paper counts again for every column that is chosen. Here a count serves for all columns
    that are in it, in the order of how often they are: most of them would be chosen next anyway.
    """
    often = np.zeros(state.shape[0], dtype=np.int64)
    for centre in range(head.shape[0]):
        end = lists.start[centre + 1]
        while head[centre] < end and state[groups.column[lists.group[head[centre]]]] != OPEN:
            head[centre] += 1
        left = np.ceil(share * (end - lists.start[centre]))
        i = head[centre]
        while i < end and left > 0:
            column = groups.column[lists.group[i]]
            if state[column] == OPEN:
                often[column] += 1
                left -= 1
            i += 1
    return often
