"""`lakejoin search --batch`: many tables, those that fail, and files that are no tables."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pty
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.commands import OVERLAP
from lakejoin.errors import InputError


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "batch" / "sub").mkdir(parents=True)
    (here / "batch" / "a.csv").write_text("town\nBern\nOslo\n")
    (here / "batch" / "broken.csv").write_text("")
    (here / "batch" / "sub" / "b.tsv").write_text("code\tx\nCH\t1\nNO\t2\n")
    return here / "batch"


def lines_of(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_folder(folder: Path) -> None:
    result = OVERLAP.run("--batch", "batch", "--json")
    assert isinstance(result.exception, InputError)
    assert "1 of 3 searches failed" in str(result.exception)
    good, also, bad = lines_of(result)
    assert [good["query"]["table"], also["query"]["table"]] == ["batch/a.csv", "batch/sub/b.tsv"]
    assert good["results"][0]["matched"] == 2
    assert bad == {
        "query": {"table": "batch/broken.csv", "column": None, "columns": []},
        "error": "broken.csv: empty file",
    }
    shown = OVERLAP.run("--batch", "batch")
    assert "town of batch/a.csv (2 distinct values in 2 rows)" in shown.stdout
    assert "failed: broken.csv: empty file" in shown.stderr


def test_files_that_are_no_tables_are_passed_over(folder: Path) -> None:
    (folder / "broken.csv").unlink()
    for name in ("README.md", "load.py", "LICENSE"):
        (folder / name).write_text("May be used by all who like it\nas it is\n")
    (folder / "map.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with zipfile.ZipFile(folder / "more.zip", "w") as packed:
        packed.writestr("more.csv", "town\nBern\n")
        packed.writestr("NOTES.md", "where it is from")
    result = OVERLAP.run("--batch", "batch", "--json")
    assert result.exit_code == 0, result.output
    searched = [line["query"]["table"] for line in lines_of(result)]
    assert searched == ["batch/a.csv", "batch/more.zip#more.csv", "batch/sub/b.tsv"]
    assert result.stderr.splitlines() == [
        "skipped 5 non-table files: LICENSE, README.md, load.py, map.png, more.zip#NOTES.md"
    ]
    (folder / "sub" / "also.md").write_text("x")
    assert "map.png, more.zip#NOTES.md and 1 more" in OVERLAP.run("--batch", "batch").stderr
    # What is called a table and is none is broken.
    (folder / "page.csv").write_text("<!DOCTYPE html><html>404</html>")
    broken = OVERLAP.run("--batch", "batch", "--json")
    assert "1 of 4 searches failed" in str(broken.exception)
    assert lines_of(broken)[-1]["query"]["table"] == "batch/page.csv"


def test_a_folder_without_tables(here: Path) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "README.md").write_text("# Nothing\n")
    result = OVERLAP.run("--batch", "docs")
    assert str(result.exception) == "no tables found in docs"
    assert result.stderr.strip() == "skipped 1 file that is not a table: README.md"


def test_a_file_that_breaks_on_the_way(folder: Path) -> None:
    data = gzip.compress(("a\n" + "".join(f"v{i * i}\n" for i in range(20_000))).encode())
    (folder / "broken.csv").unlink()
    (folder / "cut.csv.gz").write_bytes(data[: len(data) // 2])
    result = OVERLAP.run("--batch", "batch", "--json")
    assert "1 of 3 searches" in str(result.exception)
    assert "damaged gzip data" in lines_of(result)[-1]["error"]


def test_a_glob_a_list_and_a_container(folder: Path, small_lake: Path) -> None:
    globbed = OVERLAP.run("--batch", "batch/**/*.tsv", "--json")
    assert [a["query"]["table"] for a in lines_of(globbed)] == ["batch/sub/b.tsv"]
    Path("list.txt").write_text("cities.csv\n\nbatch/a.csv\n")
    listed = OVERLAP.run("--batch", "@list.txt", "--skip-copies", "--json")
    assert listed.exit_code == 0
    assert [a["query"]["table"] for a in lines_of(listed)] == ["cities.csv", "batch/a.csv"]
    (folder / "broken.csv").unlink()
    every = OVERLAP.run("--batch", "batch", "--on", "*", "--json")
    assert [a["query"]["column"] for a in lines_of(every)] == ["town", "code", "x"]
    parts = OVERLAP.run("--batch", str(small_lake / "base.sqlite"), "--json")
    assert [a["query"]["table"] for a in lines_of(parts)] == [
        *(f"{small_lake / 'base.sqlite'}#{part}" for part in ("states", "towns")),
    ]


def test_lines_go_where_they_should_beside_a_progress_bar(folder: Path) -> None:
    """Standard error is a terminal with a bar on it, and standard output a file."""
    (folder / "broken.csv").unlink()
    master, slave = pty.openpty()
    said: list[bytes] = []
    reader = threading.Thread(target=drain, args=(master, said), daemon=True)
    reader.start()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "lakejoin",
            "overlap",
            "--batch",
            "batch",
            "--json",
        ],
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
