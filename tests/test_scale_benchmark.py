"""The benchmark of work on clusters: what it tells of figures that were measured."""

from __future__ import annotations

from typing import Any

import pytest

FIGURES: dict[str, Any] = {
    "tables": 4_000,
    "columns": 24_000,
    "bytes": 24_000_000,
    "segments": 4,
    "build_core_seconds": 20.0,
    "searches": 500,
    "pairs": 60_000,
    "graph_bytes": 2_000_000,
    "open_lake": {"tables": 500, "columns": 3_000, "segments": 5, "pairs": 9_000},
    "alone": 3.0,
    "one": {
        "batch": {"seconds": 8.0, "cpu": [6.0]},
        "graph": {"seconds": 4.0, "cpu": [2.0]},
        "open": {"seconds": 20.0, "cpu": [18.0]},
    },
    "two": {
        "open": {"seconds": 11.0, "cpu": [9.0, 9.0]},
        "batch": {"seconds": 4.0, "cpu": [3.0, 3.0]},
        "graph": {"seconds": 2.5, "cpu": [1.0, 1.0]},
    },
    "search_core_seconds": 6.0,
    "graph_core_seconds": 2.0,
    "graph_writing_seconds": 0.5,
    "task_seconds": 0.01,
}


@pytest.mark.usefixtures("scripts_importable")
def test_an_estimate_grows_as_it_says() -> None:
    from scale_estimate import COLUMNS, QUERIES, SEGMENT, TABLES, estimate

    index, searches, graph = estimate(FIGURES)
    assert index.core_seconds == pytest.approx(0.005 * TABLES)
    assert index.bytes == pytest.approx(6_000 * TABLES)
    segments = -(-COLUMNS // SEGMENT)
    assert searches.core_seconds == pytest.approx(6.0 / 500 / 4 * QUERIES * segments)
    assert graph.core_seconds > searches.core_seconds
    assert graph.bytes == pytest.approx(2_000_000 / 24_000 * COLUMNS)


@pytest.mark.usefixtures("scripts_importable")
def test_what_is_shown() -> None:
    from scale import show

    shown = show(FIGURES)
    assert "batch: 8.0 s with one worker, 4.0 s with two (2.00 times)" in shown
    assert "graph of open data: 20.0 s with one worker, 11.0 s with two (1.82 times)" in shown
    assert "50 million tables" in shown
