"""A damaged index answers rightly or refuses; a server whose processes are killed and whose store
is damaged gives right answers or says that it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.battery import run_part


def test_a_damaged_index_answers_rightly_or_refuses(tmp_path: Path) -> None:
    found = run_part("index_faults.py", tmp_path, 1, 40, 0)
    assert found["problems"] == []
    assert found["outcomes"]["damage refused"] > 10
    assert found["outcomes"]["damage answer"] > 10


def test_a_server_survives_kills_and_a_damaged_store(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("duckdb")
    found = run_part("server_faults.py", tmp_path, 1, 12)
    assert found["problems"] == []
    assert found["requests"]["200"] > 10
