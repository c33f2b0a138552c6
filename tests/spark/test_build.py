"""Building and refreshing: what is read, what is kept, what is dropped, and what is said of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from conftest import Index
from fake_spark import FakeSpark
from lakejoin.errors import (
    BuildFailed,
    BusyIndex,
    DamagedIndex,
    InputError,
    MissingIndex,
    NewerIndex,
    UnknownTable,
    UnreadableFile,
)
from lakejoin.locations import Location
from lakejoin.model import ColumnType, ReadLimits, SourceFile
from lakejoin.pipeline import segment_tasks
from lakejoin.pipeline.compaction import compact_index
from lakejoin.spark import Cluster
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.commit import build_lock
from lakejoin.store.segment import Segment, default_components

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
    assert not [c for c in opened.snapshot.check() if c.problem]


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
    tables = segment_tasks.tables_of

    def listening(job: Any, file: Any, deadly: bool) -> Any:
        read.append(file.name)
        return tables(job, file, deadly)

    monkeypatch.setattr(segment_tasks, "tables_of", listening)
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
    report = index(lake, allow_removal=True)
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
    with (
        build_lock(Location.of(tmp_path / "index")),
        pytest.raises(BusyIndex, match=str(os.getpid())),
    ):
        index(lake)
    index(lake)


def test_leftovers_of_a_dead_build_go(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    home = tmp_path / "index"
    (home / "segments" / "000002beef-000001-0badcafe").mkdir()
    (home / "segments" / "000002beef-000001-0badcafe" / "rows.lj").write_bytes(b"half")
    (home / "scratch" / "000002beef").mkdir(parents=True)
    for name in ("MANIFEST.json.1.draft", "costs.json.1.draft"):
        (home / name).write_bytes(b"{")
    index(lake, full=True)
    assert not (home / "segments" / "000002beef-000001-0badcafe").exists()
    assert not (home / "scratch").exists()
    assert not list(home.glob("*.draft"))


def test_a_reader_that_fails_in_the_middle_is_skipped(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.pipeline import segment_tasks

    honest = segment_tasks.open_tables

    def failing(source: Any, limits: Any) -> Any:
        if source.name == "cities.csv":
            raise RuntimeError("a bug in a reader")
        return honest(source, limits)

    def failing_again(source: Any, limits: Any) -> Any:
        raise MemoryError("no more")

    monkeypatch.setattr(segment_tasks, "open_tables", failing)
    monkeypatch.setattr(segment_tasks, "open_tables_isolated", failing_again)
    report = index(lake)
    assert [s.name for s in report.skipped] == ["cities.csv", "page.html"]
    assert names(tmp_path) == [n for n in NAMES if n != "cities.csv"]


def test_what_killed_a_task_is_isolated_in_the_next_attempt(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = segment_tasks.tables_of
    deadly_seen: dict[str, bool] = {}

    class Killed(BaseException):
        pass

    def dying(job: Any, file: Any, deadly: bool) -> Any:
        if file.name == "cities.csv" and not deadly:
            raise Killed
        deadly_seen[file.name] = deadly
        return tables(job, file, deadly)

    monkeypatch.setattr(segment_tasks, "tables_of", dying)

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


def test_signatures_are_as_long_as_was_asked_for(lake: Path, index: Index, tmp_path: Path) -> None:
    def lengths() -> set[int]:
        segments = lakejoin.open(tmp_path / "index").snapshot.segments
        return {s.sketches.permutations for s in segments if s.sketches.classes}

    index(lake, permutations=256)
    assert lengths() == {256}
    (lake / "more.csv").write_text("x,y\na,b\nc,d\n")
    index(lake)
    assert lengths() == {256}, "a refresh keeps it"
    with pytest.raises(InputError, match="--full"):
        index(lake, permutations=128)
    index(lake, permutations=64, full=True)
    assert lengths() == {64}
    with pytest.raises(InputError, match="power of two"):
        index(lake, permutations=100, full=True)
    for wrong in (0, True, 64.0, "64"):
        with pytest.raises(InputError, match="power of two"):
            index(lake, permutations=wrong)


def test_small_segments_bound_the_memory(lake: Path, index: Index, tmp_path: Path) -> None:
    report = index(lake, memory=1)
    assert report.segments == 4  # the empty table takes no memory
    assert names(tmp_path) == NAMES
    assert not [c for c in lakejoin.open(tmp_path / "index").snapshot.check() if c.problem]


def test_compaction_merges_and_forgets_the_gone(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake, memory=1)
    (lake / "cities.csv").write_text("city,country\nBern,CH\nGenève,CH\n")
    (lake / "sub" / "codes.tsv").unlink()
    index(lake)
    home = Location.of(tmp_path / "index")
    before = {t.name: t.to_arrow() for t in lakejoin.open(home.uri).tables()}
    report = compact_index(home, Cluster(FakeSpark()).start, lambda progress: None)
    assert report.segments == 1
    opened = lakejoin.open(home.uri)
    assert {t.name: t.to_arrow() for t in opened.tables()} == before
    assert opened.info()["values_exact"]
    assert not [c for c in opened.snapshot.check() if c.problem]
    assert compact_index(home, Cluster(FakeSpark()).start, lambda progress: None).merged == 0
    assert index(lake).unchanged == 4, "a compaction does not make files look changed"


def test_a_new_component_comes_without_reading_files(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(lake)

    class Sizes:
        name = "sizes"
        version = 1
        made_with = ""

        def build(self, source: Segment, out: ArrayFileWriter) -> None:
            out.add("size", source.postings.set_sizes())

    monkeypatch.setattr(segment_tasks, "tables_of", None)
    before = default_components
    more = lambda *options: (*before(*options), Sizes())  # noqa: E731
    monkeypatch.setattr("lakejoin.pipeline.options.default_components", more)
    report = index(lake)
    assert (report.version, report.new) == (2, 0)
    for segment in lakejoin.open(tmp_path / "index").snapshot.segments:
        sizes = segment.file("sizes").array("size").all()
        assert sizes.tolist() == segment.postings.set_sizes().tolist()
    assert index(lake).version == 2


def test_the_manifest_is_guarded(lake: Path, index: Index, tmp_path: Path) -> None:
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
    index(lake)
    good = {t.name: t.to_arrow() for t in lakejoin.open(tmp_path / "index").tables()}
    for path in sorted((tmp_path / "index" / "segments").rglob("*.lj")):
        whole = path.read_bytes()
        for place in range(0, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            found = lakejoin.open(tmp_path / "index").snapshot.check()
            problems = {c.segment: c.problem for c in found if c.problem}
            assert list(problems) == [path.parent.name]
            assert path.name in problems[path.parent.name]
            try:
                answer = {t.name: t.to_arrow() for t in lakejoin.open(tmp_path / "index").tables()}
            except DamagedIndex:
                continue
            assert answer == good
        path.write_bytes(whole)


def test_a_large_file_in_chunks_gives_the_same_table(
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
    report = index(lake, full=True, chunk_bytes=10_000)
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
    assert not [c for c in opened.snapshot.check() if c.problem]


def test_a_chunk_that_fails_makes_the_file_be_read_whole(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.formats import file_chunks

    (lake / "large.csv").write_text("a,b\n" + "".join(f"{i},x{i}\n" for i in range(9000)))
    honest = file_chunks.open_chunk

    def failing(chunk: Any, limits: Any) -> Any:
        if chunk.index == 2:
            raise ValueError("a bug")
        return honest(chunk, limits)

    monkeypatch.setattr(file_chunks, "open_chunk", failing)
    index(lake, chunk_bytes=20_000)
    assert lakejoin.open(tmp_path / "index").table("large.csv").rows == 9000


# -- what a review found ----------------------------------------------------------------------


def test_a_folder_with_other_things_is_refused_and_left_alone(
    lake: Path, index: Index, tmp_path: Path
) -> None:
    home = tmp_path / "index"
    (home / "segments").mkdir(parents=True)
    (home / "segments" / "customers.csv").write_text("a,b\n")
    (home / "scratch").mkdir()
    (home / "scratch" / "thesis.txt").write_text("important")
    (home / "letter.draft").write_text("dear")
    with pytest.raises(InputError, match="not an index"):
        index(lake)
    (home / "letter.draft").unlink()
    index(lake)
    index(lake, full=True)
    assert (home / "segments" / "customers.csv").exists()
    assert (home / "scratch" / "thesis.txt").read_text() == "important"


def test_full_mends_a_damaged_manifest(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    (tmp_path / "index" / "MANIFEST.json").write_text("{")
    with pytest.raises(DamagedIndex):
        index(lake)
    with pytest.raises(DamagedIndex):
        index(full=True)
    index(lake, full=True)
    assert names(tmp_path) == NAMES


def test_strict_looks_at_unchanged_files_too(lake: Path, index: Index) -> None:
    index(lake)
    with pytest.raises(BuildFailed, match=r"page\.html"):
        index(lake, strict=True)


def test_a_first_build_that_fails_leaves_nothing(lake: Path, index: Index, tmp_path: Path) -> None:
    with pytest.raises(BuildFailed):
        index(lake, strict=True)
    assert not list(tmp_path.glob("index/segments/*"))
    assert not list(tmp_path.glob("index/scratch/*"))


def test_an_index_inside_the_lake_is_not_indexed(lake: Path) -> None:
    for _ in range(2):
        lakejoin.index(lake, lake / "my_index", spark=FakeSpark())
        assert [t.name for t in lakejoin.open(lake / "my_index").tables()] == NAMES
        (lake / "cities.csv").touch()


def test_old_snapshots_keep_their_list_of_files(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    old = lakejoin.open(tmp_path / "index")
    for _ in range(3):
        index(lake, full=True)
    assert [s.name for s in old.skipped()] == ["page.html"]


def test_what_was_retired_long_ago_is_forgotten(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakejoin.store.commit.KEEP_SECONDS", -1.0)
    for _ in range(6):
        index(lake, full=True)
    manifest = lakejoin.open(tmp_path / "index").snapshot.manifest
    assert len(manifest.retired) == 6, "a segment and a list of files of each version that is kept"
    monkeypatch.setattr("lakejoin.store.history.KEEP_SECONDS", -1.0)
    for _ in range(2):
        index(lake, full=True)
    manifest = lakejoin.open(tmp_path / "index").snapshot.manifest
    assert len(manifest.retired) <= 2


def test_rows_by_slices(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    table = lakejoin.open(tmp_path / "index").table("cities.csv")
    whole = table.to_arrow()["city"].to_pylist()
    for begin, end in ((-2, None), (0, -1), (3, 1), (2, 99), (-99, 2), (4, 9)):
        assert table.to_arrow(begin, end)["city"].to_pylist() == whole[begin:end]


def test_a_column_that_cannot_be_finished_costs_its_table_only(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.values.column_encoder import ColumnEncoder

    honest = ColumnEncoder.finish

    def failing(self: ColumnEncoder) -> Any:
        if self.name == "people":
            raise MemoryError("too much")
        return honest(self)

    monkeypatch.setattr(ColumnEncoder, "finish", failing)
    report = index(lake)
    assert [s.name for s in report.skipped] == ["cities.csv", "page.html"]
    assert report.skipped[0].reason == "reader failed"
    assert names(tmp_path) == [n for n in NAMES if n != "cities.csv"]


def test_many_files_that_kill_their_reader_do_not_fail_the_job(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "killers"
    lake.mkdir()
    for number in range(20):
        (lake / f"t{number:02d}.csv").write_text(f"a,b\n{number},x\n")
    tables = segment_tasks.tables_of

    class Killed(BaseException):
        pass

    def dying(job: Any, file: Any, deadly: bool) -> Any:
        if int(file.name[1:3]) % 3 == 0 and not deadly:
            raise Killed
        return tables(job, file, deadly=False)

    monkeypatch.setattr(segment_tasks, "tables_of", dying)

    class Retrying(FakeSpark):
        def toArrow(self) -> Any:  # noqa: N802
            for _ in range(3):
                try:
                    return super().toArrow()
                except Killed:
                    continue
            return super().toArrow()

    assert index(lake, spark=Retrying()).totals.tables == 20


@pytest.mark.parametrize("hanging", ["sleep", "work"])
def test_the_watchdog_minds_only_the_reader(hanging: str) -> None:
    """In a process of its own, since the watchdog ends it. A reader that waits is ended by the
    clock, one that works by its CPU time; neither counts what others do."""
    script = """
import sys, time
from lakejoin.model import ReadLimits
from lakejoin.pipeline import segment_tasks
from lakejoin.pipeline.job import Job
segment_tasks._GRACE = 0.5
segment_tasks._WAITING = 10 if sys.argv[1] == "sleep" else 1000
job = Job("i", "b", limits=ReadLimits(child_seconds=0.1))
def slow(seconds):
    yield 1
    until = time.process_time() + seconds
    while seconds and sys.argv[1] == "work" and time.process_time() < until:
        pass
    time.sleep(seconds)
    yield 2
for item in segment_tasks.watch_reader(job, slow(0)):
    time.sleep(1.0)
until = time.process_time() + 1.0
while time.process_time() < until:
    pass
print("alive", flush=True)
list(segment_tasks.watch_reader(job, slow(20)))
print("never")
"""
    result = subprocess.run(
        [sys.executable, "-c", script, hanging],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.stdout == "alive\n"
    assert (result.returncode == -signal.SIGPROF) == (hanging == "work")
    assert result.returncode != 0


def test_a_file_that_was_skipped_for_time_or_death_is_tried_again(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = segment_tasks.open_tables

    def busy(file: SourceFile, limits: ReadLimits) -> Any:
        if file.name == "cities.csv":
            raise UnreadableFile(file.name, "reader hung", "no answer in 120 seconds")
        return whole(file, limits)

    monkeypatch.setattr(segment_tasks, "open_tables", busy)
    first = index(lake)
    assert [s.reason for s in first.skipped if s.name == "cities.csv"] == ["reader hung"]
    again = index(lake)
    assert (again.version, again.changed) == (1, 1), "it failed again: there is no new version"
    monkeypatch.undo()
    report = index(lake)
    assert (report.version, report.changed) == (2, 1)
    assert lakejoin.open(tmp_path / "index").table("cities.csv").rows == 4
    assert index(lake).changed == 0


def test_a_file_that_always_hangs_is_tried_three_times(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []
    whole = segment_tasks.open_tables

    def hang(file: SourceFile, limits: ReadLimits) -> Any:
        if file.name != "cities.csv":
            return whole(file, limits)
        tries.append(limits)
        raise UnreadableFile(file.name, "reader hung", "no answer in 120 seconds")

    monkeypatch.setattr(segment_tasks, "open_tables", hang)
    index(lake)
    for _ in range(4):
        report = index(lake)
        assert report.version == 1, "failing again makes no new version"
        assert [s.reason for s in report.skipped if s.name == "cities.csv"] == ["reader hung"]
    assert len(tries) == 3
    assert any("failed 3 times" in note and "--full" in note for note in report.notes)
    more_time = ReadLimits(child_seconds=500)
    assert index(lake, limits=more_time).changed == 1, "other limits are worth a try"
    os.utime(lake / "cities.csv", ns=(10**18, 10**18))
    assert index(lake).changed == 1, "a changed file is tried"
    assert len(tries) == 5
    (tmp_path / "index/retries.json").write_text('{"reader": 7, "tries": [[[')
    assert index(lake).changed == 1, "without counts, it is tried again"
    monkeypatch.undo()
    for full in (False, False, True):
        index(lake, full=full)
    assert lakejoin.open(tmp_path / "index").table("cities.csv").rows == 4
    assert index(lake).notes == ()
    assert "cities" not in (tmp_path / "index/retries.json").read_text()


def test_stopped_right_after_the_commit_the_new_version_is_whole(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the last clean-up: what the manifest names must not be taken for leftovers."""
    from lakejoin.pipeline import build

    index(lake)
    (lake / "new.csv").write_text("a,b\n1,x\n2,y\n")
    honest = build._report

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "_report", stopped)
    for full in (False, True):
        with pytest.raises(KeyboardInterrupt):
            index(lake, full=full)
        assert "new.csv" in names(tmp_path)
        opened = lakejoin.open(tmp_path / "index")
        assert not [c for c in opened.snapshot.check() if c.problem]
    monkeypatch.setattr(build, "_report", honest)
    assert index(lake).unchanged == 6


def test_a_lake_that_is_missing_costs_a_damaged_index_nothing(
    lake: Path, index: Index, tmp_path: Path
) -> None:
    index(lake)
    manifest = tmp_path / "index" / "MANIFEST.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:50])
    with pytest.raises(InputError, match="missing"):
        index(tmp_path / "missing", full=True)
    manifest.write_bytes(whole)
    assert not [c for c in lakejoin.open(tmp_path / "index").snapshot.check() if c.problem]
