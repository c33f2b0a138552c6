"""The application: routes, the page, and what stands before them."""

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
from lakejoin.app.server.answers import PROBLEMS
from lakejoin.app.server.guard import App, Guard
from lakejoin.app.server.measuring import Measured
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.routes import bringing, reading, telling, working
from lakejoin.app.server.services import Services
from lakejoin.errors import LakejoinError

API = "/api/v1"
PAGE = Path(__file__).parent / "page"
_NO_PAGE = (
    "<!doctype html><title>lakejoin</title><p>The page was not built: <code>make page</code> "
    "builds it in a checkout. The API is described at "
    "<a href='/api/v1/openapi.json'>/api/v1/openapi.json</a>."
)


def application(services: Services) -> App:
    """What uvicorn serves."""

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
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
        lifespan=living,
    )
    app.state.services = services
    for module in (reading, working, bringing, telling):
        app.include_router(module.router, prefix=API, responses=PROBLEMS)
    _tell_problems(app)
    _serve_page(app)
    return Guard(Measured(app, services.measures), services.settings)


def _tell_problems(app: FastAPI) -> None:
    @app.exception_handler(LakejoinError)
    async def told(request: Request, error: LakejoinError) -> JSONResponse:
        return _answer(Problem.from_error(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return _answer(Problem("input", f"{where or 'the request'}: {first['msg']}"), 422)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        kind = "unknown" if error.status_code == 404 else "input"
        return _answer(Problem(kind, str(error.detail)), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def ours(request: Request, error: Exception) -> JSONResponse:
        traceback.print_exception(error, file=sys.stderr)
        return _answer(Problem.from_error(error))


def _answer(problem: Problem, status: int | None = None, headers: object = None) -> JSONResponse:
    more = dict(headers) if isinstance(headers, dict) else {}
    if problem.kind == "busy":
        more["retry-after"] = "2"
    return JSONResponse({"error": problem.to_dict()}, status or problem.status, more)


def _serve_page(app: FastAPI) -> None:
    """The built page; every path that is no file of it is the page, which reads its fragment."""
    if (PAGE / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=PAGE / "assets"), name="assets")

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False, response_model=None)
    async def page() -> FileResponse | HTMLResponse:
        index = PAGE / "index.html"
        return FileResponse(index) if index.exists() else HTMLResponse(_NO_PAGE, 503)

    @app.get("/{name}", include_in_schema=False, response_model=None)
    async def beside(name: str) -> FileResponse:
        if name in _beside():
            return FileResponse(PAGE / name)
        raise HTTPException(404, "there is nothing here: the page is at /")


def _beside() -> set[str]:
    """The files beside the page, such as an icon."""
    if not PAGE.is_dir():
        return set()
    return {one.name for one in PAGE.iterdir() if one.is_file()}
