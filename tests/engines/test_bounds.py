"""Large queries: a stated bound of memory, and the exact answer."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa

from lakejoin.search.searcher import EAGER_RESULTS
from oracle.lakes import PlainTable
from oracle.search import lake_of

VALUES = 300_000


def test_a_large_query_stays_within_its_bound(tmp_path: Path) -> None:
    """The bound of docs/search.md, for a query whose every value is rewritten and has repeats."""
    numbers = np.arange(VALUES)
    lake = lake_of(
        tmp_path,
        [
            [PlainTable("even.csv", {"c": [f"value {i} of mine" for i in range(0, 20_000, 2)]})],
            [PlainTable("few.csv", {"c": ["value 1 of mine", "value 1 of mine", "nothing"]})],
        ],
    )
    mine = pa.array([f"Value {i} of mine" for i in numbers.tolist()])
    mine = pa.chunked_array([mine, mine.slice(0, 1000)])
    lake.overlap(mine.slice(0, 10))  # what is loaded and compiled once is no part of the bound
    rows, texts = len(mine), int(sum(chunk.nbytes for chunk in mine.chunks))
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    tracemalloc.start()
    answer = lake.overlap(mine)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = pool.bytes_allocated() - before
    assert peak + held <= 3 * texts + 200 * VALUES + 8 * rows + 50 * VALUES + 40 * VALUES
    assert [(r.table, r.matched) for r in answer] == [("even.csv", 10_000), ("few.csv", 1)]
    assert answer[0].fan_out == (10_000 + 500) / rows
    assert answer[1].fan_out == 2 * 2 / rows
    assert answer[0].unmatched(2)["value"].to_pylist() == ["Value 1 of mine", "Value 3 of mine"]


def test_evidence_beyond_the_first_results_is_made_when_asked_for(tmp_path: Path) -> None:
    tables = [PlainTable(f"t{i:03}.csv", {"c": ["a", f"b{i}"]}) for i in range(EAGER_RESULTS + 5)]
    answer = lake_of(tmp_path, [tables]).overlap(["a", "z"], k=EAGER_RESULTS + 5)
    assert len(answer) == EAGER_RESULTS + 5
    assert "evidence" in vars(answer[EAGER_RESULTS - 1]) and "evidence" not in vars(answer[-1])
    assert answer[-1].row_coverage == 0.5
