"""A chain that is taken away as PySpark gives, in a real Spark, the rows that the server made."""

from __future__ import annotations

from typing import Any

import pytest

from http_server.served import Served
from http_server.test_working import CHAIN, code_of, rows_of


@pytest.mark.spark
def test_the_chain_as_pyspark(served: Served, spark: Any) -> None:
    rows = rows_of(served, served.post("chains", CHAIN)["tables"][-1]["id"])
    space: dict[str, Any] = {}
    exec(code_of(served, "pyspark"), space)
    found = [list(row) for row in space["table"].collect()]
    assert sorted(found) == sorted(rows)
