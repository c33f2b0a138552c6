"""Checking columns one after the other, and what one column tells of others: compiled.

For a column, in this order:

1. Algorithm 1: queries and members that are both within half the radius of a common centre match
   (theorem 1), without a distance.
2. The queries that are too far from all its groups (lemmas 2 and 3) match nothing in it. If those
   that are left cannot be enough, the column is done with (theorem 2).
3. The rest of algorithm 2: lemmas 5, 4 and 1 for every query that is left, and distances, until it
   is sure that the column has not enough (theorem 2 again).

After 1 and 2 other columns are settled as well, by their groups around the same centres, see
`_accept_dominated` and `_filter_dominated`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.memory import bare
from lakejoin.search.vectors.grid_verifying import cannot_reach
from lakejoin.search.vectors.groups_building import Groups, Lists
from lakejoin.search.vectors.groups_lemmas import (
    groups_far,
    groups_match,
    object_far,
    object_matches,
    within,
)
from lakejoin.search.vectors.metric import Reach, distance

Array = np.ndarray[Any, Any]

OPEN, SETTLED = 0, 1  # columns to check, and those that were, or need not be
COMPARED, MEASURED, NEAR = range(3)  # places in the tally


class Asked(NamedTuple):
    """The groups of the query: the centre and the radius of each, where its queries begin, and how
    many of them are within half the radius of the search (`half`). `of_centre` is the group of a
    centre, or -1. Queries are in the order of groups, nearest to the centre first: their `vectors`,
    and by centre how far `away` they are. `apart` are the distances of the centres of groups from
    all centres."""

    centre: Array
    radius: Array
    start: Array
    half: Array
    of_centre: Array
    vectors: Array
    away: Array
    apart: Array


class Goal(NamedTuple):
    """What is counted, and when is it enough?"""

    least: int
    pairs: bool
    exact: bool
    dominance: bool


class Marks(NamedTuple):
    """By column its `state` and how many were `found`; by query whether it `may` match in the
    column that is checked, and whether it `does`. For dominance there is room: by column `times`,
    all zero in between, and a list of columns, `touched`; by centre `radii`, all -1."""

    state: Array
    found: Array
    may: Array
    does: Array
    times: Array
    touched: Array
    radii: Array


@njit
def _half(groups: Groups, group: int, sure: float) -> int:
    """How many members of a group are within half the radius of the search."""
    begin = groups.start[group]
    return within(groups.away, begin, groups.start[group + 1], sure / 2) - begin


@njit
def _lower_bound(groups: Groups, asked: Asked, x: int, sure: float, goal: Goal, does: Array) -> int:
    """Algorithm 1, theorem 1: how many queries, or pairs, match around common centres."""
    found = np.int64(0)
    for group in range(groups.first[x], groups.first[x + 1]):
        mine = asked.of_centre[groups.centre[group]]
        if mine < 0 or asked.half[mine] == 0:
            continue
        members = _half(groups, group, sure)
        if members == 0:
            continue
        found += asked.half[mine] * (members if goal.pairs else 1)
        for query in range(asked.start[mine], asked.start[mine] + asked.half[mine]):
            does[query] = True
        if not goal.exact and found >= goal.least:
            break
    return found


@njit
def _near(groups: Groups, asked: Asked, x: int, far: float, may: Array) -> int:
    """Lemmas 3 and 2: marks and counts the queries that are not too far from all groups."""
    near = np.int64(0)
    begin, end = groups.first[x], groups.first[x + 1]
    for mine in range(asked.centre.shape[0]):
        first, last = asked.start[mine], asked.start[mine + 1]
        may[first:last] = False
        for group in range(begin, end):
            centre, radius = groups.centre[group], groups.radius[group]
            if groups_far(asked.apart[mine, centre], asked.radius[mine], radius, far):
                continue
            for query in range(first, last):
                if not may[query] and not object_far(asked.away[query, centre], radius, far):
                    may[query] = True
                    near += 1
    return near


@njit
def _matches(
    groups: Groups,
    vectors: Array,
    asked: Asked,
    mine: int,
    query: int,
    group: int,
    begin: int,
    reach: Reach,
    first: bool,
    tally: Array,
) -> int:
    """How many members of a group, from `begin` on, match a query; of the `first` only if so."""
    centre, radius, end = groups.centre[group], groups.radius[group], groups.start[group + 1]
    tally[COMPARED] += 1
    if groups_far(asked.apart[mine, centre], asked.radius[mine], radius, reach.far):
        return 0
    if groups_match(asked.apart[mine, centre], asked.radius[mine], radius, reach.sure):
        return end - begin
    away = np.float64(asked.away[query, centre])
    if object_far(away, radius, reach.far):
        return 0
    if object_matches(away, radius, reach.sure):
        return end - begin
    # Lemma 1, for the centre as a pivot.
    begin = within(groups.away, begin, end, away - reach.far)
    end = within(groups.away, begin, end, away + reach.far)
    vector, found = asked.vectors[query], np.int64(0)
    for i in range(begin, end):
        tally[MEASURED] += 1
        if distance(reach.metric, vector, vectors[groups.member[i]]) <= reach.limit:
            found += 1
            if first:
                break
    return found


@njit
def _count_hits(
    groups: Groups,
    vectors: Array,
    asked: Asked,
    x: int,
    reach: Reach,
    goal: Goal,
    marks: Marks,
    found: int,
    near: int,
    tally: Array,
) -> int:
    """Algorithm 2 for hits, from what algorithm 1 found on. May stop below `least` (theorem 2), or
    unless `exact` there."""
    ahead = near - found
    for mine in range(asked.centre.shape[0]):
        for query in range(asked.start[mine], asked.start[mine + 1]):
            if not marks.may[query] or marks.does[query]:
                continue
            if cannot_reach(found, ahead, 1, goal.least):
                return found
            ahead -= 1
            for group in range(groups.first[x], groups.first[x + 1]):
                begin = groups.start[group]
                if _matches(groups, vectors, asked, mine, query, group, begin, reach, True, tally):
                    found += 1
                    break
            if not goal.exact and found >= goal.least:
                return found
    return found


@njit
def _count_pairs(
    groups: Groups,
    vectors: Array,
    asked: Asked,
    x: int,
    reach: Reach,
    goal: Goal,
    marks: Marks,
    found: int,
    near: int,
    tally: Array,
) -> int:
    """Algorithm 2 for pairs."""
    size = groups.start[groups.first[x + 1]] - groups.start[groups.first[x]]
    ahead = near
    for mine in range(asked.centre.shape[0]):
        half = asked.start[mine] + asked.half[mine]
        for query in range(asked.start[mine], asked.start[mine + 1]):
            if not marks.may[query]:
                continue
            if cannot_reach(found, ahead, size, goal.least):
                return found
            ahead -= 1
            for group in range(groups.first[x], groups.first[x + 1]):
                begin = groups.start[group]
                if query < half and groups.centre[group] == asked.centre[mine]:
                    begin += _half(groups, group, reach.sure)  # algorithm 1 counted these
                found += _matches(
                    groups, vectors, asked, mine, query, group, begin, reach, False, tally
                )
            if not goal.exact and found >= goal.least:
                return found
    return found


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
def _filter_dominated(
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
def _accept_dominated(
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
        members = _half(groups, group, sure) if mine >= 0 and asked.half[mine] > 0 else 0
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
def check_columns(
    order: Array,
    groups: Groups,
    lists: Lists,
    keys: Lists,
    vectors: Array,
    asked: Asked,
    reach: Reach,
    goal: Goal,
    marks: Marks,
    tally: Array,
) -> None:
    """Algorithm 4 for some columns in turn: counts those that are still open."""
    groups = Groups(
        bare(groups.first), bare(groups.column), bare(groups.centre), bare(groups.radius),
        bare(groups.start), bare(groups.member), bare(groups.away),
    )  # fmt: skip
    lists = Lists(bare(lists.start), bare(lists.group))
    keys = Lists(bare(keys.start), bare(keys.group))
    asked = Asked(
        bare(asked.centre), bare(asked.radius), bare(asked.start), bare(asked.half),
        bare(asked.of_centre), bare(asked.vectors), bare(asked.away), bare(asked.apart),
    )  # fmt: skip
    marks = Marks(
        bare(marks.state), bare(marks.found), bare(marks.may), bare(marks.does),
        bare(marks.times), bare(marks.touched), bare(marks.radii),
    )  # fmt: skip
    for x in order:
        if marks.state[x] != OPEN:
            continue
        marks.state[x] = SETTLED
        marks.does[:] = False
        found = _lower_bound(groups, asked, x, reach.sure, goal, marks.does)
        if not goal.exact and found >= goal.least:
            marks.found[x] = goal.least
            if goal.dominance:
                _accept_dominated(groups, lists, asked, x, reach.sure, goal, marks)
            continue
        near = _near(groups, asked, x, reach.far, marks.may)
        size = groups.start[groups.first[x + 1]] - groups.start[groups.first[x]]
        if cannot_reach(0, near, size if goal.pairs else 1, goal.least):
            if goal.dominance:
                _filter_dominated(groups, keys, x, near, goal, marks)
            continue
        if goal.pairs:
            found = _count_pairs(groups, vectors, asked, x, reach, goal, marks, found, near, tally)
        else:
            found = _count_hits(groups, vectors, asked, x, reach, goal, marks, found, near, tally)
        tally[NEAR] += found
        marks.found[x] = found if goal.exact else min(found, goal.least)


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
