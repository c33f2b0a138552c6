"""Which table is meant; the command and the function compare its values by the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lakejoin
from cli.commands import JOIN, PREDICATES
from fake_spark import FakeSpark
from lakejoin.errors import InputError, NoJoin, UnknownTable
from lakejoin.inputs import NearbyIndex, resolve_table
from lakejoin.lake import Lake
from lakejoin.pipeline.options import BuildOptions

TOWNS = {"town": ["Bern", "Oslo", "Ulm"], "n": ["1", "2", "3"]}


@pytest.fixture
def exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """An index with exact values, which is the usual one; we stand in a folder of our own."""
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "codes.csv").write_text("name,code\nBERN,BE\nOSLO,OS\nulm,UL\n")
    options = BuildOptions(fold=False, parts=())
    lakejoin.index(tmp_path / "lake", tmp_path / "index", FakeSpark(), options=options)
    monkeypatch.setenv("LAKEJOIN_INDEX", str(tmp_path / "index"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "mine.csv").write_text("town,n\nBern,1\nOslo,2\nulm,3\n")
    (here / "theirs.csv").write_text("name,code\nBERN,BE\nOSLO,OS\nulm,UL\n")
    return lakejoin.open()


def rows_joined(left: str, right: Any) -> int:
    """The rows that the function joins."""
    return len(lakejoin.join(left, right, on="town=name", by="equal"))


def rows_printed(left: str, right: str, *options: str) -> int:
    """The rows that the command joins."""
    found = JOIN.answer(left, right, "--on", "town=name", "--by", "equal", *options)
    return int(found["rows"])


def test_files_are_compared_by_the_default_rules(exact: Lake) -> None:
    assert rows_joined("mine.csv", "theirs.csv") == rows_printed("mine.csv", "theirs.csv") == 3
    frame = lakejoin.read("theirs.csv").to_pandas()
    assert rows_joined("mine.csv", frame) == 3
    index = exact.snapshot.location.uri
    assert rows_printed("mine.csv", "theirs.csv", "--index", index) == 3


def test_a_table_of_an_index_brings_its_rules(exact: Lake) -> None:
    assert rows_joined("mine.csv", "codes.csv") == rows_printed("mine.csv", "codes.csv") == 1
    assert rows_joined("mine.csv", exact.table("codes.csv")) == 1
    best = lakejoin.predicates("mine.csv", "codes.csv")[0]
    printed = PREDICATES.answer("mine.csv", "codes.csv")["predicates"][0]
    assert best.facts.inner == printed["inner_rows"] == 1
    assert PREDICATES.answer("mine.csv", "theirs.csv")["predicates"][0]["inner_rows"] == 3


def test_an_index_is_consulted_only_for_what_is_no_file(
    exact: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEJOIN_INDEX", "nowhere")
    assert rows_joined("mine.csv", "theirs.csv") == rows_printed("mine.csv", "theirs.csv") == 3
    with pytest.raises(lakejoin.MissingIndex):
        lakejoin.join("mine.csv", "codes.csv")
    monkeypatch.delenv("LAKEJOIN_INDEX")
    with pytest.raises(InputError) as refused:
        lakejoin.join("mine.csv", "codes.csv")
    sentence = "there is no file codes.csv, and no index to look it up in"
    assert sentence == str(refused.value) == JOIN.refused("mine.csv", "codes.csv")


def test_two_indexes_with_other_rules(exact: Lake, tmp_path: Path) -> None:
    lakejoin.index(tmp_path / "lake", tmp_path / "folded", FakeSpark(), parts=[])
    folded = lakejoin.open(tmp_path / "folded")
    with pytest.raises(InputError, match="different --values"):
        lakejoin.join(exact.table("codes.csv"), folded.table("codes.csv"))


@pytest.mark.parametrize(
    "source",
    [TOWNS, pd.DataFrame(TOWNS), pl.DataFrame(TOWNS), pa.table(TOWNS)],
    ids=["mapping", "pandas", "polars", "arrow"],
)
def test_a_frame_is_a_query_and_an_input(exact: Lake, source: Any) -> None:
    table = resolve_table(source, default="towns")
    assert (table.name, table.columns, table.size) == ("towns", ("town", "n"), 3)
    query = table.query_table(exact.snapshot)
    assert (query.name, list(query.column_names), query.rows()) == ("my_table", ["town", "n"], 3)
    assert table.rules is None and not table.losses and not table.notes


def test_a_file_is_a_query_and_an_input(exact: Lake) -> None:
    for source in ("mine.csv", Path("mine.csv"), lakejoin.read("mine.csv")):
        table = resolve_table(source, exact.snapshot)
        assert table.columns == tuple(table.query_table(exact.snapshot).column_names)
        assert table.rules is None and table.stored is None
    Path("codes.csv").write_text("name\nx\n")
    (note,) = resolve_table("codes.csv", exact.snapshot).notes
    assert "both a local file and a table" in note
    assert resolve_table("codes.csv", NearbyIndex()).notes == ()


def test_a_table_of_an_index_needs_no_rows(exact: Lake) -> None:
    table = resolve_table("codes.csv")
    assert (table.size, table.columns, table.index) == (
        3,
        ("name", "code"),
        exact.snapshot.location.uri,
    )
    assert "_rows_and_losses" not in vars(table)
    assert table.query_table(exact.snapshot).home is not None
    assert table.rows.num_rows == 3
    again = resolve_table(exact.table("codes.csv"))
    assert again.query_table(lakejoin.open().snapshot).home is not None


def test_what_is_no_table(exact: Lake) -> None:
    with pytest.raises(UnknownTable, match=r"no file codez.csv, and .*codes.csv"):
        resolve_table("codez.csv")
    with pytest.raises(InputError, match=r"there is no file codes\.csv"):
        resolve_table(Path("codes.csv"))
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        resolve_table(Path())
    with pytest.raises(InputError, match="got 2 tables"):
        resolve_table([lakejoin.read("mine.csv")] * 2)
    with pytest.raises(InputError, match="int is not a table"):
        _ = resolve_table(7).rows
    with pytest.raises(NoJoin):
        lakejoin.join({"a": ["x"]}, {"b": ["y"]}).table()
