"""Requests to a lakejoin server: JSON in and out, events as they come, files up and down."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from lakejoin.client.problems import error_of
from lakejoin.errors import BusyServer, InputError, MissingPart, NoServer, needed

if TYPE_CHECKING:
    import httpx

API = "/api/v1"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_IDLE = 4.0  # seconds; servers close a connection that is idle for some more

Json = dict[str, Any]
Progress = Callable[[str], None]  # is told what is being done


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and the token that it asks for."""

    url: str
    token: str | None = None

    @classmethod
    def of(cls, text: str, token: str | None = None) -> Address:
        """The address that a person gives, such as the one that `lakejoin serve` prints.

        >>> Address.of("127.0.0.1:8765/?token=abc#v1.x")
        Address(url='http://127.0.0.1:8765', token='abc')
        >>> Address.of("https://lake.example.org/join/", "abc").url
        'https://lake.example.org/join'
        """
        whole = text.strip() if "://" in text else f"http://{text.strip()}"
        try:
            parts = urlsplit(whole)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            known = False
        if not known:
            raise InputError(f"{text!r} is no address of a server, such as http://127.0.0.1:8765")
        token = token or next(iter(parse_qs(parts.query).get("token", [])), None)
        path = parts.path.rstrip("/").removesuffix(API)
        return cls(f"{parts.scheme}://{parts.netloc}{path}", token)

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        return urlsplit(self.url).hostname in _LOOPBACK


class Connection:
    """An open way to a server; several threads may share it."""

    def __init__(self, address: Address, timeout: float | None) -> None:
        http = _httpx()
        self.address = address
        self.url = address.url
        self.timeout = timeout
        headers = {"Authorization": f"Bearer {address.token}"} if address.token else {}
        self._client: httpx.Client = http.Client(
            base_url=address.url + API,
            headers=headers,
            timeout=http.Timeout(timeout, connect=10.0),
            limits=http.Limits(keepalive_expiry=_IDLE),
            trust_env=not address.is_loopback,  # no proxy stands between this machine and itself
        )

    def close(self) -> None:
        """Closes what is open; nothing can be asked after it."""
        self._client.close()

    def get(self, path: str, **asked: Any) -> Json:
        """The JSON at a path; what is None is not asked for."""
        with self._told():
            answer = self._client.get(path, params=_given(asked))
        return self._json(answer)

    def post(self, path: str, body: Mapping[str, Any], progress: Progress | None = None) -> Json:
        """The JSON that comes of posting JSON; `progress` is told what is being done meanwhile."""
        if progress is None:
            with self._told():
                answer = self._client.post(path, json=_given(body))
            return self._json(answer)
        done: Json = {}
        for name, data in self.events(path, body):
            if name == "progress":
                progress(str(data.get("doing", "")))
            elif name == "done":
                done = data
        return done

    def events(self, path: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
        """The events that a server sends while it works, up to the last, `done`; closing this
        iterator stops the work."""
        headers = {"Accept": "text/event-stream"}
        with (
            self._told(),
            self._client.stream("POST", path, json=_given(body), headers=headers) as answer,
        ):
            if answer.status_code != 200:
                answer.read()
                self._json(answer)
            for name, data in _events(answer.iter_lines()):
                if name == "problem":
                    raise error_of(200, data, self.url)
                yield name, data
                if name == "done":
                    return
        raise NoServer(f"{self.url} ended before its answer was complete")

    def send(self, path: str, content: bytes | IO[bytes], **asked: Any) -> Json:
        """The JSON that comes of posting bytes."""
        headers = {"Content-Type": "application/octet-stream"}
        with self._told():
            answer = self._client.post(path, params=_given(asked), content=content, headers=headers)
        return self._json(answer)

    @contextmanager
    def download(self, path: str, **asked: Any) -> Iterator[IO[bytes]]:
        """The bytes at a path, to be read as they come."""
        with self._told(), self._client.stream("GET", path, params=_given(asked)) as answer:
            if answer.status_code != 200:
                answer.read()
                self._json(answer)
            yield io.BufferedReader(_Body(answer.iter_bytes()), 1 << 16)

    def _json(self, answer: httpx.Response) -> Json:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if answer.status_code != 200 or not isinstance(body, dict):
            raise error_of(answer.status_code, body, self.url)
        return body

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong on the way, as one sentence."""
        httpx = _httpx()
        try:
            yield
        except httpx.ConnectError as problem:
            raise NoServer(
                f"no server answers at {self.url} ({problem}): is `lakejoin serve` running?"
            ) from None
        except httpx.ConnectTimeout:
            raise NoServer(f"no server answers at {self.url} within 10 seconds") from None
        except httpx.TimeoutException:
            raise BusyServer(f"{self.url} gave no answer for {self.timeout:g} seconds") from None
        except httpx.HTTPError as problem:
            raise NoServer(f"{self.url} broke the connection off ({problem})") from None
        except RuntimeError as problem:  # httpx, of a client that was closed
            if self._client.is_closed:
                raise InputError(f"the connection to {self.url} was closed") from problem
            raise


def _httpx() -> Any:
    try:
        return needed("httpx")
    except MissingPart:
        raise MissingPart("asking a server needs: pip install 'lakejoin[client]'") from None


class _Body(io.RawIOBase):
    """The parts of a body as a file to read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = part
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _events(lines: Iterable[str]) -> Iterator[tuple[str, Json]]:
    """Server-sent events of which the data is JSON.

    >>> list(_events(["event: done", 'data: {"a":', "data: 1}", "", ": a comment", ""]))
    [('done', {'a': 1})]
    """
    name = "message"
    data: list[str] = []
    for line in lines:
        if not line:
            if data:
                yield name, json.loads("\n".join(data))
            name, data = "message", []
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)


def _given(asked: Mapping[str, Any]) -> Json:
    return {name: value for name, value in asked.items() if value is not None}
