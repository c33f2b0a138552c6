"""Searching, joining and chains over HTTP: the same as in one process, stoppable, and kept."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lakejoin
from http_server.conftest import CODES, NAMES
from http_server.served import Served
from lakejoin.lake import Lake
from lakejoin.server.jobs import search_jobs
from lakejoin.server.jobs.join_jobs import Job
from lakejoin.server.request_models import SearchRequest
from lakejoin.server.routes.job_routes import _search_key
from lakejoin.server.settings import Limits
from lakejoin.server.workspace import Workspace
from oracle.search import search_by

STATIONS = "lake:stations.csv"
DELAYS = "lake:sub/delays.csv"
ON = [{"left": "code", "right": "station"}]
JOIN = {"kind": "join", "right": DELAYS, "on": ON, "how": "left"}


@pytest.fixture(scope="module")
def lake(served_lake: Path) -> Lake:
    return lakejoin.open(served_lake.parent / "index")


def rows_of(served: Served, id: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    while True:
        told = served.get("rows", table=id, begin=len(found), end=len(found) + 1000)
        found += told["rows"]
        if len(found) >= told["total"]:
            return found


def plain(table: pa.Table) -> list[list[Any]]:
    return [list(row.values()) for row in table.to_pylist()]


def without_time(told: Any) -> Any:
    """An answer without what differs from one time to the next, and what a server adds."""
    if isinstance(told, dict):
        skipped = ("seconds", "seconds_by", "id", "join", "cached", "final", "counters")
        return {key: without_time(value) for key, value in told.items() if key not in skipped}
    return [without_time(one) for one in told] if isinstance(told, list) else told


# -- searching ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"by": "fused"},
        {"by": "fused", "on": ["code"], "k": 3},
        {"by": "overlap", "on": ["code"]},
        {"by": "containment", "on": ["code"], "min": 0.3},
        {"by": "overlap", "on": ["code", "town"]},
    ],
    ids=["fused", "one column", "overlap", "containment", "composite"],
)
def test_a_search_answers_as_in_one_process(
    served: Served, lake: Lake, asked: dict[str, Any]
) -> None:
    told = served.post("search", {"table": STATIONS, **asked})
    others = {} if asked["by"] == "fused" else {"others": True}
    known = search_by(lake, lake.table("stations.csv"), **asked, **others)
    assert without_time(told) == without_time(known.to_dict())
    assert all(one["id"] == f"lake:{one['table']}" for one in told["results"])


def test_better_answers_come_as_events(served: Served) -> None:
    body = {"table": STATIONS, "k": 7}
    events = list(served.events("search", body))
    kinds = [what for what, _ in events]
    assert kinds[-1] == "done"
    assert kinds.count("done") == 1
    assert {"progress", "partial"} <= set(kinds)
    assert next(told["final"] for what, told in events if what == "partial") is False
    done = events[-1][1]
    assert (done["final"], done["cached"]) == (True, False)
    again = list(served.events("search", body))
    assert [what for what, _ in again] == ["done"]
    assert again[0][1] == {**done, "cached": True}


def test_what_an_upload_joins_with(served: Served) -> None:
    data = "my code,n\n" + "".join(f"{code},{n}\n" for n, code in enumerate(CODES[:50]))
    mine = served.upload("mine.csv", data.encode())["tables"][0]["id"]
    told = served.post("search", {"table": mine})
    assert "stations.csv" in [one["table"] for one in told["results"]]
    way = next(one for one in told["results"] if one["table"] == "stations.csv")["ways"][0]
    assert way["join"] == {"right": STATIONS, "on": [{"left": "my code", "right": "code"}],
                           "by": None}  # fmt: skip


@pytest.mark.parametrize(("chance", "how"), [({"sure": 0.8}, "precision"), ({"tau": 0.2}, "tau")])
def test_a_result_by_meaning_joins_as_it_was_found(
    served: Served, chance: dict[str, float], how: str
) -> None:
    data = "my town\n" + "".join(f"{town}\n" for town in NAMES[:40])
    mine = served.upload("towns.csv", data.encode())["tables"][0]["id"]
    told = served.post("search", {"table": mine, "on": ["my town"], "by": "meaning", **chance})
    assert told["results"]
    for result in told["results"]:
        join = result["join"]
        assert {**join, "right": "", "on": []} == {
            "right": "", "on": [], "by": "meaning", how: chance[next(iter(chance))],
        }  # fmt: skip
    joined = served.post("join", {"left": mine, **told["results"][0]["join"]})
    assert joined["found"]


def test_the_next_results_come_from_the_same_search(served: Served) -> None:
    """Pages are the whole answer, and each result can be explained by its rank."""
    search = {"table": STATIONS, "on": ["code"]}
    whole = served.post("search", {**search, "k": 100})
    assert whole["total"] == len(whole["results"]) > 1
    ids = []
    for start in range(whole["total"] + 1):
        page = served.post("search", {**search, "k": 1, "start": start})
        assert page["total"] == whole["total"]
        ids += [(result["rank"], result["id"]) for result in page["results"]]
    assert ids == [(result["rank"], result["id"]) for result in whole["results"]]
    last = {"search": {**search, "k": 1}, "rank": whole["total"]}
    assert served.post("explain", last)["result"]["id"] == whole["results"][-1]["id"]
    by_overlap = {"table": STATIONS, "by": "overlap", "on": ["code"], "start": 1}
    status, error = served.problem("POST", "search", json=by_overlap)
    assert (status, error["message"]) == (400, "start: only available in a fused search")


def test_values_side_by_side(served: Served) -> None:
    search = {"table": STATIONS, "by": "overlap", "on": ["code"]}
    told = served.post("search", search)
    rank = next(one["rank"] for one in told["results"] if one["id"] == DELAYS)
    told = served.post("explain", {"search": search, "rank": rank, "limit": 1000})
    delayed = {CODES[n * 7 % 150] for n in range(600)}
    assert {one["value"] for one in told["matches"]} == delayed
    assert {one["value"] for one in told["unmatched"]} == set(CODES) - delayed
    assert (told["matched"], told["unmatched_total"]) == (len(delayed), 200 - len(delayed))


def test_values_of_an_answer_that_another_process_found(
    served: Served, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told of a kept answer without a search is what the search tells."""
    search = {"table": STATIONS, "on": ["code"]}
    told = served.post("search", search)
    rank = next(one["rank"] for one in told["results"] if one["id"] == DELAYS)
    first = served.post("explain", {"search": search, "rank": rank, "limit": 5})
    desk = Workspace(lake.snapshot.location.uri, served.store, Limits())
    key = _search_key(SimpleNamespace(workspace=desk), SearchRequest(**search).to_dict())
    monkeypatch.setattr(search_jobs, "_answers", None)  # it must not search
    job = {"search": search, "rank": rank, "way": 0, "miss": False, "limit": 5, "key": "",
           "stored": key}  # fmt: skip
    assert search_jobs.explain_result(Job(desk, job, lambda what, said: None)) == first


def test_values_that_must_be_rewritten(served: Served) -> None:
    """The names of towns stand in another table with `, N.` behind them."""
    search = {"table": STATIONS, "on": ["town"]}
    told = served.post("search", search)
    found = [one for one in told["results"] if one["table"] == "sub/places.csv"]
    assert found, told
    assert found[0]["ways"][0]["kind"] == "rewritten"
    told = served.post("explain", {"search": search, "rank": found[0]["rank"]})
    assert told["matches"][0]["value"] != told["matches"][0]["partner"]


def test_no_such_result(served: Served) -> None:
    body = {"search": {"table": STATIONS, "by": "overlap", "on": ["code"]}, "rank": 99}
    status, error = served.problem("POST", "explain", json=body)
    assert (status, error["kind"]) == (400, "input")


def test_a_search_that_nobody_waits_for_is_stopped(served: Served) -> None:
    """Whoever leaves gives the worker free: more leave than there are workers, and all goes on."""
    for n in range(6):
        for what, _ in served.events("search", {"table": STATIONS, "k": 20 + n}):
            if what == "progress":
                break
    begin = time.monotonic()
    assert served.post("search", {"table": STATIONS, "k": 40})["results"]
    assert time.monotonic() - begin < 60


# -- joining -----------------------------------------------------------------------------------


def test_a_preview_shows_what_meets_and_what_does_not(served: Served, lake: Lake) -> None:
    told = served.post("join", {"left": STATIONS, "right": DELAYS, "on": ON, "rows": 10})
    known = lakejoin.join(
        lake.table("stations.csv"), lake.table("sub/delays.csv"), [("code", "station")]
    )
    assert (told["found"], told["rows"], told["left_joined"]) == (
        True, len(known), known.left_joined)  # fmt: skip
    columns = told["preview"]["columns"]
    assert [one["name"] for one in columns] == known.schema.names
    assert [one["name"] for one in columns if one["key"]] == ["code", "station"]
    met = [row["met"] for row in told["preview"]["rows"]]
    assert met == ["both"] * 10 + ["left"] * 2  # each delay has its station
    for row in told["preview"]["rows"]:
        assert (row["cells"][0] == row["cells"][4]) == (row["met"] == "both")


def test_columns_are_found_where_none_are_named(served: Served) -> None:
    told = served.post("join", {"left": STATIONS, "right": DELAYS})
    assert (told["left_columns"], told["right_columns"]) == (["code"], ["station"])


def test_no_join_is_no_error(served: Served) -> None:
    told = served.post("join", {"left": "lake:sub/places.csv", "right": DELAYS})
    assert told["found"] is False
    assert told["why"]
    chain = {"start": "lake:sub/places.csv", "steps": [{"kind": "join", "right": DELAYS}]}
    status, error = served.problem("POST", "chains", json=chain)
    assert (status, error["kind"]) == (422, "no_join")


def test_wrong_columns_are_told(served: Served) -> None:
    body = {"left": STATIONS, "right": DELAYS, "on": [{"left": "nothing", "right": "station"}]}
    status, error = served.problem("POST", "join", json=body)
    assert status == 400
    assert "nothing" in error["message"]
    step = {**JOIN, "columns": ["no such"]}
    status, error = served.problem("POST", "chains", json={"start": STATIONS, "steps": [step]})
    assert "no such" in error["message"]


# -- chains ------------------------------------------------------------------------------------


def test_a_chain_gives_the_rows_of_the_join(served: Served, lake: Lake) -> None:
    told = served.post("chains", {"start": STATIONS, "steps": [JOIN]})
    start, joined = told["tables"]
    assert start["id"] == STATIONS
    known = lakejoin.join(
        lake.table("stations.csv"), lake.table("sub/delays.csv"), [("code", "station")], "left"
    )
    assert rows_of(served, joined["id"]) == plain(known.table())
    assert joined["made"]["kind"] == "join"
    again = served.post("chains", {"start": STATIONS, "steps": [JOIN]})
    assert again == told


def test_a_chain_goes_on(served: Served) -> None:
    sql = "select weather, count(*) as n, avg(passengers) as p from result group by 1 order by 1"
    back = {"kind": "join", "right": "lake:sub/visits.parquet",
            "on": [{"left": "code", "right": "code"}], "aggregate": ["id=count"]}  # fmt: skip
    steps = [{**JOIN, "columns": ["code", "passengers", "weather"]}, back]
    told = served.post("chains", {"start": STATIONS, "steps": steps})
    assert [len(one["columns"]) for one in told["tables"]] == [4, 3, 4]
    steps.append({"kind": "sql", "sql": sql})
    told = served.post("chains", {"start": STATIONS, "steps": steps})
    rows = rows_of(served, told["tables"][-1]["id"])
    assert [row[0] for row in rows] == ["rain", "snow", "sun", None]
    assert sum(row[1] for row in rows) == told["tables"][1]["rows"]
    assert all(isinstance(row[2], float) for row in rows)
    kinds = [one["made"] and one["made"]["kind"] for one in told["tables"]]
    assert kinds == [None, "join", "join", "sql"]


def test_sql_over_a_table_of_the_lake(served: Served) -> None:
    told = served.post("sql", {"table": STATIONS, "sql": "from result where passengers > 8000"})
    assert told["rows"] == sum(1000 + 37 * n > 8000 for n in range(200))
    assert {one["column"]: one["type"] for one in told["columns"]}["passengers"] == "integer"


def test_an_error_of_sql_says_where(served: Served) -> None:
    body = {"table": STATIONS, "sql": "select\n  codex from result"}
    status, error = served.problem("POST", "sql", json=body)
    assert (status, error["kind"]) == (400, "sql")
    assert (error["at"]["line"], error["at"]["column"]) == (2, 3)


def test_what_was_made_goes_when_there_is_no_room_and_is_made_again(
    served: Served,
) -> None:
    told = served.post("chains", {"start": STATIONS, "steps": [JOIN]})
    id = told["tables"][1]["id"]
    rows = rows_of(served, id)
    for path in (served.store / "results").iterdir():
        path.unlink()
    status, error = served.problem("GET", "rows", params={"table": id})
    assert (status, error["kind"]) == (410, "gone")
    assert served.post("chains", {"start": STATIONS, "steps": [JOIN]}) == told
    assert rows_of(served, id) == rows


# -- more --------------------------------------------------------------------------------------


def test_predicates_unions_and_graphs_are_told(served: Served) -> None:
    told = served.post("predicate", {"left": STATIONS, "right": DELAYS, "prefer": "coverage"})
    assert [["code", "station"]] in [one["pairs"] for one in told["predicates"]]
    assert "results" in served.post("union", {"table": STATIONS})
    told = served.get("graph", table=STATIONS)
    assert (told["kept"], told["table"]) == (False, "stations.csv")
    assert "sub/delays.csv" in [one["other_table"] for one in told["steps"]]
    status, error = served.problem("GET", "graph")
    assert (status, error["kind"]) == (404, "unknown")
    told = served.post("paths", {"table": STATIONS, "other_table": DELAYS, "joins": 1})
    assert told["paths"][0]["joins"][0]["column"] == "code"


# -- code --------------------------------------------------------------------------------------

CHAIN = {
    "start": STATIONS,
    "steps": [
        {**JOIN, "how": "inner", "columns": ["code", "town", "passengers", "minutes"]},
        {"kind": "sql", "sql": "select town, sum(minutes) as m, max(passengers) as p\nfrom result\n"
                               "group by town order by town"},
    ],
}  # fmt: skip


def code_of(served: Served, target: str) -> str:
    told = served.post("code", {"chain": CHAIN, "as": target})
    assert isinstance(told["code"], str)
    return told["code"]


@pytest.fixture(scope="module")
def last_rows(served: Served) -> list[list[Any]]:
    return rows_of(served, served.post("chains", CHAIN)["tables"][-1]["id"])


def test_the_chain_as_python(served: Served, last_rows: list[list[Any]]) -> None:
    space: dict[str, Any] = {}
    exec(code_of(served, "python"), space)
    assert plain(space["table"]) == last_rows


def test_the_chain_as_a_notebook(served: Served, last_rows: list[list[Any]]) -> None:
    import json

    book = json.loads(code_of(served, "notebook"))
    space: dict[str, Any] = {}
    for cell in book["cells"]:
        exec("".join(cell["source"]), space)
    assert plain(space["table"]) == last_rows
    assert book["nbformat"] == 4


def test_the_chain_as_sql(served: Served, last_rows: list[list[Any]]) -> None:
    found = duckdb.connect().execute(code_of(served, "sql")).to_arrow_table()
    assert sorted(plain(found)) == sorted(last_rows)


def test_the_chain_as_pyspark_is_python(served: Served) -> None:
    text = code_of(served, "pyspark")
    compile(text, "chain_spark.py", "exec")
    assert "def join_1(left, right):" in text
    assert "spark.sql(" in text


def test_code_reads_dates_as_the_server_does(served: Served) -> None:
    """Dates that are not written as ISO has them, in an upload that lies beside the code."""
    data = "day,n\n" + "".join(
        f"{n % 28 + 1:02}.{n % 12 + 1:02}.20{n % 20 + 10},{n}\n" for n in range(60)
    )
    start = served.upload("days.csv", data.encode())["tables"][0]["id"]
    sql = "select year(day) as y, sum(n) as n from result group by all order by y"
    chain = {"start": start, "steps": [{"kind": "sql", "sql": sql}]}
    rows = rows_of(served, served.post("chains", chain)["tables"][-1]["id"])
    text = served.post("code", {"chain": chain, "as": "sql"})["code"]
    connection = duckdb.connect()
    read = [line.split(",") for line in data.splitlines()]
    columns = zip(read[0], zip(*read[1:], strict=True), strict=True)
    connection.register("start", pa.table({name: list(cells) for name, cells in columns}))
    assert [list(row) for row in connection.execute(text).fetchall()] == rows
    assert len(rows) == 20
    notes = served.post("code", {"chain": chain, "as": "pyspark"})["notes"]
    assert any("stays text" in note for note in notes)
