"""The SQL of a composite key, run by DuckDB: it makes just the rows that the fan-out promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakejoin
from fake_spark import FakeSpark
from lakejoin.lake import Lake
from lakejoin.pipeline.build import BuildOptions
from lakejoin.search.answer import Answer
from oracle.lakes import PlainTable
from oracle.search import search_by
from oracle.sql import rows
from search.key_lakes import key_lake, tables

duckdb = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("sql")
    files = folder / "lake"
    files.mkdir()
    (files / "plain.csv").write_text(
        "city,land,n\nBern,CH,1\nOslo,NO,2\nOslo,NO,3\nN/A,CH,4\nUlm,,5\nBern,N/A,6\n"
    )
    (files / "it's; odd.csv").write_text(
        '"la""nd";city\nCH; BERN \nno;Oslo\nNO;oslo\nn/a;Oslo\n-;Bern\n'
    )
    typed = {"id": [1.0, 2.0, 2.0, None], "code": ["x", "Y", "y", "x"]}
    pq.write_table(pa.table(typed), files / "typed.parquet")
    (files / "rows.json").write_text(
        '[{"c": "Bern", "l": "CH"}, {"c": "Oslo", "l": "NO"}, {"c": "Oslo", "l": null}]'
    )
    options = BuildOptions(all_columns=True)
    lakejoin.index(files, folder / "index", spark=FakeSpark(), options=options)
    return lakejoin.open(folder / "index")


def found(answer: Answer, table: str) -> Any:
    (result,) = (result for result in answer if result.table == table)
    return result


def promised(answer: Answer, lake: Lake, **frames: Any) -> None:
    for result in answer:
        sql = result.sql()
        assert "shared" not in sql, sql
        assert rows(sql, lake, **frames) == round(result.fan_out * answer.query.rows), sql


FRAME = pa.table(
    {
        "city": ["Bern", "Oslo", "Oslo", "n/a", None, "Bern", "Rom"],
        "land": ["CH", "NO", "NO", "CH", "NO", "n/a", "CH"],
    }
)


def test_plain_equality_where_all_is_written_alike(lake: Lake) -> None:
    answer = lake.composite(FRAME, on=["city", "land"])
    sql = found(answer, "plain.csv").sql()
    assert 'ON mine."city" = theirs."city"\n  AND mine."land" = theirs."land"' in sql
    assert round(found(answer, "plain.csv").fan_out * 7) == 5
    promised(answer, lake, my_table=FRAME)


def test_each_part_by_itself(lake: Lake) -> None:
    answer = lake.composite(FRAME, on=["land", "city"])
    odd = found(answer, "it's; odd.csv")
    assert odd.columns == ('la"nd', "city")
    assert 'ON lower(trim(mine."land")) = lower(trim(theirs."la""nd"))' in odd.sql()
    small = pa.table({"city": ["Ulm", "OSLO"], "n": ["5", "2"]})
    part = found(lake.composite(small, on=["city", "n"]), "plain.csv").sql()
    assert 'ON lower(trim(mine."city")) = lower(trim(theirs."city"))' in part
    assert '\n  AND mine."n" = theirs."n"' in part
    promised(lake.composite(small, on=["city", "n"]), lake, my_table=small)


def test_files_and_tables_of_the_lake(lake: Lake, tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("Land;The City\nCH;bern\nNO;Oslo\nNO;N/A\nCH;-\nch;Bern\n;Oslo\n")
    for query, on in (
        (str(mine), ["the city", "land"]),
        ("plain.csv", ["city", "land"]),
        ("rows.json", ["l", "c"]),
    ):
        answer = search_by(lake, query, on, by="overlap")
        assert len(answer) > 1
        promised(answer, lake)


def test_typed_columns(lake: Lake) -> None:
    frame = pa.table({"key": [1, 2, 3, 2], "code": ["X", "y", "x", None]})
    answer = lake.composite(frame, on=["key", "code"])
    typed = found(answer, "typed.parquet")
    assert "read_parquet(" in typed.sql() and typed.fan_out * 4 == 3.0
    promised(answer, lake, my_table=frame)


def test_what_is_written_differently_is_said(lake: Lake) -> None:
    frame = pa.table({"n": ["1.0", "2", "3"], "city": ["Bern", "Oslo", "Oslo"]})
    result = found(lake.composite(frame, on=["n", "city"]), "plain.csv")
    assert result.matched == 3
    assert "joins 2 of the 3 shared combinations; the others are spelled" in result.sql()
    assert rows(result.sql(), lake, my_table=frame) == 2


def test_names_that_repeat_are_told_apart(lake: Lake) -> None:
    """Of one column and of a key; DuckDB reads them by their places."""
    pandas = pytest.importorskip("pandas")
    cities, lands = FRAME["city"].to_pylist(), FRAME["land"].to_pylist()
    table = pa.table([pa.array(lands), pa.array(cities)], names=["n", "n"])
    frame = pandas.DataFrame(list(zip(lands, cities, strict=True)), columns=["n", "n"])
    for mine, on in ((table, [1, 0]), (frame, [1, 0]), (table, 1), (frame, [0])):
        answer = search_by(lake, mine, on, by="overlap")
        result = found(answer, "plain.csv")
        assert "several columns called 'n'" in result.sql()
        assert f'mine."n{"" if on == [0] else "_"}"' in result.sql()
        assert result.matched == len(result.matches())
        promised(answer, lake, my_table=frame)
        promised(answer, lake, my_table=table.rename_columns(["n", "m"]))
    key = found(lake.composite(table, on=[1, 0]), "plain.csv")
    assert key.mapping == {"n": "city", "n_": "land"}
    assert key.matches().column_names == ["n", "n_", "mine", "theirs"]


@pytest.mark.parametrize("format", ["csv", "parquet", "json", "frame"])
def test_names_that_differ_in_case(lake: Lake, tmp_path: Path, format: str) -> None:
    table = pa.table({"City": FRAME["land"], "city": FRAME["city"], "x": FRAME["city"]})
    path: Any = tmp_path / f"mine.{format}"
    frames = {}
    if format == "csv":
        lines = [
            "City,city,x",
            *(",".join(c or "" for c in row.values()) for row in table.to_pylist()),
        ]
        path.write_text("\n".join(lines))
    elif format == "parquet":
        pq.write_table(table, path)
    elif format == "json":
        path.write_text(json.dumps(table.to_pylist()))
    else:
        path, frames = table, {"my_table": table}
    for on in (["city", "City"], "city", "City"):
        answer = search_by(lake, path, on, by="overlap")
        assert len(answer)
        promised(answer, lake, **frames)


def test_their_names_may_differ_in_case(tmp_path: Path) -> None:
    columns = {"N": ["a", "b"], "n": ["c", "d"], "n_": ["e", "f"]}
    lake = key_lake(tmp_path, [PlainTable("t.csv", columns)])
    mine = pa.table({"x": ["c", "d", "c"], "y": ["a", "b", "b"]})
    for on in (["x", "y"], "x"):
        promised(search_by(lake, mine, on, by="overlap"), lake, my_table=mine)


@given(st.lists(tables("theirs", 2), min_size=1, max_size=2), tables("mine", 2))
@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
def test_random_tables(
    tmp_path_factory: pytest.TempPathFactory, theirs: list[PlainTable], mine: PlainTable
) -> None:
    named = [PlainTable(f"{i}.csv", table.columns) for i, table in enumerate(theirs)]
    lake = key_lake(tmp_path_factory.mktemp("lake"), named)
    frame = pa.table({name: pa.array(cells, pa.string()) for name, cells in mine.columns.items()})
    if any(set(map(_null, cells)) == {True} for cells in mine.columns.values()):
        return
    on = list(mine.columns)[:2]
    if all(_null(a) or _null(b) for a, b in zip(*(mine.columns[c] for c in on), strict=True)):
        return
    promised(lake.composite(frame, on=on), lake, my_table=frame)


def _null(cell: str | None) -> bool:
    return cell in (None, "n/a")
