"""The benchmark of first keys knows right keys from wrong ones, and counts the rows these add."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "databases" / "sport"
    folder.mkdir(parents=True)
    teams = "".join(
        f"T{n},{year},a,{n * year}\n" for n in range(1, 5) for year in (2001, 2002, 2003)
    )
    (folder / "teams.csv").write_text(f"team,season,league,points\n{teams}")
    pay = "".join(f"p{n},T{n % 4 + 1},{2001 + n % 3},a,{n}\n" for n in range(24))
    (folder / "pay.csv").write_text(f"player,club,season,league,amount\n{pay}")
    towns = "".join(f"{n},Town {n} City\n" for n in range(1, 5))
    (folder / "towns.csv").write_text(f"home,town\n{towns}")
    (folder / "seats.csv").write_text("town,seats\n" + "".join(f"Town {n},9\n" for n in range(4)))
    both = ["season", "season"]
    base = {"source": "databases", "half": "tune", "why": "", "query": "databases/sport/pay.csv"}
    listed = [
        {
            **base,
            "id": "pay-teams",
            "kind": "composite",
            "table": "databases/sport/teams.csv",
            "right": [[["club", "team"], both]],
        },
        {
            **base,
            "id": "towns-seats",
            "kind": "simple",
            "query": "databases/sport/towns.csv",
            "table": "databases/sport/seats.csv",
            "rename": {"query": {"home": "number"}},
            "right": [[["town", "town"]]],
            "rewrite": [["query", "town", "cut", " city"]],
        },
        {
            **base,
            "id": "pay-towns",
            "kind": "none",
            "table": "databases/sport/towns.csv",
            "right": [],
        },
        {
            **base,
            "id": "not-there",
            "kind": "none",
            "table": "databases/sport/else.csv",
            "right": [],
        },
    ]
    (tmp_path / "pairs.json").write_text(json.dumps(listed))
    return tmp_path


def test_keys_are_compared_and_rows_counted(data: Path) -> None:
    from first_join import First, case_of, figures, outcome, pairs

    listed = pairs(data / "pairs.json")
    made = [case_of(pair, data, None) for pair in listed]
    assert made[3] is None, "its file is missing"
    pay, towns, nothing = (case for case in made[:3] if case is not None)
    right = outcome(pay, First((("club", "team"), ("season", "season")), None, True), 0.1)
    assert (right.right, right.rows, right.beyond, right.multiplied) == (True, 24, 0, False)
    wrong = outcome(pay, First((("season", "season"),), None, True), 0.1)
    assert (wrong.right, wrong.rows, wrong.beyond, wrong.multiplied) == (False, 96, 72, True)
    assert towns.query.column_names == ["number", "town"]
    unequal = outcome(towns, First((("town", "town"),), None, True), 0.1)
    assert (unequal.right, unequal.rows, unequal.right_rows) == (False, 0, 3), "not rewritten"
    assert outcome(towns, First((("town", "town"),), 3, True), 0.1).right
    assert outcome(nothing, First(), 0.1).right
    assert not outcome(nothing, First((("season", "home"),), None, True), 0.1).right
    assert figures([right, wrong])["rows_beyond"] == 72


def test_further_columns_that_change_nothing_are_right(data: Path) -> None:
    from first_join import First, case_of, outcome, pairs

    (pay,) = (one for one in pairs(data / "pairs.json") if one.name == "pay-teams")
    case = case_of(pay, data, None)
    assert case is not None
    listed = case.pair.right[0]
    more = outcome(case, First((*listed, ("league", "league")), None, True), 0.1)
    assert (more.right, more.rows) == (True, 24)
    fewer = outcome(case, First((*listed, ("amount", "points")), None, True), 0.1)
    assert (fewer.right, fewer.rows, fewer.beyond) == (False, 0, 0)


def test_the_join_of_two_tables_is_asked(data: Path) -> None:
    from first_join import ask_all, by_join, case_of, line, pairs

    made = [case_of(pair, data, None) for pair in pairs(data / "pairs.json")]
    found = ask_all([case for case in made if case is not None], by_join)
    assert [one.pair.name for one in found] == ["pay-teams", "towns-seats", "pay-towns"]
    assert all(one.rows >= 0 and one.right_rows >= 0 for one in found)
    assert "3" in line("all", found)


def test_the_labels_are_complete_and_both_halves_have_every_kind() -> None:
    from first_join import FOLDERS, HALVES, KINDS, pairs

    listed = pairs()
    assert len(listed) >= 100 and len({one.name for one in listed}) == len(listed)
    assert {(one.kind, one.half) for one in listed} == {(k, h) for k in KINDS for h in HALVES}
    assert {one.source for one in listed} == set(FOLDERS)
    for one in listed:
        assert bool(one.right) == (one.kind != "none"), one.name
        if one.kind in KINDS[:2]:
            assert (len(one.right[0]) > 1) == (one.kind == "composite"), one.name
    halves: dict[frozenset[str], set[str]] = {}
    for one in listed:
        halves.setdefault(frozenset((one.query, one.table)), set()).add(one.half)
    assert all(len(half) == 1 for half in halves.values()), "one pair of tables is in one half"
