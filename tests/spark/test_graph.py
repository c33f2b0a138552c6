"""The join graph of an index: made, refreshed, and always that of brute force."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import lakejoin
from conftest import Index
from fake_spark import FakeSpark
from lakejoin.cli.main import cli
from lakejoin.errors import InputError, UnknownTable
from lakejoin.graph.neighborhood import Neighborhood, NeighborhoodStep
from lakejoin.graph.ring_picture import render_svg
from lakejoin.lake import Lake
from lakejoin.locations import Location
from lakejoin.pipeline.compaction import compact_index
from lakejoin.pipeline.graph_build import GraphReport
from lakejoin.spark import Cluster, make_graph
from lakejoin.store.graph_files import GraphOptions, StoredGraph
from lakejoin.store.manifest import read_manifest
from oracle.graph import all_pairs, nodes, stored_pairs

SMALL = GraphOptions(0.5, 3, 1000)


def made(index: Path, options: GraphOptions | None = SMALL, spark: Any = None) -> GraphReport:
    return make_graph(Location.of(index), options, Cluster(spark or FakeSpark()))


def check(index: Path) -> int:
    """Compares the stored graph with brute force; returns how many pairs it has."""
    snapshot = lakejoin.open(index).snapshot
    stored = snapshot.graph()
    assert isinstance(stored, StoredGraph)
    assert stored.matches(snapshot.manifest)
    found = stored_pairs(stored, snapshot)
    how = stored.options
    assert found == all_pairs(snapshot.segments, how.containment, how.least, how.most)
    everything = all_pairs(snapshot.segments, how.containment, how.least)
    counts = Counter((p.segment, p.column) for p in everything)
    more = {one for one, count in counts.items() if count > how.most}
    cut = {
        (number, column)
        for number in range(len(stored.segments))
        if (file := stored.pairs(number)) is not None
        for column in file.cut().tolist()
    }
    assert more <= cut, "one whose other partners have gone may still count as cut"
    assert stored.cut == len(cut)
    return len(found)


def write(folder: Path, name: str, begin: int, size: int = 12) -> None:
    rows = [f"key {i},{i},{i % 2}\n" for i in range(begin, begin + size)]
    (folder / name).write_text("key,number,flag\n" + "".join(rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    for number in range(5):
        write(folder, f"t{number}.csv", 4 * number)
    return folder


@pytest.mark.parametrize("most", [1000, 2])
def test_a_refreshed_graph_is_that_of_a_new_one(
    folder: Path, tmp_path: Path, index: Index, most: int
) -> None:
    home, options = tmp_path / "index", GraphOptions(0.5, 3, most)
    index(folder)
    report = made(home, options)
    assert (report.segments, report.fresh) == (1, 1)
    assert report.pairs == check(home) > 0
    spark = FakeSpark()
    assert made(home, None, spark).counted == 0
    assert spark.jobs == 0, "nothing to do"

    for number in range(5, 8):
        write(folder, f"t{number}.csv", 3 * number)
        index(folder)
        report = made(home, None)
        assert (report.segments, report.fresh) == (number - 3, 1)
        assert report.pairs == check(home)

    (folder / "t1.csv").unlink()
    (folder / "t6.csv").unlink()
    index(folder)
    before = lakejoin.open(home).graph()
    assert before.complete or most == 2, "no table is new"
    report = made(home, None)
    assert report.pairs == check(home)
    assert report.fresh == 0
    assert report.counted == 0 or most == 2, "what was cut may be needed again"

    write(folder, "t2.csv", 9, 20)
    index(folder)
    assert not lakejoin.open(home).graph().complete
    assert made(home, None).pairs == check(home)
    compact_index(Location.of(home), Cluster(FakeSpark()).start, lambda progress: None)
    assert made(home, None).pairs == check(home)


def test_other_options_count_everything_anew(folder: Path, tmp_path: Path, index: Index) -> None:
    home = tmp_path / "index"
    index(folder)
    made(home)
    first = check(home)
    assert made(home, GraphOptions(1.0, 3)).fresh == 1
    assert check(home) < first
    assert made(home, GraphOptions(0.5, 100)).pairs == check(home) == 0
    assert made(home, None).counted == 0, "it keeps its own"


def test_a_build_keeps_the_graph_and_a_commit_retires_the_old_one(
    folder: Path, tmp_path: Path, index: Index
) -> None:
    home = tmp_path / "index"
    index(folder)
    made(home)
    (name,) = (path.name for path in home.glob("graph-*.lj"))
    write(folder, "more.csv", 2)
    index(folder)
    manifest = read_manifest(Location.of(home))
    assert manifest.graph is not None
    assert manifest.graph.name == name
    made(home)
    manifest = read_manifest(Location.of(home))
    assert name in {retired for retired, _ in manifest.retired}
    named = {name, manifest.graph.name}
    assert {path.name for path in home.glob("graph-*.lj")} == named
    assert {f"{path.name}.lj" for path in home.glob("graph-*") if path.is_dir()} == named
    checked = list(lakejoin.open(home).snapshot.check())
    assert any(one.segment == "graph" for one in checked)
    assert not [one for one in checked if one.problem]


def test_a_damaged_graph_is_told_and_made_anew(folder: Path, tmp_path: Path, index: Index) -> None:
    home = tmp_path / "index"
    index(folder)
    made(home)
    (file,) = home.glob("graph-*.lj")
    file.write_bytes(file.read_bytes()[:-9])
    assert [one for one in lakejoin.open(home).snapshot.check() if one.problem]
    assert made(home).pairs == check(home)


# -- what is made of it ------------------------------------------------------------------------


@pytest.fixture
def lake(folder: Path, tmp_path: Path, index: Index) -> Lake:
    index(folder)
    made(tmp_path / "index")
    return lakejoin.open(tmp_path / "index")


def edges_by_hand(lake: Lake, share: float) -> set[tuple[str, str, str, str, int]]:
    segments = lake.snapshot.segments
    every = []
    for number, column, table, values in nodes(segments, 3):
        entry = segments[number].catalog.table(table)
        name = segments[number].catalog.columns_of(entry)[column - entry.first].name
        every.append((entry.name, name, values))
    return {
        (table, column, other, other_column, len(mine & theirs))
        for table, column, mine in every
        for other, other_column, theirs in every
        if table != other and len(mine & theirs) >= share * len(mine) - 1e-9
    }


@pytest.mark.parametrize("share", [None, 0.7, 1.0])
def test_edges_have_both_directions(lake: Lake, share: float | None) -> None:
    table = lake.graph().to_arrow(share).to_pylist()
    found = [(r["table"], r["column"], r["other_table"], r["other_column"], r["shared"])
             for r in table]  # fmt: skip
    assert len(found) == len(set(found))
    assert set(found) == edges_by_hand(lake, share or 0.5)
    texts = {one for one in found if one[1] == "key"}
    assert {tuple(r.values())[:5] for r in lake.graph().to_arrow(share, False).to_pylist()} == texts


def test_figures_are_those_of_the_edges(lake: Lake) -> None:
    found = lake.graph().statistics(sample=10)
    edges = edges_by_hand(lake, 0.5)
    assert (found.tables, found.edges) == (5, len(edges))
    assert found.joined == len({one[0] for one in edges})
    assert found.number_edges == sum(one[1] == "number" for one in edges)
    assert {one.table for one in found.sample} == {one[0] for one in edges}
    for one in found.sample:
        own = [edge for edge in edges if edge[0] == one.table]
        assert one.tables == len({edge[2] for edge in own})
        assert one.columns == len({edge[2:4] for edge in own})
    assert (found.components, found.largest) == (1, 5)


def test_what_a_table_reaches(lake: Lake) -> None:
    graph = lake.graph()
    near = graph.around("t0.csv")
    assert [step.other_table for step in near.steps] == ["t1.csv"]
    assert near.steps[0].share == pytest.approx(8 / 12)
    far = graph.around("t0.csv", hops=4)
    assert far.hops() == [1, 1, 1, 1]
    assert [(s.hop, s.table, s.other_table) for s in far.steps] == [
        (n, f"t{n - 1}.csv", f"t{n}.csv") for n in range(1, 5)
    ]
    assert not graph.around("t0.csv", min=0.9).steps
    with pytest.raises(UnknownTable, match=r"t0\.csv"):
        graph.around("t00.csv")
    with pytest.raises(InputError, match="between 1 and 4"):
        graph.around("t0.csv", hops=5)
    with pytest.raises(InputError, match=r"containment of 0\.5"):
        graph.edges(0.2)


def test_files_for_other_programs(lake: Lake, tmp_path: Path) -> None:
    graph = lake.graph()
    edges = graph.export(tmp_path / "joins.parquet")
    assert pq.read_table(tmp_path / "joins.parquet").equals(graph.to_arrow())
    assert graph.export(tmp_path / "joins.graphml") == edges
    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = ElementTree.parse(tmp_path / "joins.graphml").getroot()
    assert len(list(root.iter(f"{space}edge"))) == edges
    names = [data.text for node in root.iter(f"{space}node") for data in node][::2]
    assert sorted(map(str, names)) == [f"t{n}.csv" for n in range(5)]
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        graph.export(tmp_path / "joins.txt")
    with pytest.raises(InputError, match="cannot write"):
        graph.export(tmp_path / "absent" / "joins.graphml")


def test_names_that_xml_cannot_hold_are_mended(tmp_path: Path, index: Index) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = "".join(f"key {i}\n" for i in range(12))
    for name in ("a & b.csv", "<c>.csv"):
        (folder / name).write_text(f'"a < b & \x02 ]]>"\n{rows}')
    index(folder)
    made(tmp_path / "index")
    graph = lakejoin.open(tmp_path / "index").graph()
    assert graph.export(tmp_path / "joins.graphml") == 2
    space = "{http://graphml.graphdrawing.org/xmlns}"
    told = [d.text for d in ElementTree.parse(tmp_path / "joins.graphml").iter(f"{space}data")]
    assert {"a & b.csv", "<c>.csv"} < set(told)
    assert sum("a < b & " in str(one) for one in told) == 4
    graph.around("<c>.csv").picture(tmp_path / "c.svg")
    ElementTree.parse(tmp_path / "c.svg")


def test_a_picture_shows_every_table_once(lake: Lake, tmp_path: Path) -> None:
    lake.graph().around("t0.csv", hops=4).picture(tmp_path / "t0.svg")
    root = ElementTree.parse(tmp_path / "t0.svg").getroot()
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 5
    assert len({(one.get("cx"), one.get("cy")) for one in circles}) == 5
    assert len(list(root.iter("{http://www.w3.org/2000/svg}line"))) == 4


@pytest.mark.parametrize("number", [0, 1, 2, 7, 60, 400])
def test_names_in_a_picture_are_apart_and_inside(number: int) -> None:
    """Tables around one, and as many again beyond the first of them."""
    long = "a-name-that-is-much-too-long-to-be-written-whole"
    names = [f"folder/{long}-{n}-and-so-on-{n}.csv" for n in range(2 * number)]
    steps = [NeighborhoodStep(1, "mine.csv", "key", name, "k", 9, 1.0) for name in names[:number]]
    steps += [NeighborhoodStep(2, names[0], "key", name, "k", 9, 1.0) for name in names[number:]]
    root = ElementTree.fromstring(render_svg(Neighborhood("mine.csv", tuple(steps))))
    space = "{http://www.w3.org/2000/svg}"
    circles = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter(f"{space}circle")]
    assert len(circles) == len(steps) + 1
    left, top, wide, high = map(float, root.get("viewBox", "").split())
    assert all(left < x < left + wide and top < y < top + high for x, y in circles)
    apart = [math.dist(a, b) for n, a in enumerate(circles) for b in circles[:n]]
    assert min(apart, default=99.0) > 9
    texts = [one.text for one in root.iter(f"{space}text") if one.get("transform")]
    written = [text for text in texts if text and "=" not in text]
    assert len(written) == len(set(written)), "no two are called alike"
    assert len(written) == len(steps) or number > 160


def test_an_index_without_a_graph_says_what_makes_it(
    folder: Path, tmp_path: Path, index: Index
) -> None:
    index(folder)
    with pytest.raises(InputError, match="run lakejoin graph"):
        lakejoin.open(tmp_path / "index").graph()


def test_an_empty_lake_has_a_graph(tmp_path: Path, index: Index) -> None:
    (tmp_path / "nothing").mkdir()
    index(tmp_path / "nothing")
    assert made(tmp_path / "index").pairs == 0
    graph = lakejoin.open(tmp_path / "index").graph()
    assert graph.statistics().edges == 0
    assert len(graph.to_arrow()) == 0


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_command(folder: Path, tmp_path: Path, index: Index) -> None:
    index(folder)
    where = ["--index", str(tmp_path / "index")]
    for number in range(5, 7):
        write(folder, f"t{number}.csv", 3 * number)
        index(folder)
    ran = CliRunner().invoke(cli, ["graph", *where, "--least", "3", "--json"])
    told = json.loads(ran.stdout)
    assert told["made"]["pairs"] == check(tmp_path / "index")
    assert told["made"]["fresh"] == 3
    text = CliRunner().invoke(cli, ["graph", *where]).stdout
    assert "7 of 7 tables join" in text
    picture, export = tmp_path / "t0.svg", tmp_path / "all.parquet"
    asked = ["graph", "t0.csv", *where, "--hops", "2", "--picture", str(picture)]
    around = CliRunner().invoke(cli, [*asked, "--export", str(export)])
    assert "t1.csv" in around.stdout
    assert picture.exists()
    assert len(pq.read_table(export)) == told["edges"]
    refused = CliRunner().invoke(cli, ["graph", "t0.csv", *where, "--least", "3"])
    assert isinstance(refused.exception, InputError)


def test_links_between_tables_are_one_line_each(lake: Lake) -> None:
    around = lake.graph().around("t0.csv", hops=4)
    ends = {tuple(sorted(link[:2])) for link in around.links}
    assert ends == {(n, n + 1) for n in range(4)}
    assert np.allclose([link[2] for link in around.links], 8 / 12)
