"""Who may ask: the name by which the server is called, where a page comes from, and a token.

A page of another site must not be able to use the server through its visitor's browser: it can send
requests, and under a name of its own that leads here (DNS rebinding) even read the answers. So the
`Host` must be one of ours, requests that a browser marks as coming from elsewhere are refused, and
on any address but loopback a token is asked for.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lakejoin.app.server.problems import Problem
from lakejoin.app.server.settings import LOOPBACK, Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "lakejoin_token"
UPLOADS = "/api/v1/uploads"
_SAFE = ("GET", "HEAD", "OPTIONS")
_BODY_SECONDS = 30.0
_UPLOAD_SECONDS = 300.0
_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'; object-src 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


class Guard:
    """Lets through what may be asked, and puts headers on every answer."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = _hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = _with_headers(send, scope["path"])
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in
                   scope["headers"]}  # fmt: skip
        try:
            self._check_host(headers.get("host", ""))
            _check_origin(scope, headers)
            if given := self._given_token(scope):
                await _remember(answering, given, scope)
                return
            self._check_token(scope, headers)
            most = self._most(scope)
            _check_length(headers, most)
        except Problem as problem:
            await _refused(answering, problem)
            return
        try:
            await self._app(scope, _counted(receive, most, _slowest(scope)), answering)
        except _TooLong:
            await _refused(answering, _too_large(most))
        except _TooSlow:
            await _refused(answering, Problem("slow", "the request took too long to arrive"))

    def _check_host(self, host: str) -> None:
        name = _name_of(host)
        if name not in self._hosts and not (self._settings.token and _is_address(name)):
            raise Problem(
                "forbidden",
                f"this server is not called {host[:100]!r}: open it by the address that lakejoin "
                "serve printed, or name it with --allow-host",
            )

    def _given_token(self, scope: Scope) -> str | None:
        """The token in the address of the page, if it is right."""
        if self._settings.token is None or scope["path"] != "/" or scope["method"] != "GET":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return given if given and self._is_token(given) else None

    def _check_token(self, scope: Scope, headers: dict[str, str]) -> None:
        if self._settings.token is None or scope["path"] == "/api/v1/health":
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return
        if self._is_token(_cookie(headers.get("cookie", ""))):
            return
        raise Problem(
            "token",
            "this server asks for a token: open the address with ?token=… that lakejoin serve "
            "printed, or send the header Authorization: Bearer TOKEN",
        )

    def _is_token(self, given: str) -> bool:
        token = self._settings.token or ""
        return bool(given) and hmac.compare_digest(given.encode(), token.encode())

    def _most(self, scope: Scope) -> int:
        limits = self._settings.limits
        return limits.upload_bytes if scope["path"] == UPLOADS else limits.body_bytes


def _hosts(settings: Settings) -> frozenset[str]:
    """The names by which the server may be called."""
    names = {*LOOPBACK, *settings.hosts}
    if settings.host not in ("0.0.0.0", "::", ""):
        names.add(settings.host)
    return frozenset(name.lower() for name in names)


def _name_of(host: str) -> str:
    """A `Host` without its port.

    >>> _name_of("LocalHost:8000"), _name_of("[::1]:80"), _name_of("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    """Whether it is a number, which no foreign site can make lead here."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_origin(scope: Scope, headers: dict[str, str]) -> None:
    """Refuses what a browser sends for another site's page."""
    site = headers.get("sec-fetch-site")
    opened = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
    api = scope["path"].startswith("/api/")
    if site not in (None, "same-origin", "none") and not (opened and not api):
        raise Problem("forbidden", "this was asked for by a page of another site")
    origin = headers.get("origin")
    if origin is not None and scope["method"] not in _SAFE:
        given, own = urlsplit(origin), headers.get("host", "").lower()
        if given.scheme not in ("http", "https") or given.netloc.lower() != own:
            raise Problem("forbidden", "this was asked for by a page of another site")


def _check_length(headers: dict[str, str], most: int) -> None:
    length = headers.get("content-length", "0")
    if not length.isdigit() or len(length) > 15 or int(length) > most:
        raise _too_large(most)


def _too_large(most: int) -> Problem:
    return Problem("too_large", f"a request may have {most:,} bytes here, and this one has more")


def _slowest(scope: Scope) -> float:
    """The seconds that a body may take to arrive."""
    return _UPLOAD_SECONDS if scope["path"] == UPLOADS else _BODY_SECONDS


class _TooLong(BaseException):
    """A body that does not end. No `Exception`, which would be taken for a body that is wrong."""


class _TooSlow(BaseException):
    """A body that does not come."""


def _counted(receive: Receive, most: int, seconds: float) -> Receive:
    """The same, ending a body that is longer than it may be, whatever it said of itself, or takes
    longer than it may. Once it is there, what comes is only that the caller leaves."""
    got = 0
    until: float | None = time.monotonic() + seconds

    async def counting() -> Message:
        nonlocal got, until
        try:
            wait = None if until is None else max(0.0, until - time.monotonic())
            async with asyncio.timeout(wait):
                message = await receive()
        except TimeoutError:
            raise _TooSlow from None
        if not message.get("more_body"):
            until = None
        got += len(message.get("body", b""))
        if got > most:
            raise _TooLong
        return message

    return counting


def _cookie(text: str) -> str:
    """Ours among those that other servers of this host have set, of whatever form they are.

    >>> _cookie('theirs={"a": 1}; lakejoin_token=secret')
    'secret'
    """
    pairs = (one.strip().partition("=") for one in text.split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def _with_headers(send: Send, path: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            known = {name.lower() for name, _ in headers}
            more = dict(_HEADERS)
            more["cache-control"] = (
                "public, max-age=31536000, immutable"
                if path.startswith("/assets/") and message["status"] == 200
                else "no-store"
            )
            headers += [
                (name.encode(), value.encode())
                for name, value in more.items()
                if name.encode() not in known
            ]
            message = {**message, "headers": headers}
        await send(message)

    return sending


async def _remember(send: Send, token: str, scope: Scope) -> None:
    """Sets the cookie, and leads to the page without the token in its address."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{secure}"
    headers = [(b"location", b"/"), (b"set-cookie", cookie.encode("latin-1"))]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refused(send: Send, problem: Problem) -> None:
    body = json.dumps({"error": problem.to_dict()}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
