"""What a fuzzy join must do, and must not."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from lakejoin.errors import InputError
from lakejoin.joins.fuzzy.fuzzy_join import find_fuzzy_join, fuzzy_matches, nearest_texts
from lakejoin.joins.fuzzy.match_choice import (
    Constraint,
    FuzzyMatches,
    FuzzyOptions,
    FuzzyRule,
    strict_rule,
)

TOWNS = ["Geneva", "Zurich", "Bern", "Basel", "Lugano", "Lausanne", "Winterthur", "St. Gallen"]


def pairs(found: FuzzyMatches) -> list[tuple[int, int]]:
    return list(zip(found.left_rows.tolist(), found.right_rows.tolist(), strict=True))


def match(
    left: list[str | None],
    right: list[str | None],
    options: FuzzyOptions | None = None,
    known: list[tuple[int, int]] | None = None,
) -> list[tuple[int, int]]:
    rows = None
    if known is not None:
        array = np.array(known, np.int64).reshape(-1, 2)
        rows = array[:, 0], array[:, 1]
    return pairs(
        fuzzy_matches(pa.array(left, pa.string()), pa.array(right, pa.string()), options, rows)
    )


def test_case_accents_punctuation_and_small_words() -> None:
    left = ["GENÈVA", "The Zürich", "Bern (city)", "st gallen", "City of Lausanne", "Wintertur"]
    assert match(left, [*TOWNS]) == [(0, 0), (1, 1), (2, 2), (3, 7), (4, 5), (5, 6)]


def test_numbers_tell_apart() -> None:
    keys = [f"{year} Norwegian Cup season" for year in range(1990, 2010)]
    assert match(["2015 Norwegian Cup", "Norwegian Cup 2004"], [*keys]) == [(1, 14)]
    assert match(["Rocky III", "Rocky IV (film)"], ["Rocky II", "Rocky IV", "Rambo"]) == [(1, 1)]


def test_a_number_alone_is_no_name() -> None:
    keys = [f"{name} {number}" for name in ("NGC", "PGC") for number in (151, 262, 373, 484, 595)]
    texts = [key.replace("NGC", "Arp").replace("PGC", "IC") for key in keys[1:8]]
    assert match([*texts, "NGC-151"], keys) == [(7, 0)]


def test_spellings_of_numbers_and_joined_words() -> None:
    keys = [
        "Apollo 11",
        "Super Bowl XL",
        "Second Division",
        "2008–09 Ligue A",
        "NGC 26",
        "Supercup",
    ]
    texts = [
        "Apollo XI",
        "Superbowl 40",
        "2nd Division",
        "Ligue A 2008/2009",
        "NGC026",
        "Super Cup",
    ]
    assert match(texts, keys) == [(i, i) for i in range(6)]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []),
        ([None], [None]),
        ([""], ["Bern"]),
        (["?!", "—", "\x00\x01"], ["?!", "Bern", "\x00\x01"]),
        (["Bern"], []),
        (["Bern"], [None, ""]),
        (["Oslo"], ["Bern"]),
    ],
)
def test_nothing_to_join(left: list[str | None], right: list[str | None]) -> None:
    assert match(left, right) == []
    assert match(left, right, FuzzyOptions(1.0)) == []


def test_rows_of_equal_texts_join_alike() -> None:
    assert match(["Bern!", None, "Bern!"], ["Ulm", "Bern", "Bern"]) == [
        (0, 1),
        (0, 2),
        (2, 1),
        (2, 2),
    ]
    assert match(["a b"] * 3, ["a b"] * 2) == [*product(range(3), range(2))]


def test_one_row() -> None:
    assert match(["Bern, Switzerland"], ["Bern Switzerland"]) == [(0, 0)]


def test_two_keys_in_question_join_neither() -> None:
    assert match(["George Bush"], ["George W Bush", "George H Bush", "Bill Clinton"]) == []


def test_long_and_binary_cells() -> None:
    long = "lorem ipsum dolor sit amet " * 40_000
    noise = bytes(range(256)).decode("latin-1") * 100
    assert match([long, "x" * 1_000_000, noise], [noise + "!", long + "end", "Bern"]) == [
        (0, 1),
        (2, 0),
    ]


def test_other_alphabets() -> None:
    left = ["Москва (город)", "東京都", "ΑΘΗΝΑ", "강남구 서울", "Munich 😀"]
    right = ["москва", "東京都!", "Αθήνα", "강남구, 서울", "munich", "Санкт-Петербург"]
    assert match(left, right) == [(i, i) for i in range(5)]


def test_text_read_in_the_wrong_encoding() -> None:
    assert match(["Musée d’Orsay".encode().decode("latin-1")], ["Musee d'Orsay", "Louvre"]) == [
        (0, 0)
    ]


def test_known_rows_keep_their_partner() -> None:
    left, right = ["Bern", "The Bern!", "Ulm"], ["Bern", "Ulm", "Basel"]
    assert match(left, right) == [(0, 0), (1, 0), (2, 1)]
    assert match(left, right, known=[(0, 0)]) == [(1, 0), (2, 1)]
    assert match(left, right, FuzzyOptions(one_to_one=True), [(0, 0)]) == [(2, 1)]
    assert match(left, right, known=[(0, 2), (1, 2), (2, 2)]) == []


def test_one_to_one_keeps_the_best() -> None:
    left = ["Bern (city)", "BERN", "Zurich"]
    assert match(left, [*TOWNS], FuzzyOptions(one_to_one=True)) == [(1, 2), (2, 1)]


def test_rules_say_what_was_joined() -> None:
    found = fuzzy_matches(pa.array(["Wintertur", "the zurich", "BERN"]), pa.array(TOWNS))
    assert sum(rule.rows for rule in found.rules) == 3
    assert ((found.distance >= 0) & (found.distance <= 1)).all()
    assert (found.chance >= 0.5).all()
    assert found.chance.mean() >= 0.9
    for pair in range(len(found)):
        assert found.distance[pair] <= found.rules[found.rule[pair]].threshold + 1e-12
    assert str(FuzzyRule("words", "jaro-winkler", 0.125, 3)) == (
        "Jaro-Winkler distance of words at most 0.125"
    )


def test_unrelated_columns_join_nothing() -> None:
    elements = ["hydrogen", "helium", "lithium", "beryllium", "boron", "carbon", "nitrogen"]
    assert match([*elements], [*TOWNS]) == []
    codes = [f"A{n:04d}-{n * 7919 % 997:03d}" for n in range(300)]
    others = [f"A{n:04d}-{n * 6007 % 991:03d}" for n in range(300, 600)]
    assert match([*codes], [*others]) == []


def test_the_precision_asked_for() -> None:
    for wrong in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="precision"):
            FuzzyOptions(wrong)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.booleans())
def test_strict_threshold_is_the_largest(data: st.DataObject, one_to_one: bool) -> None:
    draw = data.draw
    cells = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), unique=True))
    texts, keys = (np.array([c[i] for c in cells], np.int64) for i in (0, 1))
    steps = st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])
    far = np.array([[draw(steps) for _ in cells] for _ in range(2)]).reshape(2, len(cells))
    forbidden = np.array([draw(st.integers(0, 5)) == 0 for _ in cells], bool)
    way, threshold = strict_rule(far, Constraint(texts, keys, forbidden, one_to_one))

    def joins(one: np.ndarray, s: float) -> int:
        chosen = [i for i in range(len(cells)) if one[i] <= s]
        sides = [texts, keys] if one_to_one else [texts]
        twice = any(len({side[i] for i in chosen}) < len(chosen) for side in sides)
        return -1 if twice or any(forbidden[i] for i in chosen) else len(chosen)

    most = max(joins(one, s) for one in far for s in (-1.0, 0.0, 0.1, 0.2, 0.5, 1.0))
    assert joins(far[way], threshold) == most


def test_at_precision_one_no_text_is_near_two_keys() -> None:
    left = ["mpayne@forsyth.k12.ga.us", "kmoore@forsyth.k12.ga.us", "lbell@forsyth.k12.ga.us"]
    right = ["mipayne@forsyth.k12.ga.us", "kmoore@forsyth.k12.ga.us", "lbell@forsyth.k12.ga.us"]
    found = fuzzy_matches(pa.array(left), pa.array(right), FuzzyOptions(1.0))
    assert pairs(found) == [(0, 0), (1, 1), (2, 2)]
    assert len(found.rules) == 1
    known = np.array([1, 2]), np.array([1, 2])
    found = fuzzy_matches(pa.array(left), pa.array(right), FuzzyOptions(1.0, True), known)
    assert pairs(found) == [(0, 0)]


def test_nearest_texts() -> None:
    left, right = pa.array(["Bern!", None, "Genf", "qqq"]), pa.array([None, "Geneva", "Bern"])
    rows, far = nearest_texts(left, right, np.array([3, 0, 1, 2]))
    assert rows.tolist() == [-1, 2, -1, 1]
    assert far[[0, 2]].tolist() == [1.0, 1.0]
    assert far[1] == 0.0
    assert 0 < far[3] < 1
    rows, far = nearest_texts(left, pa.array([], pa.string()), np.array([0]))
    assert (rows.tolist(), far.tolist()) == ([-1], [1.0])


def test_columns_are_found_both_ways() -> None:
    towns = pa.table({"id": [*range(8)], "town": TOWNS, "code": [f"x{n}" for n in range(8)]})
    visits = pa.table({"no": [1, 2, 3, 4], "where": ["BERN", "Bern.", "the Zurich", "Genève"]})
    found = find_fuzzy_join(visits, towns)
    assert found is not None
    assert (found.left_column, found.right_column, found.key_side) == ("where", "town", "right")
    assert pairs(found.matches) == [(0, 2), (1, 2), (2, 1), (3, 0)]
    turned = find_fuzzy_join(towns, visits)
    assert turned is not None
    assert (turned.left_column, turned.right_column, turned.key_side) == ("town", "where", "left")
    assert pairs(turned.matches) == [(0, 3), (1, 2), (2, 0), (2, 1)]
    given_columns = find_fuzzy_join(visits, towns, on=[("where", "town")])
    assert given_columns is not None
    assert pairs(given_columns.matches) == pairs(found.matches)


def test_columns_that_do_not_join() -> None:
    towns = pa.table({"town": TOWNS, "no": [*range(8)]})
    metals = pa.table({"metal": ["iron", "zinc", "tin", "lead"], "no": [*range(4)]})
    assert find_fuzzy_join(towns, metals) is None
    assert find_fuzzy_join(towns, pa.table({})) is None
    assert find_fuzzy_join(towns.slice(0, 0), metals) is None
    with pytest.raises(InputError, match="column 'x' not found"):
        find_fuzzy_join(towns, metals, on=[("x", "metal")])
    with pytest.raises(InputError, match="one column of each"):
        find_fuzzy_join(towns, metals, on=[("town", "metal"), ("no", "no")])


def test_real_names() -> None:
    """Shopping malls under two names: no worse than when it was measured."""
    data = Path(
        os.environ.get("LAKEJOIN_TEST_DATA") or Path(__file__).parents[4] / "shared" / "data"
    )
    folder = data / "autofj" / "ShoppingMall"
    if not folder.is_dir():
        pytest.skip(f"no real data at {data}")
    keys, texts = csv.read_csv(folder / "left.csv"), csv.read_csv(folder / "right.csv")
    truth = csv.read_csv(folder / "gt.csv")
    right = set(zip(truth["id_r"].to_pylist(), truth["id_l"].to_pylist(), strict=True))
    found = fuzzy_matches(texts["title"].combine_chunks(), keys["title"].combine_chunks())
    mine = texts["id"].take(found.left_rows).to_pylist()
    theirs = keys["id"].take(found.right_rows).to_pylist()
    hits = len(right & set(zip(mine, theirs, strict=True)))
    assert hits / len(found) >= 0.78
    assert hits / len(right) >= 0.9
