"""Close connections that stall, so that they do not use up the connection limit.

uvicorn closes a connection that is idle after a response. One that sends its request head byte by
byte, or does not read its response, could stay open for ever; a few hundred would block the server.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class WatchedConnection(H11Protocol):
    """An HTTP connection that is checked regularly for progress."""

    look_seconds = 2.0
    head_seconds = 20.0  # for the request head to arrive
    unread_seconds = 60.0  # without a byte of the response being read

    _timer: asyncio.TimerHandle | None = None
    _waiting_for: tuple[str, Any] | None = None  # unchanged as long as nothing happens
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start checking."""
        super().connection_made(transport)
        self._check_progress()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop checking."""
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

    def _find_wait(self) -> tuple[str, Any] | None:
        """What the client has to do next; None while it is the server's turn. The guard limits how
        long a request body may take."""
        if unread := self.transport.get_write_buffer_size():
            return "unread", unread
        if self.cycle is None or self.cycle.response_complete:
            return "head", id(self.cycle)
        return None
