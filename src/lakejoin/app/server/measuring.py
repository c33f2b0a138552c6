"""How much is asked, how long it takes, and what is kept: figures for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily

if TYPE_CHECKING:
    from lakejoin.app.server.guard import App, Message, Receive, Scope, Send
    from lakejoin.app.server.services import Services

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Measures:
    """What was counted since the server was started."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "lakejoin_requests_total",
            "Requests that were answered.",
            ["route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "lakejoin_request_seconds",
            "How long requests took.",
            ["route"],
            buckets=(0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120),
            registry=self.registry,
        )


class Measured:
    """Counts requests by the route that answered them."""

    def __init__(self, app: App, measures: Measures) -> None:
        self._app = app
        self._measures = measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 499  # which is what others call a caller who left

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._measures.requests.labels(route, str(status)).inc()
            self._measures.seconds.labels(route).observe(time.perf_counter() - begin)


class _Now:
    """What is read off the server when it is asked for."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Any]:
        """The gauges."""
        services, desk = self._services, self._services.desk
        pools = {"worker": services.workers, "reader": services.readers, "sql": services.sql.pool}
        for name, text in (
            ("waiting", "Jobs that wait for a child process."),
            ("busy", "Child processes at work."),
            ("killed", "Child processes that were ended early."),
        ):
            gauge = GaugeMetricFamily(f"lakejoin_{name}", text, labels=["kind"])
            for kind, pool in pools.items():
                gauge.add_metric([kind], getattr(pool, name) if pool else 0)
            yield gauge
        shelves = GaugeMetricFamily("lakejoin_kept_bytes", "Bytes on disk.", labels=["what"])
        for what in ("uploads", "results", "answers", "links"):
            shelves.add_metric([what], getattr(desk, what).size())
        yield shelves
        manifest = desk.lake().snapshot.manifest
        yield GaugeMetricFamily("lakejoin_tables", "Tables.", value=manifest.totals.tables)
        yield GaugeMetricFamily("lakejoin_index_version", "Version.", value=manifest.version)


def shown(services: Services) -> tuple[bytes, str]:
    """All figures as text, and what kind of text."""
    now = CollectorRegistry()
    now.register(_Now(services))
    return generate_latest(services.measures.registry) + generate_latest(now), _TEXT
