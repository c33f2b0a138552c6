"""The benchmark of columns of vectors near mine, on a few small sets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "vector_columns.py"


def test_all_contenders_agree_and_figures_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    out = tmp_path / "vector_columns.jsonl"
    few = [
        "--kinds",
        "logo",
        "--size",
        "0.005",
        "--queries",
        "1",
        "--repeats",
        "1",
        "--taus",
        "4",
        "--shares",
        "0.2",
    ]
    command = [sys.executable, str(SCRIPT), *few, "--only", "scan", "trees", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["metric"], one["tau"], one["measure"], one["share"]) for one in kept] == [
        ("l2", 6.0, "hit", 0.6), ("l2", 6.0, "all", 0.02), ("l1", 6.0, "hit", 0.6),
        ("l2", 4.0, "hit", 0.6), ("l2", 6.0, "hit", 0.2),
    ]  # fmt: skip
    assert set(kept[0]["seconds"]) == {"ours", "scan", "trees"}
