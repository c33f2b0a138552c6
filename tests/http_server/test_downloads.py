"""Downloads: slow readers hold no more than their share, and not for long."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

import pytest

from http_server.raw import received, request, status
from http_server.served import Served

ROWS = 400_000


@pytest.fixture(scope="module")
def large(served: Served) -> str:
    """A table whose download is larger than what sockets take without a reader."""
    text = "\n".join(f"row {n},{n:040d}" for n in range(ROWS))
    id: str = served.upload("large.csv", f"name,number\n{text}\n".encode())["tables"][0]["id"]
    return id


def begin(served: Served, table: str, address: str, stack: ExitStack) -> tuple[int, bytes]:
    """Ask for a download from an address, and read only how it begins."""
    connection = stack.enter_context(socket.socket())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", served.port))
    connection.settimeout(60)
    connection.sendall(request("GET", f"/api/v1/export?table={table}"))
    head = connection.recv(1_000)
    return status(head), head if status(head) == 200 else head + received(connection, 2)


def test_slow_readers_hold_no_more_than_their_share(served: Served, large: str) -> None:
    with ExitStack() as stack:
        first = [begin(served, large, "127.0.0.1", stack)[0] for _ in range(8)]
        assert first == [200] * 8
        refused, answer = begin(served, large, "127.0.0.1", stack)
        assert refused == 503
        assert b"8 downloads to your address are running" in answer
        assert begin(served, large, "127.0.0.2", stack)[0] == 200
    until = time.monotonic() + 30
    while True:  # who leaves gives his place back
        answer = served.http.get("/api/v1/export", params={"table": large})
        if answer.status_code == 200 or time.monotonic() > until:
            break
        time.sleep(0.2)
    assert answer.status_code == 200
    assert answer.content.count(b"\n") == ROWS + 1
