"""The server as uvicorn runs it, from its start to its end."""

from __future__ import annotations

import socket

import uvicorn

from lakejoin.app.server.application import application
from lakejoin.app.server.connections import Watched
from lakejoin.app.server.services import Services
from lakejoin.app.server.settings import Settings

_CONNECTIONS = 512
_PATIENCE = 2  # seconds that requests may take to end when the server does


def run(settings: Settings, listening: socket.socket) -> None:
    """Serves until it is told to end."""
    services = Services(settings)
    config = uvicorn.Config(
        application(services),
        http=Watched,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_PATIENCE,
        ws="none",
        lifespan="on",
    )
    _Server(config, services).run([listening])


class _Server(uvicorn.Server):
    """Ends work before it waits for those who asked for it: they are told so."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """What happens once a signal has come."""
        await self._services.stop_work()
        await super().shutdown(sockets)
