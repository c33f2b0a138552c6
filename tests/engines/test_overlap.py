"""Exact search against brute force: every algorithm, whatever the costs, the lake, the damage."""

from __future__ import annotations

import gc
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.overlap import ALGORITHMS, Overlap, OverlapIndex, count_overlaps
from lakejoin.engines.overlap.read_costs import ReadCosts
from lakejoin.engines.query import Query
from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.model import Array, ValueRules
from lakejoin.store.postings import MARK, Postings
from oracle.lakes import Cells, PlainTable, canonical_columns, encoded
from oracle.overlap import (
    COSTS,
    KINDS,
    Found,
    PlainSets,
    Sets,
    answered,
    best_of,
    drawn,
    open_postings,
    ranked,
)
from oracle.search import lake_of
from search.array_query import query_of_array


def none_of(segments: Sequence[PlainSets]) -> list[Array]:
    return [np.zeros(0, dtype=np.int64) for _ in segments]


# -- small lakes of tables -------------------------------------------------------------------

_cells = st.one_of(
    st.sampled_from(["a", "A", "b", "B ", "Zoë", "ZOË", "ﬁne", "日本", "😀", "x" * 300, "", None]),
    st.integers(0, 25).map(str),
    st.text(max_size=4),
)


@st.composite
def _tables(draw: st.DrawFn) -> PlainTable:
    rows = draw(st.sampled_from([0, 1, 1, 3, 8, 40]))
    pool = draw(st.lists(_cells, min_size=1, max_size=10))
    steps = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))
    columns: dict[str, Cells] = {
        f"c{c}": [
            pool[(i * step + c) % len(pool)] if step < 8 else f"{step}-{i}" for i in range(rows)
        ]
        for c, step in enumerate(steps)
    }
    return PlainTable("", columns)


@st.composite
def _lakes(draw: st.DrawFn) -> list[list[PlainTable]]:
    segments = draw(st.lists(st.lists(_tables(), max_size=3), min_size=1, max_size=5))
    return [
        [PlainTable(f"{s}-{t}.csv", table.columns) for t, table in enumerate(tables)]
        for s, tables in enumerate(segments)
    ]


def brute(
    lake: Lake, groups: list[list[PlainTable]], query: Query, k: int, excluded: ExcludedColumns
) -> Found:
    """From the plain tables; only whether a column is searched is taken from the index."""
    mine = set(query.tokens.to_pylist())
    matched, sizes = [], []
    for segment, tables in zip(lake.snapshot.segments, groups, strict=True):
        cells = [c for table in tables for c in canonical_columns(encoded(table))]
        sets = [
            {v for v in column if v is not None} if searched else set()
            for column, searched in zip(cells, segment.indexed.tolist(), strict=True)
        ]
        matched.append([len(mine & values) for values in sets])
        sizes.append([len(values) for values in sets])
    return ranked(matched, sizes, k, excluded)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(_lakes(), st.lists(_cells, min_size=1, max_size=25), st.booleans(), st.data())
def test_tables_against_brute_force(
    groups: list[list[PlainTable]], cells: list[str | None], every: bool, data: st.DataObject
) -> None:
    query = query_of_array("q", "c", pa.array(cells, pa.string()), ValueRules())
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), groups, every)
        segments = lake.snapshot.segments
        counts = [s.postings.columns for s in segments]
        hidden = [data.draw(st.sets(st.integers(0, max(0, n - 1)), max_size=n)) for n in counts]
        some = ExcludedColumns([np.array(sorted(h), dtype=np.int64) for h in hidden])
        none = ExcludedColumns([np.zeros(0, dtype=np.int64) for _ in segments])
        for excluded in (none, some):
            for k in (1, 2, 10, sum(counts) + 5):
                expected = brute(lake, groups, query, k, excluded)
                for algorithm in ALGORITHMS:
                    hits = Overlap(k, algorithm).search(query, segments, excluded)
                    assert answered(hits) == expected, (algorithm, k)
        assert answered(Overlap(10).search(query, segments)) == brute(lake, groups, query, 10, none)
        for number, segment in enumerate(segments):
            columns = np.arange(counts[number])
            expected_here = dict.fromkeys(columns.tolist(), 0)
            for s, column, score in brute(lake, groups, query, sum(counts) + 1, none):
                if s == number:
                    expected_here[column] = score
            codes = segment.dictionary.find(query.tokens)
            assert count_overlaps(segment, codes, columns).tolist() == list(expected_here.values())
            backwards = count_overlaps(segment, codes, columns[::-1])
            assert backwards.tolist() == list(expected_here.values())[::-1]


def test_dead_tables_are_not_found(tmp_path: Path) -> None:
    def tables(segment: int) -> list[PlainTable]:
        cities = ["Bern", "Oslo", "Ulm"]
        return [PlainTable(f"{segment}-{n}.csv", {"c": cities[:n]}) for n in (3, 2, 1)]

    lake = lake_of(tmp_path, [tables(0), tables(1)], dead=[[0, 2], [1]])
    for algorithm in ALGORITHMS:
        for k in (1, 2, 10):
            answer = lake.overlap({"c": ["bern", "oslo", "ulm"]}, k=k, algorithm=algorithm)
            found = [(result.table, result.matched) for result in answer]
            assert found == [("1-3.csv", 3), ("0-2.csv", 2), ("1-1.csv", 1)][:k]


# -- small lakes of sets, at all kinds of costs ----------------------------------------------

_sets: st.SearchStrategy[set[int]] = st.one_of(
    st.sets(st.integers(0, 12), max_size=8),
    st.sets(st.integers(0, 300), max_size=60),
    st.integers(0, 40).map(lambda n: set(range(n))),
    st.integers(100, 400).map(lambda n: set(range(0, n, 3))),
    st.just(set()),
)
_segments = st.lists(st.tuples(_sets, st.sampled_from([True] * 9 + [False])), max_size=30)
_amounts = st.sampled_from([0.0, 1.0, 30.0, 1e3, 1e5, 1e8])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(_segments, min_size=1, max_size=5),
    st.sets(st.integers(0, 400), min_size=1, max_size=200) | _sets,
    st.builds(ReadCosts, *[_amounts] * 5),
    st.sampled_from([1, 2, 3, 10, 200]),
    st.data(),
)
def test_sets_against_brute_force(
    lake: list[list[tuple[set[int], bool]]],
    values: set[int],
    costs: ReadCosts,
    k: int,
    data: st.DataObject,
) -> None:
    query = np.array(sorted(values), dtype=np.int64)
    segments = [PlainSets.of([s for s, _ in part], [i for _, i in part]) for part in lake]
    with tempfile.TemporaryDirectory() as folder:
        sets = Sets(Path(folder), segments)
        index = sets.index(costs)
        sets.agree(index, query, k)
        hidden = none_of(segments)
        for number, segment in enumerate(segments):
            if segment.column_count:
                one = st.integers(0, segment.column_count - 1)
                hidden[number] = np.array(sorted(data.draw(st.sets(one))), dtype=np.int64)
        sets.agree(index, query, k, ExcludedColumns(hidden))
        sets.agree(index, query, k)
        codes = sets.codes(query)
        for number, segment in enumerate(segments):
            columns = np.arange(segment.column_count)
            found = index.overlaps(codes[number], number, columns)
            assert found.tolist() == segment.overlaps(query).tolist()
            postings_agree(segment, sets.postings[number], 1)


# -- larger lakes ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Sets:
    rng = np.random.default_rng(3)
    shapes = [(2500, 3000, 12_000), (900, 6000, 8_000), (400, 50, 900)]
    return Sets(tmp_path_factory.mktemp("large"), [drawn(rng, *shape) for shape in shapes])


def queries(sets: Sets, rng: np.random.Generator) -> Iterator[Array]:
    """A large column, a middling one with strangers, a union, the commonest tokens, any at all."""
    segment = sets.segments[0]
    by_size = np.argsort(-segment.sizes())
    yield segment.set_of(by_size[0])
    yield np.union1d(segment.set_of(by_size[30]), np.arange(10**6, 10**6 + 200))
    yield np.unique(
        np.concatenate([s.set_of(int(c)) for s in sets.segments[:2] for c in by_size[:6] % 400])
    )
    tokens, counts = np.unique(segment.tokens, return_counts=True)
    yield np.sort(tokens[np.argsort(-counts)[:40]])
    yield np.unique(rng.choice(tokens, 1500))
    yield np.unique(rng.choice(tokens, 3))


@pytest.mark.parametrize("costs", COSTS)
def test_larger_lakes_against_brute_force(large: Sets, costs: str) -> None:
    rng = np.random.default_rng(5)
    index = large.index(COSTS[costs])
    for query in queries(large, rng):
        hidden = [np.unique(rng.integers(0, s.column_count, 40)) for s in large.segments]
        best = best_of(large.segments, query, 20)
        for s, column, _ in best[::2]:
            hidden[s] = np.union1d(hidden[s], [column])
        for k in (1, 10, 100):
            large.agree(index, query, k)
            large.agree(index, query, k, ExcludedColumns(hidden))
    large.agree(index, query, 10_000)


def test_costs_decide_what_is_read(large: Sets) -> None:
    """So that the paths above are those which the costs are meant to lead to."""
    query = next(queries(large, np.random.default_rng(5)))
    codes = large.codes(query)
    read = {}
    for costs in ("lists are dear", "sets are dear"):
        index = large.index(COSTS[costs])
        read[costs] = index.search(codes, 10, "stopping").counters
    assert read["lists are dear"].lists_read < read["sets are dear"].lists_read
    assert read["lists are dear"].sets_read > read["sets are dear"].sets_read


def test_marks_in_long_sets(large: Sets) -> None:
    """The commonest tokens are the last groups of a set; marks lead there."""
    segment, postings = large.segments[1], large.postings[1]
    marked = postings.columns_at(postings.file.array("mark_stand").all())
    sets = {c: postings.groups_of(c) for c in range(segment.column_count)}
    assert sorted(marked.tolist()) == [c for c, g in sets.items() if len(g) > 2 * MARK]
    assert len(marked) > 3
    first = postings.file.array("mark_first").all().tolist()
    group = postings.file.array("mark_group").all()
    for place, column in enumerate(marked.tolist()):
        own = group[first[place] : first[place + 1]].tolist()
        assert own == (sets[column][MARK - 1 : -1 : MARK] + 1).tolist()
    alone = OverlapIndex([postings], COSTS["lists are dear"])
    counts = np.bincount(segment.groups.pair_code)
    tokens = segment.tokens[segment.groups.first_pair][np.argsort(counts, kind="stable")]
    for number in (1, 2, 7, 50, 400):
        query = np.sort(tokens[-number:])
        codes = [segment.codes_of(query)]
        for k in (1, 10):
            expected = best_of([segment], query, k)
            for kind in KINDS:
                assert answered(alone.search(codes, k, kind)) == expected, (kind, number)


@pytest.mark.parametrize("columns", [65_535, 65_536, 65_537, 70_000])
def test_lists_of_16_and_of_32_bits(tmp_path: Path, columns: int) -> None:
    rng = np.random.default_rng(columns)
    pairs = np.unique(np.repeat(np.arange(columns), 2) << 32 | rng.integers(0, 900, 2 * columns))
    pairs = np.union1d(pairs, (columns - 1) << 32 | np.arange(100))
    start = np.searchsorted(pairs >> 32, np.arange(columns + 1)).astype(np.int64)
    segment = PlainSets(pairs & 0xFFFFFFFF, start, np.ones(columns, dtype=bool))
    few = PlainSets.of([range(50), range(3), [], [7]])
    sets = Sets(tmp_path, [few, segment])
    assert sets.postings[0].file.array("lists").raw.itemsize == 2
    assert sets.postings[1].file.array("lists").raw.itemsize == (2 if columns <= 65_536 else 4)
    for costs in ("usual", "lists are dear"):
        index = sets.index(COSTS[costs])
        sets.agree(index, np.arange(0, 900, 17), 30)
        sets.agree(index, np.arange(100), 3)


# -- the arrays of the postings --------------------------------------------------------------


def test_postings_against_plain_sets(large: Sets) -> None:
    for segment, postings in zip(large.segments, large.postings, strict=True):
        postings_agree(segment, postings, 7)


def postings_agree(segment: PlainSets, postings: Postings, step: int) -> None:
    """Asserts what the postings say of sets, of every `step`-th column one by one."""
    columns = np.arange(segment.column_count)
    sizes = segment.sizes()
    assert (postings.columns, postings.groups) == (len(sizes), len(segment.groups.group_start) - 1)
    assert postings.set_sizes().tolist() == sizes.tolist()
    assert postings.set_sizes(columns[::-3]).tolist() == sizes[::-3].tolist()
    size_ranks = postings.size_ranks(columns)
    assert np.argsort(size_ranks).tolist() == np.lexsort((columns, -sizes)).tolist()
    assert postings.columns_at(size_ranks).tolist() == columns.tolist()
    start, groups = postings.all_sets()
    for column in columns[::step].tolist():
        own = postings.groups_of(column).tolist()
        assert groups[start[column] : start[column + 1]].tolist() == own
        tokens = segment.set_of(column) if segment.indexed[column] else np.zeros(0, dtype=np.int64)
        assert postings.codes_of(column).tolist() == segment.codes_of(tokens).tolist()
    list_start, lists = segment.posting_lists()[1:]
    for group in range(0, postings.groups, step):
        own = lists[list_start[group] : list_start[group + 1]].tolist()
        assert postings.columns_of(group).tolist() == own
    positions_agree(postings)
    assert postings.lists_agree()


def positions_agree(postings: Postings) -> None:
    """An entry's position is the number of the column's values up to and with the entry's group."""
    weight = np.diff(postings.group_start().astype(np.int64))
    start, groups = postings.all_sets()
    expected = {
        (column, group): position
        for column in range(postings.columns)
        for own in [groups[start[column] : start[column + 1]]]
        for group, position in zip(own.tolist(), np.cumsum(weight[own]).tolist(), strict=True)
    }
    found = [
        (column, group)
        for group in range(postings.groups)
        for columns in [postings.columns_of(group)]
        for column in columns[np.argsort(postings.size_ranks(columns))].tolist()
    ]
    positions = postings.file.array("positions").all().tolist()
    assert dict(zip(found, positions, strict=True)) == expected


# -- the rest --------------------------------------------------------------------------------


def test_threads_share_an_index(large: Sets) -> None:
    rng = np.random.default_rng(8)
    asked = list(queries(large, rng))
    expected = [best_of(large.segments, query, 7) for query in asked]
    index = OverlapIndex([open_postings(f) for f in large.files], ReadCosts())

    def search(number: int) -> bool:
        query = number % len(asked)
        codes = large.codes(asked[query])
        hits = index.search(codes, 7, KINDS[number // len(asked) % len(KINDS)])
        return answered(hits) == expected[query]

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(search, range(240)))


def test_counters(large: Sets) -> None:
    index = large.index()
    for query in queries(large, np.random.default_rng(9)):
        codes = large.codes(query)
        with_any = sum(int((s.overlaps(query) > 0).sum()) for s in large.segments)
        merged = index.search(codes, 10_000, "merge").counters
        assert merged.lists_read == merged.lists <= sum(map(len, large.codes(query)))
        assert merged.candidates == with_any
        assert merged.sets_read == 0
        for kind in KINDS:
            for k in (1, 10, 10_000):
                counters = index.search(codes, k, kind).counters
                assert 0 < counters.lists_read <= counters.lists <= merged.lists
                assert 0 < counters.segments <= len(large.segments)
                assert sum(counters.algorithms.values()) == counters.segments
                assert kind == "stopping" or set(counters.algorithms) == {kind}
                assert counters.candidates <= with_any
                assert 0 <= counters.pruned <= counters.candidates
                assert counters.bytes > 0


def test_nothing_is_found(tmp_path: Path, large: Sets) -> None:
    index = large.index()
    for query in (np.arange(10**7, 10**7 + 5), np.zeros(0, dtype=np.int64)):
        for kind in KINDS:
            hits = index.search(large.codes(query), 10, kind)
            assert answered(hits) == []
            assert (hits.counters.segments, hits.counters.lists) == (0, 0)
    empty = Sets(tmp_path, [PlainSets.of([]), PlainSets.of([[], []])])
    empty.agree(empty.index(), np.arange(5), 3)
    nowhere = OverlapIndex([])
    assert answered(nowhere.search([], 3)) == []


def test_an_algorithm_finds_the_room_as_it_needs_it(tmp_path: Path) -> None:
    """One leaves a list where another has flags."""
    query = np.arange(0, 100, 3)
    sets = Sets(tmp_path, [PlainSets.of([{0}, {0, 6}, range(7), query])])
    index = sets.index(ReadCosts(0.0, 1e3, 0.0, 0.0, 0.0))
    for first in KINDS:
        for second in KINDS:
            sets.agree(index, query, 2, kinds=(first, second))


def test_values_of_columns_that_are_not_searched(tmp_path: Path) -> None:
    """Their groups have empty lists."""
    sets = Sets(tmp_path, [PlainSets.of([range(9), range(5, 12)], [False, True])])
    sets.agree(sets.index(), np.arange(20), 3)
    sets.agree(sets.index(), np.arange(4), 3)


def test_bad_options() -> None:
    for k in (0, -1):
        with pytest.raises(InputError, match="k must be at least 1"):
            Overlap(k=k)
    with pytest.raises(InputError, match="no algorithm 'mergelist'; choose one of auto, "):
        Overlap(algorithm="mergelist")


def test_an_index_is_let_go_with_its_segments(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[PlainTable("a.csv", {"c": ["Bern", "Oslo"]})]])
    query = query_of_array("q", "c", pa.array(["oslo"]), ValueRules())
    segments = lake.snapshot.segments
    assert len(Overlap().search(query, segments)) == 1
    kept = weakref.ref(segments[0])
    del lake, segments
    gc.collect()
    assert kept() is None
