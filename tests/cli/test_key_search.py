"""`lakejoin search` with several `--on`: composite keys from the shell, and the join beneath."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from cli.commands import COMPOSITE, JOIN, OVERLAP
from fake_spark import FakeSpark

KEY = ["--on", "first", "--on", "last", "--on", "country"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of people, indexed; the folder of the lake."""
    folder = tmp_path_factory.mktemp("people") / "lake"
    folder.mkdir()
    (folder / "leute.csv").write_text(
        "land;Nachname;vor=name;plz\nUS;Lee;Ann;1\nUS;lee;ANN;2\nUK;Ray;Bob;3\nCH;Ö;Zoë;4\n;Lee;Ann;5\n"
    )
    (folder / "mine.csv").write_text(
        "first,last,country\nAnn,Lee,US\nBob,Ray,UK\nBob,Ray,UK\nAnn,Ray,US\n,Lee,US\n"
    )
    (folder / "copy.csv").write_bytes((folder / "mine.csv").read_bytes())
    (folder / "half.csv").write_text("x,y,z,w\nLee,Ann,US,Ann\nq,Ray,UK,Ray\n")
    lakejoin.index(folder, folder.parent / "index", spark=FakeSpark())
    return folder


@pytest.fixture
def here(people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKEJOIN_INDEX", str(people.parent / "index"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_bytes((people / "mine.csv").read_bytes())
    return tmp_path


def found(*arguments: str) -> list[tuple[str, list[str], int]]:
    return [
        (r["table"], r["columns"], r["matched"])
        for r in COMPOSITE.answer("mine.csv", *arguments)["results"]
    ]


def test_tables_that_hold_my_combinations(here: Path) -> None:
    answer = COMPOSITE.answer("mine.csv", *KEY)
    assert answer["query"] == {
        **{"table": "mine.csv", "column": None, "columns": ["first", "last", "country"]},
        **{"size": 3, "rows": 5},
    }
    assert found(*KEY) == [
        ("copy.csv", ["first", "last", "country"], 3),
        ("mine.csv", ["first", "last", "country"], 3),
        ("leute.csv", ["vor=name", "Nachname", "land"], 2),
        ("half.csv", ["y", "x", "z"], 1),
    ]
    assert found(*KEY, "-k", "1") == found(*KEY)[:1]
    leute, half = answer["results"][2:]
    assert (leute["row_coverage"], leute["fan_out"], leute["copy"]) == (0.6, 0.8, "")
    assert leute["column_size"] == 3 and leute["containment"] == pytest.approx(2 / 3)
    assert leute["examples"] == {
        "matched": ["Bob · Ray · UK", "Ann · Lee · US"],
        "unmatched": ["Ann · Ray · US"],
    }
    assert leute["runner_up"] is None
    assert half["runner_up"] == {"columns": ["w", "x", "z"], "matched": 1}
    counters = answer["counters"]
    assert counters["rows_seen"] >= counters["rows_passed"] >= counters["rows_true"] > 0


def test_a_fixed_partner(here: Path) -> None:
    fixed = ["--on", "first=W", "--on", "last", "--on", "country=z"]
    assert found(*fixed) == [("half.csv", ["w", "x", "z"], 1)]
    assert found("--on", "0=vor=name", "--on", "1") == [("leute.csv", ["vor=name", "Nachname"], 2)]


def test_others_and_containment(here: Path) -> None:
    assert [name for name, _, _ in found(*KEY, "--skip-copies")] == ["leute.csv", "half.csv"]
    shares = ["--min-share", "0.5"]
    assert [name for name, _, _ in found(*KEY, *shares)] == ["copy.csv", "mine.csv", "leute.csv"]
    itself = COMPOSITE.answer(str(here / "mine.csv"), *KEY, "--skip-copies")
    assert itself["notes"] == ["2 exact copies of the table are left out"]


def test_it_is_shown(here: Path) -> None:
    shown = COMPOSITE.run("mine.csv", *KEY).output
    assert "first + last + country of mine.csv (3 distinct combinations in 5 rows): " in shown
    assert "the 4 tables of 4 that contain the most combinations" in shown
    assert "first → vor=name, last → Nachname, country → land" in shown
    assert "or w, x, z, with 1" in shown
    assert "✓ Bob · Ray · UK | Ann · Lee · US   ✗ Ann · Ray · US" in shown
    heads = next(line for line in shown.splitlines() if line.startswith("#"))
    assert heads.split()[:4] == ["#", "table", "matched", "contained"]
    assert heads.split()[4:] == ["size", "your", "rows", "fan-out"]
    assert "passed the filter" in shown.splitlines()[-1]


def test_how_many_tables_are_searched_for(here: Path) -> None:
    one, two = (COMPOSITE.run("mine.csv", *KEY, "-k", k).output for k in "12")
    assert "the 1 table of 4 that contains the most" in one
    assert "the 2 tables of 4 that contain the most" in two


@pytest.mark.parametrize("initial", ["last", "0", "cardinality", "items"])
def test_the_initial_column(here: Path, initial: str) -> None:
    assert found(*KEY, "--initial", initial) == found(*KEY)
    if initial == "last":
        counters = COMPOSITE.answer("mine.csv", *KEY, "--initial", initial)["counters"]
        assert list(counters["initial"]) == ["last"]
        shown = COMPOSITE.run("mine.csv", *KEY, "--initial", initial, "--explain", "1").output
        assert "rows were fetched by last (1 segment)" in shown


def test_what_was_not_tried_is_explained() -> None:
    from lakejoin.cli.engine_output import effort_sentences
    from lakejoin.engines.composite.hits import KeyCounters

    sentence = "in 2 tables not every mapping of the columns was tried"
    assert sentence in effort_sentences(KeyCounters(cut_short=2))
    assert not any("tried" in said for said in effort_sentences(KeyCounters()))


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_it_fits(here: Path, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    from io import StringIO

    from rich.console import Console

    from lakejoin.cli.engine_output import print_results

    answer = lakejoin.open().composite("mine.csv", on=["first", "last", "country"])
    file = StringIO()
    print_results(Console(file=file, width=int(width), highlight=False), answer.report())
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= max(int(width), 75)
    assert sum("first → " in line for line in lines) == 4


def test_the_join_beneath_makes_what_was_promised(here: Path) -> None:
    full = COMPOSITE.answer("mine.csv", *KEY, "--explain", "3")
    result = full["result"]
    assert result["table"] == "leute.csv"
    # A name that holds = is given by its place.
    assert full["join"] == (
        "lakejoin join mine.csv leute.csv --on 0=2 --on last=Nachname --on country=land "
        "-o joined.csv"
    )
    _, name, *arguments = shlex.split(full["join"])
    assert name == "join"
    joined = JOIN.answer(*arguments)
    assert joined["pairs"] == joined["rows"] == round(result["fan_out"] * 5)
    assert joined["left_joined"] == round(result["row_coverage"] * 5)
    assert full["matches"] == [
        {"first": "Bob", "last": "Ray", "country": "UK", "mine": 2, "theirs": 1},
        {"first": "Ann", "last": "Lee", "country": "US", "mine": 1, "theirs": 2},
    ]
    assert full["unmatched"] == [{"first": "Ann", "last": "Ray", "country": "US", "mine": 1}]
    assert "AND" in full["sql"]


def test_one_result_in_full(here: Path) -> None:
    lines = COMPOSITE.run("mine.csv", *KEY, "--explain", "3").output.splitlines()
    words = [line.split() for line in lines]
    assert ["first", "last", "country", "your", "rows", "lake", "rows"] in words
    assert ["Ann", "Lee", "US", "1", "2"] in words and ["Ann", "Ray", "US", "1"] in words
    assert "combinations that match" in "\n".join(lines)
    assert any("passed the row filter" in line and "precision is" in line for line in lines)
    assert any(line.startswith("rows were fetched by ") for line in lines)


def test_batch(here: Path) -> None:
    (here / "batch").mkdir()
    (here / "batch" / "a.csv").write_text("first,last\nAnn,Lee\n")
    (here / "batch" / "b.csv").write_text("first,name\nAnn,Lee\n")
    result = COMPOSITE.run("--batch", "batch", "--on", "first", "--on", "last", "--json")
    good, bad = map(json.loads, result.stdout.splitlines())
    assert good["query"]["columns"] == ["first", "last"] and len(good["results"]) == 4
    assert bad["query"] == {
        **{"table": "batch/b.csv", "column": None, "columns": ["first", "last"]},
    }
    assert "no column 'last'" in bad["error"]
    shown = COMPOSITE.run(
        "--batch", "batch/a.csv", "--on", "first", "--on", "last", "-k", "1"
    ).output
    assert "first → y, last → x" in shown and "half.csv --on first=y --on last=x -o" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--on", "first=x"], "a composite key has two or more columns"),
        (["--on", "first", "--on", "first"], "column 'first' of mine.csv is named twice"),
        (["--on", "first", "--on", "*"], "'*' searches for every column by itself"),
        (["--on", "first", "--on", "lost"], "no column 'lost'; did you mean 'last'"),
        (["--on", "first", "--initial", "first"], "a composite key has two or more columns"),
        ([*KEY, "--initial", "lost"], "no column 'lost'; did you mean 'last'"),
        ([*KEY[:4], "--initial", "country"], "the initial column 'country' is not part of the key"),
        ([*KEY, "--explain", "9"], "there is no result 9: the search found 4"),
    ],
)
def test_refused(here: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in COMPOSITE.refused("mine.csv", *arguments)


def test_one_column_has_no_partner(here: Path) -> None:
    said = OVERLAP.refused("mine.csv", "--on", "first=x")
    assert "'first=x' fixes the lake column, which needs a key of two" in said
    assert "search by overlap takes one column; got 3" in OVERLAP.refused("mine.csv", *KEY)


def test_nothing_is_said_plainly(here: Path) -> None:
    (here / "other.csv").write_text("a,b\nAnn,Zoë\nBob,nobody\n")
    shown = COMPOSITE.run("other.csv", "--on", "a", "--on", "b").output
    assert "no row of any table in the lake has both parts of the key together" in shown
    assert "'b' alone: 1 of its 2 distinct values are in leute.csv · vor=name" in shown
    wide = [part for place in range(4) for part in ("--on", str(place))]
    assert COMPOSITE.answer("leute.csv", *wide, "--skip-copies")["notes"] == [
        "the table itself is left out",
        "no row of any other table in the lake has all 4 parts of the key together",
        "none of the 5 values of 'plz' is in any searched column",
    ]


def test_nulls_in_a_key_join_nothing(here: Path) -> None:
    rows: dict[str, Any] = {}
    (here / "a.csv").write_text("k,l,x\n1,a,p\n1,,q\n,a,r\n,,s\n1,A,t\n")
    (here / "b.csv").write_text("l,k\na,1\na,\n,1\n,\nA,1\n")
    for how in ("inner", "left", "full"):
        rows[how] = JOIN.answer("a.csv", "b.csv", "--on", "k=k", "--on", "l", "--how", how)["rows"]
    assert rows == {"inner": 4, "left": 7, "full": 10}
