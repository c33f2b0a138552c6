"""One wheel serves every supported Python: installed from the registry into an empty environment,
it needs no numba, no home and nothing that it may write to, and gives the first joined table in
three commands."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from test_packaging import ROOT, make_wheel

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_wheel(ROOT, tmp_path_factory.mktemp("wheel"))
    if path.stem.endswith("none-any"):
        pytest.skip("there is no C compiler here, so the wheel has no compiled kernels")
    return path


def find_python(version: str) -> str | None:
    """An interpreter of this version that can make environments: one on the path, or of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    found = [f"python{version}", *map(str, sorted(root.glob(f"versions/{version}.*/bin/python")))]
    for python in found:
        asked = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
        try:
            done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        if done.stdout.strip() == version:
            return python
    return None


@pytest.fixture(scope="module", params=PYTHONS)
def python(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The Python of an environment that has the wheel, and what that depends on."""
    found = find_python(request.param)
    if found is None:
        pytest.skip(f"there is no Python {request.param} here that can make environments")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([found, "-m", "venv", str(folder)], check=True, capture_output=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution found" in done.stderr:
        pytest.skip(f"the registry has no wheels for Python {request.param}: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of somebody's own, and a table beside it."""
    ends = ("ham", "ton", "by", "ford", "dale")
    towns = [f"{a}{b}" for a in ("north", "south", "old", "new", "upper", "kings") for b in ends]
    lake = tmp_path / "lake"
    lake.mkdir()
    rows = [f"{town},land {n % 7},{n * 977}" for n, town in enumerate(towns)]
    (lake / "towns.csv").write_text("\n".join(["town,land,people", *rows, ""]))
    rulers = [f"land {n},ruler {n}" for n in range(7)]
    (lake / "lands.csv").write_text("\n".join(["land,ruler", *rulers, ""]))
    mine = [f"{town},{n}" for n, town in enumerate(towns[:20])]
    (tmp_path / "mine.csv").write_text("\n".join(["town,visits", *mine, ""]))
    return tmp_path


def installed_files(python: Path) -> Iterator[tuple[str, int, int]]:
    """All files of an environment, with size and time."""
    for path in sorted(python.parent.parent.rglob("*")):
        status = path.lstat()
        yield str(path), status.st_size, status.st_mtime_ns


def run(python: Path, folder: Path, *arguments: str) -> str:
    """What a command prints, where there is no home."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, "-m", "lakejoin", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "numba" not in done.stderr
    return done.stdout


def test_the_first_joined_table(python: Path, folder: Path) -> None:
    before = list(installed_files(python))
    run(python, folder, "index", "lake")
    found = json.loads(run(python, folder, "search", "mine.csv", "--json"))
    best = found["results"][0]["table"]
    run(python, folder, "join", "mine.csv", best, "-o", "joined.csv")
    assert best == "towns.csv"
    with (folder / "joined.csv").open(newline="") as file:
        joined = list(csv.DictReader(file))
    assert [row["visits"] for row in joined] == [str(n) for n in range(20)]
    assert [row["people"] for row in joined] == [str(n * 977) for n in range(20)]
    assert list(installed_files(python)) == before


@pytest.mark.parametrize(
    "command",
    [
        "info",
        "overlap mine.csv --on town",
        "containment mine.csv --on town",
        "composite mine.csv --on town --on visits",
        "union mine.csv",
        "paths mine.csv lands.csv",
        "relations lake",
        "check",
        "doctor",
    ],
)
def test_a_plain_installation_answers(python: Path, folder: Path, command: str) -> None:
    run(python, folder, "index", "lake")
    assert json.loads(run(python, folder, *command.split(), "--json")) is not None


def test_neither_numba_nor_pandas_is_installed(python: Path) -> None:
    script = (
        "from importlib.util import find_spec\n"
        "print(*(find_spec(one) for one in ('numba', 'llvmlite', 'pandas', 'pyspark')))\n"
        "from lakejoin.kernels import library\n"
        "print(library.processor)"
    )
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    none, processor = done.stdout.splitlines()
    assert none.split() == ["None"] * 4
    assert processor
