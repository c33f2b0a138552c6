"""Routes for health and Prometheus metrics."""

from __future__ import annotations

import time

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from lakejoin import __version__
from lakejoin.server import response_models
from lakejoin.server.services import ServicesDependency

health_router = APIRouter(tags=["server"])

_START = time.monotonic()


@health_router.get("/health", response_model=response_models.Health)
async def health(services: ServicesDependency) -> JSONResponse:
    """Whether the server is up, and which version of the index it serves."""
    manifest = services.desk.lake().snapshot.manifest
    index = {"version": manifest.version, "tables": manifest.totals.tables}
    up = round(time.monotonic() - _START, 1)
    return JSONResponse({"status": "ok", "version": __version__, "index": index, "uptime": up})


@health_router.get("/metrics", response_class=PlainTextResponse)
async def metrics(services: ServicesDependency) -> Response:
    """Metrics in Prometheus text format."""
    from lakejoin.server.metrics import render_metrics

    text, kind = await services.quick(render_metrics, services)
    return Response(text, media_type=kind)
