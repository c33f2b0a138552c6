"""Bringing tables: what is read, what is refused, and that ids are made of the content."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import io
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from http_server.conftest import HOSTILE
from http_server.served import Served, serving
from lakejoin.server.api_problems import Problem
from lakejoin.server.routes.upload_routes import run_reader

CSV = "city,n\nBern,1\nZürich,02\n".encode()


def workbook(sheets: dict[str, list[list[object]]]) -> bytes:
    data = io.BytesIO()
    with xlsxwriter.Workbook(data) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return data.getvalue()


def parquet(table: pa.Table) -> bytes:
    data = io.BytesIO()
    pq.write_table(table, data)
    return data.getvalue()


def test_a_file_becomes_a_table(served: Served) -> None:
    told = served.upload("towns.csv", CSV)
    (table,) = told["tables"]
    assert (table["table"], table["rows"], table["format"]) == ("towns.csv", 2, "csv")
    assert served.get("rows", table=table["id"])["rows"] == [["Bern", "1"], ["Zürich", "02"]]
    assert served.upload("towns.csv", CSV) == told
    assert served.upload("other.csv", CSV)["tables"][0]["id"] != table["id"]
    assert served.upload("towns.csv", CSV + b"Ulm,3\n")["tables"][0]["id"] != table["id"]


def test_what_was_pasted_from_a_spreadsheet(served: Served) -> None:
    (table,) = served.upload("pasted.tsv", b"city\tn\r\nBern\t1,5\r\nUlm\t2\r\n")["tables"]
    assert served.get("rows", table=table["id"])["rows"] == [["Bern", "1,5"], ["Ulm", "2"]]


def test_each_sheet_is_a_table(served: Served) -> None:
    data = workbook({"a": [["x", "y"], [1, "p"], [2, "q"]], "b": [["z"], ["r"]], "none": []})
    told = served.upload("book.xlsx", data)
    assert [one["table"] for one in told["tables"]] == ["book.xlsx#a", "book.xlsx#b"]
    assert served.get("rows", table=told["tables"][1]["id"])["rows"] == [["r"]]


def test_types_of_parquet_are_kept(served: Served) -> None:
    days = pa.array([0, 1, None], pa.date32())
    floats = [0.5, None, float("nan")]
    rows = {"n": [1, 2**60, None], "f": floats, "d": days, "l": [[1], None, []]}
    data = parquet(pa.table(rows))
    table, elements = served.upload("t.parquet", data)["tables"]
    found = served.get("rows", table=table["id"])["rows"]
    assert [row[:4] for row in found] == [
        [1, 0.5, "1970-01-01", "[1]"],
        ["1152921504606846976", None, "1970-01-02", None],
        [None, "nan", None, "[]"],
    ]
    assert elements["table"] == "t.parquet#l"
    assert served.get("rows", table=elements["id"])["rows"] == [[found[0][4], 1]]


def test_packed_files_are_unpacked(served: Served) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("one.csv", CSV)
        file.writestr("two.csv", "a;b\n1;2\n")
    assert len(served.upload("both.zip", data.getvalue())["tables"]) == 2
    assert served.upload("t.csv.gz", gzip.compress(CSV))["tables"][0]["rows"] == 2


def test_names_lead_nowhere(served: Served) -> None:
    for name in ("../../../etc/x.csv", "..\\..\\x.csv", "/abs/x.csv", "x.csv\x00", "..."):
        table = served.upload(name, CSV)["tables"][0]
        assert "/" not in table["table"] and "\\" not in table["table"]
    name = f"{HOSTILE}.csv"
    assert served.upload(name, CSV)["tables"][0]["table"].endswith(".csv")
    assert {path.parent.name for path in served.store.rglob("*.arrow")} <= {"uploads", "results"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.csv", b""),
        ("bad.parquet", b"PAR1" + b"\x00" * 100 + b"PAR1"),
        ("nonsense.parquet", b"PAR1nonsense"),
        ("bad.xlsx", b"PK\x03\x04" + b"\x00" * 50),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + b"\x00" * 100),
        ("bad.gz", b"\x1f\x8b\x08" + b"\xff" * 30),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(served: Served, name: str, data: bytes) -> None:
    answer = served.http.post("/api/v1/uploads", params={"name": name}, content=data)
    error = answer.json()["error"]
    assert (answer.status_code, error["kind"]) == (400, "input")
    assert name in error["message"]
    assert str(served.store) not in error["message"]
    assert not list((served.store / "uploads").glob("making-*"))


def test_a_bomb_does_no_harm(served: Served) -> None:
    """A few kilobytes that unfold to gigabytes."""
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 25_000_000)
    assert len(bomb) < 400_000
    answer = served.http.post("/api/v1/uploads", params={"name": "bomb.csv.gz"}, content=bomb)
    assert answer.status_code in (400, 413)
    assert answer.json()["error"]["kind"] in ("too_large", "input")
    assert served.upload("towns.csv", CSV)["tables"]


def refused(served: Served, name: str, data: bytes) -> tuple[int, str]:
    answer = served.http.post("/api/v1/uploads", params={"name": name}, content=data)
    assert 400 <= answer.status_code < 500, answer.text
    return answer.status_code, answer.json()["error"]["message"]


def test_a_small_archive_stores_no_more_rows_than_one_file_may(served: Served) -> None:
    """Tables within the limits of one, and far beyond them together."""
    rows = parquet(pa.table({"a": pa.array([7] * 2_000_000, pa.int8())}))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(50):
            file.writestr(f"{number}.parquet", rows)
    assert len(data.getvalue()) < 100_000
    status, said = refused(served, "rows.zip", data.getvalue())
    assert (status, said.partition(",")[0]) == (413, "rows.zip has more than 5")
    assert "5,000,000 rows, the limit for uploads" in said


def test_a_workbook_that_unfolds_is_refused_in_a_sentence(served: Served) -> None:
    wide = io.BytesIO()
    with xlsxwriter.Workbook(wide) as book:  # two cells, and 17 billion between them
        sheet = book.add_worksheet("a")
        sheet.write(0, 0, "x")
        sheet.write(1_048_575, 16_383, "y")
    status, said = refused(served, "wide.xlsx", wide.getvalue())
    assert said.startswith("wide.xlsx") and status in (400, 413)
    deep = io.BytesIO()
    with zipfile.ZipFile(deep, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with zipfile.ZipFile(io.BytesIO(workbook({"a": [["x", "y"], [1, 2]]}))) as plain:
            for name in plain.namelist():
                file.writestr(name, plain.read(name))
        with file.open("xl/media/zeros.bin", "w", force_zip64=True) as member:
            for _ in range(2_100):
                member.write(bytes(1_000_000))
    status, said = refused(served, "deep.xlsx", deep.getvalue())
    assert status == 400
    assert said.startswith("deep.xlsx#xl/media/zeros.bin: too large when unpacked (more than 2000")
    assert served.upload("towns.csv", CSV)["tables"]


def test_limits_are_told(served_lake: Path, tmp_path: Path) -> None:
    """A request that says, or turns out, to be too large; uploads that no longer have room."""
    index = served_lake.parent / "index"
    with serving(index, tmp_path / "store", "--uploads", "0.01", "--workers", "1") as small:
        caller = http.client.HTTPConnection("127.0.0.1", small.port)
        caller.putrequest("POST", "/api/v1/uploads?name=x.csv")
        caller.putheader("content-length", "999999999999")
        caller.endheaders(b"x")
        assert caller.getresponse().status == 413
        caller.close()

        def endless() -> object:
            for _ in range(40):
                yield b" " * 100_000

        answer = small.http.post(
            "/api/v1/search", content=endless(), headers={"content-type": "application/json"}
        )
        assert (answer.status_code, answer.json()["error"]["kind"]) == (413, "too_large")
        ids = []
        for n in range(3):
            rows = "".join(f"{n},{k},{k * 7919 % 10007}\n" for k in range(150_000))
            ids.append(small.upload(f"{n}.csv", f"a,b,c\n{rows}".encode())["tables"][0]["id"])
        status, error = small.problem("GET", "rows", params={"table": ids[0]})
        assert (status, error["kind"]) == (410, "gone")
        assert small.get("rows", table=ids[2], end=1)["total"] == 150_000


def test_short_links(served: Served) -> None:
    state = "v1." + "a" * 3000
    id = served.post("links", {"state": state})["id"]
    assert served.get(f"links/{id}") == {"state": state}
    assert served.post("links", {"state": state})["id"] == id
    status, _ = served.problem("POST", "links", json={"state": "x" * 70_000})
    assert status == 422


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_a_reader_that_somebody_ended_is_replaced_once(deaths: int) -> None:
    """A file is to blame for the death of two readers, and not of one: that may have been killed
    for memory that others used."""
    asked = []

    class Readers:
        async def run(self, job: dict[str, str], *_: object) -> dict[str, str]:
            asked.append(job)
            if len(asked) <= deaths:
                raise Problem("died", "a worker process ended")
            return job

    limits = SimpleNamespace(upload_seconds=1.0)
    services: Any = SimpleNamespace(readers=Readers(), settings=SimpleNamespace(limits=limits))
    answer = run_reader(services, {"path": "x"}, lambda _: None)
    if deaths == 2:
        with pytest.raises(Problem) as problem:
            asyncio.run(answer)
        assert problem.value.kind == "died"
    else:
        assert asyncio.run(answer) == {"path": "x"}
    assert len(asked) == min(deaths + 1, 2)
