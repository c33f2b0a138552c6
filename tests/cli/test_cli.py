"""The command line: what it prints, the keys of its JSON, and one sentence for every failure."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from conftest import Index
from lakejoin.cli.main import cli, main

SCREEN = 40  # lines
COMMANDS = [
    *("demo", "index", "compact", "info", "tables", "columns", "show", "skipped", "check"),
    *("history", "rollback"),
    "doctor",
    *("search", "union", "paths", "graph"),
    *("overlap", "containment", "composite", "similar", "nearby"),
    *("join", "predicates", "relations", "enrich", "serve", "mcp"),
]


def run(*arguments: str, **variables: str) -> Result:
    """Runs what `python -m lakejoin` runs, but in this process: starting one takes a second."""

    @click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def typed(words: tuple[str, ...]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["lakejoin", *words])
            main()

    return CliRunner(env=variables).invoke(typed, arguments)


def run_apart(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as a user's shell does."""
    return subprocess.run(
        [sys.executable, "-m", "lakejoin", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def answer(*arguments: str, **variables: str) -> Any:
    result = run(*arguments, "--json", **variables)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def fails(code: int, *arguments: str, **variables: str) -> str:
    """Runs a command that must fail with one sentence; gives the sentence."""
    result = run(*arguments, **variables)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    *progress, sentence = result.stderr.strip().splitlines()
    assert all(line.endswith("…") for line in progress), progress
    assert sentence.startswith("lakejoin: ")
    return sentence


@pytest.fixture
def home(lake: Path, index: Index, tmp_path: Path) -> str:
    index(lake)
    return str(tmp_path / "index")


def test_json_has_the_documented_keys(home: str) -> None:
    info = answer("info", "--index", home)
    assert {"tables", "columns", "rows", "cells", "values", "bytes", "segments", "version"} <= set(
        info
    )
    assert (info["tables"], info["columns"], info["rows"], info["version"]) == (5, 11, 12, 1)
    tables = answer("tables", "--index", home)["tables"]
    assert tables[2] == {"table": "cities.csv", "rows": 4, "columns": 3, "files": 1}
    assert [t["table"] for t in answer("tables", "SUB/*", "--index", home)["tables"]] == [
        "sub/codes.tsv",
        "sub/people.parquet",
    ]
    columns = answer("columns", "cities.csv", "--index", home)
    assert columns["dialect"]["delimiter"] == ","
    assert [c["column"] for c in columns["columns"]] == ["city", "country", "people"]
    assert columns["columns"][2]["type"] == "integer"
    assert columns["columns"][2]["nulls"] == 1
    show = answer("show", "cities.csv", "-n", "2", "--index", home)
    assert show["rows"] == [["Bern", "CH", "134000"], ["Zürich", "CH", "430000"]]
    assert show["total"] == 4
    assert answer("skipped", "--index", home)["skipped"][0]["name"] == "page.html"
    assert answer("check", "--index", home)["ok"] is True


def test_people_can_read_it(home: str) -> None:
    assert "distinct values" in run("info", LAKEJOIN_INDEX=home).stdout
    assert "cities.csv" in run("tables", "cit", "--index", home).stdout
    columns = run("columns", "sub/codes.tsv", "--index", home).stdout
    assert "delimiter '\\t'" in columns
    assert "Switzerland" in columns
    assert "Windhoek" in run("show", "cities.csv", "--index", home).stdout
    assert "not a table" in run("skipped", "--index", home).stdout
    assert "no problems found" in run("check", "--index", home).stdout
    assert "no table matches" in run("tables", "nothing*", "--index", home).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert 5 < len(result.stdout.splitlines()) <= SCREEN
    assert "--json" in result.stdout
    assert re.search(rf"^  {command} +\w", run("--help").stdout, re.M)


def test_the_list_of_commands_fits_on_a_screen() -> None:
    shown = run("--help").stdout.splitlines()
    assert len(shown) <= SCREEN and max(map(len, shown)) <= 80


def test_the_page_names_every_command_and_option() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## `lakejoin (\w+).*?`\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    context = click.Context(cli)
    assert list(sections) == cli.list_commands(context) == COMMANDS
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        named = set(re.findall(r"`(-[\w-]+)", sections[name]))
        options = {
            text
            for option in command.params
            if isinstance(option, click.Option)
            for text in (*option.opts, *option.secondary_opts)
        }
        assert named == options, name


def test_a_shell_sees_the_same(home: str) -> None:
    assert json.loads(run_apart("info", "--index", home, "--json").stdout)["tables"] == 5
    failed = run_apart("columns", "citis.csv", "--index", home)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == run("columns", "citis.csv", "--index", home).stderr


def test_failures_are_one_sentence(home: str, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    assert "no index at" in fails(3, "info", "--index", nowhere)
    assert "lakejoin index LAKE" in fails(3, "compact", "--index", nowhere)
    assert "cities.csv" in fails(2, "columns", "citis.csv", "--index", home)
    assert "missing.csv" in fails(2, "index", str(tmp_path / "missing.csv"), "--index", nowhere)
    assert "KEY=VALUE" in fails(2, "index", "--conf", "x", "--index", home)
    assert "--full" in fails(2, "index", "--values", "exact", "--index", home)
    assert "--full" in fails(2, "index", str(tmp_path), "--index", home)
    assert not Path(nowhere).exists(), "a build that made nothing leaves nothing"
    manifest = Path(home) / "MANIFEST.json"
    manifest.write_text(manifest.read_text()[:-20])
    assert "damaged" in fails(3, "info", "--index", home)


def test_check_names_the_damaged_segment(home: str) -> None:
    rows = next((Path(home) / "segments").glob("*/rows.lj"))
    data = bytearray(rows.read_bytes())
    data[20] ^= 1
    rows.write_bytes(bytes(data))
    result = run("check", "--index", home)
    assert result.exit_code == 3
    assert rows.parent.name in result.stderr
    assert "rows.lj" in result.stderr


def test_nothing_to_do_needs_no_spark(home: str) -> None:
    result = run("index", "--index", home, JAVA_HOME="/nowhere")
    assert result.exit_code == 0
    assert "up to date: 5 files unchanged" in result.stdout


def test_cells_are_never_read_as_markup(tmp_path: Path, index: Index) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "odd.csv").write_text('name,note\n[red]x[/],"a\nb"\n\x1b[31mr,[link=x]y\n')
    index(tmp_path / "lake")
    shown = run("show", "odd.csv", "--index", str(tmp_path / "index")).stdout
    assert "[red]x[/]" in shown
    assert "a⏎b" in shown
    assert "\x1b" not in shown


def test_what_the_reader_noted_is_kept(tmp_path: Path, index: Index) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "odd.csv").write_text("name,name,\r\nx,1,2\r\ny,3,4\r\n", newline="")
    index(tmp_path / "lake")
    home = str(tmp_path / "index")
    notes = answer("columns", "odd.csv", "--index", home)["notes"]
    assert len(notes) == 2
    assert "repeats the name 'name'; renamed to 'name_2'" in notes[0]
    shown = run("columns", "odd.csv", "--index", home).stdout
    assert all(f"note: {note}" in shown for note in notes)
    assert "CRLF line ends" in shown


def test_a_wide_table_says_what_it_leaves_out(tmp_path: Path, index: Index) -> None:
    (tmp_path / "lake").mkdir()
    names = ",".join(f"measure_{i}" for i in range(120))
    cells = "\n".join(",".join(f"{i}.{j}5" for i in range(120)) for j in range(3))
    (tmp_path / "lake" / "wide.csv").write_text(f"{names}\n{cells}\n")
    index(tmp_path / "lake")
    home = str(tmp_path / "index")
    head, _, *rows = run("show", "wide.csv", "--index", home).stdout.splitlines()
    shown = len(head.split())
    assert head.split()[:2] == ["measure_0", "measure_1"]
    assert 10 < shown < 120
    assert [row.split()[0] for row in rows[:3]] == ["0.05", "0.15", "0.25"]
    assert f"… and {120 - shown} more columns; --json shows all" in rows
    assert len(answer("show", "wide.csv", "--index", home)["columns"]) == 120


def test_a_closed_pipe_is_no_failure(home: str) -> None:
    result = subprocess.run(
        f"{sys.executable} -m lakejoin tables --json --index {home} | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in result.stderr
