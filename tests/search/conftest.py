"""Until the exact engine is there, brute force stands in for it."""

from __future__ import annotations

import pytest

from oracle.search import BruteOverlap, brute_overlaps_of


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    from lakejoin.search import overlap

    if not hasattr(overlap, "Overlap"):
        monkeypatch.setattr(overlap, "Overlap", BruteOverlap, raising=False)
        monkeypatch.setattr(overlap, "overlaps_of", brute_overlaps_of, raising=False)
