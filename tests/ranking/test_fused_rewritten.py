"""Tables that join once values are rewritten: what is found, and its figures by brute force."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.engines.query import NO_CELL, ColumnSpellings
from lakejoin.joins.learned.row_samples import _divsufsort
from lakejoin.lake import Lake
from lakejoin.ranking.column_texts import read_column_texts
from lakejoin.ranking.join_score import Ends, compare_ends, find_ends
from lakejoin.ranking.rewritten_candidates import RewrittenMatch
from lakejoin.store.segment import COMPONENTS
from oracle.lakes import PlainTable
from oracle.search import lake_of

RANDOM = random.Random(11)
CODES = [f"{n:05}" for n in RANDOM.sample(range(1, 99_999), 240)]
FIRST = ["Ada", "Bo", "Cleo", "Dora", "Emil", "Finn", "Gus", "Hedy", "Ivo", "Jill"]
LAST = [
    f"{a}{b}"
    for a in ("Bren", "Card", "Dorn", "Elm", "Fisk", "Grun")
    for b in ("er", "o", "ley", "att")
]
PEOPLE = RANDOM.sample([(one, other) for one in FIRST for other in LAST], 120)
DAYS = [date(1990, 1, 1) + timedelta(RANDOM.randrange(9_000)) for _ in range(150)]
AMOUNTS = RANDOM.sample(range(1_000_000, 900_000_000), 150)


def of(name: str, column: str, values: list[str]) -> PlainTable:
    return PlainTable(name, {column: values, "fact": [f"f{n % 17}" for n in range(len(values))]})


LAKE = [
    of(
        "plain.csv", "code", [str(int(one)) for one in CODES[:200] for _ in range(1 + int(one) % 3)]
    ),
    of("names.csv", "who", [f"{last}, {first}" for first, last in PEOPLE[:100]]),
    of("days.csv", "day", [f"seen {one:%d %b %Y} at noon" for one in DAYS]),
    of("amounts.csv", "people", [str(one) for one in AMOUNTS]),
    of("count.csv", "id", [str(n) for n in range(1, 3_000)]),
    of("words.csv", "word", [f"lorem{n * 7919 % 10_007} ipsum" for n in range(300)]),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Two segments."""
    folder = tmp_path_factory.mktemp("rewritten")
    yield lake_of(folder, [LAKE[:3], LAKE[3:]], components=COMPONENTS)


@pytest.mark.parametrize(
    ("mine", "table"),
    [
        (CODES, "plain.csv"),
        ([f"X-{one}" for one in CODES], "plain.csv"),
        ([f"{first} {last}" for first, last in PEOPLE], "names.csv"),
        ([f"{one:,}" for one in AMOUNTS], "amounts.csv"),
    ],
    ids=["zeros", "prefix", "names", "commas"],
)
def test_everyday_rewritings_are_found_and_shown(lake: Lake, mine: list[str], table: str) -> None:
    answer = lake.search({"mine": mine})
    assert [one.table for one in answer][:1] == [table]
    way = answer[0].candidates[0]
    assert (way.kind, way.query_columns) == ("rewritten", ("mine",))
    assert way.how and "mine" in way.how + way.result.columns[0] + str(way.result.found)
    assert way.how == " = ".join(map(str, way.programs)) == way.to_dict()["program"]
    assert way.to_dict()["kind"] == "rewritten"


def test_figures_by_brute_force(lake: Lake) -> None:
    mine = [one for one in CODES for _ in range(1 + int(one) % 2)] + [None]
    way = lake.search({"mine": mine}, "mine")[0].candidates[0]
    theirs = Counter(LAKE[0].columns["code"])
    met = [one for one in CODES if str(int(one)) in theirs]
    result = way.result
    assert isinstance(result, RewrittenMatch)
    assert (result.matched, result.query_size, result.column_size) == (len(met), 240, 200)
    rows = [theirs[str(int(one))] for one in mine if one is not None]
    assert result.row_coverage == sum(n > 0 for n in rows) / len(mine)
    assert result.fan_out == sum(rows) / len(mine)
    assert result.containment == len(met) / 240


def test_what_is_equal_as_it_is_is_not_rewritten(lake: Lake) -> None:
    answer = lake.search({"mine": [str(int(one)) for one in CODES]})
    assert answer[0].table == "plain.csv"
    assert {way.kind for way in answer[0].candidates} == {"equal"}


def test_nothing_is_made_up(lake: Lake) -> None:
    words = [f"{a}{b}{c}" for a in "xyz" for b in "qwv" for c in "kjh"]
    assert len(lake.search({"mine": words})) == 0
    numbers = [str(RANDOM.randrange(10**12)) for _ in range(200)]
    assert len(lake.search({"mine": numbers})) == 0


def test_an_index_without_pieces_says_so(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakejoin.store.rare_tokens import RareTokensComponent

    monkeypatch.setattr(RareTokensComponent, "version", 99)
    answer = lake.search({"mine": [f"X-{one}" for one in CODES]})
    assert len(answer) == 0
    assert any("lakejoin index" in note for note in answer.notes)


# -- lines, and ends -------------------------------------------------------------------------------


def originals(values: list[str | None]) -> ColumnSpellings:
    texts = list(dict.fromkeys(one for one in values if one is not None))
    cells = np.array([NO_CELL if v is None else texts.index(v) for v in values], np.uint32)
    array = pa.array(texts, pa.large_string())
    rows = np.array([values.count(one) for one in texts], np.int64)
    return ColumnSpellings(array, lambda: array, rows, cells)


CELLS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=20)


@given(CELLS)
def test_lines_of_one_column_are_its_distinct_texts(values: list[str | None]) -> None:
    lines = read_column_texts({"x": originals(values)})
    assert lines.table.column("x").to_pylist() == list(dict.fromkeys(v for v in values if v))
    assert [values[row] for row in lines.rows] == lines.table.column("x").to_pylist()
    assert lines.weights.sum() == sum(one is not None for one in values)


@given(CELLS, st.randoms(use_true_random=False))
def test_lines_of_several_columns_are_rows(values: list[str | None], order: random.Random) -> None:
    other = order.sample(values, len(values))
    if not any(values):
        return
    lines = read_column_texts({"x": originals(values), "y": originals(other)})
    assert lines.table.column("x").to_pylist() == values
    assert lines.table.column("y").to_pylist() == other
    assert lines.weights.tolist() == [1.0] * len(values)


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1), st.sampled_from(["", "INV-", "d", "ä/"]))
def test_ends_are_the_smallest_and_the_largest(numbers: list[int], behind: str) -> None:
    if behind:
        numbers = [abs(one) for one in numbers]
    found = find_ends(pa.array([f"{behind}{one}" for one in numbers], pa.large_string()))
    if found is not None:  # letters that all begin with may take the first digits along
        assert found.high - found.low <= max(numbers) - min(numbers)
    if not behind:
        assert found == Ends(min(numbers), max(numbers))


@given(*[st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))] * 2)
def test_same_ends_are_worth_most(one: tuple[int, int], other: tuple[int, int]) -> None:
    mine, theirs = Ends(min(one), max(one)), Ends(min(other), max(other))
    assert 0 <= compare_ends(mine, theirs) <= compare_ends(mine, mine) + 1e-9 or mine.are_years
    assert compare_ends(mine, theirs) == compare_ends(theirs, mine)


def test_the_answers_get_better(lake: Lake, tmp_path: Path) -> None:
    answers = list(lake.search_progressively({"mine": CODES}))
    assert [one.final for one in answers] == [False] * (len(answers) - 1) + [True]
    last, whole = answers[-1], lake.search({"mine": CODES})
    assert [one.table for one in last] == [one.table for one in whole]
    assert {"overlap", "rewritten"} <= set(last.seconds_by)


def test_what_is_equal_is_found_where_nothing_can_be_learned(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that learning needs and that is not there takes nothing else away."""
    monkeypatch.setitem(sys.modules, "pydivsufsort", None)
    _divsufsort.cache_clear()
    try:
        answer = lake.search({"mine": [f"lorem{n * 7919 % 10_007} ipsum" for n in range(200)]})
        assert [one.table for one in answer] == ["words.csv"]
        answer = lake.search({"mine": [f"{first} {last}" for first, last in PEOPLE]})
        assert "lakejoin[join]" in " ".join(answer.notes)
    finally:
        _divsufsort.cache_clear()
