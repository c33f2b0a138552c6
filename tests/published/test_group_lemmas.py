"""The parts of the group method by themselves: lemmas 2 to 7, theorems 1 to 5, the order."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.vector_spaces import space_of, unit, vectors_of
from oracle.vectors import all_distances
from published.groups import GroupMethod, GroupOptions
from published.groups_building import build_groups, build_lists, rarest
from published.groups_checking import check_columns
from published.groups_dominance import leading
from published.groups_lemmas import (
    groups_far,
    groups_match,
    object_far,
    object_matches,
    within,
)
from published.groups_state import OPEN, SETTLED, Goal, Marks
from published.groups_tree import apart, build_tree
from published.loaded import load
from published.metric import distances, number_of

METRICS = ("l2", "l2", "l1", "angular")


class Grouped:
    """A lake in groups, and a query; distances by brute force."""

    def __init__(self, data: Any) -> None:
        metric = data.draw(st.sampled_from(METRICS))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        kind = data.draw(st.sampled_from(["random", "clustered", "line", "equal", "huge"]))
        vectors = vectors_of(kind, 60, data.draw(st.sampled_from([1, 2, 8])), rng)
        queries = vectors_of(kind, 15, vectors.shape[1], rng)
        if metric == "angular":
            vectors, queries = unit(vectors), unit(queries)
        self.columns = tuple(
            np.sort(rng.choice(60, rng.integers(0, 20), replace=False)) for _ in range(8)
        )
        self.loaded = load(space_of(vectors, self.columns, True))
        options = GroupOptions(data.draw(st.sampled_from([1, 4, 20])), pivots=3)
        self.method = GroupMethod(self.loaded, metric, options)
        far = all_distances(queries, vectors, metric)
        self.radius = float(far.ravel()[data.draw(st.integers(0, far.size - 1))])
        self.metric = number_of(metric)
        self.tally = np.zeros(3, np.int64)
        self.asked, self.reach = self.method._asked(queries, self.radius, self.tally)
        near = all_distances(self.asked.vectors, vectors, metric) <= self.radius * (1 + 1e-9)
        self.near = near[:, self.method.groups.member]  # by query and member
        self.apart = np.empty((len(self.asked.centre), len(self.method.centres)))
        distances(
            self.metric, self.method.centres[self.asked.centre], self.method.centres, self.apart
        )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_lemmas_2_to_5_of_groups(data: Any) -> None:
    case = Grouped(data)
    groups, asked, reach = case.method.groups, case.asked, case.reach
    for group, (centre, radius) in enumerate(zip(groups.centre, groups.radius, strict=True)):
        members = slice(groups.start[group], groups.start[group + 1])
        for query in range(len(asked.vectors)):
            away = asked.away[query, centre]
            if object_far(away, radius, reach.far):
                assert not case.near[query, members].any()
            if object_matches(away, radius, reach.sure):
                assert case.near[query, members].all()
        for mine in range(len(asked.centre)):
            queries = slice(asked.start[mine], asked.start[mine + 1])
            between = case.apart[mine, centre]
            if groups_far(between, asked.radius[mine], radius, reach.far):
                assert not case.near[queries, members].any()
            if groups_match(between, asked.radius[mine], radius, reach.sure):
                assert case.near[queries, members].all()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_theorem_3_leaves_out_only_what_lemma_3_would(data: Any) -> None:
    case = Grouped(data)
    groups, asked = case.method.groups, case.asked
    for mine, group in np.ndindex(len(asked.centre), len(groups.centre)):
        centre = groups.centre[group]
        if np.isinf(asked.apart[mine, centre]):
            queries = slice(asked.start[mine], asked.start[mine + 1])
            assert not case.near[queries, groups.start[group] : groups.start[group + 1]].any()
        else:
            assert asked.apart[mine, centre] == np.float32(case.apart[mine, centre])


def test_theorem_3_leaves_out_something() -> None:
    centres = np.arange(64, dtype=np.float32)[:, None]
    tree = build_tree(centres.copy(), np.full(64, 0.5))
    out = np.full((1, 64), np.inf, np.float32)
    measured = apart(tree, np.array([10]), np.array([0.5]), centres, 0, 1.0, out)
    assert measured == np.isfinite(out).sum() <= 32
    assert np.isfinite(out[0, 8:13]).all()


@settings(deadline=None)
@given(st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 9))
def test_lemmas_6_and_7(between: float, mine: float, one: float, two: float, tau: float) -> None:
    """What holds for a radius holds for smaller ones."""
    small, large = sorted((one, two))
    assert not groups_far(between, mine, large, tau) or groups_far(between, mine, small, tau)
    assert not groups_match(between, mine, large, tau) or groups_match(between, mine, small, tau)


def test_lemmas_of_groups_settle_something() -> None:
    assert object_far(3.0, 1.0, 1.5) and not object_far(2.0, 1.0, 1.5)
    assert groups_far(4.0, 1.0, 1.0, 1.5) and not groups_far(3.0, 1.0, 1.0, 1.5)
    assert object_matches(0.5, 1.0, 1.5) and not object_matches(1.0, 1.0, 1.5)
    assert groups_match(0.2, 0.3, 0.4, 1.0) and not groups_match(0.5, 0.3, 0.4, 1.0)
    assert within(np.array([0.0, 1.0, 1.0, 2.0]), 0, 4, 1.0) == 3


class Line:
    """Columns of numbers around centres, and a query of numbers, at radius 1."""

    def __init__(self, centres: list[float], columns: list[list[float]], mine: list[float]) -> None:
        values = np.unique(np.concatenate([np.asarray(column) for column in columns]))
        vectors = values.astype(np.float32)[:, None]
        ids = tuple(np.searchsorted(values, column) for column in columns)
        self.method = GroupMethod.of(space_of(vectors, ids, True))
        self.method.centres = np.array(centres, np.float32)[:, None]
        loaded = load(space_of(vectors, ids, True))
        self.method.groups = build_groups(loaded, self.method.centres, 0)
        number = len(centres)
        self.lists = build_lists(self.method.groups, number)
        keys = rarest(self.method.groups, number)
        self.keys = build_lists(self.method.groups, number, keys)
        widest = np.full(number, -1.0)
        np.maximum.at(widest, self.method.groups.centre, self.method.groups.radius)
        self.method._tree = build_tree(np.abs(self.method.centres - centres[0]), widest)
        self.vectors = vectors
        self.mine = np.array(mine, np.float32)[:, None]

    def checked(self, column: int, goal: Goal) -> Marks:
        """The marks once one column was checked."""
        tally = np.zeros(3, np.int64)
        asked, reach = self.method._asked(self.mine, 1.0, tally)
        columns = len(self.method.groups.first) - 1
        marks = Marks(
            np.full(columns, OPEN, np.uint8),
            np.zeros(columns, np.int64),
            *np.zeros((2, len(self.mine)), np.bool_),
            *np.zeros((2, columns), np.int64),
            np.full(len(self.method.centres), -1.0),
        )
        order = np.array([column])
        check_columns(
            order, self.method.groups, self.lists, self.keys, self.vectors,
            asked, reach, goal, marks, tally,
        )  # fmt: skip
        assert not marks.times.any() and (marks.radii == -1).all()
        return marks


def test_theorem_1_accepts_around_common_centres() -> None:
    line = Line([0, 10], [[0.1, 10.2], [3.0]], [0.2, 9.9, 5.0])
    marks = line.checked(0, Goal(2, False, False, False))
    assert marks.found.tolist() == [2, 0] and marks.does.sum() == 2
    assert line.checked(0, Goal(1, True, False, False)).found.tolist() == [1, 0]


def test_theorem_4_accepts_columns_with_no_fewer_members_near_the_centres() -> None:
    columns = [[0.1, 10.2], [-0.3, 9.8, 10.1], [0.4], [0.2, 11.0]]
    line = Line([0, 10], columns, [0.2, 9.9])
    marks = line.checked(0, Goal(2, False, False, True))
    assert marks.state.tolist() == [SETTLED, SETTLED, OPEN, OPEN]
    assert marks.found.tolist() == [2, 2, 0, 0]
    assert (line.checked(0, Goal(2, False, False, False)).state == OPEN).sum() == 3


def test_theorem_5_filters_columns_within_what_was_filtered() -> None:
    # The query is at 4, beyond 1 of the first column's -2..2 and 8..12.
    columns = [[2.0, 12.0], [1.0], [-1.5, 8.5], [1.0, 20.0], [3.5, 12.0]]
    line = Line([0, 10, 20], columns, [4.5])
    marks = line.checked(0, Goal(1, False, True, True))
    assert marks.state.tolist() == [SETTLED, SETTLED, SETTLED, OPEN, OPEN]
    assert (line.checked(0, Goal(1, False, True, False)).state == OPEN).sum() == 4


def test_theorem_5_as_printed_would_lose_a_column() -> None:
    """The first column's groups have the smaller radii, and it is filtered; the second matches."""
    line = Line([0, 10], [[1.0], [4.0]], [4.5])
    marks = line.checked(0, Goal(1, False, True, True))
    assert marks.state.tolist() == [SETTLED, OPEN]
    assert line.checked(1, Goal(1, False, True, True)).found.tolist() == [0, 1]


def test_columns_with_large_radii_come_first() -> None:
    line = Line([0, 10], [[0.1], [2.0, 13.0], [1.0, 10.5]], [0.0])
    state, head = np.full(3, OPEN, np.uint8), line.lists.start[:-1].copy()
    often = leading(line.method.groups, line.lists, state, head, 0.1)
    assert often.tolist() == [0, 2, 0]
    state[1] = SETTLED
    assert leading(line.method.groups, line.lists, state, head, 0.1).tolist() == [0, 0, 2]
    state[2] = SETTLED
    assert leading(line.method.groups, line.lists, state, head, 0.1).tolist() == [1, 0, 0]
