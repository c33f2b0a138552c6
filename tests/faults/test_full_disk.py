"""A file system that is really full: the index keeps its version, the server goes on answering."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lakejoin
from faults.small_lake import write_lake

_BYTES = 8 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system, on Linux")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_BYTES}", "lakejoin-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let us mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, left: int = 0) -> Path:
    """Write a file until nothing, or little, fits beside it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
        if left:
            file.truncate(max(file.tell() - left, 0))
    return filler


def _lakejoin(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lakejoin", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("left", [0, 16 << 10, 64 << 10])
def test_a_build_on_a_full_disk_leaves_the_old_version(
    small_disk: Path, tmp_path: Path, left: int
) -> None:
    lake, index = write_lake(tmp_path / "lake"), small_disk / "index"
    options = ("--index", index, "--with", "none", "--engine", "local")
    assert _lakejoin("index", lake, *options).returncode == 0
    before = [table.to_arrow() for table in lakejoin.open(index).tables()]
    write_lake(lake, tables=8, rows=3000, seed=2)
    filler = fill(small_disk, left)
    failed = _lakejoin("index", lake, *options)
    assert failed.returncode in (1, 5), failed.stderr
    assert "Traceback" not in failed.stderr
    assert "disk is full" in failed.stderr or "No space left" in failed.stderr, failed.stderr
    opened = lakejoin.open(index)
    assert [table.to_arrow() for table in opened.tables()] == before
    assert not [check for check in opened.snapshot.check() if check.problem]
    filler.unlink()
    assert _lakejoin("index", lake, *options).returncode == 0
    assert len(lakejoin.open(index).tables()) == 8
    assert not list(index.glob("*.draft")) and not (index / "scratch").exists()


def test_a_server_whose_store_is_full_goes_on_answering(small_disk: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from http_server.served import serving

    lake = write_lake(tmp_path / "lake")
    assert _lakejoin("index", lake, "--index", tmp_path / "index").returncode == 0
    table, other = "lake:towns_a0.csv", "lake:towns_b1.csv"
    on = [{"left": "code", "right": "code"}]
    upload = b"town,n\n" + b"".join(b"Town %d,%d\n" % (n, n) for n in range(2000))
    with serving(tmp_path / "index", small_disk / "store") as served:
        fill(small_disk)
        found = served.post("search", {"table": table, "k": 3})
        assert found["results"]
        assert served.get("rows", table=table)["total"] == 60
        assert served.post("join", {"left": table, "right": other, "on": on})["found"]
        status, error = served.problem(
            "POST", "uploads", params={"name": "mine.csv"}, content=upload
        )
        assert (status, error["kind"]) == (507, "full")
        assert str(small_disk) not in error["message"]
        (small_disk / "filler").unlink()
        assert served.upload("mine.csv", upload)["tables"][0]["rows"] == 2000
        again = served.post("search", {"table": table, "k": 3})
        assert again["results"] == found["results"]
        left = [path.name for path in (small_disk / "store").rglob("making-*")]
        assert left == [], "nothing half written stays"
