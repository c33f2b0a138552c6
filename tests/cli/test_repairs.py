"""Every repair of an index that a message prints is run, as printed, and works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import click
import pytest

import lakejoin
from cli.commands import Command
from fake_spark import FakeSpark
from lakejoin.cli.main import cli
from lakejoin.errors import LakejoinError
from lakejoin.spark import engine_choice, task_runner

INFO, INDEX, CHECK = Command("info"), Command("index"), Command("check")
GRAPH = Command("graph")


def cut_manifest(index: Path) -> None:
    whole = (index / "MANIFEST.json").read_bytes()
    (index / "MANIFEST.json").write_bytes(whole[:50])


def flip_manifest(index: Path) -> None:
    whole = (index / "MANIFEST.json").read_bytes()
    (index / "MANIFEST.json").write_bytes(whole.replace(b'"version":1', b'"version":7'))


def lose_manifest(index: Path) -> None:
    (index / "MANIFEST.json").unlink()


def stop_in_commit(index: Path) -> None:
    """As a first build leaves it that is killed while it writes its manifest."""
    (index / "MANIFEST.json").rename(index / "MANIFEST.json.4711.draft")
    (index / "costs.json").unlink(missing_ok=True)
    (index / "LOCK").write_text("{}")


def cut_list_of_files(index: Path) -> None:
    listed = next(index.glob("files-*.lj"))
    listed.write_bytes(listed.read_bytes()[:40])


def lose_segment(index: Path) -> None:
    for file in (index / "segments").rglob("*.lj"):
        file.unlink()


def lose_everything_but_segments(index: Path) -> None:
    for file in index.glob("*.json"):
        file.unlink()


def cut_graph(index: Path) -> None:
    graph = next(index.glob("graph-*.lj"))
    graph.write_bytes(graph.read_bytes()[:40])


def flip_component(index: Path) -> None:
    for file in (index / "segments").rglob("rows*.lj"):
        data = bytearray(file.read_bytes())
        data[len(data) // 3] ^= 255
        file.write_bytes(data)


@pytest.fixture(params=["default", "named"])
def where(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The options that name the index: none for the default one; any printed command has to work
    as it is printed, in the same working directory."""
    monkeypatch.setattr(task_runner, "open_session", lambda *_: nullcontext(FakeSpark()))
    monkeypatch.setattr(engine_choice, "LOCAL_BYTES", -1)
    monkeypatch.delenv("LAKEJOIN_INDEX", raising=False)
    monkeypatch.chdir(tmp_path)
    return [] if request.param == "default" else ["--index", str(tmp_path / "an index")]


def folder_of(where: list[str]) -> Path:
    return Path(where[1] if where else ".lakejoin").absolute()


def run_printed(said: str, lake: Path) -> None:
    """Run the command that a message ends with, as printed; only LAKE is a word to fill in."""
    printed = re.search(r"(?:with: |run |; )lakejoin ([a-z]+ ?(?:[^;\n]*))", said)
    assert printed, said
    command = re.sub(r" (adds|to) .*", "", printed[1])
    name, *arguments = shlex.split(command)
    result = Command(name).run(*(str(lake) if a == "LAKE" else a for a in arguments))
    assert result.exit_code == 0, (printed[0], result.output, result.exception)


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


def test_every_command_that_a_message_prints_exists() -> None:
    """A message of the sources that prints a command names one that exists, with options that it
    has."""
    sources = Path(lakejoin.__file__).parent
    printed = set()
    for path in sources.rglob("*.py"):
        text = path.read_text()
        printed |= set(
            re.findall(r"lakejoin ((?:index|graph|rollback|history) --[^\"'`;,]*)", text)
        )
        printed |= set(re.findall(r"""lakejoin_command\(\s*f?["']([^"']*)""", text))
    assert len(printed) > 10
    for command in printed:
        name, *rest = command.replace("{", " ").split()
        called = cli.get_command(click.Context(cli), name)
        assert called is not None, command
        known = {option for p in called.params for option in (*p.opts, *p.secondary_opts)}
        options = {word.rstrip(",.;:)") for word in rest if word.startswith("--")}
        assert options <= known, (command, options - known)


def test_costs_of_somebody_else_are_left_alone(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "costs.json").write_text('{"rent": 900}')
    assert "not an index" in INDEX.refused(str(lake), "--index", str(tmp_path / "mine"))
    assert (tmp_path / "mine" / "costs.json").read_text() == '{"rent": 900}'
