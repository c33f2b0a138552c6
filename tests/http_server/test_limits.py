"""Limits that a caller runs into: cells of an answer, uploads at once, what a step may write."""

from __future__ import annotations

import csv
import io
import unicodedata
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from cli.commands import Command
from http_server.raw import connected, received, request, status
from http_server.served import Served, serving
from lakejoin.server.api_problems import Problem
from lakejoin.server.jobs.join_jobs import Job, write_arrow
from lakejoin.server.settings import Limits
from lakejoin.server.workspace import Workspace


def nothing(what: str, told: Any) -> None:
    """Is told of progress."""


def test_one_answer_holds_so_many_cells(served: Served) -> None:
    """A column may be asked for again and again: a small table could give gigabytes."""
    many = {"table": "lake:sub/visits.parquet", "end": 1000, "column": [0] * 501}
    status, error = served.problem("GET", "rows", params=many)
    assert (status, error["kind"], error["limit"]) == (413, "too_large", "cells")
    assert len(served.get("rows", **{**many, "column": [0] * 500})["rows"]) == 1000


def test_a_preview_of_a_very_wide_join_has_fewer_rows(served: Served) -> None:
    heads = ",".join(["key", *(f"c{n}" for n in range(1_000))])
    rows = "\n".join(f"k{n}" + ",x" * 1_000 for n in range(300))
    left, right = (
        served.upload(f"wide{n}.csv", f"{heads}\n{rows}\n".encode())["tables"][0]["id"]
        for n in range(2)
    )
    on = [{"left": "key", "right": "key"}]
    told = served.post("join", {"left": left, "right": right, "on": on, "rows": 500})
    assert (told["rows"], len(told["preview"]["columns"])) == (300, 2_002)
    assert len(told["preview"]["rows"]) == 200_000 // 2_002


def test_a_table_of_the_lake_may_be_too_large_for_sql(served_lake: Path, tmp_path: Path) -> None:
    limits = Limits(**{**asdict(Limits()), "result_bytes": 1_000})
    desk = Workspace(str(served_lake.parent / "index"), tmp_path, limits)
    with pytest.raises(Problem) as found:
        write_arrow(Job(desk, {"table": "lake:sub/visits.parquet", "id": "a" * 26}, nothing))
    assert found.value.kind == "too_large"
    assert not list((tmp_path / "results").iterdir())


def test_uploads_that_arrive_at_once_are_so_many(served_lake: Path, tmp_path: Path) -> None:
    """Each lies on the disk as a whole: hundreds of them would fill it."""
    with serving(served_lake.parent / "index", tmp_path, "--workers", "1") as server:
        server.get("health")
        head = request("POST", "/api/v1/uploads?name=a.csv", "Content-Length: 99", body=b"a,b\n")
        with ExitStack() as stack:
            some = [stack.enter_context(connected(server)) for _ in range(17)]
            for one in some:
                one.sendall(head)
            refused = [status(received(one, 0.5)) for one in some]
            assert sorted(refused) == [0] * 16 + [503]
        for _ in range(100):
            answer = server.http.post(
                "/api/v1/uploads", params={"name": "a.csv"}, content=b"a\n1\n"
            )
            if answer.status_code == 200:
                break
        assert answer.status_code == 200


SIGNS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\ufe66", "\ufe63"]
BEFORE = [
    "",
    " ",
    "\t",
    "\r",
    "\x0b",
    "\x00",
    "\x85",
    "\xa0",
    "\u200b",
    "\u2028",
    "\u3000",
    "\ufeff",
]


def test_no_cell_of_a_download_is_a_formula(served: Served) -> None:
    cells = [f"{before}{sign}cmd" for sign in SIGNS for before in BEFORE]
    cells += ["-1", "+1.5e3", "plain", "a=b", "1\n=2"]
    table = pa.table({"n": [str(n) for n in range(len(cells))], "x": cells, "\u200b=x": cells})
    data = io.BytesIO()
    with pa.ipc.new_file(data, table.schema) as writer:
        writer.write_table(table)
    id = served.upload("cells.arrow", data.getvalue())["tables"][0]["id"]
    text = served.http.get("/api/v1/export", params={"table": id}).content.decode()
    heads, *rows = csv.reader(io.StringIO(text, newline=""))
    assert not [head for head in heads if _runs(head)]
    assert [row[1] for row in rows[-5:]] == cells[-5:]
    assert [row[1] for row in rows[:-5]] == [f"'{cell}" for cell in cells[:-5]]


def _runs(text: str) -> bool:
    seen = [c for c in text if not c.isspace() and unicodedata.category(c)[0] not in "ZC"]
    return bool(seen) and seen[0] in SIGNS


def test_a_token_of_any_signs_that_are_allowed_opens_the_page(
    served_lake: Path, tmp_path: Path
) -> None:
    """Also beside cookies of other servers on this host, which may have any form."""
    index = served_lake.parent / "index"
    token = "a+b/c=~._-"
    with (
        serving(index, tmp_path, "--workers", "1", "--token", token) as server,
        httpx.Client(base_url=server.url) as caller,
    ):
        welcome = caller.get("/", params={"token": token})
        assert welcome.status_code == 303
        ours = welcome.headers["set-cookie"].partition(";")[0]
        caller.cookies.clear()
        beside = {"cookie": f'theirs={{"a": [1, "x"]}}; {ours}; other=a b'}
        assert caller.get("/api/v1/info", headers=beside).status_code == 200
        assert caller.get("/api/v1/info").status_code == 401


@pytest.mark.parametrize("token", ["", "a b", "a;b", 'a"b', "ü", "a,b", "a\\b"])
def test_a_token_that_no_browser_could_send_is_refused(served_lake: Path, token: str) -> None:
    serve = Command("serve", ("--index", str(served_lake.parent / "index")))
    assert "a token may contain only" in serve.refused("--token", token)
