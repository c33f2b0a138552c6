"""The benchmark of encoders counts right: figures of a set whose answers are known."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    pytest.importorskip("psutil")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("encoders"), importlib.import_module("encoder_sets")
    for name in ("encoders", "encoder_sets", "harness"):
        sys.modules.pop(name, None)


def labelled(sets: ModuleType) -> Any:
    pairs = frozenset({("a", "x"), ("b", "y"), ("c", "gone")})
    return sets.Labelled("autofj/Test", ["a", "b", "c"], ["x", "y"], pairs)


def test_figures(scripts: tuple[ModuleType, ModuleType]) -> None:
    bench, sets = scripts
    similarity = np.array([[0.9, 0.2], [0.8, 0.7], [0.1, 0.3]])
    found = bench.figures(labelled(sets), similarity)
    # In the order of nearness: a-x is right, b-x is wrong, c-y is wrong; two can be found.
    assert found["f1"] == pytest.approx(2 * 1 / (1 + 2))
    assert found["by_tau"][-1] == 0
    assert found["by_tau"][0] == pytest.approx(2 * 1 / (3 + 2))
    # Right pairs 0.9 and 0.7 against the nearest wrong 0.2, 0.8 and 0.3.
    assert found["auc"] == pytest.approx((3 / 3 + 2 / 3) / 2)
    assert bench._range(similarity, np.array([[1, 0], [0, 1], [0, 0]], bool), 0.65) == (
        pytest.approx(2 / 3),
        1.0,
    )


def test_jaccard(scripts: tuple[ModuleType, ModuleType]) -> None:
    bench, sets = scripts
    one = sets.Labelled("autofj/T", ["red wine", "beer"], ["wine", "red red wine", ""], frozenset())
    found = bench.by_jaccard(lambda text: set(text.split()))(one)
    assert found.tolist() == [[0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]


def test_sets_from_files_and_their_halves(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    _, sets = scripts
    for name in ("Award", "Country", "Race"):
        place = tmp_path / "autofj" / name
        place.mkdir(parents=True)
        right = [f"the {name} {i}" for i in range(6)] + ["Same"]
        left = [f"{name} {i}" for i in range(6)] + ["same"]
        (place / "right.csv").write_text("id,title\n" + "".join(f"0,{t}\n" for t in right))
        (place / "left.csv").write_text("id,title\n" + "".join(f"0,{t}\n" for t in left))
        rows = "".join(f"0,{a},0,{b}\n" for a, b in zip(left, right, strict=True))
        (place / "gt.csv").write_text("id_l,title_l,id_r,title_r\n" + rows)
    (tmp_path / "autojoin").mkdir()
    (tmp_path / "queries" / "row_level").mkdir(parents=True)
    for name in ("DF1", "DF2", "DT2", "DT3"):
        path = tmp_path / "queries" / "row_level" / f"{name}.csv"
        path.write_text("source_value,target_value\nBern,Berne\n")
    found = sets.labelled_sets(tmp_path)
    assert [one.name for one in found] == ["autofj/Award", "autofj/Country", "autofj/Race"]
    assert "same" not in found[0].queries and "same" in found[0].targets
    tuning, held = sets.halves(found)
    assert {one.name for one in tuning} | {one.name for one in held} == {o.name for o in found}
    assert len(tuning) == 2 and len(held) == 1
    assert sets.Labelled("autojoin/govs_2", [], [], frozenset()).family == "autojoin/govs"
