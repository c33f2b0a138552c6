"""Answers: sequences that narrow, convert, print and never run what the lake holds."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.render.html import render_html
from lakejoin.render.layout import text_width
from lakejoin.render.text import render_text
from lakejoin.search.answer import Answer
from lakejoin.search.result import Result
from oracle.lakes import PlainTable
from oracle.search import lake_of

LETTERS = list("abcdefghij")
KEYS = [
    "rank", "table", "columns", "matched", "containment", "query_size", "column_size",
    "row_coverage", "fan_out", "examples", "copy", "estimate", "error", "runner_up",
]  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Tables that hold 10, 9, … 1 of ten letters."""
    tables = [PlainTable(f"t{n}.csv", {"c": LETTERS[:n], "n": ["q"] * n}) for n in range(1, 11)]
    return lake_of(tmp_path_factory.mktemp("lake"), [tables[:6], tables[6:]])


@pytest.fixture
def answer(lake: Lake) -> Answer:
    found = lake.overlap({"letter": LETTERS}, k=20)
    assert isinstance(found, Answer)
    return found


def test_a_sequence(answer: Answer) -> None:
    assert len(answer) == 10 and answer[0].table == "t10.csv" and answer[-1].table == "t1.csv"
    assert [r.matched for r in answer] == list(range(10, 0, -1))
    part = answer[2:4]
    assert isinstance(part, Answer) and [r.rank for r in part] == [3, 4]
    assert part.query is answer.query
    assert answer[0] in answer and answer.index(answer[3]) == 3
    with pytest.raises(IndexError):
        answer[10]


def test_narrowing_needs_no_new_search(answer: Answer) -> None:
    assert [r.matched for r in answer.at_least(0.8)] == [10, 9, 8]
    assert [r.matched for r in answer.at_least(0.75)] == [10, 9, 8]
    assert len(answer.at_least(0.0)) == 10 and answer.at_least(0.8).notes == ()
    assert [r.rank for r in answer.top(2)] == [1, 2]
    assert answer.top(50).notes == ()


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.01, "0.5", True, None])
def test_a_share_is_a_number_between_0_and_1(answer: Answer, wrong: Any) -> None:
    with pytest.raises(InputError, match="containment must be a number between 0 and 1, not"):
        answer.at_least(wrong)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "3", None])
def test_the_best_are_counted_by_a_whole_number(answer: Answer, wrong: Any) -> None:
    with pytest.raises(InputError, match="k must be a positive integer, not"):
        answer.top(wrong)


def test_what_was_not_searched_for_is_said(lake: Lake) -> None:
    few = lake.overlap({"letter": LETTERS}, k=3)
    assert few.at_least(0.5).notes == ("the search stopped at k=3: more columns may contain 0.5",)
    assert few.at_least(0.95).notes == ()
    assert few.top(5).notes == ("the search stopped at k=3",)
    high = lake.overlap({"letter": LETTERS}, k=20, min_share=0.8)
    (note,) = high.at_least(0.2).notes
    assert "the search used min=0.8" in note
    assert high.at_least(0.2).at_least(0.1).notes == (note,)


def test_json_keys_are_stable(answer: Answer) -> None:
    document = json.loads(json.dumps(answer.to_dict()))
    assert list(document) == [
        "query", "by", "k", "min", "results", "counters", "notes", "seconds",
    ]  # fmt: skip
    assert document["query"] == {
        "table": "my_table", "column": "letter", "columns": ["letter"], "size": 10, "rows": 10,
    }  # fmt: skip
    assert all(list(result) == KEYS for result in document["results"])
    assert document["results"][1] == {
        "rank": 2, "table": "t9.csv", "columns": ["c"], "matched": 9, "containment": 0.9,
        "query_size": 10, "column_size": 9, "row_coverage": 0.9, "fan_out": 0.9,
        "examples": {"matched": ["a", "b", "c"], "unmatched": ["j"]},
        "copy": "", "estimate": None, "error": None, "runner_up": None,
    }  # fmt: skip


def test_conversions(answer: Answer) -> None:
    table = answer.to_arrow()
    assert table.num_rows == 10
    assert set(table.column_names) == (set(KEYS) - {"examples"}) | {
        "matched_examples",
        "unmatched_examples",
    }
    assert answer[:0].to_arrow().schema == table.schema
    pytest.importorskip("pandas")
    assert answer.to_pandas()["matched"].tolist() == list(range(10, 0, -1))
    pytest.importorskip("polars")
    assert answer.to_polars()["table"].to_list()[0] == "t10.csv"


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_text_fits_its_width(lake: Lake, width: int) -> None:
    frame = {"日本語の長い列名" * 4: ["a" * 70, "b\n\x1b[31m", "漢字" * 30, *LETTERS]}
    text = render_text(lake.overlap(frame).report(), width)
    assert max(map(text_width, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "█" in text


def test_text_shows_what_counts(answer: Answer) -> None:
    text = repr(answer)
    for shown in ("t9.csv", "matched", "contained", "90%", "x0.90", "✓ a · b · c   ✗ j", "letter"):
        assert shown in text
    assert "…" not in text


def test_long_answers_are_cut_and_counted(answer: Answer) -> None:
    result = answer[0]
    long = Answer(answer.query, (result,) * 25)
    report = long.report()
    assert "… and 5 more" in render_text(report) and "… and 5 more" in render_html(report)


def test_html_is_text_and_bars(tmp_path: Path) -> None:
    bad = "<script>alert('x')</script>"
    lake = lake_of(tmp_path, [[PlainTable(f"{bad}.csv", {bad: [bad, "<b>", "&amp;"]})]])
    answer = lake.overlap({bad: [bad, "<b>", "<i>"]})
    page = answer._repr_html_()
    assert "<script" not in page and "<b>&" not in page and "<i>" not in page
    assert "&lt;script&gt;" in page
    assert "linear-gradient" in page and "66.7%" in page


def test_unverified_results_show_their_error(answer: Answer) -> None:
    result = Result(1, "t.csv", ("c",), 6, 0.61, 10, 20, "", 0.61, 0.04, False)
    guess = Answer(answer.query, (result,), "containment")
    assert result.row_coverage is None and result.fan_out is None
    assert result.examples == {"matched": [], "unmatched": []}
    assert "61% ±4%" in repr(guess) and "~6 of 10" in repr(guess)
    assert "61% ±4%" in guess._repr_html_() and "~6 of 10" in guess._repr_html_()
    assert guess.to_arrow()["row_coverage"].to_pylist() == [None]
    with pytest.raises(InputError):
        result.matches()
