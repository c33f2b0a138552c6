"""What a command loads: only what it uses, so that it starts at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lakejoin
from fake_spark import FakeSpark

HEAVY = {
    *("pandas", "scipy", "sklearn", "duckdb", "wordllama", "numba", "llvmlite", "pyspark"),
    *("sqlglot", "polars", "matplotlib", "httpx", "fastapi", "mcp"),
}
# Runs a command and prints which modules it loaded.
RUN = """
import sys
from lakejoin.cli.main import main
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
print("loaded:", *sys.modules)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small lake with all parts, and its index."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "lake").mkdir()
    towns = [f"{name}{end}" for name in ("north", "south", "old") for end in ("ham", "ton", "by")]
    rows = "".join(f"{town},{n * 977},land {n % 3}\n" for n, town in enumerate(towns))
    (folder / "lake" / "towns.csv").write_text(f"town,people,land\n{rows}")
    (folder / "lake" / "lands.csv").write_text(
        "land,ruler\n" + "".join(f"land {n},ruler {n}\n" for n in range(3))
    )
    (folder / "mine.csv").write_text("town,visits\n" + "".join(f"{t},1\n" for t in towns[:7]))
    parts = ["meaning", "distance"]
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark(), parts=parts)
    return folder


def loaded_by(home: Path, *arguments: str) -> set[str]:
    """The libraries that a command loads."""
    return {name for name in modules_of(home, *arguments) if name in {*HEAVY, "pyarrow", "numpy"}}


def modules_of(home: Path, *arguments: str) -> set[str]:
    """The modules that a command loads."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].removeprefix("loaded:").split())


@pytest.mark.parametrize("command", ["--version", "--help", "info --index index"])
def test_info_needs_no_library(home: Path, command: str) -> None:
    assert loaded_by(home, *command.split()) == set()


def test_the_doctor_needs_nothing_but_what_the_kernels_do(home: Path) -> None:
    assert loaded_by(home, "doctor") == {"numpy"}


HELPED = "index compact info doctor search overlap join relations serve mcp"


@pytest.mark.parametrize("command", HELPED.split())
def test_help_needs_no_library(home: Path, command: str) -> None:
    assert loaded_by(home, command, "--help") == set()


def test_a_join_loads_neither_predicates_nor_readers_of_remote_files(home: Path) -> None:
    loaded = modules_of(home, "join", "mine.csv", "lake/towns.csv")
    assert not [one for one in loaded if one.startswith("lakejoin.joins.predicates")]
    assert not loaded & {"pyarrow.fs", "pyarrow.parquet", "pyarrow.dataset", "ssl"}


@pytest.mark.parametrize("command", ["overlap mine.csv --on town --index index", "index lake"])
def test_most_functions_of_arrow_are_never_made(home: Path, command: str) -> None:
    """`pyarrow.compute` writes the documentation of all functions that it makes."""
    script = f"{RUN}\nimport pyarrow.compute\nprint(len(vars(pyarrow.compute)))"
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()], cwd=home, capture_output=True, text=True
    )
    assert int(done.stdout.splitlines()[-1]) < 200, done.stderr


def test_a_search_loads_no_readers_of_remote_files(home: Path) -> None:
    loaded = modules_of(home, "search", "mine.csv", "--index", "index")
    assert not loaded & {"pyarrow.fs", "pyarrow.parquet", "pyarrow.dataset", "ssl"}


@pytest.mark.parametrize(
    "command",
    [
        "tables --index index",
        "show towns.csv --index index",
        "search mine.csv --index index",
        "overlap mine.csv --on town --index index",
        "containment mine.csv --on town --index index",
        "composite mine.csv --on town --on visits --index index",
        "similar mine.csv --on town --index index",
        "union mine.csv --index index",
        "paths mine.csv lands.csv --index index",
        "join mine.csv lake/towns.csv",
        "predicates mine.csv lake/towns.csv",
        "relations lake",
        "index lake --index new-index",
        "index lake --index index --full --with none --engine local",
        "compact --index index",
        "graph --index index",
    ],
)
def test_a_command_loads_no_library_that_it_does_not_use(home: Path, command: str) -> None:
    assert loaded_by(home, *command.split()) == {"numpy", "pyarrow"}
