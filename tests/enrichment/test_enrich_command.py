"""lakejoin enrich: what it writes, what it reports, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.commands import Command
from enrichment.made_lakes import Made, made_lake
from lakejoin.errors import NoJoin

ENRICH = Command("enrich")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made_lake(tmp_path_factory.mktemp("enrich"))


@pytest.fixture
def here(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """My table in a folder of its own, and the index as the usual one."""
    monkeypatch.setenv("LAKEJOIN_INDEX", str(made.index))
    monkeypatch.chdir(tmp_path)
    table = made.mine.assign(target=made.target, kind=made.kind, noise=made.noise)
    table.drop(columns=["kind", "noise"]).to_csv(tmp_path / "mine.csv", index=False)
    table.drop(columns=["target", "noise"]).to_csv(tmp_path / "kinds.csv", index=False)
    table.drop(columns=["target", "kind"]).to_csv(tmp_path / "noise.csv", index=False)
    return tmp_path


def test_it_writes_the_table_and_reports_the_lift(made: Made, here: Path) -> None:
    run = ENRICH.run(
        "mine.csv", "--on", "town", "--target", "target", "-o", "out.csv", "--folds", "3"
    )
    assert run.exit_code == 0, run.output
    assert "incomes.income" in run.output and "weather.climate" in run.output
    assert "left out: mine_again.csv: it has 2 columns of the table" in run.output
    assert "left out: result of secret.csv: it is the target" in run.output
    assert "a lift of +" in run.output and "(3 folds of 160 rows)" in run.output
    written = pd.read_csv(here / "out.csv")
    assert written[["town", "own"]].equals(made.mine)
    assert np.allclose(written["target"], made.target)
    assert set(written.columns[3:]) == {"incomes.income", "weather.climate"}


def test_json(here: Path) -> None:
    answer = ENRICH.answer(
        "kinds.csv", "--on", "town", "--target", "kind", "--by", "equal", "--folds", "3"
    )
    assert answer["task"] == "classification"
    assert [(one["table"], one["column"], one["made"]) for one in answer["columns"]] == [
        ("shops.csv", "sales", "mean")
    ]
    assert answer["columns"][0]["full"] == 1.0
    assert answer["columns"][0]["kinds"] == ["equal"]
    lift = answer["lift"]
    assert (lift["score"], lift["folds"]) == ("micro-F1", 3)
    assert lift["with"]["mean"] > lift["without"]["mean"] + 0.2
    assert lift["lift_spread"] >= 0
    assert answer["output"] is None


def test_a_table_of_the_lake(here: Path) -> None:
    answer = ENRICH.answer(
        "mine_again.csv", "--on", "town", "--target", "target", "--folds", "2", "--by", "equal"
    )
    assert {one["name"] for one in answer["columns"]} == {"incomes.income", "weather.climate"}


def test_nothing_found_is_a_sentence_and_writes_nothing(here: Path) -> None:
    run = ENRICH.run("noise.csv", "--on", "town", "--target", "noise", "-o", "out.csv")
    assert isinstance(run.exception, NoJoin)
    assert run.exception.exit_code == 1
    assert "predicts 'noise' better than noise does" in str(run.exception)
    assert not (here / "out.csv").exists()
    run = ENRICH.run("noise.csv", "--on", "town", "--target", "noise", "--json")
    assert run.exit_code == 1
    assert json.loads(run.stdout)["found"] is False
    strange = pd.DataFrame({"key": [f"zz{n}qq" for n in range(50)], "y": np.arange(50.0)})
    strange.to_csv(here / "strange.csv", index=False)
    run = ENRICH.run("strange.csv", "--on", "key", "--target", "y")
    assert "no table in the lake joins on 'key'" in str(run.exception)


def test_what_is_wrong_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no column 'price'" in ENRICH.refused("mine.csv", "--on", "town", "--target", "price")
    assert "no column 'twn'" in ENRICH.refused("mine.csv", "--on", "twn", "--target", "target")
    assert "the target and a key" in ENRICH.refused("mine.csv", "--on", "own", "--target", "own")
    table = pd.read_csv(here / "mine.csv")
    table.assign(one=1).to_csv(here / "one.csv", index=False)
    assert "same value in all rows" in ENRICH.refused("one.csv", "--on", "town", "--target", "one")
    table[:6].to_csv(here / "few.csv", index=False)
    told = ENRICH.refused("few.csv", "--on", "town", "--target", "target")
    assert "known for 6 samples: at least 10 are needed" in told
    told = ENRICH.refused("mine.csv", "--on", "town", "--target", "target", "-o", "out.doc")
    assert "out.doc: unknown format" in told
    table[:30].to_csv(here / "some.csv", index=False)
    given = ("some.csv", "--on", "town", "--target", "target", "--folds", "20")
    assert "cannot make 20 folds from 30 rows: use 2 to 15 folds" in ENRICH.refused(*given)
    monkeypatch.setattr("os.access", lambda *_: False)
    told = ENRICH.refused("mine.csv", "--on", "town", "--target", "target", "--out", "out.csv")
    assert "cannot write out.csv" in told
