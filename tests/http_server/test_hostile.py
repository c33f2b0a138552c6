"""Requests that are none, that do not end, or that nobody reads: the server goes on for others."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from http_server.raw import connected, received, request, sent, status
from http_server.served import Served, serving

CLOSE = "Connection: close"
JSON = "Content-Type: application/json"
SEARCH = b'{"table": "lake:stations.csv", "on": ["code"], "by": "overlap"}'


@pytest.fixture(scope="module")
def attacked(served_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, so that what it holds afterwards is known."""
    index = served_lake.parent / "index"
    with serving(index, tmp_path_factory.mktemp("hostile")) as found:
        found.post("search", {"table": "lake:stations.csv"})  # warm
        yield found


@pytest.fixture(scope="module")
def wide(attacked: Served) -> str:
    """A table of sixty columns, with which a search takes a while."""
    heads = ",".join(f"c{n}" for n in range(60))
    rows = (",".join(f"v{row * place % 9973}" for place in range(60)) for row in range(15_000))
    file = "\n".join([heads, *rows]).encode()
    return str(attacked.upload("wide.csv", file)["tables"][0]["id"])


@pytest.fixture(autouse=True)
def _goes_on(attacked: Served) -> Iterator[None]:
    """After each of them the server answers, and nothing half made lies about."""
    yield
    assert attacked.process.poll() is None
    assert attacked.get("rows", table="lake:stations.csv", end=5)["total"] == 200
    until_true(lambda: not list(attacked.store.rglob("making-*")))


def until_true(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def settled_children(served: Served) -> int:
    """How many child processes there are once all have started, which go on after the server is
    ready."""
    counts = [children(served)]
    while len(counts) < 20 or len(set(counts[-20:])) > 1:
        time.sleep(0.1)
        counts.append(children(served))
    return counts[-1]


def children(served: Served) -> int:
    return len(psutil.Process(served.process.pid).children(recursive=True))


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff\xfe" * 1000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200,  # TLS
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/x.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\nHost 127.0.0.1\n\n",
        b"GET /api/v1/health HTTP/1.1\r\n\r\n",
        request("GET", "/api/v1/health", "X: " + "x" * 200_000),
        request("GET", "/api/v1/health", *(f"X{n}: y" for n in range(20_000))),
        request("GET", "/api/v1/" + "x" * 200_000),
        request("GET", "/api/v1/health", "Host: evil.example"),
        request("GET", "/api/v1/health", "X: a\x00b"),
        request("POST", "/api/v1/search", JSON, "Content-Length: ten", body=SEARCH),
        request("POST", "/api/v1/search", JSON, "Content-Length: -5", body=SEARCH),
        request("POST", "/api/v1/search", JSON, "Content-Length: 9" + "9" * 30, body=SEARCH),
        request("POST", "/api/v1/search", JSON, "Content-Length: 5", "Content-Length: 6"),
        request("POST", "/api/v1/search", JSON, "Transfer-Encoding: chunked", body=b"zz\r\nx\r\n"),
        request("POST", "/api/v1/search", JSON, "Transfer-Encoding: gzip, x", body=SEARCH),
        request("G\x01T", "/api/v1/health"),
        request("GET", "/\x80\xff"),
    ],
    ids=range(20),
)  # fmt: skip
def test_what_is_no_request_is_refused(attacked: Served, data: bytes) -> None:
    begin = time.monotonic()
    answer = sent(attacked, data)
    assert 400 <= status(answer) < 500 or not answer
    assert b"Traceback" not in answer
    assert time.monotonic() - begin < 25


@pytest.mark.parametrize(
    "path",
    [
        "/%",
        "/%zz",
        "/%00",
        "/..%2f..%2fetc/passwd",
        "/assets/..%2f..%2f__init__.py",
        "/assets/../../application.py",
        "//127.0.0.1/api/v1/health",
        "http://evil.example/api/v1/health",
        "/api/v1/%ff%fe",
        "/api/v1/links/..%2f..%2fx",
        "/api/v1/table?table=%ff%fe",
        "/api/v1/table?table=%00",
        "/api/v1/table?table=%",
        "/api/v1/table?table=lake:../../etc/passwd",
        "/api/v1/rows?table=lake:stations.csv&begin=1e9",
        "/api/v1/rows?table=lake:stations.csv&begin=%F0%9F%98%80",
        "/api/v1/find?text=%ff",
        "/api/v1/find?" + "&".join(f"x{n}=y" for n in range(3_000)),
        "/api/v1/table?" + "table=a&" * 3_000,
    ],
)
def test_paths_and_queries_of_any_bytes(attacked: Served, path: str) -> None:
    answer = sent(attacked, request("GET", path, CLOSE))
    assert status(answer) in (200, 400, 404, 422)
    assert b"root:" not in answer and b"import annotations" not in answer
    if status(answer) == 200:
        assert path.startswith("/api/v1/find") or b"<html" in answer.lower()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/v1/rows"),
        ("TRACE", "/"),
        ("CONNECT", "127.0.0.1:80"),
        ("OPTIONS", "*"),
        ("get", "/api/v1/health"),
        ("GET", "/api/v1/search"),
        ("POST", "/api/v1/rows"),
        ("PUT", "/api/v1/uploads"),
        ("HEAD", "/api/v1/nothing"),
        ("BREW", "/api/v1/health"),
    ],
)
def test_other_methods(attacked: Served, method: str, path: str) -> None:
    hints = ("X-HTTP-Method-Override: GET", "Upgrade: websocket", "Connection: close, Upgrade")
    assert status(sent(attacked, request(method, path, *hints))) in (400, 403, 404, 405)


def test_requests_that_end_halfway(attacked: Served) -> None:
    whole = request("POST", "/api/v1/search", JSON, f"Content-Length: {len(SEARCH)}", body=SEARCH)
    for cut in range(1, len(whole), 17):
        sent(attacked, whole[:cut], leave=True)
    long = request("POST", "/api/v1/uploads?name=a.csv", "Content-Length: 100000", body=b"a,b\n")
    sent(attacked, long, leave=True)
    endless = request("POST", "/api/v1/uploads?name=a.csv", "Transfer-Encoding: chunked")
    sent(attacked, endless + b"4\r\na,b\n\r\n", leave=True)


def test_bodies_that_are_longer_than_they_may_be(attacked: Served) -> None:
    said = request("POST", "/api/v1/search", JSON, "Content-Length: 999999999", body=b"{")
    assert status(sent(attacked, said)) == 413
    with connected(attacked) as connection:
        head = request("POST", "/api/v1/search", JSON, "Transfer-Encoding: chunked")
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        connection.sendall(head)
        try:
            for _ in range(40):
                connection.sendall(piece)
        except ConnectionError:
            return
        assert status(received(connection)) == 413


def test_requests_one_after_the_other_in_one_piece(attacked: Served) -> None:
    some = request("GET", "/api/v1/health") * 50 + request("GET", "/api/v1/health", CLOSE)
    answer = sent(attacked, some)
    assert answer.count(b"HTTP/1.1 200") == 51
    smuggled = request("GET", "/api/v1/health", "Content-Length: 4", body=b"abcd")
    assert sent(attacked, smuggled + some).count(b"HTTP/1.1 200") == 52


def test_many_connections_that_say_little(attacked: Served) -> None:
    with ExitStack() as stack:
        for number in range(300):
            connection = stack.enter_context(connected(attacked))
            connection.sendall(b"GET /api/v1/he"[: number % 15])
        begin = time.monotonic()
        assert attacked.get("rows", table="lake:stations.csv", end=5)["total"] == 200
        assert time.monotonic() - begin < 10
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", attacked.port)):
            pass


def test_callers_who_leave_while_it_works(attacked: Served) -> None:
    before = settled_children(attacked)
    events = "Accept: text/event-stream"
    for number in range(20):
        body = b'{"table": "lake:stations.csv", "k": %d}' % (number + 11)
        head = (JSON, events) if number % 2 else (JSON,)
        with connected(attacked) as connection:
            data = request(
                "POST", "/api/v1/search", *head, f"Content-Length: {len(body)}", body=body
            )
            connection.sendall(data)
            if number % 4 == 1:
                assert connection.recv(100)
    until_true(lambda: _figure(attacked, 'lakejoin_busy{kind="worker"}') == 0, 120)
    until_true(lambda: children(attacked) <= before)
    assert attacked.post("search", {"table": "lake:stations.csv", "k": 9})["results"]


def test_downloads_that_nobody_reads(attacked: Served) -> None:
    """Fifty of them leave the light requests, and uploads, quick; one address gets eight."""
    big = "id,text\n" + "".join(f"{n},{'x' * 90}{n}\n" for n in range(120_000))
    id = attacked.upload("big.csv", big.encode())["tables"][0]["id"]
    with ExitStack() as stack:
        refused = 0
        for _ in range(50):
            connection = stack.enter_context(connected(attacked))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request("GET", f"/api/v1/export?table={id}&format=csv"))
            refused += status(connection.recv(20)) == 503
        assert refused == 50 - 8
        begin = time.monotonic()
        for _ in range(10):
            assert attacked.get("rows", table=id, begin=60_000, end=60_005)["total"] == 120_000
        assert attacked.upload("small.csv", b"a,b\n1,2\n")["tables"]
        assert time.monotonic() - begin < 30
    until_true(lambda: _exported(attacked, id))


def test_light_requests_do_not_wait_for_heavy_ones(attacked: Served, wide: str) -> None:
    """Every worker and the queue before them are full; reading goes on."""
    with ExitStack() as stack:
        for number in range(24):
            connection = stack.enter_context(connected(attacked))
            body = json.dumps({"table": wide, "k": number + 60}).encode()
            length = f"Content-Length: {len(body)}"
            connection.sendall(request("POST", "/api/v1/search", JSON, length, body=body))
        until_true(lambda: _figure(attacked, 'lakejoin_busy{kind="worker"}') >= 2)
        begin = time.monotonic()
        for _ in range(5):
            attacked.get("rows", table="lake:sub/visits.parquet", begin=2_000, end=2_050)
            attacked.get("table", table="lake:stations.csv")
        took = time.monotonic() - begin
        assert _figure(attacked, 'lakejoin_busy{kind="worker"}') >= 2  # meanwhile, that is
        assert took < 10


def test_rows_do_not_wait_for_whole_columns(attacked: Served, wide: str) -> None:
    """As a page asks for what is drawn above sixty columns, one scrolls."""
    with ExitStack() as stack:
        asked = []
        for place in range(60):
            connection = stack.enter_context(connected(attacked))
            path = f"/api/v1/distribution?table={wide}&column={place}"
            connection.sendall(request("GET", path, CLOSE))
            asked.append(connection)
        select.select(asked, [], [], 60)  # the first is answered, and the others are waiting
        attacked.get("rows", table=wide, begin=9_000, end=9_005, column=[1])
        answered, _, _ = select.select(asked, [], [], 0)
        assert len(answered) < 40
        assert {status(received(connection)) for connection in asked} == {200}


def test_memory_stays_within_reason(attacked: Served) -> None:
    """Each answer and each broken request leaves nothing behind in the server itself."""
    process = psutil.Process(attacked.process.pid)

    def round() -> int:
        for _ in range(300):
            sent(attacked, b"\x00" * 1000, leave=True)
            attacked.http.post("/api/v1/search", content=b"{" * 1000)
            attacked.http.get("/api/v1/rows", params={"table": "lake:nothing"})
        attacked.get("rows", table="lake:sub/visits.parquet", end=1000)
        return int(process.memory_info().rss)

    first = round()
    assert round() - first < 20_000_000
    assert process.num_fds() < 200


def _figure(served: Served, name: str) -> float:
    text = served.http.get("/api/v1/metrics").text
    (line,) = (line for line in text.splitlines() if line.startswith(name))
    return float(line.rpartition(" ")[2])


def _exported(served: Served, id: str) -> bool:
    """Whether there is room for a download again, which is then whole."""
    answer = served.http.get("/api/v1/export", params={"table": id, "format": "parquet"})
    return answer.status_code == 200 and answer.content.endswith(b"PAR1")
