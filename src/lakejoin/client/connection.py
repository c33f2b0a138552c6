"""Requests to a lakejoin server: the connection, fields of requests, and errors in responses."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

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
    import_optional,
)

if TYPE_CHECKING:
    import httpx

    from lakejoin.search.options import SearchOptions
    from lakejoin.search.query_columns import ColumnSelection


API = "/api/v1"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_IDLE_SECONDS = 4.0  # servers close idle connections somewhat later

Json = dict[str, Any]
Progress = Callable[[str], None]  # is called with what is being done


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of a server, and the token it requires."""

    url: str
    token: str | None = None

    @classmethod
    def of(cls, text: str, token: str | None = None) -> Address:
        """Parse an address, such as the one that `lakejoin serve` prints.

        >>> Address.of("127.0.0.1:8765/?token=abc#v1.x")
        Address(url='http://127.0.0.1:8765', token='abc')
        >>> Address.of("https://lake.example.org/join/", "abc").url
        'https://lake.example.org/join'
        """
        whole = text.strip() if "://" in text else f"http://{text.strip()}"
        try:
            parts = urlsplit(whole)
            is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            is_valid = False
        if not is_valid:
            raise InputError(
                f"{text!r} is not a server address: write it like http://127.0.0.1:8765"
            )
        token = token or next(iter(parse_qs(parts.query).get("token", [])), None)
        path = parts.path.rstrip("/").removesuffix(API)
        return cls(f"{parts.scheme}://{parts.netloc}{path}", token)

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return urlsplit(self.url).hostname in _LOOPBACK


class Connection:
    """A connection to a server; several threads may share it."""

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
            limits=http.Limits(keepalive_expiry=_IDLE_SECONDS),
            trust_env=not address.is_loopback,  # no proxy for this machine
        )

    def close(self) -> None:
        """Close the connection; further requests fail."""
        self._client.close()

    def get(self, path: str, **parameters: Any) -> Json:
        """GET JSON; parameters that are None are left out."""
        with self._translated_errors():
            answer = self._client.get(path, params=without_none(parameters))
        return self._json(answer)

    def post(self, path: str, body: Mapping[str, Any], progress: Progress | None = None) -> Json:
        """POST JSON and return JSON; `progress` is called with what is being done meanwhile."""
        if progress is None:
            with self._translated_errors():
                answer = self._client.post(path, json=without_none(body))
            return self._json(answer)
        done: Json = {}
        for name, data in self.events(path, body):
            if name == "progress":
                progress(str(data.get("doing", "")))
            elif name == "done":
                done = data
        return done

    def events(self, path: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
        """POST JSON and yield the events that the server sends, up to the last one, `done`; closing
        this iterator stops the work on the server."""
        headers = {"Accept": "text/event-stream"}
        with (
            self._translated_errors(),
            self._client.stream("POST", path, json=without_none(body), headers=headers) as answer,
        ):
            if answer.status_code != 200:
                answer.read()
                self._json(answer)
            for name, data in _events(answer.iter_lines()):
                if name == "problem":
                    raise error_from_response(200, data, self.url)
                yield name, data
                if name == "done":
                    return
        raise NoServer(f"{self.url} closed the connection before its answer was complete")

    def send(self, path: str, content: bytes | IO[bytes], **parameters: Any) -> Json:
        """POST bytes and return JSON."""
        headers = {"Content-Type": "application/octet-stream"}
        with self._translated_errors():
            answer = self._client.post(
                path, params=without_none(parameters), content=content, headers=headers
            )
        return self._json(answer)

    @contextmanager
    def download(self, path: str, **parameters: Any) -> Iterator[IO[bytes]]:
        """GET bytes, as a file that is read while they arrive."""
        request = self._client.stream("GET", path, params=without_none(parameters))
        with self._translated_errors(), request as answer:
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
            raise error_from_response(answer.status_code, body, self.url)
        return body

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Translate errors of httpx to errors of lakejoin, in one sentence."""
        httpx = _httpx()
        try:
            yield
        except httpx.ConnectError as problem:
            raise NoServer(
                f"no server answers at {self.url} ({problem}): is `lakejoin serve` running?"
            ) from None
        except httpx.ConnectTimeout:
            raise NoServer(f"no server answered at {self.url} within 10 seconds") from None
        except httpx.TimeoutException:
            raise BusyServer(f"{self.url} did not answer within {self.timeout:g} seconds") from None
        except httpx.HTTPError as problem:
            raise NoServer(f"the connection to {self.url} broke ({problem})") from None
        except RuntimeError as problem:  # raised by httpx after the client was closed
            if self._client.is_closed:
                raise InputError(
                    f"the connection to {self.url} is closed: connect again"
                ) from problem
            raise


def _httpx() -> Any:
    try:
        return import_optional("httpx")
    except MissingDependency:
        raise MissingDependency(
            "lakejoin.connect needs more packages: pip install 'lakejoin[client]'"
        ) from None


class _Body(io.RawIOBase):
    """A response body as a readable file."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = block
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _events(lines: Iterable[str]) -> Iterator[tuple[str, Json]]:
    """Parse server-sent events whose data is JSON.

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


def without_none(fields: Mapping[str, Any]) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


Names = Callable[[], Sequence[str]]  # fetches the column names of a table, only if needed


def column_fields(on: ColumnSelection, names: Names) -> list[str] | None:
    """Columns to search by: names, or `column=lake_column`; indices are looked up.

    >>> column_fields({"country": "land", "name": None}, list)
    ['country=land', 'name']
    >>> column_fields([1, "a"], lambda: ["a", "b"])
    ['b', 'a']
    """
    from lakejoin.search.query_columns import to_column_list
    from lakejoin.values.column_names import find_column

    ordered: Any = to_column_list(on)
    if ordered is None:
        return None
    if isinstance(ordered, Mapping):
        ordered = [
            column if lake_column is None else f"{column}={lake_column}"
            for column, lake_column in ordered.items()
        ]
    columns = ordered if isinstance(ordered, list) else [ordered]
    for column in columns:
        if isinstance(column, bool) or not isinstance(column, str | int):
            raise InputError(f"a column is a name or a zero-based index, not {column!r}")
    if all(isinstance(column, str) for column in columns):
        return columns
    known = names()
    return [
        column if isinstance(column, str) else known[find_column(known, column, "it")]
        for column in columns
    ]


def pair_fields(on: Any, left: Names, right: Names) -> list[Json] | None:
    """Pairs of columns to join on, in any form that `lakejoin.join` takes.

    >>> pair_fields("code=iso", lambda: ["code"], lambda: ["iso"])
    [{'left': 'code', 'right': 'iso'}]
    """
    from lakejoin.joins.join_inputs import parse_column_pairs

    if on is None:
        return None
    pairs = parse_column_pairs(on, left(), right())
    return [{"left": one, "right": other} for one, other in pairs]


def search_fields(options: SearchOptions) -> Json:
    """The fields of a search by one engine; options that servers do not support are refused.

    >>> from lakejoin.search.options import ByMeaning, SearchOptions
    >>> search_fields(SearchOptions("meaning", k=5, near=ByMeaning("6%")))["tau"]
    0.06
    """
    near = options.near
    refuse_options(
        algorithm=None if options.algorithm == "auto" else options.algorithm,
        verify=None if options.verified else False,
        initial=options.initial,
        measure=None if near is None or near.measure == "hit" else near.measure,
        metric=None if (metric := getattr(near, "metric", None)) == "l2" else metric,
        encoder=getattr(near, "encoder", None),
        judge=getattr(near, "judged", False) or None,
    )
    return {
        "by": options.by,
        "k": options.k,
        "min": options.min,
        "others": options.others,
        "tau": getattr(near, "tau", None),
        "sure": getattr(near, "sure", None),
        "within": getattr(near, "within", None),
    }


def refuse_options(**options: Any) -> None:
    """Raise an error for any option that was passed but that servers do not support.

    >>> refuse_options(algorithm=None, metric="l1")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: servers do not support metric (got 'l1'): leave it out
    """
    for name, value in options.items():
        if value is not None:
            raise InputError(f"servers do not support {name} (got {value!r}): leave it out")


_KINDS: dict[str, type[LakejoinError]] = {
    "input": InputError,
    "sql": InputError,
    "forbidden": InputError,
    "gone": InputError,
    "too_large": InputError,
    "memory": InputError,
    "unknown": UnknownTable,
    "missing": MissingDependency,
    "damaged": DamagedIndex,
    "no_join": NoJoin,
}
_BUSY = ("busy", "time")


def error_from_response(status: int, body: Any, url: str) -> LakejoinError:
    """The error for a response, with the message of the server.

    >>> error_from_response(404, {"error": {"kind": "unknown", "message": "no table x"}}, "http://h")
    UnknownTable('no table x')
    >>> error_from_response(502, None, "http://h")
    NoServer('http://h is not a lakejoin server, or a proxy failed (status 502)')
    """
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or "message" not in error:
        return NoServer(f"{url} is not a lakejoin server, or a proxy failed (status {status})")
    kind, message = str(error.get("kind", "")), _with_position(error)
    if kind == "token":
        return InputError(f"{message.rstrip('.')}: lakejoin.connect({url!r}, token=…)")
    if kind in _BUSY:
        return BusyServer(message, error.get("retry_after"))
    return _KINDS.get(kind, ServerProblem)(message)


def _with_position(error: dict[str, Any]) -> str:
    """The message, with the position in the SQL unless the message names it."""
    message, position = str(error["message"]), error.get("at")
    if isinstance(position, dict) and position.get("line") and "line" not in message.lower():
        return f"{message} (line {position['line']}, column {position.get('column')})"
    return message
