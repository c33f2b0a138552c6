"""Convert error responses of a server to errors of lakejoin."""

from __future__ import annotations

from typing import Any

from lakejoin.errors import (
    BusyServer,
    DamagedIndex,
    InputError,
    LakejoinError,
    MissingDependency,
    NoJoin,
    NoServer,
    ServerProblem,
    UnknownTable,
)

_KINDS: dict[str, type[LakejoinError]] = {
    "input": InputError,
    "sql": InputError,
    "forbidden": InputError,
    "gone": InputError,
    "too_large": InputError,
    "memory": InputError,
    "unknown": UnknownTable,
    "missing": MissingDependency,
    "damaged": DamagedIndex,
    "no_join": NoJoin,
}
_BUSY = ("busy", "time")


def error_from_response(status: int, body: Any, url: str) -> LakejoinError:
    """The error for a response, with the message of the server.

    >>> error_from_response(404, {"error": {"kind": "unknown", "message": "no table x"}}, "http://h")
    UnknownTable('no table x')
    >>> error_from_response(502, None, "http://h")
    NoServer('http://h is not a lakejoin server, or a proxy failed (status 502)')
    """
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or "message" not in error:
        return NoServer(f"{url} is not a lakejoin server, or a proxy failed (status {status})")
    kind, message = str(error.get("kind", "")), _with_position(error)
    if kind == "token":
        return InputError(f"{message.rstrip('.')}: lakejoin.connect({url!r}, token=…)")
    if kind in _BUSY:
        return BusyServer(message, error.get("retry_after"))
    return _KINDS.get(kind, ServerProblem)(message)


def _with_position(error: dict[str, Any]) -> str:
    """The message, with the position in the SQL unless the message names it."""
    message, position = str(error["message"]), error.get("at")
    if isinstance(position, dict) and position.get("line") and "line" not in message.lower():
        return f"{message} (line {position['line']}, column {position.get('column')})"
    return message
