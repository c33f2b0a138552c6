"""The benchmark of predicates: truths, baselines and figures are what they say."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")

CUSTOMERS = "id,name,boss\n" + "".join(f"{i},n{i},{1 + i // 9}\n" for i in range(1, 31))
ORDERS = "order,customer,price\n" + "".join(
    f"{500 + i},{1 + i * 7 % 30},{i * 31 % 50 + 0.5}\n" for i in range(90)
)
KEYS = (
    "child_table,child_columns,parent_table,parent_columns,containment\n"
    "orders,customer,customers,id,1.0\ncustomers,boss,customers,id,1.0\n"
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with one database: two tables, their key, and one that refers to itself."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "customers.csv").write_text(CUSTOMERS)
    (folder / "orders.csv").write_text(ORDERS)
    (folder / "foreign_keys.csv").write_text(KEYS)
    (folder / "primary_keys.csv").write_text("table,columns\ncustomers,id\n")
    return tmp_path


def sides(left: dict[str, list[Any]], right: dict[str, list[Any]]) -> tuple[Any, Any]:
    from lakejoin.values.text_arrays import TextTable
    from predicates_baselines import Side

    dictionary = TextTable()
    mine = Side.of("orders", pa.table(left), dictionary)
    return mine, Side.of("customer", pa.table(right), dictionary)


def test_keys_between_two_tables_are_truths_of_one_case_in_either_direction(tmp_path: Path) -> None:
    from predicates_data import database

    keys = [
        ("staff", "store", "shop", "id"),
        ("shop", "boss|town", "staff", "id|town"),
        ("staff", "chief", "staff", "id"),
        ("item", "shop", "shop", "id"),
    ]
    found = database("chain", {}, keys)
    assert [case.name for case in found.cases] == ["staff - shop", "item - shop"]
    assert found.cases[0].truths == (
        frozenset({("store", "id")}),
        frozenset({("id", "boss"), ("town", "town")}),
    )
    assert found.itself == 1


def test_tpc_h_has_its_eight_keys_and_is_made_by_its_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import predicates_data

    asked: list[list[str]] = []

    def generate(command: list[str], check: bool) -> None:
        asked.append(command)
        place = Path(command[command.index("-o") + 1])
        for name in ("part", "partsupp"):
            (place / f"{name}.parquet").write_bytes(b"")

    monkeypatch.setattr(predicates_data.shutil, "which", lambda name: name)
    monkeypatch.setattr(predicates_data.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(predicates_data.subprocess, "run", generate)
    base = predicates_data.tpch(tmp_path, 0.1)
    assert len(base.cases) == 8
    assert max(len(truth) for case in base.cases for truth in case.truths) == 2
    assert asked[0][:4] == ["tpchgen-cli", "parquet", "-s", "0.1"]
    assert base.tables["part"].is_file()
    assert base.tables["part"].parent == tmp_path / "0.1"
    monkeypatch.setattr(predicates_data.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="pip install tpchgen-cli"):
        predicates_data.tpch(tmp_path, 0.2)


def test_a_predicate_is_compared_with_the_key_that_it_is_most_like() -> None:
    from predicates_data import score

    one, two = frozenset({("a", "x")}), frozenset({("b", "y"), ("c", "z")})
    assert score(one, [one, two]).f == 1.0
    assert score(frozenset({("b", "y")}), [one, two]).f == pytest.approx(2 / 3)
    assert score(one | two, [one, two]).f == pytest.approx(0.8)
    assert score(frozenset(), [one]).f == 0.0
    assert score(frozenset({("a", "y")}), [one]).f == 0.0


def test_values_are_counted_as_lakejoin_takes_them() -> None:
    mine, theirs = sides({"a": ["X", "x ", None, "y"]}, {"b": ["x", "z", "7.0", "07"]})
    column = mine.columns[0]
    counted = dict(zip(column.texts.to_pylist(), column.counts.tolist(), strict=True))
    assert counted == {"x": 2, "y": 1}
    assert not column.is_key
    assert theirs.columns[0].is_key


def test_fastfk_takes_the_key_whose_range_and_values_are_used() -> None:
    from predicates_baselines import fastfk, fastfk_names

    left, right = sides(
        {"order": list(range(40)), "few": [1, 2, 3, 4] * 10, "who": [*range(1, 21)] * 2},
        {"id": list(range(1, 21)), "name": [f"n{i}" for i in range(20)], "age": [7, 8] * 10},
    )
    assert fastfk(left, right) == frozenset({("who", "id")})
    assert fastfk(right, left) == frozenset({("id", "who")})
    assert fastfk_names(left, right) == frozenset({("who", "id")})
    nothing, other = sides({"a": ["u", "v"]}, {"b": ["u", "w"]})
    assert fastfk(nothing, other) == frozenset()  # more than a tenth is missing


def test_names_decide_where_values_cannot() -> None:
    from predicates_baselines import fastfk_names

    left, right = sides(
        {"n": [1, 2, 3, 4], "customer_id": [1, 2, 3, 4], "z": [1, 2, 3, 4]}, {"id": [1, 2, 3, 4]}
    )
    assert fastfk_names(left, right) == frozenset({("customer_id", "id")})


def test_smash_takes_all_that_is_alike_and_filters_by_strength() -> None:
    from predicates_baselines import smash, smash_best, smash_filtered

    left, right = sides(
        {"key": [1, 2, 3, 4], "kind": ["a", "b", "a", "b"], "less": [1, 2, 9, 10]},
        {"key": [1, 2, 3, 5], "sort": ["a", "b", "b", "a"]},
    )
    # Of kind and sort four rows meet two each: 8 rows are involved in 8, the strength is 0.5.
    assert smash(left, right) == frozenset({("key", "key"), ("kind", "sort")})
    assert smash_filtered(left, right) == smash(left, right)
    assert smash_best(left, right) == frozenset({("kind", "sort")})
    left, right = sides({"kind": ["a"] * 3 + ["b"] * 3}, {"sort": ["a", "b"] * 3})
    assert smash(left, right) == frozenset({("kind", "sort")})
    assert smash_filtered(left, right) == smash_best(left, right) == frozenset()


def test_columns_without_names_are_called_like_no_other() -> None:
    from lakejoin.signals.name_similarity import compare_names
    from predicates_quality import no_name

    left, right = ([no_name(side, place) for place in range(200)] for side in "qz")
    assert len({*left, *right}) == 400
    assert not any(compare_names(a, b).similarity for a in left[:40] for b in right[:40])


def test_quality_is_laid_out_as_in_the_paper(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import predicates_quality

    recorded: dict[str, Any] = {}
    monkeypatch.setattr(predicates_quality, "record", lambda name, found: recorded.update(found))
    command = ["predicates_quality.py", "--data", str(shop), "--scale", "0", "--detail"]
    monkeypatch.setattr("sys.argv", command)
    predicates_quality.main()
    said = capsys.readouterr().out
    assert "shop: 1 pairs of tables, 1 that refer to themselves left out" in said
    assert "paper: IMDb" in said
    assert "F1 of the core without names" in said
    means = recorded["shop"]["mean"]
    assert means["h3"] == means["h5"] == means["h3 nameless"] == means["FastFK"] == 1.0
    assert recorded["shop"]["cases"]["orders - customers"]["SMaSh best"] == 1.0


def test_what_was_aimed_at_is_told(shop: Path) -> None:
    from predicates_data import databases
    from predicates_quality import detail, measured, verdicts

    cases = list(measured(next(iter(databases(shop))), most=1000))
    told = verdicts({"TPC-H, scale 1": cases, "shop": cases})
    assert "TPC-H, scale 1, h3: 1.000 (aim 1: met)" in told
    assert "mean above FastFK (1.000), F1: none" in told
    assert "orders - customers" in detail("shop", cases)


def test_times_of_a_pair_with_and_without_rules(shop: Path) -> None:
    from predicates_data import databases
    from predicates_speed import RULES, baselines, in_duckdb, ours, without_rules

    base = next(iter(databases(shop)))
    args = argparse.Namespace(repeats=1, limit=60.0)
    found = ours(base, base.cases[0], args)
    assert found["rows"] == 120
    assert found["columns"] == [3, 3]
    assert found["all five, looked at"] > 0
    assert set(without_rules(base, base.cases[0], args)["h5"]) == set(RULES)
    assert {"loading", "FastFK", "SMaSh"} <= set(baselines(base, base.cases[0], args))
    # numbers with numbers: three columns by two; the order's numbers meet nothing
    counted = in_duckdb(base, base.cases[0], args)
    assert counted["pairs"] == 6
    assert counted["joining"] == 2


def test_a_search_that_takes_too_long_is_cut() -> None:
    from predicates_speed import limited

    assert limited(lambda: [None for _ in itertools.count() if False], 0.2)["cut"]
    answer = argparse.Namespace(looked_at=7)
    assert limited(lambda: answer, 60)["looked"] == 7


def test_times_are_told_as_in_the_paper() -> None:
    from predicates_report import (
        EACH,
        RULES,
        WALL,
        report_growth,
        report_rules,
        report_times,
        verdict,
    )

    def taken(rows: int) -> dict[str, Any]:
        mine = dict.fromkeys((*EACH, f"all five{WALL}"), rows / 1e6)
        more = {"rows": rows, "reading": 1.0, "coding": 2.0, "peak": 10**8, "columns": [1, 2]}
        others = {"loading": 1.0, "FastFK": 0.5, "SMaSh": 0.25}
        return {
            "ours": {"a - b": {**mine, **more}},
            "baselines": {"a - b": others},
            "duckdb": {"a - b": {"seconds": 4.0}},
        }

    times = {"TPC-H, scale 0.1": taken(10**6), "TPC-H, scale 1": taken(10**7)}
    told = report_times(times)
    assert "paper: TPC-H, scale 1" in told
    assert "13.00" in told  # ten seconds and the loading
    assert "1.000" in report_growth(times, list(times))
    assert "10.00 s (aim 5: missed)" in verdict(times)
    runs = {each: {rule: {"seconds": 1.0, "looked": 3} for rule in RULES} for each in EACH}
    runs["h4"]["neither"] = {"seconds": 9.0, "cut": True}
    told = report_rules("TPC-H", {"a - b": runs})
    assert ">9.000, 1 cut" in told
    assert "1.000 (3)" in told
