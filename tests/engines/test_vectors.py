"""Search among vectors against brute force."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.vector_spaces import KINDS, Lake, lakes, radii, space_of, unit, vectors_of
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.meaning import engine, vector_candidates, vector_distances
from lakejoin.engines.meaning import segment_scores as segment_search
from lakejoin.engines.meaning.engine import Nearness, VectorSearch
from lakejoin.engines.meaning.vector_distances import distances, limit, within
from lakejoin.engines.meaning.vector_space import VectorSpace
from lakejoin.errors import InputError
from lakejoin.store.compact_vectors import CompactVectors, MatrixSource
from oracle.vectors import all_distances, near, scores

FOUND = tuple[int, int, int, int]  # segment, column, hits, pairs


def expected(lake: Lake, nearness: Nearness, without: ExcludedColumns | None = None) -> list[FOUND]:
    """What the oracle finds, in the stated order."""
    found = []
    for s, (vectors, columns) in enumerate(zip(lake.vectors, lake.columns, strict=True)):
        matches = near(lake.queries, vectors, nearness.radius, "l2", lake.zeros)
        hits, pairs = scores(matches, columns)
        for c, ids in enumerate(columns):
            score = hits[c] if nearness.measure == "hit" else pairs[c]
            if score >= max(nearness.least, 1) and not (without and c in without.columns[s]):
                found.append((-score, len(ids), s, c, hits[c], pairs[c]))
    return [(s, c, hit, pair) for _, _, s, c, hit, pair in sorted(found)][: nearness.k]


def searched(
    lake: Lake,
    nearness: Nearness,
    without: ExcludedColumns | None = None,
    spaces: list[VectorSpace] | None = None,
) -> list[FOUND]:
    """What is found; `spaces` are the lake's, where they were made before."""
    hits = VectorSearch(spaces or lake.spaces()).search(lake.queries, nearness, without)
    rows = (hits.segment, hits.column, hits.matched, hits.pairs)
    return list(zip(*(array.tolist() for array in rows), strict=True))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_finds_what_brute_force_finds(data: Any) -> None:
    lake = data.draw(lakes(units=data.draw(st.booleans())))
    nearness = Nearness(
        data.draw(radii(lake)),
        data.draw(st.sampled_from(["hit", "all"])),
        data.draw(st.integers(0, len(lake.queries))),
        data.draw(st.sampled_from([None, 1, 2, 5])),
        data.draw(st.sampled_from(["auto", "tree", "flat"])),
    )
    assert searched(lake, nearness) == expected(lake, nearness)


@pytest.mark.parametrize("kept", [1 << 22, 40])
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_products_of_whole_vectors_find_the_same(kept: int, data: Any) -> None:
    lake = data.draw(lakes(units=data.draw(st.booleans())))
    measure = data.draw(st.sampled_from(["hit", "all"]))
    nearness = Nearness(data.draw(radii(lake)), measure, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_candidates, "choose_method", lambda *_: "whole")
        patch.setattr(segment_search, "_MOST_CANDIDATES", kept)
        assert searched(lake, nearness) == expected(lake, nearness)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_values_with_few_candidates_first_where_vectors_are_dear(data: Any) -> None:
    lake = data.draw(lakes())
    made = replace(lake, vectors=tuple(one.astype(np.float64) for one in lake.vectors))
    assert all(space.source.whole() is None for space in made.spaces())
    measure = data.draw(st.sampled_from(["hit", "all"]))
    least, k = data.draw(st.integers(1, 8)), data.draw(st.sampled_from([None, 2]))
    nearness = Nearness(data.draw(radii(lake)), measure, least, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_search, "_DEAR", 3)
        assert searched(made, nearness) == expected(lake, nearness)


def test_columns_are_left_before_all_of_their_candidates_are_measured() -> None:
    """One value has very many candidates, the others a few each that are not near."""
    rng = np.random.default_rng(9)
    crowd = unit(np.eye(1, 200) + 0.02 * rng.normal(size=(30_000, 200)))
    lone = unit(rng.normal(size=(9, 200)))
    beside = unit(np.repeat(lone, 20, axis=0) + 0.09 * rng.normal(size=(180, 200)))
    vectors = np.concatenate([crowd, beside])
    queries = np.concatenate([crowd[:1], lone])
    columns = tuple(np.arange(c, len(vectors), 20) for c in range(20))
    search = VectorSearch([space_of(vectors.astype(np.float64), columns)])
    found = search.search(queries, Nearness(0.6, least=9, method="flat"))
    assert len(found) == 0
    assert found.counters.encoded < 1_000


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(KINDS))
def test_single_precision_decides_as_double_does(seed: int, units: bool, kind: str) -> None:
    """At radii that are distances, and right beside them."""
    rng = np.random.default_rng(seed)
    vectors = vectors_of(kind, 30, 40, rng)
    vectors = unit(vectors) if units else vectors
    query, vector = (one.reshape(-1) for one in np.indices((30, 30)))
    far = distances(vectors, vectors, query, vector)
    for radius in rng.choice(far, 5):
        for beside in (0.0, 2e-9, -2e-9, 1e-6, -1e-6, 1e-4, -1e-4):
            near = float(radius) * (1 + beside)
            found = within(vectors, vectors, query, vector, near)
            assert np.array_equal(found, far <= limit(near))


def test_much_that_is_near_is_found_by_products() -> None:
    rng = np.random.default_rng(8)
    vectors = unit(vectors_of("random", 3_000, 100, rng))
    space = space_of(vectors, tuple(np.arange(c, 3_000, 30) for c in range(30)))
    search = VectorSearch([space])
    counters = search.search(vectors[:50], Nearness(1.5)).counters
    assert counters.methods == {"whole": 1}
    assert counters.verified < 500  # only what lies at the border
    assert search.search(vectors[:50], Nearness(0.01)).counters.methods == {"tree": 1}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_does_not_fit_into_memory_is_counted_by_parts(data: Any) -> None:
    lake = data.draw(lakes(segments=2))
    nearness = Nearness(
        data.draw(radii(lake)), measure=data.draw(st.sampled_from(["hit", "all"])), k=3
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_search, "_MOST_CANDIDATES", 40)
        patch.setattr(engine, "_NEAR", 10)
        patch.setattr(vector_distances, "TAKEN", 7)
        patch.setattr(segment_search, "_NOTED", 20)
        assert searched(lake, nearness) == expected(lake, nearness)
        steps = np.array([nearness.radius / 2, nearness.radius])
        found = VectorSearch(lake.spaces()).reached(lake.queries, steps, 2)
        assert found.tolist() == [len(expected(lake, Nearness(r, least=2))) for r in steps.tolist()]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_excluded_columns_make_room_for_others(data: Any) -> None:
    lake = data.draw(lakes())
    without = ExcludedColumns(
        [np.array([c for c in range(len(columns)) if c % 2 == 0], np.int64)
         for columns in lake.columns]
    )  # fmt: skip
    nearness = Nearness(data.draw(radii(lake)), k=2)
    assert searched(lake, nearness, without) == expected(lake, nearness, without)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_pairs_of_a_column(data: Any) -> None:
    lake = data.draw(lakes(segments=2))
    nearness = Nearness(data.draw(radii(lake)))
    search = VectorSearch(lake.spaces())
    hits = search.search(lake.queries, nearness)
    for s, c in zip(hits.segment.tolist(), hits.column.tolist(), strict=True):
        ids = lake.columns[s][c]
        within = near(lake.queries, lake.vectors[s][ids], nearness.radius, zeros=lake.zeros)
        far = all_distances(lake.queries, lake.vectors[s][ids])
        for known in (hits, None):
            found = search.pairs(lake.queries, nearness, s, c, known)
            places = list(zip(found.position.tolist(), found.id.tolist(), strict=True))
            assert set(places) == {(int(q), int(ids[v])) for q, v in np.argwhere(within)}
            assert len(set(places)) == len(places)
            at = far[found.position, np.searchsorted(ids, found.id)]
            assert np.allclose(found.distance, at, rtol=1e-12, atol=0)
            order = np.lexsort((found.id, found.distance, found.position))
            assert (order == np.arange(len(found))).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_how_many_columns_are_reached_by_radius(data: Any) -> None:
    lake = data.draw(lakes(segments=2))
    steps = np.sort([data.draw(radii(lake)) for _ in range(4)])
    least = data.draw(st.integers(1, len(lake.queries)))
    found = VectorSearch(lake.spaces()).reached(lake.queries, steps, least)
    assert found.tolist() == [
        len(expected(lake, Nearness(float(radius), least=least))) for radius in steps
    ]


def test_many_vectors_of_many_dimensions() -> None:
    rng = np.random.default_rng(5)
    vectors = unit(vectors_of("clustered", 9_000, 150, rng))
    columns = tuple(np.sort(rng.choice(9_000, 40, replace=False)) for _ in range(300))
    lake = Lake((vectors,), (columns,), unit(vectors[:60] + 0.02), False)
    assert CompactVectors.build(MatrixSource(vectors)).axes.shape == (61, 150)
    spaces = lake.spaces()
    for radius in (0.05, 0.3, 0.8):
        wanted = expected(lake, Nearness(radius, k=20))
        for method in ("auto", "tree", "flat"):
            nearness = Nearness(radius, k=20, method=method)
            assert searched(lake, nearness, spaces=spaces) == wanted


def test_bounds_leave_out_most_of_what_is_far() -> None:
    rng = np.random.default_rng(6)
    vectors = unit(vectors_of("random", 20_000, 20, rng))
    space = space_of(vectors, (np.arange(20_000),))
    hits = VectorSearch([space]).search(vectors[:10], Nearness(0.1))
    assert hits.matched.tolist() == [10]
    assert hits.counters.bounded < 20_000 * 10 / 4
    assert hits.counters.verified < 50


def test_a_column_without_a_chance_is_not_measured() -> None:
    vectors = unit(vectors_of("random", 500, 100, np.random.default_rng(7)))
    space = space_of(vectors, tuple(np.arange(c * 5, c * 5 + 5) for c in range(100)))
    counters = VectorSearch([space]).search(vectors[:50], Nearness(0.7, least=30)).counters
    assert counters.verified == counters.encoded == 0


def test_without_segments_or_queries() -> None:
    none = np.zeros((0, 4), dtype=np.float32)
    assert len(VectorSearch([]).search(np.ones((1, 4)), Nearness(1.0))) == 0
    space = space_of(np.eye(4, dtype=np.float32), (np.arange(4),))
    assert len(VectorSearch([space]).search(none, Nearness(1.0))) == 0


def test_vectors_that_are_no_numbers_match_nothing() -> None:
    vectors = np.array([[0, 1], [np.nan, 1], [np.inf, 0]], dtype=np.float32)
    space = space_of(vectors, (np.arange(3),))
    hits = VectorSearch([space]).search(vectors, Nearness(10.0))
    assert (hits.matched.tolist(), hits.pairs.tolist()) == ([1], [1])


def test_each_vector_is_taken_once_for_many_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    vectors = unit(vectors_of("random", 1_500, 20, rng))
    space = space_of(vectors, (np.arange(1_500),))
    monkeypatch.setattr(segment_search, "_MOST_CANDIDATES", 1_000)
    queries = unit(vectors_of("random", 700, 20, rng))
    for method in ("tree", "flat"):
        hits = VectorSearch([space]).search(queries, Nearness(1.9, method=method))
        assert hits.counters.encoded <= 1_500 + 64
        assert hits.counters.methods == {method: 1}


def test_what_a_rest_hides_is_not_taken_for_sure() -> None:
    # A large rest on which small coordinates are summed up in single precision.
    rng = np.random.default_rng(4)
    base = np.zeros(90)
    base[80] = 1.0
    spread = 1e-4 * rng.normal(size=(400, 90))
    vectors = (base * (1 + 0.05 * rng.random((400, 1))) + spread).astype(np.float32)
    queries = vectors[:40] + np.float32(1e-3) * rng.normal(size=(40, 90)).astype(np.float32)
    columns = tuple(np.array([c]) for c in range(400))
    far = np.unique(all_distances(queries, vectors))
    lake = Lake((vectors,), (columns,), queries, False)
    spaces = lake.spaces()
    for at in range(0, len(far), len(far) // 12):
        for less in (0.0, 1e-6, 3e-4):
            radius = float(far[at] * (1 - less))
            nearness = Nearness(radius, method="tree")
            assert searched(lake, nearness, spaces=spaces) == expected(lake, nearness)


@pytest.mark.parametrize("size", [1e-30, 1e-24, 1e-12, 1e10])
@pytest.mark.parametrize("method", ["tree", "flat"])
def test_very_small_and_very_large_numbers(size: float, method: str) -> None:
    rng = np.random.default_rng(5)
    vectors = (size * vectors_of("random", 100, 7, rng)).astype(np.float32)
    lake = Lake((vectors,), (tuple(np.array([c]) for c in range(100)),), vectors[:30], False)
    for share in (0.0, 0.5, 1.5):
        nearness = Nearness(size * share, method=method)
        assert searched(lake, nearness) == expected(lake, nearness)


def test_too_large_numbers_are_refused() -> None:
    with pytest.raises(InputError, match=r"beyond 1e\+12"):
        space_of(np.full((2, 2), 1e13, dtype=np.float32), (np.arange(2),))
    space = space_of(np.eye(2, dtype=np.float32), (np.arange(2),))
    with pytest.raises(InputError, match=r"beyond 1e\+12"):
        VectorSearch([space]).search(np.full((1, 2), 1e13), Nearness(1.0))


def test_threads() -> None:
    lake = Lake(
        (vectors_of("clustered", 800, 10, np.random.default_rng(8)),),
        (tuple(np.arange(c, 800, 9) for c in range(9)),),
        vectors_of("random", 20, 10, np.random.default_rng(9)),
        False,
    )
    search = VectorSearch(lake.spaces())

    def run(radius: float) -> list[int]:
        return search.search(lake.queries, Nearness(radius)).matched.tolist()

    steps = [0.5, 1.0, 2.0, 3.0] * 5
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, steps)) == [run(radius) for radius in steps]


@pytest.mark.parametrize("wrong", [{"measure": "most"}, {"method": "fast"},
                                   {"k": 0}])  # fmt: skip
def test_what_there_is_not(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=str(next(iter(wrong.values())))):
        Nearness(1.0, **wrong)
