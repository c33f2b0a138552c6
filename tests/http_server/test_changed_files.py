"""Files that are changed in place under a server: it never ends, and never answers wrongly."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from http_server.served import Served, serving

READS = [
    ("GET", "rows", {"params": {"table": "lake:stations.csv"}}),
    ("GET", "table", {"params": {"table": "lake:sub/delays.csv"}}),
    ("GET", "tables", {}),
    ("GET", "distribution", {"params": {"table": "lake:stations.csv", "column": 2}}),
    ("GET", "export", {"params": {"table": "lake:sub/visits.parquet"}}),
    ("POST", "search", {"json": {"table": "lake:sub/delays.csv", "by": "overlap",
                                 "on": ["station"]}}),
]  # fmt: skip


@pytest.fixture
def index(served_lake: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "index"
    shutil.copytree(served_lake.parent / "index", copied)
    return copied


@pytest.fixture
def changed(index: Path, tmp_path: Path) -> Iterator[Served]:
    with serving(index, tmp_path / "store", "--workers", "1") as server:
        yield server


def ask(server: Served) -> list[Any]:
    """What each of the questions gives, without times; None if it is refused with a sentence."""
    answers: list[Any] = []
    for method, path, more in READS:
        answer = server.http.request(method, f"/api/v1/{path}", **more)  # type: ignore[arg-type]
        if answer.status_code != 200:
            assert answer.status_code == 500, answer.text
            assert answer.json()["error"]["message"]
            answers.append(None)
            continue
        found = answer.text if path == "export" else answer.json()
        if path == "search":
            found = [{**result, "examples": None} for result in found["results"]]
        answers.append(found)
    assert server.process.poll() is None
    return answers


def forget(server: Served) -> None:
    """Remove stored answers, so that each question is answered from the index."""
    for path in (server.store / "answers").iterdir():
        path.unlink(missing_ok=True)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(random.Random(path.name).randbytes(path.stat().st_size))


def swap(path: Path) -> None:
    """Change a few bytes only, as other values would."""
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data.replace(b"a", b"e"))


@pytest.mark.parametrize("change", [cut, overwrite, swap])
def test_no_change_of_a_file_is_answered_from(changed: Served, index: Path, change: Any) -> None:
    right = ask(changed)
    assert None not in right
    refused = 0
    for path in sorted(index.rglob("*.lj")):
        data = path.read_bytes()
        forget(changed)
        change(path)
        answers = ask(changed)
        assert all(a in (b, None) for a, b in zip(answers, right, strict=True)), path.name
        refused += answers.count(None)
        path.write_bytes(data)
        forget(changed)
        ask(changed)  # notices that it was changed again, and opens it again
        assert ask(changed) == right
    assert refused > 10


def test_changes_while_it_answers(changed: Served, index: Path) -> None:
    """Files are cut and mended all the time, whatever the server is doing."""
    right = ask(changed)
    files, stop = sorted(index.rglob("*.lj")), threading.Event()

    def damage() -> None:
        chosen = random.Random(3)
        while not stop.is_set():
            path = chosen.choice(files)
            data = path.read_bytes()
            chosen.choice([cut, overwrite, swap])(path)
            stop.wait(chosen.random() * 0.02)
            path.write_bytes(data)

    thread = threading.Thread(target=damage)
    thread.start()
    try:
        for _ in range(8):
            forget(changed)
            answers = ask(changed)
            assert all(a in (b, None) for a, b in zip(answers, right, strict=True))
    finally:
        stop.set()
        thread.join()
    for _ in range(3):
        answers = ask(changed)
    assert answers == right


def test_files_of_the_lake_may_change(
    served_lake: Path, index: Path, changed: Served, tmp_path: Path
) -> None:
    right = ask(changed)
    kept = tmp_path / "kept"
    shutil.copytree(served_lake, kept)
    try:
        for path in served_lake.rglob("*.*"):
            overwrite(path)
            cut(path)
        forget(changed)
        assert ask(changed) == right
    finally:
        shutil.copytree(kept, served_lake, dirs_exist_ok=True)
