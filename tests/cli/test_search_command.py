"""`lakejoin search` from the shell: what it finds, its JSON, and one sentence for every failure."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.commands import CONTAINMENT, OVERLAP, SEARCH
from lakejoin.cli.main import main
from lakejoin.search.searcher import Searcher

KEYS = [
    *("rank", "table", "columns", "matched", "containment", "query_size", "column_size"),
    *("row_coverage", "fan_out", "examples", "copy", "estimate", "error", "runner_up"),
]


# -- what is found ---------------------------------------------------------------------------------


def test_json_has_the_documented_keys(here: Path) -> None:
    found = OVERLAP.answer("mine.csv", "--on", "town", "-k", "3")
    assert list(found) == [
        *("query", "by", "k", "min", "results", "counters", "notes", "seconds"),
    ]
    assert found["query"] == {
        **{"table": "mine.csv", "column": "town", "columns": ["town"]},
        **{"size": 3, "rows": 5},
    }
    assert (found["by"], found["k"], found["min"]) == ("overlap", 3, None)
    assert [list(result) for result in found["results"]] == [KEYS] * 3
    best = {(r["table"], r["columns"][0]): r for r in found["results"]}
    cities = best["cities.csv", "city"]
    assert (cities["matched"], cities["query_size"], cities["column_size"]) == (2, 3, 4)
    assert cities["containment"] == pytest.approx(2 / 3)
    assert (cities["row_coverage"], cities["fan_out"]) == (0.6, 0.6)
    assert cities["examples"] == {"matched": [" BERN", "Oslo"], "unmatched": ["Paris"]}
    assert set(best) == {
        ("cities.csv", "city"),
        ("copy.csv", "city"),
        ("sub/people.parquet", "city"),
    }


def test_a_table_of_the_lake_knows_itself(here: Path) -> None:
    found = OVERLAP.answer("cities.csv", "--on", "city")
    assert {r["table"]: r["copy"] for r in found["results"]} == {
        "cities.csv": "itself",
        "copy.csv": "copy",
        "sub/people.parquet": "",
    }
    others = OVERLAP.answer("cities.csv", "--on", "city", "--skip-copies")
    assert [r["table"] for r in others["results"]] == ["sub/people.parquet"]
    assert "left out" in others["notes"][0]


def test_columns_by_place_by_default_and_all(here: Path) -> None:
    assert OVERLAP.answer("mine.csv", "--on", "0")["query"]["column"] == "town"
    chosen = OVERLAP.answer("mine.csv")
    assert chosen["query"]["column"] == "town"
    assert "no column was named; using 'town'" in chosen["notes"][0]
    every = OVERLAP.answer("mine.csv", "--on", "*")
    assert [a["query"]["column"] for a in every["answers"]] == ["town", "n"]


@pytest.mark.parametrize("algorithm", ["auto", "stopping", "merge", "josie"])
def test_every_algorithm_gives_the_same(here: Path, algorithm: str) -> None:
    found = OVERLAP.answer("cities.csv", "--on", "country", "--algorithm", algorithm)
    assert [(r["table"], r["matched"]) for r in found["results"]] == [
        ("cities.csv", 3),
        ("copy.csv", 3),
        ("sub/codes.tsv", 3),
        ("base.sqlite#towns", 2),
        ("base.sqlite#states", 1),
    ]


def test_containment(here: Path) -> None:
    found = CONTAINMENT.answer("mine.csv", "--on", "town")
    assert (found["min"], found["k"]) == (0.6, None)
    assert {r["table"] for r in found["results"]} == {
        "cities.csv",
        "copy.csv",
        "sub/people.parquet",
    }
    assert "counted exactly, without sketches" in " ".join(found["notes"])
    assert all(r["estimate"] is None for r in found["results"])
    assert CONTAINMENT.answer("mine.csv", "--on", "town", "--min-share", "1")["results"] == []
    best = CONTAINMENT.answer("mine.csv", "--on", "town", "-k", "1")
    assert (best["k"], len(best["results"])) == (1, 1)
    rough = CONTAINMENT.answer("mine.csv", "--on", "town", "--no-verify")
    for result in rough["results"]:
        assert result["row_coverage"] is result["fan_out"] is None
        assert result["error"] is not None


def test_nothing_found_is_said(here: Path) -> None:
    (here / "strange.csv").write_text("what\nxyzzy\nplugh\n")
    found = OVERLAP.answer("strange.csv", "--on", "what")
    assert found["results"] == []
    assert "none of the 2 values of 'what' is in any searched column" in found["notes"][0]
    shown = OVERLAP.run("strange.csv", "--on", "what").output
    assert "note: none of the 2 values" in shown
    assert "lakejoin join" not in shown


# -- what is refused -------------------------------------------------------------------------------


def test_failures_are_one_sentence(here: Path, tmp_path: Path) -> None:
    assert "did you mean 'town'" in OVERLAP.refused("mine.csv", "--on", "twon")
    assert "no file citis.csv" in OVERLAP.refused("citis.csv")
    assert "cities.csv" in OVERLAP.refused("citis.csv")
    assert "one TABLE, or --batch" in OVERLAP.refused()
    assert "one TABLE, or --batch" in OVERLAP.refused("mine.csv", "--batch", "x")
    assert "is a folder; name a file in it, or search with --batch ." in SEARCH.refused(".")
    assert "there is no result 99" in OVERLAP.refused("mine.csv", "--on", "town", "--explain", "99")
    assert "one --on" in OVERLAP.refused("mine.csv", "--on", "*", "--explain", "1")
    assert "no file or folder" in OVERLAP.refused("--batch", "nowhere")
    assert "cannot read the list" in OVERLAP.refused("--batch", "@nowhere")
    (here / "nulls.csv").write_text("a,b\nn/a,1\n,2\n")
    assert "has no values" in OVERLAP.refused("nulls.csv", "--on", "a")
    (here / "empty.csv").write_text("")
    assert "empty file" in OVERLAP.refused("empty.csv")
    assert "no index at" in str(OVERLAP.run("mine.csv", "--index", str(tmp_path / "no")).exception)
    assert OVERLAP.run("mine.csv", "-k", "0").exit_code == 2
    assert OVERLAP.run("mine.csv", "--min-share", "1.5").exit_code == 2


def test_it_teaches() -> None:
    assert SEARCH.run("--help").output.count("lakejoin search ") >= 3


def test_a_search_that_is_stopped_says_that_nothing_was_changed(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Searcher, "search", interrupted)
    for arguments in (["mine.csv", "--on", "town"], ["--batch", "mine.csv", "--json"]):
        monkeypatch.setattr(sys, "argv", ["lakejoin", "overlap", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 130
        said = capsys.readouterr()
        assert said.err.strip() == "lakejoin: the search was stopped; nothing was changed"
        assert said.out == ""
