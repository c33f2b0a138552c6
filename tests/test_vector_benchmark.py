"""The lakes that searching by distance is measured on, the peers, and what the reports print."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")

PEERS = {
    "matrix product": None,
    "cKDTree, rotated": "scipy",
    "BallTree": "sklearn",
    "pivot table (EPT)": None,
    "FAISS distinct": "faiss",
    "FAISS distinct, BLAS": "faiss",
    "FAISS all": "faiss",
    "FAISS all, BLAS": "faiss",
    "lakejoin": None,
    "tree": None,
    "flat": None,
    "lakejoin, not deduplicated": None,
}


def script(name: str) -> Any:
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def shape(scripts_importable: None) -> Any:
    return script("vectors_data").Shape("SWDC-like", 300, 12.0, 1_500, 12, 3)


@pytest.fixture(scope="module")
def lake(shape: Any) -> Any:
    return script("vectors_data").make_lake(shape)


def test_a_lake_is_repeatable(shape: Any, lake: Any) -> None:
    again = script("vectors_data").make_lake(shape)
    assert np.array_equal(lake.vectors, again.vectors)
    assert np.array_equal(lake.ids, again.ids)
    assert all(np.array_equal(a, b) for a, b in zip(lake.queries, again.queries, strict=True))


def test_a_lake_has_the_shape_that_was_asked_for(shape: Any, lake: Any) -> None:
    assert lake.columns == shape.columns + 16 * shape.queries  # with those planted
    assert lake.vectors.dtype == np.float32
    assert lake.vectors.shape == (lake.distinct, shape.dimension)
    assert np.allclose(np.linalg.norm(lake.vectors, axis=1), 1, atol=1e-5)
    assert len(lake.queries) == shape.queries
    drawn = lake.start[shape.columns] / shape.columns
    assert 0.8 * shape.mean_length < drawn < 1.2 * shape.mean_length
    assert lake.distinct < lake.occurrences  # values repeat over columns
    for begin, end in zip(lake.start[:-1], lake.start[1:], strict=True):
        assert np.all(np.diff(lake.ids[begin:end]) > 0)
    assert np.array_equal(np.unique(lake.ids), np.arange(lake.distinct))


def test_lists_and_repeats_say_the_same(lake: Any) -> None:
    start, columns = lake.lists
    pairs = set(zip(lake.ids.tolist(), lake.column_of.tolist(), strict=True))
    listed = np.repeat(np.arange(lake.distinct), np.diff(start))
    assert pairs == set(zip(listed.tolist(), columns.tolist(), strict=True))
    repeated = lake.repeated()
    assert repeated.distinct == repeated.occurrences == lake.occurrences
    assert np.array_equal(repeated.vectors, lake.vectors[lake.ids])


def test_joinable_columns_at_every_tau(lake: Any) -> None:
    data = script("vectors_data")
    assert {(tau, share) for _, _, tau, share in lake.planted} == {
        (tau, share) for tau in data.TAUS for share in data.SHARES
    }
    for asked, column, tau, share in lake.planted:
        query = lake.queries[asked].astype(np.float64)
        own = lake.vectors[lake.ids[lake.start[column] : lake.start[column + 1]]]
        far = np.sqrt(np.sum((query[:, None] - own[None]) ** 2, axis=2)).min(axis=1) / 2
        assert (far <= tau).sum() >= math.ceil(share * len(query))
        # The planted partners are not nearer than that; others may be, by chance.
        assert ((far > tau - 0.02) & (far <= tau)).sum() >= 0.5 * share * len(query)


def test_a_turned_vector_is_as_far_as_was_asked_for() -> None:
    data = script("vectors_data")
    chance = np.random.default_rng(0)
    one, two = (data.unit(chance.standard_normal((50, 8))) for _ in range(2))
    far = np.linspace(0, 0.2, 50)
    found = data.turned(one, two, far)
    assert np.allclose(np.linalg.norm(found.astype(np.float64) - one, axis=1), far, atol=1e-6)


@pytest.fixture(scope="module")
def contenders(lake: Any) -> dict[str, Any]:
    vectors, ours = script("vectors"), script("vectors_ours")
    made = {}
    for entrant in vectors.entrants(lake, ours.Prepared(lake)):
        needed = PEERS.get(entrant.name)
        if entrant.name in PEERS and (needed is None or importlib.util.find_spec(needed)):
            made[entrant.name] = entrant.make()
    return made


@pytest.mark.parametrize("name", PEERS)
def test_contenders_agree_with_brute_force(name: str, lake: Any, contenders: Any) -> None:
    if name not in contenders:
        pytest.skip(f"{PEERS[name]} is not installed")
    peers = script("vectors_peers")
    for tau in (0.02, 0.06, 0.25):
        for query in lake.queries[:2]:
            for least in (1, math.ceil(0.6 * len(query))):
                wanted = peers.brute_force(lake, query, 2 * tau, least)
                found = contenders[name].search(query, 2 * tau, least)
                assert found.columns.tolist() == wanted.columns.tolist()
                assert found.hits.tolist() == wanted.hits.tolist()


def test_memory_is_what_is_held_beside_the_lake(lake: Any, contenders: Any) -> None:
    held = script("vectors_memory").held
    stamps = 2 * 4 * lake.columns
    assert held(contenders["matrix product"], lake) == stamps
    assert held(contenders["lakejoin"], lake) >= 12 * lake.distinct  # a byte a dimension
    if "FAISS all" in contenders:
        assert held(contenders["FAISS all"], lake) >= 4 * 12 * lake.occurrences
    if "cKDTree, rotated" in contenders:
        assert held(contenders["cKDTree, rotated"], lake) >= 8 * 12 * lake.distinct
    if "BallTree" in contenders:
        assert held(contenders["BallTree"], lake) >= 8 * 12 * lake.distinct


def test_a_border_is_computed_in_float64() -> None:
    counting = script("vectors_counting")
    query = np.array([[1.0, 0.0]], np.float32)
    vectors = np.array([[1.0, 0.1], [1.0, 0.1000001]], np.float32)
    radius = float(vectors[0, 1])
    place, ids = np.zeros(2, np.int64), np.arange(2)
    squared = np.full(2, radius**2)
    found = counting.near_enough(query, vectors, place, ids, squared, radius, 1e-5)
    assert found.tolist() == [True, False]


@pytest.fixture(scope="module")
def found(lake: Any) -> dict[str, Any]:
    """The figures of a race between two."""
    vectors, ours = script("vectors"), script("vectors_ours")
    measure, report = script("vectors_measure"), script("vectors_report")
    race = measure.Race(lake, budget=0.0, repeats=1)
    for entrant in vectors.entrants(lake, ours.Prepared(lake)):
        if entrant.name in (report.OURS, report.MATRIX):
            race.run(entrant, vectors.settings(entrant, report.BASE, (0.02, 0.06), True))
    return {
        "facts": lake.facts(),
        "size": 1.0,
        "base": list(report.BASE),
        "sweeps": True,
        "rows": race.rows,
        "built": race.built,
        "left_out": ["another (not installed)"],
    }


def test_the_report_prints(found: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    report = script("vectors_report")
    report.show(found)
    printed = capsys.readouterr().out
    for said in ("matrix product", "tau 6%, T 60%", "table VII", "left out: another"):
        assert said in printed
    assert any("matrix product" in said for said, _ in report.targets(found))
    assert "matrix product" in report.growth_table([found, found])
    smaller = {**found, "size": 0.5}
    larger = {**found, "rows": [row for row in found["rows"] if row["name"] == report.OURS]}
    assert report.markdown([smaller, larger]).splitlines()[-1].endswith("at 0.5 |")


def test_plots_are_the_same_each_time(found: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plots = script("vectors_plots")
    drawn = []
    for number in range(2):
        folder = tmp_path / str(number)
        plots.plot_taus([found], folder / "tau.svg")
        plots.plot_growth([found, found], folder / "growth.svg")
        drawn.append([path.read_bytes() for path in sorted(folder.iterdir())])
    assert drawn[0] == drawn[1]


def test_another_answer_ends_the_run(lake: Any) -> None:
    measure, peers = script("vectors_measure"), script("vectors_peers")

    class Wrong:
        def search(self, queries: Any, radius: float, least: int) -> Any:
            return peers.Answer(np.arange(1), np.ones(1, np.int64), None)

    race = measure.Race(lake, budget=0.0, repeats=1)
    race.run(measure.Entrant("right", lambda: peers.MatrixProduct(lake)), [(0.06, 0.6)])
    with pytest.raises(SystemExit, match="wrong differs on SWDC-like, query 0, tau 6%"):
        race.run(measure.Entrant("wrong", Wrong), [(0.06, 0.6)])


# -- quality -------------------------------------------------------------------------------


def test_similarities_of_texts() -> None:
    pytest.importorskip("rapidfuzz")
    matching = script("meaning_quality_matching")
    mine, theirs = ["main street", "bern"], ["main street", "mian streets", "bernn", "oslo"]
    assert matching.equal(mine, theirs).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert matching.jaccard(mine, theirs).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    edit, fuzzy = matching.edit(mine, theirs), matching.fuzzy(mine, theirs)
    assert edit[1, 2] == pytest.approx(0.8)
    assert edit[1, 3] == 0
    assert fuzzy[0, 0] == pytest.approx(1)
    street = 6 / 7  # "streets" is like "street"; "mian" and "main" are not alike enough
    assert fuzzy[0, 1] == pytest.approx(street / (4 - street), abs=1e-6)


def test_tuning_takes_the_best_thresholds() -> None:
    pytest.importorskip("rapidfuzz")
    quality, lakes = script("meaning_quality"), script("meaning_quality_lake")
    truth = np.array([1, 0, -1])
    asked = lakes.Asked("a", "autofj", "a", ["x", "y"], truth)
    best = {"a": np.array([[0.9, 0.6, 1.0], [0.8, 0.2, 1.0]], np.float32)}
    similar, share = quality.tuned([asked], best, False)
    assert quality.counted(asked, best["a"], similar, share) == (1, 1, 1)
    assert quality.summed([(1, 1, 1), (0, 1, 3)]) == {
        "precision": 0.5, "recall": 0.25, "f1": 0.3333
    }  # fmt: skip


def test_names_go_through_labels_that_are_one_to_one() -> None:
    lakes, sets = script("meaning_quality_lake"), script("encoder_sets")
    one = sets.Labelled("autofj/a", ["bill", "x"], ["william"], frozenset({("bill", "william")}))
    two = sets.Labelled("autofj/b", ["will"], ["william"], frozenset({("will", "william")}))
    many = sets.Labelled("autojoin/c", ["p", "q"], ["s"], frozenset({("p", "s"), ("q", "s")}))
    names = lakes._names([one, two, many])
    assert names["bill"] == {"william", "will", "bill"}
    assert names["p"] == {"s"}
