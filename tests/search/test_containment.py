"""Searches by containment as a user makes them: thresholds, the best k, verified or not."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.engines.containment import engine
from lakejoin.errors import DamagedIndex
from lakejoin.lake import Lake
from lakejoin.search.answer import Answer
from lakejoin.store.segment import COMPONENTS
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


@pytest.fixture
def sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No query is small enough to be counted."""
    monkeypatch.setattr(engine, "MOST_VALUES", 0)


# -- from sketches -----------------------------------------------------------------------------


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("least", [0.2, 0.5, 0.6, 0.9, 1.0])
def test_what_is_verified_is_exact(lake: Lake, least: float) -> None:
    answer = lake.containment(QUERY, min_share=least)
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


@pytest.mark.usefixtures("sketched")
def test_the_threshold_is_a_whole_number_of_values(lake: Lake) -> None:
    """0.55 has no exact binary form: 110 of 200 values are enough for it."""
    tables = {r.table for r in lake.containment(QUERY, min_share=0.5)}
    assert "t055.csv" in tables
    assert "t055.csv" in {r.table for r in lake.overlap(QUERY, k=30, min_share=0.55)}


@pytest.mark.usefixtures("sketched")
def test_defaults_from_sketches(lake: Lake) -> None:
    check_defaults(lake)


def test_defaults_counted(lake: Lake) -> None:
    check_defaults(lake)


def check_defaults(lake: Lake) -> None:
    assert lake.containment(QUERY).min == 0.6
    best = lake.containment(QUERY, k=3)
    assert best.min is None
    assert [r.table for r in best] == ["t100.csv", "t095.csv", "t090.csv"]
    two = lake.containment(QUERY, k=2, min_share=0.3)
    assert [r.table for r in two] == ["t100.csv", "t095.csv"]


def test_unverified(lake: Lake) -> None:
    answer = lake.containment(QUERY, min_share=0.7, verify=False)
    assert len(answer)
    for result in answer:
        assert not result.verified
        assert result.containment == result.estimate
        assert abs(result.containment - exact(lake, result.table)) < 5 * result.error
        assert result.matched == round(result.estimate * len(QUERY))
        assert (result.row_coverage, result.fan_out) == (None, None)
    assert "±" in repr(answer)
    assert len(lake.containment(QUERY, k=2, verify=False)) == 2


@pytest.mark.usefixtures("sketched")
def test_others_and_nothing(lake: Lake) -> None:
    others = lake.containment("t100.csv", min_share=0.1, skip_copies=True)
    assert "t100.csv" not in {r.table for r in others}
    nothing = lake.containment(["zz", "yy"])
    assert nothing.notes == (
        "sketches found no searched column in the lake that contains enough; "
        "search by overlap counts exactly",
    )
    few = lake.containment(QUERY[:50])
    assert any("sketches miss columns that are much larger" in note for note in few.notes)


def test_an_index_without_sketches_says_how_to_add_them(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[PlainTable("t.csv", {"c": ["a"]})]])
    with pytest.raises(DamagedIndex, match=r"has no sketches; .* lakejoin index"):
        lake.containment(["a"], verify=False)
    assert len(lake.containment(["a"])) == 1, "counting needs none"


# -- counted -----------------------------------------------------------------------------------


def is_counted(answer: Answer) -> bool:
    counted = "lsh-ensemble" not in answer.counters.algorithms
    said = "few columns share these values: counted exactly, without sketches"
    assert (said in answer.notes) == counted
    assert all((r.estimate is None) == (r.error is None) == counted for r in answer)
    return counted


def test_small_queries_are_counted_exactly(lake: Lake) -> None:
    for least in (0.2, 0.55, 0.6, 1.0):
        answer = lake.containment(QUERY, min_share=least)
        assert is_counted(answer)
        assert (answer.by, answer.k, answer.min) == ("containment", None, least)
        expected = [s for s in range(100, 0, -5) if s / 100 >= least and s != 85]
        assert [r.table for r in answer] == [f"t{share:03}.csv" for share in expected]
        assert all(r.containment == exact(lake, r.table) for r in answer)
    assert not is_counted(lake.containment(QUERY, verify=False))


def test_many_values_and_long_lists_are_not_counted(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [f"w{i}" for i in range(engine.MOST_VALUES)]
    assert is_counted(lake.containment([*more[:-200], *QUERY], min_share=0.1))
    assert not is_counted(lake.containment([*more, *QUERY], min_share=0.1))
    # Each share s of the 21 columns holds 2 s of the values; every value is in some of them.
    entries = sum(2 * share for share in range(0, 101, 5))
    monkeypatch.setattr(engine, "MOST_ENTRIES", entries)
    assert is_counted(lake.containment(QUERY))
    monkeypatch.setattr(engine, "MOST_ENTRIES", entries - 1)
    assert not is_counted(lake.containment(QUERY))


def test_a_few_values_in_a_column_a_thousand_times_as_large(tmp_path: Path) -> None:
    """What sketches cannot see: 128 entries of a signature, and 5 values among 5,000."""
    large = [f"x{i}" for i in range(5_000)]
    lake = lake_of(tmp_path, [[PlainTable("large.csv", {"c": large})]], components=COMPONENTS)
    mine = [*large[::1_000], "nowhere"]
    (found,) = lake.containment(mine, min_share=0.8)
    assert (found.matched, found.query_size, found.column_size) == (5, 6, 5_000)


def test_nothing_is_proved(lake: Lake) -> None:
    nothing = lake.containment(["zz", "yy"])
    assert nothing.notes == (
        "no searched column in the lake contains 60% of the 2 values of 'value'",
    )
    assert lake.containment(["zz", "yy"], k=3).notes == (
        "none of the 2 values of 'value' is in any searched column in the lake",
    )


_columns = st.lists(
    st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=8), min_size=1, max_size=12
)
_QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@_QUICK
@given(
    _columns,
    st.sets(st.sampled_from("abcdefghijkl"), min_size=1, max_size=8),
    st.integers(1, 5),
    st.sampled_from([None, 0.0, 0.1, 0.25, 0.5, 0.6, 0.75, 1.0]),
    st.one_of(st.none(), st.integers(1, 6)),
    st.data(),
)
def test_counting_misses_nothing(
    columns: list[list[str]],
    mine: set[str],
    parts: int,
    least: float | None,
    k: int | None,
    data: st.DataObject,
) -> None:
    """Against brute force over lakes in one to five segments, with ties and dead tables."""
    tables = [PlainTable(f"t{i}.csv", {"c": cells}) for i, cells in enumerate(columns)]
    groups = [tables[i::parts] for i in range(parts) if tables[i::parts]]
    dead = [data.draw(st.lists(st.integers(0, len(g) - 1), unique=True)) for g in groups]
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), groups, dead=[sorted(d) for d in dead])
        answer = lake.containment(sorted(mine), min_share=least, k=k)
        share = (0.6 if k is None else 0.0) if least is None else least
        needed = max(1, math.ceil(share * len(mine) - 1e-9))
        found = []
        for number, group in enumerate(groups):
            for place, table in enumerate(group):
                held = set(table.columns["c"])
                if place not in dead[number] and len(held & mine) >= needed:
                    found.append((-len(held & mine), len(held), number, place, table.name))
        assert [r.table for r in answer] == [name for *_, name in sorted(found)[:k]]
        assert [r.matched for r in answer] == [-row[0] for row in sorted(found)[:k]]
