"""Frames under names as tables of a lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset
from pyarrow import parquet as pq

import lakejoin
from conftest import Index
from fake_spark import FakeSpark
from lakejoin.errors import InputError
from lakejoin.pipeline.build import BuildReport
from lakejoin.pipeline.options import BuildOptions

TOWNS = {"town": ["Ulm", "Bonn", "Hof", None], "people": [126, 331, 46, 1]}
TEXTS = {"town": ["Ulm", "Bonn", "Hof", None], "people": ["126", "331", "46", "1"]}


def build(tmp_path: Path, frames: Any, **options: Any) -> BuildReport:
    return lakejoin.index(
        frames, tmp_path / "index", spark=FakeSpark(), options=BuildOptions(**options)
    )


def opened(tmp_path: Path) -> lakejoin.Lake:
    return lakejoin.open(tmp_path / "index")


def test_frames_of_every_library(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(pa.table(TOWNS), folder / "a.parquet")
    frames = {
        "arrow": pa.table(TOWNS),
        "pandas": pd.DataFrame(TOWNS),
        "polars": pl.DataFrame(TOWNS),
        "relation": duckdb.from_arrow(pa.table(TOWNS)),
        "dataset": dataset.dataset(str(folder)),
        "reader": pa.table(TOWNS).to_reader(),
        "mapping": TOWNS,
    }
    report = build(tmp_path, frames)
    assert (report.new, report.skipped) == (7, ())
    for table in opened(tmp_path).tables():
        assert table.to_arrow().to_pydict() == TEXTS, table.name
    assert {t.name for t in opened(tmp_path).tables()} == set(frames)
    best = opened(tmp_path).overlap({"place": ["ulm", "bonn"]}, "place")
    assert {result.table for result in best} | {"x"} >= {"arrow", "x"}


def test_only_frames_that_changed_are_read(tmp_path: Path) -> None:
    towns, more = pa.table(TOWNS), pa.table({"a": [1, 2]})
    assert build(tmp_path, {"towns": towns, "more": more}).new == 2
    report = build(tmp_path, {"towns": towns.slice(0), "more": pa.table({"a": [1, 3]})})
    assert (report.new, report.changed, report.unchanged) == (0, 1, 1)
    assert opened(tmp_path).table("more").to_arrow().to_pydict() == {"a": ["1", "3"]}
    assert build(tmp_path, {"towns": towns}).gone == 1
    renamed = pa.table({"city": TOWNS["town"], "people": TOWNS["people"]})
    assert build(tmp_path, {"towns": renamed}).changed == 1


def test_frames_beside_files_and_nested(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "towns").write_text("town,n\nUlm,1\nHof,2\n")
    nested = pa.table({"id": [1, 2], "at": [{"x": 1}, {"x": 2}], "tags": [["a"], ["b", "c"]]})
    build(tmp_path, [str(lake), {"towns": pa.table(TOWNS), "nested": nested}])
    assert {t.name: t.rows for t in opened(tmp_path).tables()} == {
        "towns": 2, "towns~2": 4, "nested": 2, "nested#tags": 3,
    }  # fmt: skip
    with pytest.raises(InputError, match="pass them again"):
        lakejoin.index(index=tmp_path / "index")


def test_a_frame_larger_than_a_chunk(tmp_path: Path) -> None:
    rows = {"n": list(range(20_000))}
    build(tmp_path, {"rows": pa.table(rows)}, chunk_bytes=1000)
    assert opened(tmp_path).table("rows").rows == 20_000


def test_frames_of_one_name_are_tables_of_their_own(tmp_path: Path) -> None:
    build(tmp_path, [{"a": {"x": [1]}, 1: {"x": [1]}}, {"a": {"x": [1, 2]}, "1": {"x": [1, 2]}}])
    tables = opened(tmp_path).tables()
    assert sorted(table.rows for table in tables) == [1, 1, 2, 2]
    assert len({table.name for table in tables}) == 4


def test_what_is_no_table_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a table"):
        build(tmp_path, {"n": 7})
    with pytest.raises(InputError, match="cannot name a table"):
        build(tmp_path, {"": TOWNS})
    assert not (tmp_path / "index").exists()


def test_an_index_of_files_refuses_frames(tmp_path: Path, index: Index) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    index(tmp_path / "a.csv")
    with pytest.raises(InputError, match="this index was built from"):
        build(tmp_path, {"towns": TOWNS})
