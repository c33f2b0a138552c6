"""`lakejoin join` from the shell: what it says, writes and refuses."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import lakejoin
from cli.commands import JOIN
from conftest import Index
from lakejoin.errors import NoJoin
from lakejoin.formats.table_stream import Table


@pytest.fixture(autouse=True)
def no_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LAKEJOIN_INDEX", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("town,visits\n BERN,1\nBern,2\nOslo,3\nParis,4\n,5\n")
    return path


def test_a_file_with_a_table_of_the_lake(
    mine: Path, lake: Path, index: Index, tmp_path: Path
) -> None:
    index(lake)
    home = str(tmp_path / "index")
    found = JOIN.answer(str(mine), "cities.csv", "--on", "town=city", "--index", home)
    assert list(found) == [
        *("left", "right", "on", "how", "rows", "left_rows", "right_rows", "left_joined"),
        *("right_joined", "pairs", "fan_out", "left_columns", "right_columns", "steps", "sure"),
        *("examples", "unmatched", "columns", "first", "output", "bytes", "warnings", "notes"),
    ]
    assert found["on"] == [{"left": "town", "right": "city"}]
    assert (found["rows"], found["left_rows"], found["right_rows"]) == (3, 5, 4)
    assert (found["left_joined"], found["right_joined"], found["pairs"]) == (3, 2, 3)
    assert found["fan_out"] == 0.6
    assert found["columns"] == ["town", "visits", "city", "country", "people"]
    assert [row[:4] for row in found["first"]] == [
        [" BERN", "1", "Bern", "CH"],
        ["Bern", "2", "Bern", "CH"],
        ["Oslo", "3", "Oslo", "NO"],
    ]
    assert found["warnings"] == []
    both = JOIN.answer("cities.csv", "sub/people.parquet", "--on", "city", "--index", home)
    assert both["rows"] == 2
    assert "city_right" in both["columns"]
    assert "did you mean cities.csv" in JOIN.refused(
        "citis.csv", str(mine), "--on", "city=town", "--index", home
    )


@pytest.mark.parametrize(("how", "rows"), [("inner", 3), ("left", 5), ("right", 5), ("full", 7)])
def test_two_files_need_no_index(mine: Path, lake: Path, how: str, rows: int) -> None:
    out = mine.with_name("out.csv")
    found = JOIN.answer(
        str(mine), str(lake / "cities.csv"), "--on", "0=0", "--how", how, "-o", str(out)
    )
    assert (found["rows"], found["output"], found["bytes"]) == (rows, str(out), out.stat().st_size)
    written = lakejoin.read(out)
    assert isinstance(written, Table)
    assert written.rows.num_rows == rows


def test_people_can_read_it_and_paste_it(mine: Path, lake: Path) -> None:
    name = mine.with_name("it's mine.csv")
    mine.rename(name)
    shown = JOIN.run(str(name), str(lake / "cities.csv"), "--on", "town=city").output
    assert "inner join on town = city: 3 rows, 5 columns" in shown
    assert f"3 of 5 rows of {name} have a match" in shown
    head = next(line for line in shown.splitlines() if "visits" in line)
    assert head.split()[:2] == ["town", "city"], "the keys side by side"
    line = shown.strip().splitlines()[-1]
    words = shlex.split(line)
    assert words[:2] == ["lakejoin", "join"]
    assert JOIN.run(*words[2:]).exit_code == 0
    assert Path("joined.csv").exists()


def test_multiplied_rows_are_told_and_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,v\n" + "x,1\n" * 30 + "y,2\n")
    found = JOIN.answer("a.csv", "a.csv", "--on", "k")
    assert found["rows"] == 901
    assert "'x' alone (30 times 30 rows) makes 900 rows" in found["warnings"][0]
    assert "901 rows, more than --max-rows 900" in JOIN.refused(
        "a.csv", "a.csv", "--on", "k", "--max-rows", "900", "-o", "out.csv"
    )
    assert not Path("out.csv").exists()


def test_no_partner_is_told(mine: Path, lake: Path) -> None:
    found = JOIN.answer(str(mine), str(lake / "cities.csv"), "--on", "visits=city", "--by", "equal")
    assert (found["rows"], found["fan_out"]) == (0, 0)
    assert found["warnings"] == [f"no row of {mine} has a match"]


def test_a_part_of_a_file(lake: Path) -> None:
    base = str(lake / "base.sqlite")
    towns = JOIN.answer(f"{base}#towns", str(lake / "cities.csv"), "--on", "code=country")
    assert (towns["rows"], towns["left_joined"]) == (3, 2)
    assert "contains several tables; name one" in JOIN.refused(base, base, "--on", "code")
    assert "has no part 't'; its parts are: empty, towns" in JOIN.refused(
        f"{base}#t", base, "--on", "code"
    )


def test_failures_are_one_sentence(mine: Path, tmp_path: Path) -> None:
    name = str(mine)
    assert "no index" in JOIN.refused("nowhere.csv", name, "--on", "town")
    assert "did you mean 'town'" in JOIN.refused(name, name, "--on", "twn=town")
    assert "must end in one of" in JOIN.refused(name, name, "--on", "town", "-o", "x.doc")
    assert "no index at" in str(JOIN.run(name, name, "--on", "town", "--index", "none").exception)
    (tmp_path / "empty.csv").write_text("")
    assert "empty file" in JOIN.refused("empty.csv", name, "--on", "town")


def test_stopped_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\n" + "x\n" * 6000)
    (tmp_path / "out.csv").write_text("old")
    program = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored\n"
        "from lakejoin.joins import joined_table\n"
        "whole = joined_table.JoinedTable.batches\n"
        "def batches(self):\n"
        "    yield next(whole(self))\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    yield from whole(self)\n"
        "joined_table.JoinedTable.batches = batches\n"
        "from lakejoin.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "join", "a.csv", "a.csv", "--on", "k", "-o", "out.csv"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip().startswith("lakejoin: stopped")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "out.csv"]


NAMES = (
    *("Ada Lovelace", "Alan Turing", "Grace Hopper", "Emmy Noether", "Max Planck", "Niels Bohr"),
    *("Marie Curie", "Paul Dirac", "Otto Hahn", "Rosa Parks", "Hedy Lamarr", "Jean Bartik"),
)


@pytest.fixture
def people(tmp_path: Path) -> tuple[str, str]:
    users = [name[0].lower() + name.split()[1].lower() for name in reversed(NAMES)]
    born = [f"{name},{1800 + 7 * i}" for i, name in enumerate(NAMES)]
    (tmp_path / "people.csv").write_text("name,born\n" + "\n".join(born) + "\n")
    rooms = [f"{user},R{100 + 13 * i}" for i, user in enumerate([*users, "nobody"])]
    (tmp_path / "users.csv").write_text("user,room\n" + "\n".join(rooms) + "\n")
    return "people.csv", "users.csv"


def test_how_two_tables_join_is_found(people: tuple[str, str]) -> None:
    found = JOIN.answer(*people)
    assert (found["rows"], found["left_joined"], found["right_joined"]) == (12, 12, 12)
    (step,) = found["steps"]
    assert step["kind"] == "transform"
    assert step["program"] == 'lower(substring(name, 0, 1)) + lower(split(name, " ")[1])'
    assert (step["left_rows"], step["right_rows"]) == (12, 12) and 0 < step["sure"] <= 1
    assert found["on"] == [] and found["left_columns"] == ["name"]
    assert found["examples"][0]["before"] == "Ada Lovelace"
    assert found["examples"][0]["after"] == found["examples"][0]["partner"] == "alovelace"
    assert [row["value"] for row in found["unmatched"]["right"]] == ["nobody"]
    assert found["first"][0] == ["Ada Lovelace", "1800", "alovelace", "R243"]


def test_the_plan_alone(people: tuple[str, str]) -> None:
    shown = JOIN.run(*people, "--dry-run", "-o", "out.csv").output
    assert "inner join: 12 rows, 4 columns; confidence" in shown
    assert "1. transform: lower(substring(name, 0, 1))" in shown
    assert "Ada Lovelace → alovelace = alovelace" in shown
    assert "12 of 13 rows of users.csv have a match" in shown
    assert "1 right row without a match, for example:\n     nobody" in shown
    assert "to write them all" not in shown and not Path("out.csv").exists()


def test_the_command_to_write_it_all_keeps_its_options(people: tuple[str, str]) -> None:
    shown = JOIN.run(*people, "--by", "transform", "--how", "full", "--one-to-one").output
    assert shown.strip().endswith(
        "join people.csv users.csv --by transform --how full --one-to-one -o joined.csv"
    )


@pytest.mark.parametrize("code", ["sql", "pandas", "polars", "pyspark"])
def test_code_to_take_away(people: tuple[str, str], code: str) -> None:
    printed = JOIN.run(*people, "--code", code).output
    assert "lakejoin.read('people.csv')" in printed and "without a match" not in printed
    if code in ("pandas", "polars"):
        names: dict[str, object] = {"lakejoin": lakejoin}
        exec(printed.replace("# joined = ", "joined = "), names)
        assert len(names["joined"]) == 12
    assert "SUBSTRING(" in JOIN.run(*people, "--code", "standard-sql").output
    found = JOIN.answer(*people, "--code", code)
    assert found["code"] == printed[:-1] and found["first"] == []


def test_no_join_is_invented(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("colour,hex\nred,f00\ngreen,0f0\nblue,00f\nwhite,fff\n")
    (tmp_path / "b.csv").write_text("river,km\nRhine,1233\nLoire,1006\nPo,652\nEbro,930\n")
    result = JOIN.run("a.csv", "b.csv", "-o", "out.csv")
    assert isinstance(result.exception, NoJoin) and "no join found" in str(result.exception)
    assert not Path("out.csv").exists()
    as_json = JOIN.run("a.csv", "b.csv", "--json", "-o", "out.csv")
    assert as_json.exit_code == 1 and not Path("out.csv").exists()
    found = json.loads(as_json.stdout)
    assert list(found) == ["left", "right", "found", "why", "attempt", "notes"]
    assert found["found"] is False and found["why"].startswith("no join found")


def test_what_else_could_be_tried_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,v\nx,1\ny,2\nz,3\n")
    (tmp_path / "b.csv").write_text("k,w\nx,4\ny,5\nq,6\n")
    found = JOIN.answer("a.csv", "b.csv", "--on", "k")
    assert found["notes"] == [
        "both tables have rows that do not match; --by auto tries more ways to match them"
    ]
    assert JOIN.answer("a.csv", "b.csv", "--on", "k", "--by", "equal")["notes"] == []


def test_aggregates_and_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "shops.csv").write_text("shop,lat,lon\nA,48.1,11.5\nB,52.5,13.4\n")
    (tmp_path / "sales.csv").write_text("at,amount\nA,1\nA,2.5\nB,4\nC,9\n")
    asked = ("--on", "shop=at", "--aggregate", "amount=sum", "--aggregate", "at=list")
    found = JOIN.answer("shops.csv", "sales.csv", *asked)
    assert [row[-2:] for row in found["first"]] == [[["A", "A"], 3.5], [["B"], 4.0]]
    JOIN.answer("shops.csv", "sales.csv", *asked, "-o", "out.csv")
    assert '"[""A"", ""A""]",3.5' in (tmp_path / "out.csv").read_text()
    shown = JOIN.run("shops.csv", "sales.csv", *asked).output
    assert "2 of 2 rows" in shown
    (tmp_path / "towns.csv").write_text("town,y,x\nMunich,48.14,11.58\nOslo,59.9,10.7\n")
    near = ("--by", "nearest", "--on", "lat=y", "--on", "lon=x", "--within", "20km")
    found = JOIN.answer("shops.csv", "towns.csv", *near)
    assert [row[3] for row in found["first"]] == ["Munich"]
    assert found["examples"][0]["unit"] == "m" and found["examples"][0]["distance"] < 20_000
    assert "median" in JOIN.refused("shops.csv", "sales.csv", "--aggregate", "median")
    assert "nearest" in JOIN.refused("shops.csv", "sales.csv", "--within", "3")


def test_code_and_rows_are_not_asked_for_together(tmp_path: Path) -> None:
    written = tmp_path / "x.csv"
    said = JOIN.refused("a.csv", "b.csv", "--code", "sql", "-o", str(written))
    assert "use one of them" in said and not written.exists()
