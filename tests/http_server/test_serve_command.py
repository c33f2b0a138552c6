"""The command that serves: what it says, refuses, and leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from cli.commands import Command
from http_server.served import serving
from lakejoin.cli import serve_commands as module

SERVE = Command("serve")


def test_a_port_that_is_taken_is_told(served_lake: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        index = str(served_lake.parent / "index")
        said = SERVE.refused("--index", index, "--port", str(port), "--store", str(tmp_path))
    assert f"cannot listen on 127.0.0.1:{port}" in said


def test_the_next_free_port_is_taken_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(module, "_PORT", taken.getsockname()[1])
        with module._listening_socket("127.0.0.1", None) as found:
            assert found.getsockname()[1] != taken.getsockname()[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--store", "/proc/nothing"), "--store"),
        (("--token", "a b"), "a token may contain only letters"),
        (("--host", "999.1.1.1", "--port", "0"), "cannot listen on 999.1.1.1"),
    ],
)
def test_bad_input_is_one_sentence(
    served_lake: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    index = str(served_lake.parent / "index")
    given = ("--index", index, "--store", str(tmp_path), *options)
    assert said in SERVE.refused(*given)


def test_without_an_index_nothing_is_served(tmp_path: Path) -> None:
    result = SERVE.run("--index", str(tmp_path / "nothing"), "--store", str(tmp_path))
    assert result.exit_code == 3 or getattr(result.exception, "exit_code", 0) == 3


def test_ctrl_c_ends_it_and_all_that_it_started(served_lake: Path, tmp_path: Path) -> None:
    with serving(served_lake.parent / "index", tmp_path / "store") as served:
        assert served.get("health")["status"] == "ok"
        children = _children(served.process.pid)
        assert children
        with httpx.stream(
            "POST",
            f"{served.url}/api/v1/search",
            json={"table": "lake:stations.csv", "k": 33},
            headers={"accept": "text/event-stream"},
        ) as answer:
            next(answer.iter_lines())
            served.process.send_signal(signal.SIGINT)
            assert served.process.wait(20) in (0, 130)
        assert all(_gone(pid) for pid in children)
        assert not list((tmp_path / "store").rglob("making-*"))


def test_it_says_where_it_is(served_lake: Path, tmp_path: Path) -> None:
    """For people: the address, and how it ends."""
    command = [sys.executable, "-m", "lakejoin", "serve", "--port", "0"]
    command += ["--index", str(served_lake.parent / "index"), "--store", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("serving 5 tables at http://127.0.0.1:")
        url = first.split()[-1]
        assert httpx.get(f"{url}api/v1/health", timeout=30).json()["status"] == "ok"
    finally:
        process.terminate()
        process.wait(20)


def test_a_new_version_of_the_index_is_served(served_lake: Path, tmp_path: Path) -> None:
    import shutil

    import lakejoin
    from fake_spark import FakeSpark

    lake, index = tmp_path / "lake", tmp_path / "index"
    shutil.copytree(served_lake / "sub", lake)
    lakejoin.index(lake, index, spark=FakeSpark())
    with serving(index, tmp_path / "store", "--workers", "1") as served:
        assert served.get("tables")["total"] == 3
        (lake / "more.csv").write_text("station,name\n" + "".join(f"S{n},N{n}\n" for n in range(9)))
        lakejoin.index(lake, index, spark=FakeSpark())
        until = time.monotonic() + 30
        while served.get("tables")["total"] == 3 and time.monotonic() < until:
            time.sleep(0.3)
        assert served.get("table", table="lake:more.csv")["rows"] == 9
        told = served.post("search", {"table": "lake:more.csv", "by": "overlap", "on": ["name"]})
        assert told["query"]["table"] == "more.csv"


def _children(pid: int) -> list[int]:
    """The processes that a process has started; the tests run on Linux or skip this."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("children are told by Linux")
    return [int(one) for one in path.read_text().split()]


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
