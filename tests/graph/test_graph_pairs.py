"""All joinable pairs of a lake, against brute force."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lakejoin.graph import pair_kernels
from lakejoin.graph.column_pairs import (
    CountedColumns,
    JoinableColumns,
    SegmentOverlap,
    best_of_each,
    find_overlaps,
    find_pairs,
    overlap_with_itself,
)
from lakejoin.store.dictionary import Dictionary
from lakejoin.store.graph_files import PAIR_FIELDS, ColumnPairs, concat_pairs
from lakejoin.store.segment import Segment
from oracle.graph import PlainPair, all_pairs
from oracle.lakes import PlainTable
from oracle.search import lake_of

CELLS = st.sampled_from([*"abcdefghijklmnop", None])


@st.composite
def lakes(draw: st.DrawFn) -> list[list[PlainTable]]:
    """Up to three segments of small tables, many of whose columns are alike."""
    groups = []
    for segment in range(draw(st.integers(1, 3))):
        tables = []
        for number in range(draw(st.integers(1, 4))):
            rows = draw(st.sampled_from([1, 4, 12]))
            column = st.lists(CELLS, min_size=rows, max_size=rows)
            width = draw(st.integers(1, 3))
            columns = {f"c{i}": draw(column) for i in range(width)}
            tables.append(PlainTable(f"t{segment}{number}.csv", columns))
        groups.append(tables)
    return groups


def counted(
    segments: tuple[Segment, ...], share: float, least: int, parts: int, most: int = 1 << 30
) -> list[PlainPair]:
    """The pairs as a job counts them: all segments by ranges of hashes, then by two."""
    sides = [JoinableColumns(segment, least) for segment in segments]
    wanted = [(i, j) for j in range(len(sides)) for i in range(j)]
    shared: dict[tuple[int, int], list[SegmentOverlap]] = {pair: [] for pair in wanted}
    for part in range(parts):
        for pair, found in find_overlaps(
            segments, part, parts, np.ones((len(sides), len(sides)), bool)
        ):
            shared[pair].append(found)
    pairs = [
        find_pairs(
            CountedColumns(sides[i]),
            CountedColumns(sides[i]),
            overlap_with_itself(sides[i]),
            (i, i),
            share,
            most,
        )
        for i in range(len(sides))
    ]
    for (i, j), some in shared.items():
        both = SegmentOverlap(*(np.concatenate([getattr(s, n) for s in some] or [np.zeros(0, int)])
                        for n in ("left", "right", "count")))  # fmt: skip
        pairs.append(
            find_pairs(
                CountedColumns(sides[i]), CountedColumns(sides[j]), both, (i, j), share, most
            )
        )
    return plain(best_of_each(concat_pairs(pairs), most)[0])


def plain(pairs: ColumnPairs) -> list[PlainPair]:
    rows = zip(*(getattr(pairs, name).tolist() for name in PAIR_FIELDS), strict=True)
    return sorted(PlainPair(*row) for row in rows)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lakes(),
    st.sampled_from([0.01, 0.3, 1 / 3, 0.5, 2 / 3, 0.9, 1.0]),
    st.integers(1, 4),
    st.sampled_from([1, 2, 256]),
    st.sampled_from([1, 2, 1 << 30]),
    st.booleans(),
)
@example([[PlainTable("a", {"c": ["x"]}), PlainTable("b", {"c": ["x"]})]], 1.0, 1, 1, 1, False)
def test_pairs_are_those_of_brute_force(
    groups: list[list[PlainTable]], share: float, least: int, parts: int, most: int, dead: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        gone = [[0] if dead and len(tables) > 1 else [] for tables in groups]
        segments = lake_of(Path(folder), groups, dead=gone).snapshot.segments
        found = counted(segments, share, least, parts, most)
        assert found == all_pairs(segments, share, least, most)


@pytest.mark.parametrize("step", [0, 1 << 20])
def test_both_ways_to_count_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """List by list, and candidate by candidate: uncompiled, so that a cost can be changed."""
    for name in ("_large_enough", "_candidates", "_rest", "_holds", "count_pairs"):
        monkeypatch.setattr(pair_kernels, name, getattr(pair_kernels, name).py_func)
    monkeypatch.setattr(pair_kernels, "_SEARCH_COST", step)
    rng = np.random.default_rng(7)
    values = [f"v{i}" for i in range(60)]
    groups = [
        [
            PlainTable(f"t{s}{n}.csv", {"c": rng.choice(values, rng.integers(5, 50)).tolist()})
            for n in range(8)
        ]
        for s in range(2)
    ]
    segments = lake_of(tmp_path, groups).snapshot.segments
    assert counted(segments, 0.4, 3, 4) == all_pairs(segments, 0.4, 3)


def test_values_of_one_hash_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all values have the same hash, texts alone tell them apart."""

    def alike(self: Dictionary, range_index: int, ranges: int, bits: int) -> tuple[object, object]:
        codes = np.arange(len(self) if range_index == 0 else 0, dtype=np.uint32)
        return np.zeros(len(codes), dtype=np.uint64), codes

    groups = [
        [PlainTable("a.csv", {"c": list("abcd")}), PlainTable("b.csv", {"c": list("cdefg")})],
        [PlainTable("c.csv", {"c": list("bcdx")})],
        [PlainTable("d.csv", {"c": list("gfedcba")})],
    ]
    segments = lake_of(tmp_path, groups).snapshot.segments
    monkeypatch.setattr(Dictionary, "hashes_in_range", alike)
    assert counted(segments, 0.5, 1, 2) == all_pairs(segments, 0.5, 1)


def test_another_seed_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakejoin.store import segment_builder

    seeds = iter([[0], [0], [12345], [12345]])  # of values, and of spellings
    monkeypatch.setattr(segment_builder, "_seeds", lambda: iter(next(seeds)))
    groups = [
        [PlainTable("a.csv", {"c": [f"v{i}" for i in range(500)]})],
        [PlainTable("b.csv", {"c": [f"v{i}" for i in range(250, 900)]})],
    ]
    segments = lake_of(tmp_path, groups).snapshot.segments
    assert [segment.dictionary.seed for segment in segments] == [0, 12345]
    assert counted(segments, 0.5, 1, 8) == all_pairs(segments, 0.5, 1)
