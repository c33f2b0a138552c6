"""How the server is: health, and figures for Prometheus."""

from __future__ import annotations

import time

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from lakejoin import __version__
from lakejoin.app.server import answers
from lakejoin.app.server.services import Given

router = APIRouter(tags=["server"])

_BEGIN = time.monotonic()


@router.get("/health", response_model=answers.Health)
async def health(services: Given) -> JSONResponse:
    """Whether the server is there, and which version of the index it serves."""
    manifest = services.desk.lake().snapshot.manifest
    index = {"version": manifest.version, "tables": manifest.totals.tables}
    up = round(time.monotonic() - _BEGIN, 1)
    return JSONResponse({"status": "ok", "version": __version__, "index": index, "uptime": up})


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(services: Given) -> Response:
    """Figures in the text form of Prometheus."""
    from lakejoin.app.server.measuring import shown

    text, kind = await services.quick(shown, services)
    return Response(text, media_type=kind)
