"""Series of dumps are one table; `lakejoin.toml` and `--exclude` say otherwise."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakejoin
from conftest import Index
from lakejoin.errors import InputError
from lakejoin.model import LogicalTable
from lakejoin.sources.file_series import mask_date
from lakejoin.sources.lake_tables import list_tables
from lakejoin.sources.table_rules import FileGroup, TableRules


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tables_of(lake: Path, **rules: object) -> dict[str, int]:
    """The tables of a lake and how many files each has."""
    given = TableRules(**rules) if rules else None  # type: ignore[arg-type]
    return {
        source.name: len(source.files) if isinstance(source, LogicalTable) else 1
        for source in sorted(list_tables([str(lake)], [], rules=given), key=lambda s: s.name)
    }


def names_of(index: Path) -> list[str]:
    return [table.name for table in lakejoin.open(index).tables()]


@pytest.fixture
def daily(tmp_path: Path) -> Path:
    """90 daily files of one header, ten orders each, and other tables beside them."""
    lake = tmp_path / "lake"
    for number in range(90):
        day = date(2024, 1, 1) + timedelta(number)
        rows = "".join(f"A{number * 10 + i:05d},{i}\n" for i in range(10))
        write(lake / f"sales/sales_{day}.csv", f"order,amount\n{rows}")
    write(lake / "orders.csv", "order,town\nA00001,Bern\nA00002,Oslo\nZ,Rom\n")
    return lake


def test_daily_files_are_one_table(daily: Path, index: Index, tmp_path: Path) -> None:
    index(daily)
    assert names_of(tmp_path / "index") == ["orders.csv", "sales/sales_{date}.csv"]
    lake = lakejoin.open(tmp_path / "index")
    table = lake.table("sales/sales_{date}.csv")
    assert table.rows == 900
    assert str(table.entry.composition) == "a series of 90 files"
    assert table.entry.composition is not None
    assert table.entry.composition.members[:1] == ("sales/sales_2024-01-01.csv",)
    mine = pa.table({"order": [f"A{i:05d}" for i in range(36, 936)]})
    found = lake.overlap(mine, on="order")[0]
    assert (found.table, found.matched, round(found.containment, 2)) == (
        "sales/sales_{date}.csv", 864, 0.96,
    )  # fmt: skip


def test_a_day_more_is_in_the_series(daily: Path, index: Index, tmp_path: Path) -> None:
    index(daily)
    assert index(daily).version == 1
    write(daily / "sales/sales_2024-03-31.csv", "order,amount,note\nNEW,1,x\n")
    report = index(daily)
    assert (report.changed, report.totals.rows) == (1, 904)
    (daily / "sales/sales_2024-01-01.csv").unlink()
    assert index(daily).totals.rows == 894


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a_20240101.csv", "a_20240102.csv", "a_20240103.csv"], ["a_{date}.csv"]),
        (["31.01.2024.csv", "28.02.2024.csv", "31.03.2024.csv"], ["{date}.csv"]),
        (["2024/01/x.csv", "2024/02/x.csv", "2024/03/x.csv"], ["{date}/x.csv"]),
        (["x_2024-01-01T0630.csv", "x_2024-01-02T0631.csv", "x_2024-01-03T0632.csv"],
         ["x_{date}.csv"]),
        (["e.csv", "e (1).csv", "e (2).csv"], ["e ({number}).csv"]),
        # Not recognised: two dates, years, counters, seasons that look like months, other endings.
        (["a_2024-01.csv", "a_2024-02.csv"], ["a_2024-01.csv", "a_2024-02.csv"]),
        (["a_2022.csv", "a_2023.csv", "a_2024.csv"], ["a_2022.csv", "a_2023.csv", "a_2024.csv"]),
        (["t01.csv", "t02.csv", "t03.csv"], ["t01.csv", "t02.csv", "t03.csv"]),
        (["2010-11/e.csv", "2011-12/e.csv", "2012-13/e.csv"],
         ["2010-11/e.csv", "2011-12/e.csv", "2012-13/e.csv"]),
        (["f (a).csv", "f.csv"], ["f (a).csv", "f.csv"]),
    ],
)  # fmt: skip
def test_names_of_series(tmp_path: Path, names: list[str], expected: list[str]) -> None:
    for number, name in enumerate(names):
        write(tmp_path / "lake" / name, f"id,name\n{number},x\n")
    assert list(tables_of(tmp_path / "lake")) == expected


def test_other_columns_are_another_table(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for day in range(1, 8):
        header = "id,cases,deaths" if day < 5 else "id,tests,positive"
        write(lake / f"c-2024-01-0{day}.csv", f"{header}\n{day},1,2\n")
    write(lake / "c-2024-01-08.csv", "town,mayor\nBern,x\n")
    assert tables_of(lake) == {
        "c-2024-01-08.csv": 1, "c-{date}.csv": 4, "c-{date}.csv~2": 3,
    }  # fmt: skip


@given(st.text(alphabet="ab_-/.0129", max_size=24))
def test_masking_any_name(name: str) -> None:
    masked, is_date = mask_date(name)
    assert (masked == name) == ("{date}" not in masked)
    assert not is_date or "{date}" in masked


# -- rules -----------------------------------------------------------------------------------------


def test_rules_include_exclude_group_and_keep_apart(daily: Path) -> None:
    for number in range(3):
        write(daily / f"shop{number}.csv", "id,name\n1,x\n")
    (daily / "lakejoin.toml").write_text(
        'exclude = ["orders.csv"]\nkeep_apart = ["sales/sales_2024-01-0*.csv"]\n'
        '[[group]]\nname = "shops"\nfiles = ["shop?.csv"]\n'
    )
    found = tables_of(daily)
    assert found.pop("shops") == 3
    assert found.pop("sales/sales_{date}.csv") == 81
    assert list(found) == [f"sales/sales_2024-01-0{day}.csv" for day in range(1, 10)]
    assert list(tables_of(daily, include=("orders.csv",))) == ["orders.csv"]
    grouped = tables_of(daily, group=(FileGroup("all", ("sales/*.csv",)),), exclude=("shop*",))
    assert grouped == {"all": 90, "orders.csv": 1}


def test_no_two_tables_have_one_name(tmp_path: Path) -> None:
    write(tmp_path / "t/day=1/a.csv", "id,name\n1,x\n")
    write(tmp_path / "a1.csv", "id,name\n1,x\n")
    write(tmp_path / "b1.csv", "id,name\n1,x\n")
    write(tmp_path / "c", "id,name\n1,x\n")
    groups = (FileGroup("t", ("a1.csv",)), FileGroup("c", ("b1.csv",)))
    assert tables_of(tmp_path, group=groups) == {"c": 1, "c~2": 1, "t": 1, "t~2": 1}


def test_a_partitioned_folder_is_kept_apart(tmp_path: Path) -> None:
    for day in (1, 2):
        write(tmp_path / f"t/day={day}/a.csv", "id,name\n1,x\n")
    assert tables_of(tmp_path) == {"t": 2}
    assert tables_of(tmp_path, keep_apart=("t",)) == {"t/day=1/a.csv": 1, "t/day=2/a.csv": 1}


def test_a_changed_rule_regroups_the_index(daily: Path, index: Index, tmp_path: Path) -> None:
    index(daily)
    (daily / "lakejoin.toml").write_text('keep_apart = ["sales"]\n')
    assert index(daily).totals.tables == 91
    (daily / "lakejoin.toml").unlink()
    assert index(daily).totals.tables == 2
    assert names_of(tmp_path / "index") == ["orders.csv", "sales/sales_{date}.csv"]


def test_excluded_files_stay_out(daily: Path, index: Index, tmp_path: Path) -> None:
    index(daily, exclude=("orders.csv",))
    assert names_of(tmp_path / "index") == ["sales/sales_{date}.csv"]
    assert index(daily).totals.tables == 1, "the index remembers it"
    assert index(daily, exclude=()).totals.tables == 2
    options = json.loads((tmp_path / "index/MANIFEST.json").read_text())["options"]
    assert options["exclude"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exclude = 3", r"exclude must be a list of patterns"),
        ("exclude = [", r"not valid TOML"),
        ("colour = 1", r"unknown key 'colour'; the keys are include, exclude, keep_apart, group"),
        ("group = 1", r"write each group as \[\[group\]\]"),
        ('[[group]]\nname = "x"', r"a group has a name and files"),
    ],
)
def test_a_bad_rules_file_is_told(daily: Path, text: str, said: str) -> None:
    (daily / "lakejoin.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        tables_of(daily)
