"""Prometheus metrics: requests, durations, child processes and bytes stored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lakejoin.server.services import Services

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters since the server started."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "lakejoin_requests_total",
            "Requests answered.",
            ["route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "lakejoin_request_seconds",
            "Duration of requests in seconds.",
            ["route"],
            buckets=(0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120),
            registry=self.registry,
        )


class MetricsMiddleware:
    """ASGI middleware that counts requests by route."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._measures = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 499  # if the caller disconnects

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._measures.requests.labels(route, str(status)).inc()
            self._measures.seconds.labels(route).observe(time.perf_counter() - begin)


class _Gauges:
    """Gauges that are read when the metrics are requested."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Any]:
        services, workspace = self._services, self._services.workspace
        pools = {"worker": services.workers, "reader": services.readers, "sql": services.sql.pool}
        for name, text in (
            ("waiting", "Jobs waiting for a child process."),
            ("busy", "Child processes at work."),
            ("killed", "Child processes killed early."),
        ):
            gauge = GaugeMetricFamily(f"lakejoin_{name}", text, labels=["kind"])
            for kind, pool in pools.items():
                gauge.add_metric([kind], getattr(pool, name) if pool else 0)
            yield gauge
        shelves = GaugeMetricFamily("lakejoin_kept_bytes", "Bytes on disk.", labels=["what"])
        for what in ("uploads", "results", "answers", "links"):
            shelves.add_metric([what], getattr(workspace, what).size())
        yield shelves
        manifest = workspace.lake().snapshot.manifest
        yield GaugeMetricFamily("lakejoin_tables", "Tables.", value=manifest.totals.tables)
        yield GaugeMetricFamily("lakejoin_index_version", "Version.", value=manifest.version)


def render_metrics(services: Services) -> tuple[bytes, str]:
    """All metrics as text, and its media type."""
    gauges = CollectorRegistry()
    gauges.register(_Gauges(services))
    return generate_latest(services.metrics.registry) + generate_latest(gauges), _TEXT
