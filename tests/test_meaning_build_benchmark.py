"""The benchmark of making vectors counts what it says."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import lakejoin
from conftest import Index

pytestmark = pytest.mark.usefixtures("scripts_importable")


@pytest.mark.parametrize("keep", [False, True])
def test_all_texts_are_counted(index: Index, lake: Path, tmp_path: Path, keep: bool) -> None:
    pytest.importorskip("psutil")
    script = importlib.import_module("meaning_build")
    index(lake, encoder="characters", keep_vectors=keep)
    segments = lakejoin.open(tmp_path / "index").snapshot.segments
    found = script.build(tmp_path / "index", "characters", keep)
    texts = sum(len(s.meaning) for s in segments)
    size = sum(s.record.components["meaning"].bytes for s in segments)
    assert found["texts"] == texts > 5
    assert found["bytes_a_text"] == pytest.approx(size / texts, rel=0.01)
