"""The benchmark of union search: tables are cut up so that the truth is known."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.pipeline.build import BuildOptions

pytestmark = pytest.mark.usefixtures("scripts_importable")

NAMES = ["town", "land", "people", "mayor"]
ROWS: list[list[str | None]] = [
    [f"town {n * 7919 % 10_007}", f"land {n % 7}", str(n * 104_729 % 9_973), f"mayor {n % 31}"]
    for n in range(300)
]


@pytest.mark.parametrize("level", ["same", "half", "all"])
def test_parts_are_rows_of_the_table_under_other_names(level: str) -> None:
    from union_quality import PARTS, cut_up

    cut, made = cut_up(NAMES, ROWS, level, 3, 11)
    assert len(cut.right) == PARTS - 1 and len(made) == PARTS + 1
    mine, asked = made[cut.query]
    seen = {row[mine.index("town")] for row in asked}
    for table, columns in cut.right.items():
        header, rows = made[table]
        assert sorted(columns.values()) == sorted(header) and columns.keys() <= {*mine}
        assert level != "same" or all(one == other for one, other in columns.items())
        assert level != "all" or not {*header} & {*NAMES}
        towns = {row[header.index(columns["town"])] for row in rows}
        assert not towns & seen, "the parts have no row in common"
        seen |= towns
    header, rows = made[cut.joins]
    assert not {*header[1:]} & {*mine}, "what joins has other columns"
    assert len(rows) == len(asked)


def test_figures_of_an_order() -> None:
    from union_quality import Cut, Ranked, figures

    right = {name: {"a": "x", "b": "y"} for name in ("p", "q", "r", "s")}
    cut = Cut("q000.csv", "same", right, "j")
    told = figures(cut, Ranked(["p", "j", "q"], {"p": {"a": "x", "b": "z"}}))
    assert told == {
        "P@4": 0.5,
        "R@10": 0.5,
        "told right": 2 / 3,
        "above": 1.0,
        "pairs right": 0.5,
        "pairs found": 0.5,
    }


def test_it_runs(tmp_path: Path) -> None:
    from union_quality import ENGINES, make, measured

    (tmp_path / "lake" / "towns").mkdir(parents=True)
    with (tmp_path / "lake" / "towns" / "towns.csv").open("w", newline="") as out:
        csv.writer(out).writerows([NAMES, *ROWS])
    cuts = make(tmp_path / "lake", tmp_path / "cut", 15)
    assert len(cuts) == 1
    index = tmp_path / "index"
    folder = tmp_path / "cut"
    lakejoin.index([folder / "lake"], index, spark=FakeSpark(), options=BuildOptions())
    lake = lakejoin.open(index)
    for name, engine in ENGINES.items():
        (told,) = measured(lake, folder, cuts, engine)
        assert name != "union" or told["P@4"] == 1.0
