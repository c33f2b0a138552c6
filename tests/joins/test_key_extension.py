"""Keys that multiply rows are extended by columns that are equal in matching rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.joins.join_finder import join_tables
from lakejoin.joins.key_extension import (
    KeyExtension,
    MatchedRows,
    _Pair,
    _Sample,
    choose_keys,
    extend_key,
    sample_matched_rows,
)
from lakejoin.joins.row_keys import Keys
from lakejoin.model import Array, ColumnProfile
from lakejoin.signals.column_roles import are_measures, is_measure, is_time
from lakejoin.values.column_encoder import encode_query
from oracle.key_agreement import agreement, matches

_PLAIN = encode_query(pa.array(["a", "b", "c"])).profile


@dataclass(frozen=True, eq=False)
class Table:
    """A table of codes; the first column is the key."""

    codes: Array
    names: Sequence[str]
    profiles: Sequence[ColumnProfile]

    def codes_at(self, columns: Sequence[int], rows: Array) -> Array:
        return self.codes[list(columns)][:, rows].reshape(len(columns), len(rows))


def make_table(rows: Sequence[Sequence[int]], names: Sequence[str] = ()) -> Table:
    codes = np.array(rows, np.int64).reshape(len(rows), -1).T
    names = names or [f"c{i}" for i in range(len(codes))]
    return Table(codes, names, [_PLAIN] * len(codes))


def extend(left: Table, right: Table) -> KeyExtension | None:
    count = 1 + int(max(left.codes[0].max(initial=0), right.codes[0].max(initial=0)))
    rows = sample_matched_rows(Keys(left.codes[0], right.codes[0], count))
    return extend_key(left, right, rows, ([0], [0]))


_ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=12
)


class TestAgainstTheOracle:
    """Agreement and matches are those of comparing every pair of rows."""

    @given(_ROWS, _ROWS)
    def test_agreement_and_matches(self, left: list[Row], right: list[Row]) -> None:
        tables = make_table(left), make_table(right)
        rows = MatchedRows(
            np.arange(len(left)), tables[0].codes[0], np.arange(len(right)), tables[1].codes[0]
        )
        sample = _Sample(*tables, rows, ([0], [0]))
        shares = sample._agreement(0)[0]
        assert shares == pytest.approx(
            np.array([[agreement(left, right, i, j) for j in range(2)] for i in range(2)])
        )
        for pairs in ((), ((0, 1),), ((0, 0), (1, 1))):
            chosen = [_Pair(pair, 0, 0, 1.0, 0.0, 0.0, False) for pair in pairs]
            found = sample.count_matches(chosen)
            assert (found.left, found.right, found.pairs) == matches(left, right, pairs)

    @given(_ROWS, _ROWS)
    def test_an_extension_multiplies_less(self, left: list[Row], right: list[Row]) -> None:
        extension = extend(make_table(left), make_table(right))
        if extension is None:
            return
        pairs = [(mine - 1, theirs - 1) for mine, theirs in extension.pairs]
        assert all(mine >= 0 and theirs >= 0 for mine, theirs in pairs), "the key is not repeated"
        assert len({mine for mine, _ in pairs}) == len(pairs)
        counts = matches(left, right, pairs)
        assert extension.matches == pytest.approx(counts[2] / max(1, *counts[:2]))
        assert extension.matches < extension.before


Row = tuple[int, int, int]


def test_a_unique_key_stays() -> None:
    rows = [(i, i % 3, i % 5) for i in range(30)]
    assert extend(make_table(rows), make_table(rows)) is None


def test_the_sample_is_small() -> None:
    many = np.full(5, 1_000_000)
    assert len(choose_keys(many, many)) == 1
    keys = np.zeros(100_000, np.int64)
    rows = sample_matched_rows(Keys(keys, keys, 1))
    assert len(rows.left) <= 4_000 and len(rows.right) <= 4_000


def make_seasons(seed: int = 0) -> tuple[pa.Table, pa.Table]:
    """Salaries and teams, by team and year; an attendance in both, and a league."""
    draw = random.Random(seed)
    teams = [f"T{chr(65 + i)}{chr(75 + i)}" for i in range(14)]
    seasons = [(team, year) for team in teams for year in range(1985, 2005)]
    crowd = {season: draw.randint(500_000, 4_000_000) for season in seasons}
    league = {team: "NL" if i % 2 else "AL" for i, team in enumerate(teams)}
    right = pa.table({
        "yearID": [year for _, year in seasons],
        "lgID": [league[team] for team, _ in seasons],
        "teamID": [team for team, _ in seasons],
        "attendance": [crowd[season] for season in seasons],
        "park": [f"{team} Park {year // 10}" for team, year in seasons],
    })  # fmt: skip
    paid = [draw.choice(seasons) for _ in range(2_000)]
    left = pa.table({
        "yearID": [year for _, year in paid],
        "teamID": [team for team, _ in paid],
        "lgID": [league[team] for team, _ in paid],
        "playerID": [f"p{draw.randint(1, 400):04}" for _ in paid],
        "attendance": [crowd[season] for season in paid],
        "salary": [draw.randint(100_000, 9_000_000) for _ in paid],
    })  # fmt: skip
    return left, right


def test_identifiers_come_before_measures() -> None:
    join = join_tables(*make_seasons())
    columns = {frozenset(pair.split(" = ")) for pair in join.steps[0].words.split(" and ")}
    assert columns == {frozenset(["teamID"]), frozenset(["yearID"])}
    assert join.matched == 2_000


def test_a_panel_is_joined_by_country_and_year() -> None:
    countries = ["Norway", "Sweden", "Finland", "Denmark", "Iceland", "Estonia", "Latvia"]
    rows = [(country, year) for country in countries for year in range(1990, 2010)]
    left = pa.table({
        "country": [country for country, _ in rows],
        "year": [year for _, year in rows],
        "births": [hash((country, year)) % 9_000 for country, year in rows],
    })  # fmt: skip
    later = [(country, year) for country in countries for year in range(2000, 2020)]
    right = pa.table({
        "name": [country for country, _ in later],
        "year": [year for _, year in later],
        "trade": [hash((year, country)) % 7_000 for country, year in later],
    })  # fmt: skip
    join = join_tables(left, right)
    assert join.steps[0].words == "country = name and year = year"
    assert join.matched == 70


def test_a_column_that_disagrees_is_not_added() -> None:
    """Both tables have a status, but a payment's is not that of its order."""
    draw = random.Random(1)
    people = [f"{a}{b}{c}" for a in "KLMNP" for b in "aeiou" for c in "bdfg"]
    left = pa.table({
        "person": [draw.choice(people) for _ in range(600)],
        "status": [draw.choice(["open", "shut", "lost"]) for _ in range(600)],
    })  # fmt: skip
    right = pa.table({
        "person": [draw.choice(people) for _ in range(500)],
        "status": [draw.choice(["paid", "due", "void"]) for _ in range(500)],
    })  # fmt: skip
    rows = [encode_query(table["person"]) for table in (left, right)]
    assert all(row.profile.uniqueness < 0.5 for row in rows)
    join = join_tables(left, right)
    assert not join or "status" not in join.steps[0].words


def key_of(left: pa.Table, right: pa.Table) -> set[tuple[str, str]]:
    """The columns by which two tables are joined, as pairs."""
    join = join_tables(left, right)
    return set(
        zip(*(join.to_dict()[side] for side in ("left_columns", "right_columns")), strict=True)
    )


def make_verses(seed: int = 3) -> tuple[pa.Table, pa.Table]:
    """Readings with shortened names, and verses: numbers that any two tables have."""
    draw = random.Random(seed)
    verses = [
        (book, chapter, verse)
        for book in range(1, 13)
        for chapter in range(1, 6 + book)
        for verse in range(1, 12 + (book * chapter) % 17)
    ]
    right = pa.table({
        "book": [book for book, _, _ in verses],
        "chapter": [chapter for _, chapter, _ in verses],
        "verse": [verse for _, _, verse in verses],
        "words": [draw.randint(5, 40) for _ in verses],
    })  # fmt: skip
    read = draw.sample(verses, 300)
    left = pa.table({
        "Bk": [book for book, _, _ in read],
        "Ch": [chapter for _, chapter, _ in read],
        "V": [verse for _, _, verse in read],
        "minutes": [draw.randint(1, 9) for _ in read],
    })  # fmt: skip
    return left, right


def test_numbers_are_a_key_if_nothing_else_completes_it() -> None:
    assert key_of(*make_verses()) == {("Bk", "book"), ("Ch", "chapter"), ("V", "verse")}


def test_numbers_of_unrelated_tables_are_no_key() -> None:
    draw = random.Random(5)
    left = pa.table({name: [draw.randint(1, 12) for _ in range(300)] for name in ("a", "b", "c")})
    assert not join_tables(left, make_verses()[1])


def test_a_key_goes_on_until_namesakes_are_apart() -> None:
    """A district of the same name is in several provinces, and a village in several districts."""
    draw = random.Random(7)
    names = [f"{a}{b}{c}{d}" for a in "klmnp" for b in "aeiou" for c in "bdfg" for d in "aeo"]
    places = sorted({
        (f"prov {i // 9}", f"dist {draw.randint(1, 30)}", draw.choice(names)) for i in range(900)
    })  # fmt: skip
    right = pa.table({
        "city": [city for city, _, _ in places],
        "district": [district for _, district, _ in places],
        "quarter": [quarter for _, _, quarter in places],
    })  # fmt: skip
    sent = draw.sample(places, 400)
    left = pa.table({
        "il": [city for city, _, _ in sent],
        "ilce": [district for _, district, _ in sent],
        "mahalle": [quarter for _, _, quarter in sent],
        "kilos": [draw.randint(1, 50) for _ in sent],
    })  # fmt: skip
    assert key_of(left, right) == {
        ("il", "city"),
        ("ilce", "district"),
        ("mahalle", "quarter"),
    }
    assert join_tables(left, right).matched == 400


def test_references_to_row_numbers_are_possible() -> None:
    draw = random.Random(2)
    left = pa.table({
        "item": [draw.randint(1, 60) for _ in range(600)],
        "days": [draw.randint(1, 14) for _ in range(600)],
    })  # fmt: skip
    right = pa.table({"num": list(range(1, 61)), "weight": [draw.random() for _ in range(60)]})
    join = join_tables(left, right)
    assert join.steps[0].words == "item = num" and join.sure == 0.5


@pytest.mark.parametrize(
    ("name", "values", "time", "measure"),
    [
        ("year", ["1990", "2004", "2011"], True, False),
        ("day", ["2020-01-03", "2020-01-04"], True, False),
        ("price", ["1.5", "2.25"], False, True),
        ("people", [str(n * 37 % 9973) for n in range(300)], False, True),
        ("person_id", [str(n * 37 % 9973) for n in range(300)], False, False),
        ("stint", ["1", "2", "3"], False, False),
    ],
)
def test_roles_of_columns(name: str, values: list[str], time: bool, measure: bool) -> None:
    profile = encode_query(pa.array(values)).profile
    assert (is_time(profile), is_measure(name, profile)) == (time, measure)


def test_the_name_of_one_side_says_that_it_is_no_measure() -> None:
    profile = encode_query(pa.array([str(n * 37 % 9973) for n in range(300)])).profile
    assert are_measures(("pin", "people"), (profile, profile))
    assert not are_measures(("pin", "pincode"), (profile, profile))
