"""The parts of the grid method by themselves: pivots, lemmas 1 to 7, cells, blocking, cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.vector_spaces import unit, vectors_of
from lakejoin.model import Array
from oracle.vectors import all_distances
from published.grid_blocking import (
    block,
    cell_far_from_cell,
    cell_matches_cell,
    scale_of,
    vector_far_from_cell,
    vector_matches_cell,
)
from published.grid_cells import Frame, cells_of, most_levels, ordered
from published.grid_cost import best_levels
from published.grid_verifying import cannot_reach, point_far, point_matches
from published.metric import number_of, reach_of
from published.pivots import choose_pivots, mapped

METRICS = ("l2", "l2", "l1", "angular")


# -- pivots ----------------------------------------------------------------------------------


def test_pivots_are_ends() -> None:
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(500, 2)) * [10, 1]).astype(np.float32)
    order = np.abs(vectors[:, 0]).argsort()[::-1]
    for by in ("pca", "hf"):
        pivots = choose_pivots(vectors, 2, 0, by)
        assert len(pivots) == 2
        assert any((pivots == vectors[i]).all(axis=1).any() for i in order[:3])


@pytest.mark.parametrize("by", ["pca", "hf"])
def test_of_few_different_vectors_as_many_pivots_as_there_are(by: str) -> None:
    equal = np.ones((9, 4), np.float32)
    assert len(choose_pivots(equal, 3, 0, by)) == 1
    assert len(choose_pivots(equal[:0], 3, 0, by)) == 0
    two = np.concatenate([equal, 2 * equal])
    assert len(choose_pivots(two, 5, 0, by)) == 2


def test_foci_are_about_equally_far_from_each_other() -> None:
    angles = 2 * np.pi * np.arange(12) / 12
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    foci = choose_pivots(ring, 3, 0, "hf")
    apart = all_distances(foci, foci)[np.triu_indices(3, 1)]
    assert apart.max() == pytest.approx(2) and apart.min() > 1


# -- the lemmas of the grid ------------------------------------------------------------------


class Mapped:
    """Vectors and queries with their distances, mapped, and the cells they are in."""

    def __init__(self, data: Any) -> None:
        metric = data.draw(st.sampled_from(METRICS))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        kind = data.draw(st.sampled_from(["random", "clustered", "line", "equal", "huge"]))
        vectors = vectors_of(kind, 40, data.draw(st.sampled_from([1, 2, 8])), rng)
        queries = vectors_of(kind, 12, vectors.shape[1], rng)
        if metric == "angular":
            vectors, queries = unit(vectors), unit(queries)
        far = all_distances(queries, vectors, metric)
        self.radius = float(far.ravel()[data.draw(st.integers(0, far.size - 1))])
        self.near = far <= self.radius * (1 + 1e-9)
        number = number_of(metric)
        pivots = choose_pivots(vectors, data.draw(st.integers(1, 4)), number)
        self.points, self.mine = mapped(vectors, pivots, number), mapped(queries, pivots, number)
        largest = max(float(self.points.max()), float(self.mine.max()))
        self.reach = reach_of(self.radius, number, largest)
        self.frame, self.levels = Frame.around(self.points), data.draw(st.integers(1, 5))
        self.places = self.frame.places(self.points, self.levels)
        self.width = self.frame.widths(self.levels)[-1]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_lemmas_1_and_2(data: Any) -> None:
    case = Mapped(data)
    for q, point in enumerate(case.mine):
        for v, other in enumerate(case.points):
            assert not (point_far(point, other, case.reach.far) and case.near[q, v])
            assert not point_matches(point, other, case.reach.sure) or case.near[q, v]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_lemmas_3_and_5(data: Any) -> None:
    case = Mapped(data)
    low, width = case.frame.low, case.width
    for q, point in enumerate(case.mine):
        for v, place in enumerate(case.places):
            if vector_far_from_cell(point, place, low, width, case.reach.far):
                assert not case.near[q, v]
            if vector_matches_cell(point, place, low, width, case.reach.sure):
                assert case.near[q, v]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_lemmas_4_and_6(data: Any) -> None:
    case = Mapped(data)
    low, width = case.frame.low, case.width
    scale = scale_of(low, case.frame.widths(case.levels), case.reach.far, case.reach.sure)
    mine = case.frame.places(case.mine, case.levels)
    for q, place in enumerate(mine):
        together = np.flatnonzero((mine == place).all(axis=1))
        top = case.mine[together].max(axis=0)
        for v, other in enumerate(case.places):
            if cell_far_from_cell(place, other, scale.steps[-1]):
                assert not case.near[q, v]
            if cell_matches_cell(top, other, low, width, case.reach.sure):
                assert case.near[together, v].all()


def test_lemmas_settle_something() -> None:
    """A pivot at 0 on a line separates far from near without measuring a distance."""
    low, width = np.zeros(1), np.ones(1)
    at = np.array([2.5], np.float32)
    assert point_far(at, np.array([4.0], np.float32), 1.0)
    assert point_matches(at, np.array([0.5], np.float32), 3.0)
    assert vector_far_from_cell(at, np.array([4], np.uint16), low, width, 1.0)
    assert not vector_far_from_cell(at, np.array([3], np.uint16), low, width, 1.0)
    assert vector_matches_cell(at, np.array([0], np.uint16), low, width, 3.5)
    assert not vector_matches_cell(at, np.array([1], np.uint16), low, width, 3.5)
    two, five = np.array([2], np.uint16), np.array([5], np.uint16)
    assert cell_far_from_cell(two, five, scale_of(low, width[None], 1.5, 1.5).steps[0])
    assert not cell_far_from_cell(two, five, scale_of(low, width[None], 2.5, 2.5).steps[0])
    assert cell_matches_cell(np.array([2.9], np.float32), two, low, width, 6.0)
    assert not cell_matches_cell(np.array([2.9], np.float32), two, low, width, 5.8)


def test_lemma_7() -> None:
    assert cannot_reach(2, 3, 1, 6) and not cannot_reach(2, 3, 1, 5)
    assert cannot_reach(2, 3, 4, 15) and not cannot_reach(2, 3, 4, 14)


# -- cells and blocking ----------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_cells_of_a_level_part_those_above(data: Any) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    points = rng.normal(size=(data.draw(st.integers(0, 60)), data.draw(st.integers(1, 5))))
    points = points.astype(np.float32)
    deep = most_levels(points.shape[1])
    levels = data.draw(st.integers(1, deep))
    frame = Frame.around(points)
    places = frame.places(points, deep)
    order, numbers = ordered(places, deep)
    cells = cells_of(places[order], numbers, deep, levels, points[order])
    for level in range(1, levels + 1):
        first, last = cells.start[level - 1], cells.start[level]
        mine = cells.place[first:last]
        assert len(np.unique(mine, axis=0)) == len(mine)
        assert {tuple(row) for row in mine.tolist()} == {
            tuple(row) for row in (places >> (deep - level)).tolist()
        }
        for cell in range(first, last):
            inside = range(cells.begin[cell], cells.end[cell])
            assert len(inside) > 0
            below = places[order[list(inside)]] if level == levels else cells.place[list(inside)]
            shift = deep - level if level == levels else 1
            assert (below >> shift == cells.place[cell]).all()
        assert cells.begin[first:last].tolist() == sorted(cells.begin[first:last].tolist())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_blocking_pairs_every_match_with_its_leaf_once(data: Any) -> None:
    case = Mapped(data)
    order, numbers = ordered(case.places, case.levels)
    lake = cells_of(case.places[order], numbers, case.levels, case.levels, case.points[:0])
    places = case.frame.places(case.mine, case.levels)
    my_order, my_numbers = ordered(places, case.levels)
    points = case.mine[my_order]
    mine = cells_of(places[my_order], my_numbers, case.levels, case.levels, points)
    scale = scale_of(
        case.frame.low, case.frame.widths(case.levels), case.reach.far, case.reach.sure
    )
    nothing = np.full(len(mine.begin) - mine.start[case.levels - 1], -1)
    matching, candidates = block(mine, lake, points, nothing, scale, np.zeros(1, np.int64))
    leaf = np.searchsorted(lake.begin[lake.start[case.levels - 1] :], np.arange(40), "right") - 1
    within = case.near[my_order][:, order]
    sure = {(q, c) for q, first, last in matching.tolist() for c in range(first, last)}
    maybe = {(q, c) for q, c in candidates.tolist()}
    assert len(sure) == sum(last - first for _, first, last in matching.tolist())
    assert len(maybe) == len(candidates) and not sure & maybe
    for q, v in np.ndindex(*within.shape):
        if (q, leaf[v]) in sure:
            assert within[q, v]
        elif within[q, v]:
            assert (q, leaf[v]) in maybe


def levels_for(points: Array) -> int:
    frame, deep = Frame.around(points), 8
    places = frame.places(points, deep)
    order, numbers = ordered(places, deep)
    sorted_places = places[order]
    return best_levels(
        points, frame, lambda n: cells_of(sorted_places, numbers, deep, n, points[:0]), deep
    )


def test_the_cost_model_wants_more_levels_for_more_vectors() -> None:
    rng = np.random.default_rng(2)
    chosen = [levels_for(rng.random((count, 3)).astype(np.float32)) for count in (20, 500, 50_000)]
    assert chosen == sorted(chosen) and 1 <= chosen[0] < chosen[-1] < 8
    assert levels_for(np.zeros((0, 3), np.float32)) == levels_for(np.ones((5, 3), np.float32)) == 1
