"""Rows that are left over are matched by likeness, from both tables, and never joined twice."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lakejoin
from lakejoin.joins.join import Join

TOWNS = (
    *("Aachen", "Augsburg", "Bamberg", "Bielefeld", "Bochum", "Bremerhaven", "Chemnitz", "Cottbus"),
    *("Darmstadt", "Dortmund", "Düsseldorf", "Erlangen", "Flensburg", "Freiburg", "Göttingen"),
    *("Hamburg", "Heidelberg", "Ingolstadt", "Kaiserslautern", "Karlsruhe", "Koblenz", "Leipzig"),
)
WRONG = {"Bremerhaven": "Bremerhafen", "Kaiserslautern": "Kayserslautern", "Darmstadt": "Darmstat"}


def towns(mirrored: bool) -> Join:
    mine = pa.table({"town": TOWNS, "no": [f"x{7 * i}" for i in range(len(TOWNS))]})
    names = [WRONG.get(town, town) for town in reversed(TOWNS)]
    theirs = pa.table({"place": [*names, "Wladiwostok", "Ouagadougou"]})
    return lakejoin.join(theirs, mine) if mirrored else lakejoin.join(mine, theirs)


@pytest.mark.parametrize("mirrored", [False, True])
def test_what_is_left_over_is_matched_by_likeness(mirrored: bool) -> None:
    join = towns(mirrored)
    assert join.steps[0].kind == "equal" and {s.kind for s in join.steps[1:]} <= {"fuzzy"}
    columns = ["place", "town"] if mirrored else ["town", "place"]
    joined = [tuple(row.values()) for row in join.table().select(columns).to_pylist()]
    names = [(b, a) if mirrored else (a, b) for a, b in joined]
    assert all(WRONG.get(town, town) == place for town, place in names)
    assert len(names) >= len(TOWNS) - 1
    similar = [one for one in join.examples(5) if join.steps[one.step].kind == "fuzzy"]
    assert similar and all(one.distance is not None for one in similar)
    alone = join.unmatched("left" if mirrored else "right")
    assert {"Wladiwostok", "Ouagadougou"} <= set(alone["value"].to_pylist())
    assert "~" in repr(join)


def test_fuzzy_alone_and_one_to_one() -> None:
    mine = {"town": ["Bremerhafen", "Bremerhaven", "Bremerhaven", *TOWNS[:5]]}
    alone = lakejoin.join(mine, {"place": TOWNS}, on="town=place", by="fuzzy")
    assert [step.kind for step in alone.steps] == ["fuzzy"] and alone.left_joined == 8
    once = lakejoin.join(
        mine,
        {"place": TOWNS},
        on="town=place",
        by="auto",
        options=lakejoin.MatchOptions(one_to_one=True),
    )
    partners = once.pairs()["right_row"].to_pylist()
    assert len(partners) == len(set(partners)) == 6


def test_unlike_rows_stay_apart() -> None:
    join = lakejoin.join(
        {"a": TOWNS}, {"b": ["Quito", "Lima", "Oslo", "Rome"]}, on="a=b", by="fuzzy"
    )
    assert not join and "no join found" in join.no_join


def test_more_than_one_column_is_not_similar() -> None:
    left = {"a": [*TOWNS[:9], "x"], "b": [*"abcdefghi", "q"]}
    right = {"a": [*TOWNS[:9], "y"], "b": [*"abcdefghi", "q"]}
    join = lakejoin.join(left, right, on=["a", "b"], by="auto")
    assert join.left_joined == 9
    with pytest.raises(lakejoin.errors.InputError, match="one column of each"):
        lakejoin.join(left, right, on=["a", "b"], by="fuzzy")
