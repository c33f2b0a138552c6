"""A small lake, an index of it, and one Spark session for all tests that need a real one."""

from __future__ import annotations

import os

# Before numpy is loaded: its threads wait for each other, and where cores are busy otherwise, by
# Spark or a second process, a decomposition of a small matrix takes 30 times as long with two.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.pipeline.build import BuildOptions, BuildReport

Index = Callable[..., BuildReport]
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def scripts_importable() -> Iterator[None]:
    """The benchmarks are scripts: their folder is on the path while they are tested."""
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Five tables in four formats, and one file that is no table."""
    folder = tmp_path / "lake"
    (folder / "sub").mkdir(parents=True)
    (folder / "cities.csv").write_text(
        "city,country,people\nBern,CH,134000\nZürich,CH,430000\nWindhoek,NA,431000\nOslo,NO,\n"
    )
    (folder / "sub" / "codes.tsv").write_text(
        "code\tname\nCH\tSwitzerland\nNA\tNamibia\nNO\tNorway\n"
    )
    pq.write_table(
        pa.table({"id": [1, 2, 3], "city": ["bern", "oslo", None], "share": [0.5, 1.0, 2.25]}),
        folder / "sub" / "people.parquet",
    )
    with sqlite3.connect(folder / "base.sqlite") as base:
        base.execute("create table towns (name text, code text)")
        base.executemany("insert into towns values (?, ?)", [("Thun", "CH"), ("Bergen", "NO")])
        base.execute("create table empty (a text)")
    base.close()
    (folder / "page.html").write_text("<!DOCTYPE html><html><body>no table</body></html>")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Builds or refreshes `tmp_path/index` without a JVM; keyword arguments are build options."""

    def run(*lakes: Path | str, spark: Any = None, **options: Any) -> BuildReport:
        return lakejoin.index(
            lakes,
            tmp_path / "index",
            spark=spark or FakeSpark(),
            options=BuildOptions(**options),
        )

    return run


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A real session on two cores, as `lakejoin index` would make it."""
    from lakejoin.spark.session import open_session

    with open_session(None, "local[2]", {}) as found:
        yield found
