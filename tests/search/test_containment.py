"""Searches by containment as a user makes them: thresholds, the best k, verified or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lakejoin.api import Lake
from lakejoin.errors import DamagedIndex
from lakejoin.store.components import COMPONENTS
from oracle.lakes import PlainTable
from oracle.search import lake_of, set_of

QUERY = [f"v{i}" for i in range(200)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Columns that contain 0, 5, … 100 % of the query, and hold as much again of their own."""
    rng = np.random.default_rng(3)
    tables = []
    for share in range(0, 101, 5):
        held = rng.choice(QUERY, 2 * share, replace=False).tolist()
        own = [f"own {share} {i}" for i in range(2 * share + 1)]
        tables.append(PlainTable(f"t{share:03}.csv", {"c": held + own}))
    groups = [tables[:8], tables[8:15], tables[15:]]
    return lake_of(
        tmp_path_factory.mktemp("lake"), groups, dead=[[], [], [2]], components=COMPONENTS
    )


def exact(lake: Lake, table: str) -> float:
    segment, entry = lake.snapshot.table(table)
    return len(set_of(segment, entry.first) & set(QUERY)) / len(QUERY)


@pytest.mark.parametrize("least", [0.2, 0.5, 0.6, 0.9, 1.0])
def test_what_is_verified_is_exact(lake: Lake, least: float) -> None:
    answer = lake.search(QUERY, by="containment", min=least)
    assert (answer.by, answer.k, answer.min) == ("containment", None, least)
    found = {result.table: result for result in answer}
    assert "t085.csv" not in found, "the table that has gone"
    for name, result in found.items():
        assert result.containment == exact(lake, name) >= least
        assert result.row_coverage == pytest.approx(result.containment)
        assert result.estimate is not None and result.error is not None and result.error > 0
    # A column well above the threshold is hardly ever missed; the sketches are the same each time.
    sure = {f"t{share:03}.csv" for share in range(0, 101, 5) if share / 100 >= least + 0.15}
    assert sure - {"t085.csv"} <= set(found)
    assert [r.matched for r in answer] == sorted((r.matched for r in answer), reverse=True)


def test_the_threshold_is_a_whole_number_of_values(lake: Lake) -> None:
    """0.55 has no exact binary form: 110 of 200 values are enough for it."""
    tables = {r.table for r in lake.search(QUERY, by="containment", min=0.5)}
    assert "t055.csv" in tables
    assert "t055.csv" in {r.table for r in lake.search(QUERY, k=30, min=0.55)}


def test_defaults(lake: Lake) -> None:
    assert lake.search(QUERY, by="containment").min == 0.6
    best = lake.search(QUERY, by="containment", k=3)
    assert best.min is None
    assert [r.table for r in best] == ["t100.csv", "t095.csv", "t090.csv"]
    two = lake.search(QUERY, by="containment", k=2, min=0.3)
    assert [r.table for r in two] == ["t100.csv", "t095.csv"]


def test_unverified(lake: Lake) -> None:
    answer = lake.search(QUERY, by="containment", min=0.7, verified=False)
    assert len(answer)
    for result in answer:
        assert not result.verified
        assert result.containment == result.estimate
        assert abs(result.containment - exact(lake, result.table)) < 5 * result.error
        assert result.matched == round(result.estimate * len(QUERY))
        assert (result.row_coverage, result.fan_out) == (None, None)
    assert "±" in repr(answer)
    assert len(lake.search(QUERY, by="containment", k=2, verified=False)) == 2


def test_others_and_nothing(lake: Lake) -> None:
    others = lake.search("t100.csv", by="containment", min=0.1, others=True)
    assert "t100.csv" not in {r.table for r in others}
    nothing = lake.search(["zz", "yy"], by="containment")
    assert nothing.notes == (
        "the sketches found no searched column of the lake that contains enough; "
        "by overlap counts exactly",
    )


def test_an_index_without_sketches_says_how_to_add_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[PlainTable("t.csv", {"c": ["a"]})]])
    with pytest.raises(DamagedIndex, match=r"has no sketches; .* lakejoin index"):
        lake.search(["a"], by="containment")
