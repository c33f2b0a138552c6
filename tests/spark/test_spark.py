"""The pipeline on a real Spark: a session of ours, the caller's, a cluster, dying workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from lakejoin.errors import InputError
from lakejoin.locations import Location
from lakejoin.pipeline.compaction import compact_index
from lakejoin.spark import Cluster
from lakejoin.spark.java import find_java

pytestmark = pytest.mark.spark
pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")

NAMES = [
    "base.sqlite#empty",
    "base.sqlite#towns",
    "cities.csv",
    "sub/codes.tsv",
    "sub/people.parquet",
]


def names(index: Path) -> list[str]:
    return [t.name for t in lakejoin.open(index).tables()]


def lakejoin_command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lakejoin", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=300,
        check=False,
    )


def test_the_callers_session_is_used_and_left_running(
    spark: Any, lake: Path, tmp_path: Path
) -> None:
    report = lakejoin.index(lake, tmp_path / "index", spark=spark)
    assert report.totals.tables == 5
    assert names(tmp_path / "index") == NAMES
    (lake / "more.csv").write_text("a,b\n1,x\n2,y\n")
    assert lakejoin.index(lake, tmp_path / "index", spark=spark).new == 1
    home = Location.of(tmp_path / "index")
    assert compact_index(home, Cluster(spark).start, lambda progress: None).segments == 1
    assert names(tmp_path / "index") == sorted([*NAMES, "more.csv"])
    assert spark.range(3).count() == 3


def test_workers_get_a_function_of_the_callers(spark: Any, lake: Path, tmp_path: Path) -> None:
    letters = "aeiou"

    def vowels(texts: list[str]) -> list[list[float]]:  # closes over a variable of this test
        return [[1.0, *(text.count(letter) for letter in letters)] for text in texts]

    lakejoin.index(lake, tmp_path / "index", spark=spark, encoder=vowels)
    found = [s.meaning for s in lakejoin.open(tmp_path / "index").snapshot.segments]
    assert {m.dimension for m in found} == {6}
    assert sum(len(m) for m in found) > 5


def test_a_worker_that_dies_is_retried_and_leaves_no_trace(
    spark: Any, lake: Path, tmp_path: Path
) -> None:
    """`LAKEJOIN_TEST_DIE` names a file whose reader kills its worker, as a fault in native code."""
    for number in range(30):
        (lake / f"t{number:02d}.csv").write_text(f"a,b\n{number},x\n{number + 1},y\n")
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "sitecustomize.py").write_text(
        "import os\n"
        "from lakejoin.formats import file_reader\n"
        "honest = file_reader.open_tables\n"
        "def deadly(source, limits):\n"
        "    if source.name == 't07.csv': os._exit(66)\n"
        "    return honest(source, limits)\n"
        "file_reader.open_tables = deadly\n"
    )
    # A worker of its own environment: the trap is on the path of this build's workers only.
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, lakejoin\n"
            "from lakejoin.spark import Cluster\n"
            f"lake, index = {str(lake)!r}, {str(tmp_path / 'index')!r}\n"
            "r = lakejoin.index(lake, index, Cluster(master='local[2]'))\n"
            "print(r.totals.tables, len(r.skipped))\n",
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(trap), *sys.path])},
        timeout=300,
        check=False,
    )
    assert result.stdout.split() == ["35", "1"], result.stderr[-2000:]
    index = tmp_path / "index"
    assert names(index) == sorted([*NAMES, *(f"t{n:02d}.csv" for n in range(30))])
    kept = {s.record.id for s in lakejoin.open(index).snapshot.segments}
    assert {p.name for p in (index / "segments").iterdir()} == kept


def test_a_standalone_cluster_with_two_workers(lake: Path, tmp_path: Path, cluster: str) -> None:
    for number in range(8):
        rows = "".join(f"{number}-{row},{row % 7}\n" for row in range(150_000))
        (lake / f"big{number}.csv").write_text("key,group\n" + rows)
    index = tmp_path / "index"
    built = lakejoin_command(
        *("index", str(lake), "--index", str(index), "--master", cluster, "--json"),
        *("--conf", "spark.executor.memory=512m", "--conf", "spark.executor.cores=1"),
        *("--conf", "spark.cores.max=2"),
    )
    assert built.returncode == 0, built.stderr[-2000:]
    assert json.loads(built.stdout)["totals"]["tables"] == 13
    used = {p.name for p in tmp_path.glob("work*/app-*/*")}
    assert len(used) >= 2, "both workers ran an executor"
    opened = lakejoin.open(index)
    assert len(opened.snapshot.segments) == 2
    assert not [c for c in opened.snapshot.check() if c.problem]
    assert opened.table("big3.csv").to_arrow(0, 1).to_pylist() == [{"key": "3-0", "group": "0"}]


def test_a_running_session_is_not_replaced(spark: Any, lake: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already running"):
        lakejoin.index(lake, tmp_path / "index", Cluster(master="local[1]"))
    assert lakejoin.index(lake, tmp_path / "index").totals.tables == 5, "the running one is used"
    assert spark.range(3).count() == 3


def test_a_session_of_another_thread_is_left_running(
    spark: Any, lake: Path, tmp_path: Path
) -> None:
    from threading import Thread

    thread = Thread(target=lakejoin.index, args=(lake, tmp_path / "index"))
    thread.start()
    thread.join()
    assert names(tmp_path / "index") == NAMES
    assert spark.range(3).count() == 3


def test_spark_submit_runs_the_same_entry_point(lake: Path, tmp_path: Path) -> None:
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    entry = Path(lakejoin.__file__).parent / "__main__.py"
    result = subprocess.run(
        [
            str(submit),
            "--master",
            "local[2,4]",
            str(entry),
            "index",
            str(lake),
            "--index",
            str(tmp_path / "index"),
            "--json",
        ],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "JAVA_HOME": str(find_java().path),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert json.loads(result.stdout)["totals"]["tables"] == 5


def test_ctrl_c_stops_promptly_and_keeps_the_old_index(lake: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    assert (
        lakejoin_command("index", "--engine", "spark", str(lake), "--index", str(index)).returncode
        == 0
    )
    (lake / "cities.csv").write_text("city\n" + "".join(f"City {i}\n" for i in range(200_000)))
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "lakejoin",
            "index",
            "--engine",
            "spark",
            "--full",
            str(lake),
            "--index",
            str(index),
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    for line in child.stderr:
        if "reading" in line:
            break
    time.sleep(0.5)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert time.monotonic() - begin < 15
    assert child.returncode == 130
    assert "Traceback" not in errors
    assert "untouched" in errors
    assert lakejoin.open(index).table("cities.csv").rows == 4


def test_killed_with_spark_running(lake: Path, tmp_path: Path) -> None:
    """The driver dies at once; its JVM and workers follow when they notice, or write for nobody."""
    index = tmp_path / "index"
    assert (
        lakejoin_command("index", "--engine", "spark", str(lake), "--index", str(index)).returncode
        == 0
    )
    big = lake / "big.csv"
    big.write_text("key,value\n" + "".join(f"{i},Value {i}\n" for i in range(300_000)))
    for stage, pause in (("starting", 1.0), ("reading", 0.2), ("reading", 2.5)):
        child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "lakejoin",
                "index",
                "--engine",
                "spark",
                str(lake),
                "--index",
                str(index),
            ],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert child.stderr is not None
        for line in child.stderr:
            if line.startswith(stage):
                break
        time.sleep(pause)
        child.kill()
        child.wait()
        child.stderr.close()
        assert set(names(index)) in (set(NAMES), {*NAMES, "big.csv"})
        assert not [c for c in lakejoin.open(index).snapshot.check() if c.problem]
    assert (
        lakejoin_command("index", "--engine", "spark", str(lake), "--index", str(index)).returncode
        == 0
    )
    opened = lakejoin.open(index)
    assert opened.table("big.csv").rows == 300_000
    kept = {s.record.id for s in opened.snapshot.segments}
    kept |= {name for name, _ in opened.snapshot.manifest.retired}
    assert {p.name for p in (index / "segments").iterdir()} <= kept


def test_no_java_is_one_sentence(lake: Path, tmp_path: Path) -> None:
    hidden = "import lakejoin.spark.java as j; j.find_spec = lambda name: None; "
    run = "from lakejoin.cli.main import main; main()"
    command = [sys.executable, "-c", hidden + run, "index", "--engine", "spark", str(lake)]
    result = subprocess.run(
        [*command, "--index", str(tmp_path / "index")],
        capture_output=True,
        text=True,
        env={**os.environ, "JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)},
        timeout=60,
        check=False,
    )
    assert result.returncode == 4
    assert "Java 17" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith("lakejoin: Spark needs Java")
