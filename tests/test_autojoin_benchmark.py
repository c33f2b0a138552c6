"""The benchmark of learned joins: its cases are what they say, and its figures are right."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")

TOWNS = ["Bern", "Oslo", "Wien", "Genf", "Bonn"]


def web_pair(folder: Path) -> Path:
    """Towns and their labels; the truth misses one pair that joins, and has one that cannot."""
    pair = folder / "autojoin" / "towns"
    pair.mkdir(parents=True)
    (pair / "source.csv").write_text("town\n" + "\n".join(TOWNS) + "\n")
    (pair / "target.csv").write_text("label\n" + "\n".join(f"{t} (city)" for t in TOWNS) + "\n")
    truth = [f"{t},{t}  (city)" for t in TOWNS[:4]] + ["Rome,Rome (city)"]
    (pair / "ground_truth.csv").write_text("source-town,target-label\n" + "\n".join(truth) + "\n")
    (pair / "join_columns.txt").write_text("town:label\nsource\n")
    return pair


def test_the_synthetic_cases_are_joined_whole() -> None:
    from autojoin_cases import synthetic
    from autojoin_peers import averages
    from autojoin_quality import measured

    cases = list(synthetic(rows=150))
    for case in cases:
        assert case.left.num_rows == case.right.num_rows == len(case.true) == 150
    for found in measured(cases, told=False).values():
        assert averages(found) == (1.0, 1.0, 1.0)


def test_a_web_pair_is_compared_with_its_truth(tmp_path: Path) -> None:
    from autojoin_cases import web
    from autojoin_peers import averages
    from autojoin_quality import each, measured, summary

    web_pair(tmp_path)
    found = measured(list(web(tmp_path)), told=True)
    quality = found["lakejoin, told"][0]
    assert (quality.right, quality.joined, quality.true) == (4, 5, 5)
    assert averages([quality]) == (0.8, 0.8, 0.8)
    assert "0.8000" in summary("web", found)
    assert "towns" in each("web", found)


def test_a_case_where_nothing_is_joined_has_no_precision() -> None:
    from autojoin_peers import Quality, averages

    nothing, half = Quality("a", 0, 0, 5, 0.0), Quality("b", 2, 4, 4, 0.0)
    assert averages([nothing, half]) == (0.5, 0.25, 0.25)


def test_a_threshold_is_the_best_of_its_case_or_of_all(tmp_path: Path) -> None:
    import numpy as np

    from autojoin_cases import web
    from autojoin_peers import curve, one_threshold, own_thresholds

    web_pair(tmp_path)
    case = next(iter(web(tmp_path)))

    def first_letters(asked: list[str], keys: list[str]) -> tuple[object, object]:
        best = [[key[:3] for key in keys].index(text[:3]) for text in asked]
        return np.array(best), np.array([90.0, 80.0, 70.0, 60.0, 50.0])

    found = curve(case, first_letters)  # type: ignore[arg-type]
    best = own_thresholds([found])[0]
    assert (best.right, best.joined, best.words) == (4, 4, "threshold 51")
    assert one_threshold([found]) == [best]


def test_made_cases_have_rows_without_a_partner_on_both_sides() -> None:
    from autojoin_more import Recipe, made_case

    real = [{"code": f"{i:04}", "name": f"n{i * 7919 % 10007}"} for i in range(400)]
    recipe = Recipe("code", "none.csv", ("code", "name"), lambda r: f"{r['name']}-{r['code']}")
    case = made_case(recipe, real, 200, random.Random(1))
    left, right = case.texts()
    rows = {i for i, _ in case.true}, {j for _, j in case.true}
    assert 0.7 < len(rows[0]) / case.left.num_rows < 0.95
    assert 0.7 < len(rows[1]) / case.right.num_rows < 0.95
    equal = sum(" ".join(reversed(right[j].split("-"))) == left[i] for i, j in case.true)
    assert 0.9 * len(case.true) < equal < len(case.true)  # a few have a typing error
    again = made_case(recipe, real, 200, random.Random(1))
    assert again.right.equals(case.right)
    assert again.true == case.true


def test_a_peer_in_its_own_python_is_cut_told_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import autojoin_peers
    import autojoin_recorded
    from autojoin_cases import web

    web_pair(tmp_path)
    case = next(iter(web(tmp_path)))
    stub = tmp_path / "stub.py"
    monkeypatch.setattr(autojoin_peers, "AUTOFJ", stub)
    stub.write_text(
        "import json\nprint('noise')\n"
        "print(json.dumps({'pairs': [[0, 0], [1, 2]], 'seconds': 1.5, 'versions': {'x': '1'}}))\n"
    )
    said = autojoin_peers.autofj(case, Path(sys.executable), 60)
    assert (said["right"], said["joined"], said["true"]) == (1, 2, 5)
    stub.write_text("raise ValueError('no such thing')\n")
    said = autojoin_peers.autofj(case, Path(sys.executable), 60)
    assert said == {"failed": "ValueError: no such thing"}
    stub.write_text("import time\ntime.sleep(60)\n")
    cut = autojoin_peers.autofj(case, Path(sys.executable), 0.5)
    assert cut == {"cut": 0.5}

    record = tmp_path / "record.jsonl"
    line = {"date": "2026-01-02", "set": "web", "case": "towns"}
    record.write_text(json.dumps({**line, "right": 1, "joined": 2, "true": 5, "seconds": 3}) + "\n")
    monkeypatch.setattr(autojoin_recorded, "RECORDED", record)
    found = autojoin_recorded.autofj_of("web", [case], None, 1, recorded=True)
    assert found["autofj (recorded 2026-01-02)"][0].right == 1
    with record.open("a") as file:
        file.write(json.dumps({**line, **cut}) + "\n")
    assert autojoin_recorded.autofj_of("web", [case], None, 1, recorded=True) == {}
    assert "not done after 0.5 s" in capsys.readouterr().out


def test_publications_join_whole_and_what_it_took_is_told() -> None:
    from autojoin_dblp import publications
    from autojoin_speed import joined, line, report_pairing, report_web

    source, target, order = publications(50)
    for j, i in enumerate(order[:5]):
        row = source.slice(int(i), 1).to_pylist()[0]
        assert target["publication"][j].as_py() == ". ".join(row.values())
    ours = joined(100, repeats=1)
    assert (ours["right"], ours["wrong"]) == (1.0, 0)
    assert sum(ours["stages"].values()) == pytest.approx(ours["seconds"])
    theirs = {"seconds": 2 * ours["seconds"], "scaled": 10}
    found = {"lakejoin": {100: ours}, "rapidfuzz": {100: theirs}, "autofj": {100: {"cut": 60}}}
    assert "scaled 10 times: 2.0 times" in line(100, found)
    pairing = {"lakejoin": 0.5, "skrub": 8.0, "skrub_right": 1, "right": 1, "pairs": 9}
    assert "16.0 times (aim 15: met)" in report_pairing(pairing, 10)
    took = {
        "lakejoin": {"a": {"seconds": 2, "cpu": 1}},
        "autofj": {"a": {"seconds": 9, "cpu": 200}},
    }
    assert "4 times in all (aim 100: missed), CPU 200 times" in report_web(took)
