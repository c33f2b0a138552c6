"""Connections that do nothing are ended, and others are not."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from lakejoin.server import guard
from lakejoin.server.application import WatchedConnection
from lakejoin.server.settings import Settings

PIECE = b"x" * 100_000


class Hasty(WatchedConnection):
    look_seconds = 0.05
    head_seconds = 1.0
    unread_seconds = 1.0
    unread_bytes = 500_000


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An answer of 20 MB, or one that takes three seconds."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/slow":
        await asyncio.sleep(3)
    for _ in range(200 if scope["path"] == "/large" else 1):
        await send({"type": "http.response.body", "body": PIECE, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32_768)  # as of a slow network
    config = uvicorn.Config(app, http=Hasty, ws="none", lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=[[listening]])
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(20)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def read(connection: socket.socket, size: int = 65_536) -> bytes:
    try:
        return connection.recv(size)
    except ConnectionError:
        return b""


def test_a_head_that_comes_byte_by_byte_is_not_waited_for(port: int) -> None:
    with connected(port) as connection:
        begin = time.monotonic()
        with pytest.raises(ConnectionError):
            for byte in b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 100:
                connection.sendall(bytes([byte]))
                time.sleep(0.05)
        assert time.monotonic() - begin < 15


def test_one_who_says_nothing_is_not_waited_for(port: int) -> None:
    with connected(port) as connection:
        assert read(connection) == b""


def test_an_answer_that_nobody_reads_is_not_kept(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(3)
        got = 0
        while piece := read(connection):
            got += len(piece)
        assert got < 200 * len(PIECE)


def test_an_answer_that_is_read_drop_by_drop_is_not_kept(port: int) -> None:
    """As a slow reader does that wants to hold its place: always a little, never nothing."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        connection.connect(("127.0.0.1", port))
        connection.settimeout(20)
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        got, begin = 0, time.monotonic()
        while time.monotonic() - begin < 4:
            got += len(read(connection, 4_096))
            time.sleep(0.05)
        while piece := read(connection):  # what had left the server
            got += len(piece)
        assert got < 200 * len(PIECE)


def test_one_who_reads_slowly_gets_all(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got, begin = 0, time.monotonic()
        while piece := read(connection, 2_000_000):
            got += len(piece)
            time.sleep(0.1)
        assert got >= 200 * len(PIECE)
        assert time.monotonic() - begin > 1


def test_an_answer_that_takes_a_while_is_waited_for(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = 0
        while piece := read(connection):
            got += len(piece)
        assert got >= len(PIECE)


def test_a_body_that_comes_byte_by_byte_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.2)
    sent: list[Any] = []

    async def reading(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass

    async def receive() -> Any:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"{", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/api/v1/search", "method": "POST", "query_string": b""}
    scope["headers"] = [(b"host", b"127.0.0.1")]
    guarded = guard.Guard(reading, Settings("index", tmp_path))
    asyncio.run(asyncio.wait_for(guarded(scope, receive, send), 20))
    assert (sent[0]["status"], b'"slow"' in sent[1]["body"]) == (408, True)


def test_one_who_waits_for_an_answer_is_not_taken_for_slow(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once the body is there, what comes is that the caller leaves, however late."""
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.1)
    come = [{"type": "http.request", "body": b"{}", "more_body": False}]
    got: list[Any] = []

    async def reading(scope: Any, receive: Any, send: Any) -> None:
        got.extend([await receive(), await receive()])

    async def receive() -> Any:
        if come:
            return come.pop()
        await asyncio.sleep(0.5)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        got.append(message)

    scope = {"type": "http", "path": "/api/v1/search", "method": "POST", "query_string": b""}
    scope["headers"] = [(b"host", b"127.0.0.1")]
    asyncio.run(guard.Guard(reading, Settings("index", tmp_path))(scope, receive, send))
    assert [one["type"] for one in got] == ["http.request", "http.disconnect"]
