"""Join graphs that go on: tables come, change and go, jobs die, files are damaged or not ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lakejoin
from conftest import Index
from fake_spark import FakeSpark
from lakejoin.cli.main import cli
from lakejoin.errors import DamagedIndex, IndexProblem, InputError, NewerIndex
from lakejoin.graph import graph_refresh
from lakejoin.locations import Location
from lakejoin.pipeline import graph_build, graph_tasks
from lakejoin.pipeline.compaction import compact_index
from lakejoin.pipeline.graph_build import GraphReport
from lakejoin.pipeline.task_progress import Progress
from lakejoin.spark import Cluster, make_graph
from lakejoin.store import graph_files as stored_graph
from lakejoin.store.graph_files import GraphOptions
from lakejoin.store.manifest import read_manifest
from oracle.graph import all_pairs, stored_pairs


def made(
    index: Path,
    options: GraphOptions | None = None,
    listener: Callable[[Progress], None] = lambda progress: None,
    full: bool = False,
) -> GraphReport:
    return make_graph(Location.of(index), options, Cluster(FakeSpark()), listener, full=full)


def right(index: Path) -> None:
    """The stored graph is that of brute force."""
    snapshot = lakejoin.open(index).snapshot
    stored = snapshot.graph()
    assert stored is not None
    how = stored.options
    expected = all_pairs(snapshot.segments, how.containment, how.least, how.most)
    assert stored_pairs(stored, snapshot) == expected


def write(folder: Path, number: int, rng: np.random.Generator) -> None:
    """A table whose columns are alike, equal or empty: ties everywhere."""
    values = [f"v{i}" for i in range(int(rng.choice([3, 6, 9])))]
    rows = int(rng.choice([3, 6, 9]))
    copy = rng.choice(values, rows)
    columns = [copy, copy, rng.permutation(rows).astype(str), np.full(rows, "")]
    lines = [",".join(cells) for cells in zip(*columns, strict=True)]
    (folder / f"t{number}.csv").write_text("a,b,n,empty\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("share", [1 / 3, 0.5, 1.0])
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_whatever_happens_the_graph_is_that_of_brute_force(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch, share: float, most: int
) -> None:
    monkeypatch.setattr(graph_refresh, "_PAIRS_AT_ONCE", 5)  # in many small parts
    monkeypatch.setattr(graph_tasks, "_HELD", 7)
    monkeypatch.setattr(graph_build, "_TILE", 2)
    rng = np.random.default_rng([most, int(100 * share)])
    folder, home = tmp_path / "tables", tmp_path / "index"
    folder.mkdir()
    for number in range(6):
        write(folder, number, rng)
    index(folder)
    assert made(home, GraphOptions(share, 1, most)).fresh == 1
    right(home)
    for turn in range(4):
        there = sorted(folder.iterdir())
        for path in rng.choice(np.array(there, dtype=object), 2, replace=False):
            path.unlink()
        if turn % 2:
            write(folder, 10 + turn, rng)
            write(folder, 20, rng)
        if turn == 2:
            compact_index(Location.of(home), Cluster(FakeSpark()).start, lambda progress: None)
        index(folder)
        segments = len(read_manifest(Location.of(home)).segments)
        report = made(home)
        assert report.fresh <= 1 or turn == 2
        assert report.segments == segments
        right(home)


def two_groups(folder: Path) -> None:
    """Keys that are in all tables, and so in more than a column keeps; and two tables apart."""
    folder.mkdir()
    for number in range(5):
        rows = [f"k{i}" for i in range(4 + number)]
        (folder / f"same{number}.csv").write_text("key\n" + "\n".join(rows) + "\n")
    for name in ("x", "y"):
        (folder / f"{name}.csv").write_text("other\n" + "\n".join("pqrs") + "\n")


def test_only_columns_that_lost_a_partner_are_counted_again(tmp_path: Path, index: Index) -> None:
    folder, home = tmp_path / "tables", tmp_path / "index"
    two_groups(folder)
    index(folder)
    assert made(home, GraphOptions(0.5, 1, 1)).cut > 0
    (folder / "same1.csv").unlink()
    index(folder)
    assert not lakejoin.open(home).graph().complete
    report = made(home)
    right(home)
    assert report.fresh == 0
    assert 0 < report.counted < 4, "of those that had kept what has gone, and no others"


def test_where_nothing_is_to_be_counted_no_spark_is_started(tmp_path: Path, index: Index) -> None:
    folder, home = tmp_path / "tables", tmp_path / "index"
    two_groups(folder)
    index(folder)
    made(home, GraphOptions(0.5, 1))
    (folder / "same1.csv").unlink()
    index(folder)
    spark = FakeSpark()
    make_graph(home, None, Cluster(spark))
    assert spark.jobs == 0
    right(home)


@pytest.mark.parametrize(
    "stage",
    ["finding shared values", "counting pairs", "choosing the best pairs", "reversing pairs"],
)
def test_a_job_that_ends_early_leaves_the_graph_before(
    tmp_path: Path, index: Index, stage: str
) -> None:
    folder, home = tmp_path / "tables", tmp_path / "index"
    two_groups(folder)
    index(folder)
    made(home, GraphOptions(0.5, 1))
    (folder / "more.csv").write_text("key\nk1\nk2\nk3\n")
    index(folder)
    before, manifest = sorted(home.rglob("*")), (home / "MANIFEST.json").read_bytes()

    def killed(progress: Progress) -> None:
        if progress.stage == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(home, None, killed)
    assert (home / "MANIFEST.json").read_bytes() == manifest
    assert sorted(home.rglob("*")) == before
    assert len(lakejoin.open(home).graph())
    made(home)
    right(home)


def test_a_dead_job_s_files_are_removed_by_the_next(tmp_path: Path, index: Index) -> None:
    folder, home = tmp_path / "tables", tmp_path / "index"
    two_groups(folder)
    index(folder)
    left = home / "graph-000009-0123abcd"
    left.mkdir()
    (left / "pairs-000000-0123abcd.lj").write_bytes(b"half")
    made(home)
    assert not left.exists()


def test_what_a_task_left_that_was_run_again_is_removed(tmp_path: Path, index: Index) -> None:
    folder, home = tmp_path / "tables", tmp_path / "index"
    two_groups(folder)
    index(folder)

    def leave(progress: Progress) -> None:
        if progress.stage == "reversing pairs":
            (made_in,) = home.glob("graph-*")
            (made_in / "pairs-000000-0123abcd.lj").write_bytes(b"half")

    made(home, GraphOptions(0.5, 1), leave)
    assert not list(home.glob("graph-*/*0123abcd.lj"))
    right(home)


@pytest.fixture
def home(tmp_path: Path, index: Index) -> Path:
    two_groups(tmp_path / "tables")
    index(tmp_path / "tables")
    made(tmp_path / "index", GraphOptions(0.5, 1))
    return tmp_path / "index"


def test_a_damaged_file_of_pairs_says_what_mends_it(home: Path) -> None:
    (file,) = home.glob("graph-*/pairs-*")
    body = bytearray(file.read_bytes())
    body[64] ^= 1
    file.write_bytes(body)
    assert made(home).counted == 0, "nothing is read where nothing changed"
    with pytest.raises(DamagedIndex, match="lakejoin graph --full"):
        lakejoin.open(home).graph().statistics()
    assert [one for one in lakejoin.open(home).snapshot.check() if one.problem]
    assert made(home, full=True).counted > 0
    right(home)


def test_a_graph_of_a_newer_lakejoin_is_refused_and_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(stored_graph, "VERSION", 3)
        made(home, full=True)
    for full in (False, True):
        with pytest.raises(NewerIndex, match="upgrade lakejoin"):
            made(home, full=full)
    with pytest.raises(NewerIndex, match="upgrade lakejoin"):
        lakejoin.open(home).graph()


def test_a_graph_of_an_older_lakejoin_is_made_anew(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "index"
    two_groups(tmp_path / "tables")
    index(tmp_path / "tables")
    with monkeypatch.context() as patch:
        patch.setattr(stored_graph, "VERSION", 1)
        made(home, GraphOptions(0.5, 1))
    with pytest.raises(IndexProblem, match="rebuild it with: lakejoin graph"):
        lakejoin.open(home).graph()
    assert made(home, GraphOptions(0.5, 1)).counted > 0
    right(home)


def test_what_cannot_be_written_is_refused_before_anything_is_counted(tmp_path: Path) -> None:
    reasons = {"a.txt": "must end in .parquet or .graphml", "absent/a.parquet": "does not exist"}
    for name, reason in reasons.items():
        ran = CliRunner().invoke(cli, ["graph", "--export", str(tmp_path / name)])
        assert isinstance(ran.exception, InputError)
        assert reason in str(ran.exception)
    ran = CliRunner().invoke(cli, ["graph", "t", "--picture", str(tmp_path / "absent" / "a.svg")])
    assert isinstance(ran.exception, InputError)
    assert "does not exist" in str(ran.exception)


def test_progress_tells_how_far_it_is(tmp_path: Path, index: Index) -> None:
    two_groups(tmp_path / "tables")
    index(tmp_path / "tables")
    seen: list[Progress] = []
    made(tmp_path / "index", GraphOptions(0.5, 1), seen.append)
    counting = [one for one in seen if one.stage == "counting pairs"]
    assert counting[-1].done == counting[-1].total == 1
    assert counting[-1].unit == "pairs of segments"
