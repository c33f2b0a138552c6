"""`lakejoin search` as people see it: at a glance, one result in full, on every screen."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from cli.commands import JOIN, OVERLAP
from lakejoin.cli.engine_output import TypedQuery, print_answer, print_results
from lakejoin.cli.terminal import STILL_SEARCHING, explain_long_wait
from lakejoin.engines.hits import Counters
from lakejoin.engines.query import Query
from lakejoin.search.answer import Answer
from lakejoin.search.evidence import Evidence
from lakejoin.search.result import Result as Found


def test_the_answer_at_a_glance(here: Path) -> None:
    shown = OVERLAP.run("mine.csv").output
    head, note, _, heads, _, first, examples, *_ = shown.splitlines()
    assert head == (
        "town of mine.csv (3 distinct values in 5 rows): "
        "the 10 columns of 6 tables that share the most values"
    )
    assert note.startswith("note: no column was named")
    assert heads.split()[:5] == ["#", "table", "column", "matched", "contained"]
    assert first.split()[:3] == ["1", "sub/people.parquet", "city"]
    assert "2 of 3" in first and "67%" in first and "60%" in first and "x0.60" in first
    assert "✓  BERN · Oslo   ✗ Paris" in examples


def test_the_command_beneath_makes_the_join(here: Path) -> None:
    (here / "mine.csv").rename(here / "it's mine.csv")
    for table in ("it's mine.csv", "cities.csv"):
        shown = OVERLAP.run(table, "--on", "0").output
        line = next(line for line in shown.splitlines() if "lakejoin join" in line)
        words = shlex.split(line)
        assert words[:3] == ["lakejoin", "join", table]
        assert words[3] not in ("cities.csv", "copy.csv") or table != "cities.csv"
        made = JOIN.run(*words[2:])
        assert made.exit_code == 0, made.output
        assert Path("joined.csv").read_text().count("\n") > 1
        Path("joined.csv").unlink()


@pytest.mark.parametrize(
    ("table", "column"), [("mine.csv", "town"), ("cities.csv", "country"), ("cities.csv", "people")]
)
def test_the_join_keeps_what_the_search_promised(here: Path, table: str, column: str) -> None:
    found = OVERLAP.answer(table, "--on", column)["results"]
    assert found
    for result in found:
        pair = f"{column}={result['columns'][0]}"
        made = JOIN.run(table, result["table"], "--on", pair, "--json")
        joined = json.loads(made.stdout)
        assert joined["fan_out"] == pytest.approx(result["fan_out"])
        assert joined["left_joined"] / joined["left_rows"] == pytest.approx(result["row_coverage"])


def test_names_with_an_equals_sign_are_joined_by_place(here: Path, small_lake: Path) -> None:
    (here / "odd.csv").write_text("n,a=b\n1,Bern\n2,Oslo\n")
    shown = OVERLAP.run(
        "odd.csv", "--on", "a=b", "--index", str(small_lake.parent / "index")
    ).output
    line = next(line for line in shown.splitlines() if "lakejoin join" in line)
    words = shlex.split(line)
    assert words[words.index("--on") + 1].startswith("1=")
    assert words[-2:] == ["--index", str(small_lake.parent / "index")]
    assert JOIN.run(*words[2:]).exit_code == 0


def test_one_result_in_full(here: Path) -> None:
    whole = OVERLAP.answer("mine.csv", "--on", "town")
    rank = next(r["rank"] for r in whole["results"] if r["table"] == "cities.csv")
    shown = OVERLAP.run("mine.csv", "--on", "town", "--explain", str(rank)).output
    lines = [line.split() for line in shown.splitlines()]
    assert ["BERN", "2", "1"] in lines and ["Oslo", "1", "1"] in lines
    assert ["Paris", "1"] in lines
    assert "SELECT" in shown and "lakejoin join mine.csv cities.csv --on town=city" in shown
    assert "of the index in 1 segment" in shown
    full = OVERLAP.answer("mine.csv", "--on", "town", "--explain", str(rank))
    assert list(full) == [
        *("query", "by", "k", "min", "result", "matches", "unmatched"),
        *("counters", "notes", "seconds", "sql", "join"),
    ]
    assert full["result"] == whole["results"][rank - 1]
    assert full["matches"] == [
        {"value": " BERN", "mine": 2, "theirs": 1},
        {"value": "Oslo", "mine": 1, "theirs": 1},
    ]
    assert full["unmatched"] == [{"value": "Paris", "mine": 1}]
    assert full["join"].startswith("lakejoin join mine.csv cities.csv --on town=city")


def test_every_column_in_one_page(here: Path) -> None:
    shown = OVERLAP.run("cities.csv", "--on", "*", "--skip-copies").output
    assert shown.count("note: the table itself is left out") == 1
    for column in ("city", "country", "people"):
        assert f"{column} of cities.csv (" in shown


def query(size: int = 5) -> Query:
    tokens = pa.array([f"v{i}" for i in range(size)], pa.large_string())
    return Query("mine.csv", "town", tokens, np.ones(size, np.int64), size, tokens)


def found(rank: int, table: str = "a/b.csv", fan_out: float = 1.0, **changes: Any) -> Found:
    result = Found(rank, table, ("name",), 3, 0.6, 5, 1_234_567, **changes)
    if result.verified:
        seen = Evidence(0.999, fan_out, ("x\ny", "[red]z"), ("\x1b[31mw",))
        result.__dict__["evidence"] = seen
    return result


def printed(answer: Answer, width: int, terminal: bool = False) -> str:
    file = StringIO()
    screen = Console(file=file, width=width, highlight=False, force_terminal=terminal)
    print_answer(screen, answer, TypedQuery("mine.csv", None, 7))
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 110, 140, 200])
def test_it_fits_every_screen(width: int) -> None:
    results = tuple(found(i, f"{'long/' * 30}{i}.csv", 10.0**i) for i in range(1, 4))
    answer = Answer(query(), results, k=3)
    file = StringIO()
    print_results(Console(file=file, width=width, highlight=False), answer.report())
    lines = file.getvalue().splitlines()
    if width >= 110:
        assert all(len(line) <= width for line in lines)
    for rank, text in ((1, "x10.0 !"), (2, "x100 !"), (3, "x1,000 !")):
        assert any(f"{rank}.csv" in line for line in lines), "the end of a name stays"
        assert any(text in line for line in lines)
    assert sum("3 of 5" in line for line in lines) == 3
    assert sum("1,234,567" in line for line in lines) == 3
    assert "this join would multiply your rows" in lines[-1]


def test_cells_of_the_lake_do_nothing_to_the_screen() -> None:
    for width in (80, 150):
        shown = printed(Answer(query(), (found(1, "[bold]t[/]\x1b[2J.csv"),), k=1), width)
        assert "\x1b" not in shown
        assert "[bold]t[/]" in shown
        assert "x⏎y · [red]z" in shown
        assert ">99%" in shown


def test_estimates_are_marked() -> None:
    rough = found(1, verified=False, estimate=0.6, error=0.05)
    shown = printed(Answer(query(), (rough,), by="containment", min=0.5), 150)
    assert "the columns of 7 tables that contain at least 50% of the values" in shown
    assert "~3 of 5" in shown and "60% ±5%" in shown
    assert "✓" not in shown


def test_many_results_are_counted() -> None:
    answer = Answer(query(), tuple(found(i + 1) for i in range(45)), by="containment", min=0.5)
    assert "… and 5 more; --json shows all" in printed(answer, 150)
    assert "… and" not in printed(replace(answer, k=45), 150)


def test_itself_is_not_joined() -> None:
    itself, copy = found(1, copy="itself"), found(2, "copy.csv", copy="copy")
    both = Answer(query(), (itself, copy), k=2)
    assert "(itself)" in printed(both, 150) and "result 2" in printed(both, 150)
    assert "lakejoin join" not in printed(replace(both, results=(itself,)), 150)


def test_what_it_took_is_told() -> None:
    counters = Counters(2, 40, 3, 9, 4, 5, 12_000, {"stopping": 2})
    shown = printed(Answer(query(), (found(1),), k=1, counters=counters, seconds=0.012), 150)
    assert (
        "12 ms: 3 of 40 posting lists read, 4 columns opened, 5 ruled out unopened, "
        "12.0 kB of the index, stopping"
    ) in shown


def test_a_long_wait_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with explain_long_wait(after=60):
        pass
    assert capsys.readouterr().err == ""
    with explain_long_wait(after=0.0):
        for _ in range(500):
            time.sleep(0.01)
            if said := capsys.readouterr().err:
                break
    assert said.strip() == STILL_SEARCHING
