"""Build the FastAPI application: routes, error handlers, the built page, guard and metrics."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from lakejoin import __version__
from lakejoin.server.response_models import PROBLEMS
from lakejoin.server.guard import App, Guard
from lakejoin.server.metrics import MetricsMiddleware
from lakejoin.server.problems import Problem
from lakejoin.server.routes import upload_routes, read_routes, telling, job_routes
from lakejoin.server.services import Services
from lakejoin.errors import LakejoinError

API = "/api/v1"
PAGE = Path(__file__).parent / "page"
_NO_PAGE = (
    "<!doctype html><title>lakejoin</title><p>The page has not been built: run "
    "<code>make page</code> in a checkout. The API is described at "
    "<a href='/api/v1/openapi.json'>/api/v1/openapi.json</a>."
)


def build_application(services: Services) -> App:
    """Build the ASGI app that uvicorn serves."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await services.start()
        try:
            yield
        finally:
            await services.close()

    app = FastAPI(
        title="lakejoin",
        version=__version__,
        summary="Finds the tables of a data lake that join with yours, shows why, and joins them.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.services = services
    for router in (read_routes.router, job_routes.router, upload_routes.router, telling.health_router):
        app.include_router(router, prefix=API, responses=PROBLEMS)
    _handle_errors(app)
    _serve_page(app)
    return Guard(MetricsMiddleware(app, services.measures), services.settings)


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
