"""Connections that keep a place and do nothing: they are ended, so that others find one.

uvicorn ends a connection that is idle after an answer. One that sends the head of a request byte by
byte, or does not read its answer, could stay for ever; hundreds of them would leave no room.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class Watched(H11Protocol):
    """HTTP over a connection that is looked at now and then."""

    look_seconds = 2.0
    head_seconds = 20.0  # for the head of a request to arrive
    unread_seconds = 60.0  # in which not a byte of an answer is read

    _looking: asyncio.TimerHandle | None = None
    _stands: tuple[str, Any] | None = None  # what it waits for, as long as nothing happens
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It is looked at from its beginning."""
        super().connection_made(transport)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """And no longer than it is there."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        now, stands = self.loop.time(), self._waits_for()
        if stands != self._stands:
            self._stands, self._since = stands, now
        if stands is not None:
            patience = self.head_seconds if stands[0] == "head" else self.unread_seconds
            if now - self._since >= patience:
                self.transport.abort()
                return
        self._looking = self.loop.call_later(self.look_seconds, self._look)

    def _waits_for(self) -> tuple[str, Any] | None:
        """What the other side has to do; None while it is the server's turn. How fast the body of a
        request comes is looked at where it is received."""
        if unread := self.transport.get_write_buffer_size():
            return "unread", unread
        if self.cycle is None or self.cycle.response_complete:
            return "head", id(self.cycle)
        return None
