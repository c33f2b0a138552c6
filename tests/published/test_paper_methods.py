"""The published methods against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.vector_spaces import Lake, lakes, radii, space_of, unit, vectors_of
from lakejoin.engines.meaning.engine import Nearness, VectorSearch
from lakejoin.errors import InputError
from lakejoin.model import Array
from oracle.vectors import all_distances, near, scores
from published import grid as grid_module
from published.grid import GridMethod, GridOptions
from published.groups import GroupMethod, GroupOptions
from published.pivots import MOST

METRICS = ("l2", "l2", "l1", "angular")


def expected(lake: Lake, radius: float, metric: str, measure: str) -> Array:
    matches = near(lake.queries, lake.vectors[0], radius, metric, lake.zeros)
    hits, pairs = scores(matches, lake.columns[0])
    return np.array(hits if measure == "hit" else pairs, dtype=np.int64)


def agree(found: Array, wanted: Array, least: int, allowed: Array, exact: bool = True) -> None:
    """Counts are as contracted."""
    enough = allowed & (wanted >= least)
    assert (found[~enough] < max(least, 1)).all()
    assert (found[enough] == (wanted[enough] if exact else max(least, 1))).all()


grids = st.builds(
    GridOptions,
    st.sampled_from([None, 1, 2, 3, 5, 9, MOST]),
    st.sampled_from([None, None, 1, 2, 3, 5, 40]),
    st.sampled_from(["pca", "hf"]),
    st.booleans(),
    st.booleans(),
)
groupings = st.builds(
    GroupOptions,
    st.sampled_from([1, 2, 7, 40, 1000]),
    st.sampled_from(["data", "space"]),
    st.sampled_from([1, 2, 7]),
    st.sampled_from([0.01, 0.08, 1.0]),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_counts_are_those_of_brute_force(data: Any) -> None:
    metric = data.draw(st.sampled_from(METRICS))
    lake = data.draw(lakes(units=metric == "angular", segments=1))
    options = data.draw(st.one_of(grids, groupings))
    Method = GridMethod if isinstance(options, GridOptions) else GroupMethod  # noqa: N806
    method = Method.of(lake.spaces()[0], metric, options)
    allowed = np.array([data.draw(st.integers(0, 5)) > 0 for _ in lake.columns[0]], np.bool_)
    for _ in range(3):
        radius = data.draw(radii(lake, metric))
        measure = data.draw(st.sampled_from(["hit", "all"]))
        wanted = expected(lake, radius, metric, measure)
        least = max(data.draw(st.sampled_from([1, 2, len(lake.queries), *wanted.tolist()])), 1)
        found = method.counts(lake.queries, radius, measure, least, allowed)
        agree(found, wanted, least, allowed, options.exact)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_they_find_the_same_as_our_search(data: Any) -> None:
    lake = data.draw(lakes(units=data.draw(st.booleans())))
    search, radius = VectorSearch(lake.spaces()), data.draw(radii(lake))
    measure, least = data.draw(st.sampled_from(["hit", "all"])), data.draw(st.integers(0, 4))
    found = search.search(lake.queries, Nearness(radius, measure, least))
    wanted = found.matched if measure == "hit" else found.pairs
    for number, space in enumerate(search.spaces):
        mine = found.segment == number
        for method in (GridMethod, GroupMethod):
            allowed = np.ones(space.lists.columns, np.bool_)
            least = max(least, 1)
            counts = method.of(space, "l2").counts(lake.queries, radius, measure, least, allowed)
            columns = np.flatnonzero(counts >= least)
            assert columns.tolist() == sorted(found.column[mine].tolist())
            assert counts[found.column[mine]].tolist() == wanted[mine].tolist()


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_many_queries_are_blocked_by_parts(data: Any) -> None:
    lake = data.draw(lakes(segments=1))
    radius, measure = data.draw(radii(lake)), data.draw(st.sampled_from(["hit", "all"]))
    wanted = expected(lake, radius, "l2", measure)
    allowed = np.ones(len(wanted), np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_module, "_BATCH", 3)
        method = GridMethod.of(lake.spaces()[0])
        for least in (1, 4):
            found = method.counts(lake.queries, radius, measure, least, allowed)
            agree(found, wanted, least, allowed)


def steps(count: int, rng: np.random.Generator) -> Array:
    """Vectors on a lattice, so that distances repeat and many equal a radius."""
    return rng.integers(-3, 4, (count, 3)).astype(np.float32) / 4


@pytest.mark.parametrize(
    "options", [GridOptions(), GridOptions(by="hf"), GroupOptions(), GroupOptions(50, "space")]
)
def test_a_distance_that_equals_the_radius_counts(options: Any) -> None:
    rng = np.random.default_rng(3)
    vectors = np.unique(steps(400, rng), axis=0)
    columns = tuple(np.sort(rng.choice(len(vectors), 20, replace=False)) for _ in range(40))
    lake = Lake((vectors,), (columns,), steps(30, rng), False)
    Method = GridMethod if isinstance(options, GridOptions) else GroupMethod  # noqa: N806
    method = Method.of(lake.spaces()[0], options=options)
    allowed = np.ones(40, np.bool_)
    for radius in np.unique(all_distances(lake.queries, vectors).round(9))[::2]:
        for exact in (radius, np.nextafter(radius, 0)):  # equal up to rounding
            for measure in ("hit", "all"):
                wanted = expected(lake, float(radius), "l2", measure)
                found = method.counts(lake.queries, float(exact), measure, 1, allowed)
                assert found.tolist() == wanted.tolist()


def lake_of_clusters(count: int = 4_000, dimension: int = 20) -> Lake:
    rng = np.random.default_rng(7)
    vectors = unit(vectors_of("clustered", count, dimension, rng))
    vectors[:] = unit(vectors + 0.1 * vectors_of("random", count, dimension, rng))
    columns = tuple(np.sort(rng.choice(count, 30, replace=False)) for _ in range(200))
    return Lake((vectors,), (columns,), unit(vectors[columns[3]] + np.float32(0.01)), False)


def test_grids_measure_fewer_distances_than_there_are_and_the_naive_one_more() -> None:
    lake = lake_of_clusters()
    space, allowed = lake.spaces()[0], np.ones(200, np.bool_)
    measured = {}
    for name, options in {
        "grid": GridOptions(),
        "stops": GridOptions(exact=False),
        "naive": GridOptions(naive=True),
    }.items():
        method = GridMethod.of(space, options=options)
        found = method.counts(lake.queries, 0.12, "hit", 18, allowed)
        assert np.flatnonzero(found >= 18).tolist() == [3]
        assert method.counters.values == 4_000 and method.counters.near > 0
        measured[name] = method.counters.verified
    assert measured["stops"] <= measured["grid"] < measured["naive"] < 30 * 4_000


def test_a_vector_once_for_each_of_its_columns_gives_the_same() -> None:
    """As in the paper, which has no distinct vectors."""
    lake = lake_of_clusters(1_000)
    vectors, columns = lake.vectors[0], lake.columns[0]
    copied = np.concatenate([vectors[ids] for ids in columns])
    first = np.append(0, np.cumsum([len(ids) for ids in columns]))
    own = tuple(np.arange(first[c], first[c + 1]) for c in range(len(columns)))
    for measure in ("hit", "all"):
        counts = [
            method.of(space).counts(lake.queries, 0.4, measure, 1, np.ones(200, np.bool_)).tolist()
            for space in (lake.spaces()[0], space_of(copied, own))
            for method in (GridMethod, GroupMethod)
        ]
        assert any(counts[0]) and all(each == counts[0] for each in counts)


def test_groups_measure_fewer_distances_than_there_are() -> None:
    lake = lake_of_clusters()
    space, allowed = lake.spaces()[0], np.ones(200, np.bool_)
    for options in (GroupOptions(100), GroupOptions(100, dominance=False, exact=False)):
        method = GroupMethod.of(space, options=options)
        found = method.counts(lake.queries, 0.12, "hit", 18, allowed)
        assert np.flatnonzero(found >= 18).tolist() == [3]
        assert 30 * 100 < method.counters.verified < 30 * 200 * 30 / 4


def test_groups_part_each_column() -> None:
    lake = lake_of_clusters(500, 6)
    method = GroupMethod.of(lake.spaces()[0], options=GroupOptions(20))
    groups = method.groups
    away = all_distances(lake.vectors[0], method.centres)
    for column, ids in enumerate(lake.columns[0]):
        mine = range(groups.first[column], groups.first[column + 1])
        members = np.concatenate(
            [groups.member[groups.start[g] : groups.start[g + 1]] for g in mine]
        )
        assert sorted(members.tolist()) == ids.tolist()
        for group in mine:
            part = slice(groups.start[group], groups.start[group + 1])
            centre = groups.centre[group]
            assert groups.column[group] == column
            assert np.allclose(away[groups.member[part], centre], groups.away[part], rtol=1e-6)
            assert np.allclose(away[groups.member[part]].min(axis=1), groups.away[part], atol=1e-3)
            assert groups.away[part].tolist() == sorted(groups.away[part].tolist())
            assert groups.radius[group] == groups.away[part][-1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (GridOptions(pivots=99), "1 to 16 pivots, not 99"),
        (GridOptions(pivots=0), "1 to 16 pivots, not 0"),
        (GridOptions(by="luck"), "by 'pca' or by 'hf'"),
        (GridOptions(levels=0), "at least one level"),
    ],
)
def test_options_that_make_no_sense(options: GridOptions, words: str) -> None:
    with pytest.raises(InputError, match=words):
        GridMethod.of(space_of(np.eye(3, dtype=np.float32), ()), options=options)


def test_grouping_that_makes_no_sense() -> None:
    space = space_of(np.eye(3, dtype=np.float32), ())
    with pytest.raises(InputError, match="at least one centre, not 0"):
        GroupMethod.of(space, options=GroupOptions(centres=0))
    with pytest.raises(InputError, match="'space' or from the 'data'"):
        GroupMethod.of(space, options=GroupOptions(drawn="air"))
    with pytest.raises(InputError, match="more than 0"):
        GroupOptions(share=0)
    for method in (GridMethod, GroupMethod):
        with pytest.raises(InputError, match="metric"):
            method.of(space, "chebyshev")
