"""Every repair of an index that a message prints is run, as printed, and works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from cli.commands import Command
from fake_spark import FakeSpark
from lakejoin.errors import LakejoinError
from lakejoin.spark import engine_choice, task_runner

INFO, INDEX, CHECK = Command("info"), Command("index"), Command("check")


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


@pytest.mark.parametrize(
    "damage",
    [cut_manifest, flip_manifest, lose_manifest, stop_in_commit, cut_list_of_files, lose_segment],
)
def test_the_printed_repair_works(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(task_runner, "open_session", lambda *_: nullcontext(FakeSpark()))
    monkeypatch.setattr(engine_choice, "LOCAL_BYTES", -1)
    monkeypatch.chdir(tmp_path)
    INDEX.answer(str(lake))
    before = INFO.answer()["tables"]
    damage(tmp_path / ".lakejoin")
    said = _complaint()
    printed = re.search(r"with: lakejoin (index.*)", said)
    assert printed, said
    name, *arguments = shlex.split(printed[1].splitlines()[0])
    repaired = Command(name).run(*(str(lake) if a == "LAKE" else a for a in arguments))
    assert repaired.exit_code == 0, repaired.exception
    assert INFO.answer()["tables"] == before
    assert CHECK.run().exit_code == 0
    assert not list((tmp_path / ".lakejoin").glob("*.draft"))


def _complaint() -> str:
    """What `info` or `check` says about the index."""
    for command in (INFO, CHECK):
        result = command.run()
        if result.exit_code != 0:
            shown = isinstance(result.exception, LakejoinError)
            return f"{result.output}\n{result.exception if shown else ''}"
    raise AssertionError("no command complains")


def test_costs_of_somebody_else_are_left_alone(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "costs.json").write_text('{"rent": 900}')
    assert "not an index" in INDEX.refused(str(lake), "--index", str(tmp_path / "mine"))
    assert (tmp_path / "mine" / "costs.json").read_text() == '{"rent": 900}'
