"""Runs the SQL that an answer gives."""

from __future__ import annotations

from typing import Any

import pytest

import lakejoin
from lakejoin.lake import Lake


def rows(sql: str, lake: Lake, **frames: Any) -> int:
    """How many rows the SQL gives, once what its comments ask for is done."""
    con = pytest.importorskip("duckdb").connect()
    for name, frame in frames.items():
        con.register(name, frame)
    for line in sql.splitlines():
        if line.startswith("-- first: "):
            exec(line.removeprefix("-- first: "), {"con": con, "lake": lake, "lakejoin": lakejoin})
    return len(con.sql(sql).fetchall())
