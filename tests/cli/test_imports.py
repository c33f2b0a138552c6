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
# Runs a command and prints which of the libraries it loaded.
RUN = """
import sys
from lakejoin.cli.main import main
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
roots = {name.partition(".")[0] for name in sys.modules}
print("loaded:", *sorted(roots & set(sys.argv.pop().split(","))))
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
    wanted = ",".join([*HEAVY, "pyarrow", "numpy"])
    # The last argument is for the script, and removed before the command would read it.
    script = RUN.replace("sys.argv.pop()", repr(wanted))
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].removeprefix("loaded:").split())


def test_info_needs_no_arrow(home: Path) -> None:
    assert loaded_by(home, "info", "--index", "index") == {"numpy"}
    assert loaded_by(home, "--version") == set()


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
    ],
)
def test_a_command_loads_no_library_that_it_does_not_use(home: Path, command: str) -> None:
    assert loaded_by(home, *command.split()) == {"numpy", "pyarrow"}
