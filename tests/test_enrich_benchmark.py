"""The benchmark of enrichment measures every way, and finds nothing in noise."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lakejoin
from enrichment.made_lakes import made_lake

pytestmark = pytest.mark.usefixtures("scripts_importable")


def test_a_task_is_measured_by_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import enrich as benchmark

    monkeypatch.setattr(benchmark, "FOLDS", 2)
    made = made_lake(tmp_path)
    rows = pa.Table.from_pandas(made.mine.assign(target=made.target), preserve_index=False)
    task = benchmark.Task("towns", "income by town", "town", "target", rows)
    lake = lakejoin.open(made.index)
    measured = benchmark.measured(lake, task, 1, {"all ways": "auto"})
    assert [row["method"] for row in measured] == ["no join", "all ways", "everything"]
    assert measured[1]["lift_none"] > 0.2
    assert "| towns | all ways |" in benchmark.shown(measured)
    (noise,) = benchmark.noise(lake, task, 1)
    assert noise["lift_none"] == 0 and noise["columns"] == 0
