"""A small lake, indexed once, for tests of the commands that search it."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.spark import engine_choice, task_runner


@pytest.fixture(scope="session")
def small_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small lake with a copy in it, indexed once into the folder beside it."""
    folder = tmp_path_factory.mktemp("search") / "lake"
    (folder / "sub").mkdir(parents=True)
    (folder / "cities.csv").write_text(
        "city,country,people\nBern,CH,134000\nZürich,CH,430000\nWindhoek,NA,431000\nOslo,NO,\n"
    )
    (folder / "copy.csv").write_bytes((folder / "cities.csv").read_bytes())
    (folder / "sub" / "codes.tsv").write_text(
        "code\tname\nCH\tSwitzerland\nNA\tNamibia\nNO\tNorway\n"
    )
    people = {"id": [1, 2, 3], "city": ["bern", "oslo", None], "share": [0.5, 1.0, 2.25]}
    pq.write_table(pa.table(people), folder / "sub" / "people.parquet")
    with sqlite3.connect(folder / "base.sqlite") as base:
        base.execute("create table towns (name text, code text)")
        base.executemany("insert into towns values (?, ?)", [("Thun", "CH"), ("Bergen", "NO")])
        base.execute("create table states (code text)")
        base.execute("insert into states values ('CH')")
    base.close()
    lakejoin.index(folder, folder.parent / "index", spark=FakeSpark())
    return folder


@pytest.fixture
def here(small_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lake's index as the usual one; we stand in a folder of our own."""
    monkeypatch.setenv("LAKEJOIN_INDEX", str(small_lake.parent / "index"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("town,n\n BERN,1\nBern,2\nOslo,3\nParis,4\n,5\n")
    return tmp_path


@pytest.fixture(params=["default", "named"])
def where(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The options that name the index: none for the default one; any printed command has to work
    as it is printed, in the same working directory."""
    monkeypatch.setattr(task_runner, "open_session", lambda *_: nullcontext(FakeSpark()))
    monkeypatch.setattr(engine_choice, "LOCAL_BYTES", -1)
    monkeypatch.delenv("LAKEJOIN_INDEX", raising=False)
    monkeypatch.chdir(tmp_path)
    return [] if request.param == "default" else ["--index", str(tmp_path / "an index")]
