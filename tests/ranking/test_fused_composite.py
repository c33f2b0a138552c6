"""Composite keys in a fused search: which are looked for, against chance, row by row."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.engines.composite.query import key_query
from lakejoin.engines.query import NO_CELL, QueryTable
from lakejoin.lake import Lake
from lakejoin.model import ValueRules
from lakejoin.ranking.composite_candidates import (
    KeyCandidates,
    filter_composites,
    find_composite_candidates,
    make_key,
    wrong_combinations,
)
from lakejoin.ranking.composite_keys import UNIQUE, find_composite_keys
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.ranking.join_score import Signals
from lakejoin.ranking.row_agreement import find_first_rows, find_rows, first_row_of_each
from lakejoin.search.options import SearchOptions
from lakejoin.search.query_columns import ColumnChoice
from lakejoin.search.query_tables import FrameTable
from oracle.lakes import PlainTable, canonical_columns, encoded
from search.key_lakes import key_lake, tables

RANDOM = random.Random(8)


def word(number: int) -> str:
    """A text that no other number has, and whose neighbours have other letters."""
    letters = "bcdfghjklmnprstvwz"
    mixed = number * 7919 % 5831
    return "".join(letters[mixed // 18**i % 18] + "aeiou"[mixed // 5**i % 5] for i in range(3))


COUNTRIES = [word(n) for n in range(30)]
YEARS = [str(year) for year in range(1990, 2010)]
PANEL = list(product(COUNTRIES, YEARS))
FIRST = [word(n) for n in range(100, 125)]
LAST = [word(n) for n in range(200, 240)]
PAIRS = RANDOM.sample(list(product(FIRST, LAST)), 300)
PEOPLE, OTHERS = PAIRS[:150], PAIRS[150:]


def table(name: str, rows: Sequence[Sequence[str]], *columns: str) -> PlainTable:
    cells = zip(*rows, strict=True)
    return PlainTable(name, dict(zip(columns, map(list, cells), strict=True)))


LAKE = [
    table("club.csv", [(b, a, word(n)) for n, (a, b) in enumerate(PEOPLE[:120])], "l", "f", "x"),
    table("strangers.csv", OTHERS, "first", "last"),
    table("rain.csv", [(c, y, f"{hash(c + y) % 99}.5") for c, y in PANEL], "country", "year", "mm"),
    # Every country with every number from 1990 on: nothing says that these are years.
    table("visits.csv", [(c, y) for c, y in PANEL], "land", "visits"),
    table(
        "capitals.csv",
        [(c, str(1990 + n % 20), word(500 + n)) for n, c in enumerate(COUNTRIES)],
        "country",
        "founded",
        "capital",
    ),
    table("numbers.csv", [(str(n), str(n // 20)) for n in range(400)], "id", "group"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Two segments."""
    yield key_lake(tmp_path_factory.mktemp("composite"), LAKE[:3], LAKE[3:])


def mine_of(rows: Sequence[Sequence[str | None]], *columns: str) -> QueryTable:
    arrays = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
    return FrameTable(pa.Table.from_arrays(arrays, list(columns)), ValueRules())


def by_name(ways: Sequence[JoinCandidate]) -> dict[str, JoinCandidate]:
    return {way.result.table: way for way in ways}


# -- what is found ---------------------------------------------------------------------------------


def test_the_same_people_are_told_from_others_of_the_same_names(lake: Lake) -> None:
    mine = mine_of(PEOPLE, "first", "last")
    assert find_composite_keys(mine) == [(0, 1)]
    ways = by_name(find_composite_candidates(lake._searcher, mine, make_key((0, 1)))[0])
    assert ways["club.csv"].pairs == "first = f and last = l"
    assert (ways["club.csv"].result.matched, ways["club.csv"].join_score.accidental) == (120, "")
    assert ways["club.csv"].signals.chance < 0.4
    assert "strangers.csv" not in ways, "no combination is in both"


def test_where_every_combination_is_taken_the_parts_are_asked(lake: Lake) -> None:
    mine = mine_of([(*one, str(n)) for n, one in enumerate(PANEL[:400])], "country", "year", "n")
    ways = by_name(find_composite_candidates(lake._searcher, mine, make_key((0, 1)))[0])
    rain, visits, capitals = (ways[f"{name}.csv"] for name in ("rain", "visits", "capitals"))
    assert rain.join_score.accidental == ""
    assert (rain.signals.values, rain.signals.share) == (20, 1.0), "the countries say it"
    assert visits.join_score.accidental, "nothing says that the numbers are years"
    assert capitals.join_score.accidental, "a year is not when it was founded"


def test_numbers_that_rise_together_do_so_anywhere(lake: Lake) -> None:
    days = [str(n // 20 + RANDOM.choice([-1, 0, 0, 1])) for n in range(400)]
    mine = mine_of([(str(n), day) for n, day in enumerate(days)], "order", "day")
    (way,) = [
        one
        for one in find_composite_candidates(lake._searcher, mine, make_key((0, 1)))[0]
        if one.result.table == "numbers.csv"
    ]
    assert way.signals.share > 0.4
    assert way.join_score.accidental


def test_rows_must_agree_more_than_those_with_an_equal_part(tmp_path: Path) -> None:
    languages = {"en": "the of and to", "de": "der die und zu"}
    texts = [
        (str(n), tongue, f"{words} {word(n)}")
        for n in range(1, 40)
        for tongue, words in languages.items()
    ]
    others = [
        (str(n), tongue, f"{words} {word(900 + n)}")
        for n in range(1, 40)
        for tongue, words in languages.items()
    ]
    same = [(a, b, c[::-1].upper() + " " + c) for a, b, c in texts]
    lake = key_lake(
        tmp_path,
        [
            table("others.csv", others, "id", "lang", "t"),
            table("same.csv", same, "id", "lang", "t"),
        ],
    )
    mine = mine_of(texts, "number", "tongue", "prose")
    ways = by_name(find_composite_candidates(lake._searcher, mine, make_key((0, 1)))[0])
    assert ways["others.csv"].signals.rows < 5
    assert ways["same.csv"].signals.rows > 50


def alone(lake: Lake, mine: QueryTable) -> list[JoinCandidate]:
    """Ways by the first column, which is believed where it meets at all."""
    answer = lake._searcher.search(mine, ColumnChoice((0,)), SearchOptions(k=10, others=True))
    signals = Signals(100, 1.0, 0.02, 1.0)
    return [JoinCandidate((mine.column_names[0],), one, signals) for one in answer]


def test_what_one_column_finds_by_itself_is_left_out(lake: Lake) -> None:
    mine = mine_of(PANEL, "country", "year")
    ways, _ = find_composite_candidates(lake._searcher, mine, make_key((0, 1)))
    told = by_name(filter_composites(ways, alone(lake, mine)))
    assert "rain.csv" in told, "by the country alone every row meets twenty"
    assert "capitals.csv" not in told, "it matches by coincidence, and not by country"
    assert by_name(filter_composites(ways, [])).keys() == by_name(ways).keys()
    key = mine_of([(c, word(500 + n)) for n, c in enumerate(COUNTRIES)], "country", "seat")
    ways, _ = find_composite_candidates(lake._searcher, key, make_key((0, 1)))
    assert "capitals.csv" in by_name(ways)
    told = by_name(filter_composites(ways, alone(lake, key)))
    assert "capitals.csv" not in told, "the country is enough"


# -- against brute force ---------------------------------------------------------------------------

NUMBERS = st.sampled_from([0, 1, 2, 3, int(NO_CELL)])


@given(st.integers(1, 3), st.data())
def test_first_rows_are_those_of_brute_force(parts: int, data: st.DataObject) -> None:
    row = st.tuples(*[NUMBERS] * parts)
    rows, asked = data.draw(st.lists(row, max_size=12)), data.draw(st.lists(row, max_size=6))
    none = int(NO_CELL)
    expected = [rows.index(one) if one in rows and none not in one else -1 for one in asked]
    columns, wanted = (
        np.array(some, np.uint32).reshape(len(some), parts).T for some in (rows, asked)
    )
    assert find_first_rows(columns, wanted).tolist() == expected
    if len(set(asked)) == len(asked):
        assert first_row_of_each(find_rows(columns, wanted), len(asked)).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, unique=True))
def test_wrong_combinations_are_mixed_or_neighbours(rows: list[tuple[int, int]]) -> None:
    texts = pa.array([str(n) for n in (7, 70, 8, 100, 9, 12, 3, 55, 1, 20)], pa.large_string())
    numbers = [int(text) for text in texts.to_pylist()]
    wrong = wrong_combinations(np.array(rows).T, texts.take)
    made = list(zip(*wrong.columns, strict=True))
    for part in (0, 1):
        order = sorted({row[part] for row in rows}, key=numbers.__getitem__)
        following = dict(zip(order, [*order[1:], *(order[-2:-1] or order)], strict=True))
        expected = [
            tuple(following[n] if i == part else n for i, n in enumerate(row)) for row in rows
        ]
        assert [made[i] for i in np.flatnonzero(wrong.kind == part + 1)] == expected
        drawn = {made[i][part] for i in np.flatnonzero(wrong.kind == 0)}
        assert drawn <= set(order)


@settings(max_examples=40, deadline=None)
@given(mine=tables("mine", narrowest=2), theirs=st.lists(tables("t"), min_size=1, max_size=3))
def test_the_chance_is_the_share_of_wrong_combinations(
    tmp_path_factory: pytest.TempPathFactory, mine: PlainTable, theirs: list[PlainTable]
) -> None:
    named = [PlainTable(f"t{n}", one.columns) for n, one in enumerate(theirs)]
    lake = key_lake(tmp_path_factory.mktemp("chance"), named[:1], named[1:])
    own = mine_of(list(zip(*mine.columns.values(), strict=True)), *mine.columns)
    query = key_query(own, (0, 1))
    if not len(query):
        return
    ways = KeyCandidates(own, (0, 1))
    answer = lake._searcher.search(own, ColumnChoice((0, 1), (None, None)), SearchOptions(k=9))
    for one in answer:
        found = one.found
        assert found is not None
        columns = canonical_columns(encoded(next(t for t in named if t.name == one.table)))
        cells = [columns[found.column_index(part)] for part in (0, 1)]
        held = {row for row in zip(*cells, strict=True) if None not in row}
        tokens = [texts.to_pylist() for texts in query.tokens]

        def texts_of(row: Sequence[int], tokens: Sequence[list[str]] = tokens) -> tuple[str, ...]:
            return tuple(of[n] for of, n in zip(tokens, row, strict=True))

        right = set(map(texts_of, query.combinations.tolist()))
        assert one.matched == len(right & held)
        share = one.matched / min(len(right), len(held))
        assert ways.quick(one).signals.share == pytest.approx(share)
        if len(right) > len(held):
            continue
        wrong = wrong_combinations(query.combinations.T, *(one.take for one in query.tokens))
        met = [texts_of(row) in held for row in zip(*wrong.columns, strict=True)]
        shares = [np.mean(np.array(met)[wrong.kind == kind]) for kind in range(3)]
        assert ways._chance(found, len(held)) == pytest.approx(max(shares))


# -- which are looked for --------------------------------------------------------------------------


@settings(deadline=None)
@given(tables("mine", narrowest=2))
def test_a_composite_key_is_unique_and_no_part_is(mine: PlainTable) -> None:
    own = mine_of(list(zip(*mine.columns.values(), strict=True)), *mine.columns)
    columns = canonical_columns(encoded(mine))
    for places in find_composite_keys(own):
        rows = [row for row in zip(*(columns[p] for p in places), strict=True) if None not in row]
        assert len(set(rows)) >= UNIQUE * len(rows)
        for part in places:
            values = [cell for cell in columns[part] if cell is not None]
            assert len(set(values)) < UNIQUE * len(values)
        for some in combinations(places, 2) if len(places) == 3 else ():
            pairs = list(zip(*(columns[p] for p in some), strict=True))
            assert len(set(pairs)) < len(pairs)


def test_a_surprise_is_a_key_and_measures_are_none() -> None:
    rows = [(c, y, str(RANDOM.randrange(9000)), str(n % 2)) for n, (c, y) in enumerate(PANEL)]
    assert find_composite_keys(mine_of(rows, "country", "year", "sold", "flag")) == [(0, 1)]
    numbered = [(*row, f"id{n}") for n, row in enumerate(rows)]
    mine = mine_of(numbered, "country", "year", "sold", "flag", "id")
    assert find_composite_keys(mine) == [(0, 1)]
    three = [(c, y, k) for c, y in PANEL for k in ("steel", "coal")]
    assert find_composite_keys(mine_of(three, "c", "y", "k")) == [(0, 1, 2)]
    with_id = [(*row, f"id{n}") for n, row in enumerate(three)]
    assert find_composite_keys(mine_of(with_id, "c", "y", "k", "id")) == []


def test_what_says_the_same_in_other_words_goes_last() -> None:
    rows = [(c, c[::-1], y, RANDOM.choice(["a", "b"])) for c, y in PANEL]
    assert find_composite_keys(mine_of(rows, "country", "code", "year", "x")) == [(0, 2), (1, 2)]
    teams = [word(n) for n in range(700, 712)]
    games = [
        (h, g, word(900 + i * 11 + j)) for i, h in enumerate(teams) for j, g in enumerate(teams)
    ]
    days = [(h, h.upper() + "x", g, str(n // 6)) for n, (h, g, _) in enumerate(games)]
    found = find_composite_keys(mine_of(days, "home", "home_name", "guest", "day"), most=4)
    assert found[:2] == [(0, 2), (2, 3)] and (1, 2) in found[2:], "days before other names"


def test_of_a_long_table_some_rows_are_looked_at_and_all_that_repeat() -> None:
    rows = [(word(n), y) for n in range(900) for y in YEARS]
    assert find_composite_keys(mine_of(rows, "c", "y")) == [(0, 1)]
    assert find_composite_keys(mine_of(rows + rows, "c", "y")) == []
    assert find_composite_keys(mine_of([(None, None)] * 3, "c", "y")) == []
