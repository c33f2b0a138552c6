"""Run the application with uvicorn until a signal ends it."""

from __future__ import annotations

import socket

import uvicorn

from lakejoin.server.application import build_application
from lakejoin.server.connections import WatchedConnection
from lakejoin.server.services import Services
from lakejoin.server.settings import Settings

_CONNECTIONS = 512
_SHUTDOWN_SECONDS = 2  # for open requests to finish


def run_server(settings: Settings, listening: socket.socket) -> None:
    """Serve until a signal arrives."""
    services = Services(settings)
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
    _Server(config, services).run([listening])


class _Server(uvicorn.Server):
    """Stops running work before it waits for open requests, so that callers get an error."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the children, then shut down as uvicorn does."""
        await self._services.stop_work()
        await super().shutdown(sockets)
