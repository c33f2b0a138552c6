"""Build the web application and run it with uvicorn: routes, error handlers, the built page, and
connections that are closed when they stall."""

from __future__ import annotations

import asyncio
import socket
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from lakejoin import __version__
from lakejoin.errors import LakejoinError
from lakejoin.server.api_problems import Problem
from lakejoin.server.guard import Guard
from lakejoin.server.metrics import MetricsMiddleware
from lakejoin.server.response_models import PROBLEMS
from lakejoin.server.routes import job_routes, read_routes, upload_routes
from lakejoin.server.services import Services

API = "/api/v1"
PAGE = Path(__file__).parent / "page"
_NO_PAGE = (
    "<!doctype html><title>lakejoin</title><p>The page has not been built: run "
    "<code>make page</code> in a checkout. The API is described at "
    "<a href='/api/v1/openapi.json'>/api/v1/openapi.json</a>."
)


def build_application(services: Services) -> ASGIApp:
    """Build the ASGI app that uvicorn serves."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await services.wait_ready()
        try:
            yield
        finally:
            await services.close()

    app = FastAPI(
        title="lakejoin",
        version=__version__,
        summary="Finds the tables in a data lake that join with yours, shows why, and joins them.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.services = services
    routers = read_routes.router, job_routes.router, upload_routes.router, read_routes.health_router
    for router in routers:
        app.include_router(router, prefix=API, responses=PROBLEMS)
    _handle_errors(app)
    _serve_page(app)
    return Guard(MetricsMiddleware(app, services.metrics), services.settings)


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(LakejoinError)
    async def known_error(request: Request, error: LakejoinError) -> JSONResponse:
        return _respond(Problem.from_error(error))

    @app.exception_handler(RequestValidationError)
    async def invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(name) for name in first["loc"] if name != "body")
        return _respond(Problem("input", f"{where or 'the request'}: {first['msg']}"), 422)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        kind = "unknown" if error.status_code == 404 else "input"
        return _respond(Problem(kind, str(error.detail)), error.status_code, error.headers)

    @app.exception_handler(OSError)  # here the connection stays open, unlike after the next ones
    async def system_error(request: Request, error: OSError) -> JSONResponse:
        problem = Problem.from_error(error)
        if problem.kind != "full":
            traceback.print_exception(error, file=sys.stderr)
        return _respond(problem)

    @app.exception_handler(Exception)
    async def unexpected_error(request: Request, error: Exception) -> JSONResponse:
        traceback.print_exception(error, file=sys.stderr)
        return _respond(Problem.from_error(error))


def _respond(problem: Problem, status: int | None = None, headers: object = None) -> JSONResponse:
    extra = dict(headers) if isinstance(headers, dict) else {}
    if problem.kind == "busy":
        extra["retry-after"] = "2"
    return JSONResponse({"error": problem.to_dict()}, status or problem.status, extra)


def _serve_page(app: FastAPI) -> None:
    """Serve the built page at / with its assets and the files next to it."""
    if (PAGE / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=PAGE / "assets"), name="assets")

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False, response_model=None)
    async def page() -> FileResponse | HTMLResponse:
        index = PAGE / "index.html"
        return FileResponse(index) if index.exists() else HTMLResponse(_NO_PAGE, 503)

    @app.get("/{name}", include_in_schema=False, response_model=None)
    async def page_file(name: str) -> FileResponse:
        if name in _page_files():
            return FileResponse(PAGE / name)
        raise HTTPException(404, "nothing here: the page is at /")


def _page_files() -> set[str]:
    """Names of the files next to index.html, such as the icon."""
    if not PAGE.is_dir():
        return set()
    return {path.name for path in PAGE.iterdir() if path.is_file()}


class WatchedConnection(H11Protocol):
    """An HTTP connection that is checked regularly for progress."""

    look_seconds = 2.0
    head_seconds = 20.0  # for the request head to arrive
    unread_seconds = 60.0  # for these bytes of a response to be read
    unread_bytes = 600_000

    _timer: asyncio.TimerHandle | None = None
    _waiting_for: tuple[str, Any] | None = None  # unchanged as long as nothing happens
    _since = 0.0
    _written = 0  # bytes of response bodies
    _read = 0  # bytes of them that had left when the client's time began

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app = self._count_written(self.app)
        self._check_progress()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _check_progress(self) -> None:
        now, waiting_for = self.loop.time(), self._find_wait()
        if waiting_for != self._waiting_for:
            self._waiting_for, self._since = waiting_for, now
        if waiting_for is not None:
            limit = self.head_seconds if waiting_for[0] == "head" else self.unread_seconds
            if now - self._since >= limit:
                self.transport.abort()
                return
        self._timer = self.loop.call_later(self.look_seconds, self._check_progress)

    def _count_written(self, app: ASGIApp) -> ASGIApp:
        async def app_counted(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_counted(message: Message) -> None:
                await send(message)
                self._written += len(message.get("body", b""))

            await app(scope, receive, send_counted)

        return app_counted

    def _find_wait(self) -> tuple[str, Any] | None:
        """What the client has to do next; None while it is the server's turn. The guard limits how
        long a request body may take."""
        if unread := self.transport.get_write_buffer_size():
            read = self._written - unread
            if self._waiting_for is None or read - self._read >= self.unread_bytes:
                self._read = read
            return "unread", self._read
        if self.cycle is None or self.cycle.response_complete:
            return "head", id(self.cycle)
        return None


_CONNECTIONS = 512
_SHUTDOWN_SECONDS = 2  # for open requests to finish


def make_server(services: Services) -> uvicorn.Server:
    """The server of these services, which have been started."""
    config = uvicorn.Config(
        build_application(services),
        http=WatchedConnection,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        ws="none",
        lifespan="on",
    )
    return _Server(config, services)


class _Server(uvicorn.Server):
    """Stops running work before it waits for open requests, so that callers get an error."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the children, then shut down as uvicorn does."""
        await self._services.stop_children()
        await super().shutdown(sockets)
