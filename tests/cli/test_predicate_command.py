"""`lakejoin predicate`, `lakejoin predicates` and `join --prefer` from the shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import lakejoin
from cli.commands import JOIN, PREDICATES, RELATIONS
from conftest import Index
from lakejoin.errors import NoJoin

PEOPLE = """ID,Tel,Name,Home,Clerk
P1,001,Alice,Main St.,Steve
P2,002,Alice,Royal Rd.,Steve
P3,003,Bob,Robson St.,Ada
P4,004,Lucy,Univ Dr.,Steve
P5,005,Steve,Main St.,Steve
P6,006,Tom,Beta Ave.,Steve
"""
ORDERS = """ID,Client,Address,Tel,Date,Manager
O1,Alice,Main St.,001,Apr 1,Steve
O2,Bob,Royal Rd.,010,Apr 1,Alice
O3,Bob,Robson St.,003,Apr 2,Steve
O4,Alice,Main St.,001,Apr 3,Steve
O5,Tom,Beta Ave.,006,Apr 4,Steve
O6,Peter,Main St.,011,Apr 5,Alice
"""


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LAKEJOIN_INDEX", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "orders.csv").write_text(ORDERS)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "database"
    folder.mkdir()
    (folder / "people.csv").write_text(PEOPLE)
    items = "".join(f"I{n},O{n % 6 + 1},thing {n}\n" for n in range(20))
    (folder / "items.csv").write_text(f"item_id,order_id,what\n{items}")
    (folder / "orders.csv").write_text(ORDERS.replace("ID,Client", "order_id,Client"))
    return folder


def test_json() -> None:
    found = PREDICATES.answer("people.csv", "orders.csv", "--prefer", "coverage", "-n", "2")
    assert list(found) == ["tables", "prefer", "predicates", "looked_at", "complete", "notes"]
    assert found["tables"][0] == {"table": "people.csv", "rows": 6, "columns": 5}
    assert len(found["predicates"]) == 2 and found["complete"]
    best = found["predicates"][0]
    assert list(best) == [
        *("pairs", "enough", "scores", "inner_rows", "outer_rows", "groups", "entropy"),
        *("involved", "columns", "first", "command", "notes"),
    ]
    assert best["pairs"] == [["Home", "Address"]]
    assert (best["inner_rows"], best["outer_rows"], best["groups"]) == (9, 10, 4)
    assert best["scores"]["coverage"] == 11
    assert best["involved"] == [5, 6]
    assert len(best["first"]) == 3 and len(best["first"][0]) == len(best["columns"]) == 11
    assert "multiplied" in best["notes"][0]


def test_an_alias_is_the_same() -> None:
    named, alias = (
        PREDICATES.answer("people.csv", "orders.csv", "--prefer", one) for one in ("strength", "h5")
    )
    assert named == alias


def test_people_can_read_it_and_paste_it() -> None:
    shown = PREDICATES.run("people.csv", "orders.csv").output
    assert "best for compact: the smallest merged table" in shown
    assert "1. Tel = Tel and Name = Client and Home = Address" in shown
    assert "the same join by Tel = Tel" in shown
    assert "coverage 7, groups 3, compact 3, balanced 1.500, strength 0.700" in shown
    assert "inner join 4 rows, full outer join 9; 3 groups, entropy 1.50 bits" in shown
    assert "3 of 6 rows of people.csv, 4 of 6 rows of orders.csv" in shown
    head = next(line for line in shown.splitlines() if "Clerk" in line and "Date" in line)
    assert head.split()[:3] == ["Tel", "Tel_right", "ID"], "what makes the join, then the rest"
    words = shlex.split(shown.strip().splitlines()[-1])
    assert words[:2] == ["lakejoin", "join"]
    assert JOIN.run(*words[2:]).exit_code == 0
    assert len(Path("joined.csv").read_text().splitlines()) == 5


def test_names_that_would_be_misread_are_places() -> None:
    Path("a.csv").write_text("a=b,c\n1,x\n2,y\n")
    Path("b.csv").write_text("b=c,d\n1,p\n2,q\n")
    found = PREDICATES.answer("a.csv", "b.csv")
    words = shlex.split(found["predicates"][0]["command"])
    assert "0=0" in words
    assert JOIN.answer(*words[2:])["on"] == [{"left": "a=b", "right": "b=c"}]


def test_code() -> None:
    code = PREDICATES.run("people.csv", "orders.csv", "--code", "polars").output
    names: dict[str, object] = {"lakejoin": lakejoin}
    exec(code.replace("# joined = ", "joined = "), names)
    assert len(names["joined"]) == 4  # type: ignore[arg-type]
    found = PREDICATES.answer("people.csv", "orders.csv", "--code", "sql")
    assert 'l."Tel" = r."Tel"' in found["code"]


def test_more_than_two_tables() -> None:
    Path("items.csv").write_text("order,what\nO1,pen\nO1,ink\nO5,pad\nO9,cap\n")
    found = PREDICATES.answer("people.csv", "orders.csv", "items.csv", "--code", "sql")
    best = found["predicates"][0]
    assert [["orders.csv", "ID"], ["items.csv", "order"]] in best["pairs"]
    assert best["command"] is None
    with duckdb.connect() as con:
        for number, name in enumerate(("people", "orders", "items"), start=1):
            read = lakejoin.read(f"{name}.csv")
            assert not isinstance(read, list)
            con.register(f"table_{number}", read.to_arrow())
        assert len(con.sql(found["code"]).fetchall()) == best["inner_rows"]
    shown = PREDICATES.run("people.csv", "orders.csv", "items.csv").output
    assert "orders.ID = items.order" in shown
    assert "--code sql, pandas, polars or pyspark" in shown
    pandas = PREDICATES.run("people.csv", "orders.csv", "items.csv", "--code", "pandas").output
    names: dict[str, object] = {"lakejoin": lakejoin}
    exec(pandas.replace("# joined = ", "joined = "), names)
    assert len(names["joined"]) == best["inner_rows"]  # type: ignore[arg-type]


def test_tables_of_the_lake(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    home = "--index", str(tmp_path / "index")
    stored = PREDICATES.answer("cities.csv", "sub/codes.tsv", *home)
    files = PREDICATES.answer(str(lake / "cities.csv"), str(lake / "sub" / "codes.tsv"))
    for one, other in zip(stored["predicates"], files["predicates"], strict=True):
        assert {**one, "command": None} == {**other, "command": None}
    assert stored["predicates"][0]["pairs"] == [["country", "code"]]
    assert str(tmp_path / "index") in stored["predicates"][0]["command"]
    assert "did you mean cities.csv" in PREDICATES.refused("citis.csv", "people.csv", *home)


def test_no_predicate() -> None:
    Path("other.csv").write_text("a,b\n1,2\n")
    Path("empty.csv").write_text("a,b\n")
    none = PREDICATES.run("people.csv", "other.csv")
    assert none.exit_code == 1 and isinstance(none.exception, NoJoin)
    assert str(none.exception) == "no predicate joins these tables: they have no value in common"
    told = PREDICATES.run("people.csv", "other.csv", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["predicates"] == []
    empty = PREDICATES.run("people.csv", "empty.csv").exception
    assert "empty.csv has no rows" in str(empty)
    joined = JOIN.run("people.csv", "other.csv", "--prefer", "compact", "--json")
    assert joined.exit_code == 1
    assert json.loads(joined.stdout)["found"] is False


def test_wrong_input_is_one_sentence(database: Path) -> None:
    assert "name another one" in PREDICATES.refused("people.csv")
    assert "there is no file nowhere.csv" in PREDICATES.refused("people.csv", "nowhere.csv")
    wrong = PREDICATES.refused("people.csv", "orders.csv", "--prefer", "best")
    assert "coverage (h1), groups (h2), compact (h3)" in wrong
    assert "at least one predicate" in PREDICATES.refused("people.csv", "orders.csv", "-n", "0")
    both = PREDICATES.run("people.csv", "people.csv").output
    assert "note: people.csv is joined with itself" in both


def test_a_file_without_names() -> None:
    Path("plain.csv").write_text("001,9.5\n003,8.25\n006,7.75\n")
    found = PREDICATES.answer("people.csv", "plain.csv")
    assert [pair[0] for pair in found["predicates"][0]["pairs"]] == ["Tel"]


def test_what_reading_lost_is_told(index: Index, tmp_path: Path) -> None:
    bad = Path("lost/bad.csv")
    bad.parent.mkdir()
    bad.write_text("k,v\n001,2\n002,3\n003,4,5,6\n006,5\n")
    lost = "reading {}: row with too many cells, repaired (1 time)"
    assert lost.format(bad) in PREDICATES.run("people.csv", str(bad)).output
    assert PREDICATES.answer("people.csv", str(bad))["notes"] == [lost.format(bad)]
    assert lost.format(bad) in lakejoin.predicates("people.csv", bad).notes
    index(tmp_path / "lost")
    home = "--index", str(tmp_path / "index")
    stored = PREDICATES.answer("bad.csv", "bad.csv", *home)
    assert stored["notes"] == ["bad.csv is joined with itself", lost.format("bad.csv")]


def test_a_search_that_is_cut_short_is_told() -> None:
    found = PREDICATES.answer("people.csv", "orders.csv", "--most", "1")
    assert not found["complete"] and "cut short" in found["notes"][0]
    assert "--most 0" in found["notes"][0]
    assert PREDICATES.answer("people.csv", "orders.csv", "--most", "0")["complete"]


@pytest.mark.parametrize("option", ["--most", "--rows"])
def test_counts_are_not_below_zero(option: str) -> None:
    wrong = PREDICATES.run("people.csv", "orders.csv", option, "-1")
    assert wrong.exit_code == 2 and f"Invalid value for '{option}'" in wrong.output


def test_join_by_a_preference() -> None:
    found = JOIN.answer("people.csv", "orders.csv", "--prefer", "coverage", "--how", "full")
    assert found["on"] == [{"left": "Home", "right": "Address"}]
    assert (found["rows"], found["prefer"], found["scores"]["coverage"]) == (10, "coverage", 11)
    assert "multiplies rows" in found["warnings"][0] and found["notes"] == []
    shown = JOIN.run("people.csv", "orders.csv", "--prefer", "h3").output
    assert "inner join on Tel = Tel and Name = Client and Home = Address: 4 rows" in shown
    assert "lakejoin join people.csv orders.csv --prefer h3 -o joined.csv" in shown
    assert JOIN.answer("people.csv", "orders.csv", "--prefer", "h3", "-o", "out.csv")["rows"] == 4
    assert "FROM" in JOIN.run("people.csv", "orders.csv", "--prefer", "h3", "--code", "sql").output
    both = JOIN.refused("people.csv", "orders.csv", "--prefer", "h3", "--on", "Tel")
    assert "use one of them" in both
    unknown = JOIN.refused("people.csv", "orders.csv", "--prefer", "h3", "--on", "no=none")
    assert unknown == both, "before columns are looked for"
    by = JOIN.refused("people.csv", "orders.csv", "--prefer", "h3", "--by", "fuzzy")
    assert "cannot be combined with --by fuzzy" in by
    assert JOIN.answer("people.csv", "orders.csv", "--prefer", "h3", "--by", "equal")["rows"] == 4


def test_relations_of_a_folder(database: Path) -> None:
    found = RELATIONS.answer("database")
    assert list(found) == ["tables", "relations", "notes"]
    assert found["tables"] == ["items.csv", "orders.csv", "people.csv"]
    one = found["relations"][0]
    assert list(one) == [
        *("table", "columns", "key_table", "key_columns", "rows", "values", "missing", "keys"),
        *("score", "why"),
    ]
    assert (one["table"], one["columns"]) == ("items.csv", ["order_id"])
    assert (one["key_table"], one["rows"], one["missing"]) == ("orders.csv", 20, 0)
    shown = RELATIONS.run("database").output
    assert "items.csv(order_id)" in shown and "among 3 tables" in shown
    drawn = RELATIONS.run("database", "--diagram", "mermaid").output
    assert drawn.startswith("erDiagram\n") and 't1 }o--|| t2 : "order_id = order_id"' in drawn
    assert RELATIONS.run("database", "--diagram", "graphviz").output.startswith("digraph")
    assert RELATIONS.answer("database", "--diagram", "graphviz")["diagram"].endswith("}")


def test_relations_of_the_lake(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    found = RELATIONS.answer("--index", str(tmp_path / "index"))
    assert len(found["tables"]) == 5
    assert "no index" in str(RELATIONS.run().exception)


def test_relations_of_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert "there is no table in none" in RELATIONS.refused("none")
    assert "there is no file or folder nowhere" in RELATIONS.refused("nowhere")
    assert "there is only people.csv" in RELATIONS.refused("people.csv")
    (tmp_path / "bad.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    assert "bad.sqlite" in RELATIONS.refused("bad.sqlite")


def test_stopped_it_says_so(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored\n"
        "from lakejoin.joins.predicates import join_predicate\n"
        "join_predicate.find_predicates = lambda *given: os.kill(os.getpid(), signal.SIGINT)\n"
        "from lakejoin.cli.main import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, "predicates", "people.csv", "orders.csv"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    said = done.stderr.splitlines()[-1]
    assert said == "lakejoin: the search was stopped; nothing was changed"
    assert "Traceback" not in done.stderr
