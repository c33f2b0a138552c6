"""Decide which requests are let through: by Host, by origin, by token and by size.

A page of another site must not be able to use the server through its visitor's browser: it can send
requests and, with a host name of its own that resolves to this server (DNS rebinding), even read
the responses. So the `Host` must be a known one, cross-site requests are refused, and any
address other than loopback requires a token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import time
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lakejoin.server.api_problems import Problem
from lakejoin.server.settings import LOOPBACK, Settings

UPLOADS = "/api/v1/uploads"
_SAFE = ("GET", "HEAD", "OPTIONS")
_BODY_SECONDS = 30.0  # for a body to arrive
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
    """ASGI middleware: checks requests, and sets security headers on every response."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = _hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        respond = _with_headers(send, scope["path"])
        headers = Headers(scope=scope)
        try:
            self._check_host(headers.get("host", ""))
            _check_origin(scope, headers)
            if token := self._page_token(scope):
                await _set_cookie(respond, f"{_cookie_name(headers)}={token}", scope)
                return
            self._check_token(scope, headers)
            limits, is_upload = self._settings.limits, scope["path"] == UPLOADS
            max_bytes = limits.upload_bytes if is_upload else limits.body_bytes
            _check_length(headers, max_bytes)
        except Problem as problem:
            await _refusal(problem)(scope, receive, respond)
            return
        try:
            seconds = _UPLOAD_SECONDS if is_upload else _BODY_SECONDS
            limited = _limit_body(receive, max_bytes, seconds)
            await self._app(scope, limited, respond)
        except _Aborted as aborted:
            await _refusal(aborted.problem)(scope, receive, respond)

    def _check_host(self, host: str) -> None:
        name = _host_name(host)
        if name not in self._hosts and not (self._settings.token and _is_address(name)):
            raise Problem(
                "forbidden",
                f"{host[:100]!r} is not a name of this server: use the address that lakejoin "
                "serve printed, or allow this name with --allow-host",
            )

    def _page_token(self, scope: Scope) -> str | None:
        """The token in the page's address, if it is correct."""
        if self._settings.token is None or scope["path"] != "/" or scope["method"] != "GET":
            return None
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return token if token and self._is_token(token) else None

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        if self._settings.token is None or scope["path"] == "/api/v1/health":
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(token.strip()):
            return
        cookies = cookie_parser(headers.get("cookie", ""))
        if self._is_token(cookies.get(_cookie_name(headers), "")):
            return
        raise Problem(
            "token",
            "this server requires a token: open the address with ?token=… that lakejoin serve "
            "printed, or send the header Authorization: Bearer TOKEN",
        )

    def _is_token(self, text: str) -> bool:
        token = self._settings.token or ""
        return bool(text) and hmac.compare_digest(text.encode(), token.encode())


def _hosts(settings: Settings) -> frozenset[str]:
    """The host names that the server accepts."""
    names = {*LOOPBACK, *settings.hosts}
    if settings.host not in ("0.0.0.0", "::", ""):
        names.add(settings.host)
    return frozenset(name.lower() for name in names)


def _host_name(host: str) -> str:
    """A `Host` header without its port.

    >>> _host_name("LocalHost:8000"), _host_name("[::1]:80"), _host_name("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    """Whether the host is an IP address, which DNS rebinding cannot fake."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_origin(scope: Scope, headers: Headers) -> None:
    """Refuse requests that a browser sends for a page of another site."""
    site = headers.get("sec-fetch-site")
    navigates = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
    api = scope["path"].startswith("/api/")
    if site not in (None, "same-origin", "none") and not (navigates and not api):
        raise Problem("forbidden", "requests from pages of another site are not allowed")
    origin = headers.get("origin")
    if origin is not None and scope["method"] not in _SAFE:
        sender, host = urlsplit(origin), headers.get("host", "").lower()
        if sender.scheme not in ("http", "https") or sender.netloc.lower() != host:
            raise Problem("forbidden", "requests from pages of another site are not allowed")


def _check_length(headers: Headers, max_bytes: int) -> None:
    length = headers.get("content-length", "0")
    if not length.isdigit() or len(length) > 15 or int(length) > max_bytes:
        raise _too_large(max_bytes)


def _too_large(max_bytes: int) -> Problem:
    return Problem("too_large", f"this request is larger than {max_bytes:,} bytes, the limit here")


class _Aborted(BaseException):
    """The body is not read on. Not an `Exception`, which FastAPI would report as malformed."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def _limit_body(receive: Receive, max_bytes: int, seconds: float) -> Receive:
    """Wrap `receive` so that a body that is too long or too slow is aborted, whatever its headers
    claim. Once the body has arrived there is no time limit: only a disconnect can follow."""
    received = 0
    deadline: float | None = time.monotonic() + seconds

    async def receive_limited() -> Message:
        nonlocal received, deadline
        try:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            async with asyncio.timeout(wait):
                message = await receive()
        except TimeoutError:
            raise _Aborted(Problem("slow", "the request took too long to arrive")) from None
        if not message.get("more_body"):
            deadline = None
        received += len(message.get("body", b""))
        if received > max_bytes:
            raise _Aborted(_too_large(max_bytes))
        return message

    return receive_limited


def _with_headers(send: Send, path: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            is_asset = path.startswith("/assets/") and message["status"] == 200
            kept = "public, max-age=31536000, immutable" if is_asset else "no-store"
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            for name, value in {**_HEADERS, "cache-control": kept}.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


def _cookie_name(headers: Headers) -> str:
    """The name of the token's cookie. It has the port that the browser sees, because browsers send
    a host's cookies to all of its ports, and another server may listen there.

    >>> _cookie_name(Headers({"host": "[::1]:8765"})), _cookie_name(Headers({"host": "lake.org"}))
    ('lakejoin_token_8765', 'lakejoin_token_')
    """
    port = re.search(r":(\d{1,5})$", headers.get("host", ""))
    return f"lakejoin_token_{port[1] if port else ''}"


async def _set_cookie(send: Send, cookie: str, scope: Scope) -> None:
    """Set the cookie, and redirect to the page without the token in its address."""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    cookie += f"; Path=/; HttpOnly; SameSite=Strict{secure}"
    headers = [(b"location", b"/"), (b"set-cookie", cookie.encode("latin-1"))]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _refusal(problem: Problem) -> JSONResponse:
    return JSONResponse({"error": problem.to_dict()}, problem.status, {"connection": "close"})
