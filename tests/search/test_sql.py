"""The SQL of a result, run by DuckDB: it makes just the rows that the fan-out promises."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.lake import Lake
from lakejoin.pipeline.build import BuildOptions
from oracle.sql import rows

duckdb = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("sql")
    files = folder / "lake"
    files.mkdir()
    (files / "plain.csv").write_text("city,n\nBern,1\nOslo,2\nOslo,3\nN/A,4\n,5\n")
    (files / "it's; -- odd.csv").write_text(
        '"na""me"\tcity\nx\tBern\ny\t BERN \nz\tUlm\nw\tn/a\n'.replace("\t", ";")
    )
    pq.write_table(
        pa.table({"id": [1.0, 2.0, None, 40.5], "day": ["a", "b", "c", "d"]}),
        files / "typed.parquet",
    )
    (files / "rows.json").write_text('[{"city": "Bern"}, {"city": "Oslo"}]')
    lakejoin.index(
        files, folder / "index", spark=FakeSpark(), options=BuildOptions(all_columns=True)
    )
    return lakejoin.open(folder / "index")


def test_plain_equality_where_all_is_written_alike(lake: Lake) -> None:
    frame = pa.table({"city": ["Bern", "Oslo", "Oslo", "n/a", None, "Rom"]})
    (result,) = (r for r in lake.overlap(frame) if r.table == "plain.csv")
    sql = result.sql()
    assert 'ON mine."city" = theirs."city"' in sql and "-- my_table is your table" in sql
    assert rows(sql, lake, my_table=frame) == round(result.fan_out * 6) == 5


def test_every_result_joins_as_it_says(lake: Lake, tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("a;The City\n1;bern\n2;Oslo\n3;N/A\n4;-\n5;ulm\n6;\n")
    for query, on in ((str(mine), "the city"), ("plain.csv", "city"), ("plain.csv", "n")):
        answer = lake.overlap(query, on=on)
        assert len(answer)
        for result in answer:
            sql = result.sql()
            assert "shared values" not in sql
            assert rows(sql, lake) == round(result.fan_out * answer.query.rows), sql


def test_what_is_written_differently_is_said(lake: Lake) -> None:
    frame = pa.table({"city": ["bern", "oslo", "\u00a0OSLO", "\tOslo"], "k": list("abcd")})
    (result,) = (r for r in lake.overlap(frame, on="city") if r.table == "plain.csv")
    sql = result.sql()
    assert "lower(trim(" in sql
    assert result.matched == 2
    assert rows(sql, lake, my_table=frame) == 5 < result.fan_out * 4
    assert "several spellings" in sql
    dates = pa.table({"n": ["1.0", "2", "3"]})
    (result,) = (r for r in lake.overlap(dates) if r.columns == ("n",))
    assert "joins 2 of the 3 shared values" in result.sql()


def test_typed_columns(lake: Lake) -> None:
    frame = pa.table({"key": [1, 2, 3]})
    (result,) = (r for r in lake.overlap(frame) if r.table == "typed.parquet")
    assert "read_parquet(" in result.sql()
    assert rows(result.sql(), lake, my_table=frame) == 2 == result.fan_out * 3


def test_what_duckdb_cannot_read_is_registered(lake: Lake) -> None:
    frame = pa.table({"city": ["Bern"]})
    (result,) = (r for r in lake.overlap(frame) if r.table.startswith("rows.json"))
    assert (
        "-- first: con.register('lake_table', lake.table('rows.json').to_arrow())" in result.sql()
    )
    assert rows(result.sql(), lake, my_table=frame) == 1


def test_names_cannot_break_out(lake: Lake) -> None:
    (result,) = (r for r in lake.overlap("it's; -- odd.csv", on='na"me') if r.copy)
    sql = result.sql()
    assert 'mine."na""me"' in sql and "it''s; -- odd.csv" in sql
    assert rows(sql, lake) == 4
