"""Keys are found without the help of names: by rows that agree, times, and values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from lakejoin.joins.equal.equal_columns import EqualColumns, find_equal_columns

LANDS = ["Chile", "Ghana", "Nepal", "Norway", "Peru", "Qatar", "Spain", "Togo", "Mali", "Laos"]
_CONSONANTS, _VOWELS = "bcdfghklmnprstvw", "aeiou"


def make_words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(draw.choice(_CONSONANTS) + draw.choice(_VOWELS) for _ in range(4))] = None
    return list(words)


def make_numbers(count: int, seed: int, most: int = 10**6) -> list[int]:
    return random.Random(seed).choices(range(most), k=count)


def found_in(left: Mapping[str, Any], right: Mapping[str, Any]) -> EqualColumns:
    found = find_equal_columns(pa.table(dict(left)), pa.table(dict(right)))
    assert found is not None
    return found


def nameless(*columns: Any) -> dict[str, Any]:
    return {f"c{number}": column for number, column in enumerate(columns, 1)}


def test_country_and_year_of_a_table_without_names() -> None:
    mine = list(product(LANDS, range(1950, 2000)))
    theirs = list(product(LANDS, range(1980, 2020)))
    left = {
        "country": [land for land, _ in mine],
        "year": [year for _, year in mine],
        "co2": make_numbers(len(mine), 1),
    }
    right = nameless(
        [year for _, year in theirs],
        [land for land, _ in theirs],
        make_numbers(len(theirs), 2),
    )
    found = found_in(left, right)
    assert found.believed and set(found.on) == {("country", "c2"), ("year", "c1")}
    assert found.pairs == len(LANDS) * 20


def test_the_same_few_texts_complete_a_key() -> None:
    cups, stages = make_words(12, 3), ["group", "quarter", "half", "final"]
    rows = list(product(cups, stages, range(5)))
    left = nameless([c for c, _, _ in rows], [s for _, s, _ in rows], make_numbers(len(rows), 4))
    both = list(product(cups, stages))
    right = {
        "cup": [cup for cup, _ in both],
        "stage": [stage for _, stage in both],
        "teams": make_numbers(len(both), 5),
    }
    found = found_in(left, right)
    assert found.believed and set(found.on) == {("c1", "cup"), ("c2", "stage")}
    assert found.pairs == len(rows)


def test_codes_are_believed_if_names_agree_and_join_more_rows() -> None:
    """Nearly every code is taken, so that values prove nothing; in a sixth of the rows, the names
    are written in another way."""
    codes = ["".join(letters) for letters in product("abcdefgh", repeat=3)]
    names = make_words(len(codes), 6)
    draw = random.Random(7)
    some = draw.sample(range(len(codes)), 300)
    left = nameless(
        [codes[at] for at in some],
        [names[at] if n % 6 else f"the {names[at]}" for n, at in enumerate(some)],
    )
    right = {"iso": codes, "language": names, "speakers": make_numbers(len(codes), 8)}
    found = found_in(left, right)
    assert found.believed and found.on == (("c1", "iso"),)
    assert found.pairs == 300


def test_rows_in_the_same_order_do_not_agree() -> None:
    """Both tables are sorted by cup, so that row numbers meet rows of the same cup now and then."""
    cups = make_words(20, 9)
    mine = [cup for cup in cups for _ in range(7)]
    theirs = [cup for n, cup in enumerate(cups) for _ in range(5 + n % 4)]
    left = {"no": range(1, len(mine) + 1), "cup": mine, "x": make_numbers(len(mine), 1)}
    right = {"row": range(1, len(theirs) + 1), "cup": theirs, "y": make_numbers(len(theirs), 2)}
    assert ("no", "row") not in found_in(left, right).on


def test_a_measure_is_evidence_for_a_reference_but_no_part_of_it() -> None:
    prices = make_numbers(77, 11, 90)
    chosen = random.Random(12).choices(range(77), k=900)
    left = nameless(range(1, 901), [at + 1 for at in chosen], [prices[at] + 0.5 for at in chosen])
    right = {"ProductID": range(1, 78), "UnitPrice": [price + 0.5 for price in prices]}
    found = found_in(left, right)
    assert found.believed and found.decided and found.on == (("c2", "ProductID"),)


def test_an_attribute_that_differs_now_and_then_is_no_part_of_a_key() -> None:
    lands = make_words(30, 2)
    both = list(product(lands, range(1990, 2000)))
    regions = dict(zip(lands, make_words(6, 1) * 5, strict=True))
    left = {
        "country": [land for land, _ in both],
        "region": [regions[land] for land, _ in both],
        "year": [year for _, year in both],
    }
    right = {**left, "region": [*left["region"][:-10], *["elsewhere"] * 10]}
    assert set(found_in(left, right).on) == {("country", "country"), ("year", "year")}


def test_dates_that_are_unique_in_both_tables() -> None:
    days = [date(2014, 7, 1) + timedelta(days) for days in range(365)]
    left = {"date": days, "low": make_numbers(365, 1, 60)}
    found = found_in(left, nameless(days, make_numbers(365, 2, 60)))
    assert found.believed and found.on == (("date", "c1"),)


@pytest.mark.parametrize("first", [True, False])
def test_the_first_column_of_a_nameless_table_may_be_its_key(first: bool) -> None:
    ids = [*range(1, 401)]
    random.Random(3).shuffle(ids)
    towns = make_words(400, 4)
    right = nameless(ids, towns) if first else nameless(towns, ids)
    left = {"order": make_words(900, 5), "client": random.Random(6).choices(range(1, 401), k=900)}
    found = found_in(left, right)
    assert (found.believed, found.decided) == (first, not first)


def test_names_of_places_say_nothing() -> None:
    """Counters of the same place are no identifiers of the same name."""
    left, right = nameless(range(1, 101), make_words(100, 1)), nameless(range(1, 90), [1.5] * 89)
    assert not found_in(left, right).believed


def test_a_rival_that_joins_other_rows_makes_less_sure() -> None:
    towns = make_words(300, 7)
    home, away = towns[:200], towns[100:]
    right = {"place": towns, "people": make_numbers(300, 8)}
    alone = found_in({"home": home}, right)
    rival = found_in({"home": home, "away": away}, right)
    assert alone.believed and rival.believed
    assert rival.sure < alone.sure
