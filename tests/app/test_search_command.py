"""`lakejoin search` from the shell: what it shows, its JSON, and one sentence for every failure."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pty
import shlex
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import lakejoin
from fake_spark import FakeSpark
from lakejoin.app.answers import Asked, print_answer, print_results
from lakejoin.app.cli import cli
from lakejoin.app.waiting import TOLD, patience
from lakejoin.errors import InputError, LakejoinError
from lakejoin.search.answer import Answer
from lakejoin.search.answer import Result as Found
from lakejoin.search.evidence import Evidence
from lakejoin.search.hits import Counters
from lakejoin.search.query import Query

KEYS = [
    *("rank", "table", "columns", "matched", "containment", "query_size", "column_size"),
    *("row_coverage", "fan_out", "examples", "copy", "estimate", "error"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small lake with a copy in it, indexed once into the folder beside it."""
    folder = tmp_path_factory.mktemp("search") / "lake"
    (folder / "sub").mkdir(parents=True)
    (folder / "cities.csv").write_text(
        "city,country,people\nBern,CH,134000\nZürich,CH,430000\nWindhoek,NA,431000\nOslo,NO,\n"
    )
    (folder / "copy.csv").write_bytes((folder / "cities.csv").read_bytes())
    (folder / "sub" / "codes.tsv").write_text(
        "code\tname\nCH\tSwitzerland\nNA\tNamibia\nNO\tNorway\n"
    )
    people = {"id": [1, 2, 3], "city": ["bern", "oslo", None], "share": [0.5, 1.0, 2.25]}
    pq.write_table(pa.table(people), folder / "sub" / "people.parquet")
    with sqlite3.connect(folder / "base.sqlite") as base:
        base.execute("create table towns (name text, code text)")
        base.executemany("insert into towns values (?, ?)", [("Thun", "CH"), ("Bergen", "NO")])
        base.execute("create table states (code text)")
        base.execute("insert into states values ('CH')")
    base.close()
    lakejoin.index(folder, folder.parent / "index", spark=FakeSpark())
    return folder


@pytest.fixture
def home(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lake's index as the usual one; we stand in a folder of our own."""
    monkeypatch.setenv("LAKEJOIN_INDEX", str(lake.parent / "index"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("town,n\n BERN,1\nBern,2\nOslo,3\nParis,4\n,5\n")
    return tmp_path


def run(*arguments: str, command: str = "search") -> Result:
    result = CliRunner().invoke(cli, [command, *arguments])
    if result.exception and not isinstance(result.exception, LakejoinError | SystemExit):
        raise result.exception
    return result


def answer(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


# -- what is found ---------------------------------------------------------------------------------


def test_json_has_the_documented_keys(home: Path) -> None:
    found = answer("mine.csv", "--on", "town", "-k", "3")
    assert list(found) == [
        *("query", "by", "k", "min", "results", "counters", "notes", "seconds"),
    ]
    assert found["query"] == {"table": "mine.csv", "column": "town", "size": 3, "rows": 5}
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


def test_a_table_of_the_lake_knows_itself(home: Path) -> None:
    found = answer("cities.csv", "--on", "city")
    assert {r["table"]: r["copy"] for r in found["results"]} == {
        "cities.csv": "itself",
        "copy.csv": "copy",
        "sub/people.parquet": "",
    }
    others = answer("cities.csv", "--on", "city", "--others")
    assert [r["table"] for r in others["results"]] == ["sub/people.parquet"]
    assert "left out" in others["notes"][0]


def test_columns_by_place_by_default_and_all(home: Path) -> None:
    assert answer("mine.csv", "--on", "0")["query"]["column"] == "town"
    chosen = answer("mine.csv")
    assert chosen["query"]["column"] == "town"
    assert "no column was named: 'town' is taken" in chosen["notes"][0]
    every = answer("mine.csv", "--on", "*")
    assert [a["query"]["column"] for a in every["answers"]] == ["town", "n"]


@pytest.mark.parametrize("algorithm", ["auto", "stopping", "merge", "probe", "josie"])
def test_every_algorithm_gives_the_same(home: Path, algorithm: str) -> None:
    found = answer("cities.csv", "--on", "country", "--algorithm", algorithm)
    assert [(r["table"], r["matched"]) for r in found["results"]] == [
        ("cities.csv", 3),
        ("copy.csv", 3),
        ("sub/codes.tsv", 3),
        ("base.sqlite#towns", 2),
        ("base.sqlite#states", 1),
    ]


def test_containment(home: Path) -> None:
    found = answer("mine.csv", "--on", "town", "--by", "containment")
    assert (found["min"], found["k"]) == (0.6, None)
    assert {r["table"] for r in found["results"]} == {
        "cities.csv",
        "copy.csv",
        "sub/people.parquet",
    }
    assert all(r["estimate"] is not None for r in found["results"])
    assert answer("mine.csv", "--on", "town", "--by", "containment", "--min", "1")["results"] == []
    best = answer("mine.csv", "--on", "town", "--by", "containment", "-k", "1")
    assert (best["k"], len(best["results"])) == (1, 1)
    rough = answer("mine.csv", "--on", "town", "--by", "containment", "--unverified")
    for result in rough["results"]:
        assert result["row_coverage"] is result["fan_out"] is None
        assert result["error"] is not None


def test_nothing_found_is_said(home: Path) -> None:
    (home / "strange.csv").write_text("what\nxyzzy\nplugh\n")
    found = answer("strange.csv", "--on", "what")
    assert found["results"] == []
    assert "none of the 2 values of 'what' is in any searched column" in found["notes"][0]
    shown = run("strange.csv", "--on", "what").output
    assert "note: none of the 2 values" in shown
    assert "lakejoin join" not in shown


# -- what people see -------------------------------------------------------------------------------


def test_the_answer_at_a_glance(home: Path) -> None:
    shown = run("mine.csv").output
    head, note, _, heads, _, first, examples, *_ = shown.splitlines()
    assert head == (
        "town of mine.csv (3 distinct values in 5 rows): "
        "the 10 columns of 6 tables that share the most"
    )
    assert note.startswith("note: no column was named")
    assert heads.split()[:5] == ["#", "table", "column", "matched", "contained"]
    assert first.split()[:3] == ["1", "sub/people.parquet", "city"]
    assert "2 of 3" in first and "67%" in first and "60%" in first and "x0.60" in first
    assert "✓  BERN · Oslo   ✗ Paris" in examples


def test_the_command_beneath_makes_the_join(home: Path) -> None:
    (home / "mine.csv").rename(home / "it's mine.csv")
    for table in ("it's mine.csv", "cities.csv"):
        shown = run(table, "--on", "0").output
        line = next(line for line in shown.splitlines() if "lakejoin join" in line)
        words = shlex.split(line)
        assert words[:3] == ["lakejoin", "join", table]
        assert words[3] not in ("cities.csv", "copy.csv") or table != "cities.csv"
        made = run(*words[2:], command="join")
        assert made.exit_code == 0, made.output
        assert Path("joined.csv").read_text().count("\n") > 1
        Path("joined.csv").unlink()


@pytest.mark.parametrize(
    ("table", "column"), [("mine.csv", "town"), ("cities.csv", "country"), ("cities.csv", "people")]
)
def test_the_join_keeps_what_the_search_promised(home: Path, table: str, column: str) -> None:
    found = answer(table, "--on", column)["results"]
    assert found
    for result in found:
        pair = f"{column}={result['columns'][0]}"
        made = run(table, result["table"], "--on", pair, "--json", command="join")
        joined = json.loads(made.stdout)
        assert joined["fan_out"] == pytest.approx(result["fan_out"])
        assert joined["left_joined"] / joined["left_rows"] == pytest.approx(result["row_coverage"])


def test_names_with_an_equals_sign_are_joined_by_place(home: Path, lake: Path) -> None:
    (home / "odd.csv").write_text("n,a=b\n1,Bern\n2,Oslo\n")
    shown = run("odd.csv", "--on", "a=b", "--index", str(lake.parent / "index")).output
    line = next(line for line in shown.splitlines() if "lakejoin join" in line)
    words = shlex.split(line)
    assert words[words.index("--on") + 1].startswith("1=")
    assert words[-2:] == ["--index", str(lake.parent / "index")]
    assert run(*words[2:], command="join").exit_code == 0


def test_one_result_in_full(home: Path) -> None:
    whole = answer("mine.csv", "--on", "town")
    rank = next(r["rank"] for r in whole["results"] if r["table"] == "cities.csv")
    shown = run("mine.csv", "--on", "town", "--explain", str(rank)).output
    lines = [line.split() for line in shown.splitlines()]
    assert ["BERN", "2", "1"] in lines and ["Oslo", "1", "1"] in lines
    assert ["Paris", "1"] in lines
    assert "SELECT" in shown and "lakejoin join mine.csv cities.csv --on town=city" in shown
    assert "of the index in 1 segment" in shown
    full = answer("mine.csv", "--on", "town", "--explain", str(rank))
    assert list(full) == [
        *("query", "result", "matches", "unmatched", "counters", "seconds", "sql", "join"),
    ]
    assert full["result"] == whole["results"][rank - 1]
    assert full["matches"] == [
        {"value": " BERN", "mine": 2, "theirs": 1},
        {"value": "Oslo", "mine": 1, "theirs": 1},
    ]
    assert full["unmatched"] == [{"value": "Paris", "mine": 1}]
    assert full["join"].startswith("lakejoin join mine.csv cities.csv --on town=city")


def test_every_column_in_one_page(home: Path) -> None:
    shown = run("cities.csv", "--on", "*", "--others").output
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
    print_answer(screen, answer, Asked("mine.csv", None, 7))
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 110, 140, 200])
def test_it_fits_every_screen(width: int) -> None:
    results = tuple(found(i, f"{'long/' * 30}{i}.csv", 10.0**i) for i in range(1, 4))
    answer = Answer(query(), results, k=3)
    file = StringIO()
    print_results(Console(file=file, width=width, highlight=False), answer)
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
    assert "the columns of 7 tables that contain at least 50% of them" in shown
    assert "~3 of 5" in shown and "60% ±5%" in shown
    assert "✓" not in shown


def test_many_results_are_counted() -> None:
    answer = Answer(query(), tuple(found(i + 1) for i in range(45)), by="containment", min=0.5)
    assert "… and 5 more; --json shows all" in printed(answer, 150)
    assert "… and" not in printed(replace(answer, k=45), 150)


def test_itself_is_not_joined() -> None:
    itself, copy = found(1, copy="itself"), found(2, "copy.csv", copy="copy")
    both = Answer(query(), (itself, copy), k=2)
    assert "(itself)" in printed(both, 150) and "number 2" in printed(both, 150)
    assert "lakejoin join" not in printed(replace(both, results=(itself,)), 150)


def test_what_it_took_is_told() -> None:
    counters = Counters(2, 40, 3, 9, 4, 5, 12_000, {"stopping": 2})
    shown = printed(Answer(query(), (found(1),), k=1, counters=counters, seconds=0.012), 150)
    assert (
        "12 ms: 3 of 40 posting lists read, 4 columns opened, 5 ruled out unopened, "
        "12.0 kB of the index, stopping"
    ) in shown


def test_a_long_wait_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with patience(after=60):
        pass
    assert capsys.readouterr().err == ""
    with patience(after=0.0):
        for _ in range(500):
            time.sleep(0.01)
            if said := capsys.readouterr().err:
                break
    assert said.strip() == TOLD


# -- many tables -----------------------------------------------------------------------------------


@pytest.fixture
def folder(home: Path) -> Path:
    (home / "batch" / "sub").mkdir(parents=True)
    (home / "batch" / "a.csv").write_text("town\nBern\nOslo\n")
    (home / "batch" / "broken.csv").write_text("")
    (home / "batch" / "sub" / "b.tsv").write_text("code\tx\nCH\t1\nNO\t2\n")
    return home / "batch"


def lines_of(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_folder(folder: Path) -> None:
    result = run("--batch", "batch", "--json")
    assert isinstance(result.exception, InputError)
    assert "1 of 3 tables could not be searched with" in str(result.exception)
    good, also, bad = lines_of(result)
    assert [good["query"]["table"], also["query"]["table"]] == ["batch/a.csv", "batch/sub/b.tsv"]
    assert good["results"][0]["matched"] == 2
    assert bad == {
        "query": {"table": "batch/broken.csv", "column": None},
        "error": "broken.csv: empty file",
    }
    shown = run("--batch", "batch")
    assert "town of batch/a.csv (2 distinct values in 2 rows)" in shown.stdout
    assert "not searched: broken.csv: empty file" in shown.stderr


def test_a_file_that_breaks_on_the_way(folder: Path) -> None:
    data = gzip.compress(("a\n" + "".join(f"v{i * i}\n" for i in range(20_000))).encode())
    (folder / "broken.csv").unlink()
    (folder / "cut.csv.gz").write_bytes(data[: len(data) // 2])
    result = run("--batch", "batch", "--json")
    assert "1 of 3 tables" in str(result.exception)
    assert "damaged gzip data" in lines_of(result)[-1]["error"]


def test_a_glob_a_list_and_a_container(folder: Path, lake: Path) -> None:
    globbed = run("--batch", "batch/**/*.tsv", "--json")
    assert [a["query"]["table"] for a in lines_of(globbed)] == ["batch/sub/b.tsv"]
    Path("list.txt").write_text("cities.csv\n\nbatch/a.csv\n")
    listed = run("--batch", "@list.txt", "--others", "--json")
    assert listed.exit_code == 0
    assert [a["query"]["table"] for a in lines_of(listed)] == ["cities.csv", "batch/a.csv"]
    (folder / "broken.csv").unlink()
    every = run("--batch", "batch", "--on", "*", "--json")
    assert [a["query"]["column"] for a in lines_of(every)] == ["town", "code", "x"]
    parts = run("--batch", str(lake / "base.sqlite"), "--json")
    assert [a["query"]["table"] for a in lines_of(parts)] == [
        *(f"{lake / 'base.sqlite'}#{part}" for part in ("states", "towns")),
    ]


def test_lines_go_where_they_should_beside_a_progress_bar(folder: Path) -> None:
    """Standard error is a terminal with a bar on it, and standard output a file."""
    (folder / "broken.csv").unlink()
    master, slave = pty.openpty()
    said: list[bytes] = []
    reader = threading.Thread(target=drain, args=(master, said), daemon=True)
    reader.start()
    done = subprocess.run(
        [sys.executable, "-m", "lakejoin", "search", "--batch", "batch", "--json"],
        stdout=subprocess.PIPE,
        stderr=slave,
        timeout=240,
        check=False,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(slave)
    reader.join(10)
    os.close(master)
    assert done.returncode == 0, b"".join(said)
    assert len(done.stdout.splitlines()) == 2
    assert b"searching with" in b"".join(said)


def drain(terminal: int, into: list[bytes]) -> None:
    """Reads a terminal to its end, so that who writes to it never has to wait."""
    with contextlib.suppress(OSError):  # how the end of a terminal is told
        while part := os.read(terminal, 1 << 16):
            into.append(part)


# -- what is refused -------------------------------------------------------------------------------


def test_failures_are_one_sentence(home: Path, tmp_path: Path) -> None:
    assert "did you mean 'town'" in refused("mine.csv", "--on", "twon")
    assert "no file citis.csv" in refused("citis.csv")
    assert "cities.csv" in refused("citis.csv")
    assert "one TABLE, or --batch" in refused()
    assert "one TABLE, or --batch" in refused("mine.csv", "--batch", "x")
    assert "--by containment" in refused("mine.csv", "--unverified")
    assert "there is no result 99" in refused("mine.csv", "--on", "town", "--explain", "99")
    assert "one --on" in refused("mine.csv", "--on", "*", "--explain", "1")
    assert "no file or folder" in refused("--batch", "nowhere")
    assert "cannot read the list" in refused("--batch", "@nowhere")
    (home / "nulls.csv").write_text("a,b\nn/a,1\n,2\n")
    assert "has no values" in refused("nulls.csv", "--on", "a")
    (home / "empty.csv").write_text("")
    assert "empty file" in refused("empty.csv")
    assert "no index at" in str(run("mine.csv", "--index", str(tmp_path / "no")).exception)
    assert run("mine.csv", "-k", "0").exit_code == 2
    assert run("mine.csv", "--min", "1.5").exit_code == 2


def test_it_teaches() -> None:
    shown = run("--help").output
    assert shown.count("lakejoin search ") >= 3
