"""DataFrames and tables of the catalog, encoded by the executors and never collected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lakejoin
from lakejoin.errors import InputError
from lakejoin.pipeline.build import BuildReport
from lakejoin.pipeline.options import BuildOptions

pytestmark = pytest.mark.spark


def build(tmp_path: Path, lake: Any, spark: Any, **options: Any) -> BuildReport:
    return lakejoin.index(lake, tmp_path / "index", spark, options=BuildOptions(**options))


def rows_of(tmp_path: Path, table: str) -> list[dict[str, Any]]:
    rows = lakejoin.open(tmp_path / "index").table(table).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: str(list(row.values())))


@pytest.mark.parametrize("chunk_bytes", [1 << 26, 2000])
def test_dataframes(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    orders = spark.range(1000, numPartitions=3).selectExpr(
        "id", "id % 7 as customer", "named_struct('city', concat('c', id % 5)) as addr",
        "array(concat('t', id % 3), 'all') as tags", "map('k', id) as m",
        "date'2024-01-31' as day", "interval 1 month as pause",
    )  # fmt: skip
    frames = {"orders": orders, "none": orders.where("false"), "local": {"a": ["x"]}}
    for name in ("collect", "toPandas"):
        monkeypatch.setattr(type(orders), name, None)
    report = build(tmp_path, frames, None, chunk_bytes=chunk_bytes)
    assert (report.skipped, report.engine) == ((), "spark")
    lake = lakejoin.open(tmp_path / "index")
    assert {t.name: t.rows for t in lake.tables()} == {
        "orders": 1000, "orders#tags": 2000, "orders#m": 1000, "none": 0, "local": 1,
    }  # fmt: skip
    rows = rows_of(tmp_path, "orders")
    assert {row["addr.city"] for row in rows} == {f"c{i}" for i in range(5)}
    assert sorted(int(row["id"]) for row in rows) == list(range(1000))
    ids = {row["_row"]: row["id"] for row in rows}
    assert len(ids) == 1000
    tags = rows_of(tmp_path, "orders#tags")
    assert all(
        row["tags"] in ("all", f"t{int(ids[row['_parent']]) % 3}")
        and row["parent.id"] == ids[row["_parent"]]
        for row in tags
    )
    assert all(row["value"] == ids[row["_parent"]] for row in rows_of(tmp_path, "orders#m"))


def test_a_dataframe_that_fails_leaves_the_others(spark: Any, tmp_path: Path) -> None:
    bad = spark.range(10).selectExpr("assert_true(id < 5)", "id")
    report = build(tmp_path, {"bad": bad, "good": spark.range(10)}, spark)
    assert [s.name for s in report.skipped] == ["bad"]
    assert report.skipped[0].reason == "Spark cannot read it"
    assert [t.name for t in lakejoin.open(tmp_path / "index").tables()] == ["good"]


def test_tables_of_the_catalog(spark: Any, tmp_path: Path) -> None:
    place = f"location '{tmp_path}/warehouse'"
    spark.sql(f"create database sales {place}")
    try:
        for name in ("orders", "customers"):
            spark.range(5).selectExpr("id", f"concat('{name}', id) as t").write.format(
                "parquet"
            ).saveAsTable(f"sales.{name}")
        spark.sql("create view sales.seen as select 1 as a")
        report = build(tmp_path, (), spark, tables=("sales.*",))
        assert report.new == 2
        names = {t.name for t in lakejoin.open(tmp_path / "index").tables()}
        assert names == {"sales.orders", "sales.customers"}
        assert rows_of(tmp_path, "sales.orders")[0] == {"id": "0", "t": "orders0"}
        with pytest.raises(InputError, match="no table of the Spark catalog matches"):
            build(tmp_path, (), spark, tables=("sales.x*",))
        with pytest.raises(InputError, match="pass them again"):
            lakejoin.index(index=tmp_path / "index", spark=spark)
    finally:
        spark.sql("drop database sales cascade")
