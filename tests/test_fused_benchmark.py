"""The benchmark of fused search counts what is right, and what stands above it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oracle.lakes import PlainTable
from search.key_lakes import key_lake

pytestmark = pytest.mark.usefixtures("scripts_importable")


def test_orders_are_measured() -> None:
    from fused_quality import Question, Ranked, measured

    question = Question("q", "t", ("c",), frozenset("ab"), frozenset("xy"))
    found = measured(Ranked(("x", "a", "o", "b", "y")), question)
    assert (found.rr, found.p5, found.r20, found.above) == (0.5, 1.0, 1.0, 1)
    told_apart = measured(Ranked(("a",), ("x", "b")), question)
    assert (told_apart.rr, told_apart.p5, told_apart.above) == (1.0, 0.5, 1)
    assert measured(Ranked(("a", "b"), ("x", "y")), question).above == 0
    missing = measured(Ranked(("a", "x")), question)
    assert missing.above == 1, "a right one that is not found stands below"
    assert measured(Ranked(()), question).rr == 0.0


def test_every_engine_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fused_quality import ENGINES, ask_all, line, questions

    names = [f"town {n * 7919 % 1009}" for n in range(50)]
    tables = [
        PlainTable("mine.csv", {"town": names, "n": [str(n) for n in range(50)]}),
        PlainTable("theirs.csv", {"place": names[:40]}),
    ]
    lake = key_lake(tmp_path, tables)
    one = {"id": "towns", "table": "mine.csv", "on": ["town"], "right": ["theirs.csv"]}
    file = tmp_path / "questions.json"
    file.write_text(json.dumps([{**one, "accidental": []}]))
    for name in ("overlap", "fused"):
        found = ask_all(lake, ENGINES[name], questions(file))
        assert found["towns"].rr == 1.0
        assert "1.000" in line(name, list(found.values()))
    assert ask_all(lake, ENGINES["meaning"], questions(file)) == {}
    assert "towns is not asked: this index has no vectors" in capsys.readouterr().out
