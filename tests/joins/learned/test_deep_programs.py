"""Programs of many operators, and constants that are values of another column."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import lakejoin
from lakejoin.codegen.programs import Constant
from lakejoin.joins.learned.program_finder import find_programs

TOWNS = [("Denver", "Colorado"), ("Boulder", "Colorado"), ("Austin", "Texas"), ("Salem", "Oregon")]
STREETS = ["Main St", "Oak Avenue", "2nd St", "Elm Court", "Park Rd", "Lake Drive"]


def addresses(seed: int, rows: int = 120) -> tuple[pa.Table, pa.Table, list[int]]:
    """Addresses in five columns, in one, and which row of the one each row of the other is."""
    rng = random.Random(seed)
    parts = [
        (f"{rng.randint(1, 9999)}", rng.choice(STREETS), *rng.choice(TOWNS), f"{10_000 + 137 * i}")
        for i in range(rows)
    ]
    order = rng.sample(range(rows), rows)
    names = ["no", "street", "city", "state", "zip"]
    apart = pa.table({name: [row[i] for row in parts] for i, name in enumerate(names)})
    whole = [f"{no} {street}, {city}, {state} {zip}" for no, street, city, state, zip in parts]
    return apart, pa.table({"address": [whole[i] for i in order]}), order


@pytest.mark.parametrize("seed", range(3))
def test_an_address_is_one_program_of_nine_operators(seed: int) -> None:
    apart, whole, order = addresses(seed)
    join = lakejoin.join(apart, whole)
    assert [step.kind for step in join.steps] == ["transform"]
    assert join.steps[0].words == (
        'no + " " + street + ", " + city + ", " + state + " " + zip = address'
    )
    pairs = join.pairs()
    rows = zip(pairs["left_row"].to_pylist(), pairs["right_row"].to_pylist(), strict=True)
    assert sorted(rows) == sorted((i, place) for place, i in enumerate(order))


def test_sixteen_operators_are_the_limit() -> None:
    """Eight columns with a sign before each make sixteen operators, nine make one too many."""
    rng = random.Random(5)
    for count, found in ((8, True), (9, False)):
        columns = [[f"{rng.randint(100_000, 999_999)}" for _ in range(80)] for _ in range(count)]
        left = pa.table({f"c{i}": column for i, column in enumerate(columns)})
        rows = list(zip(*columns, strict=True))
        made = ["".join(f"-{text}" for text in row) for row in rows]
        learned = find_programs(left, pa.table({"made": made}))
        whole = [p for p in learned.programs if set(p.program.columns) == set(left.column_names)]
        assert bool(whole) is found


@pytest.mark.parametrize("usual", [0.05, 0.6, 0.9])
def test_a_constant_does_not_carry_the_data_of_a_column(usual: float) -> None:
    """Districts of states, of which one, with a short number, is usual."""
    rng = random.Random(8)
    names = ["".join(rng.choices("abcdefghiklmnoprstuvw", k=7)).title() for _ in range(300)]
    district = ["9" if rng.random() < usual else f"{rng.randint(1, 20)}" for _ in names]
    left = pa.table({"name": names, "district": district})
    right = pa.table({"seat": [f"{name} / {no}" for name, no in zip(names, district, strict=True)]})
    learned = find_programs(left, right)
    written = [
        o.text for p in learned.programs for o in p.program.operators if isinstance(o, Constant)
    ]
    assert learned and not any("9" in text for text in written)


def test_a_constant_that_holds_for_all_rows_stays() -> None:
    """A number that a column happens to have, too, is still a constant."""
    rng = random.Random(9)
    codes = [f"{rng.randint(10_000, 99_999)}" for _ in range(200)]
    left = pa.table({"code": codes, "size": [f"{rng.randint(1, 20)}" for _ in codes]})
    right = pa.table({"part": [f"{code}-9" for code in codes]})
    learned = find_programs(left, right)
    [believed] = learned.programs
    assert Constant("-9") in believed.program.operators and believed.source_rows == 200


def test_no_text_is_written_over_another() -> None:
    """Numbers of several catalogues: NGC 2218 does not become Abell 2218."""
    rng = random.Random(0)
    catalogues = ["NGC", "IC", "UGC", "PGC", "Abell", "Arp"]
    numbers = rng.sample(range(1, 8000), 600)
    keys = [f"{rng.choice(catalogues)} {number}" for number in numbers]
    here = [key.replace(" ", "") + rng.choice([" (galaxy)", " Galaxy", ""]) for key in keys[:60]]
    others = [f"{rng.choice(catalogues)} {number}" for number in numbers[100:160]]
    others = [other for other in others if other not in keys]
    join = lakejoin.join(pa.table({"name": here + others}), pa.table({"name": keys}))
    pairs = join.pairs()
    rows = zip(pairs["left_row"].to_pylist(), pairs["right_row"].to_pylist(), strict=True)
    assert sorted(rows) == [(i, i) for i in range(60)]


def test_two_digits_of_a_year_are_enough() -> None:
    """Dates that share no three characters in a row are paired by their pieces."""
    days = [f"{1970 + n * 7 % 30}-{1 + n % 12:02}-{1 + n * 11 % 28:02}" for n in range(90)]
    left = pa.table({"day": days, "size": list(range(90))})
    short = [f"{day[8:]}/{day[5:7]}/{day[2:4]}" for day in days[::-1]]
    join = lakejoin.join(left, pa.table({"when": short}))
    pairs = join.pairs()
    rows = zip(pairs["left_row"].to_pylist(), pairs["right_row"].to_pylist(), strict=True)
    assert {(days[i], short[j][:2]) for i, j in rows} == {(day, day[8:]) for day in days}
