"""The benchmark of places and numbers near mine, on a few small sets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "places.py"


def test_all_contenders_agree_and_figures_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("duckdb")
    out = tmp_path / "places.jsonl"
    small = [
        "--sets",
        "5",
        "--size",
        "300",
        "--queries",
        "50",
        "--taus",
        "2",
        "8",
        "--repeats",
        "1",
        "--numbers",
        "4",
    ]
    command = [sys.executable, str(SCRIPT), *small, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kept = json.loads(out.read_text())
    assert [one["tau"] for one in kept["places"]] == [0.02, 0.08]
    assert set(kept["places"][0]["hits"]) == {"ours", "trees", "numpy"}
    assert kept["numbers"]["duckdb"] > 0
