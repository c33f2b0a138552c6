"""Which columns are equal: against brute force, and what is an accident is not believed."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.formats.file_reader import read
from lakejoin.joins.equal import shared_values as sharing
from lakejoin.joins.equal.equal_columns import EqualColumns, find_equal_columns
from lakejoin.joins.equal.shared_values import count_shared_values
from lakejoin.joins.row_keys import Pairing, encode_keys
from lakejoin.model import ValueRules
from lakejoin.signals.chance import LEAST_CHANCE, evidence, match_chance
from lakejoin.signals.name_similarity import compare_names
from oracle.equal_columns import met, shared_counts

DATA = Path(
    os.environ.get("LAKEJOIN_TEST_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
)
TOWNS = ["Bern", "Ulm", "Bonn", "Zug", "Graz", "Oslo", "Turin", "Lyon", "Riga", "Cork"]
LANDS = ["Chile", "Ghana", "Nepal", "Norway", "Peru", "Qatar", "Spain", "Togo"]

CELLS = st.sampled_from(["a", "A ", "b", "n/a", "", "7", "7.0", "2001", "x y", None])


def tables(names: str) -> st.SearchStrategy[pa.Table]:
    rows = st.integers(0, 6).flatmap(
        lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=3)
    )
    return rows.map(
        lambda columns: pa.table(
            {names[i]: pa.array(c, pa.string()) for i, c in enumerate(columns)}
        )
    )


# -- against brute force -----------------------------------------------------------------------


@given(tables("abc"), tables("axc"))
@settings(max_examples=80, deadline=None)
def test_what_is_shared_and_what_joins_is_counted_exactly(left: pa.Table, right: pa.Table) -> None:
    expected = shared_counts(left, right)
    assert count_shared_values(left, right, ValueRules()).shared.tolist() == expected
    found = find_equal_columns(left, right)
    assert (found is None) == (not any(map(any, expected)))
    if found is not None:
        counted = found.left_joined, found.right_joined, found.pairs, found.shared
        assert counted == met(left, right, found.on)
        keys = encode_keys(
            [left[a] for a, _ in found.on], [right[b] for _, b in found.on], ValueRules()
        )
        assert len(Pairing(keys)) == found.pairs
        assert found.why


@given(st.integers(1, 5000), st.floats(0, 1), st.floats(0.01, 0.99))
def test_evidence_is_none_below_chance_and_grows_with_the_share(
    values: int, share: float, chance: float
) -> None:
    found = evidence(values, share, chance)
    assert found >= 0.0
    assert (found == 0.0) == (share <= chance) or found < 1e-6
    assert evidence(values, min(1.0, share + 0.1), chance) >= found


def test_columns_of_very_large_tables_are_found_by_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    rows = 4000
    keys = [f"key {n * 7919 % 100_003}" for n in range(rows)]
    noise = {f"n{i}": rng.integers(0, 10**9, rows) for i in range(12)}
    left = pa.table({**noise, "mine": keys})
    right = pa.table({"theirs": keys[::-1], **{f"m{i}": rng.normal(size=rows) for i in range(12)}})
    whole = find_equal_columns(left, right)
    monkeypatch.setattr(sharing, "FEW_CELLS", 10)
    monkeypatch.setattr(sharing, "MOST_CELLS", 2 * rows)
    monkeypatch.setattr(sharing, "SAMPLED_ROWS", 500)
    assert len(count_shared_values(left, right, ValueRules()).left) <= 2
    sampled = find_equal_columns(left, right)
    assert whole is not None and sampled is not None
    assert sampled.on == whole.on == (("mine", "theirs"),)
    assert sampled.believed and sampled.pairs == whole.pairs == rows


def test_of_large_columns_the_overlap_is_estimated() -> None:
    size = 3 * sharing.SAMPLE
    left = pa.table({"a": np.arange(size)})
    right = pa.table({"b": np.arange(size) + size // 2})
    found = int(count_shared_values(left, right, ValueRules()).shared[0, 0])
    assert abs(found - size / 2) < size / 20


# -- what is believed --------------------------------------------------------------------------


def found_in(left: Mapping[str, object], right: Mapping[str, object]) -> EqualColumns:
    found = find_equal_columns(pa.table(left), pa.table(right))
    assert found is not None
    return found


def test_texts_that_are_shared_are_believed() -> None:
    found = found_in({"x": range(10), "town": TOWNS}, {"place": TOWNS[::-1], "n": range(10)})
    assert found.on == (("town", "place"),)
    assert found.believed and found.left_joined == found.pairs == 10
    assert found.why == "all 10 values of town are in place"


ACCIDENTS: dict[str, tuple[list[object], list[object]]] = {
    "counters": (list(range(1, 60)), list(range(1, 100))),
    "years": (list(range(1950, 2000)), list(range(1960, 2020))),
    "flags": ([0, 1], [1, 0]),
    "yes and no": (["yes", "no"], ["no", "yes"]),
    "constants": (["x"] * 5, ["x"] * 7),
    "small numbers": ([3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9]),
    "two-letter codes": (
        [a + b for a in "abcdefghij" for b in "klmnopq"],
        [a + b for a in "efghijklmn" for b in "jklmnopqrs"],
    ),
    "round numbers": (list(range(0, 5000, 100)), list(range(1000, 9000, 100))),
    "letters": (list("abcdefgh"), list("abcdefghijk")),
    "counted names": ([f"Group {c}" for c in "ABCDEFGH"], [f"Group {c}" for c in "ABCDEF"]),
    "dates": (
        [f"2020-01-{d:02}" for d in range(1, 32)],
        [f"2020-01-{d:02}" for d in range(1, 25)],
    ),
}


@pytest.mark.parametrize("kind", ACCIDENTS)
def test_accidents_are_not_believed(kind: str) -> None:
    mine, theirs = ACCIDENTS[kind]
    found = found_in({"mine": mine}, {"theirs": theirs})
    assert not found.believed, found
    assert found.why


def test_counters_are_believed_where_names_say_the_same_identifier() -> None:
    films = {"film_id": range(1, 101), "length": [90] * 100}
    rentals = {"rental_id": range(1, 201), "film_id": [1 + i % 80 for i in range(200)]}
    found = found_in(rentals, films)
    assert found.on == (("film_id", "film_id"),) and found.believed
    assert found.pairs == 200


def test_ids_of_unrelated_things_are_not() -> None:
    found = found_in({"id": range(1, 101)}, {"order_id": range(1, 201)})
    assert not found.believed and "of slightly changed values would match too" in found.why


def test_names_of_tables_say_what_an_id_is_of() -> None:
    films = pa.table({"id": range(1, 51), "minutes": [90 + i for i in range(50)]})
    rentals = pa.table({"id": range(1, 101), "film_id": [1 + i % 50 for i in range(100)]})
    found = find_equal_columns(rentals, films, table_names=("rentals", "films"))
    assert found is not None and found.on == (("film_id", "id"),) and found.believed


def test_country_and_year_together() -> None:
    years = range(1990, 2000)
    both = [(land, year) for land in LANDS for year in years]
    left = {
        "country": [land for land, _ in both],
        "year": [year for _, year in both],
        "co2": [0.5 * i for i in range(len(both))],
    }
    right = {
        "Year": [year for _, year in both[::-1]],
        "nation": [land for land, _ in both[::-1]],
        "people": [1000 + 37 * i for i in range(len(both))],
    }
    found = found_in(left, right)
    assert found.on == (("country", "nation"), ("year", "Year")) and found.believed
    assert found.pairs == found.left_joined == found.right_joined == len(both)


def test_no_further_pair_where_one_is_enough() -> None:
    left = {"town": TOWNS, "land": ["x"] * 5 + ["y"] * 5}
    assert found_in(left, left).on == (("town", "town"),)


def test_what_repeats_on_both_sides_is_only_an_attempt() -> None:
    found = found_in({"land": LANDS * 4}, {"land": LANDS * 3})
    assert not found.believed and "values repeat in both tables" in found.why
    assert found.pairs == 8 * 4 * 3


def test_namesakes_are_too_few() -> None:
    streets = [*TOWNS[:5], *(f"{town}er weg {i}" for i, town in enumerate(TOWNS * 3))]
    found = found_in({"town": TOWNS}, {"street": streets})
    assert not found.believed and found.why == "only 50% of the values of town are in street"


def test_few_of_many_must_nearly_all_meet() -> None:
    teams = [*TOWNS[:8], *(f"fc {i * 7919 % 1009}" for i in range(90))]
    assert not found_in({"town": TOWNS}, {"team": teams}).believed
    assert found_in({"town": TOWNS[:8]}, {"team": teams}).believed


def test_annual_tables_join_by_year_where_both_have_each_once() -> None:
    years = list(range(1950, 2000))
    assert found_in({"Year": years}, {"year": years}).believed
    assert not found_in({"Year": years * 2}, {"year": years}).believed


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": []}, {"b": []}),
        ({"a": [None, None]}, {"b": [None]}),
        ({"a": ["x"]}, {"b": ["y"]}),
        ({"a": ["", "n/a"]}, {"b": ["", "n/a"]}),
    ],
)
def test_nothing_in_common(left: dict[str, object], right: dict[str, object]) -> None:
    assert find_equal_columns(pa.table(left), pa.table(right)) is None


def test_no_columns_at_all() -> None:
    assert find_equal_columns(pa.table({}), pa.table({"a": ["x"]})) is None


def test_columns_that_share_a_name_are_left_out() -> None:
    twice = pa.Table.from_arrays([pa.array(TOWNS), pa.array(TOWNS)], ["town", "town"])
    assert find_equal_columns(twice, pa.table({"town": TOWNS})) is None


def test_long_cells_and_bytes() -> None:
    cells = ["\x00\x01" * 50, "y" * 100_000, *TOWNS]
    found = found_in({"a": cells}, {"b": cells[::-1]})
    assert found.believed and found.pairs == len(cells)


# -- names and chance --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "alike"),
    [
        ("ArtistId", "artist_id", 1.0),
        ("Country Name", "country", 1.0),
        ("Country Region", "country", 0.7),
        ("away_team_id", "team_id", 0.7),
        ("id", "Id", 0.3),
        ("name", "Name", 0.3),
        ("customer_id", "order_id", 0.0),
        ("c_custkey", "o_custkey", 1.0),
        ("Country Code", "country_name", 1.0),
        ("col_0", "col_0", 0.3),
        ("Unnamed: 0", "Unnamed: 0", 0.3),
        ("", "x", 0.0),
    ],
)
def test_names(left: str, right: str, alike: float) -> None:
    assert compare_names(left, right).similarity == alike == compare_names(right, left).similarity


def test_chance_is_what_wrong_values_meet() -> None:
    codes = pa.array([a + b for a in "abcdefghijklm" for b in "abcdefghijklmnopqrstuvwxyz"])
    assert match_chance(codes, codes) > 0.9
    assert match_chance(pa.array(TOWNS), pa.array(TOWNS)) == LEAST_CHANCE
    sparse = pa.array([str(n * n * 7919) for n in range(100, 1000)])
    assert match_chance(sparse, sparse) == LEAST_CHANCE


# -- real databases ----------------------------------------------------------------------------


def foreign_keys(database: Path) -> dict[tuple[str, str], set[frozenset[tuple[str, str]]]]:
    """The keys between each two tables, both ways."""
    found: dict[tuple[str, str], set[frozenset[tuple[str, str]]]] = {}
    with (database / "foreign_keys.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            child, parent = row["child_table"], row["parent_table"]
            if child == parent or row["child_distinct"] == "0":
                continue
            mine, theirs = row["child_columns"].split("|"), row["parent_columns"].split("|")
            key = frozenset(zip(mine, theirs, strict=True))
            found.setdefault((child, parent), set()).add(key)
            found.setdefault((parent, child), set()).add(frozenset((b, a) for a, b in key))
    return found


def joined_by(database: Path) -> Iterator[tuple[bool, bool]]:
    """(whether a key was found, whether it is believed) for each two tables that a key joins."""
    keys = foreign_keys(database)
    tables = {
        name: read(database / f"{name}.csv").to_arrow()  # type: ignore[union-attr]
        for name in sorted({name for pair in keys for name in pair})
        if (database / f"{name}.csv").exists()
    }
    for child, parent in sorted(keys):
        if child < parent and child in tables and parent in tables:
            found = find_equal_columns(tables[child], tables[parent])
            right = found is not None and frozenset(found.on) in keys[child, parent]
            yield right, found is not None and found.believed


@pytest.mark.parametrize("least", [10**6, 2**63, 10**25])
def test_whole_numbers_of_any_size(least: int) -> None:
    numbers = [str(least + i) for i in range(50)]
    left = pa.table({"order_id": numbers, "place": range(50)})
    right = pa.table({"order_id": numbers * 2, "line": range(100)})
    found = find_equal_columns(left, right)
    assert found is not None
    assert found.on == (("order_id", "order_id"),)
    assert found.pairs == 100
    huge = pa.table({"order_id": [str(10**100 + i) for i in range(50)]})
    found = find_equal_columns(huge, huge)
    assert found is not None
    assert found.pairs == 50


@pytest.mark.skipif(
    not (DATA / "databases").exists(), reason="the real databases (LAKEJOIN_TEST_DATA) are not here"
)
@pytest.mark.parametrize(
    ("database", "missed"),
    # chinook: SupportRepId is an EmployeeId, which nothing but a person says.
    [("chinook", 1), ("northwind", 1), ("sakila", 0), ("employees_small", 0), ("openflights", 0)],
)
def test_foreign_keys_are_found(database: str, missed: int) -> None:
    found = list(joined_by(DATA / "databases" / database))
    believed = [right for right, sure in found if sure]
    assert all(believed)
    assert len(believed) >= len(found) - missed
