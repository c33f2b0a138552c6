"""Building and refreshing: what is read, what is kept, what is dropped, and what is said of it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from conftest import Index
from fake_spark import FakeSpark
from lakejoin.errors import BuildFailed, BusyIndex, InputError, MissingIndex, UnknownTable
from lakejoin.model import ColumnType
from lakejoin.spark import reading
from lakejoin.spark.build import Cluster
from lakejoin.spark.compact import compact_index
from lakejoin.storage import Place
from lakejoin.store import components
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.lock import build_lock
from lakejoin.store.segment import Segment

NAMES = [
    "base.sqlite#empty",
    "base.sqlite#towns",
    "cities.csv",
    "sub/codes.tsv",
    "sub/people.parquet",
]


def names(tmp_path: Path) -> list[str]:
    return [t.name for t in lakejoin.open(tmp_path / "index").tables()]


def test_the_index_holds_the_lake(lake: Path, index: Index, tmp_path: Path) -> None:
    report = index(lake)
    assert (report.version, report.new, report.changed, report.gone) == (1, 5, 0, 0)
    assert [(s.name, s.reason) for s in report.skipped] == [("page.html", "not a table")]
    opened = lakejoin.open(tmp_path / "index")
    info = opened.info()
    assert (info["tables"], info["columns"], info["rows"], info["cells"]) == (5, 11, 12, 31)
    assert info["values_exact"]
    assert names(tmp_path) == NAMES
    cities = opened.table("cities.csv")
    assert cities.to_arrow().to_pydict() == {
        "city": ["Bern", "Zürich", "Windhoek", "Oslo"],
        "country": ["CH", "CH", "NA", "NO"],
        "people": ["134000", "430000", "431000", None],
    }
    types = {c.name: c.profile.type for c in cities.columns()}
    assert types == {
        "city": ColumnType.TEXT,
        "country": ColumnType.TEXT,
        "people": ColumnType.INTEGER,
    }
    assert opened.table("sub/people.parquet").to_arrow()["share"].to_pylist() == [
        "0.5",
        "1",
        "2.25",
    ]
    assert cities.to_pandas().shape == (4, 3)
    assert cities.to_polars().shape == (4, 3)
    assert list(opened.snapshot.check())


def test_nothing_changed_reads_and_writes_nothing(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "index").rglob("*") if p.name != "LOCK"}
    spark = FakeSpark()
    report = index(lake, spark=spark)
    assert (report.new, report.changed, report.gone, report.unchanged) == (0, 0, 0, 5)
    assert spark.jobs == 0
    after = {p: p.stat().st_mtime_ns for p in (tmp_path / "index").rglob("*") if p.name != "LOCK"}
    assert before == after


def test_a_refresh_reads_only_what_is_new_or_changed(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(lake)
    (lake / "new.csv").write_text("a,b\n1,x\n2,y\n")
    (lake / "cities.csv").write_text("city,country\nBern,CH\n")
    (lake / "sub" / "codes.tsv").unlink()
    read: list[str] = []
    tables = reading.tables_of

    def listening(job: Any, file: Any, deadly: bool) -> Any:
        read.append(file.name)
        return tables(job, file, deadly)

    monkeypatch.setattr(reading, "tables_of", listening)
    report = index()
    assert sorted(read) == ["cities.csv", "new.csv"]
    assert (report.new, report.changed, report.gone, report.unchanged) == (1, 1, 1, 3)
    opened = lakejoin.open(tmp_path / "index")
    assert names(tmp_path) == sorted({*NAMES, "new.csv"} - {"sub/codes.tsv"})
    assert opened.table("cities.csv").rows == 1
    assert opened.info()["tables"] == 5
    assert opened.info()["rows"] == 12 - 4 + 1 - 3 + 2
    with pytest.raises(UnknownTable, match="sub/codes"):
        opened.table("sub/codes.tsv")
    assert [s.name for s in opened.skipped()] == ["page.html"], "skips of unread files are kept"


def test_a_skipped_file_that_is_mended_is_read(lake: Path, index: Index, tmp_path: Path) -> None:
    (lake / "odd.csv").write_text("<!DOCTYPE html><html><body>404</body></html>")
    assert [s.name for s in index(lake).skipped] == ["odd.csv", "page.html"]
    (lake / "odd.csv").write_text("a,b\n1,2\n3,4\n")
    assert [s.name for s in index(lake).skipped] == ["page.html"]
    assert "odd.csv" in names(tmp_path)


def test_full_reads_everything_again(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    report = index(lake, full=True)
    assert (report.version, report.new, report.unchanged) == (2, 5, 0)
    assert names(tmp_path) == NAMES


def test_an_emptied_lake_gives_an_empty_index(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    shutil.rmtree(lake)
    lake.mkdir()
    report = index(lake)
    assert report.gone == 5
    assert names(tmp_path) == []
    assert lakejoin.open(tmp_path / "index").info()["cells"] == 0


def test_readers_keep_their_snapshot(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    old = lakejoin.open(tmp_path / "index")
    (lake / "cities.csv").write_text("city\nThun\n")
    index(lake)
    index(lake, full=True)
    assert old.table("cities.csv").to_arrow()["city"].to_pylist()[0] == "Bern"
    assert lakejoin.open(tmp_path / "index").table("cities.csv").rows == 1


def test_another_lake_or_other_options_need_full(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="--full"):
        index(other)
    with pytest.raises(InputError, match="--full"):
        index(lake, fold=False)
    assert names(tmp_path) == NAMES
    index(other, full=True)
    assert names(tmp_path) == ["x.csv"]


def test_exact_values_stay_as_they_are_on_refresh(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake, fold=False)
    (lake / "more.csv").write_text("a,b\nBERN,1\n")
    index()
    opened = lakejoin.open(tmp_path / "index")
    values = set()
    for segment in opened.snapshot.segments:
        texts = segment.dictionary.texts
        values |= set(texts.take(list(range(len(texts)))).to_pylist())
    assert {"Bern", "BERN", "bern"} <= values


def test_several_lakes_and_globs(lake: Path, index: Index, tmp_path: Path) -> None:
    index(str(lake / "*.csv"), lake / "sub" / "codes.tsv")
    assert names(tmp_path) == ["cities.csv", "codes.tsv"]


@pytest.mark.parametrize("what", ["missing", "missing/*.csv"])
def test_a_lake_that_is_not_there_is_named(index: Index, tmp_path: Path, what: str) -> None:
    with pytest.raises(InputError, match="missing"):
        index(tmp_path / what)
    with pytest.raises(MissingIndex):
        lakejoin.open(tmp_path / "index")


def test_no_lake_and_no_index(index: Index) -> None:
    with pytest.raises(InputError, match="lakejoin index LAKE"):
        index()


def test_strict_changes_nothing(lake: Path, index: Index, tmp_path: Path) -> None:
    (lake / "page.html").rename(lake / "page.txt")
    page = lake / "page.txt"
    text = page.read_text()
    page.unlink()
    index(lake)
    page.write_text(text)
    with pytest.raises(BuildFailed, match=r"page\.txt.*--strict"):
        index(lake, strict=True)
    assert lakejoin.open(tmp_path / "index").info()["version"] == 1
    assert index(lake).version == 2


def test_a_second_builder_is_told(lake: Path, index: Index, tmp_path: Path) -> None:
    with build_lock(Place.of(tmp_path / "index")), pytest.raises(BusyIndex, match=str(os.getpid())):
        index(lake)
    index(lake)


def test_leftovers_of_a_dead_build_go(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    home = tmp_path / "index"
    (home / "segments" / "000002-dead").mkdir()
    (home / "segments" / "000002-dead" / "rows.lj").write_bytes(b"half")
    (home / "scratch" / "x").mkdir(parents=True)
    (home / "MANIFEST.json.1.draft").write_bytes(b"{")
    index(lake, full=True)
    assert not (home / "segments" / "000002-dead").exists()
    assert not (home / "scratch").exists()
    assert not list(home.glob("*.draft"))


def test_a_reader_that_fails_in_the_middle_is_skipped(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.lake import isolate
    from lakejoin.lake import read as lake_read

    honest = lake_read.open_tables

    def failing(source: Any, limits: Any) -> Any:
        if source.name == "cities.csv":
            raise RuntimeError("a bug in a reader")
        return honest(source, limits)

    def failing_again(source: Any, limits: Any) -> Any:
        raise MemoryError("no more")

    monkeypatch.setattr(lake_read, "open_tables", failing)
    monkeypatch.setattr(isolate, "open_tables_isolated", failing_again)
    report = index(lake)
    assert [s.name for s in report.skipped] == ["cities.csv", "page.html"]
    assert names(tmp_path) == [n for n in NAMES if n != "cities.csv"]


def test_what_killed_a_task_is_isolated_in_the_next_attempt(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = reading.tables_of
    deadly_seen: dict[str, bool] = {}

    class Killed(BaseException):
        pass

    def dying(job: Any, file: Any, deadly: bool) -> Any:
        if file.name == "cities.csv" and not deadly:
            raise Killed
        deadly_seen[file.name] = deadly
        return tables(job, file, deadly)

    monkeypatch.setattr(reading, "tables_of", dying)

    class Retrying(FakeSpark):
        def toArrow(self) -> Any:  # noqa: N802
            try:
                return super().toArrow()
            except Killed:
                return super().toArrow()

    report = index(lake, spark=Retrying())
    assert deadly_seen["cities.csv"]
    assert not deadly_seen["sub/codes.tsv"]
    assert names(tmp_path) == NAMES
    assert report.totals.tables == 5
    kept = {s.record.id for s in lakejoin.open(tmp_path / "index").snapshot.segments}
    assert {p.name for p in (tmp_path / "index" / "segments").iterdir()} == kept


def test_a_full_disk_is_one_sentence(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(lake)

    def full(self: Any, *_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ArrayFileWriter, "append", full)
    with pytest.raises(BuildFailed, match="the disk is full"):
        index(lake, full=True)
    monkeypatch.undo()
    assert names(tmp_path) == NAMES
    index(lake, full=True)
    assert names(tmp_path) == NAMES


def test_small_segments_bound_the_memory(lake: Path, index: Index, tmp_path: Path) -> None:
    report = index(lake, memory=1)
    assert report.segments == 4  # the empty table takes no memory
    assert names(tmp_path) == NAMES
    assert list(lakejoin.open(tmp_path / "index").snapshot.check())


def test_compaction_merges_and_forgets_the_gone(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake, memory=1)
    (lake / "cities.csv").write_text("city,country\nBern,CH\nGenève,CH\n")
    (lake / "sub" / "codes.tsv").unlink()
    index(lake)
    home = Place.of(tmp_path / "index")
    before = {t.name: t.to_arrow() for t in lakejoin.open(home.uri).tables()}
    report = compact_index(home, Cluster(FakeSpark()), lambda progress: None)
    assert report.segments == 1
    opened = lakejoin.open(home.uri)
    assert {t.name: t.to_arrow() for t in opened.tables()} == before
    assert opened.info()["values_exact"]
    assert list(opened.snapshot.check())
    assert compact_index(home, Cluster(FakeSpark()), lambda progress: None).merged == 0
    assert index(lake).unchanged == 4, "a compaction does not make files look changed"


def test_a_new_component_comes_without_reading_files(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(lake)

    class Sizes:
        name = "sizes"
        version = 1

        def build(self, source: Segment, out: ArrayFileWriter) -> None:
            out.add("size", source.postings.set_sizes())

    monkeypatch.setattr(reading, "tables_of", None)
    for module in ("lakejoin.store.components", "lakejoin.spark.build"):
        monkeypatch.setattr(f"{module}.COMPONENTS", (*components.COMPONENTS, Sizes()))
    report = index(lake)
    assert (report.version, report.new) == (2, 0)
    for segment in lakejoin.open(tmp_path / "index").snapshot.segments:
        sizes = segment.file("sizes").array("size").all()
        assert sizes.tolist() == segment.postings.set_sizes().tolist()
    assert index(lake).version == 2


def test_the_manifest_is_guarded(lake: Path, index: Index, tmp_path: Path) -> None:
    from lakejoin.errors import DamagedIndex, NewerIndex

    index(lake)
    manifest = tmp_path / "index" / "MANIFEST.json"
    whole = manifest.read_bytes()
    for damaged in (b"", b"{}", b"[1]", whole[:-40], whole.replace(b'"rows":', b'"rows": ', 1)):
        manifest.write_bytes(damaged)
        with pytest.raises(DamagedIndex, match=r"MANIFEST\.json"):
            lakejoin.open(tmp_path / "index")
    body = json.loads(whole)
    manifest.write_text(json.dumps({**body, "format": 99}))
    with pytest.raises(NewerIndex, match="upgrade"):
        lakejoin.open(tmp_path / "index")
    manifest.write_bytes(whole)
    assert names(tmp_path) == NAMES


def test_damage_is_named_and_never_gives_a_wrong_answer(
    lake: Path, index: Index, tmp_path: Path
) -> None:
    from lakejoin.errors import DamagedIndex

    index(lake)
    good = {t.name: t.to_arrow() for t in lakejoin.open(tmp_path / "index").tables()}
    for path in sorted((tmp_path / "index" / "segments").rglob("*.lj")):
        whole = path.read_bytes()
        for place in range(0, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            opened = lakejoin.open(tmp_path / "index")
            with pytest.raises(DamagedIndex, match=path.parent.name):
                list(opened.snapshot.check())
            try:
                answer = {t.name: t.to_arrow() for t in lakejoin.open(tmp_path / "index").tables()}
            except DamagedIndex:
                continue
            assert answer == good
        path.write_bytes(whole)


def test_a_large_file_in_pieces_gives_the_same_table(
    lake: Path, index: Index, tmp_path: Path
) -> None:
    """Quoted line ends, a late null word and a late date order: decided by the whole column."""
    rows = [
        f'{i},"note {i % 90}\nover ""two"" lines",{i % 12 + 1:02d}/{i % 11 + 1:02d}/2020,NA'
        for i in range(6000)
    ]
    rows += ["x,last,12/31/2020,DE", "y,last,12/30/2020,FR", "z,last,01/01/2020,CH"]
    (lake / "large.csv").write_text("id,note,day,code\n" + "\n".join(rows) + "\n")
    pq.write_table(pa.table({"n": range(9000)}), lake / "large.parquet", row_group_size=1000)
    lines = (json.dumps({"a": i, **({"b": f"B{i}"} if i > 4000 else {})}) for i in range(5000))
    (lake / "large.jsonl").write_text("\n".join(lines))
    index(lake)
    opened = lakejoin.open(tmp_path / "index")
    whole = {t.name: (t.to_arrow(), t.columns(), t.entry.dialect) for t in opened.tables()}
    report = index(lake, full=True, piece_bytes=10_000)
    assert report.skipped[0].name == "page.html"
    opened = lakejoin.open(tmp_path / "index")
    for table in opened.tables():
        arrow, columns, dialect = whole[table.name]
        assert table.to_arrow().equals(arrow)
        assert [(c.name, c.profile) for c in table.columns()] == [
            (c.name, c.profile) for c in columns
        ]
        assert table.entry.dialect == dialect
    assert {"large.csv", "large.parquet", "large.jsonl"} <= set(whole)
    assert opened.table("large.csv").columns()[2].profile.type == ColumnType.DATE
    assert list(opened.snapshot.check())


def test_a_piece_that_fails_makes_the_file_be_read_whole(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.lake import split

    (lake / "large.csv").write_text("a,b\n" + "".join(f"{i},x{i}\n" for i in range(9000)))
    honest = split.open_piece

    def failing(piece: Any, limits: Any) -> Any:
        if piece.number == 2:
            raise ValueError("a bug")
        return honest(piece, limits)

    monkeypatch.setattr(split, "open_piece", failing)
    index(lake, piece_bytes=20_000)
    assert lakejoin.open(tmp_path / "index").table("large.csv").rows == 9000
