"""Bytes to a server and back, without a library that would keep them in order."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from http_server.served import Served

SECONDS = 30.0


@contextmanager
def connected(served: Served) -> Iterator[socket.socket]:
    """A connection to the server."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=SECONDS) as connection:
        yield connection


def sent(served: Served, data: bytes, leave: bool = False, wait: float = SECONDS) -> bytes:
    """What the server answers to some bytes, until it closes or `wait` is over; a server that has
    heard enough may also cut the connection."""
    with connected(served) as connection, suppress(ConnectionError):
        connection.sendall(data)
        if leave:
            return b""
        return received(connection, wait)
    return b""


def received(connection: socket.socket, wait: float = SECONDS) -> bytes:
    """What arrives until the other side closes, or for so long."""
    found, until = b"", time.monotonic() + wait
    with suppress(TimeoutError, ConnectionError):
        while (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            piece = connection.recv(65_536)
            if not piece:
                break
            found += piece
    return found


def request(method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    """A request as it is sent; `Host` is added, a length is not."""
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers])
    return head.encode("latin-1") + b"\r\n\r\n" + body


def status(answer: bytes) -> int:
    """The status of an answer; 0 if there is none."""
    parts = answer.split(b" ", 2)
    return int(parts[1]) if len(parts) > 1 and parts[0].startswith(b"HTTP/") else 0
