"""Builds in local processes: the same index as Spark's, and the same care for files that crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.errors import BuildFailed, InputError
from lakejoin.locations import Location
from lakejoin.model import ReadLimits
from lakejoin.pipeline import process_runner
from lakejoin.pipeline.build import BuildReport
from lakejoin.pipeline.compaction import compact_index
from lakejoin.pipeline.graph_build import build_graph
from lakejoin.pipeline.machine_limits import choose_processes, usable_memory
from lakejoin.pipeline.options import BuildOptions
from lakejoin.spark import Cluster
from lakejoin.spark.engine_choice import choose_engine
from lakejoin.store.graph_files import GraphOptions

TABLES = 12


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the Spark of these tests has."""
    monkeypatch.setattr(process_runner, "usable_cores", lambda: 2)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for table in range(TABLES):
        rows = "".join(f"place {table * 7 + row},{row * 31},w{row % 9}\n" for row in range(300))
        (folder / f"t{table:02d}.csv").write_text(f"place,people,ward\n{rows}")
    return folder


def build(lake: Path, index: Path, engine: str | None = "local", **options: Any) -> BuildReport:
    spark = FakeSpark() if engine == "spark" else None
    return lakejoin.index(lake, index, spark, options=BuildOptions(engine=engine, **options))


def contents(index: Path) -> dict[tuple[str, ...], list[tuple[str, bytes]]]:
    """The bytes of every file of each segment, by the names of its tables."""
    segments = lakejoin.open(index).snapshot.segments
    return {
        tuple(segment.catalog.tables["name"].to_pylist()): sorted(
            (path.stem.partition("-")[0], path.read_bytes())  # the rest of a name is random
            for path in (index / "segments" / segment.record.id).iterdir()
        )
        for segment in segments
    }


def set_trap(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Run this code first in every process that is started from here on."""
    (folder / "trap").mkdir()
    (folder / "trap" / "sitecustomize.py").write_text(code)
    monkeypatch.syspath_prepend(folder / "trap")


DEADLY = """
import os
from lakejoin.formats import file_reader
honest = file_reader.open_tables
def deadly(source, limits):
    if source.name in {names}:
        {how}
    yield from honest(source, limits)
file_reader.open_tables = deadly
"""


@pytest.mark.parametrize("memory", [1600 << 20, 1])
def test_the_files_of_the_index_are_those_that_spark_writes(
    lake: Path, tmp_path: Path, memory: int
) -> None:
    options: dict[str, Any] = {"memory": memory, "parts": ("meaning", "distance")}
    local = build(lake, tmp_path / "local", **options)
    spark = build(lake, tmp_path / "spark", "spark", **options)
    assert (local.engine, spark.engine) == ("local", "spark")
    assert local.totals == spark.totals
    assert contents(tmp_path / "local") == contents(tmp_path / "spark")


def test_a_large_file_is_parsed_in_chunks(lake: Path, tmp_path: Path) -> None:
    report = build(lake, tmp_path / "index", chunk_bytes=1_000, parts=())
    build(lake, tmp_path / "whole", "spark", parts=())
    assert report.totals.tables == TABLES
    for name in ("t00.csv", "t11.csv"):
        tables = [lakejoin.open(tmp_path / index).table(name) for index in ("index", "whole")]
        assert tables[0].to_arrow() == tables[1].to_arrow()


def test_graph_and_compaction(lake: Path, tmp_path: Path) -> None:
    index = Location.of(tmp_path / "index")
    build(lake, tmp_path / "index", memory=1)
    start = choose_engine("local")
    listener = [].append
    options = GraphOptions(0.5, 1)
    counted = build_graph(index, options, start, listener)
    assert counted.pairs > 0
    again = build_graph(index, options, Cluster(FakeSpark()).start, listener, full=True)
    assert again.pairs == counted.pairs
    assert compact_index(index, start, listener).segments == 1
    assert build_graph(index, options, start, listener).pairs == counted.pairs


def test_files_that_kill_their_process_are_read_in_isolation(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "bad.csv").write_bytes(b"")
    names = {"t03.csv", "t07.csv", "t08.csv"}
    code = DEADLY.format(names=names, how="os.kill(os.getpid(), 11)")
    set_trap(tmp_path, monkeypatch, code)
    report = build(lake, tmp_path / "index", parts=())
    assert report.totals.tables == TABLES
    assert [skipped.name for skipped in report.skipped] == ["bad.csv"]
    kept = {segment.record.id for segment in lakejoin.open(tmp_path / "index").snapshot.segments}
    assert {path.name for path in (tmp_path / "index" / "segments").iterdir()} == kept


def test_a_reader_that_hangs_is_ended(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = DEADLY.format(names={"t05.csv"}, how="import time; time.sleep(600)")
    watchdog = "from lakejoin.pipeline import segment_tasks\nsegment_tasks._GRACE = 0.5\n"
    set_trap(tmp_path, monkeypatch, f"{watchdog}{code}\nsegment_tasks.open_tables = deadly\n")
    limits = ReadLimits(child_seconds=5)
    report = build(lake, tmp_path / "index", parts=(), limits=limits)
    assert report.totals.tables == TABLES


def test_a_task_that_fails_four_times_fails_the_build(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(lake, tmp_path / "index", parts=())
    before = contents(tmp_path / "index")
    set_trap(
        tmp_path,
        monkeypatch,
        "from lakejoin.store import segment_builder\n"
        "def broken(self, components):\n"
        "    raise RuntimeError('no such luck')\n"
        "segment_builder.SegmentBuilder.finish = broken\n",
    )
    reason = "a task failed 4 times: RuntimeError: no such luck; the previous index is untouched"
    with pytest.raises(BuildFailed, match=reason):
        build(lake, tmp_path / "index", parts=(), full=True)
    assert contents(tmp_path / "index") == before
    assert not (tmp_path / "index" / "scratch").exists()


def test_a_process_that_always_dies_fails_the_build(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_trap(
        tmp_path,
        monkeypatch,
        "import os\n"
        "from lakejoin.store import segment_builder\n"
        "def broken(self, components):\n"
        "    os._exit(9)\n"
        "segment_builder.SegmentBuilder.finish = broken\n",
    )
    with pytest.raises(BuildFailed, match="failed 4 times: its process ended with exit code 9"):
        build(lake, tmp_path / "index", parts=())


SCRIPT = """
import sys, lakejoin

def lengths(texts):
    return [[len(text), 1.0] for text in texts]

lake, index = sys.argv[1:]
options = lakejoin.BuildOptions(engine="local")
report = lakejoin.index(lake, index, encoder=lengths, options=options)
print(report.totals.tables, lakejoin.open(index, lengths).info()["parts"][0])
"""


def test_a_script_needs_no_main_guard_and_may_bring_its_encoder(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, "script.py", str(lake), str(tmp_path / "index")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout.split() == [str(TABLES), "meaning"], ran.stderr


SLOW = "import time; open({noted!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(600)"


def start_slow_build(lake: Path, tmp_path: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A build whose processes all wait in a reader; gives the ids of these."""
    (tmp_path / "trap").mkdir()
    noted = tmp_path / "noted"
    names = {f"t{table:02d}.csv" for table in range(TABLES)}
    code = DEADLY.format(names=names, how=SLOW.format(noted=str(noted)))
    (tmp_path / "trap" / "sitecustomize.py").write_text(code)
    command = ["index", str(lake), "--index", str(tmp_path / "index"), "--engine", "local"]
    build = subprocess.Popen(
        [sys.executable, "-m", "lakejoin", *command, "--with", "none"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "trap"), *sys.path])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C goes to the whole group of a terminal
    )
    deadline = time.monotonic() + 120
    while not (noted.exists() and noted.read_text().endswith("\n")):
        assert time.monotonic() < deadline and build.poll() is None
        time.sleep(0.05)
    return build, [int(line) for line in noted.read_text().split()]


def wait_until_gone(processes: list[int]) -> None:
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{process}").exists() for process in processes):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_ctrl_c_ends_all_processes(lake: Path, tmp_path: Path) -> None:
    slow, processes = start_slow_build(lake, tmp_path)
    os.killpg(slow.pid, signal.SIGINT)
    _, said = slow.communicate(timeout=60)
    assert slow.returncode == 130
    assert "stopped; existing files are untouched" in said
    wait_until_gone(processes)
    assert not (tmp_path / "index" / "scratch").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_no_process_outlives_a_build_that_is_killed(lake: Path, tmp_path: Path) -> None:
    slow, processes = start_slow_build(lake, tmp_path)
    slow.kill()
    slow.communicate()
    wait_until_gone(processes)
    assert build(lake, tmp_path / "index", parts=()).totals.tables == TABLES


def test_progress_counts_files(lake: Path, tmp_path: Path) -> None:
    seen: list[Any] = []
    options = BuildOptions(engine="local", parts=())
    lakejoin.index(lake, tmp_path / "index", options=options, listener=seen.append)
    last = [progress for progress in seen if progress.stage == "reading and encoding"][-1]
    assert (last.done, last.total, last.cells) == (TABLES, TABLES, TABLES * 900)


def test_processes_fit_in_memory() -> None:
    assert usable_memory() > 0
    counts = [choose_processes(512 << 20, 16, gigabytes << 30) for gigabytes in (1, 4, 8, 64)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] == 16


# -- which engine --------------------------------------------------------------------------------


def chosen(
    lake: Path, tmp_path: Path, engine: str | None = None, spark: Any = None
) -> tuple[str | None, list[str]]:
    options = BuildOptions(engine=engine, parts=())
    report = lakejoin.index(lake, tmp_path / "index", spark, options=options)
    return report.engine, [note for note in report.notes if "local processes" in note]


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of this process may have left a Spark session running."""
    monkeypatch.setattr("lakejoin.spark.engine_choice._runs_in_spark", lambda: False)


@pytest.mark.usefixtures("no_session")
def test_small_work_runs_in_local_processes_with_a_note(lake: Path, tmp_path: Path) -> None:
    note = "done by local processes, being at most 512 MB; --engine spark uses Spark"
    assert chosen(lake, tmp_path) == ("local", [note])
    assert chosen(lake, tmp_path) == (None, []), "nothing to do, nothing to choose"
    (lake / "more.csv").write_text("a,b\nx,1\ny,2\n")
    assert chosen(lake, tmp_path, engine="local") == ("local", [])
    (lake / "more.csv").write_text("a,b\nx,1\nyy,2\n")
    assert chosen(lake, tmp_path, spark=FakeSpark()) == ("spark", [])


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize("missing", ["pyspark", "java"])
def test_large_work_runs_in_local_processes_where_spark_is_missing(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    from lakejoin.spark import engine_choice, java

    monkeypatch.setattr(engine_choice, "LOCAL_BYTES", 10)
    if missing == "pyspark":
        monkeypatch.setattr(java, "find_spec", lambda name: None)
        reason = "Spark is not installed; pip install 'lakejoin[spark]' adds it"
    else:
        monkeypatch.setattr(java, "find_spec", lambda name: name)
        monkeypatch.setattr(java, "_candidates", lambda: [])
        reason = "Spark needs Java 17 or newer and none was found"
    engine, (note,) = chosen(lake, tmp_path)
    assert engine == "local"
    assert note.startswith(f"done by local processes: {reason}")


@pytest.mark.usefixtures("no_session")
def test_large_work_runs_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    from lakejoin.spark import engine_choice, task_runner

    monkeypatch.setattr(engine_choice, "describe_missing_spark", lambda: "")
    monkeypatch.setattr(task_runner, "open_session", lambda *_: nullcontext(FakeSpark()))
    start = partial(choose_engine(), [].append)
    with start(engine_choice.LOCAL_BYTES) as small, start(engine_choice.LOCAL_BYTES + 1) as large:
        assert (small.engine, large.engine) == ("local", "spark")


def test_local_processes_take_no_spark(lake: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the engine local uses no Spark"):
        lakejoin.index(lake, tmp_path / "index", FakeSpark(), options=BuildOptions(engine="local"))
    with pytest.raises(InputError, match="unknown engine 'dask'; use local or spark"):
        BuildOptions(engine="dask")
