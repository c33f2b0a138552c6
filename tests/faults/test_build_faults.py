"""Builds that are killed in the middle of a write, that the disk fails, or that are stopped: the
index holds the old version or the new one, and the next build works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COUNT = int(os.environ.get("LAKEJOIN_FAULTS", "30"))


@pytest.fixture(scope="module")
def injector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("the fault injector needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("injector") / "injector.so"
    source = HERE / "injector.c"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


def test_a_fault_leaves_the_old_version_or_the_new_one(injector: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(HERE / "build_faults.py"), str(tmp_path / "home"), "7", str(COUNT)],
        env={**os.environ, "LD_PRELOAD": str(injector), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    found = json.loads(result.stdout.splitlines()[-1])
    assert found["problems"] == []
    assert sum(found["faults"].values()) == COUNT
    assert found["faults"].get("none", 0) < COUNT / 2, "most faults must hit something"
