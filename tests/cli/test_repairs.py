"""Repairs of a damaged index that a message prints are run, as printed, and work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands import Command
from cli.repairs import (
    cut_graph,
    cut_list_of_files,
    cut_manifest,
    flip_component,
    flip_manifest,
    folder_of,
    lose_everything_but_segments,
    lose_manifest,
    lose_segment,
    run_printed,
    stop_in_commit,
)
from lakejoin.errors import LakejoinError

INFO, INDEX, CHECK = Command("info"), Command("index"), Command("check")
GRAPH = Command("graph")


@pytest.mark.parametrize(
    "damage",
    [
        cut_manifest,
        flip_manifest,
        lose_manifest,
        lose_everything_but_segments,
        stop_in_commit,
        cut_list_of_files,
        lose_segment,
        flip_component,
        cut_graph,
    ],
)
def test_the_printed_repair_works(
    lake: Path, where: list[str], damage: Callable[[Path], None]
) -> None:
    INDEX.answer(str(lake), *where)
    if damage is cut_graph:
        assert GRAPH.run("--least", "1", *where).exit_code == 0
    before = INFO.answer(*where)["tables"]
    damage(folder_of(where))
    run_printed(_complaint(where), lake)
    assert INFO.answer(*where)["tables"] == before
    assert CHECK.run(*where).exit_code == 0
    INDEX.answer(*where)
    assert not list(folder_of(where).glob("*.draft"))


def _complaint(where: list[str]) -> str:
    """What `info` or `check` says about the index."""
    for command in (INFO, CHECK):
        result = command.run(*where)
        if result.exit_code != 0:
            shown = isinstance(result.exception, LakejoinError)
            return f"{result.output}\n{result.exception if shown else ''}"
    raise AssertionError("no command complains")


@pytest.mark.parametrize(
    ("made_with", "command"),
    [
        (["--with", "none"], ["nearby", "MINE", "--on", "people", "--within", "5"]),
        (["--with", "none"], ["similar", "MINE", "--on", "city"]),
        (["--with", "none"], ["info"]),
        ([], ["graph", "cities.csv"]),
        ([], ["overlap", "MINE", "--on", "share"]),
        ([], ["show", "zzzz"]),
    ],
)
def test_the_printed_way_out_works(
    lake: Path, where: list[str], tmp_path: Path, made_with: list[str], command: list[str]
) -> None:
    """Commands that want something else of an index say how to get it."""
    (tmp_path / "mine.csv").write_text("city,people,share\nBern,134000,0.5\nOslo,3,2.25\n")
    INDEX.answer(str(lake), *made_with, *where)
    name, *arguments = (str(tmp_path / "mine.csv") if a == "MINE" else a for a in command)
    result = Command(name).run(*arguments, *where)
    said = f"{result.output}\n{result.exception or ''}"
    run_printed(said, lake)


def test_costs_of_somebody_else_are_left_alone(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "costs.json").write_text('{"rent": 900}')
    assert "not an index" in INDEX.refused(str(lake), "--index", str(tmp_path / "mine"))
    assert (tmp_path / "mine" / "costs.json").read_text() == '{"rent": 900}'
