"""Checking columns, one after the other: compiled.

For a column, in this order:

1. Algorithm 1: queries and members that are both within half the radius of a common centre match
   (theorem 1), without a distance.
2. The queries that are too far from all its groups (lemmas 2 and 3) match nothing in it. If those
   that are left cannot be enough, the column is done with (theorem 2).
3. The rest of algorithm 2: lemmas 5, 4 and 1 for every query that is left, and distances, until it
   is sure that the column has not enough (theorem 2 again).

After 1 and 2 other columns are settled as well (`groups_dominance`).
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.mapped_arrays import borrow_array
from lakejoin.model import Array
from published.grid_verifying import cannot_reach
from published.groups_building import Groups, Lists
from published.groups_dominance import accept_dominated, filter_dominated
from published.groups_lemmas import (
    groups_far,
    groups_match,
    object_far,
    object_matches,
    within,
)
from published.groups_state import (
    COMPARED,
    MEASURED,
    NEAR,
    OPEN,
    SETTLED,
    Asked,
    Goal,
    Marks,
    half,
)
from published.metric import Reach, distance


@njit
def _lower_bound(groups: Groups, asked: Asked, x: int, sure: float, goal: Goal, does: Array) -> int:
    """Algorithm 1, theorem 1: how many queries, or pairs, match around common centres."""
    found = np.int64(0)
    for group in range(groups.first[x], groups.first[x + 1]):
        mine = asked.of_centre[groups.centre[group]]
        if mine < 0 or asked.half[mine] == 0:
            continue
        members = half(groups, group, sure)
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
    """How many members of a group, from `begin` on, match a query; the `first` may be enough."""
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
        inner = asked.start[mine] + asked.half[mine]
        for query in range(asked.start[mine], asked.start[mine + 1]):
            if not marks.may[query]:
                continue
            if cannot_reach(found, ahead, size, goal.least):
                return found
            ahead -= 1
            for group in range(groups.first[x], groups.first[x + 1]):
                begin = groups.start[group]
                if query < inner and groups.centre[group] == asked.centre[mine]:
                    begin += half(groups, group, reach.sure)  # algorithm 1 counted these
                found += _matches(
                    groups, vectors, asked, mine, query, group, begin, reach, False, tally
                )
            if not goal.exact and found >= goal.least:
                return found
    return found


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
        borrow_array(groups.first), borrow_array(groups.column), borrow_array(groups.centre),
        borrow_array(groups.radius), borrow_array(groups.start), borrow_array(groups.member),
        borrow_array(groups.away),
    )  # fmt: skip
    lists = Lists(borrow_array(lists.start), borrow_array(lists.group))
    keys = Lists(borrow_array(keys.start), borrow_array(keys.group))
    asked = Asked(
        borrow_array(asked.centre), borrow_array(asked.radius), borrow_array(asked.start),
        borrow_array(asked.half), borrow_array(asked.of_centre), borrow_array(asked.vectors),
        borrow_array(asked.away), borrow_array(asked.apart),
    )  # fmt: skip
    marks = Marks(
        borrow_array(marks.state), borrow_array(marks.found), borrow_array(marks.may),
        borrow_array(marks.does), borrow_array(marks.times), borrow_array(marks.touched),
        borrow_array(marks.radii),
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
                accept_dominated(groups, lists, asked, x, reach.sure, goal, marks)
            continue
        near = _near(groups, asked, x, reach.far, marks.may)
        size = groups.start[groups.first[x + 1]] - groups.start[groups.first[x]]
        if cannot_reach(0, near, size if goal.pairs else 1, goal.least):
            if goal.dominance:
                filter_dominated(groups, keys, x, near, goal, marks)
            continue
        if goal.pairs:
            found = _count_pairs(groups, vectors, asked, x, reach, goal, marks, found, near, tally)
        else:
            found = _count_hits(groups, vectors, asked, x, reach, goal, marks, found, near, tally)
        tally[NEAR] += found
        marks.found[x] = found if goal.exact else min(found, goal.least)
