"""What goes wrong between here and a server is one sentence: with a server made for each case."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import lakejoin
from lakejoin.client.connection import Address, Connection
from lakejoin.client.remote_lake import RemoteLake
from lakejoin.errors import (
    BusyServer,
    DamagedIndex,
    InputError,
    LakejoinError,
    MissingDependency,
    NoJoin,
    NoServer,
    ServerProblem,
    UnknownTable,
)

INFO = {"tables": 2, "rows": 30}
Reply = tuple[int, str, bytes]


def said(status: int, body: Any) -> Reply:
    return status, "application/json", json.dumps(body).encode()


def problem(status: int, kind: str, **more: Any) -> Reply:
    return said(status, {"error": {"kind": kind, "message": f"it is {kind}", **more}})


class Stub:
    """A server that says what it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        self.reply: Callable[[str], Reply] = lambda path: said(200, INFO)
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                stub.asked.append((self.path, headers, self.rfile.read(length)))
                status, kind, body = stub.reply(self.path)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                with suppress(OSError):  # who asked may not have waited
                    self.end_headers()
                    self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *said: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()


@pytest.fixture
def stub() -> Iterator[Stub]:
    made = Stub()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def remote(stub: Stub) -> Iterator[RemoteLake]:
    with lakejoin.connect(stub.url) as lake:
        yield lake


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "input", InputError),
        (422, "input", InputError),
        (400, "sql", InputError),
        (403, "forbidden", InputError),
        (410, "gone", InputError),
        (413, "too_large", InputError),
        (404, "unknown", UnknownTable),
        (501, "missing", MissingDependency),
        (500, "damaged", DamagedIndex),
        (400, "no_join", NoJoin),
        (503, "busy", BusyServer),
        (504, "time", BusyServer),
        (500, "ours", ServerProblem),
        (500, "of a newer server", ServerProblem),
    ],
)
def test_what_a_server_says_is_raised(
    stub: Stub, remote: RemoteLake, status: int, kind: str, error: type[LakejoinError]
) -> None:
    stub.reply = lambda path: problem(status, kind)
    for ask in (remote.info, lambda: remote.union("a.csv"), lambda: remote.upload({"a": [1]})):
        with pytest.raises(error) as raised:
            ask()
        assert type(raised.value) is error and str(raised.value) == f"it is {kind}"


def test_a_busy_server_says_when_to_come_again(stub: Stub, remote: RemoteLake) -> None:
    stub.reply = lambda path: problem(503, "busy", retry_after=2.5)
    with pytest.raises(BusyServer) as raised:
        remote.info()
    assert raised.value.retry_after == 2.5


def test_sql_says_where_it_is_wrong(stub: Stub, remote: RemoteLake) -> None:
    stub.reply = lambda path: problem(400, "sql", at={"line": 2, "column": 7, "offset": 20})
    with pytest.raises(InputError, match=r"it is sql \(line 2, column 7\)"):
        remote.sql("a.csv", "select")


def test_a_token_is_sent_and_asked_for(stub: Stub) -> None:
    lakejoin.connect(f"{stub.url}/?token=abc").close()
    lakejoin.connect(stub.url, "xyz").close()
    lakejoin.connect(stub.url).close()
    sent = [headers.get("authorization") for _, headers, _ in stub.asked]
    assert sent == ["Bearer abc", "Bearer xyz", None]
    stub.reply = lambda path: problem(401, "token")
    with pytest.raises(
        InputError, match=r"lakejoin\.connect\('http://127\.0\.0\.1:\d+', token=…\)"
    ):
        lakejoin.connect(stub.url)


@pytest.mark.parametrize(
    "reply",
    [
        (200, "text/html", b"<html>hello</html>"),
        (404, "text/html", b"<html>not here</html>"),
        (404, "application/json", b'{"detail": "Not Found"}'),
        (200, "application/json", b"[1, 2]"),
        (502, "text/plain", b""),
    ],
)
def test_something_else_answers(stub: Stub, reply: Reply) -> None:
    stub.reply = lambda path: reply
    with pytest.raises(NoServer, match="is not a lakejoin server"):
        lakejoin.connect(stub.url)


def test_nothing_answers() -> None:
    with pytest.raises(
        NoServer, match=r"no server answers at http://127\.0\.0\.1:1 .*lakejoin serve"
    ):
        lakejoin.connect("127.0.0.1:1")


def test_a_server_that_takes_too_long(stub: Stub) -> None:
    waiting = threading.Event()

    def slowly(path: str) -> Reply:
        waiting.wait(5)
        return said(200, INFO)

    stub.reply = slowly
    with pytest.raises(BusyServer, match=r"did not answer within 0\.2 seconds"):
        lakejoin.connect(stub.url, timeout=0.2)
    waiting.set()


@pytest.mark.parametrize("url", ["", "ftp://host", "http://", "http://host:port", "http://[::1"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="is not a server address"):
        lakejoin.connect(url)


@pytest.mark.parametrize(
    ("given", "url", "token"),
    [
        ("http://127.0.0.1:8765/", "http://127.0.0.1:8765", None),
        ("localhost:8765", "http://localhost:8765", None),
        ("http://[::1]:80/?token=a%2Bb", "http://[::1]:80", "a+b"),
        ("https://host/lake/api/v1/#v1.abc", "https://host/lake", None),
    ],
)
def test_addresses(given: str, url: str, token: str | None) -> None:
    assert Address.of(given) == Address(url, token)


def test_no_proxy_for_this_machine(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    lakejoin.connect(stub.url).close()


def test_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingDependency, match=r"pip install 'lakejoin\[client\]'"):
        lakejoin.connect("127.0.0.1:1")


def events(*parts: tuple[str, Any]) -> Reply:
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in parts)
    return 200, "text/event-stream", f": ready\n\n{text}".encode()


def test_events(stub: Stub, remote: RemoteLake) -> None:
    query = {"table": "a", "columns": [["x"]]}
    answer = {
        **{"query": query, "by": "fused", "k": 10, "results": [], "misses": [], "final": True},
        **{"notes": [], "seconds": 0.1, "seconds_by": {}, "total": 0},
    }
    stub.reply = lambda path: events(
        ("progress", {"doing": "reading", "seconds": 0.1}), ("partial", answer), ("done", answer)
    )
    assert [one.final for one in remote.search_progressively("a.csv")] == [False, True]
    path, headers, body = stub.asked[-1]
    assert (path, headers["accept"]) == ("/api/v1/search", "text/event-stream")
    assert json.loads(body) == {"table": "lake:a.csv", "by": "fused", "k": 10}


def test_a_problem_among_the_events(stub: Stub, remote: RemoteLake) -> None:
    error = {"kind": "time", "message": "it took too long"}
    stub.reply = lambda path: events(("progress", {}), ("problem", {"error": error}))
    with pytest.raises(BusyServer, match="it took too long"):
        list(remote.search_progressively("a.csv"))
    with pytest.raises(BusyServer, match="it took too long"):
        remote.join("a.csv", "b.csv", progress=lambda doing: None)


def test_events_that_end_early(stub: Stub, remote: RemoteLake) -> None:
    stub.reply = lambda path: events(("progress", {"doing": "reading"}))
    with pytest.raises(NoServer, match="before its answer was complete"):
        list(remote.search_progressively("a.csv"))


def test_an_error_in_place_of_events(stub: Stub, remote: RemoteLake) -> None:
    stub.reply = lambda path: problem(404, "unknown")
    with pytest.raises(UnknownTable):
        list(remote.search_progressively("a.csv"))


def test_rows_that_come_incomplete(stub: Stub) -> None:
    table = {"id": "lake:a", "table": "a", "rows": 5, "columns": 1}
    stub.reply = lambda path: (
        (200, "application/octet-stream", b"ARROW1\0\0 and no more")
        if "export" in path
        else said(200, {**INFO, "tables": [table], "total": 1} if "tables" in path else INFO)
    )
    with lakejoin.connect(stub.url) as remote, pytest.raises(ServerProblem, match="incomplete"):
        remote.tables()[0].to_arrow()


def test_what_is_none_is_not_asked_for(stub: Stub) -> None:
    connection = Connection(Address(stub.url), 5)
    connection.get("/info", a=None, b="ü #&")
    assert stub.asked[-1][0] == "/api/v1/info?b=%C3%BC+%23%26"
    connection.close()
