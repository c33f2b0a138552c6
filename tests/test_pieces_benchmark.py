"""The benchmark of pieces rewrites columns and finds the originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakejoin.store.postings import PostingsComponent
from lakejoin.store.rare_tokens import RareTokensComponent
from oracle.lakes import PlainTable
from oracle.search import lake_of

pytestmark = pytest.mark.usefixtures("scripts_importable")

NAMES = [f"{a} {b}" for a in ("Ada", "Alan", "Grace", "Edsger", "Barbara", "Ken") for b in
         ("Turing", "Hopper", "Liskov", "Dijkstra", "Thompson")]  # fmt: skip


def test_every_kind_of_rewriting_suits_some_values() -> None:
    from rewritings import KINDS

    values = ("ada lovelace", "1234567", "2014-01-31", "a text of many words that goes on")
    made = {kind: {v: rewrite(v) for v in values if rewrite(v)} for kind, rewrite in KINDS.items()}
    assert all(made.values())
    assert made["thousands"] == {"1234567": "1,234,567"}
    assert made["e-mail"] == {"ada lovelace": "ada.lovelace@example.org"}
    assert made["31 January 2014"]["2014-01-31"] == "week of 31 January 2014"


def test_originals_are_found_and_costs_measured(tmp_path: Path) -> None:
    from pieces import by_pieces, by_tokens, cost, in_tables, recall, speed
    from rewritings import cases, table_cases

    tables = [
        PlainTable("people.csv", {"name": NAMES, "number": [str(7000 + i) for i in range(30)],
                                  "kind": ["a", "b"] * 15, "share": ["0.5", "0.25"] * 15}),
        PlainTable("copy.csv", {"name": NAMES}),
        PlainTable("days.csv", {"day": [f"2014-03-{i:02}" for i in range(1, 31)]}),
    ]  # fmt: skip
    lake = lake_of(tmp_path, [tables], components=(PostingsComponent(), RareTokensComponent()))
    segments = lake.snapshot.segments
    asked = list(cases(segments, 1))
    assert {len(case.originals) for case in asked if case.kind == "e-mail"} == {2}, "copies too"
    for finder in (by_pieces(lake.snapshot), by_tokens(lake.snapshot)):
        found = recall(finder, asked)
        assert found["e-mail"].first == 1.0 and found["all"].cases == len(asked)
    assert recall(by_pieces(lake.snapshot), asked)["31 January 2014"].first == 1.0
    (whole,) = table_cases(lake.snapshot, 5)
    assert (whole.name, whole.tables) == ("people.csv", {(0, 1)})
    assert in_tables(lake.snapshot, [whole]).first == 1.0
    costs = cost(segments)
    assert costs["bytes"] > 0 and costs["rest"] > 0 and costs["pairs"] == 124
    assert [one["values"] for one in speed(lake.snapshot, (10, 20))] == [10, 20]
