"""Join paths: from one table to another, ranked by the rows that survive, with SQL that runs."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from cli.commands import Command
from fake_spark import FakeSpark
from lakejoin.errors import InputError, UnknownTable
from lakejoin.inputs import resolve_table
from lakejoin.lake import Lake
from lakejoin.locations import Location
from lakejoin.model import ValueRules
from lakejoin.paths.answer import Paths
from lakejoin.paths.path_hops import GraphHops, Hop, SearchedHops, open_hops
from lakejoin.paths.path_search import Survivors, count_survivors, find_routes
from lakejoin.paths.path_tables import PathTables
from lakejoin.pipeline.build import BuildOptions
from lakejoin.spark import Cluster, make_graph
from lakejoin.values.column_encoder import encode_query
from oracle.lakes import PlainTable
from oracle.paths import joined_rows
from search.key_lakes import CELLS, key_lake

Columns = dict[str, Sequence[str | None]]

RANDOM = random.Random(3)
TOWNS = [f"{a}{b}" for a in ("north", "south", "old", "new", "upper") for b in
         ("bury", "ford", "ham", "ton", "wick", "by", "dale", "field")]  # fmt: skip
LANDS = [f"land of {name}" for name in
         ("ash", "birch", "cedar", "elm", "fir", "holly", "juniper", "larch", "maple", "oak",
          "pine", "rowan")]  # fmt: skip
CODES = ["".join(RANDOM.sample("BCDFGHJKLMNPQRSTVWXZ", 5)) for _ in LANDS]

TABLES: dict[str, Columns] = {
    "visits.csv": {
        "visitor": [f"visitor {n}" for n in range(200)],
        "town": [TOWNS[n % 40] if n % 10 else None for n in range(200)],
    },
    "towns.csv": {"name": TOWNS, "land": [LANDS[n % 12] for n in range(40)]},
    "few_towns.csv": {"name": TOWNS[:25], "land": [LANDS[n % 12] for n in range(25)]},
    "lands.csv": {"land": LANDS, "code": CODES},
    "money.csv": {"code": list(map(str.lower, CODES)), "coin": [f"coin {n}" for n in range(12)]},
    "cars.csv": {
        "plate": [f"plate {n * 31 % 1009}" for n in range(90)],
        "type_id": [str(1 + n % 12) for n in range(90)],
    },
    "types.csv": {
        "id": [str(n) for n in range(1, 13)],
        "label": ["van", "bus", "cab", "lorry", "coupe", "kombi", *map("box {}".format, range(6))],
    },
    "count.csv": {"number": [str(n) for n in range(300)]},
    "horses.csv": {
        "rownames": [str(n) for n in range(1, 13)],
        "horse": [f"H{n}" for n in range(12)],
    },
    "stones.csv": {
        "rownames": [str(n) for n in range(1, 90)],
        "stone": [f"s{n}" for n in range(89)],
    },
    # So many numbers that are in very many columns, beside the one that refers.
    **{
        f"counts{a}.csv": {f"n{b}": [str(n) for n in range(1, 60 + a)] for b in range(15)}
        for a in range(30)
    },
    "trips.csv": {
        "coach_id": [str(1 + n % 80) for n in range(160)],
        **{f"m{b}": [str(1 + n % 40) for n in range(160)] for b in range(3)},
    },
    "coaches.csv": {"id": [str(n) for n in range(1, 81)], "seats": [str(n % 7) for n in range(80)]},
    "seasons.csv": {  # neither the club nor the year is a key by itself
        "club": [CODES[n % 12] for n in range(120)],
        "year": [str(1990 + n // 12) for n in range(120)],
        "ground": [f"ground {n * 37 % 1013}" for n in range(120)],
    },
    "players.csv": {
        "player": [f"player {n * 71 % 4999}" for n in range(400)],
        "club": [CODES[n * 5 % 12] for n in range(400)],
        "year": [str(1990 + n * 7 % 13) for n in range(400)],
    },
    "alone.csv": {"what": [f"thing {n}" for n in range(30)]},
}  # fmt: skip


@pytest.fixture(scope="module", params=[True, False], ids=["graph", "searched"])
def lake(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake of files, with the graph and without."""
    folder = tmp_path_factory.mktemp("paths")
    (folder / "lake").mkdir()
    for name, columns in TABLES.items():
        with (folder / "lake" / name).open("w", newline="") as out:
            csv.writer(out).writerows([list(columns), *zip(*columns.values(), strict=True)])
    index = folder / "index"
    lakejoin.index([folder / "lake"], index, spark=FakeSpark(), options=BuildOptions())
    if request.param:
        make_graph(Location.of(index), None, Cluster(FakeSpark(), None, {}), lambda *_: None, 0)
    yield lakejoin.open(index)


def test_the_joins_come_from_the_graph_where_there_is_one(lake: Lake) -> None:
    found = open_hops(lake._searcher, PathTables(lake.snapshot))
    kind = GraphHops if lake.snapshot.graph() else SearchedHops
    assert isinstance(found, kind)
    assert lake.paths("visits.csv", "towns.csv").searched == (kind is SearchedHops)


def test_a_path_of_three_joins_and_its_rows(lake: Lake) -> None:
    found = lake.paths("visits.csv", "money.csv")
    best = found[0]
    assert best.tables == ("visits.csv", "towns.csv", "lands.csv", "money.csv")
    assert [(join.column, join.other_column) for join in best.joins] == [
        ("town", "name"),
        ("land", "land"),
        ("code", "code"),
    ]
    assert (best.rows, best.total, best.joined) == (180, 200, 180)
    other = next(one for one in found if "few_towns.csv" in one.tables)
    assert other.rows < best.rows and other.rank > best.rank
    assert len({one.tables for one in found}) == len(found)


def test_the_sql_of_every_path_runs_and_gives_as_many_rows(lake: Lake) -> None:
    for ends in [
        ("visits.csv", "money.csv"),
        ("money.csv", "visits.csv"),
        ("towns.csv", "lands.csv"),
        ("players.csv", "seasons.csv"),
    ]:
        found = lake.paths(*ends)
        assert len(found)
        for path in found:
            with duckdb.connect() as con:
                assert len(con.sql(path.sql()).fetchall()) == path.joined


def test_a_key_that_repeats_gets_further_columns(lake: Lake) -> None:
    path = lake.paths("players.csv", "seasons.csv")[0]
    (join,) = path.joins
    assert {(join.column, join.other_column), *join.further} == {("club",) * 2, ("year",) * 2}
    years = [1990 + n * 7 % 13 for n in range(400)]
    assert path.rows == path.joined == sum(year < 2000 for year in years)
    assert "club = club and year = year" in repr(path).replace(
        "year = year and club = club", "club = club and year = year"
    )
    again = Paths.from_dict(lake.paths("players.csv", "seasons.csv").to_dict())
    assert again[0].joins == path.joins


def test_numbers_join_where_names_say_that_they_number_the_same(lake: Lake) -> None:
    (path,) = lake.paths("cars.csv", "types.csv")
    assert [(join.column, join.other_column) for join in path.joins] == [("type_id", "id")]
    assert path.rows == path.joined == 90
    assert not len(lake.paths("cars.csv", "count.csv")), "all its numbers are there, by coincidence"


def test_a_reference_is_found_among_very_many_columns_with_the_same_numbers(lake: Lake) -> None:
    (path,) = lake.paths("trips.csv", "coaches.csv")
    assert [(join.column, join.other_column) for join in path.joins] == [("coach_id", "id")]
    (back,) = lake.paths("coaches.csv", "trips.csv")
    assert (back.rows, back.joined) == (80, 160)


def test_numbers_of_rows_are_no_references(lake: Lake) -> None:
    assert not len(lake.paths("horses.csv", "stones.csv"))


# -- files and frames of mine ----------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file that is not of the lake: towns that are visited, one of them unknown."""
    towns = [*TOWNS[:30], "nowhere"]
    file = tmp_path / "mine.csv"
    rows = [["place", "mark"], *([town.upper(), f"mark {n}"] for n, town in enumerate(towns))]
    with file.open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    return file


def test_a_file_of_mine_is_an_end(lake: Lake, mine: Path) -> None:
    found = lake.paths(mine, "money.csv")
    assert found[0].tables == (str(mine), "towns.csv", "lands.csv", "money.csv")
    assert (found[0].rows, found[0].total, found[0].joined) == (30, 31, 30)
    back = lake.paths("money.csv", mine)
    assert {path.joined for path in back if "towns.csv" in path.tables} == {30}
    assert {path.tables[-1] for path in back} == {str(mine)}
    near = lake.paths("towns.csv", mine, joins=1)
    assert [(join.column, join.other_column) for join in near[0].joins] == [("name", "place")]
    for path in (*found, *back, *near):
        with duckdb.connect() as con:
            assert len(con.sql(path.sql()).fetchall()) == path.joined


def test_a_frame_is_an_end(lake: Lake, mine: Path) -> None:
    my_table = lakejoin.read(mine).to_arrow()
    path = lake.paths(my_table, "lands.csv")[0]
    assert (path.tables[0], path.joined) == ("my_table", 30)
    assert "first: con.register('table_1', my_table)" in path.sql()
    with duckdb.connect() as con:
        con.register("table_1", my_table)
        assert len(con.sql(path.sql()).fetchall()) == 30


def test_two_files_of_mine_meet_in_the_lake(lake: Lake, mine: Path, tmp_path: Path) -> None:
    coins = pa.table({"coin": [f"coin {n}" for n in range(12)], "metal": ["tin"] * 12})
    path = lake.paths(mine, coins)[0]
    assert path.tables == (str(mine), "towns.csv", "lands.csv", "money.csv", "my_table")
    none = lake.paths(mine, coins, joins=1)
    assert not len(none) and "use lakejoin join" in none.none


def test_a_file_of_the_lake_is_its_table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(lake.snapshot.manifest.lakes[0])
    by_path = lake.paths(folder / "visits.csv", folder / "towns.csv")
    assert by_path[0].tables == ("visits.csv", "towns.csv")
    monkeypatch.chdir(folder)
    assert lake.paths("visits.csv", "towns.csv")[0].tables == ("visits.csv", "towns.csv")


def test_another_file_of_the_same_name_is_read_and_told(
    lake: Lake, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.rename(mine.with_name("visits.csv"))
    monkeypatch.chdir(mine.parent)
    found = lake.paths("visits.csv", "lands.csv")
    (note,) = found.notes
    assert note == "visits.csv is both a local file and a table in the lake; using the file"
    assert found[0].total == 31
    shown = Command("paths", ("--index", lake.snapshot.location.uri)).run("visits.csv", "lands.csv")
    assert "note: visits.csv is both a local file" in shown.output


def test_fewer_joins_are_no_longer_paths(lake: Lake) -> None:
    assert not len(lake.paths("visits.csv", "money.csv", joins=2))
    assert len(lake.paths("visits.csv", "money.csv", joins=3))
    assert len(lake.paths("visits.csv", "money.csv", k=1)) == 1


def test_where_there_is_no_path_a_sentence_says_what_is_nearest(lake: Lake) -> None:
    none = lake.paths("alone.csv", "money.csv")
    assert not len(none)
    told = "no path of at most 4 joins leads from alone.csv to money.csv"
    assert none.none == f"{told}; no table joins with alone.csv"
    far = lake.paths("visits.csv", "alone.csv").none
    assert "visits.csv joins with" in far and far.count(". ") == 0
    assert not len(lake.paths("visits.csv", "count.csv"))


def test_what_cannot_be_asked(lake: Lake) -> None:
    with pytest.raises(InputError, match="both the start and the end"):
        lake.paths("towns.csv", "towns.csv")
    with pytest.raises(InputError, match="between 1 and 4"):
        lake.paths("towns.csv", "lands.csv", joins=5)
    with pytest.raises(UnknownTable, match="did you mean"):
        lake.paths("town.csv", "lands.csv")


def test_the_command(lake: Lake) -> None:
    paths = Command("paths", ("--index", lake.snapshot.location.uri))
    shown = paths.run("visits.csv", "money.csv").output
    assert "→ towns.csv   on town = name (100% of the values)" in shown
    assert "180 of 200 rows survive" in shown and "JOIN read_csv(" in shown
    sql = paths.run("visits.csv", "money.csv", "--sql", "1").output
    with duckdb.connect() as con:
        assert len(con.sql(sql).fetchall()) == 180
    told = paths.answer("visits.csv", "money.csv", "-k", "1")
    assert told["paths"][0]["rows"] == 180 and told["none"] == ""
    assert {"table", "other_table", "searched", "seconds"} <= told.keys()
    assert "no path of" in paths.refused("alone.csv", "money.csv", "--sql", "1")
    assert "-k 2 may find more" in paths.refused("visits.csv", "money.csv", "-k", "1", "--sql", "2")
    assert "there is no file nowhere.csv" in paths.refused("nowhere.csv", "money.csv")
    assert "no path of" in paths.run("alone.csv", "money.csv").output


# -- against brute force ---------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_rows_that_survive(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Chains of up to four joins, over segments."""
    tables = []
    for number in range(data.draw(st.integers(2, 5))):
        rows = data.draw(st.integers(1, 6))
        column = st.lists(CELLS, min_size=rows, max_size=rows)
        tables.append(PlainTable(f"{number}.csv", {name: data.draw(column) for name in "ab"}))
    split = data.draw(st.integers(1, len(tables)))
    groups = [group for group in (tables[:split], tables[split:]) if group]
    lake = key_lake(tmp_path_factory.mktemp("chain"), *groups)
    chain, route = [], []
    for mine, theirs in pairwise(tables):
        names = data.draw(st.sampled_from("ab")), data.draw(st.sampled_from("ab"))
        chain.append((_canonical(mine.columns[names[0]]), _canonical(theirs.columns[names[1]])))
        route.append(_hop(lake, (mine.name, names[0]), (theirs.name, names[1])))
    rows = joined_rows(chain)
    expected = sum(count > 0 for count in rows), len(rows), sum(rows)
    assert _told(count_survivors(PathTables(lake.snapshot), route)) == expected
    frames = [_frame(one) for one in (tables[0], tables[-1])]
    ends = [resolve_table(frame, lake.snapshot).query_table(lake.snapshot) for frame in frames]
    own = PathTables(lake.snapshot, ends)
    first, last = route[0], route[-1]
    as_frame = replace(first, table=(-1, 0), column=(-1, "ab".index(names_of(first, lake)[0])))
    assert _told(count_survivors(own, [as_frame, *route[1:]])) == expected
    as_frame = replace(last, other_table=(-2, 0), other=(-2, "ab".index(names_of(last, lake)[1])))
    assert _told(count_survivors(own, [*route[:-1], as_frame])) == expected


def _told(found: Survivors) -> tuple[int, int, int]:
    return found.rows, found.total, found.joined


def _frame(table: PlainTable) -> pa.Table:
    return pa.table({name: pa.array(c, pa.string()) for name, c in table.columns.items()})


def names_of(hop: Hop, lake: Lake) -> tuple[str, str]:
    """The names of both columns of a join."""
    tables = PathTables(lake.snapshot)
    return tables.names(hop.table, hop.column)[1], tables.names(hop.other_table, hop.other)[1]


def _canonical(cells: Sequence[str | None]) -> list[str | None]:
    data = encode_query(pa.array(cells, pa.string()), ValueRules())
    tokens = [*data.tokens.to_pylist()]
    tokens += [tokens[token] for token in data.spelling_token.tolist()]
    return [tokens[cell] if cell < len(tokens) else None for cell in data.cells.tolist()]


def _hop(lake: Lake, mine: tuple[str, str], theirs: tuple[str, str]) -> Hop:
    ends = []
    for table, name in (mine, theirs):
        segment, entry = lake.snapshot.table(table)
        number = lake.snapshot.segments.index(segment)
        ends += [(number, entry.table_id), (number, entry.first + "ab".index(name))]
    return Hop(*ends, 1, 1, 1, 1.0, 1.0)


class _Plain:
    """Joins that are given: pairs of (table, column), all tables in one segment."""

    widest = 1_000

    def __init__(self, joins: Sequence[tuple[int, int, int, int]]) -> None:
        hops = [Hop((0, a), (a, x), (0, b), (b, y), 1, 1, 1, 1.0, 1.0) for a, x, b, y in joins]
        self._hops = [*hops, *(hop.reversed() for hop in hops)]

    def of(self, table: tuple[int, int]) -> list[Hop]:
        return [hop for hop in self._hops if hop.table == table]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5), st.integers(0, 2), st.integers(0, 5), st.integers(0, 2)
        ).filter(lambda one: one[0] != one[2]),
        max_size=9,
        unique=True,
    ),
    st.integers(1, 4),
)
def test_routes_are_all_simple_chains(joins: list[tuple[int, int, int, int]], most: int) -> None:
    hops = _Plain(joins)
    told = {_key(route) for route in find_routes(hops, (0, 0), (0, 1), most)}
    assert told == {_key(route) for route in _every(hops.of, (0, 0), (0, 1), most)}


def _every(
    of: Callable[[tuple[int, int]], list[Hop]],
    begin: tuple[int, int],
    end: tuple[int, int],
    most: int,
    so_far: tuple[Hop, ...] = (),
) -> Iterator[tuple[Hop, ...]]:
    """Depth first: no table twice, none left by the column through which it was entered."""
    visited = {begin, *(hop.other_table for hop in so_far)}
    last = so_far[-1].other_table if so_far else begin
    if last == end:
        yield so_far
    elif len(so_far) < most:
        for hop in of(last):
            entered = so_far[-1].other if so_far else None
            if hop.other_table not in visited and hop.column != entered:
                yield from _every(of, begin, end, most, (*so_far, hop))


def _key(route: tuple[Hop, ...]) -> tuple[Any, ...]:
    return tuple((hop.column, hop.other) for hop in route)
