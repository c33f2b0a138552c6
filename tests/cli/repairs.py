"""Ways to damage an index, and how to run the command that a message prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from cli.commands import Command


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
