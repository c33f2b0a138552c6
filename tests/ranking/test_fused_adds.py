"""What a table would add: its columns, how full they would be, and those that say nothing new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.ranking import added_columns
from lakejoin.ranking.added_columns import AddedColumn, list_added_columns, measure_added_columns
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.ranking.join_score import Signals
from oracle.lakes import PlainTable, canonical_columns, encoded
from search.key_lakes import key_lake, tables

NAMES = [f"name {n * 37 % 101}" for n in range(60)]
LINES = [None if n % 3 else f"line {n}" for n in range(60)]


def way_to(lake: Lake, mine: Any, *on: str, **replaced: Any) -> JoinCandidate:
    """The way by which the first table that is found joins."""
    result = lake.overlap(mine, list(on), k=1, skip_copies=True)[0]
    return JoinCandidate(on, result, Signals(2, 1.0, 0.02, result.containment), **replaced)


def by_name(added: tuple[AddedColumn, ...]) -> dict[str, float | None]:
    return {one.name: one.full for one in added}


# -- against brute force ---------------------------------------------------------------------------


def brute_force(
    mine: PlainTable, theirs: PlainTable, on: list[int], joined: list[int]
) -> list[float]:
    """The share of my rows that get a value, of each column of theirs."""
    ours = list(zip(*canonical_columns(encoded(mine)), strict=True))
    rows = list(zip(*canonical_columns(encoded(theirs)), strict=True))

    def get(row: tuple[str | None, ...], column: int) -> bool:
        key = [row[place] for place in on]
        partners = [one for one in rows if [one[place] for place in joined] == key]
        return None not in key and any(one[column] is not None for one in partners)

    return [sum(get(row, column) for row in ours) / len(ours) for column in range(len(rows[0]))]


@settings(max_examples=40, deadline=None)
@given(tables("mine", 2), tables("theirs"), st.integers(1, 2), st.data())
def test_fullness_is_that_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    mine: PlainTable,
    theirs: PlainTable,
    parts: int,
    data: st.DataObject,
) -> None:
    lake = key_lake(tmp_path_factory.mktemp("adds"), [theirs])
    on = data.draw(st.permutations(range(len(mine.columns))))[:parts]
    names = [f"c{place}" for place in on]
    try:
        search = lake.overlap if len(names) == 1 else lake.composite
        found = search(mine.columns, names, skip_copies=True)
    except InputError as problem:
        assert "no combination" in str(problem) or "no values" in str(problem)
        return
    for result in found:
        way = JoinCandidate(tuple(names), result, Signals(2, 1.0, 0.02, result.containment))
        joined = [int(name[1:]) for name in result.columns]
        expected = brute_force(mine, theirs, list(on), joined)
        assert by_name(measure_added_columns(way)) == {
            f"c{place}": pytest.approx(expected[place])
            for place in range(len(theirs.columns))
            if place not in joined
        }
        assert {one.name for one in list_added_columns(way)} == set(
            by_name(measure_added_columns(way))
        )


def test_of_many_rows_some_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"key {n}" for n in range(4000)]
    half = [None if n % 2 else f"v {n}" for n in range(4000)]
    theirs = PlainTable("theirs.csv", {"key": keys, "half": half, "all": keys[::-1]})
    lake = key_lake(tmp_path, [theirs])
    mine = {"key": keys[:3600] + [f"own {n}" for n in range(400)]}
    exact = by_name(measure_added_columns(way_to(lake, mine, "key")))
    assert exact == {"half": pytest.approx(0.45, abs=0.03), "all": pytest.approx(0.9)}
    monkeypatch.setattr(added_columns, "_CELLS", 300)
    fewer = by_name(measure_added_columns(way_to(lake, mine, "key")))
    assert fewer == {"half": pytest.approx(0.45, abs=0.1), "all": pytest.approx(0.9)}


# -- what is new -----------------------------------------------------------------------------------


@pytest.mark.parametrize("segments", [1, 2])
def test_what_says_nothing_new_goes_last(tmp_path: Path, segments: int) -> None:
    mine = PlainTable("mine.csv", {"name": NAMES, "size": [str(n * n) for n in range(60)]})
    theirs = PlainTable(
        "theirs.csv",
        {
            "source": ["the web"] * 60,
            "area": [str(n * n) if n != 7 else "0" for n in range(60)],
            "empty": [None] * 60,
            "who": NAMES,
            "again": [name.upper() for name in NAMES],
            "line": LINES,
            "text": [f"text {n}" for n in range(60)],
        },
    )
    lake = key_lake(tmp_path, *([[mine, theirs]] if segments == 1 else [[theirs], [mine]]))
    names = [one.name for one in measure_added_columns(way_to(lake, "mine.csv", "name"))]
    assert names[:2] == ["line", "text"], "and in their order"
    assert len(names) == 6 and {"source", "area", "empty"} < set(names[2:])
    full = by_name(measure_added_columns(way_to(lake, "mine.csv", "name")))
    assert (full["line"], full["text"], full["empty"]) == (pytest.approx(1 / 3), 1.0, 0.0)


def test_where_values_are_not_equal_nulls_are_spread_evenly(tmp_path: Path) -> None:
    theirs = PlainTable("theirs.csv", {"who": NAMES, "line": LINES, "empty": [None] * 60})
    lake = key_lake(tmp_path, [theirs])
    way = way_to(lake, {"name": NAMES[:30]}, "name", kind="meaning")
    assert by_name(measure_added_columns(way)) == {"line": pytest.approx(1 / 3), "empty": 0.0}


def test_the_answer_says_for_how_many_rows(tmp_path: Path) -> None:
    theirs = PlainTable("theirs.csv", {"who": NAMES, "line": LINES, "text": NAMES[::-1]})
    lake = key_lake(tmp_path, [theirs])
    shown = repr(lake.search({"name": NAMES, "n": list(range(60))}))
    assert "adds 2 columns for 100% of your rows: line (33%), text" in shown
