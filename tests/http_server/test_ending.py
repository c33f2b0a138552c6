"""Ctrl-C while there is work: callers are told, and nothing stays behind."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from http_server.served import LONG, Served, serving

ENDLESS = "select count(*) from range(100000000000) a, range(100000) b"


def told(served: Served, number: int) -> Any:
    """The problem that a query has which never ends, as JSON or as events."""
    accept = "text/event-stream" if number % 2 else "application/json"
    body = {"table": "lake:stations.csv", "sql": f"{ENDLESS} where a.range <> {number}"}
    url = f"{served.url}/api/v1/sql"
    answer = httpx.post(url, json=body, headers={"accept": accept}, timeout=LONG)
    return answer.text


def test_work_is_ended_and_told_of(
    served_lake: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        serving(served_lake.parent / "index", tmp_path, "--workers", "1") as served,
        ThreadPoolExecutor(6) as callers,
    ):
        served.post("sql", {"table": "lake:stations.csv", "sql": "select 1"})  # all is warm
        asked = [callers.submit(told, served, number) for number in range(6)]  # more than children
        until = time.monotonic() + LONG
        while 'lakejoin_waiting{kind="sql"} 4.0' not in served.http.get("/api/v1/metrics").text:
            assert time.monotonic() < until
            time.sleep(0.1)
        children = psutil.Process(served.process.pid).children(recursive=True)
        served.process.send_signal(signal.SIGINT)
        assert [one for one in asked if "the server is shutting down" not in one.result(LONG)] == []
        served.process.wait(LONG)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive
    assert not list(tmp_path.rglob("making-*"))
    assert "Traceback" not in capfd.readouterr().err
