"""Composite keys against brute force: every option, every filter, whatever the lake."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.checked_key_lake import (
    EVERY,
    KeyLake,
    agrees_on_near_misses,
    answered,
    asked,
    components,
    key_lake,
    key_lakes,
    loses_no_row,
    plain,
)
from lakejoin.engines.composite.engine import Mate
from lakejoin.engines.composite.query import key_query
from lakejoin.engines.composite.table_reader import CHUNK
from lakejoin.model import ValueRules
from lakejoin.search.key_search import KeyMatches, count_combinations
from lakejoin.search.query_tables import FrameTable
from lakejoin.store.index_records import KEY_SIZES, SuperKeyOptions
from lakejoin.store.super_keys import BloomFilter
from oracle import mate as oracle
from oracle.lakes import Cells, PlainTable
from oracle.search import lake_of
from published.mate import ROW_FILTERS, PublishedMate, PublishedOptions

HASTY = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


# -- random lakes ------------------------------------------------------------------------------


@HASTY
@given(key_lakes(), st.booleans(), st.data())
def test_random_lakes(
    drawn: tuple[list[list[PlainTable]], PlainTable], every: bool, data: st.DataObject
) -> None:
    groups, mine = drawn
    hidden = [data.draw(st.sets(st.integers(0, max(0, len(g) - 1)), max_size=len(g)))
              for g in groups]  # fmt: skip
    with key_lake(groups, every) as lake:
        for k in (1, 50):
            lake.agree(mine, k)
        some = data.draw(st.lists(st.sampled_from(EVERY), min_size=2, max_size=2))
        lake.agree(mine, 2, some, hidden=[sorted(h) for h in hidden])
        names = [f"c{c}" for c in range(5)]
        fixed = [data.draw(st.sampled_from([None, None, *names, "C1"])) for _ in mine.columns]
        lake.agree(mine, 3, some, fixed=fixed)
        lake.agree(mine, 3, [PublishedOptions(initial=name) for name in mine.columns])


@HASTY
@given(key_lakes())
def test_brute_force_is_the_definition(
    drawn: tuple[list[list[PlainTable]], PlainTable],
) -> None:
    """The brute force of these tests, row by row, against all permutations of columns."""
    groups, mine = drawn
    wanted = list(oracle.combinations(oracle.Columns.of(mine, [True] * 9).columns))
    for table in (t for group in groups for t in group):
        theirs = oracle.Columns.of(table, [True] * len(table.columns))
        defined = oracle.every_mapping(theirs, wanted)
        found = oracle.joinability(theirs, wanted).scores
        assert found == {places: score for places, score in defined.items() if score}


@HASTY
@given(key_lakes(), st.data())
def test_meetings(drawn: tuple[list[list[PlainTable]], PlainTable], data: st.DataObject) -> None:
    """What meets under any mapping, in how many rows, and how many combinations they have."""
    groups, mine = drawn
    with key_lake(groups) as lake:
        query, wanted = asked(mine)
        for s, tables in enumerate(lake.plain):
            for t, table in enumerate(tables):
                searched = [c for c, is_searched in enumerate(table.indexed) if is_searched]
                if len(searched) < len(mine.columns):
                    continue
                order = data.draw(st.permutations(searched))[: len(mine.columns)]
                columns = [lake.first(s, t) + place for place in order]
                counts = oracle.mappings(table, wanted).get(tuple(order), {})
                meeting = KeyMatches(query).of(lake.segments[s], columns)
                assert meeting.positions.tolist() == sorted(counts)
                assert meeting.lake_rows.tolist() == [counts[n] for n in sorted(counts)]
                known = oracle.distinct_in(table, order)
                assert count_combinations(lake.segments[s], columns) == known


# -- no filter ever loses a row ----------------------------------------------------------------


@settings(HASTY, max_examples=8)
@given(key_lakes(), st.sampled_from(KEY_SIZES))
def test_no_filter_loses_a_row(drawn: tuple[list[list[PlainTable]], PlainTable], bits: int) -> None:
    groups, mine = drawn
    with key_lake(groups, keys=SuperKeyOptions(bits=bits)) as lake:
        loses_no_row(lake, mine)


@pytest.mark.parametrize("bits", KEY_SIZES)
def test_every_size(bits: int, tmp_path: Path) -> None:
    agrees_on_near_misses(tmp_path, bits, BloomFilter)


# -- cases -------------------------------------------------------------------------------------

_FIRST = ["Muhammad", "Ansel", "Ansel", "Muhammad", "Helmut"]
_LAST = ["Lee", "Adams", "Adams", "Lee", "Newton"]
_LAND = ["US", "UK", "US", "Germany", "Germany"]
_D = PlainTable("d", {"first": _FIRST, "last": _LAST, "country": _LAND})
_T1 = PlainTable(
    "t1",
    {
        "vorname": ["Helmut", "Muhammad", "Ansel", "Ansel", "Muhammad", "Muhammad", "Gretchen",
                    "Adam"],
        "nachname": ["Newton", "Lee", "Adams", "Adams", "Ali", "Lee", "Lee", "Sandler"],
        "land": ["Germany", "US", "UK", "US", "US", "Germany", "Germany", "US"],
        "besetzung": ["Photographer", "Dancer", "Dancer", "Photographer", "Boxer", "Birder",
                      "Artist", "Actor"],
    },
)  # fmt: skip


def test_the_example_of_the_paper(tmp_path: Path) -> None:
    lake = KeyLake(tmp_path, [[_T1]])
    assert lake.agree(_D, 1) == [(0, 0, 5)]
    query, _ = asked(_D)
    hits = Mate(1).search(query, lake.segments)
    assert hits.mapping[0].columns == (0, 1, 2)
    assert hits.runner_up[0] is None
    assert hits.counters.rows_true == 5
    assert query.columns == ("first", "last", "country")
    assert [part.to_pylist() for part in query.texts_of(np.array([4, 0]))] == [
        ["Helmut", "Muhammad"], ["Newton", "Lee"], ["Germany", "US"],
    ]  # fmt: skip
    assert lake.agree(_D, 1, fixed=(None, None, "LAND")) == [(0, 0, 5)]
    assert lake.agree(_D, 1, fixed=("nachname", None, None)) == []
    assert lake.agree(_D, 1, fixed=(None, None, "country")) == []


def test_names_and_numbers_stand_in_any_order(tmp_path: Path) -> None:
    turned = PlainTable("t", {"x": _LAND, "y": _LAST, "z": _FIRST})
    lake = KeyLake(tmp_path, [[_T1], [turned]])
    assert lake.agree(_D, 2) == [(1, 0, 5), (0, 0, 5)]  # as many combinations in fewer rows
    query, _ = asked(_D)
    assert Mate(1).search(query, lake.segments).mapping[0].columns == (2, 1, 0)


def test_ties(tmp_path: Path) -> None:
    """More combinations, then fewer rows, then the order of the index; k cuts inside of a tie."""
    key = [["a", "b", "c"], ["1", "2", "3"]]
    same = [plain(f"{n}", *key) for n in range(5)]
    longer = plain("longer", [*key[0], "z"], [*key[1], "9"])
    lake = KeyLake(tmp_path, [[longer, *same[:2]], [], [longer], same[2:]])
    for k in range(1, 9):
        found = lake.agree(plain("mine", *key), k)
        order = [(0, 1), (0, 2), (3, 0), (3, 1), (3, 2), (0, 0), (2, 0)]
        assert [(s, t) for s, t, _ in found] == order[:k]


def test_repeated_columns(tmp_path: Path) -> None:
    """The same column three times over: the best mapping is as good as its runner-up."""
    letters, numbers = ["a", "b", "c", "d"], ["1", "2", "3", "4"]
    theirs = plain("t", letters, letters, numbers, letters, numbers, numbers)
    lake = KeyLake(tmp_path, [[theirs, plain("u", letters, letters, letters)]])
    lake.agree(plain("mine", letters, numbers), 5)
    lake.agree(plain("mine", letters, letters), 5)
    lake.agree(plain("mine", letters, letters, letters), 5)
    lake.agree(plain("mine", letters, letters, letters, letters), 5)
    assert lake.agree(plain("mine", *[letters] * 4, numbers), 5) == []


def test_a_column_answers_only_once(tmp_path: Path) -> None:
    """Both parts of the key want their only column that fits."""
    lake = KeyLake(tmp_path, [[plain("t", ["a", "b"], ["x", "y"]), plain("u", ["a", "b"])]])
    assert lake.agree(plain("mine", ["a", "b"], ["a", "b"]), 5) == []
    two = KeyLake(tmp_path / "two", [[plain("t", ["a", "b"], ["a", "c"])]])
    assert two.agree(plain("mine", ["a", "b"], ["a", "b"]), 5) == [(0, 0, 1)]


def test_a_constant_part(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(30)]
    theirs = plain("t", ["x"] * 30, names, ["2020"] * 30)
    other = plain("u", names, ["2021"] * 30)
    lake = KeyLake(tmp_path, [[theirs], [other]])
    assert lake.agree(plain("mine", ["2020"] * 30, names), 5) == [(0, 0, 30)]
    assert lake.agree(plain("mine", ["2020"] * 30, ["x"] * 30), 5) == [(0, 0, 1)]


def test_nulls_match_nothing(tmp_path: Path) -> None:
    theirs = plain("t", ["a", None, "b", None], ["1", "2", None, None])
    lake = KeyLake(tmp_path, [[theirs]])
    mine = plain("mine", ["a", None, "b", None, "a"], ["1", "2", None, None, "1"])
    assert lake.agree(mine, 5) == [(0, 0, 1)]
    query, wanted = asked(mine)
    assert (len(wanted), query.rows, query.counts.tolist()) == (1, 5, [2])
    for key in ([[None, "a"], ["1", None]], [[None], [None]], [[], []]):
        query, wanted = asked(plain("mine", *key))
        assert not wanted
        for options in EVERY:
            assert answered(PublishedMate(5, options).search(query, lake.segments)) == []


def test_small_tables(tmp_path: Path) -> None:
    """Keys longer than a table is wide, tables without rows, with one row, with one column."""
    groups = [
        [plain("0", []), plain("1", [], []), plain("2", ["a"]), plain("3", ["a"], ["b"])],
        [],
        [plain("4", ["a"], ["b"], ["c"]), plain("5", ["a", None], [None, "b"])],
    ]
    lake = KeyLake(tmp_path, groups)
    assert lake.agree(plain("mine", ["a"], ["b"]), 5) == [(0, 3, 1), (2, 0, 1)]
    assert lake.agree(plain("mine", ["a"], ["b"], ["c"]), 5) == [(2, 0, 1)]
    assert lake.agree(plain("mine", ["c"], ["b"], ["a"], ["d"]), 5) == []
    query, _ = asked(plain("mine", ["a"], ["b"]))
    assert answered(Mate(5).search(query, [])) == []


def test_ten_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    key = [[f"{c}-{i}" for i in rng.integers(0, 12, 80)] for c in range(10)]
    shuffled = [key[c] for c in rng.permutation(10)]
    half = [[*column[:40], *column[39::-1]] for column in key]
    half[3] = half[3][::-1]
    lake = KeyLake(
        tmp_path,
        [
            [plain("wide", ["x"] * 80, *shuffled, [str(i) for i in range(80)])],
            [plain("half", *half), plain("nine", *key[:9])],
        ],
    )
    options = [PublishedOptions(f, b) for f in ROW_FILTERS for b in (True, False)]
    lake.agree(plain("mine", *key), 5, options)
    lake.agree(plain("mine", *key), 5, options, fixed=(None, "c4", *[None] * 8))


def test_a_key_of_one_value_in_many_columns(tmp_path: Path) -> None:
    """Thousands of mappings are as good as each other."""
    lake = KeyLake(tmp_path, [[plain("t", *[["a", "b"]] * 7)]])
    for width in (2, 3, 4):
        lake.agree(plain("mine", *[["a", "b"]] * width), 1)


def test_many_tables_enter(tmp_path: Path) -> None:
    """More tables than are logged between two returns from compiled code, and each is better than
    those before it in the index."""
    letters = [f"l{i}" for i in range(20)]
    numbers = [str(i) for i in range(20)]
    tables = [
        plain(f"{n}", letters[: 1 + n % 20], numbers[: 1 + n % 20], ["x"] * (1 + n % 20))
        for n in range(300)
    ]
    lake = KeyLake(tmp_path, [tables[:5], tables[5:]])
    options = [PublishedOptions(f, b) for f in ROW_FILTERS for b in (True, False)]
    for k in (1, 7, 350):
        lake.agree(plain("mine", letters, numbers), k, options)


def test_many_combinations_of_a_value(tmp_path: Path) -> None:
    """More combinations than a row is tested against one by one, or exactly as many."""
    names = [f"name {i}" for i in range(600)]
    years = ["1990"] * 500 + [str(1900 + i) for i in range(100)]
    rng = np.random.default_rng(2)
    some = [names[i] for i in rng.integers(0, 600, 900)]
    held = [years[i] for i in rng.integers(0, 600, 900)]
    lake = KeyLake(tmp_path, [[plain("t", held, some, some[::-1])], [plain("u", some, held)]])
    mine = plain("mine", names, years)
    options = [
        PublishedOptions("superkeys", bounds, initial, pairs)
        for bounds in (True, False)
        for initial in ("items", "c0", "c1")
        for pairs in (0, 1, 16, 500, 501, 1 << 40)
    ]
    found = lake.agree(mine, 2, options)
    assert len(found) == 2


def test_tables_that_fall_behind_while_they_are_read(tmp_path: Path) -> None:
    """Long tables whose rows all have my values, and hardly any a combination: reading may end
    before their last rows, but not where these still count (rule 2)."""
    rows = CHUNK + 250  # it may end where a chunk does
    number = np.arange(rows)
    names = pa.array([f"n{i}" for i in range(500)])
    apart = names.take(pa.array((number + 1) % 500))

    def pairs_until(matching: int) -> pa.Array:
        """The last rows match, so many of them."""
        own = names.take(pa.array(number[-matching:] % 500))
        return pa.concat_arrays([apart.slice(0, rows - matching), own])

    first = names.take(pa.array(number % 500))
    groups = [
        [
            PlainTable("300", {"a": names.slice(0, 300), "b": names.slice(0, 300)}),
            PlainTable("299", {"a": first, "b": pairs_until(299)}),
        ],
        [PlainTable("301", {"a": pairs_until(301), "b": first})],
        [PlainTable("none", {"a": apart, "b": first})],
    ]
    lake = lake_of(tmp_path, groups, components=components())
    own = pa.table({"x": names, "y": names})
    query = key_query(FrameTable(own, ValueRules(), "mine"), [0, 1])
    expected = [(1, 0, 301), (0, 0, 300), (0, 1, 299)]
    for options, k in product(EVERY, (1, 2, 3, 4)):
        hits = PublishedMate(k, options).search(query, lake.snapshot.segments)
        assert answered(hits) == expected[:k], (options, k)


def test_unicode(tmp_path: Path) -> None:
    first = ["Zoë", "ZOË", "ﬁne", "日本", "😀", "Straße", "İstanbul", "é"]
    other = ["Å", "ß", "Ω", "東京", "🙂", "x" * 500, "I", "e"]
    theirs = plain("t", [w.upper() for w in other], first[::-1], first, other[::-1])
    lake = KeyLake(tmp_path, [[theirs]])
    lake.agree(plain("mine", first, other), 1)
    lake.agree(plain("mine", other, first), 1)


# -- larger lakes ------------------------------------------------------------------------------


def test_a_larger_lake(tmp_path: Path) -> None:
    """Sixty tables with a few thousand rows of the same domains, and planted keys."""
    rng = np.random.default_rng(17)
    domains = [[f"{name}{i}" for i in range(size)] for name, size in
               (("first", 40), ("last", 60), ("town", 25), ("", 30), ("code", 400))]  # fmt: skip

    def columns(rows: int, which: Sequence[int]) -> list[Cells]:
        return [[domains[d][i] for i in rng.integers(0, len(domains[d]), rows)] for d in which]

    mine = columns(300, [0, 1, 3])
    groups: list[list[PlainTable]] = [[] for _ in range(4)]
    for number in range(60):
        rows = int(rng.integers(1, 200))
        cells = columns(rows, rng.integers(0, 5, int(rng.integers(2, 7))).tolist())
        if number % 5 == 0 and len(cells) >= 3:
            kept = rng.integers(0, 300, rows)
            for part, place in enumerate(rng.permutation(len(cells))[:3]):
                cells[place] = [mine[part][i] for i in kept]
        groups[number % 4].append(plain(f"{number}.csv", *cells))
    lake = KeyLake(tmp_path, groups)
    for k in (1, 5, 100):
        assert lake.agree(plain("mine", *mine), k)
    assert lake.agree(plain("mine", *mine[:2]), 10)
    assert lake.agree(plain("mine", *mine), 5, fixed=("c1", None, None))


def test_a_million_rows(tmp_path: Path) -> None:
    """A candidate table of a million rows, made and counted by array code."""
    rows = 1_000_000
    number = np.arange(rows)
    towns = pa.array([f"town {i}" for i in range(1_000)])
    years = pa.array([str(1900 + i) for i in range(100)])
    columns = {
        "town": towns.take(pa.array(number % 1_000)),
        "year": years.take(pa.array(number // 1_000 % 100)),
        "other": towns.take(pa.array(number * 7 % 997)),
        "id": pa.array(number).cast(pa.string()),
    }
    small = plain("small", ["town 1", "town 2"], ["1900", "1900"])
    lake = lake_of(tmp_path, [[PlainTable("million", columns)], [small]],
                   components=components())  # fmt: skip
    own = pa.table(
        {"y": [str(1900 + i % 150) for i in range(3_000)],
         "t": [f"Town {i % 1_500}" for i in range(3_000)]}
    )  # fmt: skip
    query = key_query(FrameTable(own, ValueRules(), "mine"), [0, 1])
    both = {(i % 150, i % 1_500) for i in range(3_000)}
    expected = sum(year < 100 and town < 1_000 for year, town in both)
    for options in (
        PublishedOptions(),
        PublishedOptions("none", False),
        PublishedOptions("each", False),
    ):
        hits = PublishedMate(2, options).search(query, lake.snapshot.segments)
        assert answered(hits)[0] == (0, 0, expected)
        assert hits.mapping[0].columns == (1, 0)
    segment = lake.snapshot.segments[0]
    meeting = KeyMatches(query).of(segment, (1, 0))
    assert len(meeting.positions) == expected
    assert set(meeting.lake_rows.tolist()) == {10}
    assert count_combinations(segment, (1, 0)) == 100_000


def test_a_fixed_name_is_looked_for_in_all_columns(tmp_path: Path) -> None:
    """A table with a column of exactly that name has no other, even if it holds none of mine."""
    table = PlainTable("t", {"n": ["a", "b"], "land": ["x", "y"], "LAND": ["ch", "at"]})
    lake = KeyLake(tmp_path, [[table]])
    mine = plain("mine", ["a", "b"], ["ch", "at"])
    assert lake.agree(mine, 3, fixed=[None, "land"]) == []
    assert len(lake.agree(mine, 3, fixed=[None, "LAND"])) == 1
    assert len(lake.agree(mine, 3, fixed=[None, "Land"])) == 1


def test_of_equal_mappings_that_of_the_names_is_told(tmp_path: Path) -> None:
    """Every pair stands in both directions: only the names say which column is which."""
    theirs = {"dest": ["a", "b", "c", "a"], "source": ["b", "a", "a", "c"], "km": ["1"] * 4}
    lake = KeyLake(tmp_path, [[PlainTable("km", theirs)]])
    mine = pa.table({"origin": ["a", "b"], "dest": ["b", "a"]})
    query = key_query(FrameTable(mine, ValueRules()), [0, 1])
    for options in [*EVERY, PublishedOptions(initial="dest"), PublishedOptions(initial=0)]:
        (mapping,) = PublishedMate(1, options).search(query, lake.segments).mapping
        assert mapping.columns == (1, 0), options


def test_equal_values_in_many_columns_end_soon(tmp_path: Path) -> None:
    """Nine columns of one value, and ten are wanted: no try of all orders."""
    nine = PlainTable("nine", {f"c{n}": ["ja"] * 20 for n in range(9)} | {"last": ["nein"] * 20})
    lake = KeyLake(tmp_path, [[nine]])
    mine = pa.table({f"k{n}": ["ja", "nein"] for n in range(10)})
    query = key_query(FrameTable(mine, ValueRules()), range(10))
    hits = Mate(1).search(query, lake.segments)
    assert len(hits) == 0 and hits.counters.cut_short == 0


def test_too_many_mappings_are_cut_short_and_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    cells = {f"c{n}": [f"v{v}" for v in rng.integers(0, 4, 200)] for n in range(24)}
    lake = KeyLake(tmp_path, [[PlainTable("ratings", cells)]])
    mine = pa.table({f"k{n}": [f"v{v}" for v in rng.integers(0, 4, 400)] for n in range(6)})
    query = key_query(FrameTable(mine, ValueRules()), range(6))
    hits = Mate(1).search(query, lake.segments)
    assert hits.counters.cut_short == 1
    assert hits.mapping[0].matched == hits.matched[0] > 0
