"""The process of a server: its children start first, and load while it loads the web framework."""

from __future__ import annotations

import asyncio
import socket

from lakejoin.server.services import Services
from lakejoin.server.settings import Settings


def run_server(settings: Settings, listening: socket.socket) -> None:
    """Serve until a signal arrives."""
    asyncio.run(_serve(settings, listening))


async def _serve(settings: Settings, listening: socket.socket) -> None:
    services = Services(settings)
    await services.start()
    from lakejoin.server.application import make_server  # which takes most of the start

    await make_server(services).serve([listening])
