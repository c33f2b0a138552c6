"""A lake and an index that are no local folders: everything goes through Arrow's file systems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.errors import BusyIndex, MissingIndex
from lakejoin.locations import Location
from lakejoin.pipeline.compaction import compact_index
from lakejoin.spark import Cluster, make_graph
from lakejoin.store.commit import build_lock

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture
def bucket(lake: Path) -> Iterator[Any]:
    """The small lake in fsspec's memory file system."""
    store = fsspec.filesystem("memory")
    for path in lake.rglob("*"):
        if path.is_file():
            store.pipe_file(f"/lake/{path.relative_to(lake).as_posix()}", path.read_bytes())
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]


def names(index: str) -> list[str]:
    return [t.name for t in lakejoin.open(index).tables()]


def test_a_remote_lake_and_index(bucket: Any) -> None:
    lake, index = "memory://lake", "memory://index"
    with pytest.raises(MissingIndex, match="memory://index"):
        lakejoin.open(index)
    report = lakejoin.index(lake, index, spark=FakeSpark())
    assert report.totals.tables == 5
    assert [s.name for s in report.skipped] == ["page.html"]
    opened = lakejoin.open(index)
    assert opened.table("cities.csv").to_arrow()["city"].to_pylist()[1] == "Zürich"
    assert not [c for c in opened.snapshot.check() if c.problem]
    bucket.pipe_file("/lake/new.csv", b"a,b\n1,x\n2,y\n")
    bucket.rm_file("/lake/sub/codes.tsv")
    report = lakejoin.index(lake, index, spark=FakeSpark())
    assert (report.new, report.gone) == (1, 1)
    assert names(index) == [
        "base.sqlite#empty",
        "base.sqlite#towns",
        "cities.csv",
        "new.csv",
        "sub/people.parquet",
    ]
    start = Cluster(FakeSpark()).start
    assert compact_index(Location.of(index), start, lambda p: None).segments == 1
    assert len(names(index)) == 5
    assert lakejoin.read("memory://lake/cities.csv").to_arrow().num_rows == 4


def test_the_join_graph_of_a_remote_index(bucket: Any) -> None:
    rows = b"".join(b"v%d\n" % n for n in range(12))
    for name in ("a", "b"):
        bucket.pipe_file(f"/lake/{name}.csv", b"key\n" + rows)
    lakejoin.index("memory://lake", "memory://index", spark=FakeSpark())
    report = make_graph("memory://index", None, Cluster(FakeSpark()))
    assert report.pairs >= 1
    around = lakejoin.open("memory://index").graph().around("a.csv")
    assert [step.other_table for step in around.steps] == ["b.csv"]
    bucket.pipe_file("/lake/c.csv", b"key\n" + rows)
    lakejoin.index("memory://lake", "memory://index", spark=FakeSpark())
    assert make_graph("memory://index", None, Cluster(FakeSpark())).pairs == report.pairs + 2
    assert not [c for c in lakejoin.open("memory://index").snapshot.check() if c.problem]


def test_a_remote_index_has_one_builder(bucket: Any) -> None:
    index = Location.of("memory://index")
    with (
        build_lock(index),
        pytest.raises(BusyIndex, match="is building"),
        build_lock(index),
    ):
        pass
    with build_lock(index):
        pass
