"""What a server says went wrong, as the errors of lakejoin."""

from __future__ import annotations

from typing import Any

from lakejoin.errors import (
    BusyServer,
    DamagedIndex,
    InputError,
    LakejoinError,
    MissingPart,
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
    "missing": MissingPart,
    "damaged": DamagedIndex,
    "no_join": NoJoin,
}
_BUSY = ("busy", "time")


def error_of(status: int, body: Any, url: str) -> LakejoinError:
    """The error that an answer stands for: its sentence, with what goes with it.

    >>> error_of(404, {"error": {"kind": "unknown", "message": "no table x"}}, "http://h")
    UnknownTable('no table x')
    >>> error_of(502, None, "http://h")
    NoServer('http://h answers, but not as a lakejoin server does (status 502)')
    """
    told = body.get("error") if isinstance(body, dict) else None
    if not isinstance(told, dict) or "message" not in told:
        return NoServer(f"{url} answers, but not as a lakejoin server does (status {status})")
    kind, message = str(told.get("kind", "")), _with_place(told)
    if kind == "token":
        return InputError(f"{message.rstrip('.')}: lakejoin.connect({url!r}, token=…)")
    if kind in _BUSY:
        return BusyServer(message, told.get("retry_after"))
    return _KINDS.get(kind, ServerProblem)(message)


def _with_place(told: dict[str, Any]) -> str:
    """The sentence, and where in the SQL it is, unless it says so itself."""
    message, at = str(told["message"]), told.get("at")
    if isinstance(at, dict) and at.get("line") and "line" not in message.lower():
        return f"{message} (line {at['line']}, column {at.get('column')})"
    return message
