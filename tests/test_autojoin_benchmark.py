"""The benchmark of learned joins: its cases are what they say, and its figures are right."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")


def test_the_synthetic_cases_are_joined_whole() -> None:
    from autojoin_quality import averages, synthetic
    from autojoin_synthetic import cases

    for case in cases(rows=50):
        assert case.source.num_rows == case.target.num_rows == 50
        assert sorted(case.truth) == list(range(50))
    assert averages(synthetic("", rows=300)) == (1.0, 1.0, 1.0)


def test_a_web_pair_is_compared_with_its_truth(tmp_path: Path) -> None:
    from autojoin_quality import averages, web

    pair = tmp_path / "towns"
    pair.mkdir()
    towns = ["Bern", "Oslo", "Wien", "Genf", "Bonn"]
    (pair / "source.csv").write_text("town\n" + "\n".join(towns) + "\n")
    (pair / "target.csv").write_text("label\n" + "\n".join(f"{t} (city)" for t in towns) + "\n")
    truth = [f"{t},{t}  (city)" for t in towns[:4]] + ["Rome,Rome (city)"]
    (pair / "ground_truth.csv").write_text("source-town,target-label\n" + "\n".join(truth) + "\n")
    found = web(pair)
    assert (found.right, found.joined, found.true) == (4, 5, 5)
    assert averages([found]) == (0.8, 0.8, 0.8)
