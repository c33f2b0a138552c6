"""Folders that are one table: partitions, and the part files of a job."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from conftest import Index
from fake_spark import FakeSpark
from lakejoin.errors import BuildFailed
from lakejoin.model import LogicalTable
from lakejoin.pipeline.options import BuildOptions
from lakejoin.sources.lake_tables import list_tables
from oracle.united_files import Row, unite_rows

SMALL = 200  # bytes of a chunk, so that a few rows are a very large table


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def rows_of(index: Path, table: str) -> list[Row]:
    return lakejoin.open(index).table(table).to_arrow().to_pylist()


def names_of(index: Path) -> list[str]:
    return [table.name for table in lakejoin.open(index).tables()]


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A lake with 60 Parquet files of one table, by year and month, and a table beside it."""
    lake = tmp_path / "lake"
    for number in range(60):
        year, month = 2020 + number // 12, 1 + number % 12
        folder = lake / f"sales/orders/year={year}/month={month:02d}"
        folder.mkdir(parents=True)
        keys = [f"K{number * 20 + i:05d}" for i in range(20)]
        pq.write_table(pa.table({"order": keys, "amount": range(20)}), folder / "part-0.parquet")
    (lake / "sales/orders/_SUCCESS").write_text("")
    write(lake / "other.csv", "a,b\nx,1\ny,2\n")
    return lake


def test_a_partitioned_folder_is_one_table(orders: Path, index: Index, tmp_path: Path) -> None:
    report = index(orders)
    assert names_of(tmp_path / "index") == ["other.csv", "sales/orders"]
    assert (report.totals.tables, report.totals.rows, report.skipped) == (2, 1202, ())
    table = lakejoin.open(tmp_path / "index").table("sales/orders")
    assert [column.name for column in table.columns()] == ["order", "amount", "year", "month"]
    assert str(table.entry.composition) == "60 files, partitioned by year, month"
    rows = table.to_arrow().to_pylist()
    assert rows[0] == {"order": "K00000", "amount": "0", "year": "2020", "month": "01"}
    assert rows[-1] == {"order": "K01199", "amount": "19", "year": "2024", "month": "12"}


def test_its_keys_are_found_together(orders: Path, index: Index, tmp_path: Path) -> None:
    index(orders)
    mine = pa.table({"order": [f"K{i:05d}" for i in range(0, 1216, 2)]})
    answer = lakejoin.open(tmp_path / "index").overlap(mine, on="order")
    assert answer[0].table == "sales/orders"
    assert answer[0].matched == 600


def test_a_refresh_sees_a_new_and_a_removed_partition(
    orders: Path, index: Index, tmp_path: Path
) -> None:
    index(orders)
    same = index(orders)
    assert (same.version, same.unchanged, same.new, same.changed) == (1, 2, 0, 0)
    new = orders / "sales/orders/year=2025/month=01"
    new.mkdir(parents=True)
    pq.write_table(pa.table({"order": ["N1"], "amount": [7], "note": ["x"]}), new / "p.parquet")
    report = index(orders)
    assert (report.changed, report.totals.tables, report.totals.rows) == (1, 2, 1203)
    last = {"order": "N1", "amount": "7", "note": "x", "year": "2025", "month": "01"}
    assert rows_of(tmp_path / "index", "sales/orders")[-1] == last
    shutil.rmtree(orders / "sales/orders/year=2020")
    assert index(orders).totals.rows == 1203 - 240


def test_an_index_with_a_table_for_each_file_is_refreshed(
    orders: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier version built it: 60 of 61 tables go, and none of them is lost."""
    from lakejoin.pipeline import build
    from lakejoin.sources.lake_files import list_files

    with monkeypatch.context() as patch:
        patch.setattr(build, "list_tables", lambda *given: list_files(*given[:4]))
        assert index(orders).totals.tables == 61
    assert index(orders).totals.tables == 2
    assert names_of(tmp_path / "index") == ["other.csv", "sales/orders"]


def test_removing_most_tables_is_still_refused(orders: Path, index: Index) -> None:
    for number in range(20):
        write(orders / f"more/{'abcdefghijklmnopqrst'[number]}.csv", f"x,y\n{number},1\n")
    index(orders)
    shutil.rmtree(orders / "more")
    with pytest.raises(BuildFailed, match="20 of the 22 tables"):
        index(orders)


def test_a_broken_file_is_skipped_and_the_rest_is_indexed(
    orders: Path, index: Index, tmp_path: Path
) -> None:
    bad = orders / "sales/orders/year=2021/month=03/part-0.parquet"
    bad.write_bytes(bad.read_bytes()[:-40] + b"PAR1")
    for options in ({}, {"chunk_bytes": SMALL, "full": True}):
        report = index(orders, **options)
        assert [s.name for s in report.skipped] == [
            "sales/orders/year=2021/month=03/part-0.parquet"
        ]
        table = lakejoin.open(tmp_path / "index").table("sales/orders")
        assert table.rows == 59 * 20
        assert any("1 of 60 files could not be read" in note for note in table.entry.notes)
    with pytest.raises(BuildFailed, match=r"month=03/part-0\.parquet"):
        index(orders, full=True, strict=True)


def test_a_table_without_a_readable_file_is_skipped(tmp_path: Path, index: Index) -> None:
    for day in range(3):
        write(tmp_path / f"lake/t/day={day}/a.parquet", "PAR1 and no more PAR1")
    write(tmp_path / "lake/good.csv", "a,b\n1,2\n")
    for options in ({}, {"chunk_bytes": 5, "full": True}):
        report = index(tmp_path / "lake", **options)
        assert report.totals.tables == 1
        assert len(report.skipped) == 3


def test_a_partition_out_of_reach_keeps_the_table(
    orders: Path, index: Index, tmp_path: Path
) -> None:
    index(orders)
    away = tmp_path / "away"
    (orders / "sales/orders/year=2022").rename(away)
    (orders / "sales/orders/year=2022").symlink_to(away)
    report = index(orders)
    assert report.totals.rows == 1202
    assert any("out of reach" in note for note in report.notes)
    assert index(orders, allow_removal=True).totals.rows == 1202 - 240


def test_part_files_of_a_job_are_one_table(tmp_path: Path, index: Index) -> None:
    lake = tmp_path / "lake"
    for number in range(3):
        write(lake / f"out/part-0000{number}-8f0c.csv", f"id,name\n{number},n{number}\n")
    write(lake / "out/_SUCCESS", "")
    write(lake / "out/readme.csv", "a,b\n1,2\n")
    index(lake)
    assert names_of(tmp_path / "index") == ["out", "out/readme.csv"]
    table = lakejoin.open(tmp_path / "index").table("out")
    assert (table.rows, str(table.entry.composition)) == (3, "3 files of one job")


def test_nulls_escapes_and_a_root_that_is_the_table(tmp_path: Path, index: Index) -> None:
    lake = tmp_path / "lake"
    write(lake / "city=New%20York/a.csv", "id\n1\n2\n")
    write(lake / "city=__HIVE_DEFAULT_PARTITION__/a.csv", "id\n3\n4\n")
    index(lake)
    rows = rows_of(tmp_path / "index", "lake")
    assert {(r["id"], r["city"]) for r in rows} == {
        ("1", "New York"), ("2", "New York"), ("3", None), ("4", None),
    }  # fmt: skip


def test_several_tables_in_every_partition(tmp_path: Path, index: Index) -> None:
    lake = tmp_path / "lake"
    for day in range(3):
        write(lake / f"landing/day={day}/orders.csv", f"order,price\no{day},1\n")
        write(lake / f"landing/day={day}/customers.csv", f"customer,town\nc{day},Bern\n")
    index(lake)
    assert names_of(tmp_path / "index") == ["landing/customers.csv", "landing/orders.csv"]
    assert [r["day"] for r in rows_of(tmp_path / "index", "landing/orders.csv")] == ["0", "1", "2"]


def test_files_of_other_names_with_the_same_columns_are_one_table(tmp_path: Path) -> None:
    write(tmp_path / "t/day=1/alpha.csv", "a,b,c\n1,2,3\n")
    write(tmp_path / "t/day=2/beta.csv", "c,b,a,d\n1,2,3,4\n")
    write(tmp_path / "t/day=2/notes.xlsx", "no workbook")
    found = list_tables([str(tmp_path)], [])
    assert [(s.name, isinstance(s, LogicalTable)) for s in found] == [
        ("t/day=2/notes.xlsx", False),
        ("t", True),
    ]


def test_stray_and_broken_files_do_not_split_a_table(tmp_path: Path) -> None:
    for day in (1, 2):
        write(tmp_path / f"t/day={day}/part-0.csv", "a,b,c\n1,2,3\n")
        write(tmp_path / f"hive/day={day}/000000_0", "1,2,3\n4,5,6\n")
    write(tmp_path / "t/day=1/README", "Read me.")
    write(tmp_path / "t/day=1/aborted.parquet", "PAR1 and no more")
    found = {s.name: len(getattr(s, "files", "x")) for s in list_tables([str(tmp_path)], [])}
    assert found == {"t/day=1/README": 1, "t": 3, "hive": 2}


def test_two_lakes_with_one_name_and_a_glob(tmp_path: Path) -> None:
    for lake in "pq":
        write(tmp_path / f"{lake}/t/day=1/a.csv", "a,b\n1,2\n")
    lakes = [str(tmp_path / "p"), str(tmp_path / "q")]
    assert [s.name for s in list_tables(lakes, [])] == ["p/t", "q/t"]
    assert [s.name for s in list_tables([f"{tmp_path}/p/**/*.csv"], [])] == ["t"]


_CELLS = st.sampled_from(["x", "y", "7", "ä b", "long text " * 9, None])
_HEADERS = st.lists(st.sampled_from(["a", "b", "c", "day"]), min_size=2, max_size=4, unique=True)


@st.composite
def _files(draw: st.DrawFn) -> list[tuple[list[str], list[list[Any]], dict[str, str | None]]]:
    files = []
    for _ in range(draw(st.integers(1, 5))):
        header = draw(_HEADERS)
        size = len(header)
        rows = draw(st.lists(st.lists(_CELLS, min_size=size, max_size=size), max_size=4))
        partition = {"day": draw(st.sampled_from(["1", "2", None])), "hour": draw(_HOURS)}
        files.append((header, rows, partition))
    return files


_HOURS = st.sampled_from(["00", "23"])


@settings(max_examples=25, deadline=None)
@given(_files(), st.booleans())
def test_united_files_are_those_of_brute_force(
    files: list[tuple[list[str], list[list[Any]], dict[str, str | None]]], large: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        lake = Path(name) / "lake"
        listed = []
        for number, (header, rows, partition) in enumerate(files):
            day = partition["day"] or "__HIVE_DEFAULT_PARTITION__"
            folder = lake / f"t/day={day}/hour={partition['hour']}"
            folder.mkdir(parents=True, exist_ok=True)
            columns = [[row[i] for row in rows] for i in range(len(header))]
            arrays = [pa.array(column, pa.string()) for column in columns]
            path = folder / f"part-{number}.parquet"
            pq.write_table(pa.table(arrays, names=header), path, row_group_size=1)
            listed.append((str(path), number))
        options = BuildOptions(parts=(), chunk_bytes=SMALL if large else 1 << 20)
        lakejoin.index(lake, Path(name) / "index", spark=FakeSpark(), options=options)
        (source,) = list_tables([str(lake)], [])
        assert isinstance(source, LogicalTable)
        order = [int(m.file.name.rpartition("-")[2].partition(".")[0]) for m in source.files]
        found = rows_of(Path(name) / "index", "t")
        assert found == unite_rows([files[number] for number in order])
