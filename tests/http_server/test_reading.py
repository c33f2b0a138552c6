"""What a server tells of tables: against the lake itself, and against plain Python."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import lakejoin
from http_server.conftest import CODES, HOSTILE, NAMES
from http_server.served import Served
from lakejoin.lake import Lake
from lakejoin.server.table_finder import find_by_text


@pytest.fixture(scope="module")
def lake(served_lake: Path) -> Lake:
    return lakejoin.open(served_lake.parent / "index")


def test_it_says_what_the_lake_holds(served: Served, lake: Lake) -> None:
    told = served.get("info")
    assert {key: told[key] for key in lake.info()} == lake.info()
    assert told["limits"]["upload_bytes"] > 0
    health = served.get("health")
    assert (health["status"], health["index"]["tables"]) == ("ok", len(lake))


def test_tables_are_listed_in_parts(served: Served, lake: Lake) -> None:
    names = [one.name for one in lake.tables()]
    parts = [served.get("tables", begin=begin, limit=2) for begin in range(0, len(names), 2)]
    assert [one["table"] for part in parts for one in part["tables"]] == names
    assert {part["total"] for part in parts} == {len(names)}
    assert [one["table"] for one in served.get("tables", pattern="STAT")["tables"]] == [
        "stations.csv"
    ]


def test_a_table_tells_its_columns(served: Served, lake: Lake) -> None:
    told = served.get("table", table="lake:stations.csv")
    known = lake.table("stations.csv").columns()
    assert [one["column"] for one in told["columns"]] == [one.name for one in known]
    assert [one["distinct"] for one in told["columns"]] == [one.profile.distinct for one in known]
    assert [one["column"] for one in told["columns"] if one["suggested"]][:1] == ["code"]


@pytest.mark.parametrize(("begin", "end"), [(0, 5), (195, 500), (200, 210), (5000, 6000)])
def test_rows_are_those_of_the_table(served: Served, lake: Lake, begin: int, end: int) -> None:
    table = lake.table("stations.csv").to_arrow()
    told = served.get("rows", table="lake:stations.csv", begin=begin, end=end)
    assert told["rows"] == [list(row.values()) for row in table.to_pylist()[begin:end]]
    assert told["total"] == 200


def test_some_columns_and_a_cell(served: Served) -> None:
    told = served.get("rows", table="lake:stations.csv", end=1, column=[2, 0])
    assert (told["columns"], told["rows"]) == (["passengers", "code"], [["1000", CODES[0]]])
    assert served.get("cell", table="lake:stations.csv", row=3, column=0)["value"] == CODES[3]


def test_long_cells_are_cut_and_told_whole(served: Served) -> None:
    id = served.upload("long.csv", b"a,b\n" + b"x" * 5000 + b",1\ny,2\n")["tables"][0]["id"]
    cut = served.get("rows", table=id)["rows"][0][0]
    assert (len(cut), cut[-1]) == (300, "…")
    assert served.get("cell", table=id, row=0, column=0)["value"] == "x" * 5000


def test_how_values_are_spread(served: Served, lake: Lake) -> None:
    told = served.get("distribution", table="lake:sub/delays.csv", column=2)
    texts = lake.table("sub/delays.csv").to_arrow().column(2).to_pylist()
    assert {one["value"]: one["rows"] for one in told["values"]} == dict(Counter(texts))
    told = served.get("distribution", table="lake:sub/delays.csv", column=1)
    numbers = [int(n) for n in lake.table("sub/delays.csv").to_arrow().column(1).to_pylist()]
    assert told["kind"] == "numbers"
    assert sum(one["rows"] for one in told["bins"]) == 600
    for one in told["bins"][:-1]:
        assert one["rows"] == sum(one["from"] <= n < one["to"] for n in numbers)
    told = served.get("distribution", table="lake:stations.csv", column=3)
    assert (told["kind"], sum(one["rows"] for one in told["bins"])) == ("dates", 200)
    assert told["bins"][0]["from"].startswith("1910-")


@pytest.mark.parametrize(
    ("text", "where", "table"),
    [
        ("STATION", "name", "stations.csv"),
        ("minut", "column", "sub/delays.csv"),
        (f"{NAMES[3].upper()}, n", "value", "sub/places.csv"),
        (NAMES[150][1:7], "value", "stations.csv"),
    ],
)
def test_tables_are_found_by_names_columns_and_values(
    served: Served, text: str, where: str, table: str
) -> None:
    found = served.get("find", text=text)
    assert found["complete"]
    assert (where, table) in [(one["where"], one["table"]) for one in found["tables"]]


@pytest.mark.parametrize("text", ["station", "minut", NAMES[3][:3].lower()])
def test_what_is_found_before_the_time_is_up_comes_first_in_the_whole(
    lake: Lake, text: str
) -> None:
    whole = find_by_text(lake, text, 20, seconds=60)
    early = find_by_text(lake, text, 20, seconds=-1)
    assert (whole["complete"], early["complete"]) == (True, False)
    assert early["tables"] == whole["tables"][: len(early["tables"])]


def test_nothing_is_found_of_nothing(served: Served) -> None:
    assert served.get("find", text=" ")["tables"] == []
    assert served.get("find", text="zzzzqqq")["tables"] == []


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_a_download_has_all_rows(served: Served, lake: Lake, form: str) -> None:
    query = {"table": "lake:sub/delays.csv", "format": form}
    answer = served.http.get("/api/v1/export", params=query)
    assert 'attachment; filename="delays.' in answer.headers["content-disposition"]
    data = io.BytesIO(answer.content)
    if form == "csv":
        read = pa.csv.read_csv(
            data, convert_options=pa.csv.ConvertOptions(column_types={"minutes": pa.string()})
        )
    else:
        read = pq.read_table(data) if form == "parquet" else pa.ipc.open_file(data).read_all()
    assert read.to_pylist() == lake.table("sub/delays.csv").to_arrow().to_pylist()


def test_no_spreadsheet_runs_a_cell(served: Served) -> None:
    table = f"lake:{HOSTILE}.csv"
    text = served.http.get("/api/v1/export", params={"table": table, "format": "csv"}).text
    heads, first, *_ = text.splitlines()
    assert '"\'=1+1"' in heads
    assert "\"'=cmd|' /C calc'!A0\"" in first
    id = served.upload("f.csv", b"a,b,c\n-5,+1.5e3,-x\n@SUM(1),1-1,-2-3\n")["tables"][0]["id"]
    text = served.http.get("/api/v1/export", params={"table": id, "format": "csv"}).text
    assert text.splitlines()[1:] == ['"-5","+1.5e3","\'-x"', '"\'@SUM(1)","1-1","\'-2-3"']


@pytest.mark.parametrize(
    ("path", "query", "status", "kind"),
    [
        ("table", {"table": "lake:nothing.csv"}, 404, "unknown"),
        ("table", {"table": "lake:../../etc/passwd"}, 404, "unknown"),
        ("table", {"table": "/etc/passwd"}, 404, "unknown"),
        ("rows", {"table": "upload:../x"}, 400, "input"),
        ("rows", {"table": "result:" + "a" * 26}, 410, "gone"),
        ("rows", {"table": "upload:" + "a" * 26}, 410, "gone"),
        ("rows", {"table": "lake:stations.csv", "column": 17}, 400, "input"),
        ("rows", {"table": "lake:stations.csv", "begin": -1}, 422, "input"),
        ("cell", {"table": "lake:stations.csv", "row": 999, "column": 0}, 400, "input"),
        ("links/" + "a" * 26, {}, 410, "gone"),
        ("links/..%2Fx", {}, 404, "unknown"),
        ("nothing", {}, 404, "unknown"),
    ],
)
def test_what_is_not_there(
    served: Served, path: str, query: dict[str, str], status: int, kind: str
) -> None:
    got, error = served.problem("GET", path, params=query)
    assert (got, error["kind"]) == (status, kind)
    assert error["message"]
    assert "Traceback" not in error["message"]


def test_metrics_are_told(served: Served) -> None:
    text = served.http.get("/api/v1/metrics").text
    assert "lakejoin_requests_total" in text
    assert 'lakejoin_kept_bytes{what="uploads"}' in text
