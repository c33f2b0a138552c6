"""Many queries at once over parts of an index: the answers of one search over all of it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakejoin
from fake_spark import FakeSpark
from lakejoin.cli.main import cli
from lakejoin.engines.containment import engine
from lakejoin.errors import InputError, LakejoinError, UnknownTable
from lakejoin.lake import Lake
from lakejoin.pipeline.search_batches import BatchPlan, group_segments
from lakejoin.pipeline.task_progress import Progress
from lakejoin.search.options import ByDistance, ByMeaning, SearchOptions
from lakejoin.spark.batch_search import search_batch
from lakejoin.store.index_records import MeaningOptions
from lakejoin.store.meaning_vectors import MeaningComponent
from lakejoin.store.point_sets import PointsComponent
from lakejoin.store.segment import COMPONENTS
from oracle.graph import all_pairs, stored_pairs
from oracle.lakes import PlainTable
from oracle.search import lake_of, search_by
from search.near_lakes import FEW

ALONE = BatchPlan(group_bytes=1, chunk=1)  # every segment by itself, every query by itself
TOGETHER = BatchPlan(wave=2, rounds=1)


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what it took."""
    return {key: value for key, value in answer.items() if key not in ("counters", "seconds")}


def told(answer: Any) -> dict[str, Any]:
    return plain(answer.to_dict())


def same(lake: Lake, queries: Sequence[Any], plan: BatchPlan, **options: Any) -> None:
    """Compares a batch with single searches."""
    asked = [one if isinstance(one, tuple) else (one, None) for one in queries]
    near = options.pop("near", None)
    batch = SearchOptions(**options, near=near)
    done = search_batch(FakeSpark(), lake.snapshot, [(t, on, batch) for t, on in asked], plan)
    given_near = {}
    if isinstance(near, ByDistance):
        given_near = {"within": near.within, "measure": near.measure}
    elif isinstance(near, ByMeaning):
        given_near = {"tau": near.tau, "measure": near.measure, "encoder": near.encoder}
    for (table, on), one in zip(asked, done, strict=True):
        try:
            alone = search_by(lake, table, on, **options, **given_near)
        except LakejoinError as problem:
            assert type(one.error) is type(problem)
            assert str(one.error) == str(problem)
            continue
        assert one.error is None
        every = [alone] if hasattr(alone, "query") else list(alone)
        assert [told(answer) for answer in one.answers] == [told(answer) for answer in every]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Tables in four segments: copies in several of them, one that has gone, places, streets."""
    towns = ["Bern", "Oslo", "Ulm", "Bonn", "Rom", "Wien", None, "Thun"]
    where = {
        "latitude": ["46.95", "59.91", "48.40", "50.73"],
        "longitude": ["7.44", "10.75", "9.99", "7.10"],
    }
    streets = ["12 Main St", "7 Oak Avenue", "3 Elm Road", "99 Station Road"]
    people = {"town": towns[:4], "who": ["ann", "bob", "cid", "dan"], **where}
    groups = [
        [PlainTable("people.csv", people), PlainTable("gone.csv", {"c": towns})],
        [
            PlainTable("copy.csv", people),
            PlainTable("half.csv", {"t": towns[:2], "w": ["ann", "x"]}),
        ],
        [PlainTable("streets.csv", {"street": streets}), PlainTable("places.csv", where)],
        [
            PlainTable("more.csv", {"town": towns, "who": list("abcdefgh")}),
            PlainTable("roads.csv", {"road": ["12 main street", "7 oak av", "3 Elm Rd.", "x"]}),
            PlainTable("nothing.csv", {"c": [None, None], "d": ["only", "here"]}),
        ],
    ]
    meaning = MeaningComponent(lambda: FEW, FEW.identity, False, None)
    return lake_of(
        tmp_path_factory.mktemp("lake"),
        groups,
        dead=[[1], [], [], []],
        components=(*COMPONENTS, meaning, PointsComponent()),
        meaning=MeaningOptions(None, FEW.identity, False),
    )


QUERIES = [
    "people.csv",
    ("people.csv", "*"),
    ("half.csv", ["t", "w"]),
    ("more.csv", ["town", "who"]),
    ("nothing.csv", "d"),
    ("nothing.csv", "c"),
    ("people.csv", "absent"),
    "no such table.csv",
]


@pytest.mark.parametrize("plan", [ALONE, TOGETHER])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 1, "others": True},
        {"k": 100, "min": 0.9, "others": True},
        {"by": "containment"},
        {"by": "containment", "k": 2, "others": True},
    ],
    ids=str,
)
def test_answers_are_those_of_one_search(
    lake: Lake, plan: BatchPlan, options: dict[str, Any]
) -> None:
    same(lake, QUERIES, plan, **{"by": "overlap", **options})


@pytest.mark.parametrize("measure", ["hit", "all"])
def test_what_is_near_is_found_in_parts(lake: Lake, measure: str) -> None:
    meaning = ByMeaning(0.4, FEW, measure)
    texts = [("streets.csv", "street"), ("people.csv", "*"), ("nothing.csv", "d")]
    for asked in ({"k": 3}, {"min": 0.5, "others": True}):
        same(lake, texts, ALONE, by="meaning", near=meaning, **asked)
        places = ["people.csv", ("places.csv", ["latitude", "longitude"])]
        same(lake, places, ALONE, by="distance", near=ByDistance("30km", None, measure), **asked)


def test_how_far_a_batch_is(lake: Lake) -> None:
    seen: list[Progress] = []
    asked = [("people.csv", None, SearchOptions("overlap"))]
    list(search_batch(FakeSpark(), lake.snapshot, asked, ALONE, seen.append))
    assert [(one.stage, one.total, one.unit) for one in seen] == [
        ("searching", 4, "tasks"),
        ("gathering evidence", 1, "tasks"),
    ]


def test_a_tau_that_all_columns_choose_is_refused(lake: Lake) -> None:
    options = SearchOptions("meaning", near=ByMeaning("auto", FEW))
    (done,) = search_batch(FakeSpark(), lake.snapshot, [("streets.csv", None, options)])
    assert isinstance(done.error, InputError)
    assert "tau auto" in str(done.error)


def test_a_fused_search_runs_whole(lake: Lake) -> None:
    options = SearchOptions("fused")
    asked = [("people.csv", None, options), ("absent.csv", None, options)]
    found, absent = search_batch(FakeSpark(), lake.snapshot, asked, ALONE)
    alone = lake.search("people.csv")
    assert found.fused is not None
    assert [one["table"] for one in found.fused[0]["results"]] == [one.table for one in alone]
    assert isinstance(absent.error, UnknownTable)


def test_files_are_read_by_the_workers(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("town,n\nBern,1\nOslo,2\nParis,3\n")
    same(lake, [str(file), (str(file), "n"), (str(file), "absent")], ALONE, by="overlap")


def test_an_empty_index_answers(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("town\nBern\nOslo\n")
    (tmp_path / "index").mkdir()
    empty = lake_of(tmp_path / "index", [])
    for by in ("overlap", "containment"):
        same(empty, [str(file), "a.csv"], ALONE, by=by)


CELLS = st.sampled_from([*"abcdefgh", None])


@st.composite
def lakes(draw: st.DrawFn) -> list[list[PlainTable]]:
    """Up to four segments of small tables."""
    groups = []
    for segment in range(draw(st.integers(1, 4))):
        tables = []
        for number in range(draw(st.integers(1, 3))):
            rows = draw(st.sampled_from([2, 6]))
            column = st.lists(CELLS, min_size=rows, max_size=rows)
            width = draw(st.integers(1, 3))
            columns = {f"c{i}": draw(column) for i in range(width)}
            tables.append(PlainTable(f"t{segment}{number}.csv", columns))
        groups.append(tables)
    return groups


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lakes(),
    st.sampled_from(["overlap", "containment"]),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([None, 0.5]),
    st.booleans(),
    st.booleans(),
)
def test_any_lake_in_any_parts(
    groups: list[list[PlainTable]],
    by: str,
    k: int | None,
    least: float | None,
    others: bool,
    sketched: bool,
) -> None:
    """Brute force for the engines is elsewhere; here parts are compared with the whole."""
    names = [table.name for group in groups for table in group]
    queries = [(names[0], "*"), (names[-1], "c0"), (names[-1], list(groups[-1][-1].columns))]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if sketched:
            patch.setattr(engine, "MOST_ENTRIES", 6)  # of a part perhaps, of all hardly
        opened = lake_of(Path(folder), groups, components=COMPONENTS)
        same(opened, queries, ALONE, by=by, k=k, min=least, others=others)


def test_groups_hold_every_segment_once(lake: Lake) -> None:
    records = lake.snapshot.manifest.segments
    for size in (1, 5_000, 1 << 40):
        for least in (1, 3, 9):
            groups = group_segments(records, size, least)
            assert sorted(n for group in groups for n in group) == [0, 1, 2, 3]
            assert len(groups) >= min(least, 4)


SEARCHES: list[dict[str, Any]] = [
    {"by": "overlap", "k": 5},
    {"by": "overlap", "on": ["key", "n"]},
    {"by": "containment", "on": "key", "min": 0.4},
    {"by": "containment", "on": "key", "k": 3},
]
ON_CLUSTER = """
import json, sys
from lakejoin.spark import Cluster, make_graph
from lakejoin.pipeline.search_batches import BatchPlan
from lakejoin.search.options import SearchOptions
from lakejoin.spark.batch_search import search_batch
from lakejoin.spark.session import open_session
from lakejoin.store.graph_files import GraphOptions
from lakejoin.locations import Location
from lakejoin.store.snapshot import Snapshot

master, index, files, searches = sys.argv[1], sys.argv[2], *map(json.loads, sys.argv[3:])
settings = {"executor.memory": "512m", "executor.cores": "1", "cores.max": "2"}
conf = {f"spark.{key}": value for key, value in settings.items()}
with open_session(None, master, conf) as spark:
    for search in searches:
        on = search.pop("on", None)
        asked = [(file, on, SearchOptions(**search)) for file in files]
        plan = BatchPlan(group_bytes=1, chunk=2)
        for done in search_batch(spark, Snapshot(Location.of(index)), asked, plan):
            told = [answer.to_dict() for answer in done.answers]
            print(json.dumps(str(done.error) if done.error else told))
    make_graph(index, GraphOptions(0.5, 3), Cluster(spark))
"""


def query_lake(folder: Path) -> tuple[Lake, list[str]]:
    """Three segments of four tables, and seven files to search with, of which one is broken."""
    groups = []
    for segment in range(3):
        tables = []
        for number in range(4):
            begin = 7 * (4 * segment + number)
            key = [f"key {i}" for i in range(begin, begin + 40)]
            columns = {"key": key, "half": [f"key {i}" for i in range(40)], "n": list("abcd") * 10}
            tables.append(PlainTable(f"t{segment}{number}.csv", columns))
        groups.append(tables)
    mine = folder / "mine"
    mine.mkdir()
    for number in range(6):
        rows = [f"key {i},{'abcd'[i % 4]}\n" for i in range(10 * number, 10 * number + 30)]
        (mine / f"q{number}.csv").write_text("key,n\n" + "".join(rows))
    (mine / "q9.csv").write_bytes(b"")
    return lake_of(folder / "index", groups, components=COMPONENTS), sorted(
        map(str, mine.iterdir())
    )


@pytest.mark.spark
def test_a_standalone_cluster_with_two_workers(tmp_path: Path, cluster: str) -> None:
    lake, files = query_lake(tmp_path)
    arguments = [cluster, str(tmp_path / "index"), json.dumps(files), json.dumps(SEARCHES)]
    ran = subprocess.run(
        [sys.executable, "-c", ON_CLUSTER, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = iter([json.loads(line) for line in ran.stdout.splitlines()])
    for search in SEARCHES:
        for file in files:
            try:
                alone = [plain(search_by(lake, file, **search).to_dict())]
            except LakejoinError as problem:
                assert next(found) == str(problem)
                continue
            assert list(map(plain, next(found))) == json.loads(json.dumps(alone))
            assert alone[0]["results"] or "q5" in file, "something is found"
    assert next(found, None) is None
    snapshot = lakejoin.open(tmp_path / "index").snapshot
    stored = snapshot.graph()
    assert stored is not None
    assert stored_pairs(stored, snapshot) == all_pairs(snapshot.segments, 0.5, 3)
    used = {path.name for path in tmp_path.glob("work*/app-*/*")}
    assert len(used) >= 2, "both workers ran an executor"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_command_says_on_spark_what_it_says_here(tmp_path: Path) -> None:
    """The session that runs is taken; `--conf` alone asks for it."""
    query_lake(tmp_path)
    batch = ["overlap", "--batch", str(tmp_path / "mine"), "--index", str(tmp_path / "index")]
    asked = [*batch, "--on", "*", "--json"]
    here = CliRunner().invoke(cli, asked)
    there = CliRunner().invoke(cli, [*asked, "--conf", "a=b"])
    assert lines(there.stdout) == lines(here.stdout)
    assert len(lines(there.stdout)) == 13
    text = CliRunner().invoke(cli, [*batch, "--conf", "a=b"])
    assert "key of" in text.stdout
    alone = CliRunner().invoke(cli, ["search", "mine.csv", "--master", "local"])
    assert isinstance(alone.exception, InputError)
    assert "--batch" in str(alone.exception)


def lines(output: str) -> list[dict[str, Any]]:
    return [plain(json.loads(line)) for line in output.splitlines()]


@pytest.mark.spark
def test_a_frame_of_queries_gives_a_frame_of_results(spark: Any, lake: Lake) -> None:
    from lakejoin.spark import search

    rows = [("people.csv", "town", 2), ("half.csv", None, None), ("absent.csv", None, None)]
    queries = spark.createDataFrame(rows, "table string, on string, k int")
    found = search(queries, lake, options=SearchOptions("overlap")).toArrow().to_pylist()
    alone = [*lake.overlap("people.csv", "town", k=2)]
    alone += lake.overlap("half.csv")
    assert [(r["rank"], r["table"], r["matched"], r["fan_out"]) for r in found if r["rank"]] == [
        (r.rank, r.table, r.matched, r.fan_out) for r in alone
    ]
    assert "no table 'absent.csv'" in found[-1]["problem"]
    fused = search(queries, lake).toArrow().to_pylist()
    assert {row["query"] for row in fused} == {"people.csv", "half.csv", "absent.csv"}
    with pytest.raises(InputError, match="'colour'"):
        search(spark.createDataFrame([("a", 1)], ["table", "colour"]), lake)
