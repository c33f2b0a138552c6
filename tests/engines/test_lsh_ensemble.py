"""LSH Ensemble over whole segments: what it finds against brute force, and what it refuses."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.engines.containment.engine import LshEnsemble
from lakejoin.engines.hits import ExcludedColumns, Hits
from lakejoin.engines.query import Query
from lakejoin.errors import DamagedIndex, InputError
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.segment import COMPONENTS, Segment, add_components
from lakejoin.store.sketches import SCHEMES, SketchComponent, SketchOptions
from oracle.lakes import PlainTable
from oracle.search import lake_of, set_of
from published.lsh_ensemble import PublishedEnsemble

_QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
_UNICODE = ["Zürich", "ζ", "東京", "a\u0301", "😀", "ÅNGSTRÖM", "x" * 300, "0", "-"]


def asked(values: Sequence[str]) -> Query:
    """A query of distinct canonical values."""
    tokens = pa.array(values, pa.large_string())
    return Query("mine", "c", tokens, np.ones(len(values), np.int64), len(values), tokens)


def nothing(segments: Sequence[Segment]) -> ExcludedColumns:
    return ExcludedColumns([np.zeros(0, dtype=np.int64) for _ in segments])


def search(engine: LshEnsemble, values: Sequence[str], segments: Sequence[Segment]) -> Hits:
    return engine.search(asked(values), segments, nothing(segments))


def found(hits: Hits) -> set[tuple[int, int]]:
    return set(zip(hits.segment.tolist(), hits.column.tolist(), strict=True))


def containments(
    values: Sequence[str], segments: Sequence[Segment]
) -> dict[tuple[int, int], float]:
    """By brute force, of every searched column."""
    mine = set(values)
    return {
        (number, column): len(mine & set_of(segment, column)) / len(mine)
        for number, segment in enumerate(segments)
        for column in np.flatnonzero(segment.postings.set_sizes()).tolist()
    }


def segments_of(
    folder: str | Path,
    columns: Sequence[Sequence[str]],
    parts: int,
    options: SketchOptions | None = None,
) -> tuple[Segment, ...]:
    """One table a column, dealt to so many segments."""
    tables = [PlainTable(f"t{i}", {"c": list(cells)}) for i, cells in enumerate(columns)]
    sketches = SketchComponent(options or SketchOptions(permutations=64))
    groups = [tables[n::parts] for n in range(parts)]
    lake = lake_of(Path(folder), groups, components=(PostingsComponent(), sketches))
    return lake.snapshot.segments


def related(rng: np.random.Generator, count: int, query: Sequence[str]) -> list[list[str]]:
    """Columns that hold some part of the query and something else, some of them twice."""
    columns = []
    for i in range(count):
        held = rng.choice(len(query), rng.integers(0, len(query) + 1), replace=False)
        own = rng.integers(0, 2 * len(query) + 1)
        columns.append([query[h] for h in held] + [f"own {i} {j}" for j in range(own)] or ["x"])
    return columns + columns[: count // 3]


# -- quality -----------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_nearly_all_that_should_be_found_is(tmp_path: Path, threshold: float, scheme: str) -> None:
    """The recall that was asked for, over columns up to five times as large as the query."""
    rng = np.random.default_rng(7)
    query = [f"v{i}" for i in range(60)]
    columns = related(rng, 300, query)
    segments = segments_of(tmp_path, columns, 3, SketchOptions(128, 8, scheme))
    truth = {c for c, t in containments(query, segments).items() if t >= threshold - 1e-9}
    hits = search(LshEnsemble(threshold), query, segments)
    assert len(truth & found(hits)) >= 0.94 * len(truth)
    assert hits.estimate is not None and (np.diff(hits.estimate) <= 0).all()
    # What was found in vain is not far below.
    exact = containments(query, segments)
    far = [c for c in found(hits) if exact[c] < threshold - 0.35]
    assert len(far) <= 0.05 * len(hits)


def test_estimates_are_as_sure_as_they_say(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    query = [f"v{i}" for i in range(80)]
    segments = segments_of(tmp_path, related(rng, 400, query), 1, SketchOptions(128))
    exact = containments(query, segments)
    hits = search(PublishedEnsemble(0.05, recall=0.999), query, segments)
    assert hits.estimate is not None and hits.error is not None and len(hits) > 400
    right = np.array([exact[c] for c in zip(hits.segment, hits.column, strict=True)])
    z = (hits.estimate - right) / hits.error
    assert abs(z.mean()) < 0.25
    assert 0.7 < z.std() < 1.2
    assert np.mean(np.abs(z) < 2) > 0.9
    assert (hits.matched == np.rint(hits.estimate * 80)).all()


def test_one_partition_finds_more_in_vain(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    query = [f"v{i}" for i in range(50)]
    columns = [
        [*query[: rng.integers(5, 30)], *(f"own {i} {j}" for j in range(rng.integers(0, 40)))]
        for i in range(200)
    ] + [[f"large {i} {j}" for j in range(3_000)] for i in range(3)]
    segments = segments_of(tmp_path, columns, 1, SketchOptions(128, 8))
    pure = PublishedEnsemble(0.6)
    assert len(search(replace(pure, single_partition=True), query, segments)) > len(
        search(pure, query, segments)
    )


# -- any lake ----------------------------------------------------------------------------------

_columns = st.lists(
    st.lists(
        st.one_of(st.sampled_from(_UNICODE), st.integers(0, 40).map(lambda i: f"v{i}")), max_size=30
    ),
    min_size=1,
    max_size=12,
)


@_QUICK
@given(_columns, st.integers(1, 5), st.floats(0.0, 1.0), st.data())
def test_any_lake(
    columns: list[list[str]], parts: int, threshold: float, data: st.DataObject
) -> None:
    """Copies of the query are always found, whatever the lake; nothing is found twice, nothing
    that is too small, and nothing that was left out."""
    with tempfile.TemporaryDirectory() as folder:
        segments = segments_of(folder, columns, parts)
        exact_size = {
            (n, c): int(s.postings.set_sizes()[c])
            for n, s in enumerate(segments)
            for c in range(s.column_count)
        }
        sets = {key: set_of(segments[key[0]], key[1]) for key, n in exact_size.items() if n}
        if not sets:
            assert len(search(LshEnsemble(threshold), ["a"], segments)) == 0
            return
        values = sorted(data.draw(st.sampled_from(sorted(map(sorted, sets.values())))))
        hits = search(LshEnsemble(threshold), values, segments)
        keys = list(zip(hits.segment.tolist(), hits.column.tolist(), strict=True))
        assert len(set(keys)) == len(keys)
        assert {key for key, held in sets.items() if held == set(values)} <= set(keys)
        enough = math.ceil(threshold * len(values) - 1e-9)
        assert all(exact_size[key] >= enough for key in keys)
        assert hits.estimate is not None and ((hits.estimate >= 0) & (hits.estimate <= 1)).all()
        gone = ExcludedColumns([np.arange(0, s.column_count, 2) for s in segments])
        left = LshEnsemble(threshold).search(asked(values), segments, gone)
        assert found(left) == {key for key in keys if key[1] % 2}
        every = LshEnsemble(threshold).search(
            asked(values), segments, ExcludedColumns([np.arange(s.column_count) for s in segments])
        )
        assert len(every) == 0


def test_one_value_and_none(tmp_path: Path) -> None:
    segments = segments_of(tmp_path, [["a"], ["a", "b"], ["c"], []], 2)
    hits = search(LshEnsemble(1.0), ["a"], segments)
    assert found(hits) >= {(0, 0)}
    assert len(search(LshEnsemble(0.5), ["nowhere"], segments)) == 0
    assert len(search(LshEnsemble(0.5, k=3), ["nowhere"], segments)) == 0
    assert (
        len(search(LshEnsemble(0.5), [], segments))
        == len(search(LshEnsemble(k=2), [], segments))
        == 0
    )
    assert len(search(LshEnsemble(0.5), ["a"], ())) == 0


def test_the_best_k_by_falling_thresholds(tmp_path: Path) -> None:
    query = [f"v{i}" for i in range(200)]
    columns = [
        [*query[: 10 * share], *(f"own {share} {j}" for j in range(60))] for share in range(1, 21)
    ]
    segments = segments_of(tmp_path, columns, 2, SketchOptions(256))
    exact = containments(query, segments)
    for k in (1, 3, 8):
        hits = search(LshEnsemble(0.1, k=k), query, segments)
        assert len(hits) == k
        worst = min(exact[c] for c in found(hits))
        assert worst >= sorted(exact.values())[-k] - 0.16
        assert hits.counters.candidates >= k
        # Bytes and look-ups are those of all thresholds; segments and columns count once.
        at_each = [search(LshEnsemble(t / 100), query, segments) for t in range(100, 9, -5)]
        looked_up = hits.counters.algorithms["lsh-ensemble"]
        assert hits.counters.segments == len(segments) == 2
        assert looked_up in range(2, 2 * len(at_each) + 1, 2)
        tried = at_each[: looked_up // 2]
        assert hits.counters.bytes == sum(one.counters.bytes for one in tried)
        assert hits.counters.candidates == tried[-1].counters.candidates
        assert hits.counters.pruned == tried[-1].counters.pruned
    everything = search(LshEnsemble(0.0, k=1_000), query, segments)
    assert len(everything) >= 17
    assert len(search(LshEnsemble(0.9, k=1_000), query, segments)) < len(everything)


# -- bounds ------------------------------------------------------------------------------------


def test_a_segment_without_sketches_says_how_to_add_them(tmp_path: Path) -> None:
    tables = [PlainTable("t", {"c": ["a", "b", "c"]})]
    lake = lake_of(tmp_path, [tables], components=(PostingsComponent(),))
    with pytest.raises(DamagedIndex, match=r"has no sketches; update it with: lakejoin index"):
        search(LshEnsemble(), ["a"], lake.snapshot.segments)


def test_sketches_added_later_are_the_same(tmp_path: Path) -> None:
    tables = [
        PlainTable(
            "a", {"x": [f"v{i % 90}" for i in range(300)], "y": _UNICODE * 20 + ["z"] * 120}
        ),
        PlainTable("b", {"x": [f"v{i}" for i in range(40)]}),
    ]
    lake = lake_of(tmp_path / "at once", [tables], components=COMPONENTS)
    before = lake_of(tmp_path / "later", [tables], components=(PostingsComponent(),))
    (old,) = before.snapshot.segments
    later = Segment(old.location, add_components(old, COMPONENTS))
    bare = replace(old.record, components={
        name: c for name, c in old.record.components.items() if name != "postings"
    })  # fmt: skip
    rebuilt = Segment(old.location, add_components(Segment(old.location, bare), COMPONENTS))
    whole = lake.snapshot.segments[0].file("sketches")
    for other in (later.file("sketches"), rebuilt.file("sketches")):
        assert other.meta == whole.meta and other.names() == whole.names()
        for name in whole.names():
            assert np.array_equal(other.array(name).all(), whole.array(name).all())


@pytest.mark.parametrize("wrong", [{"min": -0.1}, {"min": 1.01}, {"k": 0}])
def test_options_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        LshEnsemble(**wrong)  # type: ignore[arg-type]


def test_many_threads_find_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    query = [f"v{i}" for i in range(60)]
    segments = segments_of(tmp_path, related(rng, 200, query), 3)
    shares = [query[: 10 + i] for i in range(40)]
    alone = [found(search(LshEnsemble(0.5), values, segments)) for values in shares]
    fresh = [Segment(s.location, s.record) for s in segments]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda v: found(search(LshEnsemble(0.5), v, fresh)), shares))
    assert together == alone
